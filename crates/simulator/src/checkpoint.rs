//! `checkpoint` in virtual time: rounds of writing, each with a snapshot that costs what the model says.

use std::collections::BTreeMap;

use tonnage_records::{CheckpointResult, LatencyRecorder, PhaseFiles, RoundLog, SNAPSHOTS, snapshot_events};
use tonnage_workload::{
    Checkpoint, CheckpointStep, Durability, FileOp, Means, Nanoseconds, Op, PhaseSpec, Program, RemovalStep, Removals, RoundStep,
    Rounds, Step, Stream, Transfer, Transfers, Work,
};

use crate::event_loop::{EIO, ENOSPC, EventHandler, EventLoop};
use crate::lanes::TaskProgram;
use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::state::{Outcome, SimulatorError, State};
use crate::stream;

/// One task in its rounds.
struct TaskState {
    file: usize,
    rounds: Rounds,
    /// The step that it does; `None` at the end.
    step: Option<RoundStep>,
    /// When that ends, where it takes a time that is known.
    until_ns: Option<u64>,
    /// Its operations of the round in hand.
    program: Option<TaskProgram<Transfers>>,
    round: u32,
    begin_ns: u64,
    log: RoundLog,
}

#[derive(Clone, Copy)]
struct Lane {
    ends_ns: Option<u64>,
    aboard: bool,
    from_ns: u64,
    offset: u64,
    errno: i32,
}

/// All tasks. Lane `slot × tasks + task` is slot `slot` of the task.
struct RoundsModel<'a> {
    work: &'a Checkpoint,
    stream: Stream,
    states: Vec<TaskState>,
    lanes: Vec<Lane>,
    files: OpenFiles,
    write_s: f64,
    /// Tasks that have come to the meeting in hand.
    met: usize,
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
            Ok(Outcome { checkpoint: Some(result_of(work, &[])), ..outcome })
        }
        CheckpointStep::Drop => remove(model, state, spec, work, start_ns, files),
    }
}

fn result_of(work: &Checkpoint, logs: &[RoundLog]) -> CheckpointResult {
    CheckpointResult::of(work.step.name(), work.coordination.name(), work.is_together(), logs)
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
    let task_state = |task| {
        let mut rounds = Rounds::new(work, task);
        TaskState {
            file: open.open(work.geometry.file(task), pages, !model.direct),
            step: rounds.next(),
            rounds,
            until_ns: None,
            program: None,
            round: 0,
            begin_ns: start_ns,
            log: RoundLog::new(task),
        }
    };
    let states: Vec<TaskState> = (tasks.first..tasks.first + tasks.here).map(task_state).collect();
    let idle = Lane { ends_ns: None, aboard: false, from_ns: 0, offset: 0, errno: 0 };
    let count = states.len() * work.queue_depth as usize;
    let mut rounds = RoundsModel {
        work,
        stream: work.stream(Op::Write),
        states,
        lanes: vec![idle; count],
        files: open,
        write_s: size as f64 / model.plateau(Op::Write, size),
        met: 0,
    };
    event_loop.run(count, &mut rounds)?;
    let mut snapshots = LatencyRecorder::new();
    event_loop.runners.iter().filter_map(|runner| runner.snapshots.as_ref()).for_each(|taken| snapshots.add(taken));
    event_loop.part(SNAPSHOTS, &snapshots);
    let logs: Vec<RoundLog> = rounds.states.into_iter().map(|task_state| task_state.log).collect();
    let touched: BTreeMap<u32, u64> = rounds.files.close(pages);
    if !model.direct {
        pages.keep_cached(&touched, model.cache_bytes.saturating_sub(spec.hog_bytes));
    }
    let mut finish = event_loop.finish()?;
    finish.events.extend(snapshot_events(&logs, false));
    finish.events.sort_by_key(|event| (event.time_ns, event.task));
    let fact = Some(("snapshots", work.snapshot.is_some()));
    Ok(Outcome { checkpoint: Some(result_of(work, &logs)), fact, ..Outcome::of(finish) })
}

impl EventHandler for RoundsModel<'_> {
    fn is_in_flight(&self, lane: usize) -> bool {
        self.lanes[lane].ends_ns.is_some()
    }

    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        let (task, slot) = (lane % self.states.len(), (lane / self.states.len()) as u32);
        let mut follows = None;
        if self.lanes[lane].ends_ns == Some(now_ns) {
            self.lanes[lane].ends_ns = None;
            self.end(event_loop, lane, task, now_ns);
            if !event_loop.is_stopping()
                && let Some(program) = &mut self.states[task].program
            {
                follows = program.completed(slot, now_ns).map(|transfer| (slot, now_ns, transfer));
            }
            if follows.is_none() && std::mem::take(&mut self.lanes[lane].aboard) {
                event_loop.alight(task);
            }
        }
        if !event_loop.is_stopping() {
            self.advance(event_loop, task, follows, now_ns);
        }
        None
    }
}

