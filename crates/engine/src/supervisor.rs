//! Watches a running phase: samples the tasks' counters into the series, notices stalls, and collects the result.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tonnage_records::{
    BUCKETS, CacheFacts, ErrorAt, Event, FileError, HeldResult, LatencyRecorder, Note, PhaseFiles, PhaseResult, PlacementResult,
    Role, SIDES, SNAPSHOTS, SeriesRow, Side, Silence, StopReason, Tagged, TaskResult, VerifyResult, parts_of,
};
use tonnage_storage::{Buffer, CacheState, Facts, PlacedObjects, Placement, Traffic};
use tonnage_workload::Work;

use crate::clock::monotonic_ns;
use crate::phase_outcome::{EngineError, Finished};
use crate::process_usage::Usage;
use crate::space::SpaceWatch;
use crate::task::{Outcome, Shared, TaskHandle};
use crate::task_counters::{Reading, TaskCounters, quantile_of};

/// What "now" means in the live figures.
const RECENT_NS: u64 = 1_000_000_000;

/// Figures over the last second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recent {
    pub bandwidth_bytes_per_s: u64,
    pub p99_ns: u64,
}

/// Everything the supervisor's thread takes with it.
pub struct Supervisor {
    pub shared: Arc<Shared>,
    pub all_counters: Arc<[Arc<TaskCounters>]>,
    pub handles: Vec<TaskHandle>,
    pub files: Option<PhaseFiles>,
    pub cache_state: Option<CacheState>,
    /// Held until the phase has ended, for its weight alone.
    pub hog: Option<Buffer>,
    pub recent: Arc<Mutex<Recent>>,
    pub finished: Arc<Finished>,
}

