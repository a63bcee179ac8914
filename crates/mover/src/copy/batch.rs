//! A batch of small things: made durable together, so that the storage's waits are shared.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs;

use super::attempt_error::{self, Attempt, Ended, split};
use super::attributes::{self, Dropped};
use super::destination_name::{self, Claim, Fate};
use super::handles::{self, Handles, Target};
use super::source::Source;
use super::special::{LINKS, lacks_links};
use super::temporary::Filled;
use super::{Carrier, Shared};
use crate::bytes::stream::{self, Buffer, Sink, Sync};
use crate::error::{MoverError, Result};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Outcome, Placed};
use crate::manifest::Line;
use crate::names;
use crate::options::Check;
use crate::path::TreePath;

/// From so many entries on, one `syncfs` is cheaper than an `fsync` each, also for whoever else writes to that file system.
const MANY: usize = 8;

/// How an entry stands at the destination before the journal says that it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Under its temporary name.
    Temporary,
    /// Under its own name.
    There,
}

/// An entry whose copy is whole.
#[derive(Debug)]
pub(crate) struct Item {
    /// Which.
    pub(crate) entry: Entry,
    /// What was read.
    pub(crate) version: Version,
    /// What lies at the destination.
    pub(crate) placed: Placed,
    /// Where.
    pub(crate) shape: Shape,
    /// Whether it was read back from the device already.
    pub(crate) read_back: bool,
    /// What it lacks of what its source has; `None` where an earlier attempt has said so.
    pub(crate) dropped: Option<Dropped>,
}

/// A file of the source that is open, and the directories that it lies in on both sides.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) entry: Entry,
    pub(crate) source: Source,
    pub(crate) source_dir: Rc<OwnedFd>,
    pub(crate) target: Rc<Target>,
}

impl Opened {
    /// The temporary `copy` that has all of its bytes.
    pub(crate) fn filled<'a>(&'a self, copy: BorrowedFd<'a>, checksum: Option<[u8; 32]>) -> Filled<'a> {
        Filled { copy, source: &self.source, source_dir: self.source_dir.as_fd(), path: &self.entry.path, checksum }
    }

    /// As one whose copy is whole.
    pub(crate) fn into_item(self, (placed, dropped): (Placed, Dropped)) -> Item {
        let (version, shape, dropped) = (self.source.version, Shape::Temporary, Some(dropped));
        Item { entry: self.entry, version, placed, shape, read_back: false, dropped }
    }
}

/// What the look at a file came to.
#[derive(Debug)]
pub(crate) enum Looked {
    /// It must be copied.
    ToCopy(Opened),
    /// Its copy is there, or there is nothing to copy.
    Whole(Item),
}

/// One call of [`Carrier::carry`].
pub(crate) struct Batch<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) handles: Handles<'a>,
    pub(crate) buffer: Buffer,
    outcomes: Vec<(i64, Outcome)>,
    linking: HashSet<u64>,
    /// Inodes with several names that this round copies.
    copied: HashSet<u64>,
}

