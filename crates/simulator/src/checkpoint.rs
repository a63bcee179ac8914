//! `checkpoint` in virtual time: rounds of writing, each with a snapshot that costs what the model says.

use std::collections::BTreeMap;

use tonnage_records::{CheckpointResult, Event, LatencyRecorder, PhaseFiles, RoundWindow, SNAPSHOTS};
use tonnage_workload::{Checkpoint, CheckpointStep, Durability, FileOp, Means, Offsets, Op, PhaseSpec, Work};

use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::race::{EIO, ENOSPC, Play, Race};
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

struct Course {
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
    courses: Vec<Course>,
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
    let mut race = Race::new(model, spec, start_ns, counters, files);
    let mut open = OpenFiles::new(pages.allocated() + names.allocated, model.full_after_bytes);
    let (size, tasks) = (work.geometry.transfer_size, spec.tasks);
    let course = |task| Course {
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
    let courses: Vec<Course> = (tasks.first..tasks.first + tasks.here).map(course).collect();
    let idle = Lane { flying: false, aboard: false, from_ns: 0, offset: 0, errno: 0 };
    let count = courses.len() * work.queue_depth as usize;
    let mut rounds =
        Rounds { work, courses, lanes: vec![idle; count], files: open, write_s: size as f64 / model.plateau(Op::Write, size) };
    race.run(count, &mut rounds)?;
    let mut snapshots = LatencyRecorder::new();
    race.runners.iter().filter_map(|runner| runner.snapshots.as_ref()).for_each(|taken| snapshots.add(taken));
    race.part(SNAPSHOTS, &snapshots);
    let (mut checkpoint, events) = rounds.result(spec.tasks.first);
    checkpoint.snapshot = snapshots.summary();
    let touched: BTreeMap<u32, u64> = rounds.files.close(pages);
    if !model.direct {
        pages.keep_cached(&touched, model.cache_bytes.saturating_sub(spec.hog_bytes));
    }
    let mut finish = race.finish()?;
    finish.events.extend(events);
    finish.events.sort_by_key(|event| (event.time_ns, event.task));
    let fact = Some(("snapshots", work.snapshot.is_some()));
    Ok(Outcome { checkpoint: Some(checkpoint), fact, ..Outcome::of(finish) })
}

impl Play for Rounds<'_> {
    fn step(&mut self, race: &mut Race, lane: usize, now_ns: u64) -> Option<u64> {
        let task = lane % self.courses.len();
        if self.lanes[lane].flying {
            self.end(race, lane, task, now_ns);
        }
        if race.is_stopping() {
            self.alight(race, lane, task);
            return None;
        }
        self.advance(race, task, now_ns);
        match self.courses[task].stage {
            Stage::Done => None,
            Stage::Writing if self.courses[task].begun < self.work.geometry.operations() => {
                Some(self.begin(race, lane, task, now_ns))
            }
            _ => {
                self.alight(race, lane, task);
                Some(self.wake_ns(task).max(now_ns + 1))
            }
        }
    }
}

