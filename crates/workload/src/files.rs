//! `files`: many small files, in trees of directories.
//!
//! A tree is complete: each directory that is not a leaf has `branch` directories in it. Its directories are numbered
//! level by level, the root being 0, so the parent of directory `d` is `(d − 1) / branch`, and the leaves come last.
//! The items of a task fill the holders in that order, and keep their numbers in every phase. Nothing is stored for an
//! item: a [`Walk`](crate::Walk) computes one after the other.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::common_settings::{CachePolicy, TaskRange};
use crate::integer_mixing::mix64;
use crate::payload::PayloadKind;
use crate::spec_error::SpecError;

/// Levels below the root at most: a directory is held open for each level while a tree is removed.
pub const MAX_DEPTH: u32 = 100;
/// What file systems give files and directories at once, mostly.
const BLOCK_BYTES: u64 = 4096;
/// What a name without content takes, about: an inode and an entry of a directory.
const NAME_BYTES: u64 = 1024;

/// What each operation of a `files` phase does to one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOp {
    /// Makes a directory of the tree.
    MakeTree,
    /// Removes a directory of the tree, deepest first.
    RemoveTree,
    /// Makes an empty directory, an item.
    MakeDirectory,
    /// Asks for a directory's attributes.
    StatDirectory,
    /// Renames a directory to its other name.
    RenameDirectory,
    /// Removes an empty directory.
    RemoveDirectory,
    /// Makes a file that is not there yet (`O_CREAT | O_EXCL`), writes `file_bytes`, closes.
    Create,
    /// Opens a file that is there, writes `file_bytes` over what it holds, closes.
    Write,
    /// Asks for a file's attributes.
    Stat,
    /// Opens, reads `file_bytes`, closes.
    Read,
    /// Renames a file to its other name.
    Rename,
    /// Lists one directory of the tree; an operation is one directory.
    ReadDirectory,
    /// Removes a file.
    Remove,
    /// Opens the task's first file (creating it if need be), writes `file_bytes` at its beginning, closes; again and again.
    OpenWriteClose,
    /// Makes the task's first file, writes `file_bytes`, closes, asks for its attributes and removes it; again and again.
    Churn,
}

/// Which of the tree's directories hold items, and whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Levels of directories below the root; 0: the root alone. At most [`MAX_DEPTH`].
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
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each named as in the campaign file")]
pub struct Files {
    /// What each operation does.
    pub op: FileOp,
    /// Where the names are.
    pub tree: Tree,
    /// Operations of each task for `open-write-close` and `churn`; the tree says it for all others.
    #[serde(default)]
    pub operations: u64,
    /// Items that each task of the trial has, by number, where an earlier phase ended before all were made. Empty: all
    /// that the tree says.
    #[serde(default)]
    pub counts: Vec<u64>,
    /// Items carry their other names, for an odd number of rename phases went before.
    #[serde(default)]
    pub renamed: bool,
    /// Bytes of each file.
    #[serde(default)]
    pub file_bytes: u64,
    /// fsync each written file before it is closed.
    #[serde(default)]
    pub fsync: bool,
    /// Each task ends with a sync of the whole file system.
    #[serde(default)]
    pub syncfs: bool,
    /// `Create` makes files with mknod, without opening them.
    #[serde(default)]
    pub mknod: bool,
    /// Task 0 makes and removes the items, and the trees, of all tasks.
    #[serde(default)]
    pub collective: bool,
    /// All tasks work on the items of task 0, which alone renames and removes them.
    #[serde(default)]
    pub shared_files: bool,
    /// Work on the items of the task this many numbers further on (mdtest `-N`).
    #[serde(default)]
    pub shift: u32,
    /// Visit the items in a random order instead of that of their numbers. Phases that make things never do.
    #[serde(default)]
    pub random: bool,
    /// Cache policy before a read phase: the files' pages, not their names.
    pub cache: CachePolicy,
    /// Bytes that are written, or expected when `verify` is set.
    #[serde(default)]
    pub payload: PayloadKind,
    /// Check every byte that is read.
    #[serde(default)]
    pub verify: bool,
    /// Read each file back after it was written, before it is closed, and check every byte.
    #[serde(default)]
    pub check_written: bool,
}

