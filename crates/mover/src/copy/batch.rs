//! A batch of small things: made durable together, so that the storage's waits are shared.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use blake3::Hasher;
use rustix::fs::{self, Mode, OFlags};

use super::ended::{self, Attempt, Ended, split};
use super::handles::{self, Handles, Target};
use super::place::{self, Claim, Fate};
use super::source::Source;
use super::special::anew;
use super::stream::{self, Buffer, Range, Sink, Sync};
use super::{Carrier, Shared, attributes};
use crate::entry::{Entry, Outcome, Placed, State};
use crate::error::Result;
use crate::manifest::Line;
use crate::names;
use crate::options::Check;
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
}

/// One call of [`Carrier::carry`].
pub(super) struct Batch<'a> {
    pub(super) shared: &'a Shared,
    pub(super) handles: Handles<'a>,
    pub(super) buffer: Buffer,
    outcomes: Vec<(i64, Outcome)>,
    linking: HashSet<u64>,
}

impl Carrier {
    /// Carries a batch of anything but [large](super::SMALL_BYTES) files, and says of each what became of it. Hundreds at a time are
    /// best: what is waited for is waited for once a batch.
    pub fn carry(&self, mut entries: Vec<Entry>) -> Result<Vec<(i64, Outcome)>> {
        let mut batch = Batch::new(&self.shared);
        // Directory by directory, each after the one it lies in: few handles are needed, and none is opened twice.
        entries.sort_by_cached_key(|entry| entry.path.parent());
        let (first, rest) = batch.part(entries);
        batch.round(first)?;
        // Further names of what has just become safe.
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
        Self { shared, handles: Handles::new(shared), buffer: Buffer::new(), outcomes: Vec::new(), linking: HashSet::new() }
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
        self.finish(vec![item])?;
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
            let entries = items.drain(..).map(|item| item.entry).collect();
            items = self.copy_all(entries, true)?;
        }
        if self.shared.parts.options.check == Check::ReadBack {
            items = self.keep(items, Batch::read_back)?;
        }
        self.finish(items)
    }

    /// What to sync so many things by at once; `None` where each is better synced by itself.
    fn sync_handle(&self, count: usize) -> Option<OwnedFd> {
        if count < MANY { None } else { Sync::handle(&self.shared.parts.to).ok() }
    }

    fn copy_all(&mut self, entries: Vec<Entry>, each: bool) -> Result<Vec<Item>> {
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
            Kind::Directory => self.directory(entry),
            Kind::Link | Kind::Fifo => self.special(entry),
            Kind::File => self.file(entry, each),
            Kind::Special => Err(ended::refused("sockets and devices are never staged".to_owned())),
        }
    }

    fn file(&mut self, entry: Entry, each: bool) -> Attempt<Item> {
        let shared = self.shared;
        let path = &entry.path;
        let source_dir = self.handles.source(path)?;
        let target = self.handles.target(path)?;
        let source = Source::open(&shared.parts.from, &shared.parts.settler, source_dir.as_fd(), path)?;
        if source.version.links > 1
            && let Some(item) = self.link(&entry)?
        {
            return Ok(item);
        }
        let there =
            handles::at(target.as_fd(), path.name()).map_err(|errno| ended::target("look at", &shared.parts.to, path, errno))?;
        if let Claim::Compare(there) = shared.claim(&entry, &source.version, there)? {
            return self.adopt(entry, &source, source_dir.as_fd(), target.as_fd(), &there);
        }
        shared.take(0, 1)?;
        let temporary = shared.temporary(&entry);
        let sink = shared.create(&target, &temporary, path)?;
        let filled = self.fill(&source, &target, &sink, path).and_then(|checksum| {
            source.require_unchanged(&shared.parts.from, &shared.parts.settler, source_dir.as_fd(), path)?;
            if each || !target.covered {
                fs::fsync(&sink).map_err(|errno| ended::target("sync", &shared.parts.to, path, errno))?;
            }
            let made = Version::of(&sink).map_err(|errno| ended::target("look at", &shared.parts.to, path, errno))?;
            Ok(place::placed(&made, checksum))
        });
        if filled.is_err() {
            // What ended it is what is told; a temporary that cannot be removed now is, when its entry is tried or given up.
            let _ = names::remove(target.as_fd(), &temporary);
        }
        Ok(Item { version: source.version, placed: filled?, shape: Shape::Temporary, entry })
    }

    /// Takes a foreign file of the same bytes for the copy; refuses to touch one of others.
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
        source.require_unchanged(&shared.parts.from, &shared.parts.settler, source_dir, path)?;
        let Some(checksum) = same else { return Err(shared.taken(path, &source.version, there)) };
        Ok(Item { version: source.version, placed: place::placed(there, Some(checksum)), shape: Shape::There, entry })
    }

    /// Copies bytes and attributes; the checksum of what was read, which is what was written.
    fn fill(&mut self, source: &Source, dir: &Target, sink: &OwnedFd, path: &TreePath) -> Attempt<Option<[u8; 32]>> {
        let shared = self.shared;
        let size = source.version.size;
        let mut hasher = (shared.parts.options.check != Check::None).then(Hasher::new);
        let target = Sink { plain: sink.as_fd(), direct: None };
        let mut leave = |bytes| shared.leave(bytes);
        let range = Range { offset: 0, end: size, sparse: source.sparse };
        stream::copy(source.file.as_fd(), Some(&target), range, hasher.as_mut(), &mut self.buffer, &mut leave)
            .map_err(|trouble| shared.trouble(path, trouble))?;
        let failed = |errno| ended::target("write", &shared.parts.to, path, errno);
        if source.sparse {
            fs::ftruncate(sink, size).map_err(failed)?;
        }
        let beside = Some(dir.group);
        attributes::give(sink.as_fd(), source.file.as_fd(), &source.version, source.accessed, beside).map_err(failed)?;
        Ok(hasher.map(|hasher| *hasher.finalize().as_bytes()))
    }

    /// Reads a copy from the device again and compares.
    fn read_back(&mut self, item: &mut Item) -> Attempt<()> {
        let Some(checksum) = item.placed.checksum.filter(|_| item.shape == Shape::Temporary && item.version.kind == Kind::File)
        else {
            return Ok(());
        };
        let path = &item.entry.path;
        let target = self.handles.target(path)?;
        let temporary = self.shared.temporary(&item.entry);
        let matches = self.shared.matches(&target, &temporary, item.version.size, checksum, path, &mut self.buffer)?;
        if matches {
            return Ok(());
        }
        Err(self.shared.differs(path))
    }

    /// An entry of which the journal says that its temporary was whole and synced: where it stands. `None`: it must be copied again.
    pub(super) fn resume(&mut self, entry: &Entry) -> Attempt<Option<Item>> {
        let (shared, path) = (self.shared, &entry.path);
        let Some(placed) = entry.placed.filter(|_| entry.version.kind != Kind::Directory) else { return Ok(None) };
        let failed = |errno| ended::target("look at", &shared.parts.to, path, errno);
        let target = self.handles.target(path)?;
        let temporary = shared.temporary(entry);
        let there = handles::at(target.as_fd(), path.name()).map_err(failed)?;
        let left = handles::at(target.as_fd(), &temporary).map_err(failed)?;
        let is = |found: &Option<Version>| found.is_some_and(|found| place::placed(&found, placed.checksum) == placed);
        let item = |shape| Some(Item { entry: entry.clone(), version: entry.version, placed, shape });
        if is(&there) {
            if let (Some(left), Some(there)) = (left, there) {
                // It ended between the exchange and the removal of what came out.
                if left.ino != there.ino && !shared.may_replace(entry, &entry.version, &left) {
                    names::give_back(target.as_fd(), &temporary, path.name(), &there).map_err(failed)?;
                    names::remove(target.as_fd(), &temporary).map_err(failed)?;
                    return Err(shared.taken(path, &entry.version, &left));
                }
                names::remove(target.as_fd(), &temporary).map_err(failed)?;
            }
            return Ok(item(Shape::There));
        }
        let whole = is(&left)
            && match placed.checksum.filter(|_| entry.version.kind == Kind::File) {
                Some(checksum) => shared.matches(&target, &temporary, placed.size, checksum, path, &mut self.buffer)?,
                None => true,
            };
        Ok(if whole { item(Shape::Temporary) } else { None })
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
            let _ = names::remove(target.as_fd(), &self.shared.temporary(&item.entry));
        }
        self.outcomes.push((item.entry.id, outcome));
    }

    /// Everything from the journal's *placing* to its *done*, for copies that are whole and synced.
    pub(super) fn finish(&mut self, items: Vec<Item>) -> Result<()> {
        let made = std::mem::take(&mut self.handles.made);
        let refused = self.say_placing(&items, &made)?;
        let items =
            self.keep(items, |_, item| if refused.contains(&item.entry.id) { Err(Outcome::Changed.into()) } else { Ok(()) })?;
        let together = self.sync_handle(items.len());
        let items = self.keep(items, Batch::place)?;
        let items = self.sync_directories(items, &made, together)?;
        if items.is_empty() {
            return Ok(());
        }
        let lines: Vec<Line> =
            items.iter().map(|item| Line::now(&item.entry.path, &item.version, item.placed.checksum)).collect();
        if let Err(error) = self.shared.parts.manifest.append(&lines) {
            let reason = format!("{error}; hint: the data is in place, the manifest beside it is not written yet");
            for item in &items {
                self.outcomes.push((item.entry.id, Outcome::Failed { reason: reason.clone(), again: true }));
            }
            return Ok(());
        }
        self.say_done(&items)
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
                ready.push((entry.id, entry.version, place::placed_directory(ino)));
            }
        }
        Ok(if ready.is_empty() { HashSet::new() } else { journal.placing(&ready)?.into_iter().collect() })
    }

    fn place(&mut self, item: &mut Item) -> Attempt<()> {
        if item.shape == Shape::There {
            return Ok(());
        }
        let target = self.handles.target(&item.entry.path)?;
        let temporary = self.shared.temporary(&item.entry);
        let fate = self.shared.rename(target.as_fd(), &temporary, &item.entry, &item.version, &item.placed, &mut self.buffer)?;
        item.shape = Shape::There;
        if let Fate::Same(there) = fate {
            item.placed = place::placed(&there, item.placed.checksum);
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

    /// An empty temporary of this process, readable by nobody else until it is whole.
    pub(super) fn create(&self, target: &Target, temporary: &[u8], path: &TreePath) -> Attempt<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || fs::openat(target, temporary, flags, Mode::RUSR | Mode::WUSR);
        anew(target.as_fd(), temporary, &create).map_err(|errno| ended::target("create", &self.parts.to, path, errno))
    }

    /// Whether `name` of a directory of the destination has these bytes on the device.
    fn matches(
        &self,
        target: &Target,
        name: &[u8],
        size: u64,
        checksum: [u8; 32],
        path: &TreePath,
        buffer: &mut Buffer,
    ) -> Attempt<bool> {
        let failed = |errno| ended::target("read back", &self.parts.to, path, errno);
        let (file, version) = stream::reopen(target.as_fd(), name, true).map_err(failed)?;
        if version.size != size {
            return Ok(false);
        }
        let mut leave = |_| !self.halted();
        let found = stream::hash(file.as_fd(), size, buffer, &mut leave).map_err(|trouble| match trouble {
            stream::Trouble::Read(errno) => failed(errno),
            other => self.trouble(path, other),
        })?;
        Ok(found == Some(checksum))
    }
}
