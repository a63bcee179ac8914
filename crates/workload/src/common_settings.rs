//! The words that every kind of work uses.

use serde::{Deserialize, Serialize};

/// The most rounds of a phase: the window of each is in its result.
pub const MOST_ROUNDS: u32 = 10_000;

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
