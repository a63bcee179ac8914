//! The order that nothing may change, from the first look at a source to its deletion. What a step does stands in its own file; which
//! one comes when stands here, and nowhere else.
//!
//! | what | in this order |
//! |---|---|
//! | [`Batch::stage`] | many entries: from the journal's word on directories to copies that are called safe |
//! | [`Batch::begin_file`], [`Batch::copy_file`] | one file: from the first look at it to a temporary that is whole |
//! | [`Shared::make_whole`] | the end of both this and a file that came in chunks |
//! | [`Batch::call_safe`] | copies that are whole: from their names to the log's `DONE` |
//! | [`Purger::step`] | files that are safe: out of sight, looked at once more, removed |
//! | [`recover`] | what a killed mover left half done, before anything is looked for |

use std::os::fd::AsFd;

use rustix::io::{Errno, Result as SysResult};

use crate::copy::{Attempt, Batch, Carrier, Dropped, Filled, Item, Looked, Opened, Reading, Shared, extended};
use crate::error::Result;
use crate::file_version::Version;
use crate::journal_entry::{Entry, Outcome, Placed};
use crate::purge::{Bytes, Purger, Waiting};

impl Batch<'_> {
    /// Brings entries to the destination and calls them safe.
    pub(crate) fn stage(&mut self, entries: Vec<Entry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.say_directories(&entries)?;
        // Opened before the first write, so that it tells of whatever fails from there on.
        let together = self.sync_handle(entries.len());
        let copies = self.copy_all(entries, together.is_none())?;
        let copies = self.sync_all(copies, together)?;
        self.stage_copies(copies)
    }

    /// The same for copies that are whole and synced.
    fn stage_copies(&mut self, copies: Vec<Item>) -> Result<()> {
        let copies = self.read_all_back(copies)?;
        self.call_safe(copies)
    }

    /// The same for one copy, and what became of it.
    pub(crate) fn stage_copy(&mut self, copy: Item) -> Result<(i64, Outcome)> {
        let id = copy.entry.id;
        self.stage_copies(vec![copy])?;
        Ok(self.last_outcome().unwrap_or((id, Outcome::Halted)))
    }

    /// All that is looked at before a file's first byte is copied. What need not be copied comes back whole.
    pub(crate) fn begin_file(&mut self, mut entry: Entry, reading: Reading) -> Attempt<Looked> {
        let (source_dir, target) = (self.handles.source(&entry.path)?, self.handles.target(&entry.path)?);
        self.shared.end_replacement(target.as_fd(), &entry)?;
        self.shared.recognise(target.as_fd(), &mut entry, &mut self.buffer)?;
        let source = self.shared.open_source(source_dir.as_fd(), &entry, reading)?;
        if let Some(copy) = self.existing(&entry, &source, source_dir.as_fd(), &target)? {
            return Ok(Looked::Whole(copy));
        }
        let looked = self.claim_name(Opened { entry, source, source_dir, target })?;
        if matches!(looked, Looked::ToCopy(_)) {
            self.shared.take(0, 1)?;
        }
        Ok(looked)
    }

    /// One file, from the first look at it to a temporary that is whole. `each`: it is synced by itself.
    pub(crate) fn copy_file(&mut self, entry: Entry, each: bool) -> Attempt<Item> {
        let file = match self.begin_file(entry, Reading::AtOnce)? {
            Looked::ToCopy(file) => file,
            Looked::Whole(copy) => return Ok(copy),
        };
        let (shared, sync) = (self.shared, each || !file.target.covered);
        let made = shared.create(&file.target, &file.entry)?;
        let whole = self.copy_bytes(&file, &made).and_then(|checksum| {
            let filled = file.filled(made.as_fd(), checksum);
            shared.make_whole(&filled, shared.made_for(&file.target), sync)
        });
        if whole.is_err() {
            shared.remove_unfinished(&file.target, &file.entry, &made);
        }
        whole.map(|made| file.into_item(made))
    }

    /// Copies that are whole, synced and read back: what they lack is noted, the journal says that they are placed, each gets its name,
    /// directories are synced, the manifest and then the journal say that they are done, and last the log.
    pub(crate) fn call_safe(&mut self, copies: Vec<Item>) -> Result<()> {
        self.shared.require_state()?;
        let made = self.take_made();
        self.say_dropped(&copies)?;
        let copies = self.say_placing(copies, &made)?;
        let together = self.sync_handle(copies.len());
        let copies = self.place_all(copies)?;
        let copies = self.sync_directories(copies, &made, together)?;
        if copies.is_empty() {
            return Ok(());
        }
        self.shared.require_destination()?;
        if self.append_to_manifest(&copies)? { self.say_done(&copies) } else { Ok(()) }
    }
}

