//! What a server has taken of a file and may still lose: everything since the latest COMMIT, if it restarts.

use std::collections::BTreeMap;
use std::ops::Range;

use nfs3_types::nfs3::{stable_how, writeverf3};

/// Ranges of a file, those that touch joined.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn add(&mut self, mut range: Range<u64>) {
        if let Some((&start, &end)) = self.0.range(..=range.start).next_back()
            && end >= range.start
        {
            if end >= range.end {
                return;
            }
            range.start = start;
        }
        while let Some((&start, &end)) = self.0.range(range.start..=range.end).next() {
            self.0.remove(&start);
            range.end = range.end.max(end);
        }
        self.0.insert(range.start, range.end);
    }

    fn append(&mut self, others: Self) {
        others.0.into_iter().for_each(|(start, end)| self.add(start..end));
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    fn take(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.0).into_iter().map(|(start, end)| start..end).collect()
    }
}

/// The writes of one file that no COMMIT covers.
#[derive(Debug, Default)]
pub(super) struct Uncommitted {
    /// The server's number for the time that it runs: another one after a restart.
    verifier: Option<writeverf3>,
    taken: Ranges,
    /// Taken by a server that has restarted since.
    lost: Ranges,
}

impl Uncommitted {
    /// Nothing is left to commit, and nothing was lost.
    pub(super) fn is_empty(&self) -> bool {
        self.taken.0.is_empty() && self.lost.0.is_empty()
    }

    /// A write was taken; how many bytes of earlier ones that shows to be lost.
    pub(super) fn written(&mut self, range: Range<u64>, how: stable_how, verifier: writeverf3) -> u64 {
        let lost = self.seen(verifier);
        if how == stable_how::UNSTABLE {
            self.taken.add(range);
        }
        lost
    }

    /// All that was taken is durable, unless the server has restarted: how many bytes that shows to be lost.
    pub(super) fn committed(&mut self, verifier: writeverf3) -> u64 {
        let lost = self.seen(verifier);
        self.taken = Ranges::default();
        lost
    }

    fn seen(&mut self, verifier: writeverf3) -> u64 {
        if self.verifier.replace(verifier).is_none_or(|known| known == verifier) {
            return 0;
        }
        let lost = std::mem::take(&mut self.taken);
        let bytes = lost.bytes();
        self.lost.append(lost);
        bytes
    }

    /// What must be written again, once.
    pub(super) fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.lost.take()
    }

    /// Something must be written again.
    pub(super) fn has_lost(&self) -> bool {
        !self.lost.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: writeverf3 = writeverf3([1; 8]);
    const SECOND: writeverf3 = writeverf3([2; 8]);

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Ranges::default();
        for range in [10..20, 30..40, 20..25, 60..70, 0..5, 24..31, 12..13] {
            ranges.add(range);
        }
        assert_eq!(ranges.bytes(), 5 + 30 + 10);
        assert_eq!(ranges.take(), [0..5, 10..40, 60..70]);
        assert_eq!(ranges.take(), []);
    }

    #[test]
    fn a_restart_loses_what_no_commit_covered() {
        let mut file = Uncommitted::default();
        assert_eq!(file.written(0..10, stable_how::UNSTABLE, FIRST), 0);
        assert_eq!(file.committed(FIRST), 0);
        assert!(file.is_empty());
        assert_eq!(file.written(10..20, stable_how::UNSTABLE, FIRST), 0);
        assert_eq!(file.written(20..30, stable_how::FILE_SYNC, FIRST), 0);
        assert_eq!(file.written(40..50, stable_how::UNSTABLE, SECOND), 10, "told by a write");
        assert_eq!(file.committed(FIRST), 10, "told by a commit");
        assert!(file.has_lost());
        assert_eq!(file.take_lost(), [10..20, 40..50]);
        assert!(file.is_empty());
    }
}
