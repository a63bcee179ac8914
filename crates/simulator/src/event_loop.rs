//! One phase in virtual time: what all workloads share. Tasks have lanes; each lane has one thing to come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use tonnage_records::{DAMAGE_KEPT, DamageAt, ErrorAt, Event, FileError, LatencyRecorder, LatencySummary, PhaseFiles};
use tonnage_records::{Role, StopReason, TaskResult, VerifyResult};
use tonnage_workload::{Op, PhaseSpec, Work};

use crate::model::ModelSpec;
use crate::nodes::{self, Nodes};
use crate::runner::Runner;
use crate::sampler::Sampler;
use crate::seeded_random::Chance;
use crate::speed::Speed;
use crate::stalls::Stalls;

pub(crate) const EIO: i32 = 5;
pub(crate) const ENOSPC: i32 = 28;

/// Counted over the life of the storage, so that every so many operations, whatever the phase, one goes wrong.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Operations begun.
    pub operations: u64,
    /// Reads whose bytes were checked.
    pub checked: u64,
    /// Each operation, where they are kept.
    pub visits: Option<Vec<Visit>>,
}

/// One operation, as a storage would see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The task that does it.
    pub task: u32,
    /// What it does with bytes; `None` where it moves none.
    pub op: Option<Op>,
    /// Of a stream, the file's number; of names, the number of the task whose they are.
    pub file: u32,
    /// Of a stream, where in the file; of names, the number of the item or of the tree's directory.
    pub offset: u64,
    /// Bytes that it moves.
    pub bytes: u64,
    /// When it begins, on the model's clock.
    pub begin_ns: u64,
    /// When it ends.
    pub end_ns: u64,
}

/// What the tasks of one kind of workload do.
pub(crate) trait EventHandler {
    /// Something of `lane` is due: what ends now is counted, and what comes next begins. When that is due; `None` if
    /// nothing of the lane is, or it was [scheduled](EventLoop::schedule).
    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64>;

    /// Whether an operation of `lane` is in flight: all else that is due is left once the phase has failed.
    fn is_in_flight(&self, lane: usize) -> bool;
}

/// The state of a running phase.
pub(crate) struct EventLoop<'a> {
    pub model: &'a ModelSpec,
    pub spec: &'a PhaseSpec,
    pub start_ns: u64,
    pub chance: Chance,
    pub stalls: Stalls,
    pub speed: Speed<'a>,
    pub nodes: Option<Nodes<'a>>,
    pub runners: Vec<Runner>,
    counters: &'a mut Counters,
    sampler: Sampler,
    /// What is due besides what the lane in hand does next: when, and of which lane.
    scheduled: Vec<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// Operations of another workload that share the device.
    beside: u64,
    /// When an operation failed, or the phase was ended: no task begins anything more, and who waits ends then.
    failed_ns: Option<u64>,
    first_error: Option<ErrorAt>,
    damage: Vec<DamageAt>,
}

/// When which lane has something to do.
pub(crate) struct Due(BinaryHeap<Reverse<(u64, u32)>>);

impl Due {
    /// When the first of them has.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.0.peek().map(|&Reverse((now_ns, _))| now_ns)
    }
}

/// What every phase leaves behind.
pub(crate) struct Finish {
    pub end_ns: u64,
    pub stop_reason: StopReason,
    pub tasks: Vec<TaskResult>,
    pub latency: LatencySummary,
    pub verify: VerifyResult,
    pub first_error: Option<ErrorAt>,
    pub events: Vec<Event>,
}

