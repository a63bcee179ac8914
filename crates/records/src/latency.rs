//! Latency of every operation: an HDR histogram for the truth, coarse buckets for the pictures over time.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use crate::result::LatencySummary;

/// Longest latency a histogram can tell apart: an hour. Longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Buckets of the coarse scale: a quarter of an octave each, up to the longest latency.
pub const BUCKETS: usize = 4 * 42;

/// Index into the coarse scale.
pub type Bucket = usize;

/// The coarse bucket of a latency.
#[must_use]
#[inline]
pub const fn bucket_of(latency_ns: u64) -> Bucket {
    if latency_ns < 4 {
        return latency_ns as usize;
    }
    let octave = 63 - latency_ns.leading_zeros() as usize;
    let quarter = (latency_ns >> (octave - 2)) as usize & 3;
    let bucket = 4 * (octave - 1) + quarter;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

/// `[low, high)` of a coarse bucket, in nanoseconds. The last one is open: its `high` is not a bound.
#[must_use]
pub const fn bucket_bounds(bucket: Bucket) -> (u64, u64) {
    const fn low(bucket: Bucket) -> u64 {
        if bucket < 4 {
            return bucket as u64;
        }
        let (octave, quarter) = (bucket / 4 + 1, bucket % 4);
        (4 + quarter as u64) << (octave - 2)
    }
    (low(bucket), low(bucket + 1))
}

/// Records every latency of one task. No allocation after [`LatencyRecorder::new`].
#[derive(Debug, Clone)]
pub struct LatencyRecorder {
    histogram: Histogram<u64>,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// Room for 1 ns to an hour with three significant digits (270 kB, of which only what is touched is resident).
    ///
    /// # Panics
    /// Never: the bounds are constants the histogram accepts.
    #[must_use]
    pub fn new() -> Self {
        Self { histogram: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds are valid") }
    }

    /// Counts one operation.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns);
    }

    /// Counts several operations that took the same time.
    pub fn record_many(&mut self, latency_ns: u64, count: u64) {
        self.histogram.saturating_record_n(latency_ns, count);
    }

    /// Adds the operations of another task.
    ///
    /// # Panics
    /// Never: all recorders have the same bounds.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all recorders have the same bounds");
    }

    /// The histogram itself, for the files.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// One that was serialised in the V2 form, deflated or not; an error in a sentence where it is damaged.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, String> {
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes).map_err(|error| error.to_string())?;
        let bounds = (histogram.low(), histogram.high(), histogram.sigfig());
        if bounds == (1, LONGEST_NS, 3) { Ok(Self { histogram }) } else { Err(format!("its bounds are {bounds:?}")) }
    }

    /// Quantiles; all zero where nothing was recorded.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let histogram = &self.histogram;
        if histogram.is_empty() {
            return LatencySummary::default();
        }
        let max = histogram.max();
        let quantile = |q| histogram.value_at_quantile(q).min(max);
        LatencySummary {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean() as u64,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_inside_the_bounds_of_its_bucket() {
        let mut value = 0_u64;
        while value < LONGEST_NS {
            let (low, high) = bucket_bounds(bucket_of(value));
            assert!(low <= value && value < high, "{value} in [{low}, {high})");
            value += 1 + value / 37;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_join_without_gap() {
        for bucket in 1..BUCKETS {
            assert_eq!(bucket_bounds(bucket - 1).1, bucket_bounds(bucket).0);
        }
    }

    #[test]
    fn a_latency_beyond_an_hour_counts_as_an_hour() {
        let mut recorder = LatencyRecorder::new();
        recorder.record(u64::MAX);
        assert_eq!(recorder.summary().count, 1);
    }
}
