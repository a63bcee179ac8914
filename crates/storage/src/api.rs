//! What may be asked of a storage: the traits that each kind implements, and what crosses them.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tonnage_workload::{CachePolicy, Means, Op, Tree};

use crate::error::{Result, StorageError};
use crate::fs::watch::Watch;
use crate::object_placement::Placement;
use crate::slots::Slots;
use crate::wait::SILENCE;

/// What a task is about to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest {
    /// Number of the task that asks.
    pub task: u32,
    /// Number of the file in the target.
    pub file: u32,
    /// Reads or writes. A write creates the file where it is missing; a read fails there.
    pub op: Op,
    /// Bytes the file will have, or must have at least for a read.
    pub file_bytes: u64,
    /// Bytes of one operation.
    pub transfer_size: usize,
    /// Operations in flight at once.
    pub queue_depth: usize,
    /// A write reserves the file's whole space when it opens it.
    pub preallocate: bool,
    /// A sync follows each write: a storage may make each durable at once instead.
    pub durable_each: bool,
    /// How long the workload has what fails tried again: a storage that waits for its server by itself has an operation
    /// fail after so long, and for good. `None`: it knows best how long.
    pub retry_ns: Option<u64>,
}

impl OpenRequest {
    /// How long a server is waited for that is not heard of.
    pub(crate) fn silence(&self) -> Duration {
        self.retry_ns.filter(|&ns| ns > 0).map_or(SILENCE, Duration::from_nanos)
    }
}

/// What is known of the files before they are read. Bytes; `None` where the system does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheState {
    /// In the page cache now.
    pub cached_bytes: Option<u64>,
    /// Looked at.
    pub examined_bytes: Option<u64>,
    /// Of those, in holes: they read as zeros that no device delivers. What was reserved and never written counts as
    /// well where the file system's `SEEK_HOLE` says so (ext4, XFS, Btrfs, tmpfs do); a file system that does not know
    /// holes calls everything data.
    pub hole_bytes: Option<u64>,
    /// All of them are where the kernel truly counts, for the process that reads, what comes from a device.
    pub counted: bool,
}

impl CacheState {
    /// Of these files and of others.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let sum = |one: Option<u64>, more: Option<u64>| one.zip(more).map(|(one, more)| one + more);
        Self {
            cached_bytes: sum(self.cached_bytes, other.cached_bytes),
            examined_bytes: sum(self.examined_bytes, other.examined_bytes),
            hole_bytes: sum(self.hole_bytes, other.hole_bytes),
            counted: self.counted && other.counted,
        }
    }
}

/// What a file system has room for, under a directory that a storage writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The directory, for messages.
    pub path: PathBuf,
    /// Bytes that an ordinary user may still write.
    pub free_bytes: u64,
    /// Bytes of the whole file system.
    pub size_bytes: u64,
    /// Bytes of files that were there before and are written to: what is written over them takes nothing more.
    pub taken_bytes: u64,
    /// What was written is counted at once, also while it is in the page cache. Other file systems count it when it has
    /// left there, or tell figures that are seconds old.
    pub counts_at_once: bool,
}

/// What is to be told of a run: a stable code and one sentence.
pub type Note = (&'static str, String);

/// What the storage did of what it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Operations go past the page cache, on every device that the latest phase works on.
    pub direct: bool,
    /// Named facts, such as `fixed_buffers`.
    pub flags: Vec<(&'static str, bool)>,
    /// The hints of MPI in effect, by name.
    pub hints: Vec<(String, String)>,
    /// Fallbacks taken.
    pub notes: Vec<Note>,
}

/// A place under test. Shared by all tasks of a process.
///
/// A call that is added here is added to [`Wrapper`](crate::Wrapper) as well: a default would hide that it is not passed on.
pub trait Storage: Send + Sync {
    /// Prepares one task's way to its file, before the clock starts: memory, rings, checks. The file itself is opened
    /// by [`Lane::open`], inside the clock.
    fn lane(&self, request: &OpenRequest) -> Result<Lane>;

    /// Prepares one task's way to the names of a tree. Nothing is looked at or made before the first call on it.
    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>>;

    /// Length of a file in bytes; an error of kind `NotFound` where it is missing.
    fn length(&self, file: u32) -> Result<u64>;

    /// Makes way for a write phase on `files`, before the clock: an error if one of them is another's, before anything
    /// is touched; those that an earlier run left are removed.
    fn prepare_write(&self, files: &[u32]) -> Result<()>;

    /// Applies the cache policy to `files` before a read phase and says what is cached then. Of no files, it says what is
    /// known of the places that they would be in.
    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState>;

    /// Before a phase of several processes: of each of its tasks, in their order, the number of the process (its rank).
    fn tasks_at(&self, _processes: &[u32]) {}

    /// A watch on a file that is there. `None` where this storage cannot tell when one is written to.
    fn watch(&self, _file: u32) -> Option<Watch> {
        None
    }

    /// A way to snapshots of what this storage holds; an error that says why there is none. What a snapshot needs, such
    /// as a subvolume, is made.
    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        Err(StorageError::Unsupported(format!("snapshots by {} are not taken of this storage", request.means.name())))
    }

    /// What there is room for now, of each directory that it writes to: asked again and again while a phase runs. Empty
    /// where that is not known, or costs more than a system call.
    fn space(&self) -> Vec<Space> {
        Vec::new()
    }

    /// The phase is told to end: what the storage waits for by itself, and for nothing that could come, ends now.
    fn cut_short(&self) {}

    /// Removes every file, snapshot and tree that this storage created and gives the space back. Nothing else is ever removed.
    fn clear(&self) -> Result<()>;

    /// The run ends: named files go like with [`clear`](Self::clear), or stay where the target says `keep`. What is to
    /// be told of them.
    fn finish(&self) -> Result<Vec<Note>>;

    /// Decides anew whether [`finish`](Self::finish) leaves the named files, whatever the target says.
    fn keep_named(&self, _keep: bool) {}

    /// Where the objects are that were worked on since the last call, and what was sent for each, once every lane has
    /// ended: `None` where nobody spreads objects. May take seconds.
    fn placement(&self) -> Result<Option<Placement>> {
        Ok(None)
    }

    /// What else is known of an error that ended a phase, or a call outside one: somebody may be asked, once, for some
    /// seconds. `None` where nothing is.
    fn explain(&self, _error: &io::Error) -> Option<String> {
        None
    }

    /// What became of the requests so far (direct or not, fixed buffers or not, and why).
    fn facts(&self) -> Facts;
}

