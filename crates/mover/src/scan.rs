//! The truth: what is in the tree, compared with the journal.
//!
//! A directory gets its watch, then it is listed, then each of its names is looked at. What is new or has changed is queued; what
//! the journal knows and the directory does not hold is gone. What cannot be read is said, and nothing is concluded from it.

mod listing;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, AtFlags, OFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::error::{MoverError, Result, words};
use crate::file_version::{Kind, Version};
use crate::journal::Journal;
use crate::journal_entry::{Entry, State};
use crate::path::TreePath;
use crate::rules::Rules;
use crate::tree::Tree;
use crate::watch::Watch;
use listing::Listing;

/// Names that go to the journal in one transaction: few at first, so that whoever carries them begins at once, then twice as many
/// each time, because each transaction waits for the device.
const FIRST_BATCH: usize = 256;
const BATCH: usize = 8192;
/// Entries that come from the journal at once.
const PAGE: u32 = 4096;

/// Names that are told for not being staged.
const RESERVED_TOLD: usize = 10;

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Names that are staged, whether they have changed or not.
    pub entries: u64,
    /// Of these, new or changed, and queued now.
    pub queued: u64,
    /// Names that the journal knew and that are no longer there.
    pub gone: u64,
    /// What could not be read, and why. Nothing below is queued or gone by this scan.
    pub unreadable: Vec<(TreePath, String)>,
    /// Directories on which another file system is mounted: they are not entered.
    pub mounts: Vec<TreePath>,
    /// What is not staged because movers give such names; the first of them.
    pub reserved: Vec<TreePath>,
    /// It was halted before its end.
    pub halted: bool,
}

/// Looks at a tree. One call at a time for a journal: of two, the one that saw a name go could have the last word over the one
/// that saw it come back.
#[derive(Clone, Copy)]
pub struct Scanner<'a> {
    /// The tree.
    pub from: &'a Tree,
    /// What of it is staged.
    pub rules: &'a Rules,
    /// What is known of it.
    pub journal: &'a Journal,
    /// Gets every directory before it is listed.
    pub watch: Option<&'a Watch>,
    /// Ends a scan early.
    pub halt: &'a AtomicBool,
}

impl Scanner<'_> {
    /// Scans the directory `below` with all that lies in it; what lay there is gone where it is none any more. What is queued goes to `sink`, as soon as that is durable.
    pub fn scan(&self, below: &TreePath, sink: &mut dyn FnMut(Vec<Entry>)) -> Result<Scanned> {
        let mut pass = Pass::new(*self, sink)?;
        if !below.is_root() {
            pass.name(below)?;
        }
        if self.rules.enters(below) {
            pass.directories.push(below.clone());
        }
        while let Some(directory) = pass.directories.pop() {
            pass.directory(&directory)?;
            if pass.halted() {
                return pass.end();
            }
        }
        pass.former_directories(below)?;
        pass.end()
    }

    /// Looks at these names and at nothing below them.
    pub fn look(&self, names: &[TreePath], sink: &mut dyn FnMut(Vec<Entry>)) -> Result<Scanned> {
        let mut pass = Pass::new(*self, sink)?;
        for name in names {
            pass.name(name)?;
            if pass.halted() {
                break;
            }
        }
        pass.end()
    }
}

/// One scan at work.
struct Pass<'a> {
    scanner: Scanner<'a>,
    sink: &'a mut dyn FnMut(Vec<Entry>),
    root: Statx,
    directories: Vec<TreePath>,
    /// The directory that was opened last.
    last: Option<(TreePath, OwnedFd)>,
    found: Vec<(TreePath, Version)>,
    /// So many of them are handed on together.
    batch: usize,
    gone: Vec<i64>,
    scanned: Scanned,
}

