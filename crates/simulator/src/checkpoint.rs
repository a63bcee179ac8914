//! `checkpoint` in virtual time: rounds of writing, each with a snapshot that costs what the model says.

use std::collections::BTreeMap;

use tonnage_records::{CheckpointResult, Event, LatencyRecorder, PhaseFiles, RoundWindow, SNAPSHOTS};
use tonnage_workload::{Checkpoint, CheckpointStep, Durability, FileOp, Means, Offsets, Op, PhaseSpec, Work};

use crate::event_loop::{EIO, ENOSPC, EventHandler, EventLoop};
use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::state::{Outcome, SimulatorError, State};
use crate::stream;

/// Where a task is in its rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Thinks until then.
    Pausing(u64),
    Writing,
    Syncing(u64),
    /// Waits for the other tasks.
    Written,
    Snapping(u64),
    Done,
}

struct TaskState {
    file: usize,
    offsets: Offsets,
    stage: Stage,
    round: u32,
    begun: u64,
    ended: u64,
    /// When the last of its operations in flight ends.
    busy_until_ns: u64,
    begin_ns: u64,
    rounds: Vec<(u64, u64)>,
    /// Begin and duration of each snapshot that it took.
    takes: Vec<(u64, u64)>,
}

#[derive(Clone, Copy)]
struct Lane {
    flying: bool,
    aboard: bool,
    from_ns: u64,
    offset: u64,
    errno: i32,
}

struct Rounds<'a> {
    work: &'a Checkpoint,
    states: Vec<TaskState>,
    lanes: Vec<Lane>,
    files: OpenFiles,
    write_s: f64,
}

/// Runs one step of a checkpoint trial, starting at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    work: &Checkpoint,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    if let Some(means) = work.snapshot.as_ref().filter(|means| **means != Means::Model {}) {
        return Err(SimulatorError::Means(means.name()));
    }
    match work.step {
        CheckpointStep::Checkpoint => write(model, state, spec, work, start_ns, files),
        CheckpointStep::Restart => {
            let stream = work.stream(Op::Read);
            let read = PhaseSpec { work: Work::Stream(stream.clone()), ..spec.clone() };
            let outcome = stream::run(model, state, &read, &stream, start_ns, files)?;
            Ok(Outcome { checkpoint: Some(result_of(work)), ..outcome })
        }
        CheckpointStep::Drop => remove(model, state, spec, work, start_ns, files),
    }
}

fn result_of(work: &Checkpoint) -> CheckpointResult {
    let (step, coordination) = (work.step.name().to_owned(), work.coordination.name().to_owned());
    CheckpointResult { step, coordination, ..CheckpointResult::default() }
}

fn write(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    work: &Checkpoint,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let State { pages, names, counters, .. } = state;
    let mut event_loop = EventLoop::new(model, spec, start_ns, counters, files);
    let mut open = OpenFiles::new(pages.allocated() + names.allocated, model.full_after_bytes);
    let (size, tasks) = (work.geometry.transfer_size, spec.tasks);
    let task_state = |task| TaskState {
        file: open.open(work.geometry.file(task), pages, !model.direct),
        offsets: work.geometry.offsets(task, tasks.total, spec.seed),
        stage: Stage::Pausing(start_ns.saturating_add(work.think_ns)),
        round: 0,
        begun: 0,
        ended: 0,
        busy_until_ns: start_ns,
        begin_ns: start_ns,
        rounds: Vec::new(),
        takes: Vec::new(),
    };
    let states: Vec<TaskState> = (tasks.first..tasks.first + tasks.here).map(task_state).collect();
    let idle = Lane { flying: false, aboard: false, from_ns: 0, offset: 0, errno: 0 };
    let count = states.len() * work.queue_depth as usize;
    let mut rounds =
        Rounds { work, states, lanes: vec![idle; count], files: open, write_s: size as f64 / model.plateau(Op::Write, size) };
    event_loop.run(count, &mut rounds)?;
    let mut snapshots = LatencyRecorder::new();
    event_loop.runners.iter().filter_map(|runner| runner.snapshots.as_ref()).for_each(|taken| snapshots.add(taken));
    event_loop.part(SNAPSHOTS, &snapshots);
    let (mut checkpoint, events) = rounds.result(spec.tasks.first);
    checkpoint.snapshot = snapshots.summary();
    let touched: BTreeMap<u32, u64> = rounds.files.close(pages);
    if !model.direct {
        pages.keep_cached(&touched, model.cache_bytes.saturating_sub(spec.hog_bytes));
    }
    let mut finish = event_loop.finish()?;
    finish.events.extend(events);
    finish.events.sort_by_key(|event| (event.time_ns, event.task));
    let fact = Some(("snapshots", work.snapshot.is_some()));
    Ok(Outcome { checkpoint: Some(checkpoint), fact, ..Outcome::of(finish) })
}

