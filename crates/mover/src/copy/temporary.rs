//! The temporary of an entry: made, given what its source has beside the bytes, synced, looked at, or removed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{self, Mode, OFlags};

use super::attempt_error::{self, Attempt};
use super::attributes::{self, Dropped};
use super::handles::Target;
use super::source::Source;
use super::special::anew;
use super::{Shared, destination_name};
use crate::file_version::Version;
use crate::journal_entry::{Entry, Placed};
use crate::names::{self, Names};
use crate::options::Overwrite;
use crate::path::TreePath;

/// A temporary that has all bytes of its source.
#[derive(Debug)]
pub(crate) struct Filled<'a> {
    pub(crate) copy: BorrowedFd<'a>,
    pub(crate) source: &'a Source,
    pub(crate) source_dir: BorrowedFd<'a>,
    pub(crate) path: &'a TreePath,
    /// BLAKE3 of what was read, where it was taken.
    pub(crate) checksum: Option<[u8; 32]>,
}

impl Shared {
    /// What the entry's data is called until it is safe.
    pub(super) fn temporary(&self, entry: &Entry) -> Vec<u8> {
        names::temporary(self.parts.journal.id(), entry.id)
    }

    /// All names of it in its directory.
    pub(super) fn names<'a>(&self, entry: &'a Entry) -> Names<'a> {
        Names::of(self.parts.journal.id(), entry.id, entry.path.name(), self.parts.options.overwrite == Overwrite::Always)
    }

    /// Makes a copy durable by itself.
    pub(crate) fn sync_file(&self, file: BorrowedFd, path: &TreePath) -> Attempt<()> {
        fs::fsync(file).map_err(|errno| {
            self.doubt();
            attempt_error::target("sync", &self.parts.to, path, errno)
        })
    }

    /// An empty temporary of this process, readable by nobody else until it is whole.
    pub(crate) fn create(&self, target: &Target, entry: &Entry) -> Attempt<OwnedFd> {
        let (temporary, path) = (&self.temporary(entry)[..], &entry.path);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || fs::openat(target, temporary, flags, Mode::RUSR | Mode::WUSR);
        let failed = |errno| attempt_error::target("create", &self.parts.to, path, errno);
        let made = anew(target.as_fd(), temporary, &create).map_err(failed)?;
        if self.lists.load(Ordering::SeqCst) {
            attributes::disinherit(made.as_fd(), 0o600).map_err(failed)?;
        }
        Ok(made)
    }

    /// Whose a file is that this process makes in a directory: this user's, and of the one group that is both its own and the one that
    /// the directory would hand down. A directory that got another meanwhile may have handed that one down.
    pub(crate) fn made_for(&self, directory: &Target) -> Option<(u32, u32)> {
        let (user, group) = self.user;
        (!self.groups.load(Ordering::SeqCst) && directory.group == group).then_some((user, group))
    }

    /// Gives the temporary its source's owner, attributes, mode and times; what it does not take.
    pub(crate) fn give_attributes(&self, filled: &Filled, made_for: Option<(u32, u32)>) -> Attempt<Dropped> {
        let Filled { copy, source, path, .. } = filled;
        attributes::give(*copy, source.file.as_fd(), &source.version, source.accessed, made_for)
            .map_err(|errno| attempt_error::target("write", &self.parts.to, path, errno))
    }

    /// What the temporary is now, and all that it lacks.
    pub(crate) fn look_at_made(&self, filled: &Filled, mut dropped: Dropped) -> Attempt<(Placed, Dropped)> {
        let Filled { copy, source, path, checksum, .. } = filled;
        let made = Version::of(copy).map_err(|errno| attempt_error::target("look at", &self.parts.to, path, errno))?;
        attributes::compare(&source.version, &made, &mut dropped);
        if made.size == source.version.size {
            Ok((destination_name::placed(&made, *checksum), dropped))
        } else {
            Err(self.differs(path))
        }
    }

    /// Removes a temporary that did not become whole. What ended it is what is told; one that cannot be removed now is, when its entry
    /// is tried or given up.
    pub(crate) fn remove_unfinished(&self, target: &Target, entry: &Entry, made: &OwnedFd) {
        if let Ok(made) = Version::of(made) {
            let _ = names::remove_if(target.as_fd(), &self.temporary(entry), made.ino);
        }
    }
}
