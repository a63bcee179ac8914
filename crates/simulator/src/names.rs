//! Which names there are: directories of trees, and their items.

use std::collections::BTreeMap;

use tonnage_workload::{FileOp, Files, ItemPlace, Tree};

use crate::pages::is_cached;

const ENOENT: i32 = 2;
const EEXIST: i32 = 17;
const ENOTEMPTY: i32 = 39;
const ENODATA: i32 = 0;

/// Why an operation on a name fails: the system's error number (0 where it is not the system's), and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub errno: i32,
    pub advice: &'static str,
}

const MISSING: Refusal = Refusal { errno: ENOENT, advice: "is not there; create it first, with the same tree" };
const THERE: Refusal = Refusal { errno: EEXIST, advice: "is there already; remove it first" };
const FULL: Refusal = Refusal { errno: ENOTEMPTY, advice: "is not empty; remove what is in it first" };
const SHORT: Refusal = Refusal { errno: ENODATA, advice: "has fewer bytes; create it with that size first" };

/// A set of small numbers.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, number: u64) -> bool {
        self.0.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Puts a number in or takes it out; whether that changed anything.
    fn set(&mut self, number: u64, there: bool) -> bool {
        if self.has(number) == there {
            return false;
        }
        let index = (number / 64) as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        self.0[index] ^= 1 << (number % 64);
        true
    }
}

/// Items of one owner: files or directories, under their first or their other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    owner: u32,
    directories: bool,
    renamed: bool,
}

/// What tells one tree of a storage from another: paths are made of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TreeKey {
    number: u32,
    shared: bool,
    branch: u32,
    items_per_directory: u64,
    leaves_only: bool,
}

#[derive(Debug, Default)]
struct TreeState {
    directories: Bits,
    /// How many names each directory holds.
    held: Vec<u64>,
    items: BTreeMap<Kind, Bits>,
    /// Bytes of each file, as last written.
    file_bytes: u64,
}

/// All trees of a storage.
#[derive(Debug, Default)]
pub(crate) struct Names {
    trees: BTreeMap<TreeKey, TreeState>,
    /// Bytes of all their files.
    pub allocated: u64,
    /// Of these, how many are in the page cache. Which ones is not kept, as for larger files.
    cached: u64,
}

impl TreeState {
    fn hold(&mut self, directory: u64, more: bool) {
        let index = directory as usize;
        if index >= self.held.len() {
            self.held.resize(index + 1, 0);
        }
        self.held[index] = if more { self.held[index] + 1 } else { self.held[index].saturating_sub(1) };
    }

    fn make_directory(&mut self, tree: &Tree, directory: u64) -> Result<(), Refusal> {
        let parent = (directory > 0).then(|| (directory - 1) / u64::from(tree.branch.max(1)));
        if parent.is_some_and(|parent| !self.directories.has(parent)) {
            return Err(MISSING);
        }
        if !self.directories.set(directory, true) {
            return Err(THERE);
        }
        if let Some(parent) = parent {
            self.hold(parent, true);
        }
        Ok(())
    }

    fn remove_directory(&mut self, tree: &Tree, directory: u64) -> Result<(), Refusal> {
        if !self.directories.has(directory) {
            return Err(MISSING);
        }
        if self.held.get(directory as usize).is_some_and(|&held| held > 0) {
            return Err(FULL);
        }
        self.directories.set(directory, false);
        if directory > 0 {
            self.hold((directory - 1) / u64::from(tree.branch.max(1)), false);
        }
        Ok(())
    }

    fn item(&self, kind: Kind, number: u64) -> Result<(), Refusal> {
        if self.items.get(&kind).is_some_and(|items| items.has(number)) { Ok(()) } else { Err(MISSING) }
    }

    /// Makes or removes an item.
    fn set_item(&mut self, kind: Kind, place: ItemPlace, there: bool) -> Result<(), Refusal> {
        if !self.directories.has(place.directory) {
            return Err(MISSING);
        }
        if !self.items.entry(kind).or_default().set(place.number, there) {
            return Err(if there { THERE } else { MISSING });
        }
        self.hold(place.directory, there);
        Ok(())
    }
}

