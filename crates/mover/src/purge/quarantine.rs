//! The directory on the source's file system where a file waits, out of sight, for its end: it is made and locked before the first
//! file comes, and goes when it is empty. What a killed mover left in it gets its names back before the first scan of the next.
//!
//! It has the tree's shape: `.tonnage-stage/cleared/<the mover's id>/a/b` is what was `a/b`. So a file's path is kept with it, at any
//! length and by the very rename that sets it aside, and whoever finds it knows where it belongs, without any journal. The directory
//! of a mover is locked while that works; one that is not is a killed one's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, FlockOperation, Mode, OFlags, RawDir, mkdirat};
use rustix::io::{Errno, Result as SysResult};

use super::times::Times;
use crate::STATE_DIRECTORY;
use crate::file_version::{Kind, Version};
use crate::names;
use crate::path::TreePath;
use crate::tree::Tree;

const NAME: &[u8] = b"cleared";

/// Where one mover's files are set aside.
#[derive(Debug)]
pub(super) struct Quarantine<'a> {
    from: &'a Tree,
    /// Its directory, and the lock on it.
    own: TreePath,
    lock: Option<OwnedFd>,
    /// The directory that was used last.
    last: Option<(TreePath, OwnedFd)>,
}

/// Where a file was put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// Under its name.
    Home,
    /// Its name, or its directory, was taken meanwhile.
    Beside(TreePath),
}

/// What an earlier mover left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Its directory, locked, so that nobody else puts its files back at the same time; and the paths of the files in it.
    pub(super) movers: Vec<(TreePath, OwnedFd, Vec<TreePath>)>,
    /// What no mover puts there.
    pub(super) foreign: Vec<TreePath>,
}

impl<'a> Quarantine<'a> {
    pub(super) fn new(from: &'a Tree, mover: &str) -> Self {
        Self { from, own: top().join(mover.as_bytes()), lock: None, last: None }
    }

