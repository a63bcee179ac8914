//! `files`: many small files, in trees of directories.

use serde::{Deserialize, Serialize};

use crate::payload::PayloadKind;
use crate::phase::{CachePolicy, SpecError, TaskRange};

/// What each operation of a `files` phase does to one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOp {
    /// Makes a directory of the tree.
    MakeTree,
    /// Removes a directory of the tree, deepest first.
    RemoveTree,
    /// Makes an empty directory (one of the tree's leaves' items).
    MakeDirectory,
    /// Asks for a directory's attributes.
    StatDirectory,
    /// Renames a directory.
    RenameDirectory,
    /// Removes an empty directory.
    RemoveDirectory,
    /// Opens with `O_CREAT | O_EXCL`, writes `file_bytes`, closes.
    Create,
    /// Asks for a file's attributes.
    Stat,
    /// Opens, reads `file_bytes`, closes.
    Read,
    /// Renames a file to its second name.
    Rename,
    /// Lists one directory of the tree; an operation is one directory.
    ReadDirectory,
    /// Removes a file.
    Remove,
    /// Opens the task's one file (creating it if need be), writes `file_bytes` at its beginning, closes; again and again.
    OpenWriteClose,
}

/// Which of the tree's directories hold items, and whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Levels of directories below the root; 0: the root alone.
    pub depth: u32,
    /// Directories in each directory that is not a leaf.
    pub branch: u32,
    /// Items that each task has in each directory.
    pub items_per_directory: u64,
    /// Only the leaves hold items.
    pub leaves_only: bool,
    /// One tree for all tasks, instead of one each.
    pub shared: bool,
}

/// One phase on names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// What each operation does.
    pub op: FileOp,
    /// Where the names are.
    pub tree: Tree,
    /// Operations of each task for `open-write-close`; the tree says it for all others.
    #[serde(default)]
    pub operations: u64,
    /// Bytes of each file.
    #[serde(default)]
    pub file_bytes: u64,
    /// fsync each written file before it is closed.
    #[serde(default)]
    pub fsync: bool,
    /// Work on the items of the task this many numbers further on (mdtest `-N`).
    #[serde(default)]
    pub shift: u32,
    /// Visit the items in a random order instead of that of their creation.
    #[serde(default)]
    pub random: bool,
    /// Cache policy before a read phase.
    pub cache: CachePolicy,
    /// Bytes that are written, or expected when `verify` is set.
    #[serde(default)]
    pub payload: PayloadKind,
    /// Check every byte that is read.
    #[serde(default)]
    pub verify: bool,
}

impl Tree {
    /// Directories of one tree, the root included; `None` if there are more than 2^32.
    #[must_use]
    pub fn directories(&self) -> Option<u64> {
        let (mut level, mut sum) = (1_u64, 1_u64);
        for _ in 0..self.depth {
            level = level.checked_mul(u64::from(self.branch))?;
            sum = sum.checked_add(level)?;
        }
        (sum <= 1 << 32).then_some(sum)
    }

    /// Directories of one tree that hold items.
    #[must_use]
    pub fn holders(&self) -> Option<u64> {
        let all = self.directories()?;
        if !self.leaves_only {
            return Some(all);
        }
        u64::from(self.branch).checked_pow(self.depth)
    }
}

impl Files {
    pub(crate) fn check(&self, _tasks: TaskRange) -> Result<(), SpecError> {
        if self.op == FileOp::OpenWriteClose && self.operations == 0 {
            return Err(SpecError::Zero("operations"));
        }
        if self.tree.depth > 0 && self.tree.branch == 0 {
            return Err(SpecError::Zero("branch"));
        }
        if self.tree.holders().and_then(|holders| holders.checked_mul(self.tree.items_per_directory)).is_none() {
            return Err(SpecError::TreeTooLarge);
        }
        if self.verify && self.payload == PayloadKind::Constant {
            return Err(SpecError::VerifyConstant);
        }
        Ok(())
    }
}
