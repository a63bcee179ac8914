//! One large file, copied in chunks by all workers that care to help, and resumed by chunks that are verified, never by length.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::attempt_error::{self, Attempt, split};
use super::attributes::{self, Dropped};
use super::batch::{Batch, Item, Looked, Opened, Shape};
use super::source::{Reading, Source};
use super::temporary::Filled;
use super::{Carrier, Shared, handles};
use crate::bytes::chunks::{ChainingValue, Plan};
use crate::bytes::stream::{Buffer, Sink, Trouble};
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Chunk, Entry, Outcome, Placed};
use crate::mapped_stores::Stores;
use crate::options::Check;

/// How a large file's way began.
#[derive(Debug)]
pub enum Started {
    /// There are chunks to copy.
    Large(Arc<Large>),
    /// Nothing is to be copied.
    Ended(i64, Outcome),
}

/// A large file on its way.
#[derive(Debug)]
pub struct Large {
    shared: Arc<Shared>,
    entry: Entry,
    source: Source,
    source_dir: OwnedFd,
    plain: OwnedFd,
    direct: Option<OwnedFd>,
    plan: Plan,
    /// Whether the temporary is an earlier attempt's, so that anything may lie where the source has a hole.
    reused: bool,
    /// Whether this process holds the file's other names back.
    linking: bool,
    work: Mutex<Work>,
}

#[derive(Debug, Default)]
struct Work {
    /// First chunk that nobody has taken.
    next: usize,
    /// Chunks that are not whole yet.
    left: usize,
    /// Value of each chunk: of the journal's until it is verified, then of what was copied.
    values: Vec<Option<ChainingValue>>,
    helpers: u32,
    /// What ended it early.
    ended: Option<Outcome>,
    closed: bool,
    /// Whether the destination had no space for it.
    full: bool,
    /// Bytes of the chunks that this attempt copied.
    copied_bytes: u64,
    /// Chunks that the journal does not know yet, and whether a worker is telling it.
    unsaid: Vec<Chunk>,
    saying: bool,
}

impl Carrier {
    /// Begins a file of more than [`SMALL_BYTES`](super::SMALL_BYTES).
    pub fn large(&self, entry: Entry) -> Result<Started> {
        let id = entry.id;
        let mut batch = Batch::new(&self.shared);
        if self.shared.halted() {
            return Ok(Started::Ended(id, Outcome::Halted));
        }
        if !batch.hold_links(&entry) {
            return Ok(Started::Ended(id, super::batch::linked_elsewhere()));
        }
        match split(self.begin(&mut batch, entry))? {
            Ok(Begun::Chunks(mut large)) => {
                large.linking = batch.release_links();
                Ok(Started::Large(Arc::new(*large)))
            }
            Ok(Begun::Whole(item)) => batch.stage_copy(*item).map(|(id, outcome)| Started::Ended(id, outcome)),
            Err(outcome) => Ok(Started::Ended(id, outcome)),
        }
    }

    fn begin(&self, batch: &mut Batch, entry: Entry) -> Attempt<Begun> {
        if let Some(copy) = batch.left_whole(&entry)? {
            return Ok(Begun::Whole(Box::new(copy)));
        }
        let file = match batch.begin_file(entry, Reading::InChunks)? {
            Looked::ToCopy(file) => file,
            Looked::Whole(copy) => return Ok(Begun::Whole(Box::new(copy))),
        };
        let (shared, Opened { entry, source, source_dir, target }) = (&self.shared, file);
        let source_dir =
            source_dir.try_clone().map_err(|error| attempt_error::broken(format!("cannot keep a directory open: {error}")))?;
        Large::open(shared, entry, source, source_dir, &target).map(|large| Begun::Chunks(Box::new(large)))
    }
}

enum Begun {
    Chunks(Box<Large>),
    Whole(Box<Item>),
}

