//! A directory tree behind a handle. Everything below it is opened relative to that handle, and no link on the way is followed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result as SysResult};

use crate::error::{MoverError, Result};
use crate::path::TreePath;

/// An open tree.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    path: PathBuf,
}

impl Tree {
    /// Opens the directory at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(|error| MoverError::path("open directory", path, error))?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// Its root's handle.
    #[must_use]
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Where it was opened; for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory `at` for reading. `ELOOP` or `ENOTDIR` where a link stands in the way.
    pub fn directory(&self, at: &TreePath) -> SysResult<OwnedFd> {
        self.open_beneath(at, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens what `at` names, with `flags`; close-on-exec and no-follow are added. Creates nothing.
    pub fn open_beneath(&self, at: &TreePath, flags: OFlags) -> SysResult<OwnedFd> {
        // A path handle opens nothing, so it takes no terminal either; the kernel refuses the two together.
        let terminal = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NOCTTY };
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | terminal;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match fs::openat2(&self.root, at.as_path(), flags, Mode::empty(), resolve) {
                // The kernel says so where a rename elsewhere made its check uncertain.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => return self.open_step_by_step(at, flags),
                other => return other,
            }
        }
    }

    /// The same for kernels and sandboxes without `openat2`: one component after the other.
    fn open_step_by_step(&self, at: &TreePath, flags: OFlags) -> SysResult<OwnedFd> {
        if at.is_root() {
            return fs::openat(&self.root, ".", flags, Mode::empty());
        }
        let mut parts = at.bytes().split(|&byte| byte == b'/').peekable();
        let mut here: Option<OwnedFd> = None;
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let step = if last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC };
            let next = fs::openat(here.as_ref().unwrap_or(&self.root), part, step, Mode::empty())?;
            here = Some(next);
        }
        here.ok_or(Errno::NOENT)
    }
}