impl<'a> EventLoop<'a> {
    /// A phase that starts at `start_ns`, with its tasks at the start line and nothing in flight.
    pub fn new(
        model: &'a ModelSpec,
        spec: &'a PhaseSpec,
        start_ns: u64,
        counters: &'a mut Counters,
        files: Option<PhaseFiles>,
    ) -> Self {
        let tasks = spec.tasks;
        let mut chance = Chance::new(model.seed, &spec.record, spec.seed);
        let speed = Speed::new(model, spec, start_ns, &mut chance);
        let stall_chance = Chance::new(!model.seed, &spec.record, spec.seed);
        let in_flight = if let Work::Stream(stream) = &spec.work { u64::from(stream.in_flight(spec)) } else { 0 };
        let runner = |task| Runner { in_flight, ..Runner::new(task, nodes::slowness(model, spec, task), start_ns) };
        Self {
            model,
            spec,
            start_ns,
            chance,
            stalls: Stalls::new(model.stall_every_ns as f64, model.stall_ns, stall_chance, start_ns),
            speed,
            nodes: Nodes::of(model, spec),
            runners: (tasks.first..tasks.first + tasks.here).map(runner).collect(),
            counters,
            sampler: Sampler::new(files, tasks.first, tasks.here, start_ns, spec.interval_ns),
            scheduled: Vec::new(),
            in_flight: 0,
            beside: 0,
            failed_ns: None,
            first_error: None,
            damage: Vec::new(),
        }
    }

    /// Plays `lanes` lanes to their end.
    pub fn run(&mut self, lanes: usize, handler: &mut impl EventHandler) -> Result<(), FileError> {
        let mut due = self.begin(lanes, handler);
        self.run_on(&mut due, handler)
    }

    /// Plays on to the end.
    pub fn run_on(&mut self, due: &mut Due, handler: &mut impl EventHandler) -> Result<(), FileError> {
        while due.next_ns().is_some() {
            self.step(due, handler)?;
        }
        Ok(())
    }

    /// Lets each of `lanes` lanes begin; what is due then.
    pub fn begin(&mut self, lanes: usize, handler: &mut impl EventHandler) -> Due {
        let mut due = BinaryHeap::with_capacity(lanes);
        for lane in 0..lanes {
            if let Some(at_ns) = handler.step(self, lane, self.start_ns) {
                due.push(Reverse((at_ns, lane as u32)));
            }
            due.extend(self.scheduled.drain(..));
        }
        Due(due)
    }

    /// Does what is due first. Nothing where nothing is.
    #[inline]
    pub fn step(&mut self, due: &mut Due, handler: &mut impl EventHandler) -> Result<(), FileError> {
        let due = &mut due.0;
        let Some(&Reverse((now_ns, lane))) = due.peek() else { return Ok(()) };
        if self.failed_ns.is_some() && !handler.is_in_flight(lane as usize) {
            due.pop();
            return Ok(());
        }
        self.pass(now_ns)?;
        let again = handler.step(self, lane as usize, now_ns);
        // Replacing the top costs one sift where a pop and a push cost two.
        if let (Some(at_ns), Some(mut top)) = (again, due.peek_mut()) {
            *top = Reverse((at_ns, lane));
        } else {
            due.pop();
        }
        due.extend(self.scheduled.drain(..));
        Ok(())
    }

    /// So many operations of another workload share the device from now on.
    pub fn share_with(&mut self, beside: u64) {
        if self.beside != beside {
            self.beside = beside;
            self.crowd();
        }
    }

    /// Operations in flight.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The phase ends now: what is in flight comes to its end, and nothing more begins.
    pub fn end_at(&mut self, now_ns: u64) {
        self.failed_ns.get_or_insert(now_ns);
    }

    /// Something of `lane` is due at `at_ns`.
    pub fn schedule(&mut self, lane: usize, at_ns: u64) {
        self.scheduled.push(Reverse((at_ns, lane as u32)));
    }

    /// Lets the time come to `now_ns`.
    #[inline]
    pub fn pass(&mut self, now_ns: u64) -> Result<(), FileError> {
        if now_ns >= self.sampler.interval_end_ns() {
            self.sampler.advance_to(now_ns)?;
            self.speed.pass(now_ns);
        }
        Ok(())
    }

    /// When the running interval of the series ends.
    pub fn interval_end_ns(&self) -> u64 {
        self.sampler.interval_end_ns()
    }

    /// Whether an operation has failed, so that nothing more begins.
    pub const fn is_stopping(&self) -> bool {
        self.failed_ns.is_some()
    }

