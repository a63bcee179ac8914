//! What a modelled storage holds between phases, and what one kind of workload leaves of a phase.

use thiserror::Error;
use tonnage_records::{
    CacheFacts, CheckpointResult, CopyResult, FileError, FollowResult, KvCacheResult, OperationResult, TrainingResult,
};
use tonnage_workload::SpecError;

use crate::burst::Burst;
use crate::event_loop::{Counters, Finish};
use crate::model::ModelError;
use crate::names::Names;
use crate::pages::Pages;

/// Why a phase could not be simulated. Failed operations are in the result instead.
#[derive(Debug, Error)]
pub enum SimulatorError {
    /// The model has an impossible value.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The specification contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The record could not be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// Readers would not see the file grow.
    #[error("readers would find {0} bytes before the first is written; a tail starts on a fresh file")]
    NotFresh(u64),
    /// A snapshot that a model does not take.
    #[error("snapshots by {0} need a real storage; use means model with sim:")]
    Means(&'static str),
    /// Two workloads at once, of which the model knows no law.
    #[error("a model runs streams and phases on names beside each other, without node-plateau, and this is {0}")]
    Beside(&'static str),
    /// A read of what was not written.
    #[error("file {file} has {actual} bytes and the read needs {needed}; write it first")]
    TooShort {
        /// Its number.
        file: u32,
        /// Bytes the read phase expects.
        needed: u64,
        /// Bytes it has; 0 where it is missing.
        actual: u64,
    },
}

/// What the storage holds between phases.
#[derive(Debug)]
pub(crate) struct State {
    pub pages: Pages,
    pub names: Names,
    pub burst: Burst,
    pub counters: Counters,
}

/// What one kind of workload adds to what every phase leaves behind.
pub(crate) struct Outcome {
    pub finish: Finish,
    pub cache: Option<CacheFacts>,
    pub parts: Vec<OperationResult>,
    pub follow: Option<FollowResult>,
    pub copies: Vec<CopyResult>,
    pub checkpoint: Option<CheckpointResult>,
    /// Files that match.
    pub found: Option<u64>,
    pub training: Option<TrainingResult>,
    pub kv_cache: Option<KvCacheResult>,
    /// What the storage did of what it was asked.
    pub fact: Option<(&'static str, bool)>,
}

impl Outcome {
    /// Nothing more than `finish`.
    pub const fn of(finish: Finish) -> Self {
        Self {
            finish,
            cache: None,
            parts: Vec::new(),
            follow: None,
            copies: Vec::new(),
            checkpoint: None,
            found: None,
            training: None,
            kv_cache: None,
            fact: None,
        }
    }
}
