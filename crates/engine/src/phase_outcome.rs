//! How a phase ends: its result, or why it has none.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Condvar, Mutex, PoisonError};

use thiserror::Error;
use tonnage_records::{FileError, PhaseResult};
use tonnage_storage::StorageError;
use tonnage_workload::SpecError;

/// Why a phase could not be run at all. Failed operations are in the result instead.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The specification contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The record could not be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// No thread for a task.
    #[error("cannot start a thread for task {task}: {source}; use fewer tasks or raise the process limit")]
    Thread {
        /// Which.
        task: u32,
        /// Why not.
        source: std::io::Error,
    },
    /// A task's thread died: a defect of ours.
    #[error("a task ended in a panic; please report this with the message above it")]
    Panic,
}

/// Where the supervisor leaves the result.
#[derive(Default)]
pub struct Finished {
    pub result: Mutex<Option<Result<PhaseResult, EngineError>>>,
    pub changed: Condvar,
    pub done: AtomicBool,
    /// When the start line opened, on the run's clock; 0 before that.
    pub line_ns: AtomicU64,
}

impl Finished {
    /// Wakes who waits for the phase. With the lock, so that nobody falls asleep between looking and waiting.
    pub fn announce(&self) {
        let _held = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.notify_all();
    }
}
