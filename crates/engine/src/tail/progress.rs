//! When each transfer was written, so that readers know how late they are. Bounded, whatever the size of the file.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Transfers whose own instant is kept: the last ones that were written.
const RECENT: u64 = 1 << 15;
/// Groups of transfers whose beginning is kept for readers that are further behind: each is so small a part of the
/// whole that the difference does not show in a lag of more than [`RECENT`] transfers.
const GROUPS: u64 = 1 << 15;

/// What the writer has done. Written by it alone; instants are ticks of the phase's clock.
pub struct Progress {
    opened: AtomicBool,
    /// Transfers whose write has ended.
    written: AtomicU64,
    /// When the writer ended; 0 while it has not.
    ended: AtomicU64,
    recent: Box<[AtomicU64]>,
    groups: Box<[AtomicU64]>,
    group_transfers: u64,
}

impl Progress {
    /// Of a file that will have `transfers`.
    pub fn new(transfers: u64) -> Self {
        let table = |entries: u64| (0..entries.min(transfers)).map(|_| AtomicU64::new(0)).collect();
        Self {
            opened: AtomicBool::new(false),
            written: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            recent: table(RECENT),
            groups: table(GROUPS),
            group_transfers: transfers.div_ceil(GROUPS),
        }
    }

    /// The file is there.
    pub fn open(&self) {
        self.opened.store(true, Ordering::Release);
    }

    pub fn is_open(&self) -> bool {
        self.opened.load(Ordering::Acquire)
    }

    /// The write of transfer number `number` ended at `ticks`.
    #[inline]
    pub fn publish(&self, number: u64, ticks: u64) {
        // Released, so that whoever sees this instant in the place of an older one also sees how far the writer is.
        self.recent[(number % RECENT) as usize].store(ticks, Ordering::Release);
        if number.is_multiple_of(self.group_transfers) {
            self.groups[(number / self.group_transfers) as usize].store(ticks, Ordering::Relaxed);
        }
        self.written.store(number + 1, Ordering::Release);
    }

    /// Nothing more will be written.
    pub fn end(&self, ticks: u64) {
        let _ = self.ended.compare_exchange(0, ticks.max(1), Ordering::Release, Ordering::Relaxed);
    }

    /// When the writer ended, if it has.
    pub fn ended(&self) -> Option<u64> {
        Some(self.ended.load(Ordering::Acquire)).filter(|ticks| *ticks > 0)
    }

    /// Transfers whose write has ended.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// When the write of transfer number `number` ended; `None` if it has not. For a reader that is further behind
    /// than the table of the last ones, when that of the first transfer of its group did.
    pub fn written_at(&self, number: u64) -> Option<u64> {
        if number >= self.written() {
            return None;
        }
        let ticks = self.recent[(number % RECENT) as usize].load(Ordering::Acquire);
        // Overwritten, or just being so, where the writer is a whole round ahead.
        if self.written() < number + RECENT {
            return Some(ticks);
        }
        Some(self.groups[(number / self.group_transfers) as usize].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recent_transfer_has_its_own_instant_and_an_unwritten_one_has_none() {
        let progress = Progress::new(10);
        progress.publish(0, 100);
        progress.publish(1, 250);
        assert_eq!([0, 1, 2].map(|number| progress.written_at(number)), [Some(100), Some(250), None]);
        assert_eq!((progress.written(), progress.ended()), (2, None));
        progress.end(300);
        progress.end(400);
        assert_eq!(progress.ended(), Some(300));
    }

    #[test]
    fn an_old_transfer_has_the_instant_of_its_group_and_the_table_stays_small() {
        let transfers = 10 * GROUPS;
        let progress = Progress::new(transfers);
        for number in 0..transfers {
            progress.publish(number, 1000 + number);
        }
        assert_eq!(progress.recent.len() + progress.groups.len(), 65_536);
        assert_eq!(progress.written_at(transfers - RECENT + 1), Some(1000 + transfers - RECENT + 1));
        assert_eq!(progress.written_at(57), Some(1050), "groups of ten");
    }
}
