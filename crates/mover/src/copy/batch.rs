//! A batch of small things: made durable together, so that the storage's waits are shared.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{self, Mode, OFlags};

use super::attributes::{self, Dropped};
use super::ended::{self, Attempt, Ended, split};
use super::handles::{self, Handles, Target};
use super::place::{self, Claim, Fate};
use super::source::Source;
use super::special::{LINKS, anew, lacks_links};
use super::{Carrier, Shared};
use crate::bytes::stream::{self, Buffer, Sink, Sync};
use crate::entry::{Entry, Outcome, Placed, State};
use crate::error::{MoverError, Result};
use crate::manifest::Line;
use crate::names::{self, Names};
use crate::options::{Check, Overwrite};
use crate::path::TreePath;
use crate::version::{Kind, Version};

/// From so many entries on, one `syncfs` is cheaper than an `fsync` each, also for whoever else writes to that file system.
const MANY: usize = 8;

/// How an entry stands at the destination before the journal says that it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Under its temporary name.
    Temporary,
    /// Under its own name.
    There,
}

/// An entry whose copy is whole.
#[derive(Debug)]
pub(super) struct Item {
    /// Which.
    pub(super) entry: Entry,
    /// What was read.
    pub(super) version: Version,
    /// What lies at the destination.
    pub(super) placed: Placed,
    /// Where.
    pub(super) shape: Shape,
    /// Whether it was read back from the device already.
    pub(super) read_back: bool,
    /// What it lacks of what its source has; `None` where an earlier attempt has said so.
    pub(super) dropped: Option<Dropped>,
}

