//! When one task's operations start.

use crate::rate_limits::{RateLimits, Schedule};

/// The unit in which a clock counts.
pub trait TimeUnit: Copy {
    /// So many nanoseconds in this unit; the largest number where they are more than fit.
    fn units(self, ns: u64) -> u64;
}

/// A clock that counts nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Nanoseconds;

impl TimeUnit for Nanoseconds {
    fn units(self, ns: u64) -> u64 {
        ns
    }
}

/// The starts of one task.
#[derive(Debug, Clone, Copy)]
pub struct Starts<U> {
    schedule: Option<Schedule>,
    /// Pause after each operation.
    think: u64,
    origin: u64,
    unit: U,
}

impl<U: TimeUnit> Starts<U> {
    /// Those of a task that begins at `origin`.
    pub fn new(pace: RateLimits, schedule: Option<Schedule>, unit: U, origin: u64) -> Self {
        Self { schedule, think: unit.units(pace.think_ns), origin, unit }
    }

    /// When operation number `operation` is to start, if that was fixed beforehand.
    #[inline]
    pub fn due(&self, operation: u64) -> Option<u64> {
        let schedule = self.schedule.as_ref()?;
        Some(self.origin.saturating_add(self.unit.units(schedule.due_ns(operation))))
    }

    /// When another operation may begin after one that ended at `ended`.
    #[inline]
    pub const fn ready(&self, ended: u64) -> u64 {
        ended.saturating_add(self.think)
    }
}
