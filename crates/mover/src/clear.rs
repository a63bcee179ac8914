//! Takes regular files that are done off the source, where that was asked. Links, FIFOs and directories stay.
//!
//! A file goes only where all of this holds: it is done with a checksum (or none was asked for), what was placed still lies at the
//! destination, the source is the very version that is done, and nobody has it open for writing. It is first renamed into the
//! mover's own directory on the same file system, where nobody finds it by name, and looked at once more; whatever has changed in
//! between is put back. A crash leaves it there, for [`Clearer::recover`].

mod aside;

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{self, Mode, OFlags, fstatvfs};
use rustix::io::{Errno, Result as SysResult};

use crate::entry::{Entry, State};
use crate::error::Result;
use crate::journal::Journal;
use crate::names;
use crate::options::{Check, Clear, Marks, Options};
use crate::settle::Settler;
use crate::tree::Tree;
use crate::version::{Kind, Version};
use aside::{Aside, Back};

/// Entries that come from the journal at once.
const PAGE: u32 = 64;
/// About how long one step takes.
const STEP: Duration = Duration::from_millis(20);
/// Between two passes over what is done, while nothing more gets done.
const REST: Duration = Duration::from_secs(1);
/// Notes that are kept until somebody takes them.
const NOTES: usize = 100;

/// Clears one mover's source.
#[derive(Debug)]
pub struct Clearer<'a> {
    from: &'a Tree,
    to: &'a Tree,
    journal: &'a Journal,
    settler: &'a Settler,
    options: &'a Options,
    aside: Aside<'a>,
    /// Last entry that this pass has looked at.
    after: Option<Entry>,
    /// Entries that were done when the pass began, less those it took.
    expected: u64,
    rested: Option<Instant>,
    /// Above the high mark, and not below the low one since.
    filled: bool,
    said: HashSet<i64>,
    notes: Vec<String>,
}

impl<'a> Clearer<'a> {
    /// Begins with nothing cleared.
    #[must_use]
    pub fn new(from: &'a Tree, to: &'a Tree, journal: &'a Journal, settler: &'a Settler, options: &'a Options) -> Self {
        let aside = Aside::new(from, journal.id());
        let (after, said, notes) = (None, HashSet::new(), Vec::new());
        Self { from, to, journal, settler, options, aside, after, expected: 0, rested: None, filled: false, said, notes }
    }

    /// What the user must know, since the last time that somebody asked.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Ends what a crash left half done: each file that was set aside goes, or goes back. To be called before the first scan.
    pub fn recover(&mut self) -> Result<()> {
        let left = match self.aside.left() {
            Ok(left) => left,
            Err(error) => {
                self.note(0, format!("cannot read {}: {error}", self.aside.path().display()));
                return Ok(());
            }
        };
        for (key, id) in left {
            let entry = match id {
                Some(id) => self.journal.entries(&[id])?.pop(),
                None => None,
            };
            let Some(entry) = entry else {
                let at = self.aside.path().join(String::from_utf8_lossy(&key).as_ref());
                self.note(0, format!("{} was set aside by another mover, which puts it back when it runs again", at.display()));
                continue;
            };
            match self.finish(&entry) {
                Ok(true) => self.journal.cleared(&[entry.id])?,
                Ok(false) => {}
                Err(error) => self.note(entry.id, format!("{} is still set aside: {error}", entry.path)),
            }
        }
        Ok(())
    }

    /// The next step begins a new pass, also over what got done behind the present one.
    pub fn begin_anew(&mut self) {
        (self.after, self.rested) = (None, None);
    }

    /// Clears for a short while. `true` as long as there may be more.
    pub fn step(&mut self) -> Result<bool> {
        let begin = Instant::now();
        let (mut taken, mut passed) = (Vec::new(), false);
        let more = loop {
            if !self.wanted() {
                break false;
            }
            let page = self.page()?;
            if page.is_empty() {
                passed = true;
                break false;
            }
            for entry in page {
                if self.wanted() && self.take(&entry) {
                    taken.push(entry.id);
                    self.expected = self.expected.saturating_sub(1);
                }
                self.after = Some(entry);
            }
            if begin.elapsed() > STEP {
                break true;
            }
        };
        if !taken.is_empty() {
            self.journal.cleared(&taken)?;
        }
        // What got done behind a pass, with an older time than those it had come to, waits for the next one.
        Ok(more || (passed && self.journal.totals().of(State::Done).files != self.expected))
    }

    /// The next ones of this pass, or of a new one where something got done meanwhile; none while it rests.
    fn page(&mut self) -> Result<Vec<Entry>> {
        let done = self.journal.totals().of(State::Done).files;
        if self.after.is_none() {
            if done == self.expected && self.rested.is_some_and(|since| since.elapsed() < REST) {
                return Ok(Vec::new());
            }
            self.expected = done;
        }
        let page = self.journal.done_files(self.after.as_ref(), PAGE)?;
        if page.is_empty() {
            self.after = None;
            self.rested = Some(Instant::now());
        }
        Ok(page)
    }