impl FileOp {
    /// Whether an operation is about one of the tree's own directories instead of an item.
    #[must_use]
    pub const fn is_on_tree(self) -> bool {
        matches!(self, Self::MakeTree | Self::RemoveTree | Self::ReadDirectory)
    }

    /// Whether the items are directories.
    #[must_use]
    pub const fn is_on_directories(self) -> bool {
        matches!(self, Self::MakeDirectory | Self::StatDirectory | Self::RenameDirectory | Self::RemoveDirectory)
    }

    /// Whether all operations of a task are on its first file.
    #[must_use]
    pub const fn repeats(self) -> bool {
        matches!(self, Self::OpenWriteClose | Self::Churn)
    }

    /// Whether bytes are written.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Write | Self::OpenWriteClose | Self::Churn)
    }
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

    /// Items that each task has in its tree; `None` where that cannot be counted.
    #[must_use]
    pub fn items(&self) -> Option<u64> {
        self.holders()?.checked_mul(self.items_per_directory)
    }

    /// The first directory that holds items.
    pub(crate) fn first_holder(&self) -> u64 {
        if self.leaves_only { self.directories().unwrap_or(1) - self.holders().unwrap_or(1) } else { 0 }
    }
}

impl Files {
    /// Whose items `task` works on, of `total` tasks.
    #[must_use]
    pub const fn owner(&self, task: u32, total: u32) -> u32 {
        ((task as u64 + self.shift as u64) % total as u64) as u32
    }

    /// The tasks whose items `task` works on, of `total` tasks; for phases on unique trees, whose trees.
    pub(crate) fn owners(&self, task: u32, total: u32) -> Range<u32> {
        let on_tree = matches!(self.op, FileOp::MakeTree | FileOp::RemoveTree);
        let makes = matches!(self.op, FileOp::Create | FileOp::MakeDirectory);
        let takes = matches!(self.op, FileOp::Remove | FileOp::RemoveDirectory);
        let for_all = self.collective && (on_tree || makes || takes);
        let renames = matches!(self.op, FileOp::Rename | FileOp::RenameDirectory);
        let alone = for_all || on_tree && self.tree.shared || self.shared_files && (takes || renames);
        if alone && task != 0 {
            return 0..0;
        }
        if on_tree && self.tree.shared || self.shared_files && !self.op.is_on_tree() {
            return 0..1;
        }
        if for_all {
            return 0..total;
        }
        let owner = self.owner(task, total);
        owner..owner + 1
    }

    /// Operations of a pass over what `owner` has.
    pub(crate) fn operations_on(&self, owner: u32) -> u64 {
        match self.op {
            FileOp::MakeTree | FileOp::RemoveTree | FileOp::ReadDirectory => self.tree.directories().unwrap_or(0),
            FileOp::OpenWriteClose | FileOp::Churn => self.operations,
            _ => {
                let all = self.tree.items().unwrap_or(0);
                self.counts.get(owner as usize).map_or(all, |&count| count.min(all))
            }
        }
    }

    /// What the stamps of a file's bytes call it, of its place and its name alone: whoever reads them need not know how
    /// many items there are. Two files have the same by chance, once in 2^32.
    #[must_use]
    pub const fn identity(owner: u32, number: u64) -> u32 {
        mix64(mix64(owner as u64) ^ number) as u32
    }

    /// The number of an item among all tasks', as records have it; items 2^32 apart have the same. Stamps
    /// of trees that earlier builds left have it as well.
    #[must_use]
    pub fn number_of_all(&self, owner: u32, number: u64) -> u32 {
        (u64::from(owner) * self.tree.items().unwrap_or(0)).wrapping_add(number) as u32
    }

    /// Bytes that an operation moves.
    #[must_use]
    pub const fn moved_bytes(&self) -> u64 {
        let moves = matches!(self.op, FileOp::Read) || self.op.writes() && !(self.mknod && matches!(self.op, FileOp::Create));
        if moves { self.file_bytes } else { 0 }
    }