/// One task's way to its file.
pub enum Lane {
    /// One operation at a time.
    Sync(Box<dyn File>),
    /// Several in flight.
    Queued(Box<dyn Queue>),
}

impl Lane {
    /// Opens (and for a write creates) the file.
    pub fn open(&mut self) -> Result<()> {
        match self {
            Self::Sync(file) => file.open(),
            Self::Queued(queue) => queue.open(),
        }
    }

    /// The task makes no more transfers: whatever others still make together with it goes on without it.
    pub fn leave(&mut self) -> io::Result<()> {
        match self {
            Self::Sync(file) => file.leave(),
            Self::Queued(_) => Ok(()),
        }
    }

    /// Makes what was written durable (fsync). Only with nothing in flight.
    pub fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::Sync(file) => file.sync(),
            Self::Queued(queue) => queue.sync(),
        }
    }

    /// Closes the file. Only with nothing in flight.
    pub fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Sync(file) => file.close(),
            Self::Queued(queue) => queue.close(),
        }
    }

    /// After a sync or close that failed: what of the file must be written again before another, as a server took it
    /// and lost it. Empty where that was not the reason.
    pub fn take_lost(&mut self) -> Vec<Range<u64>> {
        match self {
            Self::Sync(file) => file.take_lost(),
            Self::Queued(queue) => queue.take_lost(),
        }
    }

    /// What the storage tried again by itself since this was last asked, or the lane was made.
    pub fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        match self {
            Self::Sync(file) => file.take_retry_reports(),
            Self::Queued(queue) => queue.take_retry_reports(),
        }
    }
}

/// A time of trouble that no operation had failed in when it was over: the storage tried again by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryReport {
    /// When the first attempt failed.
    pub since: Instant,
    /// Until one succeeded, or was given up.
    pub lasted: Duration,
    /// Attempts that failed and were followed by another.
    pub attempts: u64,
    /// Of the first one, in a sentence.
    pub why: String,
}

/// One operation at a time. `open` comes first, `close` last; both are inside the clock.
pub trait File: Send {
    /// Opens (and for a write creates) the file.
    fn open(&mut self) -> Result<()>;
    /// Reads at `offset`; how many bytes, 0 at the end of the file.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes at `offset`; how many bytes were taken.
    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize>;
    /// See [`Lane::leave`].
    fn leave(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Makes what was written durable (fsync).
    fn sync(&mut self) -> io::Result<()>;
    /// Closes the file.
    fn close(&mut self) -> io::Result<()>;
    /// See [`Lane::take_lost`].
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        Vec::new()
    }
    /// See [`Lane::take_retry_reports`].
    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        Vec::new()
    }
}

/// One operation for a [`Queue`], on `length` bytes of its slot's memory from `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's number for it, below the depth; comes back in the completion.
    pub slot: u32,
    /// Read or write.
    pub op: Op,
    /// In the file.
    pub offset: u64,
    /// In the slot's memory.
    pub start: usize,
    /// Bytes.
    pub length: usize,
}

/// What became of a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// As in the request.
    pub slot: u32,
    /// Bytes moved (may be short), or a negated errno.
    pub result: i32,
}

