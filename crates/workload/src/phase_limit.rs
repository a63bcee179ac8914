//! When a phase ends.

use serde::{Deserialize, Serialize};

use crate::spec_error::SpecError;

/// When a phase ends. Without anything given: when every task has made one pass over its region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// No operation starts later than this after the start line. `None`: no time limit.
    #[serde(default)]
    pub time_ns: Option<u64>,
    /// Begin again at the start of the block when it is done (needs `time_ns` or `operations`); otherwise the phase ends there.
    #[serde(default)]
    pub wrap: bool,
    /// Most operations of a task.
    #[serde(default)]
    pub operations: Option<u64>,
    /// A task that is through with its pass earlier than this makes another, always a whole one (IOR's
    /// `minTimeDuration`). 0: one pass.
    #[serde(default)]
    pub min_time_ns: u64,
    /// When the time is up, every task goes on until it has done as many operations as the one that had done most
    /// (IOR's `stoneWallingWearOut`).
    #[serde(default)]
    pub wear_out: bool,
    /// Nobody has checked that there is room for what it writes: it ends, as failed, before a file system is full. Only
    /// where [`Work::takes_bytes`](crate::Work::takes_bytes) says how much it may write; a model does not look.
    #[serde(default)]
    pub watch_space: bool,
}

impl Limit {
    pub(crate) const fn check(&self) -> Result<(), SpecError> {
        if self.wear_out && (self.wrap || self.time_ns.is_none()) {
            return Err(SpecError::WearOut);
        }
        if matches!(self.operations, Some(0)) {
            return Err(SpecError::Zero("limit.operations"));
        }
        match self.time_ns {
            None if self.wrap && self.operations.is_none() => Err(SpecError::Endless),
            Some(most) if self.min_time_ns > most => Err(SpecError::MinTime { least: self.min_time_ns, most }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        let timed = Limit { time_ns: Some(10), ..Limit::default() };
        assert_eq!(Limit { wear_out: true, ..timed }.check(), Ok(()));
        assert_eq!(Limit { wear_out: true, wrap: true, ..timed }.check(), Err(SpecError::WearOut));
        assert_eq!(Limit { wear_out: true, ..Limit::default() }.check(), Err(SpecError::WearOut));
        assert_eq!(Limit { wrap: true, ..Limit::default() }.check(), Err(SpecError::Endless));
        assert_eq!(Limit { wrap: true, operations: Some(3), ..Limit::default() }.check(), Ok(()));
        assert_eq!(Limit { operations: Some(0), ..timed }.check(), Err(SpecError::Zero("limit.operations")));
        assert_eq!(Limit { min_time_ns: 11, ..timed }.check(), Err(SpecError::MinTime { least: 11, most: 10 }));
        assert_eq!(Limit { min_time_ns: 10, ..timed }.check(), Ok(()));
    }
}
