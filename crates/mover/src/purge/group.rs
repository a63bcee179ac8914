//! One file with all of its names: they leave the source together, or none does. Of a file that kept one of its names, a later change
//! would not reach the copies of the others.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, linkat};
use rustix::io::{Errno, Result as SysResult};

use super::quarantine::{self, Back};
use super::{PAUSE, Purger, TRIES};
use crate::bytes::hash_of;
use crate::copy::{Extended, extended};
use crate::error::{Result, words};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Placed};
use crate::mapped_stores::Stores;
use crate::names;
use crate::options::Check;
use crate::path::TreePath;
use crate::quiescence::Guard;

/// A file that was set aside, and what tells whether anybody has touched it since.
pub(crate) struct Waiting {
    pub(crate) names: Vec<Entry>,
    file: OwnedFd,
    pub(crate) guard: Guard,
    /// As it was under its new names.
    version: Version,
    /// What it had when its version was looked at: the rename moves the time of change, and with it hides what moves only that.
    extended: Extended,
}

/// Whether a file has the bytes that are done.
pub(crate) enum Bytes {
    Same,
    /// It has others, of this hash.
    Other([u8; 32]),
    /// Somebody began to write it, or the mover ends.
    Left,
}

impl Waiting {
    /// Whether its attributes are those that it had before it was set aside.
    pub(crate) fn has_its_attributes(&self) -> SysResult<bool> {
        Ok(extended(self.file.as_fd())? == self.extended)
    }
}

/// What somebody may have touched is looked at again another time.
fn require(holds: bool) -> SysResult<()> {
    if holds { Ok(()) } else { Err(Errno::AGAIN) }
}