/// Several operations in flight, on memory that the queue owns (so that the kernel may know it beforehand): a part for
/// each slot, which nobody else can have while the slot's operation is in flight.
pub trait Queue: Send {
    /// Opens (and for a write creates) the file.
    fn open(&mut self) -> Result<()>;
    /// Gives the queue the memory its operations work on. Once, before `open`.
    fn set_memory(&mut self, memory: Slots) -> Result<()>;
    /// The part of a slot. Panics where the slot's operation is in flight.
    fn memory(&mut self, slot: u32) -> &mut [u8];
    /// Takes a request without entering the kernel. There is always room for as many as the depth.
    fn push(&mut self, request: Request);
    /// Hands all pushed requests over and waits until at least `wait_for` completions are there.
    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()>;
    /// The same, but waits no longer than `timeout` (a queue that does one operation at a time may take longer).
    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()>;
    /// The next completion that is there, without waiting.
    fn next_completion(&mut self) -> Option<Completion>;
    /// Makes what was written durable (fsync): at least what has completed.
    fn sync(&mut self) -> io::Result<()>;
    /// Closes the file. Only with nothing in flight.
    fn close(&mut self) -> io::Result<()>;
    /// See [`Lane::take_lost`].
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        Vec::new()
    }
    /// See [`Lane::take_retry_reports`].
    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        Vec::new()
    }
}

/// Which names a task will work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesRequest {
    /// The shape of the tree.
    pub tree: Tree,
    /// Number of the tree.
    pub number: u32,
    /// The task whose items they are.
    pub owner: u32,
    /// Directories that may be held open at once: more than one helps where they are visited at random.
    pub handles: usize,
    /// Bytes that are written to or read of each file that is opened; 0: none.
    pub transfer_bytes: u64,
}

/// What an item is, and which of its two names it goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ItemKind {
    /// A file by its first name.
    File = b'f',
    /// A file that was renamed.
    OtherFile = b'g',
    /// A directory by its first name.
    Directory = b'i',
    /// A directory that was renamed.
    OtherDirectory = b'j',
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It must not be there yet.
    Create,
    /// It must be there.
    Write,
    /// It may be there.
    WriteOrCreate,
    /// It must be there.
    Read,
}

/// One task's way to the names of one tree. Each call is one operation of a phase, or a part of one: a system call on a
/// short name, relative to the directory that was entered. Nothing follows a symbolic link.
pub trait Names: Send {
    /// Makes a directory of the tree; the root is 0.
    fn make_tree(&mut self, directory: u64) -> io::Result<()>;
    /// Removes an empty directory of the tree.
    fn remove_tree(&mut self, directory: u64) -> io::Result<()>;
    /// Lists a directory of the tree; how many names it has.
    fn list(&mut self, directory: u64) -> io::Result<u64>;
    /// Goes to a directory of the tree: the items that follow are there.
    fn enter(&mut self, directory: u64) -> io::Result<()>;
    /// Makes an item without opening it: a directory, or an empty file (mknod).
    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()>;
    /// Asks for an item's attributes.
    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()>;
    /// Gives an item its other name.
    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()>;
    /// Removes an item; a directory must be empty.
    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()>;
    /// Writes back and drops the pages of a file from the cache.
    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()>;
    /// Opens an item that is a file; one at a time.
    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()>;
    /// Reads the open file; how many bytes, 0 at its end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes to the open file; how many bytes were taken.
    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize>;
    /// Makes what was written to the open file durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Makes all that was done to the file system of these names durable (syncfs).
    fn sync_file_system(&mut self) -> io::Result<()>;
    /// Closes the open file, if any.
    fn close(&mut self) -> io::Result<()>;
    /// As [`Lane::take_retry_reports`].
    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        Vec::new()
    }
}

impl ItemKind {
    /// The item's other name.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::File => Self::OtherFile,
            Self::OtherFile => Self::File,
            Self::Directory => Self::OtherDirectory,
            Self::OtherDirectory => Self::Directory,
        }
    }

    /// Whether it is a directory.
    #[must_use]
    pub const fn is_directory(self) -> bool {
        matches!(self, Self::Directory | Self::OtherDirectory)
    }
}

/// Of what snapshots are to be taken.
#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    /// How.
    pub means: Means,
    /// The one task whose data are meant; `None`: those of all tasks together.
    pub owner: Option<u32>,
    /// The files that it, or all of them, write.
    pub files: Vec<u32>,
    /// How many there will be.
    pub rounds: u32,
    /// Set when nobody waits for one any more: a program that takes it is ended.
    pub stop: Arc<AtomicBool>,
}

/// One way to snapshots, by one task or for all. Whatever it makes has names that only this run spells.
pub trait Snapshots: Send {
    /// Where the data live that snapshots are taken of; `None`: in the storage as it is.
    fn live(&self) -> Option<Arc<dyn Storage>> {
        None
    }

    /// Takes the snapshot of a round, with nothing in flight. What other processes have to know of it, or 0; it never
    /// falls from one round to the next.
    fn take(&mut self, round: u32) -> Result<u64>;

    /// The round is over, and its time with it: what a process that is killed would leave of its snapshot can be found
    /// from now on.
    fn note(&mut self, _round: u32) -> Result<()> {
        Ok(())
    }

    /// Another process took it, and said `token`.
    fn adopt(&mut self, _round: u32, _token: u64) -> Result<()> {
        Ok(())
    }

    /// The storage as it was at the end of a round, to be read only; `None`: as it is.
    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>>;

    /// Removes the snapshot of a round.
    fn remove(&mut self, round: u32) -> Result<()>;
}