impl Carrier {
    /// Carries a batch of anything but [large](super::SMALL_BYTES) files, and says of each what became of it. Hundreds at a time are
    /// best: what is waited for is waited for once a batch.
    pub fn carry(&self, mut entries: Vec<Entry>) -> Result<Vec<(i64, Outcome)>> {
        let mut batch = Batch::new(&self.shared);
        // Directory by directory, each after the one it lies in: few handles are needed, and none is opened twice.
        entries.sort_by_cached_key(|entry| entry.path.parent());
        let (first, rest) = batch.part(entries);
        let carried: HashMap<u64, i64> = first.iter().map(|entry| (entry.version.ino, entry.id)).collect();
        batch.stage(first)?;
        let rest = batch.of_safe_ones(rest, &carried);
        batch.stage(rest)?;
        Ok(std::mem::take(&mut batch.outcomes))
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut linking = self.shared.linking.lock().unwrap_or_else(PoisonError::into_inner);
        linking.retain(|ino| !self.linking.contains(ino));
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            handles: Handles::new(shared),
            buffer: Buffer::new(),
            outcomes: Vec::new(),
            linking: HashSet::new(),
            copied: HashSet::new(),
        }
    }

    /// Puts further names of one file into a second round, and sends back those of a file that another batch carries just now.
    fn part(&mut self, entries: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
        let (mut first, mut rest) = (Vec::with_capacity(entries.len()), Vec::new());
        let mut linking = self.shared.linking.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            let version = &entry.version;
            // Also what had one name when it was found: it may have got another since.
            if version.kind != Kind::File {
                first.push(entry);
            } else if self.linking.contains(&version.ino) {
                rest.push(entry);
            } else if linking.insert(version.ino) {
                self.linking.insert(version.ino);
                first.push(entry);
            } else {
                self.outcomes.push((entry.id, linked_elsewhere()));
            }
        }
        (first, rest)
    }

    /// Further names of what has just become safe. Where the first name has not, the others wait for it: each would become a file of its
    /// own. `carried` is the entry of the first name of each inode.
    fn of_safe_ones(&mut self, rest: Vec<Entry>, carried: &HashMap<u64, i64>) -> Vec<Entry> {
        let waiting: HashSet<i64> = self
            .outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Failed { again: true, .. } | Outcome::Changed | Outcome::Busy(_)))
            .map(|(id, _)| *id)
            .collect();
        let (later, now): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|entry| carried.get(&entry.version.ino).is_some_and(|id| waiting.contains(id)));
        self.outcomes.extend(later.iter().map(|entry| (entry.id, linked_elsewhere())));
        now
    }

    /// Directories that were made since the last call; those they lie in must be synced.
    pub(crate) fn take_made(&mut self) -> Vec<TreePath> {
        std::mem::take(&mut self.handles.made)
    }

    /// What became of the entry that ended last.
    pub(crate) fn last_outcome(&mut self) -> Option<(i64, Outcome)> {
        self.outcomes.pop()
    }

    /// Keeps other batches from carrying further names of the file at the same time; false where another does that already.
    pub(crate) fn hold_links(&mut self, entry: &Entry) -> bool {
        let (first, _) = self.part(vec![entry.clone()]);
        !first.is_empty()
    }

    /// Leaves what is held to somebody else, who lets it go in the end. Returns whether anything is.
    pub(crate) fn release_links(&mut self) -> bool {
        !std::mem::take(&mut self.linking).is_empty()
    }

    /// Says in the journal which directories will be made for these entries.
    pub(crate) fn say_directories(&mut self, entries: &[Entry]) -> Result<()> {
        let directory =
            |entry: &Entry| if entry.version.kind == Kind::Directory { entry.path.clone() } else { entry.path.parent() };
        self.handles.intend(entries.iter().map(directory))
    }

    /// What to sync so many things by at once; `None` where each is better synced by itself.
    pub(crate) fn sync_handle(&self, count: usize) -> Option<OwnedFd> {
        if count < MANY { None } else { Sync::handle(&self.shared.parts.to).ok() }
    }

    /// Makes the bytes of what was copied durable, where all are synced `together`.
    pub(crate) fn sync_all(&mut self, copies: Vec<Item>, together: Option<OwnedFd>) -> Result<Vec<Item>> {
        if together.is_none_or(|handle| fs::syncfs(handle).is_ok()) {
            return Ok(copies);
        }
        // It does not say whose bytes were lost: all go again, each with its own sync, which does.
        self.shared.doubt();
        self.copy_all(copies.into_iter().map(|copy| copy.entry).collect(), true)
    }

    /// Brings entries to the destination, each under its temporary name; `each`: and makes it durable by itself.
    pub(crate) fn copy_all(&mut self, entries: Vec<Entry>, each: bool) -> Result<Vec<Item>> {
        self.copied.clear();
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            let id = entry.id;
            let copied = if self.shared.halted() { Err(Outcome::Halted.into()) } else { self.copy(entry, each) };
            match split(copied)? {
                Ok(item) => items.push(item),
                Err(outcome) => self.outcomes.push((id, outcome)),
            }
        }
        Ok(items)
    }

    fn copy(&mut self, entry: Entry, each: bool) -> Attempt<Item> {
        if let Some(item) = self.left_whole(&entry)? {
            return Ok(item);
        }
        match entry.version.kind {
            Kind::Directory => self.directory(entry, each),
            Kind::Link | Kind::Fifo => self.special(entry),
            Kind::File => self.copy_file(entry, each),
            Kind::Special => Err(attempt_error::refused("sockets and devices are never staged".to_owned())),
        }
    }

    /// Whether the name may be taken at the destination. A foreign file of the same bytes that has it is as good as a copy.
    pub(crate) fn claim_name(&mut self, file: Opened) -> Attempt<Looked> {
        let (shared, source, path) = (self.shared, &file.source, &file.entry.path);
        // Of several names of one file that must be copied after all, one is: the others become links to it once that is done.
        if source.version.links > 1 && !self.copied.insert(source.version.ino) {
            return Err(linked_elsewhere().into());
        }
        let failed = |errno| attempt_error::target("look at", &shared.parts.to, path, errno);
        let there = handles::at(file.target.as_fd(), path.name()).map_err(failed)?;
        match shared.claim(&file.entry, &source.version, there)? {
            Claim::Take => Ok(Looked::ToCopy(file)),
            Claim::Compare(there) => self.adopt(file, &there).map(Looked::Whole),
        }
    }

    /// Takes a foreign file of the same bytes for as good as a copy; refuses to touch one of others.
    fn adopt(&mut self, file: Opened, there: &Version) -> Attempt<Item> {
        let Opened { entry, source, source_dir, target } = file;
        let (shared, path, target) = (self.shared, &entry.path, target.as_fd());
        let same = shared.compare(&source, target, path, there, &mut self.buffer)?;
        shared.require_unchanged(&source, source_dir.as_fd(), path)?;
        let Some(checksum) = same else { return Err(shared.taken(path, &source.version, there)) };
        let failed = |errno| attempt_error::target("look at", &shared.parts.to, path, errno);
        let (theirs, _) = stream::reopen(target, path.name(), false).map_err(failed)?;
        let lacking = attributes::lacking(theirs.as_fd(), source.file.as_fd(), &source.version).map_err(failed)?;
        let (placed, shape) = (destination_name::of_others(there, Some(checksum)), Shape::There);
        Ok(Item { version: source.version, placed, shape, read_back: false, dropped: Some(lacking), entry })
    }

    /// Copies the bytes; the checksum of what was read, which is what was written.
    pub(crate) fn copy_bytes(&mut self, file: &Opened, made: &OwnedFd) -> Attempt<Option<[u8; 32]>> {
        let (shared, source) = (self.shared, &file.source);
        let (whole, checked) = ((source.version.size, source.sparse), shared.parts.options.check != Check::None);
        let sink = Sink { plain: made.as_fd(), direct: None };
        let buffer = &mut self.buffer;
        let copied = shared.counted(|leave| stream::copy_whole(source.file.as_fd(), &sink, whole, checked, buffer, leave));
        copied.map(|(checksum, _)| checksum).map_err(|trouble| shared.trouble(&file.entry.path, trouble))
    }

    /// Keeps what is on the device as it was written, where that is to be looked at.
    pub(crate) fn read_all_back(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        if self.shared.reads_back() { self.keep(items, Batch::read_back) } else { Ok(items) }
    }

    /// Reads a copy from the device again and compares.
    fn read_back(&mut self, item: &mut Item) -> Attempt<()> {
        let Some(checksum) = item.placed.checksum.filter(|_| !item.read_back && item.version.kind == Kind::File) else {
            return Ok(());
        };
        let path = &item.entry.path;
        let target = self.handles.target(path)?;
        let temporary = self.shared.temporary(&item.entry);
        let name = if item.shape == Shape::Temporary { &temporary } else { path.name() };
        let stored = self.shared.on_device(target.as_fd(), name, item.placed.size, path, &mut self.buffer)?;
        item.read_back = true;
        if stored == Some(checksum) { Ok(()) } else { Err(self.shared.differs(path)) }
    }

    /// Keeps the items of which `check` holds; of the others, the temporaries go.
    fn keep(&mut self, items: Vec<Item>, check: impl Fn(&mut Self, &mut Item) -> Attempt<()>) -> Result<Vec<Item>> {
        let mut kept = Vec::with_capacity(items.len());
        for mut item in items {
            match split(check(self, &mut item))? {
                Ok(()) => kept.push(item),
                Err(outcome) => self.end(&item, outcome),
            }
        }
        Ok(kept)
    }

    fn end(&mut self, item: &Item, outcome: Outcome) {
        if item.shape == Shape::Temporary
            && let Ok(target) = self.handles.target(&item.entry.path)
        {
            let _ = names::remove_if(target.as_fd(), &self.shared.temporary(&item.entry), item.placed.ino);
        }
        self.outcomes.push((item.entry.id, outcome));
    }

    /// Says what the copies lack before any of them can be called done, and its source be cleared.
    pub(crate) fn say_dropped(&self, items: &[Item]) -> Result<()> {
        let journal = &self.shared.parts.journal;
        let any = journal.any_dropped()?;
        let mut said = Vec::new();
        for item in items {
            let Some(mut dropped) = item.dropped.clone() else { continue };
            if any && item.version.links > 1 && lacks_links(journal.dropped(item.entry.id)?.as_deref()) {
                dropped.push(LINKS.to_owned());
            }
            said.push((item.entry.id, dropped.join(", ")));
        }
        if any || said.iter().any(|(_, what)| !what.is_empty()) { journal.say_dropped(&said) } else { Ok(()) }
    }

    /// Makes durable in the journal what is about to get its name. What must not, because a later version of it was found, ends.
    pub(crate) fn say_placing(&mut self, items: Vec<Item>, made: &[TreePath]) -> Result<Vec<Item>> {
        let journal = &self.shared.parts.journal;
        let mut ready: Vec<_> = items.iter().map(|item| (item.entry.id, item.version, item.placed)).collect();
        // Directories made for the files of this batch are entries too: their turn comes, and by then it must be known whose they are.
        for path in made {
            let known = self.shared.made.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied();
            if let (Some(ino), Some(entry)) = (known, journal.by_path(path)?)
                && entry.version.kind == Kind::Directory
                && !ready.iter().any(|(id, ..)| *id == entry.id)
            {
                ready.push((entry.id, entry.version, Placed::directory(ino)));
            }
        }
        let refused: HashSet<i64> =
            if ready.is_empty() { HashSet::new() } else { journal.placing(&ready)?.into_iter().collect() };
        self.keep(items, |_, item| if refused.contains(&item.entry.id) { Err(Outcome::Changed.into()) } else { Ok(()) })
    }

    /// Gives the copies their names.
    pub(crate) fn place_all(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        self.keep(items, Batch::place)
    }

    fn place(&mut self, item: &mut Item) -> Attempt<()> {
        if item.shape == Shape::There {
            // A killed mover may have left one, of a state that the source has no longer.
            if item.version.kind != Kind::Directory
                && let Ok(target) = self.handles.target(&item.entry.path)
            {
                let _ = names::remove(target.as_fd(), &self.shared.temporary(&item.entry));
            }
            return Ok(());
        }
        let target = self.handles.target(&item.entry.path)?;
        let fate = self.shared.rename(target.as_fd(), &item.entry, &item.version, &item.placed, &mut self.buffer)?;
        item.shape = Shape::There;
        if let Fate::Same(there) = fate {
            item.placed = destination_name::of_others(&there, item.placed.checksum);
            self.shared.parts.journal.placing(&[(item.entry.id, item.version, item.placed)])?;
        }
        Ok(())
    }

    /// Makes the names durable, each directory once.
    pub(crate) fn sync_directories(
        &mut self,
        items: Vec<Item>,
        made: &[TreePath],
        together: Option<OwnedFd>,
    ) -> Result<Vec<Item>> {
        let touched: BTreeSet<TreePath> = items.iter().map(|item| &item.entry.path).chain(made).map(TreePath::parent).collect();
        let mut failures = Vec::new();
        let (mut rest, mut covered) = (Vec::new(), 0);
        for directory in touched {
            match split(self.handles.covers(&directory))? {
                // All in one file system, whose names one call makes durable.
                Ok(true) if together.is_some() => covered += 1,
                Ok(_) => rest.push(directory),
                Err(outcome) => failures.push((directory, outcome)),
            }
        }
        let synced = together.is_none_or(|handle| covered == 0 || fs::syncfs(handle).is_ok());
        if !synced {
            // It does not say which: each is asked for itself.
            self.shared.doubt();
            return self.sync_directories(items, made, None);
        }
        for directory in rest {
            if let Err(outcome) = split(self.handles.sync(&directory))? {
                failures.push((directory, outcome));
            }
        }
        self.keep(items, |_, item| {
            let failed = failures.iter().find(|(directory, _)| item.entry.path.is_below(directory));
            failed.map_or(Ok(()), |(_, outcome)| Err(Ended::Entry(outcome.clone())))
        })
    }

    /// Adds the copies' lines to the manifest, durable; whether they are there. Where not, the copies go again.
    pub(crate) fn append_to_manifest(&mut self, items: &[Item]) -> Result<bool> {
        let lines: Vec<Line> = items.iter().map(|item| Line::of(&item.entry.path, &item.version, Some(&item.placed))).collect();
        match self.shared.parts.manifest.append(&lines, self.shared.reads_back()) {
            Ok(()) => Ok(true),
            Err(error @ MoverError::Moved(_)) => Err(error),
            Err(error) => {
                let reason = format!("{error}; hint: the data is in place, the manifest beside it is not written yet");
                let ids = items.iter().map(|item| item.entry.id);
                self.outcomes.extend(ids.map(|id| (id, Outcome::Failed { reason: reason.clone(), again: true })));
                Ok(false)
            }
        }
    }

    /// Says in the journal that the copies are done, durable, and then in the log.
    pub(crate) fn say_done(&mut self, items: &[Item]) -> Result<()> {
        let parts = &self.shared.parts;
        let ids: Vec<i64> = items.iter().map(|item| item.entry.id).collect();
        let changed: HashSet<i64> = parts.journal.done(&ids)?.into_iter().collect();
        // What was found changed meanwhile is on its way again: its one line comes when that is done.
        let safe = items.iter().filter(|item| !changed.contains(&item.entry.id) && item.version.kind != Kind::Directory);
        parts.log.done(safe.map(|item| &item.entry.path));
        parts.counters.done.fetch_add((ids.len() - changed.len()) as u64, Ordering::Relaxed);
        self.outcomes.extend(ids.iter().map(|id| (*id, if changed.contains(id) { Outcome::Changed } else { Outcome::Done })));
        Ok(())
    }
}

/// A further name of a file that another batch carries.
pub(crate) fn linked_elsewhere() -> Outcome {
    Outcome::Later("another name of it is on its way")
}