impl Shared {
    /// A temporary that has all bytes of its source becomes a copy of it. `sync`: it is made durable by itself. `made_for` is the
    /// user and the group that it has from its making, where these are known.
    pub(crate) fn make_whole(&self, filled: &Filled, made_for: Option<(u32, u32)>, sync: bool) -> Attempt<(Placed, Dropped)> {
        let dropped = self.give_attributes(filled, made_for)?;
        self.require_unchanged(filled.source, filled.source_dir, filled.path)?;
        if sync {
            self.sync_file(filled.copy, filled.path)?;
        }
        self.look_at_made(filled, dropped)
    }
}

impl Purger<'_> {
    /// Clears for a short while. `true` as long as there may be more.
    pub fn step(&mut self) -> Result<bool> {
        self.give_back_again();
        self.require_state()?;
        let aside = self.set_some_aside()?;
        self.wait_for_openers(&aside.files)?;
        let cleared = self.purge_all(&aside.files);
        drop(aside.files);
        self.say_cleared(&cleared)?;
        self.end_step(aside.more, aside.passed)
    }

    /// A file with all of its names goes out of sight, if it may go as far as can be seen. `None` where it stays; `AGAIN` where
    /// somebody touches it.
    pub(crate) fn hide(&mut self, names: &[Entry]) -> SysResult<Option<Waiting>> {
        let Some(first) = names.first() else { return Ok(None) };
        let file = self.open_source(first)?;
        let Some(copies) = self.safe_copies(names)? else { return Ok(None) };
        let guard = self.guard(&file, &first.version)?;
        let extended = extended(file.as_fd())?;
        let bytes = self.bytes(first, &copies[0], &file, &guard)?;
        if matches!(bytes, Bytes::Left) || !guard.holds()? || Version::of(&file)? != first.version {
            return Err(Errno::AGAIN);
        }
        if let Bytes::Other(found) = bytes {
            self.differ(names, found);
            return Ok(None);
        }
        names.iter().try_for_each(|entry| self.move_aside(entry))?;
        self.waits(names, file, guard, extended).map(Some)
    }

    /// What was hidden is looked at once more and removed; what may not go gets its names back. Whether it is gone.
    pub(crate) fn purge_file(&mut self, file: &Waiting) -> bool {
        if let Err(error) = self.may_go(file) {
            self.keep_names(file, 0, error);
            return false;
        }
        for (number, entry) in file.names.iter().enumerate() {
            if let Err(error) = self.remove(entry, &file.guard) {
                self.keep_names(file, number, error);
                return false;
            }
        }
        true
    }

    /// Fails with `AGAIN` unless what was hidden is the file that was looked at, nobody has touched it, and its copies are as they were
    /// put.
    fn may_go(&mut self, file: &Waiting) -> SysResult<()> {
        let copies = self.copies_and_names(file)?;
        if !file.has_its_attributes()? {
            return Err(Errno::AGAIN);
        }
        if file.guard.sees() { Ok(()) } else { self.require_unwritten(file, &copies[0]) }
    }
}

/// What a killed mover left half done. Before the first scan, for what the source still has of it is not known yet; what will not be
/// copied any more is [abandoned](Carrier::abandon_given_up) after that.
pub(crate) fn recover(carrier: &Carrier, purger: &mut Purger) -> Result<()> {
    // A sweep that cannot look everywhere is owed, and made at the end.
    let _ = carrier.sweep()?;
    carrier.recover()?;
    purger.recover()
}
