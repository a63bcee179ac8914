//! How bytes are touched.
//!
//! A [`Storage`] is a place under test. Each task asks it for a [`Lane`], its own way to one file: either a [`File`],
//! which does one operation at a time, or a [`Queue`], which keeps several in flight; or for [`Names`], its way to a
//! tree of directories. A new kind of storage is one
//! file of this crate that passes the conformance suite (`tests/conformance.rs`); a wrapper ([`Pieces`], and those of
//! `crates/testing`) is a storage that holds another.

mod accounting;
mod aside;
mod buffer;
mod clearing;
mod devices;
mod direct;
mod directory;
mod error;
mod files;
mod here;
mod holes;
mod kinds;
mod left_files;
mod mark;
mod marker;
mod marker_file;
mod memory;
mod memory_names;
mod mmap;
mod named;
mod names;
mod nfs;
mod null;
mod nursery;
mod pieces;
mod place;
mod placement;
mod posix;
mod rados;
mod range_locks;
mod residency;
mod s3;
mod scratch;
mod serial;
mod slots;
mod snapshots;
mod staged;
mod target;
mod tree;
mod uring;
mod wait;
mod watch;

pub use buffer::Buffer;
pub use error::{Result, StorageError};
pub use kinds::open;
pub use left_files::{file_leftovers, remove_left_file};
pub use marker::State;
pub use names::{ItemKind, Names, NamesRequest, Opening};
pub use nfs::{ExportFacts, ExportSpec, export_facts};
pub use pieces::{Cut, Pieces};
pub use placement::{Held, Placement, Traffic};
pub use rados::{PoolSpec, ask_monitor, clean_pool, pool_free_bytes, pool_leftovers};
pub use s3::{BucketSpec, check_bucket};
pub use scratch::{Leftover, Scratch};
pub use slots::Slots;
pub use snapshots::{SnapshotRequest, Snapshots};
pub use target::{Advice, Delays, DirectMode, Existing, Process, StorageKind, TargetSpec};
pub use wait::{end_waits, waits_are_over};
pub use watch::Watch;

use std::ops::Range;
use std::time::{Duration, Instant};

use tonnage_workload::{CachePolicy, Op};

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
        self.retry_ns.filter(|&ns| ns > 0).map_or(wait::SILENCE, Duration::from_nanos)
    }
}

/// What is known of the files before they are read. Bytes; `None` where the system does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
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

impl Residency {
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

/// What is to be told of a run: a stable code and one sentence.
pub type Note = (&'static str, String);

/// What the storage did of what it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Operations go past the page cache, on every device that the latest phase works on.
    pub direct: bool,
    /// Named facts, such as `fixed_buffers`.
    pub flags: Vec<(&'static str, bool)>,
    /// Fallbacks taken.
    pub notes: Vec<Note>,
}

/// A place under test. Shared by all tasks of a process.
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
    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<Residency>;

    /// A watch on a file that is there. `None` where this storage cannot tell when one is written to.
    fn watch(&self, _file: u32) -> Option<Watch> {
        None
    }

    /// A way to snapshots of what this storage holds; an error that says why there is none. What a snapshot needs, such
    /// as a subvolume, is made.
    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        snapshots::of_any(request, &[], "another storage")
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
    fn explain(&self, _error: &std::io::Error) -> Option<String> {
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

    /// Makes what was written durable (fsync). Only with nothing in flight.
    pub fn sync(&mut self) -> std::io::Result<()> {
        match self {
            Self::Sync(file) => file.sync(),
            Self::Queued(queue) => queue.sync(),
        }
    }

    /// Closes the file. Only with nothing in flight.
    pub fn close(&mut self) -> std::io::Result<()> {
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
    pub fn take_mended(&mut self) -> Vec<Mended> {
        match self {
            Self::Sync(file) => file.take_mended(),
            Self::Queued(queue) => queue.take_mended(),
        }
    }
}

/// A time of trouble that no operation had failed in when it was over: the storage tried again by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
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
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize>;
    /// Writes at `offset`; how many bytes were taken.
    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> std::io::Result<usize>;
    /// Makes what was written durable (fsync).
    fn sync(&mut self) -> std::io::Result<()>;
    /// Closes the file.
    fn close(&mut self) -> std::io::Result<()>;
    /// See [`Lane::take_lost`].
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        Vec::new()
    }
    /// See [`Lane::take_mended`].
    fn take_mended(&mut self) -> Vec<Mended> {
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
    fn submit_and_wait(&mut self, wait_for: usize) -> std::io::Result<()>;
    /// The same, but waits no longer than `timeout` (a queue that does one operation at a time may take longer).
    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> std::io::Result<()>;
    /// The next completion that is there, without waiting.
    fn next_completion(&mut self) -> Option<Completion>;
    /// Makes what was written durable (fsync): at least what has completed.
    fn sync(&mut self) -> std::io::Result<()>;
    /// Closes the file. Only with nothing in flight.
    fn close(&mut self) -> std::io::Result<()>;
    /// See [`Lane::take_lost`].
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        Vec::new()
    }
    /// See [`Lane::take_mended`].
    fn take_mended(&mut self) -> Vec<Mended> {
        Vec::new()
    }
}