impl RoundsModel<'_> {
    /// Takes a task through all steps that are over, and begins one operation, or the one that follows another at once.
    fn advance(&mut self, event_loop: &mut EventLoop, task: usize, follows: Option<(u32, u64, Transfer)>, now_ns: u64) {
        if let Some(begun) = follows {
            return self.begin(event_loop, task, begun, now_ns);
        }
        while self.is_over(event_loop, task, now_ns) {
            let task_state = &mut self.states[task];
            (task_state.step, task_state.until_ns) = (task_state.rounds.next(), None);
            self.enter(event_loop, task, now_ns);
        }
    }

    /// Whether a task's step is over; begins an operation where it is that of writing, and one is due.
    fn is_over(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) -> bool {
        let task_state = &mut self.states[task];
        let Some(step) = task_state.step else { return false };
        match step {
            // The first pause begins with the phase.
            RoundStep::Think(0) if task_state.until_ns.is_none() => {
                self.enter(event_loop, task, now_ns);
                self.states[task].until_ns.is_some_and(|until_ns| now_ns >= until_ns)
            }
            RoundStep::Think(_) | RoundStep::Sync | RoundStep::Snapshot(_) => {
                task_state.until_ns.is_some_and(|until_ns| now_ns >= until_ns)
            }
            RoundStep::Open | RoundStep::Close | RoundStep::Note(_) => true,
            RoundStep::Meet(_) | RoundStep::Agree(_) => false,
            RoundStep::Write => match task_state.program.as_mut().map(|program| program.next(now_ns)) {
                Some(Step::Issue { slot, from, operation }) => {
                    self.begin(event_loop, task, (slot, from, operation), now_ns);
                    false
                }
                Some(Step::Done) | None => true,
                Some(_) => false,
            },
        }
    }

    /// A task begins its step.
    fn enter(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        let model = event_loop.model;
        let task_state = &mut self.states[task];
        let Some(step) = task_state.step else { return };
        match step {
            RoundStep::Think(round) => {
                task_state.round = round;
                task_state.log.think_ns += self.work.think_ns;
                self.lasts(event_loop, task, now_ns, self.work.think_ns);
            }
            RoundStep::Meet(_) | RoundStep::Agree(_) => self.meet(event_loop, now_ns),
            RoundStep::Open => {
                task_state.begin_ns = now_ns;
                event_loop.wake(task, now_ns);
            }
            RoundStep::Write => self.write(event_loop, task, now_ns),
            RoundStep::Sync => {
                let sync_ns = if self.work.durability == Durability::Fsync { model.fsync_ns as f64 } else { 0.0 };
                let drawn_ns = (sync_ns * event_loop.chance.lognormal_mean_1(model.jitter)).round() as u64;
                self.lasts(event_loop, task, now_ns, drawn_ns);
            }
            RoundStep::Snapshot(round) => {
                let took_ns = (model.snapshot_ns as f64 * event_loop.chance.lognormal_mean_1(model.noise)).round() as u64;
                task_state.log.takes.push((round, now_ns, took_ns));
                event_loop.runners[task].snapshots.get_or_insert_default().record(took_ns);
                self.lasts(event_loop, task, now_ns, took_ns);
            }
            RoundStep::Close => {
                task_state.log.rounds.push((task_state.begin_ns, now_ns));
                event_loop.ended(task, now_ns, false);
            }
            RoundStep::Note(_) => {}
        }
    }

    /// A task's step lasts so long from now on.
    fn lasts(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64, ns: u64) {
        let until_ns = now_ns.saturating_add(ns);
        self.states[task].until_ns = Some(until_ns);
        if until_ns > now_ns {
            event_loop.schedule(task, until_ns);
        }
    }

    /// A task has come to a meeting: with the last one, all go on, and those that write are all in flight before any
    /// operation begins.
    fn meet(&mut self, event_loop: &mut EventLoop, now_ns: u64) {
        self.met += 1;
        if self.met < self.states.len() {
            return;
        }
        self.met = 0;
        for task in 0..self.states.len() {
            let task_state = &mut self.states[task];
            (task_state.step, task_state.until_ns) = (task_state.rounds.next(), None);
            self.enter(event_loop, task, now_ns);
            if self.states[task].step == Some(RoundStep::Open) {
                let task_state = &mut self.states[task];
                task_state.step = task_state.rounds.next();
                self.enter(event_loop, task, now_ns);
            }
            if self.states[task].step != Some(RoundStep::Write) {
                event_loop.schedule(task, now_ns);
            }
        }
    }

    /// A task begins the operations of its round.
    fn write(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        let (spec, tasks) = (event_loop.spec, event_loop.spec.tasks);
        let number = tasks.first + task as u32;
        let (transfers, terms) = (self.stream.transfers(number, tasks.total, spec.seed), self.stream.terms(spec, number));
        self.states[task].program = Some(Program::new(transfers, &terms, Nanoseconds, now_ns));
        let wanted = terms.pass.min(u64::from(terms.slots)) as usize;
        let count = self.states.len();
        for lane in (task..).step_by(count).take(wanted) {
            self.lanes[lane].aboard = true;
            event_loop.schedule(lane, now_ns);
        }
        event_loop.board(task, wanted as u64);
    }

    /// An operation of a task begins.
    fn begin(&mut self, event_loop: &mut EventLoop, task: usize, (slot, from_ns, transfer): (u32, u64, Transfer), now_ns: u64) {
        let (size, Transfer { offset, .. }) = (self.work.geometry.transfer_size, transfer);
        let task_state = &self.states[task];
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
        let lane = slot as usize * self.states.len() + task;
        let aboard = self.lanes[lane].aboard;
        self.lanes[lane] = Lane { ends_ns: Some(end_ns), aboard, from_ns, offset, errno };
        event_loop.visit(task, (Some(Op::Write), self.files.files[task_state.file].number, offset, size), now_ns, end_ns);
        event_loop.schedule(lane, end_ns);
    }

    /// An operation of a task ends.
    fn end(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, now_ns: u64) {
        let Lane { from_ns, offset, errno, .. } = self.lanes[lane];
        let size = self.work.geometry.transfer_size;
        event_loop.arrive(task, now_ns);
        let file = &mut self.files.files[self.states[task].file];
        if errno != 0 {
            return event_loop.fail(task, (file.number, offset), "write", errno);
        }
        file.touched += size;
        event_loop.record(task, now_ns, now_ns - from_ns, size);
    }
}