impl Large {
    fn open(shared: &Arc<Shared>, entry: Entry, source: Source, source_dir: OwnedFd, target: &handles::Target) -> Attempt<Self> {
        let (journal, path) = (&shared.parts.journal, &entry.path);
        let failed = |errno| attempt_error::target("create", &shared.parts.to, path, errno);
        let temporary = shared.temporary(&entry);
        let plan = Plan::new(source.version.size);
        let mut values = vec![None; plan.count()];
        let chunks = journal.chunks(entry.id, &source.version)?;
        let kept = if chunks.is_empty() { None } else { reuse(target, &temporary, &source.version) };
        let reused = kept.is_some();
        let copy = if let Some(kept) = kept {
            for Chunk { offset, length, hash } in chunks {
                if let Some(index) = plan.index(offset, length) {
                    values[index] = Some(hash);
                }
            }
            // The mover before this one may have been killed right after it made it.
            attributes::disinherit(kept.as_fd(), 0o600).map_err(failed)?;
            kept
        } else {
            journal.forget_chunks(entry.id)?;
            let made = shared.create(target, &entry)?;
            if let Err(errno) = allocate(&made, &source) {
                shared.remove_unfinished(target, &entry, &made);
                return Err(attempt_error::target("allocate", &shared.parts.to, path, errno));
            }
            made
        };
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let direct = match fs::openat(target, &temporary[..], flags, Mode::empty()) {
            Ok(direct) => Some(direct),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => None,
            Err(errno) => return Err(failed(errno)),
        };
        let work = Work { left: plan.count(), values, ..Work::default() };
        Ok(Self {
            shared: Arc::clone(shared),
            reused,
            linking: false,
            work: Mutex::new(work),
            entry,
            source,
            source_dir,
            plain: copy,
            direct,
            plan,
        })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.source.version.size
    }

