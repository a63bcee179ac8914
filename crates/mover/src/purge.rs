//! Takes regular files that are done off the source, where that was asked. Links, FIFOs and directories stay. In which order stands in
//! `order_of_steps`: set aside in steps, by `group` a file with all of its names and into the `quarantine`, looked at once more, removed,
//! and said in the journal. The `times` of directories are kept before the first file leaves one.
//!
//! A file goes only where all of this holds: it is done with a checksum (or none was asked for), read back from the device where
//! deleting asks for that, what was placed still lies at the destination, the source is the very version that is done, and nobody can
//! write it. A read lease is taken on it and kept to its end. Where no time tells of a store through a mapping, or there is no lease,
//! its bytes are compared as well. It is then renamed into the mover's own directory on the same file system, where nobody finds it by
//! name; who was about to open it has done so a moment later, which breaks the lease. Whatever changed in between is put back. A kill
//! leaves it there, for [`Purger::recover`] of this mover or the next.

mod group;
mod quarantine;
mod times;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::fstatvfs;
use rustix::io::Errno;

use crate::bytes::stream::Buffer;
use crate::error::{Result, words};
use crate::file_version::Version;
use crate::journal::Journal;
use crate::journal_entry::{Entry, State};
use crate::options::{Check, Clear, Marks, Options};
use crate::path::TreePath;
use crate::preflight::Established;
use crate::quiescence::QuiescenceCheck;
use crate::tree::Tree;
pub(crate) use group::{Bytes, Waiting};
use quarantine::{Back, Quarantine};
use times::Times;

/// Entries that come from the journal at once.
const PAGE: u32 = 64;
/// About how long one step takes.
const STEP: Duration = Duration::from_millis(20);
/// Between two passes over what is done, while nothing more gets done.
const REST: Duration = Duration::from_secs(1);
/// Files that are set aside at once, each of which is open.
const ASIDE: usize = 256;
/// Who had found a file by its name before it was set aside has opened it after this.
const GRACE: Duration = Duration::from_millis(5);
/// Between two tries at what did not succeed, when nothing else is left to do.
const PAUSE: Duration = Duration::from_millis(20);
/// A call that fails is tried so often.
const TRIES: u32 = 3;
/// Notes that are kept until somebody takes them.
const NOTES: usize = 100;

/// What one step has set aside.
pub(crate) struct Aside {
    pub(crate) files: Vec<Waiting>,
    /// Whether there may be more.
    pub(crate) more: bool,
    /// Whether the pass is at its end.
    pub(crate) passed: bool,
}

/// Clears one mover's source.
#[derive(Debug)]
pub struct Purger<'a> {
    from: &'a Tree,
    to: &'a Tree,
    journal: &'a Journal,
    quiescence: &'a QuiescenceCheck,
    options: &'a Options,
    halt: &'a AtomicBool,
    established: &'a Established,
    aside: Quarantine<'a>,
    /// For bytes that are compared.
    buffer: Buffer,
    /// Last entry that this pass has looked at.
    after: Option<Entry>,
    /// Entries that were done when the pass began, less those it took.
    expected: u64,
    rested: Option<Instant>,
    /// Above the high mark, and not below the low one since.
    filled: bool,
    times: Times,
    /// Bytes that are set aside, and will be free.
    aside_bytes: u64,
    /// Of what is done, another state was found.
    moved: Vec<(TreePath, Version)>,
    /// What is done is to be compared, or read back, before it can go.
    unsure: Vec<TreePath>,
    /// Entries that could not be cleared, and how often that was tried.
    tries: HashMap<i64, u32>,
    /// What stayed in this pass because somebody touched it.
    touched: BTreeMap<i64, TreePath>,
    /// A pass met a failure that another one may not meet.
    again: bool,
    /// Entries whose copy had other bytes, and the hash of those of the source.
    differing: HashMap<i64, [u8; 32]>,
    /// What is not safe after all, and why.
    refused: Vec<(i64, String)>,
    /// What may be set aside.
    away: BTreeSet<TreePath>,
    /// What is still set aside after a mover was killed, and why.
    left: BTreeMap<TreePath, String>,
    /// Something of that could not be looked at, or put back: to be tried again.
    unsettled: bool,
    settled: Option<Instant>,
    /// Later tries that put something back, perhaps after the last scan.
    came_home: usize,
    said: HashSet<i64>,
    notes: Vec<String>,
    /// Directories that the last scan could not read.
    unread: usize,
}