    /// Space that all of `total` tasks take at most, in bytes: each item with the blocks of its file or directory and with
    /// what its name takes. `None` where no operation makes or writes anything.
    pub(crate) fn takes_bytes(&self, total: u32) -> Option<u64> {
        let item = match self.op {
            FileOp::MakeDirectory => BLOCK_BYTES,
            _ if self.op.writes() => self.moved_bytes().checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX),
            _ => return None,
        };
        // It is always the same file.
        let items = |task| if self.op.repeats() { 1 } else { self.operations_of(task, total) };
        let items = (0..total).map(items).fold(0, u64::saturating_add);
        Some(items.saturating_mul(item.saturating_add(NAME_BYTES)))
    }

    /// Operations of `task`, of `total` tasks, unless a limit or a failure ends the phase.
    #[must_use]
    pub fn operations_of(&self, task: u32, total: u32) -> u64 {
        self.owners(task, total).map(|owner| self.operations_on(owner)).sum()
    }

    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        if self.op.repeats() && self.operations == 0 {
            return Err(SpecError::Zero("operations"));
        }
        if self.tree.depth > 0 && self.tree.branch == 0 {
            return Err(SpecError::Zero("branch"));
        }
        if self.tree.depth > MAX_DEPTH {
            return Err(SpecError::TreeTooDeep(self.tree.depth));
        }
        if self.tree.items().is_none() {
            return Err(SpecError::TreeTooLarge);
        }
        if !self.counts.is_empty() && self.counts.len() != tasks.total as usize {
            return Err(SpecError::Counts { given: self.counts.len(), tasks: tasks.total });
        }
        if (self.verify || self.check_written) && self.payload == PayloadKind::Constant {
            return Err(SpecError::VerifyConstant);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(op: FileOp, tree: Tree) -> Files {
        Files {
            op,
            tree,
            operations: 3,
            counts: Vec::new(),
            renamed: false,
            file_bytes: 0,
            fsync: false,
            shift: 0,
            random: false,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            check_written: false,
            syncfs: false,
            mknod: false,
            collective: false,
            shared_files: false,
        }
    }

    const TREE: Tree = Tree { depth: 2, branch: 3, items_per_directory: 4, leaves_only: false, shared: false };

    fn places(files: &Files, task: u32) -> Vec<(u64, u64)> {
        files.walk(task, 4, 9).map(|place| (place.directory, place.number)).collect()
    }

    #[test]
    fn items_fill_the_holders_one_after_the_other() {
        let all = places(&files(FileOp::Stat, TREE), 0);
        assert_eq!(all.len(), 13 * 4);
        assert!(all.iter().enumerate().all(|(i, &(directory, n))| n == i as u64 && directory == n / 4), "{all:?}");
        let leaves = places(&files(FileOp::Create, Tree { leaves_only: true, ..TREE }), 0);
        assert_eq!((leaves.len(), leaves[0], leaves[35]), (9 * 4, (4, 0), (12, 35)));
        let flat = places(&files(FileOp::Create, Tree { depth: 0, branch: 0, leaves_only: true, ..TREE }), 0);
        assert_eq!(flat, [(0, 0), (0, 1), (0, 2), (0, 3)]);
    }

    #[test]
    fn a_random_order_visits_the_same_places_and_never_makes_them() {
        let ordered = places(&files(FileOp::Stat, TREE), 0);
        let mut random = places(&Files { random: true, ..files(FileOp::Stat, TREE) }, 0);
        assert_ne!(random, ordered);
        random.sort_by_key(|&(_, number)| number);
        assert_eq!(random, ordered);
        assert_eq!(places(&Files { random: true, ..files(FileOp::Create, TREE) }, 0), ordered);
    }

    #[test]
    fn trees_are_made_from_the_root_and_removed_to_it() {
        let down = places(&files(FileOp::MakeTree, TREE), 1);
        assert_eq!(down, (0..13).map(|d| (d, d)).collect::<Vec<_>>());
        let mut up = places(&files(FileOp::RemoveTree, TREE), 1);
        up.reverse();
        assert_eq!(up, down);
        let shared = files(FileOp::MakeTree, Tree { shared: true, ..TREE });
        assert_eq!((shared.operations_of(0, 4), shared.operations_of(1, 4)), (13, 0), "one tree has one maker");
        let listed = files(FileOp::ReadDirectory, Tree { shared: true, ..TREE });
        assert_eq!(listed.operations_of(3, 4), 13, "each task lists all");
    }

    #[test]
    fn a_shift_goes_with_the_counts_of_whose_items_they_are() {
        let shifted = Files { shift: 3, counts: vec![5, 6, 7, 8], ..files(FileOp::Remove, TREE) };
        assert_eq!((shifted.owner(2, 4), shifted.operations_of(2, 4)), (1, 6));
        assert_eq!(places(&shifted, 2).last(), Some(&(1, 5)));
    }

    #[test]
    fn the_first_task_makes_and_removes_for_all_and_each_looks_at_its_own() {
        let collective = |op| Files { collective: true, ..files(op, TREE) };
        let mut walk = Files { counts: vec![2, 0, 1, 3], ..collective(FileOp::Remove) }.walk(0, 4, 9);
        let mut seen = Vec::new();
        assert_eq!(walk.len(), 6);
        while let Some(place) = walk.next() {
            seen.push((walk.owner(), place.number));
        }
        assert_eq!(seen, [(0, 0), (0, 1), (2, 0), (3, 0), (3, 1), (3, 2)]);
        for op in [FileOp::MakeTree, FileOp::Create, FileOp::MakeDirectory, FileOp::RemoveDirectory] {
            assert_eq!(collective(op).operations_of(1, 4), 0, "{op:?}");
            assert_eq!(collective(op).operations_of(0, 4), 4 * files(op, TREE).operations_of(0, 4), "{op:?}");
        }
        for op in [FileOp::Stat, FileOp::Write, FileOp::Read] {
            assert_eq!((collective(op).operations_of(1, 4), collective(op).walk(1, 4, 9).owner()), (52, 1), "{op:?}");
        }
        let one_tree = Files { tree: Tree { shared: true, ..TREE }, ..collective(FileOp::MakeTree) };
        assert_eq!(one_tree.operations_of(0, 4), 13, "there is one");
    }

    #[test]
    fn shared_files_are_those_of_the_first_task_which_takes_them_away() {
        let shared = |op| Files { shared_files: true, shift: 1, ..files(op, Tree { shared: true, ..TREE }) };
        for op in [FileOp::Create, FileOp::Stat, FileOp::Write, FileOp::Read] {
            assert_eq!((shared(op).operations_of(3, 4), shared(op).walk(3, 4, 9).owner()), (52, 0), "{op:?}");
        }
        for op in [FileOp::Rename, FileOp::Remove] {
            assert_eq!((shared(op).operations_of(0, 4), shared(op).operations_of(3, 4)), (52, 0), "{op:?}");
        }
    }

    #[test]
    fn one_file_is_visited_again_and_again() {
        for op in [FileOp::OpenWriteClose, FileOp::Churn] {
            assert_eq!(places(&files(op, Tree { leaves_only: true, ..TREE }), 0), [(4, 0); 3], "{op:?}");
        }
    }

    #[test]
    fn what_cannot_be_walked_is_refused() {
        let tasks = TaskRange { first: 0, here: 4, total: 4 };
        let check = |tree: Tree| files(FileOp::Stat, tree).check(tasks);
        assert_eq!(check(TREE), Ok(()));
        assert_eq!(check(Tree { depth: 101, branch: 1, ..TREE }), Err(SpecError::TreeTooDeep(101)));
        assert_eq!(check(Tree { branch: 0, ..TREE }), Err(SpecError::Zero("branch")));
        assert_eq!(check(Tree { depth: 33, branch: 2, ..TREE }), Err(SpecError::TreeTooLarge));
        assert_eq!(check(Tree { items_per_directory: u64::MAX / 2, ..TREE }), Err(SpecError::TreeTooLarge));
        let short = Files { counts: vec![1], ..files(FileOp::Stat, TREE) };
        assert_eq!(short.check(tasks), Err(SpecError::Counts { given: 1, tasks: 4 }));
    }
}