impl Supervisor {
    /// Opens the start line, samples until all tasks have ended, and leaves the result.
    pub fn run(mut self, open: impl FnOnce()) {
        let _ = self.shared.supervisor.set(std::thread::current());
        let usage = Usage::now();
        let line_ns = monotonic_ns();
        self.finished.line_ns.store(line_ns, Ordering::Release);
        let mut sampler = Sampler::new(&self.shared, &self.all_counters, self.files.take(), line_ns);
        let space_watch = SpaceWatch::start(&self.shared, &self.all_counters);
        open();
        let interval = Duration::from_nanos(self.shared.spec.interval_ns);
        while self.shared.running.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(interval);
            if self.shared.stop.load(Ordering::Relaxed) {
                self.shared.storage.cut_short();
            }
            if self.shared.running.load(Ordering::Acquire) > 0 {
                sampler.sample(&self.recent, monotonic_ns());
                self.shared.workload.tick(&self.shared);
            }
        }
        let outcomes: Vec<_> = std::mem::take(&mut self.handles).into_iter().map(std::thread::JoinHandle::join).collect();
        let usage = Usage::now().since(&usage);
        self.hog = None;
        let outcomes: Option<Vec<Outcome>> = outcomes.into_iter().map(|joined| joined.ok()?.ok()?).collect();
        let ended_ns = outcomes.iter().flatten().map(|outcome| outcome.result.end_ns).max();
        // What is over has no part of the time that it took to notice.
        sampler.sample(&self.recent, ended_ns.filter(|&ns| ns > sampler.last_ns).unwrap_or_else(monotonic_ns));
        let no_space = space_watch.and_then(SpaceWatch::end);
        if let Some(remote_barrier) = &self.shared.remote_barrier {
            remote_barrier.settle(&self.shared.stop);
        }
        let result = outcomes.ok_or(EngineError::Panic).and_then(|outcomes| self.collect(outcomes, sampler, &usage, no_space));
        self.leave(result);
    }

    /// Joins tasks whose start line never opened.
    pub fn send_home(self) {
        for handle in self.handles {
            let _ = handle.join();
        }
    }

    fn leave(&self, result: Result<PhaseResult, EngineError>) {
        *self.finished.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.finished.done.store(true, Ordering::Release);
        self.finished.announce();
    }

    /// What went wrong between the processes.
    fn complaint(&self) -> Option<ErrorAt> {
        let message = self.shared.remote_barrier.as_ref()?.complaint()?;
        Some(self.of_all(message))
    }

    /// What no task alone is to blame for.
    fn of_all(&self, message: String) -> ErrorAt {
        ErrorAt { task: self.shared.spec.tasks.first, file: 0, offset: 0, errno: 0, message }
    }

    /// Why the phase failed, of what its first task that failed says.
    fn why(&self, first_error: Option<ErrorAt>) -> Option<ErrorAt> {
        // What broke off because the user wants the end at once is no failure of the storage.
        let first_error = first_error.filter(|_| !tonnage_storage::waits_are_over());
        first_error.or_else(|| self.complaint()).map(|error| self.explained(error))
    }

    /// With what else the storage knows of it: asked here, where nothing is timed any more, and once.
    fn explained(&self, error: ErrorAt) -> ErrorAt {
        let why = (error.errno > 0).then(|| std::io::Error::from_raw_os_error(error.errno));
        match why.and_then(|why| self.shared.storage.explain(&why)) {
            Some(why) => ErrorAt { message: format!("{}: {why}", error.message), ..error },
            None => error,
        }
    }

    /// Where the storage put the objects of the phase, or a note on why that is not known.
    fn placement(&self, notes: &mut Vec<tonnage_storage::Note>) -> Option<PlacementResult> {
        match self.shared.storage.placement() {
            Ok(found) => found.map(placement_result),
            Err(error) => {
                notes.push(("not-placed", format!("it is not known which servers hold the objects: {error}")));
                None
            }
        }
    }

    /// Where bytes may be in a cache when an operation ends, the storage did not move them until then: no start-up is told.
    fn check_startups(&self, direct: bool, tasks: &mut [TaskResult]) {
        if !direct && matches!(&self.shared.spec.work, Work::Stream(stream) if stream.leaves_to_sync()) {
            for task in tasks {
                (task.startup_ns, task.startup_bytes) = (None, None);
            }
        }
    }

    fn collect(
        &self,
        outcomes: Vec<Outcome>,
        sampler: Sampler,
        usage: &Usage,
        no_space: Option<String>,
    ) -> Result<PhaseResult, EngineError> {
        let parts = self.shared.spec.work.mixes().then(|| sum_of_sides(&outcomes));
        let mut events = sampler.finish(&outcomes, &self.shared.workload.histograms(), parts.as_ref())?;
        let mut total = LatencyRecorder::new();
        let mut verify = self.shared.spec.work.verifies().then(VerifyResult::default);
        let mut first_error = None;
        let timed_out = outcomes.iter().any(|outcome| outcome.timed_out);
        let mut tasks = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            if outcome.result.role == Role::Work {
                total.add(&outcome.recorder);
            }
            if let Some(verify) = &mut verify {
                verify.add(outcome.checked_bytes, outcome.result.damaged_operations, outcome.damage);
            }
            events.extend(outcome.events);
            first_error = first_error.or(outcome.error);
            tasks.push(outcome.result);
        }
        // Of tasks that failed for want of space as well, it says more.
        let first_error = self.why(no_space.map(|message| self.of_all(message)).or(first_error));
        events.sort_by_key(|event| (event.time_ns, event.task));
        let Facts { direct, flags, hints, mut notes } = self.shared.storage.facts();
        self.check_startups(direct, &mut tasks);
        let placement = self.placement(&mut notes);
        let mut result = PhaseResult {
            stop_reason: StopReason::of(first_error.is_some(), self.shared.interrupted.load(Ordering::Relaxed), timed_out),
            tasks,
            latency: total.summary(),
            cpu_user_ns: usage.cpu_user_ns,
            cpu_system_ns: usage.cpu_system_ns,
            direct,
            cache: self.cache_facts(usage),
            verify,
            first_error,
            hints: hints.into_iter().collect(),
            facts: flags.into_iter().map(|(name, is)| (name.to_owned(), is)).collect(),
            notes: notes_of(notes).collect(),
            events,
            parts: parts.as_ref().map(parts_of).unwrap_or_default(),
            follow: None,
            copies: Vec::new(),
            checkpoint: None,
            found: None,
            training: None,
            kv_cache: None,
            placement,
        };
        self.shared.workload.after(&mut result);
        Ok(result)
    }

    fn cache_facts(&self, usage: &Usage) -> Option<CacheFacts> {
        self.cache_state.map(|cache_state| CacheFacts {
            cached_before_bytes: cache_state.cached_bytes,
            examined_bytes: cache_state.examined_bytes,
            device_bytes: usage.device_read_bytes.filter(|_| cache_state.counted),
            hole_bytes: cache_state.hole_bytes,
        })
    }
}