impl Names {
    /// Does what an operation of `files` does to the name at `place`, for the task whose items are `owner`'s. Where
    /// there is no room for `full` bytes more, see [`Names::needs`] first.
    pub fn act(&mut self, files: &Files, owner: u32, place: ItemPlace) -> Result<(), Refusal> {
        let tree = &files.tree;
        let state = self.trees.entry(key(tree, owner)).or_default();
        let kind = Kind { owner, directories: files.op.is_on_directories(), renamed: files.renamed };
        match files.op {
            FileOp::MakeTree => state.make_directory(tree, place.directory),
            FileOp::RemoveTree => state.remove_directory(tree, place.directory),
            FileOp::ReadDirectory if state.directories.has(place.directory) => Ok(()),
            FileOp::ReadDirectory => Err(MISSING),
            FileOp::MakeDirectory => state.set_item(kind, place, true),
            FileOp::RemoveDirectory => state.set_item(kind, place, false),
            FileOp::Stat | FileOp::StatDirectory => state.item(kind, place.number),
            FileOp::Read => {
                state.item(kind, place.number)?;
                if files.file_bytes <= state.file_bytes { Ok(()) } else { Err(SHORT) }
            }
            FileOp::Rename | FileOp::RenameDirectory => {
                state.set_item(kind, place, false)?;
                state.set_item(Kind { renamed: !kind.renamed, ..kind }, place, true)
            }
            FileOp::Create if !files.shared_files => {
                state.set_item(kind, place, true)?;
                state.file_bytes = files.file_bytes;
                self.allocated += files.file_bytes;
                Ok(())
            }
            FileOp::Churn => {
                state.set_item(kind, place, true)?;
                state.set_item(kind, place, false)
            }
            FileOp::Remove => {
                state.set_item(kind, place, false)?;
                self.allocated = self.allocated.saturating_sub(state.file_bytes);
                self.cached = self.cached.min(self.allocated);
                Ok(())
            }
            FileOp::Create | FileOp::Write | FileOp::OpenWriteClose => {
                if files.op != FileOp::Write && state.item(kind, place.number).is_err() {
                    state.set_item(kind, place, true)?;
                    self.allocated += files.file_bytes;
                }
                state.item(kind, place.number)?;
                state.file_bytes = state.file_bytes.max(files.file_bytes);
                Ok(())
            }
        }
    }

    /// Bytes that the files of `files` take more once the operation at `place` is done.
    pub fn needs(&self, files: &Files, owner: u32, place: ItemPlace) -> u64 {
        let kind = Kind { owner, directories: false, renamed: files.renamed };
        let is_there = || self.trees.get(&key(&files.tree, owner)).is_some_and(|state| state.item(kind, place.number).is_ok());
        let makes = matches!(files.op, FileOp::Create | FileOp::OpenWriteClose);
        if makes && files.file_bytes > 0 && !is_there() { files.file_bytes } else { 0 }
    }

    /// Bytes in the page cache.
    pub const fn cached(&self) -> u64 {
        self.cached
    }

    /// Whether the pages of a file are in the page cache.
    pub fn is_cached(&self, identity: u32) -> bool {
        self.allocated > 0 && is_cached(identity, 0, self.cached as f64 / self.allocated as f64)
    }

    /// Leaves at most `capacity` bytes in the cache.
    pub fn shrink(&mut self, capacity: u64) {
        self.cached = self.cached.min(capacity);
    }

    /// What was written or read is in the cache, as far as `capacity` goes.
    pub fn keep_cached(&mut self, bytes: u64, capacity: u64) {
        self.cached = (self.cached + bytes).min(capacity).min(self.allocated);
    }
}

const fn key(tree: &Tree, owner: u32) -> TreeKey {
    TreeKey {
        number: if tree.shared { 0 } else { owner },
        shared: tree.shared,
        branch: tree.branch,
        items_per_directory: tree.items_per_directory,
        leaves_only: tree.leaves_only,
    }
}