    /// The directory where files of the directory `of` of the tree are set aside; made where it is not there.
    pub(super) fn directory(&mut self, of: &TreePath) -> SysResult<BorrowedFd<'_>> {
        if self.lock.is_none() {
            let own = self.make(&self.own)?;
            fs::flock(&own, FlockOperation::NonBlockingLockExclusive)?;
            self.lock = Some(own);
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != of) {
            self.last = Some((of.clone(), self.make(&joined(&self.own, of))?));
        }
        self.last.as_ref().map(|(_, handle)| handle.as_fd()).ok_or(Errno::NOENT)
    }

    fn make(&self, path: &TreePath) -> SysResult<OwnedFd> {
        match self.from.directory(path) {
            Err(Errno::NOENT) if !path.is_root() => {
                let parent = self.make(&path.parent())?;
                match mkdirat(&parent, path.name(), Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => self.from.directory(path),
                    Err(error) => Err(error),
                }
            }
            other => other,
        }
    }

    /// What movers that do not run have left; this one's own included.
    pub(super) fn left(&self) -> SysResult<Left> {
        let mut left = Left::default();
        for name in self.names(&top())? {
            let at = top().join(&name);
            if name.len() != 32 || !name.iter().all(u8::is_ascii_hexdigit) {
                left.foreign.push(at);
                continue;
            }
            let handle = match self.from.directory(&at) {
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    left.foreign.push(at);
                    continue;
                }
                other => other?,
            };
            let own = at == self.own && self.lock.is_some();
            if own || fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let mut files = Vec::new();
                self.walk(&at, &TreePath::root(), &mut files, &mut left.foreign)?;
                left.movers.push((at, handle, files));
            }
        }
        Ok(left)
    }

    fn walk(&self, of: &TreePath, below: &TreePath, files: &mut Vec<TreePath>, foreign: &mut Vec<TreePath>) -> SysResult<()> {
        let here = joined(of, below);
        let handle = self.from.directory(&here)?;
        for name in self.names(&here)? {
            match Version::at(&handle, &name)?.kind {
                Kind::File => files.push(below.join(&name)),
                Kind::Directory => self.walk(of, &below.join(&name), files, foreign)?,
                _ => foreign.push(here.join(&name)),
            }
        }
        Ok(())
    }

    fn names(&self, at: &TreePath) -> SysResult<Vec<Vec<u8>>> {
        let handle = match self.from.directory(at) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            other => other?,
        };
        let mut buffer = Box::new_uninit_slice(32 << 10);
        let mut entries = RawDir::new(&handle, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    /// Gives the file `path` that was set aside in the directory `of` of a mover its name again; whatever has that name keeps it, and
    /// the file gets a name beside it, or in the root where its directory is gone.
    pub(super) fn put_back(&self, of: &TreePath, path: &TreePath, times: &mut Times) -> SysResult<Back> {
        let aside = self.from.directory(&joined(of, &path.parent()))?;
        self.put_back_from(aside.as_fd(), path, times)
    }

    /// The same, from its directory.
    pub(super) fn put_back_from(&self, aside: BorrowedFd<'_>, path: &TreePath, times: &mut Times) -> SysResult<Back> {
        let name = path.name();
        if Version::at(aside, name).err() == Some(Errno::NOENT) {
            // It was not renamed, or back already: only the answer was an error.
            return Ok(Back::Home);
        }
        let home = match self.from.directory(&path.parent()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            other => Some(other?),
        };
        if let Some(home) = &home {
            let renamed = times.around(&path.parent(), home.as_fd(), || names::move_to_free((aside, name), (home.as_fd(), name)));
            match renamed {
                // Taken, or this file system has no call that takes a name and replaces nothing.
                Err(Errno::EXIST | Errno::OPNOTSUPP) => {}
                other => return other.map(|()| Back::Home),
            }
        }
        let parent = if home.is_some() { path.parent() } else { TreePath::root() };
        let beside = home.as_ref().map_or(self.from.root(), AsFd::as_fd);
        names::keep_beside((aside, name), beside, name).map(|kept| Back::Beside(parent.join(&kept)))
    }

    /// The directory where those of the directory `of` lie, if it is there.
    pub(super) fn counterpart(&self, of: &TreePath) -> SysResult<OwnedFd> {
        self.from.directory(&joined(&self.own, of))
    }

    /// Removes what is empty of the directory of a mover that does not run.
    pub(super) fn tidy(&self, of: &TreePath) {
        if self.lock.is_none() || *of != self.own {
            self.remove_empty(of);
        }
    }

    fn remove_empty(&self, of: &TreePath) {
        let mut directories = vec![of.clone()];
        let mut next = 0;
        while let Some(at) = directories.get(next).cloned() {
            let names = self.names(&at).unwrap_or_default();
            directories.extend(names.iter().map(|name| at.join(name)));
            next += 1;
        }
        for at in directories.iter().rev() {
            if let Ok(parent) = self.from.directory(&at.parent()) {
                // Whatever is not an empty directory stays.
                _ = names::remove_directory(parent.as_fd(), at.name());
            }
        }
    }

    /// Ends the use of this mover's own directory, which goes if nothing is left in it.
    pub(super) fn close(&mut self) {
        self.last = None;
        if self.lock.is_some() {
            self.remove_empty(&self.own);
            self.lock = None;
        }
    }
}

/// The directory that holds those of all movers of a tree.
pub(super) fn top() -> TreePath {
    TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(NAME)
}

fn joined(of: &TreePath, below: &TreePath) -> TreePath {
    let parts = below.bytes().split(|&byte| byte == b'/').filter(|part| !part.is_empty());
    parts.fold(of.clone(), |at, part| at.join(part))
}

/// Opens the file `name` of a directory for reading; nothing else is ever opened.
pub(super) fn open(directory: BorrowedFd<'_>, name: &[u8]) -> SysResult<OwnedFd> {
    if Version::at(directory, name)?.kind != Kind::File {
        return Err(Errno::NOENT);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(directory, name, flags, Mode::empty())
}
