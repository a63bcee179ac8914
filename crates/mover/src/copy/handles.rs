//! Directories of both trees, opened once a batch. At the destination they are made as they are needed.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};

use super::attempt_error::{self, Attempt};
use super::{Shared, attributes};
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal_entry::Placed;
use crate::path::TreePath;

/// Handles kept a tree. A batch goes directory by directory, and each worker has a batch: a process may have 1024 files open.
const KEPT: usize = 16;

/// A directory of the destination.
#[derive(Debug)]
pub(crate) struct Target {
    file: OwnedFd,
    /// Whether one `syncfs` makes what is written in it durable.
    pub(crate) covered: bool,
    /// Its group, which it may hand down.
    pub(super) group: u32,
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The handles of one batch; not kept longer, because a directory may move.
pub(crate) struct Handles<'a> {
    shared: &'a Shared,
    sources: HashMap<TreePath, Rc<OwnedFd>>,
    targets: HashMap<TreePath, Rc<Target>>,
    /// Directories that were made since this was last emptied; the ones they lie in must be synced.
    pub(super) made: Vec<TreePath>,
    /// Directories of which the journal says that this mover makes them.
    intended: HashSet<TreePath>,
}

impl<'a> Handles<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, sources: HashMap::new(), targets: HashMap::new(), made: Vec::new(), intended: HashSet::new() }
    }

    /// Says in the journal, all at once, which of these directories and of those above them this mover makes: a crash between the
    /// making and the next word about it would leave a directory that nobody knows to be this mover's.
    pub(super) fn intend(&mut self, directories: impl Iterator<Item = TreePath>) -> Result<()> {
        let (to, journal) = (&self.shared.parts.to, &self.shared.parts.journal);
        let absent = |directory: &TreePath| matches!(to.directory(directory), Err(Errno::NOENT));
        let (mut lacking, mut seen) = (Vec::new(), HashSet::new());
        for mut directory in directories {
            while !directory.is_root() && !self.intended.contains(&directory) && seen.insert(directory.clone()) {
                if !absent(&directory) {
                    break;
                }
                let parent = directory.parent();
                lacking.push(directory);
                directory = parent;
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        // Looked at again with the lock of who makes one: another worker that has made it since has said, or will say, which it is.
        let known = self.shared.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing = Vec::new();
        for directory in lacking.iter().filter(|directory| absent(directory)) {
            if let Some(entry) = journal.by_path(directory)?
                && entry.version.kind == Kind::Directory
            {
                missing.push((entry.id, entry.version, Placed::directory(Placed::TO_BE_MADE)));
            }
        }
        if !missing.is_empty() {
            journal.placing(&missing)?;
        }
        drop(known);
        self.intended.extend(lacking);
        Ok(())
    }

    /// The directory `path` lies in, at the source.
    pub(crate) fn source(&mut self, path: &TreePath) -> Attempt<Rc<OwnedFd>> {
        let directory = path.parent();
        if let Some(known) = self.sources.get(&directory) {
            return Ok(Rc::clone(known));
        }
        let from = &self.shared.parts.from;
        let opened = from.open_beneath(&directory, OFlags::PATH | OFlags::DIRECTORY);
        let opened = Rc::new(opened.map_err(|errno| attempt_error::source("open", from, &directory, errno))?);
        keep(&mut self.sources, directory, &opened);
        Ok(opened)
    }

    /// The directory `path` lies in, at the destination.
    pub(crate) fn target(&mut self, path: &TreePath) -> Attempt<Rc<Target>> {
        let directory = path.parent();
        self.directory(&directory)
    }

    /// The directory `path` of the destination, made if it is not there.
    pub(super) fn directory(&mut self, path: &TreePath) -> Attempt<Rc<Target>> {
        if let Some(known) = self.targets.get(path) {
            return Ok(Rc::clone(known));
        }
        let to = &self.shared.parts.to;
        let file = match self.shared.open_made(path) {
            Err(Errno::NOENT) if !path.is_root() => self.make(path)?,
            other => other.map_err(|errno| attempt_error::target("open directory", to, path, errno))?,
        };
        let found = Version::of(&file).map_err(|errno| attempt_error::target("look at directory", to, path, errno))?;
        if attributes::hands_down_lists(file.as_fd()) {
            self.shared.lists.store(true, Ordering::SeqCst);
        }
        let covered = self.shared.sync.covers(file.as_fd());
        let opened = Rc::new(Target { file, covered, group: found.gid });
        keep(&mut self.targets, path.clone(), &opened);
        Ok(opened)
    }

    fn make(&mut self, path: &TreePath) -> Attempt<OwnedFd> {
        let (from, to) = (&self.shared.parts.from, &self.shared.parts.to);
        let failed = |errno| attempt_error::target("make directory", to, path, errno);
        // Gone from the source meanwhile: then its files are on their way all the same, and the usual mode will do.
        let mode = from.open_beneath(path, OFlags::PATH).and_then(Version::of).map_or(0o777, |version| version.mode & 0o777);
        self.intend(std::iter::once(path.clone()))?;
        let parent = self.directory(&path.parent())?;
        // Held from before the name is there until it is known whose it is: another worker that sees the name asks here.
        let mut known = self.shared.made.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::mkdirat(&*parent, path.name(), Mode::from_raw_mode(mode | 0o700)) {
            Ok(()) => {
                let ino = Version::at(&*parent, path.name()).map_err(failed)?.ino;
                known.insert(path.clone(), ino);
                self.made.push(path.clone());
                // Before anybody may know it for this mover's, and give it the lists of its source.
                let file = to.directory(path).map_err(failed)?;
                attributes::disinherit(file.as_fd(), mode | 0o700).map_err(failed)?;
                return Ok(file);
            }
            // Another worker was faster, or somebody else's link came in between, which opening it refuses.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        drop(known);
        to.directory(path).map_err(failed)
    }

    /// Makes what was renamed into, or made in, the directory `path` durable.
    pub(super) fn sync(&mut self, path: &TreePath) -> Attempt<()> {
        let to = &self.shared.parts.to;
        let synced = match self.targets.get(path) {
            Some(known) => fs::fsync(&**known),
            None => to.directory(path).and_then(fs::fsync),
        };
        synced.map_err(|errno| attempt_error::target("sync directory", to, path, errno))
    }

    /// Whether one `syncfs` of the destination makes the names in the directory `path` durable.
    pub(super) fn covers(&mut self, path: &TreePath) -> Attempt<bool> {
        if let Some(known) = self.targets.get(path) {
            return Ok(known.covered);
        }
        let to = &self.shared.parts.to;
        let opened = to.directory(path).map_err(|errno| attempt_error::target("open directory", to, path, errno))?;
        Ok(self.shared.sync.covers(opened.as_fd()))
    }

    /// What has the name `path` at the destination.
    pub(super) fn look(&mut self, path: &TreePath) -> Attempt<Option<Version>> {
        let target = self.target(path)?;
        at(target.as_fd(), path.name()).map_err(|errno| attempt_error::target("look at", &self.shared.parts.to, path, errno))
    }
}

/// What has the name; `None` where it is free.
pub(super) fn at(dir: BorrowedFd, name: &[u8]) -> SysResult<Option<Version>> {
    match Version::at(dir, name) {
        Ok(version) => Ok(Some(version)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn keep<T>(all: &mut HashMap<TreePath, Rc<T>>, path: TreePath, handle: &Rc<T>) {
    if all.len() >= KEPT {
        all.clear();
    }
    all.insert(path, Rc::clone(handle));
}
