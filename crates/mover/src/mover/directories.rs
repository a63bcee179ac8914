//! What the planner does about directories, which change with every name in them: a scan queues them for little of that.

use crate::error::Result;

use super::planner::{IDLE, Planner};

impl Planner<'_> {
    /// Gives the directories at the destination what the scan has found theirs to have; how many are queued because that failed.
    /// Nobody knows which attributes a mover before this one gave to a directory: the first time all are looked at.
    pub(super) fn renew_directories(&mut self) -> Result<u64> {
        let journal = &self.core.journal;
        let mut ids = journal.directories_touched();
        if !self.directories_known {
            ids.extend(journal.directories()?);
            ids.sort_unstable();
            ids.dedup();
        }
        let renewed = self.core.carrier.renew_directories(&ids)?;
        self.directories_known = true;
        journal.touch_directories(renewed.later);
        let again = journal.redo(&renewed.failed)?;
        let count = again.len() as u64;
        self.core.queue(again, true);
        Ok(count)
    }

    /// Gives the directories at the destination their times; one that does not take them after some tries is not safe.
    pub(super) fn finish_directories(&self) -> Result<()> {
        let mut failures = self.core.carrier.finish_directories()?;
        for _ in 1..self.core.options.attempts {
            if failures.is_empty() || self.core.halted() {
                break;
            }
            std::thread::sleep(IDLE);
            failures = self.core.carrier.finish_directories()?;
        }
        for (id, reason) in failures {
            self.core.journal.strand(id, &reason)?;
            self.core.lock().note(reason);
        }
        Ok(())
    }
}
