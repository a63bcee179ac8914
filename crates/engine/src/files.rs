//! `files`: names of trees, made, looked at and removed; an operation is all that is done to one name.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, getrlimit};
use tonnage_records::{DAMAGE_KEPT, DamageAt};
use tonnage_storage::{Buffer, CacheState, ItemKind, Names, NamesRequest, Opening, RetryReport, Storage, StorageError};
use tonnage_workload::{
    Arena, CachePolicy, Damage, FileOp, Files, ItemOf, ItemPlace, Items, Payload, PayloadKind, PhaseSpec, Terms, Verifier, Walk,
};

use crate::clock::Clock;
use crate::remote_barrier::RemoteBarrier;
use crate::retry::Retries;
use crate::steering::Steering;
use crate::stonewall::Stonewall;
use crate::task::{PhaseWorkload, Shared, Tally, TaskContext, Worker, of_places};
use crate::transfers::{Remainder, read_all, write_all};

/// Files larger than this are moved in parts of it.
const PART_BYTES: u64 = 1 << 20;
/// Directories that a task holds open at most while it visits them at random.
const HANDLES_MOST: u64 = 1024;
/// Descriptors of the process that are not the tasks'.
const OTHER_DESCRIPTORS: u64 = 128;

/// What the tasks of a `files` phase share.
pub struct FilesWorkload {
    files: Files,
    seed: u64,
    verifier: Option<Arc<Verifier>>,
    /// Where tasks that wear out meet.
    wall: Option<Arc<Stonewall>>,
}

/// One task of a `files` phase.
struct FilesWorker {
    /// Taken by the loop.
    work: Option<(Items, Terms)>,
    file_task: FileTask,
    wall: Option<Arc<Stonewall>>,
}

/// What a task does its operations with.
struct FileTask {
    files: Files,
    task: u32,
    storage: Arc<dyn Storage>,
    names: Box<dyn Names>,
    request: NamesRequest,
    kind: ItemKind,
    /// The directory that was entered.
    here: Option<u64>,
    memory: Buffer,
    arena: Option<Arena>,
    /// What is read goes here.
    reading: Buffer,
    verifier: Option<Arc<Verifier>>,
    clock: Clock,
    /// Ticks of the operation in hand that went into checking what was read.
    checking: u64,
    /// What ways to names tried again that are left behind.
    retried: Vec<RetryReport>,
}

impl FilesWorkload {
    pub fn new(files: Files, spec: &PhaseSpec, remote_barrier: Option<&Arc<RemoteBarrier>>) -> Self {
        let seed = spec.seed;
        let verifier = spec.work.verifies().then(|| Arc::new(Verifier::new(Payload::new(files.payload, seed))));
        Self { files, seed, verifier, wall: Stonewall::of(spec, remote_barrier) }
    }

    /// Directories that a task may hold open.
    fn handles(&self, tasks: u32) -> usize {
        if !self.files.random || self.files.op.is_on_tree() {
            return 1;
        }
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // The other half is for the files themselves, and whatever else runs here.
        let share = limit.saturating_sub(OTHER_DESCRIPTORS) / (2 * u64::from(tasks));
        share.min(self.files.tree.directories().unwrap_or(1)).clamp(1, HANDLES_MOST) as usize
    }
}

impl PhaseWorkload for FilesWorkload {
    /// Nothing is looked for: the first operation tells what is missing, inside the record.
    fn before(&self, storage: &dyn Storage, _spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        (self.files.op == FileOp::Read).then(|| of_places(storage)).transpose()
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let (files, tasks) = (self.files.clone(), shared.spec.tasks);
        let walk = files.walk(task, tasks.total, self.seed);
        let request = request_of(&files, walk.owner(), self.handles(tasks.here));
        let part = files.file_bytes.min(PART_BYTES) as usize;
        let writes = files.op.writes() && part > 0;
        let payload = if writes { files.payload } else { PayloadKind::Constant };
        let mut memory = Buffer::new(if writes { Payload::span_bytes(payload, part, 1) } else { 1 })?;
        let arena = writes.then(|| Arena::new(Payload::new(payload, self.seed), task, part, 1));
        if let Some(arena) = &arena {
            arena.fill(0, &mut memory);
        }
        let reads = files.op == FileOp::Read || writes && files.check_written;
        let mut file_task = FileTask {
            kind: item_kind(&files),
            task,
            storage: Arc::clone(&shared.storage),
            names: shared.storage.names(&request)?,
            request,
            here: None,
            memory,
            arena,
            reading: Buffer::new(if reads { part.max(1) } else { 1 })?,
            verifier: self.verifier.clone(),
            clock: shared.clock,
            checking: 0,
            retried: Vec::new(),
            files,
        };
        if file_task.files.op == FileOp::Read && file_task.files.cache == CachePolicy::Drop {
            file_task.forget(walk.clone())?;
        }
        let terms = file_task.files.terms(&shared.spec, task);
        Ok(Box::new(FilesWorker { work: Some((Items(walk), terms)), file_task, wall: self.wall.clone() }))
    }
}