impl EventHandler for Rounds<'_> {
    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        let task = lane % self.states.len();
        if self.lanes[lane].flying {
            self.end(event_loop, lane, task, now_ns);
        }
        if event_loop.is_stopping() {
            self.alight(event_loop, lane, task);
            return None;
        }
        self.advance(event_loop, task, now_ns);
        match self.states[task].stage {
            Stage::Done => None,
            Stage::Writing if self.states[task].begun < self.work.geometry.operations() => {
                Some(self.begin(event_loop, lane, task, now_ns))
            }
            _ => {
                self.alight(event_loop, lane, task);
                Some(self.wake_ns(task).max(now_ns + 1))
            }
        }
    }
}

impl Rounds<'_> {
    fn begin(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, now_ns: u64) -> u64 {
        let size = self.work.geometry.transfer_size;
        let task_state = &mut self.states[task];
        let offset = task_state.offsets.next_offset();
        task_state.begun += 1;
        let mean_ns = match &event_loop.nodes {
            Some(nodes) => event_loop.speed.slowed_ns(nodes.transfer_ns(Op::Write, task), now_ns),
            None => event_loop.speed.device_ns(self.write_s, now_ns),
        };
        let each = self.work.durability == Durability::FsyncEach;
        let end_ns = event_loop.end_of(task, now_ns, mean_ns + if each { event_loop.model.fsync_ns as f64 } else { 0.0 });
        let errno = match () {
            () if event_loop.draws_fault() => EIO,
            () if !self.files.write(task_state.file, offset, size, task_state.round == 0) => ENOSPC,
            () => 0,
        };
        let aboard = self.lanes[lane].aboard;
        self.lanes[lane] = Lane { flying: true, aboard, from_ns: now_ns, offset, errno };
        task_state.busy_until_ns = task_state.busy_until_ns.max(end_ns);
        end_ns
    }

    fn end(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, now_ns: u64) {
        let Lane { from_ns, offset, errno, .. } = self.lanes[lane];
        self.lanes[lane].flying = false;
        let size = self.work.geometry.transfer_size;
        event_loop.arrive(task, now_ns, true);
        let file = &mut self.files.files[self.states[task].file];
        if errno != 0 {
            return event_loop.fail(task, (file.number, offset), "write", errno);
        }
        file.touched += size;
        self.states[task].ended += 1;
        event_loop.record(task, now_ns, now_ns - from_ns, size);
    }

    /// Takes a task through all stages that are over.
    fn advance(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        loop {
            let task_state = &mut self.states[task];
            match task_state.stage {
                Stage::Pausing(until) if now_ns >= until => self.begin_round(event_loop, task, until),
                Stage::Writing if task_state.ended == self.work.geometry.operations() => {
                    let syncs = self.work.durability == Durability::Fsync;
                    let sync_ns = if syncs { event_loop.model.fsync_ns as f64 } else { 0.0 };
                    let drawn = (sync_ns * event_loop.chance.lognormal_mean_1(event_loop.model.jitter)).round() as u64;
                    self.states[task].stage = Stage::Syncing(now_ns + drawn);
                }
                Stage::Syncing(until) if now_ns >= until => {
                    self.states[task].stage = Stage::Written;
                    self.snapshot(event_loop, task, until);
                }
                Stage::Snapping(until) if now_ns >= until => self.end_round(event_loop, task, until),
                _ => return,
            }
        }
    }

    /// All tasks that begin together are in flight from the same moment on.
    fn begin_round(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        let tasks = if self.work.is_together() { 0..self.states.len() } else { task..task + 1 };
        for task in tasks {
            let task_state = &mut self.states[task];
            (task_state.stage, task_state.begun, task_state.ended, task_state.begin_ns) = (Stage::Writing, 0, 0, now_ns);
            event_loop.wake(task, now_ns);
            let wanted = self.work.geometry.operations().min(u64::from(self.work.queue_depth)) as usize;
            let count = self.states.len();
            self.lanes.iter_mut().skip(task).step_by(count).take(wanted).for_each(|lane| lane.aboard = true);
            event_loop.board(task, wanted as u64);
        }
    }

    /// A task has written; the snapshot begins, which for all together is when the last one has.
    fn snapshot(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        let together = self.work.is_together();
        if together && self.states.iter().any(|task_state| task_state.stage != Stage::Written) {
            return;
        }
        let model = event_loop.model;
        let cost_ns = if self.work.snapshot.is_some() { model.snapshot_ns as f64 } else { 0.0 };
        let took_ns = (cost_ns * event_loop.chance.lognormal_mean_1(model.noise)).round() as u64;
        let taker = if together { 0 } else { task };
        if self.work.snapshot.is_some() {
            self.states[taker].takes.push((now_ns, took_ns));
            event_loop.runners[taker].snapshots.get_or_insert_default().record(took_ns);
        }
        let tasks = if together { 0..self.states.len() } else { task..task + 1 };
        self.states[tasks].iter_mut().for_each(|task_state| task_state.stage = Stage::Snapping(now_ns + took_ns));
    }

    /// What was begun together ends together: no task is left behind in a round that the others have left.
    fn end_round(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        let tasks = if self.work.is_together() { 0..self.states.len() } else { task..task + 1 };
        for task in tasks {
            let task_state = &mut self.states[task];
            task_state.rounds.push((task_state.begin_ns, now_ns));
            task_state.round += 1;
            event_loop.runners[task].end_ns = now_ns;
            let more = task_state.round < self.work.rounds;
            task_state.stage = if more { Stage::Pausing(now_ns.saturating_add(self.work.think_ns)) } else { Stage::Done };
        }
    }

    /// When a task may go on, as far as is known.
    fn wake_ns(&self, task: usize) -> u64 {
        let known = |task_state: &TaskState| match task_state.stage {
            Stage::Pausing(until) | Stage::Syncing(until) | Stage::Snapping(until) => until,
            Stage::Writing => task_state.busy_until_ns,
            Stage::Written | Stage::Done => 0,
        };
        match self.states[task].stage {
            Stage::Written => self.states.iter().map(known).filter(|&until| until > 0).min().unwrap_or(0),
            _ => known(&self.states[task]),
        }
    }

    fn alight(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize) {
        if std::mem::take(&mut self.lanes[lane].aboard) {
            event_loop.alight(task);
        }
    }

    fn result(&self, first_task: u32) -> (CheckpointResult, Vec<Event>) {
        let rounds = self.states.iter().map(|task_state| task_state.rounds.len()).min().unwrap_or(0);
        let window = |round: usize| {
            let of = |task_state: &TaskState| {
                let (begin, end) = task_state.rounds[round];
                let snapshot_ns = task_state.takes.get(round).map_or(0, |(_, took_ns)| *took_ns);
                RoundWindow { first_begin_ns: begin, last_begin_ns: begin, first_end_ns: end, last_end_ns: end, snapshot_ns }
            };
            self.states.iter().map(of).reduce(RoundWindow::with)
        };
        let written = |task_state: &TaskState| task_state.rounds.iter().map(|(begin, end)| end - begin).sum::<u64>();
        let mut result = CheckpointResult {
            rounds: rounds as u32,
            checkpoint_ns: self.states.iter().map(written).max().unwrap_or(0),
            think_ns: u64::from(self.work.rounds) * self.work.think_ns,
            snapshot_ns: self.states.iter().flat_map(|task_state| &task_state.takes).map(|(_, took_ns)| took_ns).sum(),
            windows: (0..rounds).filter_map(window).collect(),
            ..result_of(self.work)
        };
        if self.work.is_together() {
            result.checkpoint_ns = result.windows_ns();
        }
        let event = |task: u32, &(time_ns, took_ns): &(u64, u64)| Event {
            time_ns,
            kind: "snapshot".to_owned(),
            task: Some(task),
            duration_ns: Some(took_ns),
            ..Event::default()
        };
        let tasks = (first_task..).zip(&self.states);
        let events = tasks.flat_map(|(task, task_state)| task_state.takes.iter().map(move |take| event(task, take))).collect();
        (result, events)
    }
}

