//! `stream`: transfers of one size.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tonnage_storage::{CacheState, Lane, OpenRequest, RetryReport, Slots, Storage, StorageError};
use tonnage_workload::{Arena, Durability, Op, Payload, PhaseSpec, RetryRule, Stream, Terms, Transfers, Verifier, first_below};

use crate::clock::monotonic_ns;
use crate::remote_barrier::RemoteBarrier;
use crate::retry::{Retries, RetryPolicy, retrying};
use crate::stonewall::Stonewall;
use crate::task::{PhaseWorkload, Shared, TaskContext, Worker};
use crate::transfers::{Remainder, write_all};
use crate::{queued_loop, sync_loop};

/// A server that loses what it took, each time that it is sent, is given up after so many.
const TIMES_WRITTEN_AGAIN: u32 = 3;

/// What the tasks of a stream share.
pub struct StreamWorkload {
    stream: Stream,
    seed: u64,
    /// Where the tasks are to wear out.
    wall: Option<Arc<Stonewall>>,
}

/// One task of a stream.
pub struct StreamWorker {
    pub stream: Stream,
    pub file: u32,
    pub transfer_size: usize,
    pub lane: Lane,
    /// Memory of a synchronous lane; a queue owns its own.
    pub memory: Option<Slots>,
    pub arena: Option<Arena>,
    /// Where in a slot's memory reads land.
    pub landing: usize,
    pub verifier: Option<Verifier>,
    pub passes: u64,
    /// A wait failed, and operations may still be in flight.
    pub in_doubt: bool,
    pub wall: Option<Arc<Stonewall>>,
    /// No operation begins from here on, whatever the phase's limit; `None`: that holds.
    pub until_ns: Option<u64>,
    /// What was tried again, where anything is.
    pub retries: Option<Arc<Mutex<Retries>>>,
    /// What was lost and written again.
    rewritten: Vec<RetryReport>,
}

impl StreamWorkload {
    pub fn new(stream: Stream, spec: &PhaseSpec, remote_barrier: Option<&Arc<RemoteBarrier>>) -> Self {
        Self { stream, seed: spec.seed, wall: Stonewall::of(spec, remote_barrier) }
    }

    /// The same with a payload of its own.
    pub const fn seeded(stream: Stream, seed: u64) -> Self {
        Self { stream, seed, wall: None }
    }
}

impl PhaseWorkload for StreamWorkload {
    fn before(&self, storage: &dyn Storage, spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        let files = self.stream.files(spec.tasks);
        if !self.stream.reads() {
            return storage.prepare_write(&files).map(|()| None);
        }
        let needed = self.stream.needed_bytes(spec);
        if let Some((file, actual)) = first_below(&files, needed, |file| storage.length(file))? {
            return Err(StorageError::TooShort { file, needed, actual });
        }
        storage.settle(&files, self.stream.cache).map(Some)
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let worker = self.worker_on(shared.storage.as_ref(), &shared.spec, task)?;
        Ok(Box::new(worker.with_retries(task, &shared.stop)))
    }
}

impl StreamWorkload {
    /// A task's part of the stream, on a storage that need not be the phase's.
    pub fn worker_on(&self, storage: &dyn Storage, spec: &PhaseSpec, task: u32) -> Result<StreamWorker, StorageError> {
        let stream = self.stream.clone();
        let whole = stream.file_bytes(spec.tasks.total);
        let (transfer_size, depth) = (stream.geometry.transfer_size as usize, stream.queue_depth as usize);
        let file = stream.file(task, spec.tasks.total);
        let mut lane = storage.lane(&OpenRequest {
            task,
            file,
            // A mix opens as a write does, for both; its files are there.
            op: if stream.writes() { Op::Write } else { Op::Read },
            file_bytes: if stream.writes() { whole } else { stream.needed_bytes(spec) },
            transfer_size,
            queue_depth: depth,
            preallocate: stream.preallocate,
            durable_each: stream.durability == Durability::FsyncEach,
            retry_ns: stream.retry_ns,
        })?;
        let slots = if matches!(lane, Lane::Sync(_)) { 1 } else { depth };
        let landing = if stream.writes() { Payload::span_bytes(stream.payload, transfer_size, slots) } else { 0 };
        let landed = if stream.reads() { transfer_size } else { 0 };
        let mut memory = Slots::new(slots, landing + landed)?;
        let payload = Payload::new(stream.payload, self.seed);
        let arena = stream.writes().then(|| Arena::new(payload, task, transfer_size, slots));
        for slot in 0..slots {
            if let Some(arena) = &arena {
                arena.fill(slot, memory.bytes(slot as u32));
            }
        }
        let memory = match &mut lane {
            Lane::Sync(_) => Some(memory),
            Lane::Queued(queue) => {
                queue.set_memory(memory)?;
                None
            }
        };
        let verifier = stream.verify.then(|| Verifier::new(payload));
        let (passes, in_doubt, wall, retries, rewritten) = (0, false, self.wall.clone(), None, Vec::new());
        Ok(StreamWorker {
            stream,
            file,
            transfer_size,
            lane,
            memory,
            arena,
            landing,
            verifier,
            passes,
            in_doubt,
            wall,
            until_ns: None,
            retries,
            rewritten,
        })
    }
}

