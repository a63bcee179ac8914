//! A phase beside another one, the company: both in this process, on storages of their own, with a result each.
//!
//! The company is not a second group of the same phase's tasks: its operations must not come near the totals, the series
//! and the histograms of what is measured, and two phases have none of those in common. Its line opens first, so that it is
//! up to speed when the other one begins, and it ends when the other one has.

use std::time::Duration;

use tonnage_records::{PhaseResult, StopReason};

use crate::phase::{Live, Phase};
use crate::phase_outcome::EngineError;

/// What a phase and its company leave.
pub type Results = (Result<PhaseResult, EngineError>, Result<PhaseResult, EngineError>);

/// A phase and its company, at their start lines, running, or ended.
pub struct Beside {
    measured: Phase,
    company: Phase,
    lead: Duration,
}

impl Beside {
    /// Both are prepared. `lead`: how much earlier the company starts.
    #[must_use]
    pub const fn new(measured: Phase, company: Phase, lead: Duration) -> Self {
        Self { measured, company, lead }
    }

    /// Opens the company's start line, and the other one `lead` later: until then this waits. It does not where the company
    /// has ended by then, for it has failed.
    pub fn go(&mut self) {
        self.company.go();
        let _ = self.company.wait(self.lead);
        self.measured.go();
    }

    /// Waits until both have ended, at most `timeout`; true if they have.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        if !self.measured.wait(timeout) {
            return false;
        }
        self.company.stop();
        self.company.wait(timeout)
    }

    /// Asks the tasks of both to end after the operation in hand.
    pub fn stop(&self) {
        self.measured.stop();
        self.company.stop();
    }

    /// How far the measured one is.
    #[must_use]
    pub fn live(&self) -> Live {
        self.measured.live()
    }

    /// Both results, once, after [`Beside::wait`] was true. That the company was told to end is how it ends, unless the
    /// other one was as well.
    #[must_use]
    pub fn take_results(&self) -> Option<Results> {
        let (measured, company) = (self.measured.take_result()?, self.company.take_result()?);
        let is_cut = matches!(&measured, Ok(result) if result.stop_reason == StopReason::Interrupted);
        let company = company.map(|mut result| {
            if result.stop_reason == StopReason::Interrupted && !is_cut {
                result.stop_reason = StopReason::Time;
            }
            result
        });
        Some((measured, company))
    }
}
