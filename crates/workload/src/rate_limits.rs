//! When operations start: as the one before ends, after a pause, or at times that were fixed beforehand.

use serde::{Deserialize, Serialize};

use crate::spec_error::SpecError;

/// When operations start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// Operations that all tasks of the trial together start in a second (an open loop): latency then counts from the
    /// intended start. `None`: each operation starts when the one before it ended.
    #[serde(default)]
    pub operations_per_s: Option<u64>,
    /// The same in bytes; whole transfers. At most one of the two.
    #[serde(default)]
    pub bytes_per_s: Option<u64>,
    /// Pause of a task after each operation, outside its latency. Only where no rate is given.
    #[serde(default)]
    pub think_ns: u64,
}

impl RateLimits {
    /// The times at which `task` of `tasks` starts operations of `transfer_size` bytes; `None` where no rate is given.
    #[must_use]
    pub fn schedule(&self, transfer_size: u64, task: u32, tasks: u32) -> Option<Schedule> {
        let (rate, share) = match (self.operations_per_s, self.bytes_per_s) {
            (Some(rate), _) => (rate, 1),
            (None, Some(rate)) => (rate, transfer_size),
            (None, None) => return None,
        };
        Some(Schedule { rate: rate.max(1), share, task, tasks })
    }

    /// Whether starts are fixed beforehand.
    #[must_use]
    pub const fn is_rate(&self) -> bool {
        self.operations_per_s.is_some() || self.bytes_per_s.is_some()
    }

    /// Whether tasks wait between operations.
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.is_rate() || self.think_ns > 0
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        match (self.operations_per_s, self.bytes_per_s) {
            (Some(_), Some(_)) => Err(SpecError::TwoRates),
            (Some(0), _) => Err(SpecError::Zero("pace.operations_per_s")),
            (_, Some(0)) => Err(SpecError::Zero("pace.bytes_per_s")),
            (None, None) => Ok(()),
            _ if self.think_ns > 0 => Err(SpecError::ThinkingAtRate),
            _ => Ok(()),
        }
    }
}

/// The intended starts of one task's operations. All tasks share one row of starts, evenly spaced, and take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    rate: u64,
    /// What an operation takes of the rate: 1, or its bytes.
    share: u64,
    task: u32,
    tasks: u32,
}

impl Schedule {
    /// When the task's operation number `operation` (from 0) is to start, in nanoseconds after the task's beginning.
    /// Each is computed afresh, so that no rounding adds up.
    #[must_use]
    pub fn due_ns(&self, operation: u64) -> u64 {
        let turn = u128::from(operation) * u128::from(self.tasks) + u128::from(self.task);
        let due = turn.saturating_mul(u128::from(self.share)).saturating_mul(1_000_000_000) / u128::from(self.rate);
        u64::try_from(due).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(operations_per_s: u64) -> RateLimits {
        RateLimits { operations_per_s: Some(operations_per_s), ..RateLimits::default() }
    }

    #[test]
    fn tasks_take_turns_and_together_keep_the_rate() {
        let mut starts: Vec<u64> = (0..3)
            .flat_map(|task| {
                let schedule = rate(1000).schedule(4096, task, 3).expect("a rate");
                (0..100).map(move |k| schedule.due_ns(k))
            })
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, (0..300).map(|turn| turn * 1_000_000).collect::<Vec<u64>>());
    }

    #[test]
    fn rounding_does_not_add_up_in_a_day() {
        let schedule = rate(3).schedule(1, 0, 1).expect("a rate");
        assert_eq!(schedule.due_ns(1), 333_333_333);
        assert_eq!(schedule.due_ns(3 * 86_400), 86_400 * 1_000_000_000);
    }

    #[test]
    fn a_rate_in_bytes_starts_whole_transfers() {
        let pace = RateLimits { bytes_per_s: Some(10 << 20), ..RateLimits::default() };
        let schedule = pace.schedule(1 << 20, 0, 2).expect("a rate");
        assert_eq!(schedule.due_ns(5), 1_000_000_000, "each of two tasks does five a second");
    }

    #[test]
    fn a_pace_that_contradicts_itself_is_refused() {
        let both = RateLimits { bytes_per_s: Some(1), ..rate(1) };
        assert_eq!(both.check(), Err(SpecError::TwoRates));
        assert_eq!(rate(0).check(), Err(SpecError::Zero("pace.operations_per_s")));
        assert_eq!(
            RateLimits { bytes_per_s: Some(0), ..RateLimits::default() }.check(),
            Err(SpecError::Zero("pace.bytes_per_s"))
        );
        assert_eq!(RateLimits { think_ns: 1, ..rate(1) }.check(), Err(SpecError::ThinkingAtRate));
        assert_eq!(RateLimits { think_ns: 1, ..RateLimits::default() }.check(), Ok(()));
    }
}
