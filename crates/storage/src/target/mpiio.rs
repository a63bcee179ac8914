//! How files are opened through MPI-IO.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What MPI-IO is told, beside which files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MpiioSpec {
    /// `shim.c`, compiled for the MPI of this process; absolute.
    #[serde(default)]
    pub library: PathBuf,
    /// Instead of `library`: addresses in this process of the functions of `shim.c`, by their names there after
    /// `tonnage_mpiio_`. Whoever writes them is trusted.
    #[serde(default)]
    pub functions: BTreeMap<String, usize>,
    /// Transfers are collective: all tasks of a file make each of them together.
    #[serde(default)]
    pub collective: bool,
    /// All tasks work on one file.
    #[serde(default)]
    pub shared: bool,
    /// How many tasks a phase has.
    #[serde(default = "one")]
    pub tasks: u32,
    /// Bytes that a task moves in a phase that nothing ends earlier.
    #[serde(default)]
    pub task_bytes: u64,
    /// Hints by name, as MPI takes them.
    #[serde(default)]
    pub hints: BTreeMap<String, String>,
    /// Each task sees only its own part of the file.
    #[serde(default)]
    pub view: Option<FileView>,
}

const fn one() -> u32 {
    1
}

/// Which part of the file a task sees: `piece_bytes` of every `block_bytes × tasks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileView {
    /// Bytes in one place: those of a block; where each transfer has `pieces`, those of a piece.
    pub piece_bytes: u64,
    /// Into how many pieces a transfer is spread, one for each segment of the file; 1: it is in one place.
    #[serde(default = "one")]
    pub pieces: u32,
    /// Bytes that a task has in a segment.
    pub block_bytes: u64,
    /// Tasks that have a block in each segment.
    pub tasks: u32,
}
