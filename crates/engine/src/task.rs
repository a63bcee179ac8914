//! One task: its thread's life from preparation to its result.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use tonnage_records::{DAMAGE_KEPT, DamageAt, ErrorAt, Event, LatencyRecorder, PhaseResult, Role, Side, Tagged, TaskResult};
use tonnage_storage::{CacheState, Storage, StorageError};
use tonnage_workload::{CachePolicy, Op, PhaseSpec, TaskRange, Verifier};

use crate::barrier::Barrier;
use crate::clock::{Clock, monotonic_ns};
use crate::remote_barrier::{Point, RemoteBarrier};
use crate::retry::Retries;
use crate::task_counters::{Step, TaskCounters};

/// What all tasks of a phase share.
pub struct Shared {
    pub spec: PhaseSpec,
    pub storage: Arc<dyn Storage>,
    pub workload: Box<dyn PhaseWorkload>,
    pub clock: Clock,
    /// Set when the tasks are to end after the operation in hand.
    pub stop: Arc<AtomicBool>,
    /// The user asked for it.
    pub interrupted: AtomicBool,
    /// Tasks that have not ended; the last one wakes the supervisor.
    pub running: AtomicU32,
    pub supervisor: OnceLock<std::thread::Thread>,
    /// Where the tasks wait for each other between their steps, if they do.
    pub meeting: Option<Barrier>,
    /// Where they agree with the tasks of other processes, if they do.
    pub remote_barrier: Option<Arc<RemoteBarrier>>,
}

/// The handle of one task's thread: its outcome, or why it could not be prepared; `None` if it was sent home.
pub type TaskHandle = JoinHandle<Result<Option<Outcome>, StorageError>>;

/// What a task leaves behind.
pub struct Outcome {
    pub result: TaskResult,
    pub recorder: LatencyRecorder,
    /// Where the phase mixes: the same for each kind of operation, writes first.
    pub sides: Option<[Side; 2]>,
    pub error: Option<ErrorAt>,
    pub damage: Vec<DamageAt>,
    pub checked_bytes: u64,
    pub log: Vec<(u64, u64)>,
    /// What happened to it.
    pub events: Vec<Event>,
    /// The task ended because its time was up.
    pub timed_out: bool,
}

/// A task that is ready to start: nothing is allocated after this.
pub struct Task {
    context: TaskContext,
    worker: Box<dyn Worker>,
}

/// What every worker has at hand.
pub struct TaskContext {
    pub shared: Arc<Shared>,
    pub counters: Arc<TaskCounters>,
    /// The task's number in the trial.
    pub number: u32,
    pub tally: Tally,
}

/// What is known before there are files, or where too many would have to be looked at: whether the kernel counts truly
/// what is read of them.
pub fn of_places(storage: &dyn Storage) -> Result<CacheState, StorageError> {
    let counted = storage.settle(&[], CachePolicy::Keep)?.counted;
    Ok(CacheState { counted, ..CacheState::default() })
}

/// One kind of workload in this engine: made once a phase; what the phase's tasks share is in it.
pub trait PhaseWorkload: Send + Sync {
    /// Before the tasks are prepared: checks what must be there, and brings the cache into the state asked for.
    fn before(&self, storage: &dyn Storage, spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError>;

    /// Gives a task its part, ready to start: memory touched, lane prepared.
    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError>;

    /// What a task is in the trial. A follower is in no total, rate or live figure of it.
    fn role(&self, _task: u32) -> Role {
        Role::Work
    }

    /// Called by the supervisor about ten times a second: for what no worker can do while it waits for something else.
    fn tick(&self, _shared: &Shared) {}

    /// Histograms that it keeps beside those of the tasks' latencies.
    fn histograms(&self) -> Vec<(Tagged, LatencyRecorder)> {
        Vec::new()
    }

    /// Adds what only this kind knows to the result.
    fn after(&self, _result: &mut PhaseResult) {}
}

/// One task's part of a phase, in the four steps that its record tells apart. All are inside the clock.
pub trait Worker: Send {
    /// Whether there is something to transfer; a failure is told to the tally.
    fn open(&mut self, _desk: &mut TaskContext) -> bool {
        true
    }

    /// All operations: until they are done, the time is up, or someone says stop.
    fn transfer(&mut self, context: &mut TaskContext);

