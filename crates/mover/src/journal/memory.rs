//! What a journal knows that is not on disk.

use std::collections::HashSet;

/// What only the process at work knows.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Entries that were written while they were on their way: done, they go again.
    pub(super) doubted: HashSet<i64>,
    /// Entries that this process has made done; kept once that was asked for.
    pub(super) done_here: Option<HashSet<i64>>,
    /// Directories that are new or have another time of change, since this was last asked.
    pub(super) directories: HashSet<i64>,
}
