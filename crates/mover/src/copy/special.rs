//! Directories, links, FIFOs and further names of one file: what is made rather than copied.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{self, AtFlags, Mode};
use rustix::io::{Errno, Result as SysResult};

use super::attributes;
use super::batch::{Batch, Item, Shape};
use super::ended::{self, Attempt, split};
use super::place::{self, Claim};
use crate::entry::{Entry, Outcome};
use crate::names;
use crate::options::Check;
use crate::path::TreePath;
use crate::version::{Kind, Version};

impl Batch<'_> {
    /// Makes a directory, or finds it there.
    pub(super) fn directory(&mut self, entry: Entry) -> Attempt<Item> {
        let shared = self.shared;
        let from = &shared.parts.from;
        let source = self.handles.source(&entry.path)?;
        let version =
            Version::at(&*source, entry.path.name()).map_err(|errno| ended::source("look at", from, &entry.path, errno))?;
        if version.kind != Kind::Directory {
            return Err(Outcome::Changed.into());
        }
        let there = match self.handles.look(&entry.path)? {
            Some(there) if there.kind != Kind::Directory => return Err(shared.taken(&entry.path, &version, &there)),
            _ => {
                let made = self.handles.directory(&entry.path)?;
                Version::of(&*made).map_err(|errno| ended::target("look at", &shared.parts.to, &entry.path, errno))?
            }
        };
        let ours = shared.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&entry.path) == Some(&there.ino)
            || entry.placed.is_some_and(|placed| [there.ino, place::TO_BE_MADE].contains(&placed.ino));
        let placed = place::placed_directory(if ours { there.ino } else { place::OF_OTHERS });
        Ok(Item { version, placed, shape: Shape::There, entry })
    }

    /// Makes a link or a FIFO like the source's under the temporary name.
    pub(super) fn special(&mut self, entry: Entry) -> Attempt<Item> {
        let shared = self.shared;
        let (from, to, path) = (&shared.parts.from, &shared.parts.to, &entry.path);
        let source = self.handles.source(path)?;
        let read = |errno| ended::source("read", from, path, errno);
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
        let checksum = checked.map(|text| *blake3::hash(text.as_bytes()).as_bytes());
        let target = self.handles.target(path)?;
        let failed = |errno| ended::target("make", to, path, errno);
        let there = super::handles::at(target.as_fd(), path.name()).map_err(failed)?;
        if let Claim::Compare(there) = shared.claim(&entry, &version, there)? {
            let same = match &text {
                Some(text) => fs::readlinkat(&*target, path.name(), Vec::new()).map_err(failed)? == *text,
                None => true,
            };
            if !same {
                return Err(shared.taken(path, &version, &there));
            }
            return Ok(Item { version, placed: place::placed(&there, checksum), shape: Shape::There, entry });
        }
        shared.take(0, 1)?;
        let temporary = shared.temporary(&entry);
        let made = anew(target.as_fd(), &temporary, &|| match &text {
            Some(text) => fs::symlinkat(text.as_c_str(), &*target, &temporary[..]),
            None => fs::mkfifoat(&*target, &temporary[..], Mode::RUSR | Mode::WUSR),
        });
        made.map_err(failed)?;
        let made =
            attributes::give_named(target.as_fd(), &temporary, &version).and_then(|()| Version::at(&*target, &temporary[..]));
        let made = made.map_err(failed)?;
        Ok(Item { version, placed: place::placed(&made, checksum), shape: Shape::Temporary, entry })
    }

    /// Another name of the file that `path` is now, which is safe.
    fn other_name(&mut self, path: &TreePath, version: &Version) -> Attempt<Option<Entry>> {
        for other in self.shared.parts.journal.linked(version)? {
            if other.path == *path {
                continue;
            }
            // What the journal knows may be of a file that is gone, and whose inode this one has been given.
            let Ok(Ok(source)) = split(self.handles.source(&other.path)) else { continue };
            if Version::at(&*source, other.path.name()).is_ok_and(|now| now == *version) {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// A further name of a file of which another name is safe: a link to that one. `None` where it must be copied after all.
    pub(super) fn link(&mut self, entry: &Entry) -> Attempt<Option<Item>> {
        let shared = self.shared;
        let (from, to, path) = (&shared.parts.from, &shared.parts.to, &entry.path);
        let source = self.handles.source(path)?;
        let version = Version::at(&*source, path.name()).map_err(|errno| ended::source("look at", from, path, errno))?;
        let Some(other) = self.other_name(path, &version)? else { return Ok(None) };
        let Some(known) = other.placed else { return Ok(None) };
        let other_dir = self.handles.target(&other.path)?;
        let target = self.handles.target(path)?;
        let failed = |errno| ended::target("link", to, path, errno);
        let still = super::handles::at(other_dir.as_fd(), other.path.name()).map_err(failed)?;
        if !still.is_some_and(|still| place::placed(&still, known.checksum) == known) {
            return Ok(None);
        }
        let there = super::handles::at(target.as_fd(), path.name()).map_err(failed)?;
        if there.is_some_and(|there| there.ino == known.ino) {
            return Ok(Some(Item { version, placed: known, shape: Shape::There, entry: entry.clone() }));
        }
        if shared.claim(entry, &version, there)? != Claim::Take {
            return Ok(None);
        }
        let temporary = shared.temporary(entry);
        let linked = anew(target.as_fd(), &temporary, &|| {
            fs::linkat(&*other_dir, other.path.name(), &*target, &temporary[..], AtFlags::empty())
        });
        if linked.is_err() {
            // No hard links there, or too many of this file.
            return Ok(None);
        }
        let made = Version::at(&*target, &temporary[..]).map_err(failed)?;
        if made.ino != known.ino {
            names::remove(target.as_fd(), &temporary).map_err(failed)?;
            return Ok(None);
        }
        Ok(Some(Item { version, placed: known, shape: Shape::Temporary, entry: entry.clone() }))
    }
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
