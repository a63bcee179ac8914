//! What a mover says of itself; `status --json`, the panel and the metrics all print this.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A number of entries and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Files, links, FIFOs and directories.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// Where the mover stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// First scan.
    Starting,
    /// Copying what turns up.
    Watching,
    /// The application has ended: ends when everything found is safe, or failed.
    Draining,
    /// Ended with everything found done.
    Finished,
    /// Ended before: `resume` goes on.
    Stopped,
}

/// One entry that stands still, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Which, as `TreePath` prints it.
    pub path: String,
    /// Why: `open for writing`, `EIO at the destination, attempt 3 in 2 s`, `waits for 4 files of its set`, …
    pub reason: String,
}

/// One entry that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which, as `TreePath` prints it.
    pub path: String,
    /// Why, and what to do.
    pub reason: String,
}

/// Everything at one moment. Rates and the time left are of the last seconds; `None` where there is nothing to divide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The mover's identity, drawn when its journal was made.
    pub id: String,
    /// Its name on this host.
    pub name: String,
    /// Source.
    pub from: PathBuf,
    /// Destination.
    pub to: PathBuf,
    /// Where it stands.
    pub progress: Progress,
    /// Found and not yet safe, whether waiting or in flight.
    pub queued: Totals,
    /// Of these, in flight.
    pub copying: Totals,
    /// Safe at the destination.
    pub done: Totals,
    /// Of these, no longer at the source because this mover cleared them.
    pub cleared: Totals,
    /// Given up.
    pub failed: Totals,
    /// Gone from the source before they were safe.
    pub gone: Totals,
    /// Sockets and devices, which are never staged.
    pub skipped: Totals,
    /// Copies that lack attributes of their sources, because the destination does not take them.
    #[serde(default)]
    pub dropped_attributes: u64,
    /// Names whose contents this mover had cleared, and whose copies were replaced since by what was made under the name later.
    #[serde(default)]
    pub replaced_after_clearing: u64,
    /// Bytes copied by this process, whole files or not; without those whose write failed.
    pub copied_bytes: u64,
    /// Bytes a second now.
    pub rate_bytes_per_s: Option<u64>,
    /// Files a second now.
    pub rate_files_per_s: Option<f64>,
    /// Time until the queue is empty at these rates, in nanoseconds.
    pub left_ns: Option<u64>,
    /// Threads that copy.
    pub workers: u32,
    /// Bound in bytes a second that was asked for.
    pub limit_bytes_per_s: Option<u64>,
    /// Bound in files a second that was asked for.
    pub limit_files_per_s: Option<u64>,
    /// Bound that the controller keeps now, in bytes a second; `None`: full speed.
    pub gentle_bytes_per_s: Option<u64>,
    /// Share of the source's file system in use, in thousandths.
    pub source_used_permille: u32,
    /// Whether that is above the high mark.
    pub above_high_mark: bool,
    /// `inotify`, or why it cannot be and that scans stand in.
    pub watch: String,
    /// Scans completed.
    pub scans: u64,
    /// The first entries that stand still, at most ten.
    pub waiting: Vec<Waiting>,
    /// The first entries that were given up, at most ten.
    pub failures: Vec<Failure>,
    /// What the deadline will not let through at the present rate; zero without a deadline.
    pub will_not_fit: Totals,
    /// Things the user must know: a journal that was rebuilt, a destination without checksummed renames, …
    pub notes: Vec<String>,
}