impl<'a> Purger<'a> {
    /// Begins with nothing cleared. What takes long ends soon after `halt` is set.
    #[must_use]
    pub fn new(
        from: &'a Tree,
        to: &'a Tree,
        journal: &'a Journal,
        quiescence: &'a QuiescenceCheck,
        options: &'a Options,
        halt: &'a AtomicBool,
        established: &'a Established,
    ) -> Self {
        if options.clear != Clear::Never && options.check == Check::ReadBack {
            journal.remember_done();
        }
        Self {
            from,
            to,
            journal,
            quiescence,
            options,
            halt,
            established,
            aside: Quarantine::new(from, journal.id()),
            buffer: Buffer::new(),
            after: None,
            expected: 0,
            rested: None,
            filled: false,
            times: Times::default(),
            aside_bytes: 0,
            moved: Vec::new(),
            unsure: Vec::new(),
            tries: HashMap::new(),
            touched: BTreeMap::new(),
            again: false,
            differing: HashMap::new(),
            refused: Vec::new(),
            away: BTreeSet::new(),
            left: BTreeMap::new(),
            unsettled: false,
            settled: None,
            came_home: 0,
            said: HashSet::new(),
            notes: Vec::new(),
            unread: 0,
        }
    }

    /// How many directories the last scan could not read: with any, a file with names that it did not find stays.
    pub fn set_unread(&mut self, directories: usize) {
        self.unread = directories;
    }

    /// What the user must know, since the last time that somebody asked.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Gives every file that a killed mover had set aside its name again: what became of it meanwhile is for the first scan, which
    /// this comes before.
    pub fn recover(&mut self) -> Result<()> {
        let aside = &self.aside;
        let all = self.times.recall(self.from, self.journal, |path| aside.counterpart(path))?;
        self.give_all_back();
        self.unsettled |= !all;
        if self.times.restore().is_empty() && !self.unsettled {
            self.times.end(self.journal)?;
        }
        Ok(())
    }

    /// Puts back all that is set aside by movers that do not run, and by this one; whether there was any.
    fn give_all_back(&mut self) -> bool {
        (self.unsettled, self.settled) = (false, Some(Instant::now()));
        self.left.clear();
        let left = match self.aside.left() {
            Ok(left) => left,
            // Then nothing of a mover can be there.
            Err(error @ (Errno::LOOP | Errno::NOTDIR)) => {
                self.note(0, format!("cannot read {}: {}", quarantine::top(), words(error)));
                return false;
            }
            Err(error) => {
                self.unsettled = true;
                self.left.insert(quarantine::top(), format!("cannot be read: {}", words(error)));
                return false;
            }
        };
        for path in left.foreign {
            self.note(0, format!("{path} was not set aside by a mover, and is left alone"));
        }
        let (mut home, mut any) = (0, false);
        for (of, lock, files) in left.movers {
            for path in files {
                match self.aside.put_back(&of, &path, &mut self.times) {
                    Ok(Back::Home) => {
                        home += u32::from(!self.away.contains(&path));
                        any = true;
                    }
                    Ok(Back::Beside(name)) => {
                        any = true;
                        self.note(
                            0,
                            format!("{path} was set aside, and its name was taken or its directory is gone: it is now {name}"),
                        );
                    }
                    Err(error) => {
                        self.unsettled = true;
                        let why =
                            format!("it is still set aside in {of}: {}; hint: resume once that can be written", words(error));
                        self.left.insert(path, why);
                    }
                }
            }
            self.aside.tidy(&of);
            drop(lock);
        }
        let left = &self.left;
        self.away.retain(|path| left.contains_key(path));
        if home > 0 {
            self.note(0, format!("{home} files that were set aside when a mover was killed have their names again"));
        }
        any
    }

    /// What is still set aside, and why.
    #[must_use]
    pub fn stranded(&self) -> Vec<(TreePath, String)> {
        self.left.iter().map(|(path, why)| (path.clone(), why.clone())).collect()
    }

    /// What was found changed, or must be looked at again, and is queued now.
    pub fn fresh(&mut self) -> Result<Vec<Entry>> {
        for (id, why) in std::mem::take(&mut self.refused) {
            self.journal.strand(id, &why)?;
        }
        let (moved, unsure) = (std::mem::take(&mut self.moved), std::mem::take(&mut self.unsure));
        let mut fresh = if moved.is_empty() { Vec::new() } else { self.journal.found(&moved)? };
        if !unsure.is_empty() {
            fresh.extend(self.journal.written(&unsure, |_| false)?);
        }
        Ok(fresh)
    }

    /// Ends a pass for good: what is left of the directory for what is set aside goes.
    pub fn close(&mut self) {
        self.aside.close();
    }

    /// The next step begins a new pass, also over what got done behind the present one.
    pub fn begin_anew(&mut self) {
        (self.after, self.rested) = (None, None);
        self.touched.clear();
    }