impl Worker for StreamWorker {
    fn open(&mut self, context: &mut TaskContext) -> bool {
        if let Err(error) = self.lane.open() {
            let errno = error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0);
            context.fail(self.file, 0, errno, error.to_string());
            return false;
        }
        true
    }

    fn transfer(&mut self, context: &mut TaskContext) {
        match self.lane {
            Lane::Sync(_) => sync_loop::transfer(self, context),
            Lane::Queued(_) => queued_loop::transfer(self, context),
        }
        let left = self.lane.leave();
        self.finish_step(context, "the end of the transfers", left);
    }

    fn sync(&mut self, context: &mut TaskContext) {
        if self.stream.writes() && self.stream.durability != Durability::None && !self.in_doubt {
            let synced = self.end_with(Lane::sync);
            self.finish_step(context, "fsync", synced);
        }
    }

    fn close(&mut self, context: &mut TaskContext) {
        // With operations in flight there is nothing to close: it ends with the lane.
        if !self.in_doubt {
            let closed = self.end_with(Lane::close);
            self.finish_step(context, "close", closed);
        }
    }

    fn retries(&mut self) -> Retries {
        let told = self.retries.as_ref().map(|told| told.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all = told.map(|mut told| std::mem::take(&mut *told)).unwrap_or_default();
        for retried in self.lane.take_retry_reports().into_iter().chain(self.rewritten.drain(..)) {
            all.add(retried);
        }
        all
    }

    fn in_flight(&self, spec: &PhaseSpec) -> usize {
        let most = if matches!(self.lane, Lane::Sync(_)) { 1 } else { u32::MAX };
        self.stream.in_flight(spec).min(most) as usize
    }

    fn wrapped(&self, operations: u64) -> bool {
        self.passes > 1 || (self.passes == 1 && operations > self.stream.geometry.operations())
    }
}

impl StreamWorker {
    /// When the task ends, and when its operations start.
    pub fn terms(&self, context: &TaskContext) -> Terms {
        let slots = if matches!(self.lane, Lane::Sync(_)) { 1 } else { self.stream.queue_depth };
        let mut terms = Terms { slots, ..self.stream.terms(&context.shared.spec, context.number) };
        if let Some(until_ns) = self.until_ns {
            terms.limit.time_ns = Some(until_ns.saturating_sub(monotonic_ns()));
        }
        terms
    }

    /// What it does.
    pub fn transfers(&self, context: &TaskContext) -> Transfers {
        let spec = &context.shared.spec;
        self.stream.transfers(context.number, spec.tasks.total, spec.seed)
    }

    /// The same, with a lane that tries again what fails, where the stream says so.
    pub fn with_retries(mut self, task: u32, stop: &Arc<AtomicBool>) -> Self {
        if let Some(limit_ns) = self.stream.retry_ns {
            let told = Arc::<Mutex<Retries>>::default();
            let retry = RetryPolicy { task, rule: RetryRule { limit_ns }, stop: Arc::clone(stop), told: Arc::clone(&told) };
            self.lane = retrying(self.lane, self.stream.op, self.stream.queue_depth as usize, retry);
            self.retries = Some(told);
        }
        self
    }

    /// From now on writes carry the payload of this seed.
    pub fn renew(&mut self, task: u32, seed: u64) {
        let payload = Payload::new(self.stream.payload, seed);
        let slots = if matches!(self.lane, Lane::Sync(_)) { 1 } else { self.stream.queue_depth };
        let arena = Arena::new(payload, task, self.transfer_size, slots as usize);
        for slot in 0..slots {
            arena.fill(slot as usize, self.memory(slot));
        }
        self.arena = Some(arena);
    }

    /// The memory of a slot with nothing in flight.
    fn memory(&mut self, slot: u32) -> &mut [u8] {
        match (&mut self.lane, &mut self.memory) {
            (Lane::Queued(queue), _) => queue.memory(slot),
            (Lane::Sync(_), memory) => memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot)),
        }
    }

    /// A sync or close, once more after each time that the storage lost what it had taken and it was written again.
    fn end_with(&mut self, step: fn(&mut Lane) -> std::io::Result<()>) -> std::io::Result<()> {
        let mut done = step(&mut self.lane);
        for _ in 0..TIMES_WRITTEN_AGAIN {
            if done.is_ok() {
                break;
            }
            let lost = self.lane.take_lost();
            if lost.is_empty() {
                break;
            }
            let (since, mut attempts) = (Instant::now(), 0);
            for range in &lost {
                attempts += self.write_again(range)?;
            }
            let why = done.map_or_else(|error| error.to_string(), |()| String::new());
            done = step(&mut self.lane);
            self.rewritten.push(RetryReport { since, lasted: since.elapsed(), attempts, why });
        }
        done
    }

    /// Writes each transfer that touches `range` as it was first written; how many.
    fn write_again(&mut self, range: &Range<u64>) -> std::io::Result<u64> {
        let size = self.transfer_size as u64;
        let rest = Remainder::of(self.stream.single_attempt);
        let Some(arena) = &mut self.arena else { return Ok(0) };
        let transfers = range.start / size..range.end.div_ceil(size);
        for transfer in transfers.clone() {
            let offset = transfer * size;
            match (&mut self.lane, &mut self.memory) {
                (Lane::Sync(file), Some(memory)) => {
                    let memory = memory.bytes(0);
                    let bytes = arena.next(memory, 0, self.file, offset);
                    write_all(offset, &memory[bytes], rest, |offset, bytes| file.write_at(offset, bytes))?;
                }
                (Lane::Sync(_), None) => {}
                (Lane::Queued(queue), _) => {
                    let bytes = arena.next(queue.memory(0), 0, self.file, offset);
                    queued_loop::write_once(queue.as_mut(), offset, bytes)?;
                }
            }
        }
        Ok(transfers.end - transfers.start)
    }

    /// A step after the last operation: its failure fails the trial, as NFS and quotas report late writes there.
    fn finish_step(&self, context: &mut TaskContext, step: &str, result: std::io::Result<()>) {
        if let Err(error) = result {
            let text = format!("{step} failed: {error}");
            context.fail(self.file, 0, error.raw_os_error().unwrap_or(0), text);
        }
    }
}