/// The names of `owner`'s items.
const fn request_of(files: &Files, owner: u32, handles: usize) -> NamesRequest {
    let number = if files.tree.shared { 0 } else { owner };
    NamesRequest { tree: files.tree, number, owner, handles, transfer_bytes: files.moved_bytes() }
}

const fn item_kind(files: &Files) -> ItemKind {
    match (files.op.is_on_directories(), files.renamed) {
        (false, false) => ItemKind::File,
        (false, true) => ItemKind::OtherFile,
        (true, false) => ItemKind::Directory,
        (true, true) => ItemKind::OtherDirectory,
    }
}

impl Worker for FilesWorker {
    /// The clock is read once an operation: the end of one is the beginning of the next, so a latency includes the few
    /// nanoseconds of taking the next number and spelling its name, and the entering of a directory. Checking what was
    /// read is outside the latency (but inside the phase).
    fn transfer(&mut self, context: &mut TaskContext) {
        let Self { work, file_task, wall } = self;
        let Some((items, terms)) = work.take() else { return };
        let shared = Arc::clone(&context.shared);
        let clock = shared.clock;
        let mut steering = Steering::new(context, items, &terms, wall.take());
        let mut next = steering.wait_for_next(context, clock.ticks());
        while let Some((from, ItemOf { owner, place })) = next {
            let acted = match file_task.turn_to(owner) {
                Ok(()) => file_task.act(place, &mut context.tally, &shared.stop),
                Err(error) => Err(error),
            };
            let now = clock.ticks();
            match acted {
                Ok(bytes) => {
                    let began = from + std::mem::take(&mut file_task.checking);
                    context.tally.record(&context.counters, clock.ns_between(began, now), bytes);
                }
                Err(error) if is_stopped(&error) => break,
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    let file = file_task.files.number_of_all(file_task.request.owner, place.number);
                    let text = file_task.explain(place, &error);
                    context.fail(file, 0, errno, text);
                    break;
                }
            }
            next = steering.follow(context, now);
        }
    }

    /// Only where the whole file system is to be synced; an fsync of a file belongs to its operation.
    fn sync(&mut self, context: &mut TaskContext) {
        let files = &self.file_task.files;
        if files.syncfs
            && !matches!(files.op, FileOp::MakeTree | FileOp::RemoveTree)
            && let Err(error) = self.file_task.names.sync_file_system()
        {
            context.fail(0, 0, error.raw_os_error().unwrap_or(0), format!("cannot sync the file system: {error}"));
        }
    }

    fn retries(&mut self) -> Retries {
        self.file_task.retried.extend(self.file_task.names.take_retry_reports());
        Retries::of(std::mem::take(&mut self.file_task.retried))
    }
}

impl FileTask {
    /// Goes on with the items of `owner`.
    #[inline]
    fn turn_to(&mut self, owner: u32) -> io::Result<()> {
        if owner == self.request.owner { Ok(()) } else { self.turn(owner) }
    }

    #[cold]
    fn turn(&mut self, owner: u32) -> io::Result<()> {
        self.request = request_of(&self.files, owner, self.request.handles);
        self.retried.extend(self.names.take_retry_reports());
        self.names = self.storage.names(&self.request).map_err(io::Error::other)?;
        self.here = None;
        Ok(())
    }

