//! Who may have a name at the destination: what is newer or foreign keeps it, unless the user said otherwise.

use std::os::fd::BorrowedFd;

use super::attempt_error::{self, Attempt};
use super::{Shared, handles};
use crate::bytes::stream::Buffer;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Placed};
use crate::names::{self, Replaced};
use crate::options::Overwrite;
use crate::path::TreePath;

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
pub(super) fn is(placed: &Placed, there: &Version) -> bool {
    (placed.ino, placed.size, placed.mtime_ns) == (there.ino, there.size, there.mtime_ns)
}

/// Whether `there` is what this mover put under the entry's name at some time, unchanged since.
pub(super) fn is_ours(entry: &Entry, there: &Version) -> bool {
    ours(entry, there).is_some()
}

/// The same, as it was put there.
pub(super) fn ours(entry: &Entry, there: &Version) -> Option<Placed> {
    entry.placed.iter().chain(&entry.before).find(|placed| is(placed, there)).copied()
}

/// What this version at the destination will be known by.
pub(super) fn placed(there: &Version, checksum: Option<[u8; 32]>) -> Placed {
    Placed { ino: there.ino, size: there.size, mtime_ns: there.mtime_ns, checksum }
}

/// The same of what somebody else put there, which is as good as a copy while it stays, and is never this mover's.
pub(super) fn of_others(there: &Version, checksum: Option<[u8; 32]>) -> Placed {
    Placed { ino: Placed::OF_OTHERS, ..placed(there, checksum) }
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
    pub(super) fn taken(&self, path: &TreePath, source: &Version, there: &Version) -> attempt_error::Ended {
        let place = attempt_error::place(&self.parts.to, path);
        let reason = match there.kind {
            // No option replaces a file by a directory: what is below it would be lost with the file.
            kind if source.kind == Kind::Directory && kind != Kind::Directory => {
                format!("{place} is no directory, and the source's {path} is one; hint: move it away, then stage again")
            }
            Kind::Directory => format!("a directory has the name {place}; hint: rename it or exclude the file"),
            _ if there.mtime_ns > source.mtime_ns || self.parts.options.overwrite == Overwrite::Older => {
                let age = if there.mtime_ns > source.mtime_ns { "newer than" } else { "as old as" };
                format!(
                    "another file, {age} the source's, has the name {place}; hint: move it away, or stage with --overwrite always"
                )
            }
            _ => format!(
                "another file has the name {place}; hint: move it away, or stage with --overwrite older or --overwrite always"
            ),
        };
        attempt_error::refused(reason)
    }

    /// Ends what an earlier attempt at replacing what has the entry's name left half done.
    pub(crate) fn end_replacement(&self, dir: BorrowedFd, entry: &Entry) -> Attempt<()> {
        // Nothing is replaced before the journal says what by.
        let Some(new) = entry.placed.filter(|_| entry.version.kind != Kind::Directory) else { return Ok(()) };
        let expected = |there: &Version| self.may_replace(entry, &entry.version, there);
        let names = self.names(entry);
        match names::end_replacement(dir, &names, &|there| is(&new, there), &expected) {
            Ok(None) => Ok(()),
            Ok(Some(kept)) => Err(self.kept(&entry.path, &kept)),
            Err(errno) => Err(attempt_error::target("look at what was replaced by", &self.parts.to, &entry.path, errno)),
        }
    }

    /// Finds out by its bytes whether what has the name is this mover's own, where its inode or its time is another: some file systems
    /// number theirs anew with each mount, and attributes given to one name of a file move the time of all its names.
    pub(crate) fn recognise(&self, dir: BorrowedFd, entry: &mut Entry, buffer: &mut Buffer) -> Attempt<()> {
        if entry.placed.is_none() {
            return Ok(());
        }
        let failed = |errno| attempt_error::target("look at", &self.parts.to, &entry.path, errno);
        let Some(there) = handles::at(dir, entry.path.name()).map_err(failed)? else { return Ok(()) };
        let alike = |placed: &&Placed| {
            let like = placed.mtime_ns == there.mtime_ns || placed.ino == there.ino;
            like && placed.size == there.size && placed.checksum.is_some() && !placed.is_of_others()
        };
        if there.kind != Kind::File || is_ours(entry, &there) {
            return Ok(());
        }
        let Some(known) = entry.placed.iter().chain(&entry.before).find(alike).copied() else { return Ok(()) };
        if self.hash_target(dir, &entry.path, &there, buffer)? == known.checksum {
            let found = placed(&there, known.checksum);
            if entry.placed == Some(known) {
                entry.placed = Some(found);
            } else {
                entry.before.push(found);
            }
        }
        Ok(())
    }

    /// Somebody took the name while it was being replaced.
    fn kept(&self, path: &TreePath, name: &[u8]) -> attempt_error::Ended {
        let (place, beside) = (attempt_error::place(&self.parts.to, path), path.parent().join(name));
        attempt_error::refused(format!(
            "another file came under the name {place} while it was replaced; what had it before is {beside}; \
             hint: move one of them away, then resume"
        ))
    }

    /// Gives a temporary that is whole and synced its name. On an error it is still there.
    pub(super) fn rename(
        &self,
        dir: BorrowedFd,
        entry: &Entry,
        source: &Version,
        new: &Placed,
        buffer: &mut Buffer,
    ) -> Attempt<Fate> {
        let path = &entry.path;
        let failed = |errno| attempt_error::target("rename to", &self.parts.to, path, errno);
        let names = self.names(entry);
        let gone = || names::remove_if(dir, &names.temporary, new.ino);
        let known = |there: &Version| is(new, there);
        match names::replace(dir, &names, &known, &mut |there| self.may_replace(entry, source, there)).map_err(failed)? {
            Replaced::Yes => Ok(Fate::Placed),
            // An earlier attempt came as far as the rename, or the other link of it has the name.
            Replaced::No(there) if is(new, &there) => gone().map(|()| Fate::Placed).map_err(failed),
            Replaced::No(there) if there.kind == source.kind && self.holds(dir, path, &there, new, buffer)? => {
                gone().map(|()| Fate::Same(there)).map_err(failed)
            }
            Replaced::No(there) => Err(self.taken(path, source, &there)),
            Replaced::Kept(name) => Err(self.kept(path, &name)),
            Replaced::Refused => {
                let place = attempt_error::place(&self.parts.to, path);
                let why = "its file system takes that name neither by a link nor by a rename that replaces nothing";
                Err(attempt_error::refused(format!(
                    "cannot give {place} to a file: {why}; hint: exclude it, or stage with --overwrite always"
                )))
            }
        }
    }
}
