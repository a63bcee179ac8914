//! Whether a copy of an earlier attempt still is one: then no byte goes again, and only what is known beside the bytes is renewed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, Mode, OFlags};

use super::attempt_error::{self, Attempt};
use super::batch::{Batch, Item, Shape};
use super::handles::{self, Target};
use super::source::Source;
use super::{attributes, destination_name};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Placed};
use crate::options::Check;
use crate::path::TreePath;

impl Batch<'_> {
    /// The entry without a copy of its bytes: as another name of a file that is there, or as the copy that it has. In this order: its
    /// copy may be a file by itself, where the name was given to this file since.
    pub(crate) fn existing(
        &mut self,
        entry: &Entry,
        source: &Source,
        source_dir: BorrowedFd,
        target: &Target,
    ) -> Attempt<Option<Item>> {
        let linked = if source.version.links > 1 { self.link(entry, source)? } else { None };
        if linked.is_some() { Ok(linked) } else { self.existing_copy(entry, source, source_dir, target) }
    }

    /// The copy that lies there, where its bytes are those of the source. `None` where the entry must be copied: nothing of this
    /// mover lies there, it is known to be of another state, or a comparison finds it so.
    fn existing_copy(
        &mut self,
        entry: &Entry,
        source: &Source,
        source_dir: BorrowedFd,
        target: &Target,
    ) -> Attempt<Option<Item>> {
        let (shared, path, version) = (self.shared, &entry.path, &source.version);
        let of_this = |known: &Placed| known.size == version.size && attributes::is_time_of(known.mtime_ns, version.mtime_ns);
        let Some(known) = entry.placed.filter(of_this) else { return Ok(None) };
        let Some((copy, there)) = open(target.as_fd(), path.name()).filter(|(_, there)| destination_name::is(&known, there))
        else {
            return Ok(None);
        };
        if !has_what_stays(copy.as_fd(), &there, source) {
            return Ok(None);
        }
        let failed = |errno| attempt_error::target("look at", &shared.parts.to, path, errno);
        let Some(checksum) = self.same(source, target.as_fd(), path, &known)? else { return Ok(None) };
        shared.require_unchanged(source, source_dir, path)?;
        self.renew(copy.as_fd(), &there, source, path)?;
        let now = Version::of(&copy).map_err(failed)?;
        let mut dropped = Vec::new();
        attributes::compare(version, &now, &mut dropped);
        let (placed, shape, dropped) = (destination_name::placed(&now, Some(checksum)), Shape::There, Some(dropped));
        Ok(Some(Item { entry: entry.clone(), version: *version, placed, shape, read_back: true, dropped }))
    }

    /// Gives the copy `there` the owner and the mode that the source has now.
    fn renew(&self, copy: BorrowedFd, there: &Version, source: &Source, path: &TreePath) -> Attempt<()> {
        let (to, version) = (&self.shared.parts.to, &source.version);
        if (there.mode, there.uid, there.gid) != (version.mode, version.uid, version.gid) {
            attributes::give(copy, source.file.as_fd(), version, source.accessed, None)
                .map_err(|errno| attempt_error::target("write", to, path, errno))?;
            fs::fsync(copy).map_err(|errno| attempt_error::target("sync", to, path, errno))?;
        }
        Ok(())
    }

    /// Whether the copy that has the name `path` has the attributes of the source; owner and mode it gets. Asked where the copy
    /// was put there for another state of the source.
    pub(super) fn has_attributes(&self, source: &Source, target: BorrowedFd, path: &TreePath) -> Attempt<bool> {
        let Some((copy, there)) = open(target, path.name()) else { return Ok(false) };
        if !has_what_stays(copy.as_fd(), &there, source) {
            return Ok(false);
        }
        self.renew(copy.as_fd(), &there, source, path).map(|()| true)
    }

    /// The checksum of the source, where the copy `known` has the same. A copy without a checksum, and one that is to be read back,
    /// is read.
    pub(super) fn same(
        &mut self,
        source: &Source,
        target: BorrowedFd,
        path: &TreePath,
        known: &Placed,
    ) -> Attempt<Option<[u8; 32]>> {
        let shared = self.shared;
        let read = shared.hash_source(source, path, &mut self.buffer)?;
        if known.checksum.is_some_and(|checksum| checksum != read) {
            return Ok(None);
        }
        if known.checksum.is_none() || shared.parts.options.check == Check::ReadBack {
            let stored = shared.on_device(target, path.name(), known.size, path, &mut self.buffer)?;
            return Ok((stored == Some(read)).then_some(read));
        }
        Ok(Some(read))
    }
}

/// Whether the copy `there` has what it is not given in place: extended attributes, and the source's time. Journal and manifest know a
/// copy by its time; one that moved before they say so would be nobody's after a crash.
fn has_what_stays(copy: BorrowedFd, there: &Version, source: &Source) -> bool {
    attributes::has_time(there, source.version.mtime_ns) && attributes::same_extended(copy, source.file.as_fd())
}

/// The regular file that has the name.
fn open(dir: BorrowedFd, name: &[u8]) -> Option<(OwnedFd, Version)> {
    let there = handles::at(dir, name).ok().flatten().filter(|there| there.kind == Kind::File)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(dir, name, flags, Mode::empty()).ok()?;
    (Version::of(&file).ok()? == there).then_some((file, there))
}