    /// One operation; the bytes that it moved. What moves many bytes ends between two parts of them when `stop` is set.
    #[inline]
    fn act(&mut self, place: ItemPlace, tally: &mut Tally, stop: &AtomicBool) -> io::Result<u64> {
        let ItemPlace { directory, number } = place;
        match self.files.op {
            FileOp::MakeTree => return self.names.make_tree(directory).map(|()| 0),
            FileOp::RemoveTree => return self.names.remove_tree(directory).map(|()| 0),
            FileOp::ReadDirectory => return self.names.list(directory).map(|_| 0),
            _ if self.here != Some(directory) => self.enter(directory)?,
            _ => {}
        }
        match self.files.op {
            FileOp::Stat | FileOp::StatDirectory => self.names.stat(self.kind, number)?,
            FileOp::Remove | FileOp::RemoveDirectory => self.names.remove(self.kind, number)?,
            FileOp::Rename | FileOp::RenameDirectory => self.names.rename(self.kind, number)?,
            FileOp::MakeDirectory => self.names.make(self.kind, number)?,
            FileOp::Create if self.files.mknod => self.names.make(self.kind, number)?,
            // The first task that comes makes it.
            FileOp::Create if self.files.shared_files => return self.write(number, Opening::WriteOrCreate, tally, stop),
            FileOp::Create => return self.write(number, Opening::Create, tally, stop),
            FileOp::Write => return self.write(number, Opening::Write, tally, stop),
            FileOp::OpenWriteClose => return self.write(number, Opening::WriteOrCreate, tally, stop),
            FileOp::Churn => return self.churn(number, tally, stop),
            FileOp::Read => return self.read(number, tally, stop),
            FileOp::MakeTree | FileOp::RemoveTree | FileOp::ReadDirectory => {}
        }
        Ok(0)
    }

