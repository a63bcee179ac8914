//! One phase in virtual time: a closed system of operations in flight, each replaced as it completes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;

use tonnage_records::{ErrorAt, Event, FileError, LatencyRecorder, LatencySummary, PhaseFiles, Role, StopReason, TaskResult};
use tonnage_workload::{Durability, Offsets, Op, PhaseSpec, Stream};

use crate::burst::Burst;
use crate::chance::Chance;
use crate::files::{Files, is_cached};
use crate::model::ModelSpec;
use crate::pace::Pace;
use crate::sampler::Sampler;
use crate::stalls::Stalls;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What a phase finds.
pub(crate) struct Storage<'a> {
    pub files: &'a Files,
    pub burst: &'a mut Burst,
    /// Operations started in the life of the storage.
    pub operations: &'a mut u64,
    /// The cache holds all files of the phase, so what was read once is read from it.
    pub refills: bool,
}

/// What a phase leaves behind.
pub(crate) struct Finish {
    pub end_ns: u64,
    pub stop_reason: StopReason,
    pub tasks: Vec<TaskResult>,
    pub latency: LatencySummary,
    pub first_error: Option<ErrorAt>,
    pub events: Vec<Event>,
    pub device_bytes: u64,
    pub files: Vec<FileInRace>,
}

/// A file while a phase works on it.
pub(crate) struct FileInRace {
    pub number: u32,
    pub length: u64,
    pub allocated: u64,
    /// Bytes moved.
    pub touched: u64,
    /// Bytes of the first pass begun so far.
    first_pass: u64,
    cached_share: f64,
}

/// A task: what is left of its block, and what it has counted.
struct Runner {
    number: u32,
    file: usize,
    offsets: Offsets,
    left: u64,
    slowness: f64,
    recorder: LatencyRecorder,
    bytes: u64,
    operations: u64,
    errors: u64,
    timed_out: bool,
    /// When its last operation ended.
    end_ns: u64,
}

/// An operation in flight.
#[derive(Clone, Copy, Default)]
struct Flight {
    runner: usize,
    offset: u64,
    started_ns: u64,
    /// 0 if it will succeed.
    errno: i32,
    from_device: bool,
}

struct Race<'a> {
    model: &'a ModelSpec,
    spec: &'a PhaseSpec,
    stream: &'a Stream,
    storage: Storage<'a>,
    chance: Chance,
    stalls: Stalls,
    pace: Pace<'a>,
    runners: Vec<Runner>,
    files: Vec<FileInRace>,
    flights: Vec<Flight>,
    /// In flight, those of other processes of the trial included.
    in_flight: u64,
    allocated: u64,
    device_bytes: u64,
    deadline_ns: u64,
    stopping: bool,
    first_error: Option<ErrorAt>,
}

/// Runs `spec`, starting at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    spec: &PhaseSpec,
    stream: &Stream,
    start_ns: u64,
    storage: Storage,
    files: Option<PhaseFiles>,
) -> Result<Finish, FileError> {
    let tasks = spec.tasks;
    let mut sampler = Sampler::new(files, tasks.first, tasks.here, start_ns, spec.interval_ns);
    let mut race = Race::new(model, spec, stream, start_ns, storage);
    let mut due = BinaryHeap::with_capacity(race.flights.len());
    for flight in 0..race.flights.len() {
        match race.issue(flight, start_ns) {
            Some(end_ns) => due.push(Reverse((end_ns, flight as u32))),
            None => race.retire(start_ns),
        }
    }
    while let Some(mut next) = due.peek_mut() {
        let Reverse((now_ns, flight)) = *next;
        if now_ns >= sampler.interval_end_ns() {
            sampler.advance_to(now_ns)?;
            race.pace.refresh(now_ns, race.in_flight);
        }
        race.complete(flight as usize, now_ns, &mut sampler);
        // Replacing the top costs one sift where a pop and a push cost two.
        if let Some(end_ns) = race.issue(flight as usize, now_ns) {
            *next = Reverse((end_ns, flight));
        } else {
            PeekMut::pop(next);
            race.retire(now_ns);
        }
    }
    race.finish(start_ns, sampler)
}

