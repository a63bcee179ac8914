//! `kv-cache`: each task is a user whose turns read files of the cache and write more, at times that were fixed beforehand.
//!
//! The latency of a turn counts from its intended start to the end of its last write; of one that nobody begins, to the
//! end of the time.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use tonnage_records::{KvCacheResult, PhaseResult};
use tonnage_storage::{CacheState, OpenRequest, Slots, Storage, StorageError};
use tonnage_workload::{Arena, KvCache, KvCacheStep, Op, Payload, PayloadKind, PhaseSpec, Turn, first_below};

use crate::clock::monotonic_ns;
use crate::lane_port::Port;
use crate::retry::Retries;
use crate::steering::wait_until;
use crate::task::{PhaseWorkload, Shared, TaskContext, Worker};
use crate::transfers::describe;

/// What the users share.
pub struct KvCacheWorkload {
    kv_cache: KvCache,
    seed: u64,
    turns: Vec<Vec<Turn>>,
    served: Arc<Mutex<Served>>,
}

/// What users did, and the time that each turn took.
#[derive(Default)]
struct Served {
    result: KvCacheResult,
    times_ns: Vec<u64>,
}

/// One user, or one task that lays files out.
struct User {
    kv_cache: KvCache,
    storage: Arc<dyn Storage>,
    turns: Vec<Turn>,
    task: u32,
    arena: Arena,
    /// Of writes and of reads, while no file is open: what is read must not be written over what will be.
    memory: [Option<Slots>; 2],
    own: Served,
    served: Arc<Mutex<Served>>,
    retries: Retries,
}

/// Of which file and where, the system's error number or 0, and a sentence.
type Failure = (u32, u64, i32, String);

impl KvCacheWorkload {
    pub fn new(kv_cache: KvCache, spec: &PhaseSpec) -> Self {
        let serves = kv_cache.step == KvCacheStep::Serve;
        let turns = if serves { kv_cache.turns_of(spec.tasks.total, spec.seed) } else { Vec::new() };
        Self { kv_cache, seed: spec.seed, turns, served: Arc::default() }
    }
}

impl PhaseWorkload for KvCacheWorkload {
    fn before(&self, storage: &dyn Storage, _spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        let files = self.kv_cache.files();
        if self.kv_cache.step == KvCacheStep::LayOut {
            return storage.prepare_write(&files).map(|()| None);
        }
        let needed = self.kv_cache.turn_bytes;
        if let Some((file, actual)) = first_below(&files, needed, |file| storage.length(file))? {
            return Err(StorageError::TooShort { file, needed, actual });
        }
        storage.settle(&files, self.kv_cache.cache).map(Some)
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let transfer_size = self.kv_cache.transfer_size as usize;
        let turns = self.turns.get(task as usize).cloned().unwrap_or_default();
        let mut own = Served::default();
        own.times_ns.reserve(turns.len());
        let mut user = User {
            kv_cache: self.kv_cache.clone(),
            storage: Arc::clone(&shared.storage),
            turns,
            task,
            arena: Arena::new(Payload::new(PayloadKind::Unique, self.seed), task, transfer_size, 1),
            memory: [None, None],
            own,
            served: Arc::clone(&self.served),
            retries: Retries::default(),
        };
        user.memory = [Some(user.filled(Op::Write)?), Some(user.filled(Op::Read)?)];
        Ok(Box::new(user))
    }

    fn after(&self, result: &mut PhaseResult) {
        if self.kv_cache.step == KvCacheStep::Serve {
            let Served { result: served, times_ns } =
                std::mem::take(&mut *self.served.lock().unwrap_or_else(PoisonError::into_inner));
            result.kv_cache = Some(KvCacheResult { users: self.turns.len() as u32, ..served }.with_times(times_ns));
        }
    }
}

impl User {
    /// Memory that was touched; for writes, with the bodies of the payload.
    fn filled(&self, op: Op) -> Result<Slots, StorageError> {
        let transfer_size = self.kv_cache.transfer_size as usize;
        if op == Op::Read {
            let mut memory = Slots::new(1, transfer_size)?;
            memory.bytes(0).fill(1);
            return Ok(memory);
        }
        let mut memory = Slots::new(1, Payload::span_bytes(PayloadKind::Unique, transfer_size, 1))?;
        self.arena.fill(0, memory.bytes(0));
        Ok(memory)
    }

    /// Opens a file, moves all its bytes, and closes it.
    fn whole_file(&mut self, context: &TaskContext, op: Op, file: u32) -> Result<(), Failure> {
        let told = |error: StorageError| (file, 0, error.io().and_then(io::Error::raw_os_error).unwrap_or(0), error.to_string());
        let request = OpenRequest {
            task: self.task,
            file,
            op,
            file_bytes: self.kv_cache.turn_bytes,
            transfer_size: self.kv_cache.transfer_size as usize,
            queue_depth: 1,
            preallocate: false,
            durable_each: false,
            retry_ns: None,
        };
        let lane = self.storage.lane(&request).map_err(told)?;
        let memory = match self.memory[op as usize].take() {
            Some(memory) => memory,
            None => self.filled(op).map_err(told)?,
        };
        let mut port = Port::new(lane, memory).map_err(told)?;
        port.lane().open().map_err(told)?;
        let mut done = self.move_all(context, &mut port, op, file);
        // What users write is a cache and need not be durable; what is laid out is read from the device.
        if self.kv_cache.step == KvCacheStep::LayOut {
            done = done.and_then(|()| port.lane().sync().map_err(|error| failure(file, 0, "fsync", &error)));
        }
        let closed = port.lane().close().map_err(|error| failure(file, 0, "close", &error));
        for report in port.lane().take_retry_reports() {
            self.retries.add(report);
        }
        self.memory[op as usize] = port.into_memory();
        done.and(closed)
    }

