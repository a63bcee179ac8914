//! Who may have a name at the destination: what is newer or foreign keeps it, unless the user said otherwise.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs;

use super::Shared;
use super::ended::{self, Attempt};
use super::source::Source;
use super::stream::{self, Buffer, Trouble};
use crate::entry::{Entry, Outcome, Placed};
use crate::names::{self, Replaced};
use crate::options::Overwrite;
use crate::path::TreePath;
use crate::version::{Kind, Version};

/// What may be done about a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It is free, or holds what may be replaced.
    Take,
    /// Something foreign of the same kind and size has it; if it holds the same, there is nothing to do.
    Compare(Version),
}

/// What became of a temporary.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has its name.
    Placed,
    /// The name holds the same already, put there by somebody else; the temporary is gone.
    Same(Version),
}

/// Whether `there` is what this mover put there, unchanged since.
fn is(placed: &Placed, there: &Version) -> bool {
    (placed.ino, placed.size, placed.mtime_ns) == (there.ino, there.size, there.mtime_ns)
}

/// Whether `there` is what this mover put under the entry's name at some time, unchanged since.
pub(super) fn is_ours(entry: &Entry, there: &Version) -> bool {
    entry.placed.iter().chain(&entry.before).any(|placed| is(placed, there))
}

/// What this version at the destination will be known by.
pub(super) fn placed(there: &Version, checksum: Option<[u8; 32]>) -> Placed {
    Placed { ino: there.ino, size: there.size, mtime_ns: there.mtime_ns, checksum }
}

/// Inode in the journal of a directory that somebody else made: its mode and times are not this mover's to set.
pub(super) const OF_OTHERS: u64 = 0;

/// Inode in the journal of a directory that this mover is about to make: found there after a crash, it is this mover's.
pub(super) const TO_BE_MADE: u64 = u64::MAX;

/// What a directory will be known by: its inode, for its times move with every name in it.
pub(super) fn placed_directory(ino: u64) -> Placed {
    Placed { ino, size: 0, mtime_ns: 0, checksum: None }
}

impl Shared {
    /// Whether `there` may make way for `source`.
    pub(super) fn may_replace(&self, entry: &Entry, source: &Version, there: &Version) -> bool {
        let told = match self.parts.options.overwrite {
            Overwrite::Never => false,
            Overwrite::Older => there.mtime_ns < source.mtime_ns,
            Overwrite::Always => true,
        };
        there.kind != Kind::Directory && (told || is_ours(entry, there))
    }

    /// Looks at the name before anything is copied.
    pub(super) fn claim(&self, entry: &Entry, source: &Version, there: Option<Version>) -> Attempt<Claim> {
        match there {
            None => Ok(Claim::Take),
            Some(there) if self.may_replace(entry, source, &there) => Ok(Claim::Take),
            Some(there) if (there.kind, there.size) == (source.kind, source.size) => Ok(Claim::Compare(there)),
            Some(there) => Err(self.taken(&entry.path, source, &there)),
        }
    }

    /// The refusal to touch what has the name.
    pub(super) fn taken(&self, path: &TreePath, source: &Version, there: &Version) -> ended::Ended {
        let place = ended::place(&self.parts.to, path);
        let reason = match there.kind {
            Kind::Directory => format!("a directory has the name {place}; hint: rename it or exclude the file"),
            _ if there.mtime_ns > source.mtime_ns => {
                format!(
                    "another file, newer than the source's, has the name {place}; hint: move it away, or stage with overwrite=always"
                )
            }
            _ => format!(
                "another file has the name {place}; hint: move it away, or stage with overwrite=older or overwrite=always"
            ),
        };
        ended::refused(reason)
    }

    /// Gives a temporary that is whole and synced its name. On an error it is still there.
    pub(super) fn rename(
        &self,
        dir: BorrowedFd,
        temporary: &[u8],
        entry: &Entry,
        source: &Version,
        new: &Placed,
        buffer: &mut Buffer,
    ) -> Attempt<Fate> {
        let path = &entry.path;
        let failed = |errno| ended::target("rename to", &self.parts.to, path, errno);
        let mut expected = |there: &Version| self.may_replace(entry, source, there);
        match names::replace(dir, temporary, path.name(), &mut expected).map_err(failed)? {
            Replaced::Yes => Ok(Fate::Placed),
            // An earlier attempt came as far as the rename, or the other link of it has the name.
            Replaced::No(there) if is(new, &there) => names::remove(dir, temporary).map(|()| Fate::Placed).map_err(failed),
            Replaced::No(there) if there.kind == source.kind && self.holds(dir, path, &there, new, buffer)? => {
                names::remove(dir, temporary).map(|()| Fate::Same(there)).map_err(failed)
            }
            Replaced::No(there) => Err(self.taken(path, source, &there)),
        }
    }

    /// Whether the regular file `there` has the bytes that were copied; if so they are durable.
    fn holds(&self, dir: BorrowedFd, path: &TreePath, there: &Version, new: &Placed, buffer: &mut Buffer) -> Attempt<bool> {
        let Some(checksum) = new.checksum else { return Ok(false) };
        if there.kind != Kind::File || there.size != new.size {
            return Ok(false);
        }
        Ok(self.hash_target(dir, path, there, buffer)? == Some(checksum))
    }

    /// Whether the foreign file `there` has the source's bytes. If so they are made durable, and its checksum comes back.
    pub(super) fn compare(
        &self,
        source: &Source,
        dir: BorrowedFd,
        path: &TreePath,
        there: &Version,
        buffer: &mut Buffer,
    ) -> Attempt<Option<[u8; 32]>> {
        let found = self.hash_target(dir, path, there, buffer)?;
        let mut leave = |bytes| self.take(bytes, 0).is_ok();
        let read = stream::hash(source.file.as_fd(), source.version.size, buffer, &mut leave);
        let read = read.map_err(|trouble| self.trouble(path, trouble))?.ok_or(Outcome::Changed)?;
        Ok((found == Some(read)).then_some(read))
    }

    /// BLAKE3 of what has the name at the destination, made durable; `None` if it is no longer `there`.
    fn hash_target(&self, dir: BorrowedFd, path: &TreePath, there: &Version, buffer: &mut Buffer) -> Attempt<Option<[u8; 32]>> {
        let failed = |errno| ended::target("read", &self.parts.to, path, errno);
        let (file, opened) = stream::reopen(dir, path.name(), false).map_err(failed)?;
        if opened != *there {
            return Ok(None);
        }
        fs::fsync(&file).map_err(failed)?;
        let mut leave = |bytes| self.take(bytes, 0).is_ok();
        let found = stream::hash(file.as_fd(), there.size, buffer, &mut leave).map_err(|trouble| match trouble {
            Trouble::Read(errno) => failed(errno),
            other => self.trouble(path, other),
        })?;
        let unchanged = Version::of(&file).map_err(failed)?.same_bytes(there);
        Ok(found.filter(|_| unchanged))
    }

    /// What ended the transfer of `path`.
    pub(super) fn trouble(&self, path: &TreePath, trouble: Trouble) -> ended::Ended {
        match trouble {
            Trouble::Read(errno) => ended::source("read", &self.parts.from, path, errno),
            Trouble::Write(errno) => ended::target("write", &self.parts.to, path, errno),
            Trouble::Short => Outcome::Changed.into(),
            Trouble::Halted => Outcome::Halted.into(),
        }
    }
}