/// Removals one after the other: a snapshot costs what an operation on a name does, and so do the data.
struct Removals {
    left: Vec<u64>,
    from_ns: Vec<Option<u64>>,
    name_s: f64,
}

fn remove(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    work: &Checkpoint,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut event_loop = EventLoop::new(model, spec, start_ns, &mut state.counters, files);
    let taken = if work.snapshot.is_some() { u64::from(work.rounds) } else { 0 };
    let removes = |task: usize| if !work.is_together() || task == 0 { taken } else { 0 };
    let count = event_loop.runners.len();
    let left = (0..count).map(|task| removes(task) + u64::from(task == 0)).collect();
    let name_s = ModelSpec::name_weight(FileOp::Remove) / model.names_per_s as f64;
    let mut removals = Removals { left, from_ns: vec![None; count], name_s };
    event_loop.run(count, &mut removals)?;
    state.pages = crate::pages::Pages::default();
    let fact = Some(("snapshots", work.snapshot.is_some()));
    Ok(Outcome { checkpoint: Some(result_of(work)), fact, ..Outcome::of(event_loop.finish()?) })
}

impl EventHandler for Removals {
    fn step(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) -> Option<u64> {
        if let Some(from_ns) = self.from_ns[task].take() {
            event_loop.alight(task);
            event_loop.arrive(task, now_ns, false);
            event_loop.record(task, now_ns, now_ns - from_ns, 0);
        }
        if self.left[task] == 0 || event_loop.is_stopping() {
            return None;
        }
        self.left[task] -= 1;
        event_loop.board(task, 1);
        self.from_ns[task] = Some(now_ns);
        let mean_ns = event_loop.speed.device_ns(self.name_s, now_ns);
        Some(event_loop.end_of(task, now_ns, mean_ns))
    }
}