/// Removals: a snapshot costs what an operation on a name does, and so do the data.
struct RemovalsModel {
    removals: Vec<Removals>,
    from_ns: Vec<Option<u64>>,
    logs: Vec<RoundLog>,
    met: usize,
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
    let tasks = spec.tasks.first..spec.tasks.first + spec.tasks.here;
    let mut removals = RemovalsModel {
        removals: tasks.clone().map(|task| Removals::new(work, task)).collect(),
        from_ns: vec![None; event_loop.runners.len()],
        logs: tasks.map(RoundLog::new).collect(),
        met: 0,
        name_s: ModelSpec::name_weight(FileOp::Remove) / model.names_per_s as f64,
    };
    event_loop.run(removals.removals.len(), &mut removals)?;
    state.pages = crate::pages::Pages::default();
    let fact = Some(("snapshots", work.snapshot.is_some()));
    let mut finish = event_loop.finish()?;
    finish.events.extend(snapshot_events(&removals.logs, true));
    finish.events.sort_by_key(|event| (event.time_ns, event.task));
    Ok(Outcome { checkpoint: Some(result_of(work, &removals.logs)), fact, ..Outcome::of(finish) })
}

impl EventHandler for RemovalsModel {
    fn is_in_flight(&self, task: usize) -> bool {
        self.from_ns[task].is_some()
    }

    fn step(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) -> Option<u64> {
        if let Some(from_ns) = self.from_ns[task].take() {
            event_loop.alight(task);
            event_loop.arrive(task, now_ns);
            event_loop.record(task, now_ns, now_ns - from_ns, 0);
        }
        if event_loop.is_stopping() {
            return None;
        }
        let mean_ns = event_loop.speed.device_ns(self.name_s, now_ns);
        match self.removals[task].next() {
            Some(RemovalStep::Meet(_)) => {
                self.met += 1;
                if self.met == self.removals.len() {
                    (0..self.met).for_each(|task| event_loop.schedule(task, now_ns));
                }
                None
            }
            None => None,
            Some(step) => {
                event_loop.board(task, 1);
                self.from_ns[task] = Some(now_ns);
                let end_ns = event_loop.end_of(task, now_ns, mean_ns);
                match step {
                    RemovalStep::Snapshot(round) => self.logs[task].takes.push((round, now_ns, end_ns - now_ns)),
                    _ => self.logs[task].leftovers_ns = end_ns - now_ns,
                }
                Some(end_ns)
            }
        }
    }
}