impl Purger<'_> {
    /// Renames a file out of sight, if it may go as far as can be seen.
    pub(super) fn set_aside(&mut self, entry: &Entry) -> Result<Option<Waiting>> {
        if self.away.contains(&entry.path) {
            // It was, with another name of the file.
            return Ok(None);
        }
        let Some(names) = self.names_of(entry)? else { return Ok(None) };
        if names.len() > 1 {
            self.times.keep(self.from, self.journal, names.iter().map(|name| name.path.parent()))?;
        }
        let waiting = self.hide(&names);
        if !matches!(waiting, Ok(Some(_))) {
            self.give_back(&names);
        }
        Ok(match waiting {
            Ok(waiting) => waiting,
            // Gone by itself: the scan says so.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(error) => {
                self.stayed(entry, error);
                None
            }
        })
    }

    /// A file was left, or given back: somebody touched it, which is `AGAIN`, or a call failed.
    fn stayed(&mut self, entry: &Entry, error: Errno) {
        if error == Errno::AGAIN {
            self.touched.insert(entry.id, entry.path.clone());
        } else {
            self.failed(entry, error);
        }
    }

    /// All names of the file, if all of them are done.
    fn names_of(&mut self, entry: &Entry) -> Result<Option<Vec<Entry>>> {
        let version = entry.version;
        if version.links <= 1 {
            return Ok(self.may_try(entry)?.then(|| vec![entry.clone()]));
        }
        let mut names = Vec::new();
        for name in self.journal.names_done(version.ino)? {
            if name.version != version {
                // Of another file that had this inode once, or to be looked at first.
                match self.look(&name.path) {
                    Ok(now) if now.ino == version.ino => {
                        self.moved.push((name.path, now));
                        return Ok(None);
                    }
                    _ => continue,
                }
            }
            if !self.may_try(&name)? {
                return Ok(None);
            }
            names.push(name);
        }
        if names.len() < version.links as usize {
            // A further name of it that is still to come becomes a link at the destination too, if this one is still there to tell.
            if self.unread > 0 || self.journal.totals().pending().files > 0 {
                return Ok(None);
            }
            for other in self.journal.names_given_up(version.ino)? {
                if self.look(&other.path).is_ok_and(|now| now.ino == version.ino) {
                    let why = format!("its other name {} is not safe", other.path);
                    self.note(entry.id, format!("{} is done and stays at the source: {why}", entry.path));
                    return Ok(None);
                }
            }
        }
        Ok(Some(names))
    }

    fn look(&self, path: &TreePath) -> SysResult<Version> {
        Version::at(self.from.directory(&path.parent())?, path.name())
    }

    /// Opens the file by one of its names.
    pub(crate) fn open_source(&self, entry: &Entry) -> SysResult<OwnedFd> {
        quarantine::open(self.from.directory(&entry.path.parent())?.as_fd(), entry.path.name())
    }

    /// The copy of each name: it lies where it was put, the source is the version of which it is one, and it was read back where deleting
    /// asks for that. `None` where one of them is no such copy.
    pub(crate) fn safe_copies(&mut self, names: &[Entry]) -> SysResult<Option<Vec<Placed>>> {
        let mut copies = Vec::new();
        for entry in names {
            let Some(placed) = self.is_safe(entry)? else { return Ok(None) };
            let now = self.look(&entry.path)?;
            if now != entry.version {
                self.moved.push((entry.path.clone(), now));
                return Ok(None);
            }
            if self.options.check == Check::ReadBack && !self.journal.was_done_here(entry.id) {
                self.unsure.push(entry.path.clone());
                return Ok(None);
            }
            copies.push(placed);
        }
        Ok(Some(copies))
    }

    /// Holds a lease on the file where one can be had; fails with `AGAIN` where somebody has it open for writing.
    pub(crate) fn guard(&self, file: &OwnedFd, version: &Version) -> SysResult<Guard> {
        self.quiescence.guard(file, version)?.ok_or(Errno::AGAIN)
    }

    /// The source has other bytes than its copies, of the hash `found`.
    pub(crate) fn differ(&mut self, names: &[Entry], found: [u8; 32]) {
        for entry in names {
            self.differs(entry, found);
        }
    }

    /// What was moved aside, as it is there.
    pub(crate) fn waits(&mut self, names: &[Entry], file: OwnedFd, guard: Guard, extended: Extended) -> SysResult<Waiting> {
        self.aside_bytes += names.first().map_or(0, |entry| entry.version.size);
        Ok(Waiting { names: names.to_vec(), version: Version::of(&file)?, file, guard, extended })
    }

    /// Renames one name into this mover's own directory.
    pub(crate) fn move_aside(&mut self, entry: &Entry) -> SysResult<()> {
        let (path, name) = (entry.path.parent(), entry.path.name());
        if !self.times.is_kept(&path) {
            return Err(Errno::IO);
        }
        let parent = self.from.directory(&path)?;
        let aside = self.aside.directory(&path)?;
        // Before the call: also one that fails may have done it.
        self.away.insert(entry.path.clone());
        self.times.around(&path, parent.as_fd(), || names::move_to_own((parent.as_fd(), name), (aside, name)))
    }

    /// Gives back the names from the number `from` on, and those that are gone already: a call failed, or somebody touched the file.
    pub(crate) fn keep_names(&mut self, file: &Waiting, from: usize, error: Errno) {
        let (gone, left) = file.names.split_at(from);
        let Some(entry) = left.first() else { return };
        self.give_back(left);
        self.link_again(gone, &entry.path);
        self.stayed(entry, error);
    }

    /// Removes one name of a file that was set aside, if nobody has begun to write it.
    pub(crate) fn remove(&mut self, entry: &Entry, guard: &Guard) -> SysResult<()> {
        require(guard.holds()?)?;
        let aside = self.aside.directory(&entry.path.parent())?;
        match names::remove(aside, entry.path.name()) {
            // It is gone all the same.
            Err(_) if Version::at(aside, entry.path.name()).err() == Some(Errno::NOENT) => {}
            other => other?,
        }
        self.away.remove(&entry.path);
        Ok(())
    }

    /// Gives the names `gone` of a file back, of which `left` has been.
    fn link_again(&mut self, gone: &[Entry], left: &TreePath) {
        for entry in gone {
            let linked = self.from.directory(&left.parent()).and_then(|from| {
                let to = self.from.directory(&entry.path.parent())?;
                let (old, new) = (left.name(), entry.path.name());
                self.times.around(&entry.path.parent(), to.as_fd(), || linkat(&from, old, &to, new, AtFlags::empty()))
            });
            if let Err(error) = linked {
                self.note(
                    0,
                    format!("{} was cleared, and {left}, a name of the same file, was not: {}", entry.path, words(error)),
                );
            }
        }
    }

    /// Puts back what of these is set aside. What cannot be now stays in `away`.
    fn give_back(&mut self, names: &[Entry]) {
        for entry in names.iter().filter(|entry| self.away.contains(&entry.path)).cloned().collect::<Vec<_>>() {
            match self.put_back(&entry.path) {
                Ok(back) => {
                    self.away.remove(&entry.path);
                    if let Back::Beside(name) = back {
                        let text = format!(
                            "{} changed while it was cleared; its name was taken, or its directory is gone: it is now {name}",
                            entry.path
                        );
                        self.note(entry.id, text);
                    }
                }
                Err(_) => self.unsettled = true,
            }
        }
    }

    /// Gives these back, and makes nothing for that: the state directory is another's by now, or gone, and so is what lies in it.
    pub(super) fn let_go(&mut self, waiting: &[Waiting]) {
        for name in waiting.iter().flat_map(|file| &file.names) {
            if let Ok(aside) = self.aside.counterpart(&name.path.parent()) {
                // What fails is found by the next mover of this source.
                _ = self.aside.put_back_from(aside.as_fd(), &name.path, &mut self.times);
            }
        }
        self.times.restore();
    }

    fn put_back(&mut self, path: &TreePath) -> SysResult<Back> {
        let aside = rustix::io::fcntl_dupfd_cloexec(self.aside.directory(&path.parent())?, 0)?;
        self.aside.put_back_from(aside.as_fd(), path, &mut self.times)
    }

    /// Gives back, when nothing else is left to do, what could not be before; whether anything was, which a scan must look at.
    pub fn give_back_rest(&mut self) -> Result<bool> {
        let mut any = std::mem::take(&mut self.came_home) > 0;
        for number in 0..TRIES {
            let restored = self.times.restore().is_empty();
            if self.away.is_empty() && !self.unsettled && restored {
                break;
            }
            if number > 0 {
                std::thread::sleep(PAUSE);
            }
            if !self.away.is_empty() || self.unsettled {
                any |= self.give_all_back();
            }
        }
        for path in self.times.restore() {
            self.note(0, format!("the directory {path} of the source has the time at which files were deleted from it"));
        }
        self.times.end(self.journal)?;
        Ok(any)
    }

    /// The copies of all names, where these are still those of the file that was set aside.
    pub(crate) fn copies_and_names(&mut self, file: &Waiting) -> SysResult<Vec<Placed>> {
        let mut copies = Vec::new();
        for entry in &file.names {
            copies.push(self.is_safe(entry)?.ok_or(Errno::AGAIN)?);
            let aside = self.aside.directory(&entry.path.parent())?;
            let named = Version::at(aside, entry.path.name())?;
            // The rename itself moves the time of change, and nothing else.
            let renamed = Version { ctime_ns: file.version.ctime_ns, ..entry.version };
            require(named == file.version && named == renamed)?;
        }
        Ok(copies)
    }

    /// That nobody writes the file, and its bytes are those of its copy: what no time and no lease would tell.
    pub(crate) fn require_unwritten(&mut self, file: &Waiting, copy: &Placed) -> SysResult<()> {
        let unseen = self.quiescence.writer(&file.file, &file.version)?.is_none()
            && matches!(self.bytes(&file.names[0], copy, &file.file, &file.guard)?, Bytes::Same);
        require(unseen && Version::of(&file.file)? == file.version)
    }

    /// Compares the file's bytes with those that are done, where its version does not tell.
    pub(crate) fn bytes(&mut self, entry: &Entry, placed: &Placed, file: &OwnedFd, guard: &Guard) -> SysResult<Bytes> {
        if guard.sees() && self.quiescence.stores() == Stores::Timed {
            return Ok(Bytes::Same);
        }
        // A question that fails is asked again by the caller.
        let halt = self.halt;
        let mut leave = |_| guard.holds() != Ok(false) && !halt.load(Ordering::Relaxed);
        let Some(found) = hash_of(file, entry.version.size, &mut self.buffer, &mut leave)? else { return Ok(Bytes::Left) };
        let wanted = if placed.checksum.is_some() {
            placed.checksum
        } else {
            let parent = self.to.directory(&entry.path.parent())?;
            hash_of(quarantine::open(parent.as_fd(), entry.path.name())?, placed.size, &mut self.buffer, &mut leave)?
        };
        Ok(match wanted {
            None => Bytes::Left,
            Some(wanted) if wanted == found => Bytes::Same,
            Some(_) => Bytes::Other(found),
        })
    }

    /// The checked copy that lies at the destination, as this mover put it there.
    fn is_safe(&mut self, entry: &Entry) -> SysResult<Option<Placed>> {
        let Some(placed) = entry.placed else { return Ok(None) };
        if placed.is_of_others() {
            let why =
                "the file of the same bytes at the destination is not this mover's; hint: --overwrite always copies it anew";
            self.note(entry.id, format!("{} stays at the source: {why}", entry.path));
            return Ok(None);
        }
        if placed.checksum.is_none() && self.options.check != Check::None {
            // Staged when no checksum was asked for: it gets one.
            self.unsure.push(entry.path.clone());
            return Ok(None);
        }
        let there = self.to.directory(&entry.path.parent()).and_then(|parent| Version::at(parent, entry.path.name()));
        let good = |there: &Version| (there.kind, there.size, there.mtime_ns) == (Kind::File, placed.size, placed.mtime_ns);
        match there {
            // Another file of the same time and size, or a copy that somebody brought back: its bytes tell.
            Ok(there) if good(&there) && self.established.inodes_last && there.ino != placed.ino => {
                self.unsure.push(entry.path.clone());
                Ok(None)
            }
            Ok(there) if good(&there) => Ok(Some(placed)),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                let why = "its copy at the destination was changed or removed";
                self.note(entry.id, format!("{} stays at the source: {why}", entry.path));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
