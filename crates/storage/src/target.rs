//! Which storage is meant, as the front says it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The kinds of storage in this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// pread and pwrite.
    Posix,
    /// `io_uring`, several operations in flight.
    Uring,
    /// Mapped files.
    Mmap,
    /// Does nothing: the cost of the generator itself.
    Null,
    /// Copies to and from memory.
    Memory,
}

/// Whether operations go past the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectMode {
    /// Through the page cache.
    No,
    /// Past it, or an error.
    Yes,
    /// Past it where the file system can, else through it with a note.
    #[default]
    Auto,
}

/// A storage to open. It crosses from Python as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Which kind.
    pub kind: StorageKind,
    /// The scratch directory (made by `Scratch`); only for kinds with files.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Past the page cache or through it.
    #[serde(default)]
    pub direct: DirectMode,
}
