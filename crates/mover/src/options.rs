//! What was asked. Every default is filled in by the caller; here is only what each value means.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One mover: from where to where, by which rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Tree that is read.
    pub from: PathBuf,
    /// Tree that is written; made if it is not there and its parent is.
    pub to: PathBuf,
    /// Directory of the journal, the lock and the control socket; on node-local storage.
    pub state: PathBuf,
    /// What the mover is called on this host.
    pub name: String,
    /// Globs of what is staged, relative to `from`; empty means everything.
    pub include: Vec<String>,
    /// Globs of what is not.
    pub exclude: Vec<String>,
    /// Globs of what goes before the rest, the first of them first.
    pub first: Vec<String>,
    /// Globs of marker files: each appears only after everything else below its directory is done.
    pub markers: Vec<String>,
    /// Order among equals.
    pub order: Order,
    /// How a copy is checked.
    pub check: Check,
    /// What may be replaced at the destination besides this mover's own files.
    pub overwrite: Overwrite,
    /// When a verified file leaves the source.
    pub clear: Clear,
    /// Water marks of the source's file system.
    pub marks: Option<Marks>,
    /// Threads that copy; `None`: the mover finds its own number.
    pub workers: Option<u32>,
    /// Upper bound in bytes a second; `None`: no bound, 0: paused.
    pub limit_bytes_per_s: Option<u64>,
    /// Upper bound in files a second; `None`: no bound, 0: paused.
    pub limit_files_per_s: Option<u64>,
    /// Whether the application's own I/O comes first.
    pub gentle: Gentle,
    /// A file is taken when its last change is at least this old, in nanoseconds.
    pub settle_ns: u64,
    /// Time between two scans while watching, in nanoseconds.
    pub rescan_ns: u64,
    /// How long the drain waits for a file that somebody still has open for writing, in nanoseconds; then it is failed.
    pub open_grace_ns: u64,
    /// Attempts before a file is failed.
    pub attempts: u32,
    /// File that gets `Spectral Work …` lines.
    pub log: Option<PathBuf>,
    /// Whether a source is cleared though its copy has lost attributes.
    #[serde(default)]
    pub drop_attributes: bool,
    /// The user knows that a tree is not the directory that it was.
    #[serde(default)]
    pub trees_changed: bool,
}

/// Which of the waiting files goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The one changed first.
    Oldest,
    /// The one changed last: the newest checkpoint.
    Newest,
    /// The one with the fewest bytes.
    Smallest,
    /// The one with the most bytes.
    Largest,
}

/// How a copy is checked before it gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// No checksum: sizes and fsync only.
    None,
    /// BLAKE3 of the bytes read, which are the bytes written.
    Written,
    /// The copy is read back from the destination, past the cache where that can be had, and must have the same BLAKE3.
    ReadBack,
}

/// What a copy may replace. A file that this mover placed itself, unchanged since, may always be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    /// Nothing else. A file of the same bytes counts as staged.
    Never,
    /// What was last changed before the source was.
    Older,
    /// Whatever has the name.
    Always,
}

/// When a file that is done and verified leaves the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clear {
    /// Never.
    Never,
    /// Once it is done.
    Done,
    /// Once the source's file system is filled above the high mark, the oldest first, down to the low mark.
    HighWater,
}

/// Shares of the source's file system, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// Above it the mover reports back-pressure, and clears where that was asked.
    pub high_permille: u32,
    /// Clearing ends here.
    pub low_permille: u32,
}

/// Whether the mover gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gentle {
    /// Full speed.
    Off,
    /// Slower, with hysteresis, while the application does I/O or waits for a processor.
    Auto,
}