    /// Makes what was written durable.
    fn sync(&mut self, _desk: &mut TaskContext) {}

    /// The end.
    fn close(&mut self, _desk: &mut TaskContext) {}

    /// What it tried again, once, after all else.
    fn retries(&mut self) -> Retries {
        Retries::default()
    }

    /// Operations that it keeps in flight for as long as its time lasts; 0 where anything else decides when they begin.
    fn in_flight(&self, _spec: &PhaseSpec) -> usize {
        0
    }

    /// Whether it began its part again.
    fn wrapped(&self, _operations: u64) -> bool {
        false
    }
}

/// What a task counts in its loop.
pub struct Tally {
    pub recorder: LatencyRecorder,
    /// Where the phase mixes, the reads are here and the writes above.
    pub reads: Option<Side>,
    pub errors: u64,
    pub error: Option<ErrorAt>,
    pub damage: Vec<DamageAt>,
    pub damaged_operations: u64,
    pub checked_bytes: u64,
    pub timed_out: bool,
    /// Operations and bytes that were done when the time was up, where the task wears out.
    pub stonewall: Option<(u64, u64)>,
    /// End (on the run's clock) and latency of the first operations, as many as its capacity; none where none are kept.
    pub log: Vec<(u64, u64)>,
}

impl Task {
    /// Gets everything a task needs.
    pub fn prepare(shared: Arc<Shared>, counters: Arc<TaskCounters>, number: u32) -> Result<Self, StorageError> {
        let worker = shared.workload.worker(&shared, number)?;
        let logged = worker.in_flight(&shared.spec).max(shared.spec.operation_log as usize);
        let tally = Tally {
            recorder: LatencyRecorder::new(),
            reads: shared.spec.work.mixes().then(Side::default),
            errors: 0,
            error: None,
            damage: Vec::with_capacity(DAMAGE_KEPT),
            damaged_operations: 0,
            checked_bytes: 0,
            timed_out: false,
            stonewall: None,
            log: Vec::with_capacity(logged),
        };
        Ok(Self { context: TaskContext { shared, counters, number, tally }, worker })
    }

    /// Opens, transfers, syncs and closes: the part inside the clock.
    pub fn run(self) -> Outcome {
        let Self { mut context, mut worker } = self;
        let start_ns = monotonic_ns();
        context.counters.start(start_ns);
        let opened = worker.open(&mut context);
        let open_end_ns = monotonic_ns();
        let transfer_start_ns = context.meet(Point::Opened, open_end_ns);
        context.counters.set_step(Step::Transferring);
        if opened {
            worker.transfer(&mut context);
        }
        context.counters.set_step(Step::Finishing);
        let transfer_end_ns = monotonic_ns();
        if opened {
            worker.sync(&mut context);
        }
        let sync_end_ns = monotonic_ns();
        let close_start_ns = context.meet(Point::Transferred, sync_end_ns);
        if opened {
            worker.close(&mut context);
        }
        let end_ns = monotonic_ns();
        let mut retries = worker.retries();
        retries.events.iter_mut().for_each(|event| event.task = Some(context.number));
        let TaskContext { shared, counters, number, mut tally } = context;
        let sides = tally.take_sides(&counters);
        let Tally { recorder, errors, error, damage, damaged_operations, checked_bytes, timed_out, stonewall, mut log, .. } =
            tally;
        let in_flight = worker.in_flight(&shared.spec);
        let started_up_ns = in_flight.checked_sub(1).and_then(|last| log.get(last)).map(|&(end_ns, _)| end_ns);
        log.truncate(shared.spec.operation_log as usize);
        let result = TaskResult {
            task: number,
            role: shared.workload.role(number),
            start_ns,
            end_ns,
            open_ns: open_end_ns - start_ns,
            transfer_ns: transfer_end_ns - transfer_start_ns,
            sync_ns: sync_end_ns - transfer_end_ns,
            close_ns: end_ns - close_start_ns,
            open_wait_ns: transfer_start_ns - open_end_ns,
            close_wait_ns: close_start_ns - sync_end_ns,
            bytes: counters.bytes(),
            operations: counters.operations(),
            errors,
            retries: retries.attempts,
            damaged_operations,
            wrapped: worker.wrapped(counters.operations()),
            stonewall_operations: stonewall.map(|(operations, _)| operations),
            stonewall_bytes: stonewall.map(|(_, bytes)| bytes),
            latency: recorder.summary(),
            ..TaskResult::default()
        }
        .with_startup(in_flight as u64, started_up_ns, timed_out);
        Outcome { result, recorder, sides, error, damage, checked_bytes, log, events: retries.events, timed_out }
    }
}

impl Shared {
    /// Whether each task here is one whose operations are the trial's, in their order.
    pub fn works(&self) -> impl Iterator<Item = bool> {
        let TaskRange { first, here, .. } = self.spec.tasks;
        (first..first + here).map(|task| self.workload.role(task) == Role::Work)
    }
}

impl TaskContext {
    /// Waits for all tasks of the phase where they meet between their steps; when it goes on. `came_ns` is now.
    fn meet(&self, point: Point, came_ns: u64) -> u64 {
        let Some(meeting) = self.shared.meeting.as_ref().filter(|_| self.shared.spec.work.meets()) else { return came_ns };
        meeting.meet(point, 0, &self.shared.stop);
        monotonic_ns()
    }