/// One call of [`Carrier::carry`].
pub(super) struct Batch<'a> {
    pub(super) shared: &'a Shared,
    pub(super) handles: Handles<'a>,
    pub(super) buffer: Buffer,
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
        batch.round(first)?;
        let rest = batch.of_safe_ones(rest, &carried);
        batch.round(rest)?;
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
    pub(super) fn new(shared: &'a Shared) -> Self {
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

    /// Keeps other batches from carrying further names of the file at the same time; false where another does that already.
    pub(super) fn hold_links(&mut self, entry: &Entry) -> bool {
        let (first, _) = self.part(vec![entry.clone()]);
        !first.is_empty()
    }

    /// Leaves what is held to somebody else, who lets it go in the end. Returns whether anything is.
    pub(super) fn release_links(&mut self) -> bool {
        !std::mem::take(&mut self.linking).is_empty()
    }

    /// The last steps for one item, and what became of it.
    pub(super) fn finish_one(&mut self, item: Item) -> Result<(i64, Outcome)> {
        let id = item.entry.id;
        let items = self.read_all_back(vec![item])?;
        self.finish(items)?;
        Ok(self.outcomes.pop().unwrap_or((id, Outcome::Halted)))
    }

    fn round(&mut self, entries: Vec<Entry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let directory =
            |entry: &Entry| if entry.version.kind == Kind::Directory { entry.path.clone() } else { entry.path.parent() };
        self.handles.intend(entries.iter().map(directory))?;
        let together = self.sync_handle(entries.len());
        let mut items = self.copy_all(entries, together.is_none())?;
        if let Some(handle) = together
            && fs::syncfs(handle).is_err()
        {
            // It does not say whose bytes were lost: all go again, each with its own sync, which does.
            self.shared.doubt();
            let entries = items.drain(..).map(|item| item.entry).collect();
            items = self.copy_all(entries, true)?;
        }
        let items = self.read_all_back(items)?;
        self.finish(items)
    }

    /// What to sync so many things by at once; `None` where each is better synced by itself.
    fn sync_handle(&self, count: usize) -> Option<OwnedFd> {
        if count < MANY { None } else { Sync::handle(&self.shared.parts.to).ok() }
    }

    fn copy_all(&mut self, entries: Vec<Entry>, each: bool) -> Result<Vec<Item>> {
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

    /// Brings one entry to the destination; `each`: and makes it durable by itself.
    fn copy(&mut self, entry: Entry, each: bool) -> Attempt<Item> {
        if entry.state == State::Placing
            && let Some(item) = self.resume(&entry)?
        {
            return Ok(item);
        }
        match entry.version.kind {
            Kind::Directory => self.directory(entry, each),
            Kind::Link | Kind::Fifo => self.special(entry),
            Kind::File => self.file(entry, each),
            Kind::Special => Err(ended::refused("sockets and devices are never staged".to_owned())),
        }
    }

    fn file(&mut self, mut entry: Entry, each: bool) -> Attempt<Item> {
        let shared = self.shared;
        let source_dir = self.handles.source(&entry.path)?;
        let target = self.handles.target(&entry.path)?;
        shared.end_replacement(target.as_fd(), &entry)?;
        shared.recognise(target.as_fd(), &mut entry, &mut self.buffer)?;
        let path = &entry.path;
        let source = Source::open_short(&shared.parts.from, &shared.parts.quiescence, source_dir.as_fd(), path)?;
        if let Some(item) = self.existing(&entry, &source, source_dir.as_fd(), &target)? {
            return Ok(item);
        }
        // Of several names of one file that must be copied after all, one is: the others become links to it once that is done.
        if source.version.links > 1 && !self.copied.insert(source.version.ino) {
            return Err(linked_elsewhere().into());
        }
        let there =
            handles::at(target.as_fd(), path.name()).map_err(|errno| ended::target("look at", &shared.parts.to, path, errno))?;
        if let Claim::Compare(there) = shared.claim(&entry, &source.version, there)? {
            return self.adopt(entry, &source, source_dir.as_fd(), target.as_fd(), &there);
        }
        shared.take(0, 1)?;
        let temporary = shared.temporary(&entry);
        let sink = shared.create(&target, &temporary, path)?;
        let filled = self.fill(&source, &target, &sink, path).and_then(|(checksum, mut dropped)| {
            source.require_unchanged(&shared.parts.from, &shared.parts.quiescence, source_dir.as_fd(), path)?;
            if each || !target.covered {
                shared.sync_file(sink.as_fd(), path)?;
            }
            let made = Version::of(&sink).map_err(|errno| ended::target("look at", &shared.parts.to, path, errno))?;
            attributes::compare(&source.version, &made, &mut dropped);
            Ok((place::placed(&made, checksum), dropped))
        });
        if filled.is_err()
            && let Ok(made) = Version::of(&sink)
        {
            // What ended it is what is told; a temporary that cannot be removed now is, when its entry is tried or given up.
            let _ = names::remove_if(target.as_fd(), &temporary, made.ino);
        }
        let (placed, dropped) = filled?;
        let (shape, dropped) = (Shape::Temporary, Some(dropped));
        Ok(Item { version: source.version, placed, shape, read_back: false, dropped, entry })
    }

    /// Takes a foreign file of the same bytes for as good as a copy; refuses to touch one of others.
    pub(super) fn adopt(
        &mut self,
        entry: Entry,
        source: &Source,
        source_dir: BorrowedFd,
        target: BorrowedFd,
        there: &Version,
    ) -> Attempt<Item> {
        let (shared, path) = (self.shared, &entry.path);
        let same = shared.compare(source, target, path, there, &mut self.buffer)?;
        source.require_unchanged(&shared.parts.from, &shared.parts.quiescence, source_dir, path)?;
        let Some(checksum) = same else { return Err(shared.taken(path, &source.version, there)) };
        let failed = |errno| ended::target("look at", &shared.parts.to, path, errno);
        let (theirs, _) = stream::reopen(target, path.name(), false).map_err(failed)?;
        let lacking = attributes::lacking(theirs.as_fd(), source.file.as_fd(), &source.version).map_err(failed)?;
        let (placed, shape) = (place::of_others(there, Some(checksum)), Shape::There);
        Ok(Item { version: source.version, placed, shape, read_back: false, dropped: Some(lacking), entry })
    }

    /// Copies bytes and attributes; the checksum of what was read, which is what was written.
    fn fill(&mut self, source: &Source, dir: &Target, sink: &OwnedFd, path: &TreePath) -> Attempt<(Option<[u8; 32]>, Dropped)> {
        let shared = self.shared;
        let (whole, checked) = ((source.version.size, source.sparse), shared.parts.options.check != Check::None);
        let target = Sink { plain: sink.as_fd(), direct: None };
        let mut leave = |bytes| shared.leave(bytes);
        let checksum = stream::copy_whole(source.file.as_fd(), &target, whole, checked, &mut self.buffer, &mut leave)
            .map_err(|trouble| shared.trouble(path, trouble))?;
        let failed = |errno| ended::target("write", &shared.parts.to, path, errno);
        // A directory that got another group meanwhile may have handed that one down.
        let beside = (!shared.groups.load(Ordering::SeqCst)).then_some(dir.group);
        let dropped =
            attributes::give(sink.as_fd(), source.file.as_fd(), &source.version, source.accessed, beside).map_err(failed)?;
        Ok((checksum, dropped))
    }

    /// Keeps what is on the device as it was written, where that is to be looked at.
    fn read_all_back(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
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

    /// Everything from the journal's *placing* to its *done*, for copies that are whole and synced.
    pub(super) fn finish(&mut self, items: Vec<Item>) -> Result<()> {
        self.shared.parts.established.check_state()?;
        let made = std::mem::take(&mut self.handles.made);
        self.say_dropped(&items)?;
        let refused = self.say_placing(&items, &made)?;
        let items =
            self.keep(items, |_, item| if refused.contains(&item.entry.id) { Err(Outcome::Changed.into()) } else { Ok(()) })?;
        let together = self.sync_handle(items.len());
        let items = self.keep(items, Batch::place)?;
        let items = self.sync_directories(items, &made, together)?;
        if items.is_empty() {
            return Ok(());
        }
        let lines: Vec<Line> = items.iter().map(|item| Line::of(&item.entry.path, &item.version, Some(&item.placed))).collect();
        let parts = &self.shared.parts;
        parts.established.check_destination(&parts.to)?;
        let appended = parts.manifest.append(&lines, self.shared.reads_back());
        if let Err(error @ MoverError::Moved(_)) = appended {
            return Err(error);
        }
        if let Err(error) = appended {
            let reason = format!("{error}; hint: the data is in place, the manifest beside it is not written yet");
            for item in &items {
                self.outcomes.push((item.entry.id, Outcome::Failed { reason: reason.clone(), again: true }));
            }
            return Ok(());
        }
        self.say_done(&items)
    }

    /// Says what the copies lack before any of them can be called done, and its source be cleared.
    fn say_dropped(&self, items: &[Item]) -> Result<()> {
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

    /// Makes durable what is about to be renamed. Returns what must not be, because a later version of it was found.
    fn say_placing(&mut self, items: &[Item], made: &[TreePath]) -> Result<HashSet<i64>> {
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
        Ok(if ready.is_empty() { HashSet::new() } else { journal.placing(&ready)?.into_iter().collect() })
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
            item.placed = place::of_others(&there, item.placed.checksum);
            self.shared.parts.journal.placing(&[(item.entry.id, item.version, item.placed)])?;
        }
        Ok(())
    }

    /// Makes the names durable, each directory once.
    fn sync_directories(&mut self, items: Vec<Item>, made: &[TreePath], together: Option<OwnedFd>) -> Result<Vec<Item>> {
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

    fn say_done(&mut self, items: &[Item]) -> Result<()> {
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
pub(super) fn linked_elsewhere() -> Outcome {
    Outcome::Later("another name of it is on its way")
}

impl Shared {
    /// What the entry's data is called until it is safe.
    pub(super) fn temporary(&self, entry: &Entry) -> Vec<u8> {
        names::temporary(self.parts.journal.id(), entry.id)
    }

    /// All names of it in its directory.
    pub(super) fn names<'a>(&self, entry: &'a Entry) -> Names<'a> {
        Names::of(self.parts.journal.id(), entry.id, entry.path.name(), self.parts.options.overwrite == Overwrite::Always)
    }

    /// Makes a copy durable by itself.
    pub(super) fn sync_file(&self, file: BorrowedFd, path: &TreePath) -> Attempt<()> {
        fs::fsync(file).map_err(|errno| {
            self.doubt();
            ended::target("sync", &self.parts.to, path, errno)
        })
    }

    /// An empty temporary of this process, readable by nobody else until it is whole.
    pub(super) fn create(&self, target: &Target, temporary: &[u8], path: &TreePath) -> Attempt<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || fs::openat(target, temporary, flags, Mode::RUSR | Mode::WUSR);
        let failed = |errno| ended::target("create", &self.parts.to, path, errno);
        let made = anew(target.as_fd(), temporary, &create).map_err(failed)?;
        if self.lists.load(Ordering::SeqCst) {
            attributes::disinherit(made.as_fd(), 0o600).map_err(failed)?;
        }
        Ok(made)
    }
}