    fn move_all(&mut self, context: &TaskContext, port: &mut Port, op: Op, file: u32) -> Result<(), Failure> {
        let (mut offset, end) = (0, self.kv_cache.turn_bytes);
        let failed = |offset, error: &io::Error| (file, offset, error.raw_os_error().unwrap_or(0), describe(op, error));
        while offset < end && !context.shared.stop.load(Ordering::Relaxed) {
            let length = (end - offset).min(self.kv_cache.transfer_size);
            if op == Op::Write {
                let range = self.arena.next_part(port.memory(), 0, file, offset, length as usize);
                port.write(offset, range).map_err(|error| failed(offset, &error))?;
                offset += length;
                continue;
            }
            match port.read(offset, 0..length as usize) {
                Ok(0) => return Err((file, offset, 0, "the file ends here; lay the cache out first".to_owned())),
                Ok(moved) => offset += moved as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(offset, &error)),
            }
        }
        Ok(())
    }

    /// Writes the files of slots that are not there: task t those of number t, t + tasks, …
    fn lay_out(&mut self, context: &mut TaskContext) -> Result<(), Failure> {
        let tasks = context.shared.spec.tasks.total as usize;
        for file in self.kv_cache.files().into_iter().skip(self.task as usize).step_by(tasks) {
            let begun_ns = monotonic_ns();
            self.whole_file(context, Op::Write, file)?;
            if context.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            context.tally.record(&context.counters, monotonic_ns() - begun_ns, self.kv_cache.turn_bytes);
        }
        Ok(())
    }

    fn serve(&mut self, context: &mut TaskContext) -> Result<(), Failure> {
        let clock = context.shared.clock;
        let start = clock.ticks();
        let time_ns = context.shared.spec.limit.time_ns.unwrap_or(u64::MAX);
        for turn in std::mem::take(&mut self.turns) {
            if turn.due_ns >= time_ns {
                break;
            }
            wait_until(context, start.saturating_add(clock.ticks_of(turn.due_ns)));
            if context.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.own.result.turns += 1;
            self.own.result.returning += u64::from(turn.read > 0 || turn.is_miss());
            self.own.result.found += u64::from(turn.read > 0);
            if clock.ns_between(start, clock.ticks()) >= time_ns {
                context.tally.timed_out = true;
                self.own.result.unserved += 1;
                self.own.times_ns.push(time_ns.saturating_sub(turn.due_ns));
                continue;
            }
            let latency_ns = self.turn(context, turn, start)?;
            if context.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.own.times_ns.push(latency_ns);
            let bytes = u64::from(turn.read + turn.written) * self.kv_cache.turn_bytes;
            context.tally.record(&context.counters, latency_ns, bytes);
        }
        Ok(())
    }

    /// How long it took, from its intended start on.
    fn turn(&mut self, context: &TaskContext, turn: Turn, start: u64) -> Result<u64, Failure> {
        let clock = context.shared.clock;
        let begun = clock.ticks();
        for place in 0..turn.read {
            self.whole_file(context, Op::Read, self.kv_cache.file(turn.slot, place))?;
        }
        let read = clock.ticks();
        for place in turn.read..turn.read + turn.written {
            self.whole_file(context, Op::Write, self.kv_cache.file(turn.slot, place))?;
        }
        let ended = clock.ticks();
        let result = &mut self.own.result;
        result.read_bytes += u64::from(turn.read) * self.kv_cache.turn_bytes;
        result.write_bytes += u64::from(turn.written) * self.kv_cache.turn_bytes;
        result.read_ns += clock.ns_between(begun, read);
        result.write_ns += clock.ns_between(read, ended);
        Ok(clock.ns_between(start, ended).saturating_sub(turn.due_ns))
    }
}

fn failure(file: u32, offset: u64, what: &str, error: &io::Error) -> Failure {
    (file, offset, error.raw_os_error().unwrap_or(0), format!("{what} failed: {error}"))
}

impl Worker for User {
    fn transfer(&mut self, context: &mut TaskContext) {
        let serves = self.kv_cache.step == KvCacheStep::Serve;
        let done = if serves { self.serve(context) } else { self.lay_out(context) };
        if let Err((file, offset, errno, message)) = done {
            context.fail(file, offset, errno, message);
        }
    }

    fn close(&mut self, _context: &mut TaskContext) {
        let Served { result: own, times_ns } = std::mem::take(&mut self.own);
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.result.turns += own.turns;
        served.result.unserved += own.unserved;
        served.result.returning += own.returning;
        served.result.found += own.found;
        served.result.read_bytes += own.read_bytes;
        served.result.write_bytes += own.write_bytes;
        served.result.read_ns += own.read_ns;
        served.result.write_ns += own.write_ns;
        served.times_ns.extend(times_ns);
    }

    fn retries(&mut self) -> Retries {
        std::mem::take(&mut self.retries)
    }
}