    /// Whether anything is to be cleared now.
    fn wanted(&mut self) -> bool {
        match (self.options.clear, self.options.marks) {
            (Clear::Done, _) => true,
            (Clear::HighWater, Some(marks)) => {
                self.filled = fstatvfs(self.from.root()).is_ok_and(|found| {
                    is_filled(self.filled, used_permille(found.f_blocks, found.f_bfree, found.f_bavail), marks)
                });
                self.filled
            }
            (Clear::Never, _) | (Clear::HighWater, None) => false,
        }
    }

    /// Takes one file off the source, or leaves it where it is.
    fn take(&mut self, entry: &Entry) -> bool {
        match self.set_aside(entry).and_then(|aside| if aside { self.finish(entry) } else { Ok(false) }) {
            Ok(taken) => taken,
            // Gone by itself: the scan says so.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => false,
            Err(error) => {
                self.note(entry.id, format!("{} is done and stays at the source: {error}", entry.path));
                false
            }
        }
    }

    /// Renames it out of sight, if it may go as far as can be seen.
    fn set_aside(&mut self, entry: &Entry) -> SysResult<bool> {
        if !self.is_safe(entry)? {
            return Ok(false);
        }
        let parent = self.from.directory(&entry.path.parent())?;
        let now = Version::at(&parent, entry.path.name())?;
        // A further name of it that is still to come becomes a link at the destination too, if this one is still there to tell.
        if now.links > 1 && self.journal.totals().pending().files > 0 {
            return Ok(false);
        }
        if !entry.version.unchanged(&now) || !self.is_left_alone(parent.as_fd(), entry.path.name(), entry)? {
            return Ok(false);
        }
        let aside = self.aside.open()?;
        names::move_to_free((parent.as_fd(), entry.path.name()), (aside.as_fd(), &self.aside.key(entry.id)))?;
        Ok(true)
    }

    /// Removes what was set aside, if it is still what is done; puts it back otherwise.
    fn finish(&mut self, entry: &Entry) -> SysResult<bool> {
        let (aside, key) = (self.aside.open()?, self.aside.key(entry.id));
        let done = matches!(entry.state, State::Done | State::Cleared);
        if done && self.is_safe(entry)? && self.is_left_alone(aside.as_fd(), &key, entry)? {
            names::remove(aside.as_fd(), &key)?;
            return Ok(true);
        }
        if let Back::Beside(name) = self.aside.put_back(aside.as_fd(), entry)? {
            self.note(entry.id, format!("{} changed while it was cleared, and its name was taken: it is now {name}", entry.path));
        }
        Ok(false)
    }

    /// Whether a checked copy lies at the destination, as this mover put it there.
    fn is_safe(&mut self, entry: &Entry) -> SysResult<bool> {
        let Some(placed) = entry.placed.filter(|placed| placed.checksum.is_some() || self.options.check == Check::None) else {
            return Ok(false);
        };
        let there = self.to.directory(&entry.path.parent()).and_then(|parent| Version::at(parent, entry.path.name()));
        // Not the inode: some file systems number theirs anew with each mount.
        let good = |there: &Version| (there.kind, there.size, there.mtime_ns) == (Kind::File, placed.size, placed.mtime_ns);
        match there {
            Ok(there) if good(&there) => Ok(true),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.note(
                    entry.id,
                    format!("{} stays at the source: its copy at the destination was changed or removed", entry.path),
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether `name` holds the bytes that are done, and nobody can change them.
    fn is_left_alone(&self, directory: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> SysResult<bool> {
        // Only a regular file is opened: of anything else the kind differs.
        if !Version::at(directory, name)?.same_bytes(&entry.version) {
            return Ok(false);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(directory, name, flags, Mode::empty())?;
        let now = Version::of(&file)?;
        // Who has it open is asked before the last look at its times: a writer who ends in between has changed them.
        Ok(self.settler.writer(&file, &now)?.is_none() && Version::of(&file)?.same_bytes(&entry.version))
    }

    /// Keeps what the user must know, once for each entry.
    fn note(&mut self, id: i64, text: String) {
        if (id == 0 || self.said.insert(id)) && self.notes.len() < NOTES {
            self.notes.push(text);
        }
    }
}

/// Share of a file system in use, in thousandths of what its user can use, as `df` counts it.
pub(crate) fn used_permille(blocks: u64, free: u64, available: u64) -> u32 {
    let used = blocks.saturating_sub(free);
    let usable = u128::from(used) + u128::from(available);
    (u128::from(used) * 1000).div_ceil(usable.max(1)) as u32
}

/// Clearing begins above the high mark and ends at the low one.
fn is_filled(before: bool, used_permille: u32, marks: Marks) -> bool {
    used_permille > if before { marks.low_permille } else { marks.high_permille }
}

#[cfg(test)]
mod tests;