    #[cold]
    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.here = None;
        self.names.enter(directory)?;
        self.here = Some(directory);
        Ok(())
    }

    /// Opens, writes all bytes, makes them durable and reads them back where that is asked for, closes. A file that
    /// failed is closed too.
    #[inline]
    fn write(&mut self, number: u64, how: Opening, tally: &mut Tally, stop: &AtomicBool) -> io::Result<u64> {
        self.names.open(self.kind, number, how)?;
        let mut written = self.write_parts(number, stop);
        if written.is_ok() && self.files.check_written {
            written = self.read_parts(number, tally, stop);
        }
        let closed = self.names.close();
        written.and(closed)?;
        Ok(self.files.file_bytes)
    }

    /// A file comes and goes.
    #[inline]
    fn churn(&mut self, number: u64, tally: &mut Tally, stop: &AtomicBool) -> io::Result<u64> {
        let bytes = self.write(number, Opening::Create, tally, stop)?;
        self.names.stat(self.kind, number)?;
        self.names.remove(self.kind, number)?;
        Ok(bytes)
    }

    #[inline]
    fn write_parts(&mut self, number: u64, stop: &AtomicBool) -> io::Result<()> {
        let (file, bytes) = (self.identity(number), self.files.file_bytes);
        if let Some(arena) = &mut self.arena {
            for (offset, length) in parts(bytes) {
                go_on(offset, stop)?;
                let range = arena.next_part(&mut self.memory, 0, file, offset, length);
                write_all(offset, &self.memory[range], Remainder::Moved, |offset, part| self.names.write_at(offset, part))?;
            }
        }
        if self.files.fsync { self.names.sync() } else { Ok(()) }
    }

    #[inline]
    fn read(&mut self, number: u64, tally: &mut Tally, stop: &AtomicBool) -> io::Result<u64> {
        self.names.open(self.kind, number, Opening::Read)?;
        let read = self.read_parts(number, tally, stop);
        let closed = self.names.close();
        read.and(closed)?;
        Ok(self.files.file_bytes)
    }

    #[inline]
    fn read_parts(&mut self, number: u64, tally: &mut Tally, stop: &AtomicBool) -> io::Result<()> {
        let mut damaged = false;
        for (offset, length) in parts(self.files.file_bytes) {
            go_on(offset, stop)?;
            read_all(offset, &mut self.reading[..length], Remainder::Moved, |offset, part| self.names.read_at(offset, part))?;
            if self.verifier.is_some() {
                let began = self.clock.ticks();
                damaged |= !self.is_sound(number, offset, length, tally);
                self.checking += self.clock.ticks().saturating_sub(began);
            }
        }
        tally.damaged_operations += u64::from(damaged);
        Ok(())
    }

    /// Checks a part that was read; damage is counted, never fatal, so that all of it is found.
    fn is_sound(&self, number: u64, offset: u64, length: usize, tally: &mut Tally) -> bool {
        let Some(verifier) = &self.verifier else { return true };
        tally.checked_bytes += length as u64;
        let part = &self.reading[..length];
        let Err(Damage { offset: damaged, what }) = verifier.check(part, self.identity(number), offset) else { return true };
        let file = self.files.number_of_all(self.request.owner, number);
        // In a tree that an earlier build left.
        if verifier.check(part, file, offset).is_ok() {
            return true;
        }
        if tally.damage.len() < DAMAGE_KEPT {
            let place = ItemPlace { directory: self.here.unwrap_or(0), number };
            let what = format!("{}: {what}", self.request.item_path(place, self.kind));
            tally.damage.push(DamageAt { task: self.task, file, offset: damaged, what });
        }
        false
    }

    /// Drops the pages of all files of `walk`. What is missing, the phase itself tells.
    fn forget(&mut self, walk: Walk) -> Result<(), StorageError> {
        for place in walk {
            let forgotten = self.enter(place.directory).and_then(|()| self.names.forget(self.kind, place.number));
            match forgotten {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(source) => {
                    let path = self.request.item_path(place, self.kind).into();
                    return Err(StorageError::Path { action: "drop the cache of", path, source });
                }
            }
        }
        Ok(())
    }

    /// The file in the payload's stamps.
    const fn identity(&self, number: u64) -> u32 {
        Files::identity(self.request.owner, number)
    }

    /// What went wrong, where, and what to do.
    #[cold]
    fn explain(&self, place: ItemPlace, error: &io::Error) -> String {
        let of_directory = self.files.op.is_on_tree() || self.here != Some(place.directory);
        let path =
            if of_directory { self.request.directory_path(place.directory) } else { self.request.item_path(place, self.kind) };
        match error.kind() {
            io::ErrorKind::NotFound if self.files.op != FileOp::MakeTree => {
                format!("{path} is not there; create it first, with the same tree")
            }
            io::ErrorKind::AlreadyExists => format!("{path} is there already; remove it first"),
            io::ErrorKind::DirectoryNotEmpty => format!("{path} is not empty; remove what is in it first"),
            io::ErrorKind::UnexpectedEof => {
                format!("{path} has fewer than {} bytes; create it with that size first", self.files.file_bytes)
            }
            io::ErrorKind::TooManyLinks => format!("{path} {error}"),
            _ => format!("cannot {} {path}: {error}", verb(self.files.op)),
        }
    }
}

/// Whether the part at `offset` of a file is begun: all but the first are not once `stop` is set.
#[inline]
fn go_on(offset: u64, stop: &AtomicBool) -> io::Result<()> {
    if offset > 0 && stop.load(Ordering::Relaxed) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// Whether an operation ended because the phase is to end. The system's own interruptions are tried again.
fn is_stopped(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted && error.raw_os_error().is_none()
}

/// Offset and bytes of each part of a file.
#[inline]
fn parts(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let length = (bytes - offset).min(PART_BYTES);
        let part = (offset, length as usize);
        offset += length;
        (length > 0).then_some(part)
    })
}

const fn verb(op: FileOp) -> &'static str {
    match op {
        FileOp::MakeTree | FileOp::MakeDirectory => "make",
        FileOp::RemoveTree | FileOp::RemoveDirectory | FileOp::Remove => "remove",
        FileOp::StatDirectory | FileOp::Stat => "stat",
        FileOp::RenameDirectory | FileOp::Rename => "rename",
        FileOp::Create => "create",
        FileOp::Write | FileOp::OpenWriteClose => "write",
        FileOp::Read => "read",
        FileOp::ReadDirectory => "list",
        FileOp::Churn => "make, stat and remove",
    }
}
