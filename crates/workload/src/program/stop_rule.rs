//! How long a task goes on: its pass, the time, and what lies beyond them (repeated passes, wear-out).

use crate::program::Terms;
use crate::program::starts::TimeUnit;

/// What follows when a task has begun all operations of its quota, and all of them have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtQuota {
    /// The quota has grown by another pass.
    Again,
    /// The other tasks are to know how much it has begun.
    Tell,
    /// It goes on as far as the task that had begun most.
    Learn,
    /// It ends.
    End,
}

/// Where a task that wears out is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wear {
    /// It does not wear out.
    Not,
    /// Before its wall.
    Before,
    /// Its time was up and it has told; it goes on as far as others had come.
    Beyond,
    /// All that it has to do is done, and it has told.
    Over,
}

/// What one task has still to do. `quota` and `deadline` are what each operation is compared with; all else is asked only
/// when one of them is reached.
#[derive(Debug)]
pub struct StopRule {
    /// Operations that are known to be due.
    pub quota: u64,
    /// No operation begins from here on.
    pub deadline: u64,
    /// Operations of a pass.
    pass: u64,
    /// Operations never to exceed.
    most: u64,
    /// Passes are repeated until here.
    least: u64,
    wear: Wear,
}

impl StopRule {
    /// That of a task that begins `now`.
    pub fn new(terms: &Terms, unit: impl TimeUnit, now: u64) -> Self {
        let (limit, pass) = (terms.limit, terms.pass);
        Self {
            quota: terms.quota(),
            deadline: limit.time_ns.map_or(u64::MAX, |ns| now.saturating_add(unit.units(ns))),
            pass,
            most: limit.operations.unwrap_or(u64::MAX),
            least: now.saturating_add(unit.units(limit.min_time_ns)),
            wear: if limit.wear_out { Wear::Before } else { Wear::Not },
        }
    }

    /// The quota of `done` operations is reached at `now`.
    #[cold]
    pub fn at_quota(&mut self, done: u64, now: u64) -> AtQuota {
        let again = done.saturating_add(self.pass).min(self.most);
        match self.wear {
            Wear::Beyond => AtQuota::Learn,
            Wear::Not | Wear::Before if again > done && now < self.least => {
                self.quota = again;
                AtQuota::Again
            }
            Wear::Not | Wear::Over => AtQuota::End,
            Wear::Before => {
                self.wear = Wear::Over;
                AtQuota::Tell
            }
        }
    }

    /// The time is up, with `begun` operations: true if the task tells and goes on, false if it ends.
    #[cold]
    pub fn time_is_up(&mut self, begun: u64) -> bool {
        if self.wear == Wear::Not {
            return false;
        }
        (self.deadline, self.quota, self.wear) = (u64::MAX, begun, Wear::Beyond);
        true
    }

    /// The most that any task had begun, where that is more than the `done` of this one; whether it goes on.
    pub fn learned(&mut self, most: Option<u64>, done: u64) -> bool {
        self.quota = most.unwrap_or(done);
        self.quota > done
    }
}
