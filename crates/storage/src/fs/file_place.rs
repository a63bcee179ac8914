//! Where the files of a target are: scratch directories, or names of the user.

use std::fmt::Debug;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::api::Note;
use crate::error::Result;
use crate::fs::direct::Support;
use crate::scratch::directory::Directory;

/// Numbered files in one or several directories (`site`s), which may lie on different devices.
pub(crate) trait FilePlace: Debug + Send + Sync {
    /// How many sites there are; at least one.
    fn sites(&self) -> usize;

    /// The site of a file.
    fn site(&self, file: u32) -> usize;

    /// Where a site is, for messages.
    fn site_path(&self, site: usize) -> &Path;

    /// A handle of the directory of a site; `None` where it is not the one that is written to.
    fn handle(&self, _site: usize) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Bytes of files of a site that were there when a write phase was prepared, and are written over.
    fn taken_bytes(&self, _site: usize) -> u64 {
        0
    }

    /// Asks a site what it does with `O_DIRECT`.
    fn probe(&self, site: usize) -> Support;

    /// Whether the kernel counts truly what is read of any file of a site.
    fn is_counted(&self, site: usize) -> bool;

    /// Where a file is, for messages.
    fn path(&self, file: u32) -> PathBuf;

    /// Opens a file; never through a symbolic link.
    fn open(&self, file: u32, flags: OFlags) -> Result<OwnedFd>;

    /// The scratch directory of a file, and of a tree of that number; `None` for names of the user.
    fn scratch(&self, _file: u32) -> Option<&Directory> {
        None
    }

    /// Bytes of a file.
    fn length(&self, file: u32) -> Result<u64>;

    /// See [`Storage::prepare_write`](crate::Storage::prepare_write).
    fn prepare_write(&self, files: &[u32]) -> Result<()>;

    /// Removes the files that are ours.
    fn clear(&self) -> Result<()>;

    /// See [`Storage::finish`](crate::Storage::finish).
    fn finish(&self) -> Result<Vec<Note>>;

    /// See [`Storage::keep_named`](crate::Storage::keep_named).
    fn keep_named(&self, _keep: bool) {}

    /// What is to be told of the files so far.
    fn notes(&self) -> Vec<Note>;
}
