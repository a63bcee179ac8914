//! Directories, links, FIFOs and further names of one file: what is made rather than copied.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{self, AtFlags, Mode};
use rustix::io::{Errno, Result as SysResult};

use super::Shared;
use super::attempt_error::{self, Attempt, split};
use super::attributes;
use super::batch::{Batch, Item, Shape};
use super::destination_name::{self, Claim};
use super::handles;
use super::source::Source;
use crate::bytes::checksum as checksum_of;
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Outcome, Placed, State};
use crate::mapped_stores::Stores;
use crate::names;
use crate::options::Check;
use crate::path::TreePath;

impl Batch<'_> {
    /// Makes a directory, or finds it there.
    pub(super) fn directory(&mut self, entry: Entry, each: bool) -> Attempt<Item> {
        let shared = self.shared;
        let from = &shared.parts.from;
        let source = self.handles.source(&entry.path)?;
        let version = Version::at(&*source, entry.path.name())
            .map_err(|errno| attempt_error::source("look at", from, &entry.path, errno))?;
        if version.kind != Kind::Directory {
            return Err(Outcome::Changed.into());
        }
        let made = match self.handles.look(&entry.path)? {
            Some(there) if there.kind != Kind::Directory => return Err(shared.taken(&entry.path, &version, &there)),
            _ => self.handles.directory(&entry.path)?,
        };
        let there =
            Version::of(&*made).map_err(|errno| attempt_error::target("look at", &shared.parts.to, &entry.path, errno))?;
        let intended = entry.placed.is_some_and(|placed| placed.ino == Placed::TO_BE_MADE);
        let ours = intended || shared.made_directory(&entry, &there);
        let placed = Placed::directory(if ours { there.ino } else { Placed::OF_OTHERS });
        let each = each || !made.covered;
        let dropped = if ours { shared.give_directory_early(&entry, made.as_fd(), each)? } else { Vec::new() };
        Ok(Item { version, placed, shape: Shape::There, read_back: false, dropped: Some(dropped), entry })
    }

    /// Makes a link or a FIFO like the source's under the temporary name.
    pub(super) fn special(&mut self, mut entry: Entry) -> Attempt<Item> {
        let shared = self.shared;
        let (from, to, path) = (&shared.parts.from, &shared.parts.to, &entry.path.clone());
        let source = self.handles.source(path)?;
        let read = |errno| attempt_error::source("read", from, path, errno);
        let version = Version::at(&*source, path.name()).map_err(read)?;
        if version.kind != entry.version.kind {
            return Err(Outcome::Changed.into());
        }
        let text = match version.kind {
            Kind::Link => Some(fs::readlinkat(&*source, path.name(), Vec::new()).map_err(read)?),
            _ => None,
        };
        if Version::at(&*source, path.name()).map_err(read)? != version {
            return Err(Outcome::Changed.into());
        }
        let checked = text.as_ref().filter(|_| shared.parts.options.check != Check::None);
        let checksum = checked.map(|text| checksum_of(text.as_bytes()));
        let target = self.handles.target(path)?;
        shared.end_replacement(target.as_fd(), &entry)?;
        let failed = |errno| attempt_error::target("make", to, path, errno);
        let there = handles::at(target.as_fd(), path.name()).map_err(failed)?;
        if let Some(known) = there.and_then(|there| link_put_there(target.as_fd(), &entry, &there)) {
            entry.placed = Some(known);
        }
        if let Claim::Compare(there) = shared.claim(&entry, &version, there)? {
            let same = match &text {
                Some(text) => fs::readlinkat(&*target, path.name(), Vec::new()).map_err(failed)? == *text,
                None => true,
            };
            if !same {
                return Err(shared.taken(path, &version, &there));
            }
            let mut lacking = Vec::new();
            attributes::compare(&version, &there, &mut lacking);
            let (placed, shape) = (destination_name::of_others(&there, checksum), Shape::There);
            return Ok(Item { version, placed, shape, read_back: false, dropped: Some(lacking), entry });
        }
        shared.take(0, 1)?;
        let temporary = shared.temporary(&entry);
        let made = anew(target.as_fd(), &temporary, &|| match &text {
            Some(text) => fs::symlinkat(text.as_c_str(), &*target, &temporary[..]),
            None => fs::mkfifoat(&*target, &temporary[..], Mode::RUSR | Mode::WUSR),
        });
        made.map_err(failed)?;
        if version.kind == Kind::Fifo && shared.lists.load(Ordering::SeqCst) {
            attributes::disinherit_fifo(target.as_fd(), &temporary).map_err(failed)?;
        }
        let made =
            attributes::give_named(target.as_fd(), &temporary, &version).and_then(|()| Version::at(&*target, &temporary[..]));
        let made = made.map_err(failed)?;
        let mut dropped = Vec::new();
        attributes::compare(&version, &made, &mut dropped);
        let (placed, shape) = (destination_name::placed(&made, checksum), Shape::Temporary);
        Ok(Item { version, placed, shape, read_back: false, dropped: Some(dropped), entry })
    }

    /// What has the name `path` at the source.
    fn state_of(&mut self, path: &TreePath) -> Attempt<Version> {
        let source = self.handles.source(path)?;
        Version::at(&*source, path.name()).map_err(|errno| attempt_error::source("look at", &self.shared.parts.from, path, errno))
    }

    /// Another name of the file that `path` is now, which is safe.
    fn other_name(&mut self, path: &TreePath, version: &Version) -> Attempt<Option<Entry>> {
        for other in self.shared.parts.journal.linked(version)? {
            if other.path == *path {
                continue;
            }
            // What the journal knows may be of a file that is gone, and whose inode this one has been given.
            match split(self.state_of(&other.path))? {
                Ok(now) if now == *version => return Ok(Some(other)),
                // What cannot be told now may be another name all the same: a copy of its own would end the link.
                Err(outcome @ Outcome::Failed { .. }) => return Err(outcome.into()),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Whether what lies under the name `other` is a copy of the source as it is now.
    fn is_copy_of(&mut self, opened: &Source, dir: BorrowedFd, other: &Entry, known: &Placed) -> Attempt<bool> {
        // What lies there may be of an earlier state, or no time tells whether it is: the bytes do.
        let current = other.state == State::Done && other.version == opened.version;
        let sure = current && self.shared.parts.quiescence.stores() == Stores::Timed;
        if !sure && self.same(opened, dir, &other.path, known)?.is_none() {
            return Ok(false);
        }
        Ok(current || self.has_attributes(opened, dir, &other.path)?)
    }

    /// The copy under another name of the file, as it is now; `None` where there is none of the source as it is now.
    fn copy_of_other(&mut self, opened: &Source, dir: BorrowedFd, other: &mut Entry) -> Attempt<Option<Placed>> {
        let shared = self.shared;
        shared.recognise(dir, other, &mut self.buffer)?;
        let look = |name: &[u8]| {
            handles::at(dir, name).map_err(|errno| attempt_error::target("look at", &shared.parts.to, &other.path, errno))
        };
        let Some(still) = look(other.path.name())? else { return Ok(None) };
        let Some(known) = destination_name::ours(other, &still) else { return Ok(None) };
        if !self.is_copy_of(opened, dir, other, &known)? {
            return Ok(None);
        }
        // It may have got attributes of this state just now, which every name of it has then.
        let now = look(other.path.name())?.filter(|now| (now.ino, now.size) == (known.ino, known.size));
        Ok(now.map(|now| destination_name::placed(&now, known.checksum)))
    }

    /// A further name of a file of which another name is safe: a link to that one. `None` where it must be copied after all.
    pub(super) fn link(&mut self, entry: &Entry, opened: &Source) -> Attempt<Option<Item>> {
        let shared = self.shared;
        let (from, to, path) = (&shared.parts.from, &shared.parts.to, &entry.path);
        let source = self.handles.source(path)?;
        let version = Version::at(&*source, path.name()).map_err(|errno| attempt_error::source("look at", from, path, errno))?;
        if version != opened.version {
            return Err(Outcome::Changed.into());
        }
        let Some(mut other) = self.other_name(path, &version)? else { return Ok(None) };
        let other_dir = self.handles.target(&other.path)?;
        let target = self.handles.target(path)?;
        let Some(known) = self.copy_of_other(opened, other_dir.as_fd(), &mut other)? else { return Ok(None) };
        shared.require_unchanged(opened, source.as_fd(), path)?;
        let failed = |errno| attempt_error::target("link", to, path, errno);
        let there = handles::at(target.as_fd(), path.name()).map_err(failed)?;
        let dropped = Some(shared.parts.journal.dropped(other.id)?.into_iter().collect());
        if there.is_some_and(|there| there.ino == known.ino) {
            let shape = Shape::There;
            return Ok(Some(Item { version, placed: known, shape, read_back: false, dropped, entry: entry.clone() }));
        }
        if shared.claim(entry, &version, there)? != Claim::Take {
            return Ok(None);
        }
        if !shared.link_to(&other, other_dir.as_fd(), entry, target.as_fd(), known.ino)? {
            return Ok(None);
        }
        shared.has_link(entry.id)?;
        let shape = Shape::Temporary;
        Ok(Some(Item { version, placed: known, shape, read_back: false, dropped, entry: entry.clone() }))
    }
}

impl Shared {
    /// Makes the temporary of `entry` a link to the copy of `other`, of the inode `ino`; whether it is one.
    fn link_to(&self, other: &Entry, other_dir: BorrowedFd, entry: &Entry, target: BorrowedFd, ino: u64) -> Attempt<bool> {
        let failed = |errno| attempt_error::target("link", &self.parts.to, &entry.path, errno);
        let temporary = self.temporary(entry);
        let link = || fs::linkat(other_dir, other.path.name(), target, &temporary[..], AtFlags::empty());
        match anew(target, &temporary, &link) {
            Ok(()) => {}
            Err(errno) if names::has_no_links(errno) => {
                // No hard links there, or too many of this file.
                self.lack_links([entry.id, other.id])?;
                return Ok(false);
            }
            Err(errno) => return Err(failed(errno)),
        }
        let made = Version::at(target, &temporary[..]).map_err(failed)?;
        if made.ino != ino {
            names::remove_if(target, &temporary, made.ino).map_err(failed)?;
        }
        Ok(made.ino == ino)
    }

    /// Takes back what was said of a name by [`lack_links`](Self::lack_links).
    fn has_link(&self, id: i64) -> Result<()> {
        let journal = &self.parts.journal;
        if lacks_links(journal.dropped(id)?.as_deref()) { journal.say_dropped(&[(id, String::new())]) } else { Ok(()) }
    }

    /// Says of two names of one file that their copies are two files.
    fn lack_links(&self, ids: [i64; 2]) -> Result<()> {
        let journal = &self.parts.journal;
        for id in ids {
            let said = journal.dropped(id)?;
            if !lacks_links(said.as_deref()) {
                journal.say_dropped(&[(id, said.into_iter().chain([LINKS.to_owned()]).collect::<Vec<_>>().join(", "))])?;
            }
        }
        Ok(())
    }
}

/// The link `there`, if it is the one that this mover put there under another inode: somebody brought it back.
fn link_put_there(dir: BorrowedFd, entry: &Entry, there: &Version) -> Option<Placed> {
    let placed = entry.placed.filter(|placed| there.kind == Kind::Link && !placed.is_of_others())?;
    let alike = (placed.size, placed.mtime_ns) == (there.size, there.mtime_ns);
    let text = fs::readlinkat(dir, entry.path.name(), Vec::new()).ok().filter(|_| alike)?;
    let same = placed.checksum == Some(checksum_of(text.as_bytes()));
    same.then(|| destination_name::placed(there, placed.checksum))
}

/// How a copy that should be another name of one that is there, and is a file of its own, is said to lack that.
pub(super) const LINKS: &str = "hard links";

/// Whether what is said of a copy holds that.
pub(super) fn lacks_links(said: Option<&str>) -> bool {
    said.is_some_and(|said| said.split(", ").any(|what| what == LINKS))
}

/// Makes something under the temporary name; what an earlier attempt left there goes first.
pub(super) fn anew<T>(dir: BorrowedFd, temporary: &[u8], make: &dyn Fn() -> SysResult<T>) -> SysResult<T> {
    match make() {
        Err(Errno::EXIST) => {
            names::remove(dir, temporary)?;
            make()
        }
        other => other,
    }
}