impl<'a> Race<'a> {
    fn new(model: &'a ModelSpec, spec: &'a PhaseSpec, stream: &'a Stream, start_ns: u64, storage: Storage<'a>) -> Self {
        let (tasks, depth) = (spec.tasks, stream.queue_depth);
        let mut chance = Chance::new(model.seed, &spec.record, spec.seed);
        let mut pace = Pace::new(model, stream.op, stream.geometry.transfer_size, start_ns, &mut chance);
        let in_flight = u64::from(tasks.total) * u64::from(depth);
        pace.refresh(start_ns, in_flight);
        let stall_chance = Chance::new(!model.seed, &spec.record, spec.seed);
        let mut race = Self {
            model,
            spec,
            stream,
            chance,
            stalls: Stalls::new(model.stall_every_ns, model.stall_ns, stall_chance, start_ns),
            pace,
            runners: Vec::with_capacity(tasks.here as usize),
            files: Vec::new(),
            flights: Vec::new(),
            in_flight,
            allocated: storage.files.allocated(),
            device_bytes: 0,
            deadline_ns: spec.limit.time_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns)),
            stopping: false,
            first_error: None,
            storage,
        };
        for number in tasks.first..tasks.first + tasks.here {
            race.add_runner(number, start_ns);
        }
        // Lane by lane, so that each task has its first operation in flight before any has its second.
        let runners = race.runners.len();
        race.flights = (0..runners * depth as usize).map(|lane| Flight { runner: lane % runners, ..Flight::default() }).collect();
        race
    }

    fn add_runner(&mut self, number: u32, start_ns: u64) {
        let (geometry, tasks) = (&self.stream.geometry, self.spec.tasks);
        let file = geometry.file(number);
        if self.files.last().is_none_or(|last| last.number != file) {
            let state = self.storage.files.by_number.get(&file).cloned().unwrap_or_default();
            self.files.push(FileInRace {
                number: file,
                length: state.length,
                allocated: state.allocated,
                touched: 0,
                first_pass: 0,
                cached_share: if self.model.direct { 0.0 } else { state.cached_share() },
            });
        }
        self.runners.push(Runner {
            number,
            file: self.files.len() - 1,
            offsets: geometry.offsets(number, tasks.total, self.spec.seed),
            left: if self.spec.limit.wrap { u64::MAX } else { geometry.operations() },
            slowness: if tasks.total > 1 && number + 1 == tasks.total { self.model.straggler } else { 1.0 },
            recorder: LatencyRecorder::new(),
            bytes: 0,
            operations: 0,
            errors: 0,
            timed_out: false,
            end_ns: start_ns,
        });
    }

    /// Starts the next operation of a lane, if its task has one to start; when it will end.
    #[inline]
    fn issue(&mut self, flight: usize, now_ns: u64) -> Option<u64> {
        let index = self.flights[flight].runner;
        let runner = &mut self.runners[index];
        if runner.left == 0 || runner.timed_out || self.stopping {
            return None;
        }
        runner.left -= 1;
        let (slowness, file) = (runner.slowness, runner.file);
        let first_pass = runner.offsets.passes() == 0;
        let offset = runner.offsets.next_offset();
        let (mean_ns, from_device) = match self.stream.op {
            Op::Write => (self.write_ns(now_ns), true),
            Op::Read if self.is_hit(file, offset, first_pass) => (self.pace.cache_ns(), false),
            Op::Read => (self.pace.device_ns(now_ns), true),
        };
        let service_ns = mean_ns * slowness * self.chance.lognormal_mean_1(self.model.jitter);
        let errno = self.fate(file, offset, first_pass);
        self.flights[flight] = Flight { runner: index, offset, started_ns: now_ns, errno, from_device };
        Some(self.stalls.end_of(now_ns, (service_ns.round() as u64).max(1)))
    }

    #[inline]
    fn is_hit(&self, file: usize, offset: u64, first_pass: bool) -> bool {
        if !first_pass && self.storage.refills && !self.model.direct {
            return true;
        }
        is_cached(self.files[file].number, offset, self.files[file].cached_share)
    }

    #[inline]
    fn write_ns(&mut self, now_ns: u64) -> f64 {
        let sync_ns = if self.stream.durability == Durability::FsyncEach { self.model.fsync_ns as f64 } else { 0.0 };
        if self.model.burst_bytes == 0 {
            return sync_ns + self.pace.device_ns(now_ns);
        }
        self.storage.burst.drain(now_ns, self.pace.device_bytes_per_s);
        let taken = self.storage.burst.take(self.stream.geometry.transfer_size);
        sync_ns + if taken { self.pace.burst_ns(now_ns) } else { self.pace.device_ns(now_ns) }
    }

    /// The errno that an operation will end with; 0 if it will succeed, and then a write has its space.
    #[inline]
    fn fate(&mut self, file: usize, offset: u64, first_pass: bool) -> i32 {
        *self.storage.operations += 1;
        if self.model.fault_every > 0 && self.storage.operations.is_multiple_of(self.model.fault_every) {
            return EIO;
        }
        if self.stream.op == Op::Write {
            let (size, file) = (self.stream.geometry.transfer_size, &mut self.files[file]);
            if first_pass {
                let grown = (file.first_pass + size).saturating_sub(file.allocated);
                if self.model.full_after_bytes.is_some_and(|full| self.allocated + grown > full) {
                    return ENOSPC;
                }
                file.first_pass += size;
                file.allocated += grown;
                self.allocated += grown;
            }
            file.length = file.length.max(offset + size);
        }
        0
    }

    /// Counts the operation of a lane, which ends now.
    #[inline]
    fn complete(&mut self, flight: usize, now_ns: u64, sampler: &mut Sampler) {
        let Flight { runner: index, offset, started_ns, errno, from_device } = self.flights[flight];
        let size = self.stream.geometry.transfer_size;
        let runner = &mut self.runners[index];
        runner.end_ns = now_ns;
        runner.timed_out |= now_ns >= self.deadline_ns;
        if errno != 0 {
            self.fail(index, offset, errno);
            return;
        }
        runner.recorder.record(now_ns - started_ns);
        runner.bytes += size;
        runner.operations += 1;
        self.files[runner.file].touched += size;
        if from_device {
            self.device_bytes += size;
        }
        sampler.count(index, now_ns, now_ns - started_ns, size);
    }

    /// Counts a failed operation, keeps the first, and lets no task begin another: the trial has failed.
    #[cold]
    fn fail(&mut self, index: usize, offset: u64, errno: i32) {
        let runner = &mut self.runners[index];
        runner.errors += 1;
        self.stopping = true;
        let verb = if self.stream.op == Op::Write { "write" } else { "read" };
        let (task, file) = (runner.number, self.files[runner.file].number);
        let message = format!("{verb} failed: {}", io::Error::from_raw_os_error(errno));
        self.first_error.get_or_insert(ErrorAt { task, file, offset, errno, message });
    }

    /// A lane is empty: those that are left share the storage.
    #[cold]
    fn retire(&mut self, now_ns: u64) {
        self.in_flight -= 1;
        self.pace.refresh(now_ns, self.in_flight);
    }

    fn finish(mut self, start_ns: u64, sampler: Sampler) -> Result<Finish, FileError> {
        let syncs = self.stream.op == Op::Write && self.stream.durability != Durability::None;
        let (mut tasks, mut total) = (Vec::with_capacity(self.runners.len()), LatencyRecorder::new());
        for runner in &self.runners {
            let mean_ns = if syncs { self.model.fsync_ns as f64 } else { 0.0 };
            let sync_ns = (mean_ns * self.chance.lognormal_mean_1(self.model.jitter)).round() as u64;
            total.add(&runner.recorder);
            tasks.push(TaskResult {
                task: runner.number,
                role: Role::Work,
                start_ns,
                end_ns: runner.end_ns + sync_ns,
                open_ns: 0,
                transfer_ns: runner.end_ns - start_ns,
                sync_ns,
                close_ns: 0,
                bytes: runner.bytes,
                operations: runner.operations,
                errors: runner.errors,
                damaged_operations: 0,
                wrapped: runner.operations > self.stream.geometry.operations(),
                stonewall_operations: None,
                stonewall_bytes: None,
                max_lag_ns: None,
                max_lag_bytes: None,
                latency: runner.recorder.summary(),
            });
        }
        let end_ns = tasks.iter().map(|task| task.end_ns).max().unwrap_or(start_ns);
        let recorders: Vec<_> = self.runners.iter().map(|runner| (runner.number, &runner.recorder)).collect();
        let events = sampler.finish(end_ns, &recorders)?;
        let stop_reason = match () {
            () if self.first_error.is_some() => StopReason::Error,
            () if self.runners.iter().any(|runner| runner.timed_out) => StopReason::Time,
            () => StopReason::Size,
        };
        let Self { first_error, device_bytes, files, .. } = self;
        Ok(Finish { end_ns, stop_reason, tasks, latency: total.summary(), first_error, events, device_bytes, files })
    }
}