    /// The task at `index` has come to its wall: what it had done by then is told.
    pub fn tell(&mut self, index: usize) {
        let runner = &mut self.runners[index];
        runner.stonewall = Some((runner.operations, runner.bytes));
    }

    /// The task at `index` has nothing left to do from now on, because its time was up or not.
    pub fn ended(&mut self, index: usize, now_ns: u64, timed_out: bool) {
        let runner = &mut self.runners[index];
        runner.end_ns = runner.end_ns.max(now_ns);
        runner.timed_out |= timed_out;
        runner.is_over = true;
    }

    /// `more` operations of the task at `index` are in flight from now on. Tasks of other processes do as those here.
    pub fn board(&mut self, index: usize, more: u64) {
        self.in_flight += more;
        self.crowd();
        if let Some(nodes) = &mut self.nodes {
            nodes.board(index, more);
        }
    }

    /// One operation fewer of the task at `index` is in flight from now on: those that are left share the storage.
    pub fn alight(&mut self, index: usize) {
        self.in_flight -= 1;
        self.crowd();
        if let Some(nodes) = &mut self.nodes {
            nodes.alight(index);
        }
    }

    fn crowd(&mut self) {
        let tasks = self.spec.tasks;
        self.speed.crowd(self.in_flight * u64::from(tasks.total) / u64::from(tasks.here) + self.beside);
    }

    /// When an operation of the task at `index` ends that begins now and takes `mean_ns` on average.
    #[inline]
    pub fn end_of(&mut self, index: usize, now_ns: u64, mean_ns: f64) -> u64 {
        let service_ns = mean_ns * self.runners[index].slowness * self.chance.lognormal_mean_1(self.model.jitter);
        self.stalls.end_of(now_ns, (service_ns.round() as u64).max(1))
    }

    /// Whether the operation that begins now is one of those that fail.
    #[inline]
    pub fn draws_fault(&mut self) -> bool {
        self.counters.operations += 1;
        self.model.fault_every > 0 && self.counters.operations.is_multiple_of(self.model.fault_every)
    }

    /// Keeps what the task at `index` begins now, where that is asked for: an operation on `bytes` at a place.
    #[inline]
    pub fn visit(&mut self, index: usize, (op, file, offset, bytes): (Option<Op>, u32, u64, u64), begin_ns: u64, end_ns: u64) {
        if let Some(visits) = &mut self.counters.visits {
            visits.push(Visit { task: self.runners[index].number, op, file, offset, bytes, begin_ns, end_ns });
        }
    }

    /// An operation of the task at `index` fails at `failed_ns` and is over at `end_ns`, by another attempt.
    #[cold]
    pub fn tried_again(&mut self, index: usize, failed_ns: u64, end_ns: u64, verb: &str) {
        self.runners[index].retries += 1;
        self.sampler.happened(Event {
            time_ns: failed_ns,
            kind: "retry".to_owned(),
            task: Some(self.runners[index].number),
            duration_ns: Some(end_ns - failed_ns),
            attempts: Some(1),
            message: Some(format!("{verb} failed: {}", io::Error::from_raw_os_error(EIO))),
        });
    }

    /// The task at `index` follows others, and is in no total of the trial.
    pub fn follow(&mut self, index: usize) {
        self.runners[index].lag = Some((LatencyRecorder::new(), 0));
        self.keep_apart(index, Role::Follow);
    }

    /// The task at `index` is in no total of the trial.
    pub fn keep_apart(&mut self, index: usize, role: Role) {
        self.runners[index].role = role;
        self.sampler.keep_apart(index);
    }

    /// The task at `index` waited for its turn until now: that is no stall.
    pub fn wake(&mut self, index: usize, now_ns: u64) {
        self.sampler.wake(index, now_ns);
    }

    /// An operation ends now, done or failed.
    #[inline]
    pub fn arrive(&mut self, index: usize, now_ns: u64) {
        self.runners[index].end_ns = now_ns;
    }