    /// Clears all that can go, until it is `over`: what somebody touches is tried again, and said if that does not help.
    pub fn finish(&mut self, over: impl Fn() -> bool) -> Result<()> {
        for number in 0..TRIES {
            self.begin_anew();
            while self.step()? && !over() {}
            if self.touched.is_empty() || over() {
                break;
            }
            if number + 1 < TRIES {
                std::thread::sleep(PAUSE);
            }
        }
        for (id, path) in std::mem::take(&mut self.touched) {
            self.note(id, format!("{path} is done and stays at the source: somebody has opened it for writing, or changed it"));
        }
        Ok(())
    }

    /// Tries again what could not be given back before.
    pub(crate) fn give_back_again(&mut self) {
        if self.unsettled && self.settled.is_none_or(|since| since.elapsed() > REST) {
            self.came_home += usize::from(self.give_all_back());
        }
    }

    /// Fails where the state directory is not the one that was locked.
    pub(crate) fn require_state(&self) -> Result<()> {
        self.established.check_state()
    }

    /// Sets files aside for a short while.
    pub(crate) fn set_some_aside(&mut self) -> Result<Aside> {
        let (begin, mut files) = (Instant::now(), Vec::new());
        while self.wanted() && !self.halted() {
            let page = self.page()?;
            if page.is_empty() {
                return Ok(Aside { files, more: false, passed: true });
            }
            self.times.keep(self.from, self.journal, page.iter().map(|entry| entry.path.parent()))?;
            for entry in page {
                if self.wanted() && self.may_try(&entry)? {
                    files.extend(self.set_aside(&entry)?);
                }
                self.after = Some(entry);
                if begin.elapsed() > STEP || files.len() >= ASIDE {
                    return Ok(Aside { files, more: true, passed: false });
                }
            }
        }
        Ok(Aside { files, more: false, passed: false })
    }

    /// Whoever had found a file by its name before it was set aside has opened it after this.
    pub(crate) fn wait_for_openers(&mut self, files: &[Waiting]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        std::thread::sleep(GRACE);
        self.require_state().inspect_err(|_| self.let_go(files))
    }

    /// Removes all that may go; their entries.
    pub(crate) fn purge_all(&mut self, files: &[Waiting]) -> Vec<i64> {
        let gone = files.iter().filter(|file| self.purge_file(file));
        gone.flat_map(|file| file.names.iter().map(|name| name.id)).collect()
    }

    /// Says in the journal what was removed.
    pub(crate) fn say_cleared(&mut self, cleared: &[i64]) -> Result<()> {
        self.expected = self.expected.saturating_sub(cleared.len() as u64);
        self.aside_bytes = 0;
        self.times.restore();
        if cleared.is_empty() { Ok(()) } else { self.journal.cleared(cleared) }
    }

    /// Whether there may be more.
    pub(crate) fn end_step(&mut self, more: bool, passed: bool) -> Result<bool> {
        if !more {
            self.times.end(self.journal)?;
        }
        if passed && std::mem::take(&mut self.again) {
            self.begin_anew();
            return Ok(true);
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
            self.touched.clear();
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
                    let soon = self.aside_bytes / found.f_frsize.max(1);
                    let used = used_permille(found.f_blocks, found.f_bfree + soon, found.f_bavail + soon);
                    is_filled(self.filled, used, marks)
                });
                self.filled
            }
            (Clear::Never, _) | (Clear::HighWater, None) => false,
        }
    }

    /// Whether its copy has all of its attributes, or may lack some.
    fn is_whole(&self, entry: &Entry) -> Result<bool> {
        Ok(self.options.drop_attributes || self.journal.dropped(entry.id)?.is_none())
    }

    /// Whether the entry may be tried: it did not fail too often.
    fn may_try(&self, entry: &Entry) -> Result<bool> {
        Ok(self.tries.get(&entry.id).is_none_or(|tries| *tries < TRIES) && self.is_whole(entry)?)
    }

    /// A call failed; it is tried again, and said if that does not help.
    fn failed(&mut self, entry: &Entry, error: Errno) {
        let tries = self.tries.entry(entry.id).or_default();
        *tries += 1;
        if *tries < TRIES {
            self.again = true;
        } else {
            self.note(entry.id, format!("{} is done and stays at the source: {}", entry.path, words(error)));
        }
    }

    /// The source has other bytes than the copy, of the hash `found`: it goes again, but not for ever.
    fn differs(&mut self, entry: &Entry, found: [u8; 32]) {
        if self.differing.insert(entry.id, found) == Some(found) {
            self.refused.push((entry.id, "its copy has other bytes each time; hint: the storage there is at fault".to_owned()));
        } else {
            self.unsure.push(entry.path.clone());
        }
    }

    fn halted(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
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