/// What a storage has to tell, as a result tells it.
pub fn notes_of(notes: Vec<tonnage_storage::Note>) -> impl Iterator<Item = Note> {
    notes.into_iter().map(|(code, message)| Note { code: code.to_owned(), message })
}

fn placement_result(found: Placement) -> PlacementResult {
    let held = |PlacedObjects { group, osds, objects, names, traffic }| {
        let Traffic { writes, written_bytes, reads, read_bytes } = traffic;
        HeldResult { group, osds, objects, names, writes, written_bytes, reads, read_bytes }
    };
    let Placement { epoch, groups, unplaced_objects, held: all } = found;
    PlacementResult { epoch, groups, unplaced_objects, held: all.into_iter().map(held).collect() }
}

/// What the tasks of a phase that mixes did of each kind: writes first.
fn sum_of_sides(outcomes: &[Outcome]) -> [Side; 2] {
    let mut sums = <[Side; 2]>::default();
    for sides in outcomes.iter().filter_map(|outcome| outcome.sides.as_ref()) {
        for (sum, side) in sums.iter_mut().zip(sides) {
            sum.add(side);
        }
    }
    sums
}

/// What the supervisor knows of one task.
struct Watched {
    last: Reading,
    /// When it was last seen to make progress, on the run's clock.
    progress_ns: u64,
}

struct Sampler {
    all_counters: Arc<[Arc<TaskCounters>]>,
    /// Whether a task's operations are the trial's.
    works: Vec<bool>,
    first_task: u32,
    files: Option<PhaseFiles>,
    failed: Option<FileError>,
    opened_ns: u64,
    last_ns: u64,
    watched: Vec<Watched>,
    events: Vec<Event>,
    /// (when, bytes, latencies) of the intervals of the last second.
    window: VecDeque<(u64, u64, [u64; BUCKETS])>,
}

impl Sampler {
    fn new(shared: &Shared, all_counters: &Arc<[Arc<TaskCounters>]>, files: Option<PhaseFiles>, now: u64) -> Self {
        Self {
            all_counters: Arc::clone(all_counters),
            works: shared.works().collect(),
            first_task: shared.spec.tasks.first,
            files,
            failed: None,
            opened_ns: now,
            last_ns: now,
            watched: all_counters.iter().map(|_| Watched { last: Reading::default(), progress_ns: now }).collect(),
            events: Vec::new(),
            window: VecDeque::new(),
        }
    }

    /// Ends an interval `now`; the first one began with the first task.
    fn sample(&mut self, recent: &Mutex<Recent>, now: u64) {
        if self.last_ns == self.opened_ns {
            self.last_ns = self.all_counters.iter().filter_map(|counters| counters.started_ns()).min().unwrap_or(self.last_ns);
        }
        let (start_ns, end_ns) = (self.last_ns - self.opened_ns, now - self.opened_ns);
        self.last_ns = now;
        let mut heat = [0_u64; BUCKETS];
        let mut bytes = 0;
        for index in 0..self.all_counters.len() {
            let reading = self.all_counters[index].read();
            let before = &self.watched[index].last;
            let row = SeriesRow {
                start_ns,
                end_ns,
                task: self.first_task + index as u32,
                bytes: reading.bytes - before.bytes,
                operations: reading.operations - before.operations,
                latency_sum_ns: reading.latency_sum_ns.wrapping_sub(before.latency_sum_ns),
            };
            if self.works[index] {
                for (sum, (new, old)) in heat.iter_mut().zip(reading.heat.iter().zip(before.heat)) {
                    *sum += u64::from(new.wrapping_sub(old));
                }
                bytes += row.bytes;
            }
            self.watch(index, &reading, now);
            self.watched[index].last = reading;
            self.keep(|files| files.series(row));
        }
        for (bucket, count) in heat.iter().enumerate() {
            self.keep(|files| files.heat(start_ns, end_ns, bucket, *count));
        }
        self.publish(recent, now, start_ns, bytes, &heat);
    }