    /// Counts an operation that succeeded now.
    #[inline]
    pub fn record(&mut self, index: usize, now_ns: u64, latency_ns: u64, bytes: u64) {
        let runner = &mut self.runners[index];
        runner.recorder.record(latency_ns);
        runner.bytes += bytes;
        runner.operations += 1;
        if runner.operations == runner.in_flight {
            runner.started_up_ns = Some(now_ns);
        }
        if runner.log.len() < self.spec.operation_log as usize {
            runner.log.push((now_ns - self.start_ns, latency_ns));
        }
        self.sampler.count(index, now_ns, latency_ns, bytes);
    }

    /// Counts a read whose bytes are checked: damage is counted, never fatal.
    pub fn verify(&mut self, index: usize, file: u32, offset: u64, bytes: u64) {
        let runner = &mut self.runners[index];
        runner.checked_bytes += bytes;
        self.counters.checked += 1;
        if self.model.damage_every > 0 && self.counters.checked.is_multiple_of(self.model.damage_every) {
            runner.damaged_operations += 1;
            if self.damage.len() < DAMAGE_KEPT {
                self.damage.push(DamageAt { task: runner.number, file, offset, what: "damaged by the model".to_owned() });
            }
        }
    }

    /// Counts a failed operation, keeps the first, and lets no task begin another: the trial has failed.
    #[cold]
    pub fn fail(&mut self, index: usize, (file, offset): (u32, u64), verb: &str, errno: i32) {
        self.fail_with(index, (file, offset), errno, format!("{verb} failed: {}", io::Error::from_raw_os_error(errno)));
    }

    /// The same, in other words than the system's.
    #[cold]
    pub fn fail_with(&mut self, index: usize, (file, offset): (u32, u64), errno: i32, message: String) {
        self.failed_ns.get_or_insert(self.runners[index].end_ns);
        self.miss(index, (file, offset), errno, message);
    }

    /// The same where all tasks go on, since what failed is no part of what they do.
    #[cold]
    pub fn miss(&mut self, index: usize, (file, offset): (u32, u64), errno: i32, message: String) {
        let runner = &mut self.runners[index];
        runner.errors += 1;
        self.first_error.get_or_insert(ErrorAt { task: runner.number, file, offset, errno, message });
    }

    /// Lets the task at `index` sync once after its last operation.
    pub fn sync_at_end(&mut self, index: usize) {
        let mean_ns = self.model.fsync_ns as f64;
        self.runners[index].sync_ns = (mean_ns * self.chance.lognormal_mean_1(self.model.jitter)).round() as u64;
    }

    /// Latencies of one kind of operation of a phase that mixes.
    pub fn part(&mut self, op: &str, latencies: &LatencyRecorder) {
        self.sampler.part(op, latencies);
    }

    /// Ends the phase with its last task.
    pub fn finish(self) -> Result<Finish, FileError> {
        let Self { mut runners, start_ns, mut sampler, damage, first_error, failed_ns, .. } = self;
        for runner in runners.iter_mut().filter(|runner| !runner.is_over) {
            runner.end_ns = runner.end_ns.max(failed_ns.unwrap_or(0));
        }
        let mut total = LatencyRecorder::new();
        runners.iter().filter(|runner| runner.role == Role::Work).for_each(|runner| total.add(&runner.recorder));
        let tasks: Vec<TaskResult> = runners.iter().map(|runner| runner.result(start_ns)).collect();
        let end_ns = tasks.iter().map(|task| task.end_ns).max().unwrap_or(start_ns);
        for runner in &runners {
            sampler.keep(runner.number, &runner.log)?;
        }
        let histograms: Vec<_> = runners.iter().flat_map(Runner::histograms).collect();
        let events = sampler.finish(end_ns, &histograms)?;
        let mut verify = VerifyResult { first_damage: damage, ..VerifyResult::default() };
        for runner in &runners {
            verify.add(runner.checked_bytes, runner.damaged_operations, []);
        }
        let timed_out = runners.iter().any(|runner| runner.timed_out);
        let stop_reason = StopReason::of(first_error.is_some(), false, timed_out);
        Ok(Finish { end_ns, stop_reason, tasks, latency: total.summary(), verify, first_error, events })
    }
}