impl Rounds<'_> {
    fn begin(&mut self, race: &mut Race, lane: usize, task: usize, now_ns: u64) -> u64 {
        let size = self.work.geometry.transfer_size;
        let course = &mut self.courses[task];
        let offset = course.offsets.next_offset();
        course.begun += 1;
        let mean_ns = match &race.nodes {
            Some(nodes) => race.speed.slowed_ns(nodes.transfer_ns(Op::Write, task), now_ns),
            None => race.speed.device_ns(self.write_s, now_ns),
        };
        let each = self.work.durability == Durability::FsyncEach;
        let end_ns = race.end_of(task, now_ns, mean_ns + if each { race.model.fsync_ns as f64 } else { 0.0 });
        let errno = match () {
            () if race.draws_fault() => EIO,
            () if !self.files.write(course.file, offset, size, course.round == 0) => ENOSPC,
            () => 0,
        };
        let aboard = self.lanes[lane].aboard;
        self.lanes[lane] = Lane { flying: true, aboard, from_ns: now_ns, offset, errno };
        course.busy_until_ns = course.busy_until_ns.max(end_ns);
        end_ns
    }

    fn end(&mut self, race: &mut Race, lane: usize, task: usize, now_ns: u64) {
        let Lane { from_ns, offset, errno, .. } = self.lanes[lane];
        self.lanes[lane].flying = false;
        let size = self.work.geometry.transfer_size;
        race.arrive(task, now_ns, true);
        let file = &mut self.files.files[self.courses[task].file];
        if errno != 0 {
            return race.fail(task, (file.number, offset), "write", errno);
        }
        file.touched += size;
        self.courses[task].ended += 1;
        race.record(task, now_ns, now_ns - from_ns, size);
    }

    /// Takes a task through all stages that are over.
    fn advance(&mut self, race: &mut Race, task: usize, now_ns: u64) {
        loop {
            let course = &mut self.courses[task];
            match course.stage {
                Stage::Pausing(until) if now_ns >= until => self.begin_round(race, task, until),
                Stage::Writing if course.ended == self.work.geometry.operations() => {
                    let syncs = self.work.durability == Durability::Fsync;
                    let sync_ns = if syncs { race.model.fsync_ns as f64 } else { 0.0 };
                    let drawn = (sync_ns * race.chance.lognormal_mean_1(race.model.jitter)).round() as u64;
                    self.courses[task].stage = Stage::Syncing(now_ns + drawn);
                }
                Stage::Syncing(until) if now_ns >= until => {
                    self.courses[task].stage = Stage::Written;
                    self.snapshot(race, task, until);
                }
                Stage::Snapping(until) if now_ns >= until => self.end_round(race, task, until),
                _ => return,
            }
        }
    }

    /// All tasks that begin together are in flight from the same moment on.
    fn begin_round(&mut self, race: &mut Race, task: usize, now_ns: u64) {
        let tasks = if self.work.is_together() { 0..self.courses.len() } else { task..task + 1 };
        for task in tasks {
            let course = &mut self.courses[task];
            (course.stage, course.begun, course.ended, course.begin_ns) = (Stage::Writing, 0, 0, now_ns);
            race.wake(task, now_ns);
            let wanted = self.work.geometry.operations().min(u64::from(self.work.queue_depth)) as usize;
            let count = self.courses.len();
            self.lanes.iter_mut().skip(task).step_by(count).take(wanted).for_each(|lane| lane.aboard = true);
            race.board(task, wanted as u64);
        }
    }

    /// A task has written; the snapshot begins, which for all together is when the last one has.
    fn snapshot(&mut self, race: &mut Race, task: usize, now_ns: u64) {
        let together = self.work.is_together();
        if together && self.courses.iter().any(|course| course.stage != Stage::Written) {
            return;
        }
        let model = race.model;
        let cost_ns = if self.work.snapshot.is_some() { model.snapshot_ns as f64 } else { 0.0 };
        let took_ns = (cost_ns * race.chance.lognormal_mean_1(model.noise)).round() as u64;
        let taker = if together { 0 } else { task };
        if self.work.snapshot.is_some() {
            self.courses[taker].takes.push((now_ns, took_ns));
            race.runners[taker].snapshots.get_or_insert_default().record(took_ns);
        }
        let tasks = if together { 0..self.courses.len() } else { task..task + 1 };
        self.courses[tasks].iter_mut().for_each(|course| course.stage = Stage::Snapping(now_ns + took_ns));
    }

    /// What was begun together ends together: no task is left behind in a round that the others have left.
    fn end_round(&mut self, race: &mut Race, task: usize, now_ns: u64) {
        let tasks = if self.work.is_together() { 0..self.courses.len() } else { task..task + 1 };
        for task in tasks {
            let course = &mut self.courses[task];
            course.rounds.push((course.begin_ns, now_ns));
            course.round += 1;
            race.runners[task].end_ns = now_ns;
            let more = course.round < self.work.rounds;
            course.stage = if more { Stage::Pausing(now_ns.saturating_add(self.work.think_ns)) } else { Stage::Done };
        }
    }

    /// When a task may go on, as far as is known.
    fn wake_ns(&self, task: usize) -> u64 {
        let known = |course: &Course| match course.stage {
            Stage::Pausing(until) | Stage::Syncing(until) | Stage::Snapping(until) => until,
            Stage::Writing => course.busy_until_ns,
            Stage::Written | Stage::Done => 0,
        };
        match self.courses[task].stage {
            Stage::Written => self.courses.iter().map(known).filter(|&until| until > 0).min().unwrap_or(0),
            _ => known(&self.courses[task]),
        }
    }

    fn alight(&mut self, race: &mut Race, lane: usize, task: usize) {
        if std::mem::take(&mut self.lanes[lane].aboard) {
            race.alight(task);
        }
    }

    fn result(&self, first_task: u32) -> (CheckpointResult, Vec<Event>) {
        let rounds = self.courses.iter().map(|course| course.rounds.len()).min().unwrap_or(0);
        let window = |round: usize| {
            let of = |course: &Course| {
                let (begin, end) = course.rounds[round];
                let snapshot_ns = course.takes.get(round).map_or(0, |(_, took_ns)| *took_ns);
                RoundWindow { first_begin_ns: begin, last_begin_ns: begin, first_end_ns: end, last_end_ns: end, snapshot_ns }
            };
            self.courses.iter().map(of).reduce(RoundWindow::with)
        };
        let written = |course: &Course| course.rounds.iter().map(|(begin, end)| end - begin).sum::<u64>();
        let mut result = CheckpointResult {
            rounds: rounds as u32,
            checkpoint_ns: self.courses.iter().map(written).max().unwrap_or(0),
            think_ns: u64::from(self.work.rounds) * self.work.think_ns,
            snapshot_ns: self.courses.iter().flat_map(|course| &course.takes).map(|(_, took_ns)| took_ns).sum(),
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
        let tasks = (first_task..).zip(&self.courses);
        let events = tasks.flat_map(|(task, course)| course.takes.iter().map(move |take| event(task, take))).collect();
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
    let mut race = Race::new(model, spec, start_ns, &mut state.counters, files);
    let taken = if work.snapshot.is_some() { u64::from(work.rounds) } else { 0 };
    let removes = |task: usize| if !work.is_together() || task == 0 { taken } else { 0 };
    let count = race.runners.len();
    let left = (0..count).map(|task| removes(task) + u64::from(task == 0)).collect();
    let name_s = ModelSpec::name_weight(FileOp::Remove) / model.names_per_s as f64;
    let mut removals = Removals { left, from_ns: vec![None; count], name_s };
    race.run(count, &mut removals)?;
    state.pages = crate::pages::Pages::default();
    let fact = Some(("snapshots", work.snapshot.is_some()));
    Ok(Outcome { checkpoint: Some(result_of(work)), fact, ..Outcome::of(race.finish()?) })
}

impl Play for Removals {
    fn step(&mut self, race: &mut Race, task: usize, now_ns: u64) -> Option<u64> {
        if let Some(from_ns) = self.from_ns[task].take() {
            race.alight(task);
            race.arrive(task, now_ns, false);
            race.record(task, now_ns, now_ns - from_ns, 0);
        }
        if self.left[task] == 0 || race.is_stopping() {
            return None;
        }
        self.left[task] -= 1;
        race.board(task, 1);
        self.from_ns[task] = Some(now_ns);
        let mean_ns = race.speed.device_ns(self.name_s, now_ns);
        Some(race.end_of(task, now_ns, mean_ns))
    }
}