    /// Writes to the files as long as there are some; the first failure is told at the end.
    fn keep(&mut self, write: impl FnOnce(&mut PhaseFiles) -> Result<(), FileError>) {
        if let Some(files) = &mut self.files
            && let Err(error) = write(files)
        {
            self.failed = Some(error);
            self.files = None;
        }
    }

    fn watch(&mut self, index: usize, reading: &Reading, now: u64) {
        let watched = &mut self.watched[index];
        if reading.operations > watched.last.operations {
            watched.stall_until(now, self.opened_ns, self.first_task + index as u32, &mut self.events);
            watched.progress_ns = now;
        } else if !self.all_counters[index].is_transferring() {
            // Opening, fsync and close are no operations; their time is told apart in the task's record.
            watched.progress_ns = now;
        }
    }

    /// `now` may be before an interval began: it was taken before the tasks, in which the first one begins, had started.
    fn publish(&mut self, recent: &Mutex<Recent>, now: u64, start_ns: u64, bytes: u64, heat: &[u64; BUCKETS]) {
        self.window.push_back((self.opened_ns + start_ns, bytes, *heat));
        while self.window.front().is_some_and(|(from, ..)| now.saturating_sub(*from) > RECENT_NS) && self.window.len() > 1 {
            self.window.pop_front();
        }
        let from = self.window.front().map_or(now, |(from, ..)| *from);
        let mut total = [0; BUCKETS];
        let mut moved = 0;
        for (_, bytes, heat) in &self.window {
            moved += bytes;
            for (sum, count) in total.iter_mut().zip(heat) {
                *sum += count;
            }
        }
        let rate = u128::from(moved) * 1_000_000_000 / u128::from(now.saturating_sub(from).max(1));
        *recent.lock().unwrap_or_else(PoisonError::into_inner) =
            Recent { bandwidth_bytes_per_s: rate as u64, p99_ns: quantile_of(&total, 0.99) };
    }

    fn finish(
        mut self,
        outcomes: &[Outcome],
        more: &[(Tagged, LatencyRecorder)],
        parts: Option<&[Side; 2]>,
    ) -> Result<Vec<Event>, FileError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(mut files) = self.files.take() {
            for outcome in outcomes {
                for (end_ns, latency_ns) in &outcome.log {
                    files.operation(outcome.result.task, end_ns.saturating_sub(self.opened_ns), *latency_ns)?;
                }
            }
            for (op, side) in SIDES.into_iter().zip(parts.into_iter().flatten()) {
                files.part(op, &side.recorder);
            }
            let mut snapshots = more.iter().filter(|(tag, _)| matches!(tag, Tagged::Snapshot(_))).map(|(_, recorder)| recorder);
            if let Some(first) = snapshots.next() {
                let mut sum = first.clone();
                snapshots.for_each(|recorder| sum.add(recorder));
                files.part(SNAPSHOTS, &sum);
            }
            let tag = |result: &TaskResult| Tagged::of(result.role, result.task);
            let of_tasks = outcomes.iter().map(|outcome| (tag(&outcome.result), &outcome.recorder));
            let recorders: Vec<_> = of_tasks.chain(more.iter().map(|(tag, recorder)| (*tag, recorder))).collect();
            files.finish(&recorders)?;
        }
        Ok(self.events)
    }
}

impl Watched {
    /// The task made progress again: was what lies behind it a stall?
    fn stall_until(&self, now: u64, opened_ns: u64, task: u32, events: &mut Vec<Event>) {
        let Reading { operations, latency_sum_ns, .. } = self.last;
        let silence = Silence { operations, latency_sum_ns, opened_ns, progress_ns: self.progress_ns, now_ns: now };
        events.extend(silence.stall(task));
    }
}