impl<'a> Pass<'a> {
    fn new(scanner: Scanner<'a>, sink: &'a mut dyn FnMut(Vec<Entry>)) -> Result<Self> {
        let root = root(scanner.from)?;
        let (directories, found, gone) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { scanner, sink, root, directories, last: None, found, batch: FIRST_BATCH, gone, scanned: Scanned::default() })
    }

    fn halted(&mut self) -> bool {
        self.scanned.halted |= self.scanner.halt.load(Ordering::Relaxed);
        self.scanned.halted
    }

    fn end(mut self) -> Result<Scanned> {
        self.flush()?;
        Ok(self.scanned)
    }

    /// Lists one directory.
    fn directory(&mut self, at: &TreePath) -> Result<()> {
        let handle = match self.scanner.from.directory(at) {
            Ok(handle) => handle,
            // It went after its name was seen; what becomes of the name is for the next look.
            Err(error) if is_gone(error) && !at.is_root() => return Ok(()),
            Err(error) => return self.unreadable(at, "open directory", error),
        };
        match self.is_mount(at, &handle) {
            Ok(false) => {}
            Ok(true) => {
                self.scanned.mounts.push(at.clone());
                return Ok(());
            }
            Err(error) => return self.unreadable(at, "look at", error),
        }
        if let Some(watch) = self.scanner.watch {
            watch.cover(at, &handle);
        }
        match Listing::of(&handle) {
            Ok(listing) => self.compare(&handle, at, listing),
            Err(error) => self.unreadable(at, "list directory", error),
        }
    }

    /// Whether another file system begins at `at`. Compared by device as well: older kernels do not say what is a mount.
    fn is_mount(&self, at: &TreePath, handle: &OwnedFd) -> rustix::io::Result<bool> {
        if at.is_root() {
            return Ok(false);
        }
        let found = fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
        let device = |of: &Statx| (of.stx_dev_major, of.stx_dev_minor);
        Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) || device(&found) != device(&self.root))
    }

    /// Looks at each name of a listing, beside what the journal knows of the directory.
    fn compare(&mut self, handle: &OwnedFd, at: &TreePath, mut listing: Listing) -> Result<()> {
        let mut known = self.scanner.journal.children_after(at, b"", PAGE)?;
        if !known.is_empty() {
            listing.sort_by_name();
        }
        let mut names = listing.iter().peekable();
        while let Some(last) = known.last() {
            let after = last.path.name().to_vec();
            for entry in &known {
                let name = entry.path.name();
                while let Some((new, may_be_directory)) = names.next_if(|(listed, _)| *listed < name) {
                    self.listed(handle, at, new, may_be_directory, None)?;
                }
                if let Some((_, may_be_directory)) = names.next_if(|(listed, _)| *listed == name) {
                    self.listed(handle, at, name, may_be_directory, Some(entry))?;
                } else if Version::at(handle, name).err() == Some(Errno::NOENT) {
                    // A name that moves while its directory is listed may be passed over: it was asked for by itself.
                    self.gone(entry)?;
                }
            }
            if self.halted() {
                return Ok(());
            }
            known = self.scanner.journal.children_after(at, &after, PAGE)?;
        }
        for (number, (name, may_be_directory)) in names.enumerate() {
            if number % 1024 == 0 && self.halted() {
                return Ok(());
            }
            self.listed(handle, at, name, may_be_directory, None)?;
        }
        Ok(())
    }

    /// Looks at one name of a listing.
    fn listed(
        &mut self,
        handle: &OwnedFd,
        at: &TreePath,
        name: &[u8],
        may_be_directory: bool,
        known: Option<&Entry>,
    ) -> Result<()> {
        let (path, rules) = (at.join(name), self.scanner.rules);
        if rules.is_reserved(&path) && self.scanned.reserved.len() < RESERVED_TOLD {
            self.scanned.reserved.push(path.clone());
        }
        // To the rules there are only directories and other things: of a name that is not staged no more need be known.
        if !may_be_directory && !rules.stages(&path, Kind::File) {
            return Ok(());
        }
        let version = match Version::at(handle, name) {
            Ok(version) => version,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return self.unreadable(&path, "look at", error),
        };
        if version.kind == Kind::Directory && rules.enters(&path) {
            self.directories.push(path.clone());
        }
        if may_be_directory && !rules.stages(&path, version.kind) {
            return Ok(());
        }
        if known.is_some_and(|known| known.version == version) {
            self.scanned.entries += 1;
            return Ok(());
        }
        self.found(path, version)
    }

    /// Looks at one name by its path.
    fn name(&mut self, path: &TreePath) -> Result<()> {
        let parent = path.parent();
        if self.last.as_ref().is_none_or(|(last, _)| *last != parent) {
            self.last = match self.scanner.from.directory(&parent) {
                Ok(handle) => Some((parent, handle)),
                Err(error) if is_gone(error) => return self.lost(path),
                Err(error) => return self.unreadable(path, "open the directory of", error),
            };
        }
        let Some((_, handle)) = &self.last else { return Ok(()) };
        match Version::at(handle.as_fd(), path.name()) {
            Ok(version) if self.scanner.rules.stages(path, version.kind) => self.found(path.clone(), version),
            Ok(_) => Ok(()),
            Err(error) if is_gone(error) => self.lost(path),
            Err(error) => self.unreadable(path, "look at", error),
        }
    }

    /// A name that is not there.
    fn lost(&mut self, path: &TreePath) -> Result<()> {
        self.scanner.journal.by_path(path)?.map_or(Ok(()), |entry| self.gone(&entry))
    }

    /// Directories that hold something, says the journal, and are none: removed, or something else has the name. Not every one is
    /// an entry that a listing could miss.
    fn former_directories(&mut self, below: &TreePath) -> Result<()> {
        self.flush()?;
        for directory in self.scanner.journal.directories_below(below)? {
            if self.scanner.from.open_beneath(&directory, OFlags::PATH | OFlags::DIRECTORY).is_err_and(is_gone) {
                self.emptied(&directory)?;
            }
        }
        Ok(())
    }

    /// Everything that a directory held is gone with it.
    fn emptied(&mut self, directory: &TreePath) -> Result<()> {
        let mut after = Vec::new();
        loop {
            let known = self.scanner.journal.children_after(directory, &after, PAGE)?;
            let Some(last) = known.last() else { return Ok(()) };
            after = last.path.name().to_vec();
            for entry in &known {
                self.gone(entry)?;
            }
        }
    }

    fn gone(&mut self, entry: &Entry) -> Result<()> {
        // What is being placed is past the point where the source counts; its end is the carrier's to say.
        if matches!(entry.state, State::Placing | State::Gone | State::Cleared) {
            return Ok(());
        }
        self.gone.push(entry.id);
        self.scanned.gone += 1;
        if self.gone.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn found(&mut self, path: TreePath, version: Version) -> Result<()> {
        self.scanned.entries += 1;
        self.found.push((path, version));
        if self.found.len() < self.batch {
            return Ok(());
        }
        self.batch = (self.batch * 2).min(BATCH);
        self.flush()
    }

    /// Notes that something cannot be read. Without its root there is no tree.
    fn unreadable(&mut self, at: &TreePath, action: &'static str, error: Errno) -> Result<()> {
        if at.is_root() {
            return Err(MoverError::path(action, self.scanner.from.path(), error));
        }
        let why = format!("cannot {action} {at}: {}; it is not staged", words(error));
        self.scanned.unreadable.push((at.clone(), why));
        Ok(())
    }

    /// Hands on what was gathered. A tree that was taken away altogether has not lost its files one by one.
    fn flush(&mut self) -> Result<()> {
        root(self.scanner.from)?;
        if !self.gone.is_empty() {
            self.scanner.journal.gone(&self.gone)?;
            self.gone.clear();
        }
        if !self.found.is_empty() {
            let fresh = self.scanner.journal.found(&self.found)?;
            self.found.clear();
            self.scanned.queued += fresh.len() as u64;
            if !fresh.is_empty() {
                (self.sink)(fresh);
            }
        }
        Ok(())
    }
}

/// The tree's root, which must be linked somewhere.
fn root(from: &Tree) -> Result<Statx> {
    let found = fs::statx(from.root(), "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
    match found {
        Ok(found) if found.stx_nlink > 0 => Ok(found),
        Ok(_) => Err(MoverError::path("read the source", from.path(), Errno::NOENT)),
        Err(error) => Err(MoverError::path("read the source", from.path(), error)),
    }
}

fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

#[cfg(test)]
mod tests;
