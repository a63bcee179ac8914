//! What became of the users of a `kv-cache` phase.

use serde::{Deserialize, Serialize};

/// Turns of users. A turn that nobody began, for the time was over, counts in the quantiles with the time for which it
/// had waited then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct KvCacheResult {
    pub users: u32,
    /// That were intended to begin.
    pub turns: u64,
    /// Of those, the ones that nobody began.
    pub unserved: u64,
    /// Turns of a conversation that had begun before…
    pub returning: u64,
    /// …of which the cache still held it.
    pub found: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Turns read for so long, in all…
    pub read_ns: u64,
    /// …and wrote for so long.
    pub write_ns: u64,
    /// Time from the intended start of a turn to the end of its last write.
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
}

impl KvCacheResult {
    /// The same with the quantiles of these times, one of each turn.
    #[must_use]
    pub fn with_times(mut self, mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let quantile = |percent: usize| match (times_ns.len() * percent).div_ceil(100) {
            0 => 0,
            rank => times_ns[rank - 1],
        };
        (self.p50_ns, self.p95_ns, self.p99_ns) = (quantile(50), quantile(95), quantile(99));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_smallest_time_that_so_many_turns_do_not_exceed() {
        let of = |times: Vec<u64>| {
            let found = KvCacheResult::default().with_times(times);
            [found.p50_ns, found.p95_ns, found.p99_ns]
        };
        assert_eq!(of((1..=100).rev().collect()), [50, 95, 99]);
        assert_eq!(of(vec![7, 3, 5]), [5, 7, 7]);
        assert_eq!(of(Vec::new()), [0, 0, 0]);
    }
}
