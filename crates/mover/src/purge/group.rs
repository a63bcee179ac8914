//! One file with all of its names: they leave the source together, or none does. Of a file that kept one of its names, a later change
//! would not reach the copies of the others.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, linkat};
use rustix::io::{Errno, Result as SysResult};

use super::quarantine::{self, Back};
use super::{PAUSE, Purger, TRIES};
use crate::bytes::hash_of;
use crate::copy::{Extended, extended};
use crate::entry::{Entry, Placed};
use crate::error::Result;
use crate::names;
use crate::options::Check;
use crate::path::TreePath;
use crate::quiescence::Guard;
use crate::stores::Stores;
use crate::version::{Kind, Version};

/// A file that was set aside, and what tells whether anybody has touched it since.
pub(super) struct Waiting {
    pub(super) names: Vec<Entry>,
    file: OwnedFd,
    pub(super) guard: Guard,
    /// As it was under its new names.
    version: Version,
    /// What it had when its version was looked at: the rename moves the time of change, and with it hides what moves only that.
    extended: Extended,
}

/// Whether a file has the bytes that are done.
enum Bytes {
    Same,
    /// It has others, of this hash.
    Other([u8; 32]),
    /// Somebody began to write it, or the mover ends.
    Left,
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
        let waiting = self.try_set_aside(&names);
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

    fn try_set_aside(&mut self, names: &[Entry]) -> SysResult<Option<Waiting>> {
        let Some(first) = names.first() else { return Ok(None) };
        let file = quarantine::open(self.from.directory(&first.path.parent())?.as_fd(), first.path.name())?;
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
        let guard = self.quiescence.guard(&file, &first.version)?.ok_or(Errno::AGAIN)?;
        let extended = extended(file.as_fd())?;
        match self.bytes(first, &copies[0], &file, &guard)? {
            Bytes::Left => return Err(Errno::AGAIN),
            _ if !guard.holds()? || Version::of(&file)? != first.version => return Err(Errno::AGAIN),
            Bytes::Other(found) => {
                for entry in names {
                    self.differs(entry, found);
                }
                return Ok(None);
            }
            Bytes::Same => {}
        }
        for entry in names {
            self.move_aside(entry)?;
        }
        self.aside_bytes += first.version.size;
        Ok(Some(Waiting { names: names.to_vec(), version: Version::of(&file)?, file, guard, extended }))
    }

    fn move_aside(&mut self, entry: &Entry) -> SysResult<()> {
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

    /// Removes what was set aside, if it is still what is done; puts it back otherwise.
    pub(super) fn take(&mut self, waiting: &Waiting) -> bool {
        if let Err(error) = self.may_go(waiting) {
            self.give_back(&waiting.names);
            self.stayed(&waiting.names[0], error);
            return false;
        }
        for (number, entry) in waiting.names.iter().enumerate() {
            let holds = waiting.guard.holds();
            let gone = holds.and_then(|holds| if holds { self.remove(entry) } else { Err(Errno::AGAIN) });
            if let Err(error) = gone {
                self.give_back(&waiting.names[number..]);
                self.link_again(&waiting.names[..number], &entry.path);
                self.stayed(entry, error);
                return false;
            }
            self.away.remove(&entry.path);
        }
        true
    }

    fn remove(&mut self, entry: &Entry) -> SysResult<()> {
        let aside = self.aside.directory(&entry.path.parent())?;
        match names::remove(aside, entry.path.name()) {
            // It is gone all the same.
            Err(_) if Version::at(aside, entry.path.name()).err() == Some(Errno::NOENT) => Ok(()),
            other => other,
        }
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
                self.note(0, format!("{} was cleared, and {left}, a name of the same file, was not: {error}", entry.path));
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
        let mut any = false;
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

    /// Fails with `AGAIN` unless what was set aside is the file that was looked at, nobody has touched it, and its copies are as they
    /// were put.
    fn may_go(&mut self, waiting: &Waiting) -> SysResult<()> {
        let (file, first) = (&waiting.file, &waiting.names[0]);
        let mut copies = Vec::new();
        for entry in &waiting.names {
            copies.push(self.is_safe(entry)?.ok_or(Errno::AGAIN)?);
            let aside = self.aside.directory(&entry.path.parent())?;
            let named = Version::at(aside, entry.path.name())?;
            // The rename itself moves the time of change, and nothing else.
            let renamed = Version { ctime_ns: waiting.version.ctime_ns, ..entry.version };
            if named != waiting.version || named != renamed {
                return Err(Errno::AGAIN);
            }
        }
        if extended(file.as_fd())? != waiting.extended {
            return Err(Errno::AGAIN);
        }
        if waiting.guard.sees() {
            return Ok(());
        }
        let unseen = self.quiescence.writer(file, &waiting.version)?.is_none()
            && matches!(self.bytes(first, &copies[0], file, &waiting.guard)?, Bytes::Same);
        if unseen && Version::of(file)? == waiting.version { Ok(()) } else { Err(Errno::AGAIN) }
    }

    /// Compares the file's bytes with those that are done, where its version does not tell.
    fn bytes(&self, entry: &Entry, placed: &Placed, file: &OwnedFd, guard: &Guard) -> SysResult<Bytes> {
        if guard.sees() && self.quiescence.stores() == Stores::Timed {
            return Ok(Bytes::Same);
        }
        // A question that fails is asked again by the caller.
        let mut leave = |_| guard.holds() != Ok(false) && !self.halted();
        let Some(found) = hash_of(file, entry.version.size, &mut leave)? else { return Ok(Bytes::Left) };
        let wanted = if placed.checksum.is_some() {
            placed.checksum
        } else {
            let parent = self.to.directory(&entry.path.parent())?;
            hash_of(quarantine::open(parent.as_fd(), entry.path.name())?, placed.size, &mut leave)?
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
