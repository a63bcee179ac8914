//! One timed step of a workload, as the front asks for it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::geometry::{Geometry, Layout};
use crate::payload::PayloadKind;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Write one transfer.
    Write,
    /// Read one transfer.
    Read,
}

/// When written data is made durable, inside the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Never.
    None,
    /// One fsync of the file after the task's last write.
    Fsync,
    /// An fsync after each write; its time counts in the operation's latency.
    FsyncEach,
}

/// What happens to the files' pages in the cache before a read phase starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CachePolicy {
    /// Leave the cache as it is; what is in it is measured and reported.
    Keep,
    /// Write back and drop the files' pages first (`posix_fadvise`, needs no privilege).
    Drop,
}

/// When a phase ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// No operation starts later than this after the start line. `None`: no time limit.
    #[serde(default)]
    pub time_ns: Option<u64>,
    /// Begin again at the start of the block when it is done (needs `time_ns`); otherwise the phase ends there.
    #[serde(default)]
    pub wrap: bool,
}

/// Which tasks of the trial run in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRange {
    /// Number of the first one.
    #[serde(default)]
    pub first: u32,
    /// How many run here.
    pub here: u32,
    /// How many run in the whole trial.
    pub total: u32,
}

/// One phase: everything that the engine or the simulator has to know. It crosses from Python as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Name of the record (`0007-write`), for messages.
    pub record: String,
    /// What each operation does.
    pub op: Op,
    /// Where the operations go.
    pub geometry: Geometry,
    /// Which tasks run here.
    pub tasks: TaskRange,
    /// Operations in flight at once in each task; 1 is synchronous.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// When the phase ends.
    #[serde(default)]
    pub limit: Limit,
    /// fsync policy of a write phase.
    pub durability: Durability,
    /// Cache policy of a read phase.
    pub cache: CachePolicy,
    /// Bytes that are written, or expected when `verify` is set.
    #[serde(default)]
    pub payload: PayloadKind,
    /// Check every byte that is read (only with [`PayloadKind::Unique`]).
    #[serde(default)]
    pub verify: bool,
    /// Seed of orders and payloads. A read verifies against the payload of the same seed.
    pub seed: u64,
    /// Length of an interval of the series.
    #[serde(default = "tenth_of_a_second")]
    pub interval_ns: u64,
}

const fn one() -> u32 {
    1
}

const fn tenth_of_a_second() -> u64 {
    100_000_000
}

/// Why a [`PhaseSpec`] cannot be run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// A size is zero.
    #[error("{0} is 0; give at least 1 byte")]
    Zero(&'static str),
    /// The block is not made of whole transfers.
    #[error("block_size {block_size} is not a multiple of transfer_size {transfer_size}")]
    NotMultiple {
        /// As given.
        block_size: u64,
        /// As given.
        transfer_size: u64,
    },
    /// No tasks, or more than there are in the trial.
    #[error("tasks {first}+{here} do not fit in a trial of {total}")]
    Tasks {
        /// As given.
        first: u32,
        /// As given.
        here: u32,
        /// As given.
        total: u32,
    },
    /// Wrapping never ends without a time limit.
    #[error("limit.wrap needs limit.time_ns, or the phase would never end")]
    Endless,
    /// A file would be larger than an offset can say.
    #[error("the file would be larger than 2^63 bytes; make block_size, segments or tasks smaller")]
    TooLarge,
    /// Verification needs to know what was written.
    #[error("verify needs the unique payload; a constant one cannot tell one place from another")]
    VerifyConstant,
    /// A transfer must fit in one system call.
    #[error("transfer_size {0} is above the 1 GiB that one call can carry")]
    TransferTooLarge(u64),
}

impl PhaseSpec {
    /// Checks everything that a storage needs not be asked about.
    pub fn check(&self) -> Result<(), SpecError> {
        let geometry = &self.geometry;
        for (name, size) in [
            ("transfer_size", geometry.transfer_size),
            ("block_size", geometry.block_size),
            ("segments", geometry.segments),
            ("queue_depth", u64::from(self.queue_depth)),
            ("interval_ns", self.interval_ns),
        ] {
            if size == 0 {
                return Err(SpecError::Zero(name));
            }
        }
        if geometry.transfer_size > 1 << 30 {
            return Err(SpecError::TransferTooLarge(geometry.transfer_size));
        }
        if !geometry.block_size.is_multiple_of(geometry.transfer_size) {
            return Err(SpecError::NotMultiple { block_size: geometry.block_size, transfer_size: geometry.transfer_size });
        }
        let TaskRange { first, here, total } = self.tasks;
        if here == 0 || u64::from(first) + u64::from(here) > u64::from(total) {
            return Err(SpecError::Tasks { first, here, total });
        }
        let blocks = if geometry.layout == Layout::Shared { u64::from(total) } else { 1 };
        let bytes = geometry.block_size.checked_mul(geometry.segments).and_then(|b| b.checked_mul(blocks));
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            return Err(SpecError::TooLarge);
        }
        if self.limit.wrap && self.limit.time_ns.is_none() {
            return Err(SpecError::Endless);
        }
        if self.verify && self.payload == PayloadKind::Constant {
            return Err(SpecError::VerifyConstant);
        }
        Ok(())
    }
}
