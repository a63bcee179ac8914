//! Names in memory, for tests: the same answers and errors as a file system's, under one lock.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::api::{ItemKind, Names, NamesRequest, Opening};
use crate::names::parent_of;

/// A directory of a tree: the tree's number and its own.
type DirectoryKey = (u32, u64);

/// What one directory holds.
#[derive(Debug, Default)]
struct Stored {
    /// Directories of the tree in it.
    directories: u64,
    /// Items by kind, owner and number; a directory has no bytes.
    items: HashMap<(ItemKind, u32, u64), Vec<u8>>,
}

/// All trees of a storage.
#[derive(Debug, Default)]
pub(crate) struct Trees(HashMap<DirectoryKey, Stored>);

/// One task's way to its tree.
pub(crate) struct MemoryNames {
    trees: Arc<Mutex<Trees>>,
    request: NamesRequest,
    here: u64,
    open: Option<(u64, ItemKind, u64)>,
}

impl Trees {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl MemoryNames {
    pub(crate) fn new(trees: Arc<Mutex<Trees>>, request: NamesRequest) -> Self {
        Self { trees, request, here: 0, open: None }
    }

    const fn key(&self, directory: u64) -> DirectoryKey {
        (self.request.number, directory)
    }

    fn lock(&self) -> MutexGuard<'_, Trees> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` with the items of the directory that was entered, and the key of one of them.
    fn with<T>(
        &self,
        (kind, number): (ItemKind, u64),
        act: impl FnOnce(&mut HashMap<(ItemKind, u32, u64), Vec<u8>>, (ItemKind, u32, u64)) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let mut trees = self.lock();
        let stored = trees.0.get_mut(&self.key(self.here)).ok_or(Errno::NOENT)?;
        Ok(act(&mut stored.items, (kind, self.request.owner, number))?)
    }

    fn with_open<T>(&mut self, act: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        let (directory, kind, number) = self.open.ok_or(Errno::BADF)?;
        let mut trees = self.lock();
        let stored = trees.0.get_mut(&self.key(directory)).ok_or(Errno::NOENT)?;
        let bytes = stored.items.get_mut(&(kind, self.request.owner, number)).ok_or(Errno::NOENT)?;
        Ok(act(bytes))
    }
}

impl Names for MemoryNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        let mut trees = self.lock();
        if trees.0.contains_key(&self.key(directory)) {
            return Err(Errno::EXIST.into());
        }
        if directory > 0 {
            let parent = self.key(parent_of(&self.request.tree, directory));
            trees.0.get_mut(&parent).ok_or(Errno::NOENT)?.directories += 1;
        }
        trees.0.insert(self.key(directory), Stored::default());
        Ok(())
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        let mut trees = self.lock();
        let stored = trees.0.get(&self.key(directory)).ok_or(Errno::NOENT)?;
        if stored.directories > 0 || !stored.items.is_empty() {
            return Err(Errno::NOTEMPTY.into());
        }
        trees.0.remove(&self.key(directory));
        if directory > 0
            && let Some(parent) = trees.0.get_mut(&self.key(parent_of(&self.request.tree, directory)))
        {
            parent.directories -= 1;
        }
        Ok(())
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        let trees = self.lock();
        let stored = trees.0.get(&self.key(directory)).ok_or(Errno::NOENT)?;
        Ok(stored.directories + stored.items.len() as u64)
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        let there = self.lock().0.contains_key(&self.key(directory));
        self.here = directory;
        if there { Ok(()) } else { Err(Errno::NOENT.into()) }
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.with((kind, number), |items, key| match items.insert(key, Vec::new()) {
            None => Ok(()),
            Some(_) => Err(Errno::EXIST),
        })
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.with((kind, number), |items, key| items.get(&key).map(drop).ok_or(Errno::NOENT))
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.with((kind, number), |items, key| {
            let bytes = items.remove(&key).ok_or(Errno::NOENT)?;
            items.insert((kind.other(), key.1, key.2), bytes);
            Ok(())
        })
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.with((kind, number), |items, key| items.remove(&key).map(drop).ok_or(Errno::NOENT))
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.stat(kind, number)
    }

    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        self.with((kind, number), |items, key| match (how, items.contains_key(&key)) {
            (Opening::Create, true) => Err(Errno::EXIST),
            (Opening::Write | Opening::Read, false) => Err(Errno::NOENT),
            (_, true) => Ok(()),
            (_, false) => {
                items.insert(key, Vec::new());
                Ok(())
            }
        })?;
        self.open = Some((self.here, kind, number));
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.with_open(|bytes| {
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            count
        })
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.with_open(|bytes| {
            let (start, end) = (offset as usize, offset as usize + buffer.len());
            bytes.resize(bytes.len().max(end), 0);
            bytes[start..end].copy_from_slice(buffer);
            buffer.len()
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.open = None;
        Ok(())
    }
}
