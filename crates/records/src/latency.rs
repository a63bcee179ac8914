//! Latency of every operation: an HDR histogram for the truth, coarse buckets for the pictures over time.

use std::fmt;

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

/// Below this, each nanosecond has a cell of its own; above, an octave has half as many. That is three significant digits.
const CELLS_BITS: u32 = 11;
/// The end of the octave in which the longest latency is: what a histogram with these bounds can still hold.
const LARGEST_NS: u64 = LONGEST_NS.next_power_of_two() - 1;
/// Cells of all of these.
const CELLS: usize = cell_of(LARGEST_NS) + 1;
/// Cells that are looked at together, and how many such stretches there are.
const STRETCH: usize = 64;
const STRETCHES: usize = CELLS.div_ceil(STRETCH);

/// The cell of a latency up to the largest. Latencies of one cell are [equivalent](Histogram::equivalent) in a histogram.
#[inline]
const fn cell_of(latency_ns: u64) -> usize {
    let shift = (u64::BITS - CELLS_BITS) - (latency_ns | ((1 << CELLS_BITS) - 1)).leading_zeros();
    ((shift as usize) << (CELLS_BITS - 1)) + (latency_ns >> shift) as usize
}

/// The lowest latency of a cell.
const fn lowest_of(cell: usize) -> u64 {
    let half = 1_usize << (CELLS_BITS - 1);
    let shift = (cell / half).saturating_sub(1);
    ((cell - shift * half) as u64) << shift
}

const fn highest_of(cell: usize) -> u64 {
    lowest_of(cell + 1) - 1
}

const fn middle_of(cell: usize) -> u64 {
    lowest_of(cell) + ((lowest_of(cell + 1) - lowest_of(cell)) >> 1)
}

/// Records every latency of one task. No allocation after [`LatencyRecorder::new`].
///
/// It only counts, in the cells of an HDR histogram: what a histogram keeps besides (their number, the shortest and the
/// longest) is computed when somebody asks, and costs no operation anything.
#[derive(Clone)]
pub struct LatencyRecorder {
    counts: Box<[u64; CELLS]>,
    /// The stretches that may have operations. The latencies of a task lie in a few hundred of the 33,000 cells, and to read
    /// the others takes longer than a short phase.
    touched: Box<[bool; STRETCHES]>,
}

impl fmt::Debug for LatencyRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary().fmt(formatter)
    }
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
    /// Never: the room has the size of its type.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![0; CELLS].into_boxed_slice();
        Self { counts: counts.try_into().expect("it has that size"), touched: Box::new([false; STRETCHES]) }
    }

    /// Counts one operation.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.record_many(latency_ns, 1);
    }

    /// Counts several operations that took the same time.
    #[inline]
    pub fn record_many(&mut self, latency_ns: u64, count: u64) {
        let cell = cell_of(if latency_ns > LARGEST_NS { LONGEST_NS } else { latency_ns });
        self.counts[cell] += count;
        self.touched[cell / STRETCH] = true;
    }

    /// Adds the operations of another task.
    pub fn add(&mut self, other: &Self) {
        for (cell, count) in other.counted() {
            self.counts[cell] += count;
            self.touched[cell / STRETCH] = true;
        }
    }

    /// The cells that have operations, from the lowest, with how many.
    fn counted(&self) -> impl Iterator<Item = (usize, u64)> {
        let touched = self.counts.chunks(STRETCH).enumerate().zip(self.touched.iter()).filter(|(_, touched)| **touched);
        let cells = touched.flat_map(|((at, counts), _)| (at * STRETCH..).zip(counts.iter().copied()));
        cells.filter(|(_, count)| *count > 0)
    }

    /// The same as a histogram, for the files.
    ///
    /// # Panics
    /// Never: the bounds are constants the histogram accepts.
    #[must_use]
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds are valid");
        for (cell, count) in self.counted() {
            histogram.saturating_record_n(lowest_of(cell), count);
        }
        histogram
    }

    /// One that was serialised in the V2 form, deflated or not; an error in a sentence where it is damaged.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, String> {
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes).map_err(|error| error.to_string())?;
        let bounds = (histogram.low(), histogram.high(), histogram.sigfig());
        if bounds != (1, LONGEST_NS, 3) {
            return Err(format!("its bounds are {bounds:?}"));
        }
        let mut recorder = Self::new();
        for found in histogram.iter_recorded() {
            recorder.record_many(found.value_iterated_to(), found.count_at_value());
        }
        Ok(recorder)
    }

    /// Quantiles; all zero where nothing was recorded.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let cells: Vec<(usize, u64)> = self.counted().collect();
        let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else {
            return LatencySummary::default();
        };
        let count: u64 = cells.iter().map(|(_, count)| count).sum();
        let share = |total, &(cell, of): &(usize, u64)| total + middle_of(cell) as f64 * of as f64 / count as f64;
        let quantile = |q: f64| {
            let mut left = (q * count as f64).ceil() as u64;
            let at = cells.iter().find(|(_, of)| {
                let is_there = left <= *of;
                left = left.saturating_sub(*of);
                is_there
            });
            highest_of(at.map_or(*last, |(cell, _)| *cell))
        };
        LatencySummary {
            count,
            min_ns: lowest_of(*first),
            mean_ns: cells.iter().fold(0.0, share) as u64,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: highest_of(*last),
        }
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::V2Serializer;

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
    fn a_recorder_is_the_histogram_that_counts_each_latency_itself() {
        let mut recorder = LatencyRecorder::new();
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3).expect("bounds");
        let mut value = 0_u64;
        while value < 3 * LONGEST_NS {
            for latency_ns in [value, value + 1, (1_u64 << ((value | 1).ilog2())) - 1] {
                recorder.record(latency_ns);
                histogram.saturating_record(latency_ns);
            }
            value += 1 + value / 301;
        }
        let (found, facts) = (recorder.histogram(), |of: &Histogram<u64>| (of.len(), of.min(), of.max(), of.mean().to_bits()));
        assert_eq!(facts(&found), facts(&histogram));
        assert!(found == histogram, "cell by cell");
        assert_eq!(recorder.summary(), summary_of(&histogram));
        let mut bytes = Vec::new();
        hdrhistogram::serialization::Serializer::serialize(&mut V2Serializer::new(), &found, &mut bytes).expect("memory");
        let again = LatencyRecorder::decode(&bytes).expect("it was written here");
        assert_eq!(again.counts, recorder.counts);
    }

    fn summary_of(histogram: &Histogram<u64>) -> LatencySummary {
        let quantile = |q| histogram.value_at_quantile(q).min(histogram.max());
        LatencySummary {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean() as u64,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: histogram.max(),
        }
    }

    #[test]
    fn a_summary_is_the_histogram_s_own() {
        for seed in 0..300_u64 {
            let mut recorder = LatencyRecorder::new();
            let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3).expect("bounds");
            let mut state = seed;
            for _ in 0..=seed * seed / 40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (latency_ns, count) = (state >> (22 + seed % 42), 1 + (state >> 8) % 7);
                recorder.record_many(latency_ns, count);
                histogram.saturating_record_n(latency_ns, count);
            }
            assert_eq!(recorder.summary(), summary_of(&histogram), "seed {seed}");
        }
        assert_eq!(LatencyRecorder::new().summary(), LatencySummary::default());
    }

    #[test]
    fn a_latency_beyond_an_hour_counts_as_an_hour() {
        let mut recorder = LatencyRecorder::new();
        recorder.record(u64::MAX);
        assert_eq!(recorder.summary().count, 1);
    }
}