    /// Waits for all tasks of the phase at the point of this number, which only kinds of workload that have any know.
    /// The largest `number` that one of them said so far; `None` if all are to stop.
    pub fn meet_at(&self, point: u32, number: u64) -> Option<u64> {
        let most = self.shared.meeting.as_ref().map_or(number, |meeting| {
            self.counters.set_step(Step::Pausing);
            meeting.meet(Point::Numbered(point), number, &self.shared.stop)
        });
        (!self.shared.stop.load(Ordering::Relaxed)).then_some(most)
    }

    /// Counts a failed operation, keeps the first, and asks all tasks to stop: the trial has failed.
    #[cold]
    pub fn fail(&mut self, file: u32, offset: u64, errno: i32, message: String) {
        self.miss(file, offset, errno, message);
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// The same where the others go on, since what failed is no part of what they do.
    #[cold]
    pub fn miss(&mut self, file: u32, offset: u64, errno: i32, message: String) {
        self.tally.errors += 1;
        self.tally.error.get_or_insert(ErrorAt { task: self.number, file, offset, errno, message });
    }
}

impl Tally {
    /// What each kind of operation did, writes first, where the phase mixes; the recorder is that of both then.
    fn take_sides(&mut self, counters: &TaskCounters) -> Option<[Side; 2]> {
        let reads = self.reads.take()?;
        let writes = Side { recorder: self.recorder.clone(), bytes: counters.bytes() - reads.bytes };
        self.recorder.add(&reads.recorder);
        Some([writes, reads])
    }

    /// Counts an operation that moved all its bytes.
    #[inline]
    pub fn record(&mut self, counters: &TaskCounters, latency_ns: u64, bytes: u64) {
        self.recorder.record(latency_ns);
        counters.count(latency_ns, bytes);
        if self.log.len() < self.log.capacity() {
            self.keep(latency_ns);
        }
    }

    #[cold]
    fn keep(&mut self, latency_ns: u64) {
        self.log.push((monotonic_ns(), latency_ns));
    }

    /// The same where operations may be of two kinds.
    #[inline]
    pub fn record_as(&mut self, op: Op, counters: &TaskCounters, latency_ns: u64, bytes: u64) {
        match &mut self.reads {
            Some(reads) if op == Op::Read => reads.record(latency_ns, bytes),
            _ => self.recorder.record(latency_ns),
        }
        counters.count(latency_ns, bytes);
        if self.log.len() < self.log.capacity() {
            self.keep(latency_ns);
        }
    }

    /// Checks a transfer that was read; damage is counted, never fatal, so that all of it is found.
    #[inline]
    pub fn verify(&mut self, verifier: &Verifier, transfer: &[u8], task: u32, file: u32, offset: u64) {
        self.checked_bytes += transfer.len() as u64;
        if let Err(damage) = verifier.check(transfer, file, offset) {
            self.damaged_operations += 1;
            if self.damage.len() < DAMAGE_KEPT {
                self.damage.push(DamageAt { task, file, offset: damage.offset, what: damage.what.to_owned() });
            }
        }
    }
}
