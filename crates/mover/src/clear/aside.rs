//! The directory on the source's file system where a file waits, out of sight, for its end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, RawDir, mkdirat};
use rustix::io::{Errno, Result as SysResult};

use crate::STATE_DIRECTORY;
use crate::entry::Entry;
use crate::names;
use crate::path::TreePath;
use crate::tree::Tree;
use crate::version::Version;

const NAME: &[u8] = b"cleared";
/// Longest name that file systems take, in bytes.
const NAME_BYTES: usize = 255;

/// Where files are set aside: `.tonnage-stage/cleared/<8 digits of the mover's id>-<entry>`.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    from: &'a Tree,
    mover: &'a str,
}

/// Where a file was put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// Under its name.
    Home,
    /// Its name, or its directory, was taken meanwhile.
    Beside(TreePath),
}

impl<'a> Aside<'a> {
    pub(super) fn new(from: &'a Tree, mover: &'a str) -> Self {
        Self { from, mover: mover.get(..8).unwrap_or(mover) }
    }

    /// What an entry's file is called there.
    pub(super) fn key(&self, id: i64) -> Vec<u8> {
        format!("{}-{id}", self.mover).into_bytes()
    }

    /// For messages.
    pub(super) fn path(&self) -> PathBuf {
        self.from.path().join(STATE_DIRECTORY).join("cleared")
    }

    /// Opens the directory, and makes it where it is not there.
    pub(super) fn open(&self) -> SysResult<OwnedFd> {
        let state = TreePath::root().join(STATE_DIRECTORY.as_bytes());
        let here = state.join(NAME);
        match self.from.directory(&here) {
            Err(Errno::NOENT) => {
                for path in [&state, &here] {
                    made(mkdirat(self.from.directory(&path.parent())?, path.name(), Mode::RWXU))?;
                }
                self.from.directory(&here)
            }
            other => other,
        }
    }

    /// The names in it, and the entry of each that this mover made.
    pub(super) fn left(&self) -> SysResult<Vec<(Vec<u8>, Option<i64>)>> {
        let handle = match self.from.directory(&TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(NAME)) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            other => other?,
        };
        let mut buffer = Box::new_uninit_slice(32 << 10);
        let mut entries = RawDir::new(&handle, &mut buffer);
        let mut left = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                left.push((name.to_vec(), self.entry_of(name)));
            }
        }
        Ok(left)
    }

    fn entry_of(&self, name: &[u8]) -> Option<i64> {
        let id = std::str::from_utf8(name).ok()?.strip_prefix(self.mover)?.strip_prefix('-')?.parse().ok()?;
        (self.key(id) == name).then_some(id)
    }

    /// Gives the file that was set aside in `handle` its name again. If that is taken, both stay: it gets a name beside it, or
    /// in the root where its directory is gone.
    pub(super) fn put_back(&self, handle: BorrowedFd<'_>, entry: &Entry) -> SysResult<Back> {
        let key = self.key(entry.id);
        let home = match self.from.directory(&entry.path.parent()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            other => Some(other?),
        };
        if let Some(home) = &home {
            match names::move_to_free((handle, &key), (home.as_fd(), entry.path.name())) {
                Err(Errno::EXIST) if Version::at(home, entry.path.name())?.ino == Version::at(handle, &key)?.ino => {
                    // The same file has both names: it never left.
                    return names::remove(handle, &key).map(|()| Back::Home);
                }
                Err(Errno::EXIST) => {}
                other => return other.map(|()| Back::Home),
            }
        }
        let name = kept_name(entry);
        let parent = if home.is_some() { entry.path.parent() } else { TreePath::root() };
        let beside = home.as_ref().map_or(self.from.root(), AsFd::as_fd);
        names::move_to_free((handle, &key), (beside, &name)).map(|()| Back::Beside(parent.join(&name)))
    }
}

/// A name beside the one that is taken: as much of that as there is room for.
fn kept_name(entry: &Entry) -> Vec<u8> {
    let ending = format!(".tonnage-kept-{}", entry.id);
    let name = entry.path.name();
    [&name[..name.len().min(NAME_BYTES - ending.len())], ending.as_bytes()].concat()
}

fn made(result: SysResult<()>) -> SysResult<()> {
    match result {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}
