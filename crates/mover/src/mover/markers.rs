//! Markers: each appears at the destination only after everything else below its directory is done,
//! markers of deeper directories among it.

use std::collections::BTreeMap;

use crate::path::TreePath;
use crate::rules::Key;

/// Markers that wait, by the directory of their set.
#[derive(Debug, Default)]
pub struct Markers {
    waiting: BTreeMap<TreePath, BTreeMap<i64, Key>>,
}

impl Markers {
    /// The marker `id` waits for what lies below `directory`.
    pub fn wait(&mut self, directory: TreePath, id: i64, key: Key) {
        self.waiting.entry(directory).or_default().insert(id, key);
    }

    /// Directories whose markers wait.
    pub fn directories(&self) -> Vec<TreePath> {
        self.waiting.keys().cloned().collect()
    }

    /// The markers of `directory`, which wait on.
    pub fn of(&self, directory: &TreePath) -> Vec<(i64, Key)> {
        self.waiting.get(directory).into_iter().flatten().map(|(&id, &key)| (id, key)).collect()
    }

    /// The markers of `directory` wait no longer.
    pub fn release(&mut self, directory: &TreePath) -> Vec<(i64, Key)> {
        self.waiting.remove(directory).into_iter().flatten().collect()
    }
}