    /// Whether another worker finds something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        let work = self.lock();
        !work.closed && work.ended.is_none() && work.next < self.plan.count()
    }

    /// Copies chunks until none is left, or this worker no longer `stays`. True for the one that must [`finish`](Self::finish) it: the
    /// last to leave, once nothing more will be copied.
    pub fn help(&self, stays: impl Fn() -> bool) -> Result<bool> {
        {
            let mut work = self.lock();
            if work.closed {
                return Ok(false);
            }
            work.helpers += 1;
        }
        let helped = self.copy_chunks(stays);
        let mut work = self.lock();
        work.helpers -= 1;
        let over = work.left == 0 || work.ended.is_some() || helped.is_err();
        let last = over && work.helpers == 0 && !work.closed;
        work.closed |= last;
        drop(work);
        helped.map(|()| last)
    }

    fn copy_chunks(&self, stays: impl Fn() -> bool) -> Result<()> {
        let mut buffer = Buffer::new();
        while let Some((index, known)) = self.take(&stays) {
            match split(self.copy_chunk(index, known, &mut buffer))? {
                Ok(value) => self.say(index, value)?,
                Err(outcome) => {
                    self.lock().ended.get_or_insert(outcome);
                }
            }
        }
        Ok(())
    }

    fn take(&self, stays: impl Fn() -> bool) -> Option<(usize, Option<ChainingValue>)> {
        let mut work = self.lock();
        if self.shared.halted() {
            work.ended.get_or_insert(Outcome::Halted);
        }
        if work.ended.is_some() || work.next == self.plan.count() || !stays() {
            return None;
        }
        let index = work.next;
        work.next += 1;
        Some((index, work.values[index]))
    }

    /// Brings one chunk over; its value if there are checksums. One that the journal knows is read from the temporary first.
    fn copy_chunk(&self, index: usize, known: Option<ChainingValue>, buffer: &mut Buffer) -> Attempt<Option<ChainingValue>> {
        if let Some(known) = known
            && self.is_of_now(index, known, buffer)?
        {
            match split(self.read_again(index, buffer))? {
                Ok(found) if found == Some(known) => return Ok(Some(known)),
                Err(Outcome::Halted) => return Err(Outcome::Halted.into()),
                // What cannot be read back is copied again, as what reads otherwise.
                Ok(_) | Err(_) => {}
            }
        }
        let (shared, path) = (&self.shared, &self.entry.path);
        let check = shared.parts.options.check;
        let (offset, end) = self.plan.range(index);
        // What a hole is not written over must be one there too.
        let sparse = self.source.sparse && (!self.reused || self.punch(offset, end).is_ok());
        let (sink, checked) = (self.sink(), check != Check::None);
        let (source, how) = (self.source.file.as_fd(), (sparse, checked));
        let copied = shared.counted(|leave| self.plan.copy(index, source, &sink, how, buffer, leave));
        if let Err(Trouble::Write(Errno::NOSPC | Errno::DQUOT)) = copied {
            self.lock().full = true;
        }
        let (value, bytes) = copied.map_err(|trouble| shared.trouble(path, trouble))?;
        self.lock().copied_bytes += bytes;
        if check == Check::ReadBack && self.read_again(index, buffer)? != value {
            return Err(shared.differs(path));
        }
        sink.start_writing(offset, end);
        Ok(value)
    }

    /// Frees what the temporary holds of a chunk: it reads as zeros then.
    fn punch(&self, offset: u64, end: u64) -> rustix::io::Result<()> {
        fs::fallocate(&self.plain, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, end - offset)
    }

    /// The value of what the device holds of a chunk; `None` where it holds less.
    fn read_again(&self, index: usize, buffer: &mut Buffer) -> Attempt<Option<ChainingValue>> {
        let (shared, path) = (&self.shared, &self.entry.path);
        let failed = |errno| attempt_error::target("read back", &shared.parts.to, path, errno);
        fs::fdatasync(&self.plain).map_err(failed)?;
        shared.of_device(path, self.plan.hash_stored(index, &self.sink(), buffer, &mut |_| !shared.halted()))
    }

    fn sink(&self) -> Sink<'_> {
        Sink { plain: self.plain.as_fd(), direct: self.direct.as_ref().map(AsFd::as_fd) }
    }

    /// Whether a chunk that was copied earlier still is what the source has, where no time would tell.
    fn is_of_now(&self, index: usize, known: ChainingValue, buffer: &mut Buffer) -> Attempt<bool> {
        if self.shared.parts.quiescence.stores() == Stores::Timed {
            return Ok(true);
        }
        let source = &self.source;
        let now = self.plan.hash(index, source.file.as_fd(), source.sparse, buffer, &mut |_| !self.shared.halted());
        Ok(now.map_err(|trouble| self.shared.trouble(&self.entry.path, trouble))? == known)
    }

    /// Notes a chunk that is whole. The journal is told by one worker at a time, of all chunks that have become whole since.
    fn say(&self, index: usize, value: Option<ChainingValue>) -> Result<()> {
        let (offset, end) = self.plan.range(index);
        let mut work = self.lock();
        let known = work.values[index] == value;
        work.values[index] = value;
        work.left -= 1;
        if let Some(hash) = value.filter(|_| !known) {
            work.unsaid.push(Chunk { offset, length: end - offset, hash });
        }
        if work.saying {
            return Ok(());
        }
        work.saying = true;
        let mut said = Ok(());
        while said.is_ok() && !work.unsaid.is_empty() {
            let chunks = std::mem::take(&mut work.unsaid);
            drop(work);
            said = self.shared.parts.journal.add_chunks(self.entry.id, &self.source.version, &chunks);
            work = self.lock();
        }
        work.saying = false;
        said
    }

    /// Gives the file its name if it is whole, and says what became of it.
    pub fn finish(&self) -> Result<(i64, Outcome)> {
        let ended = self.lock().ended.take();
        let whole = ended.map_or_else(|| split(self.make_whole()), |outcome| Ok(Err(outcome)))?;
        match whole {
            Ok((placed, dropped)) => {
                let (entry, version) = (self.entry.clone(), self.source.version);
                let (shape, dropped) = (Shape::Temporary, Some(dropped));
                let read_back = self.shared.parts.options.check == Check::ReadBack;
                let item = Item { entry, version, placed, shape, read_back, dropped };
                Batch::new(&self.shared).stage_copy(item)
            }
            Err(outcome) => {
                // What helps no later attempt, or takes the space that others could use.
                let useless = matches!(outcome, Outcome::Changed | Outcome::Gone | Outcome::Failed { again: false, .. });
                if useless || self.lock().full {
                    let copied = std::mem::take(&mut self.lock().copied_bytes);
                    self.shared.parts.counters.undone_bytes.fetch_add(copied, Ordering::Release);
                    Carrier { shared: Arc::clone(&self.shared) }.abandon(&self.entry)?;
                }
                Ok((self.entry.id, outcome))
            }
        }
    }

    fn make_whole(&self) -> Attempt<(Placed, Dropped)> {
        let values: Option<Vec<ChainingValue>> = self.lock().values.iter().copied().collect();
        let checksum = values.map(|values| self.plan.merge(&values));
        let (copy, source_dir) = (self.plain.as_fd(), self.source_dir.as_fd());
        let filled = Filled { copy, source: &self.source, source_dir, path: &self.entry.path, checksum };
        self.shared.make_whole(&filled, None, true)
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        if self.linking {
            self.shared.linking.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.entry.version.ino);
        }
    }
}

/// A temporary of an earlier attempt at this version, if there is one to go on with.
fn reuse(target: &handles::Target, temporary: &[u8], version: &Version) -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(target, temporary, flags, Mode::empty()).ok()?;
    let found = Version::of(&file).ok()?;
    let own = found.uid == rustix::process::geteuid().as_raw() || found.uid == version.uid;
    (own && found.kind == Kind::File && found.links == 1 && found.size == version.size).then_some(file)
}

/// Gives a temporary its size; and its blocks, so that a file that does not fit fails now, and workers do not wait for each other's.
fn allocate(made: &OwnedFd, source: &Source) -> rustix::io::Result<()> {
    fs::ftruncate(made, source.version.size)?;
    if source.sparse {
        return Ok(());
    }
    match fs::fallocate(made, FallocateFlags::empty(), 0, source.version.size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        other => other,
    }
}
