//! How many operations a task has still to begin, and when the next one may start.

use tonnage_workload::{Limit, Pace, Schedule};

/// One task's operations: how many, and when.
pub(crate) struct Quota {
    limit: Limit,
    /// Operations of one pass.
    pass: u64,
    /// Operations begun.
    pub taken: u64,
    /// At most so many.
    most: u64,
    schedule: Option<Schedule>,
    think_ns: u64,
    start_ns: u64,
}

impl Quota {
    /// A task that makes passes of `pass` operations from `start_ns` on.
    pub fn new(limit: Limit, pass: u64, pace: Pace, schedule: Option<Schedule>, start_ns: u64) -> Self {
        let most = if limit.wrap { u64::MAX } else { pass }.min(limit.operations.unwrap_or(u64::MAX));
        Self { limit, pass, taken: 0, most, schedule, think_ns: pace.think_ns, start_ns }
    }

    /// Takes an operation at `now_ns`; false if there is none left.
    #[inline]
    pub fn take(&mut self, now_ns: u64) -> bool {
        if self.taken == self.most && !self.begins_again(now_ns) {
            return false;
        }
        self.taken += 1;
        true
    }

    /// Whether the time decides about the next operation, which is asked when a pass has ended.
    #[inline]
    pub const fn is_at_end(&self) -> bool {
        self.taken == self.most && self.limit.min_time_ns > 0
    }

    /// Another whole pass, where one was made too early.
    #[cold]
    fn begins_again(&mut self, now_ns: u64) -> bool {
        if now_ns - self.start_ns >= self.limit.min_time_ns {
            return false;
        }
        let before = self.most;
        self.most = before.saturating_add(self.pass).min(self.limit.operations.unwrap_or(u64::MAX));
        self.most > before
    }

    /// From now on the task goes on until it has begun `operations`, whatever the time.
    pub fn wear_out(&mut self, operations: u64) {
        self.most = operations;
        self.limit.min_time_ns = 0;
    }

    /// Whether there is more to take.
    pub const fn has_more(&self) -> bool {
        self.taken < self.most
    }

    /// When the operation that was taken at `now_ns` is to start, at the earliest: its latency counts from there.
    #[inline]
    pub fn starts_ns(&self, now_ns: u64) -> u64 {
        match self.schedule {
            Some(schedule) => self.start_ns.saturating_add(schedule.due_ns(self.taken - 1)),
            None if self.taken > 1 => now_ns.saturating_add(self.think_ns),
            None => now_ns,
        }
    }
}
