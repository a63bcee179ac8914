//! `files` in virtual time: names made, looked at and removed at the model's rate, as long as they are there.

use tonnage_records::{CacheFacts, PhaseFiles};
use tonnage_workload::{CachePolicy, FileOp, Files, ItemOf, Items, Nanoseconds, Op, PhaseSpec, Program};

use crate::event_loop::{EIO, ENOSPC, EventLoop};
use crate::lanes::{Model, Playing};
use crate::model::ModelSpec;
use crate::names::{Names, Refusal};
use crate::state::{Outcome, SimulatorError, State};

/// The operation that a task has in flight.
#[derive(Clone, Copy)]
struct InFlight {
    item: ItemOf,
    /// What it will fail with.
    refusal: Option<Refusal>,
    hit: bool,
}

pub(crate) struct NamesModel<'a> {
    files: &'a Files,
    before: CacheFacts,
    capacity: u64,
    /// Of each task, once it has begun.
    by_task: Vec<Option<InFlight>>,
    names: &'a mut Names,
    /// Bytes that there is still room for.
    room: u64,
    /// Seconds of the device that an operation costs: for its name, and for its bytes.
    name_s: f64,
    bytes_s: f64,
    device_read_bytes: u64,
    moved_bytes: u64,
}

/// A phase on names that has begun.
pub(crate) struct FilesRun<'a>(pub Playing<'a, NamesModel<'a>>);

/// Runs a phase on names that starts at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    files: &Files,
    start_ns: u64,
    record: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut run = FilesRun::begin(model, state, (spec, files), (start_ns, 0), record);
    run.0.play()?;
    run.finish()
}

impl<'a> FilesRun<'a> {
    /// A phase that starts at `start_ns` beside so many operations of another workload.
    pub fn begin(
        model: &'a ModelSpec,
        state: &'a mut State,
        (spec, files): (&'a PhaseSpec, &'a Files),
        (start_ns, beside): (u64, u64),
        record: Option<PhaseFiles>,
    ) -> Self {
        let State { pages, names, counters, .. } = state;
        let capacity = if model.direct { 0 } else { model.cache_bytes.saturating_sub(spec.hog_bytes) };
        let reads = files.op == FileOp::Read;
        names.shrink(if reads && files.cache == CachePolicy::Drop { 0 } else { capacity });
        let before = CacheFacts {
            cached_before_bytes: Some(names.cached()),
            examined_bytes: Some(names.allocated),
            device_bytes: None,
            hole_bytes: Some(0),
        };
        let mut event_loop = EventLoop::new(model, spec, start_ns, counters, record);
        event_loop.share_with(beside);
        let tasks = spec.tasks;
        let program = |task| {
            let items = Items(files.walk(task, tasks.total, spec.seed));
            Program::new(items, &files.terms(spec, task), Nanoseconds, start_ns)
        };
        let programs: Vec<_> = (tasks.first..tasks.first + tasks.here).map(program).collect();
        let full = model.full_after_bytes.unwrap_or(u64::MAX);
        let bytes = files.file_bytes;
        let op = if reads { Op::Read } else { Op::Write };
        let moves = files.moved_bytes() > 0;
        let work = NamesModel {
            files,
            before,
            capacity,
            by_task: vec![None; programs.len()],
            room: full.saturating_sub(pages.allocated() + names.allocated),
            names,
            name_s: ModelSpec::name_weight(files.op) / model.names_per_s as f64,
            bytes_s: if moves { bytes as f64 / model.plateau(op, bytes) } else { 0.0 },
            device_read_bytes: 0,
            moved_bytes: 0,
        };
        Self(Playing::begin(event_loop, 1, programs, work))
    }

    /// What it leaves, once it has been played to its end.
    pub fn finish(self) -> Result<Outcome, SimulatorError> {
        let (mut event_loop, work) = self.0.into_parts();
        let NamesModel { files, before, capacity, .. } = work;
        if files.syncfs && !matches!(files.op, FileOp::MakeTree | FileOp::RemoveTree) {
            (0..work.by_task.len()).for_each(|task| event_loop.sync_at_end(task));
        }
        let device_bytes = Some(work.device_read_bytes);
        let moved_bytes = work.moved_bytes;
        work.names.keep_cached(moved_bytes, capacity);
        let cache = (files.op == FileOp::Read).then_some(CacheFacts { device_bytes, ..before });
        Ok(Outcome { cache, ..Outcome::of(event_loop.finish()?) })
    }
}

impl Model for NamesModel<'_> {
    type Operations = Items;

    fn start(&mut self, event_loop: &mut EventLoop, (_, task): (usize, usize), item: ItemOf, now_ns: u64) -> u64 {
        let ItemOf { owner, place } = item;
        let hit = self.files.op == FileOp::Read && !event_loop.model.direct && self.names.is_cached(self.identity(item));
        let mut mean_ns = event_loop.speed.device_ns(self.name_s, now_ns);
        mean_ns +=
            if hit { event_loop.speed.cache_ns(self.files.file_bytes) } else { event_loop.speed.device_ns(self.bytes_s, now_ns) };
        if self.files.fsync && self.files.op.writes() {
            mean_ns += event_loop.model.fsync_ns as f64;
        }
        let end_ns = event_loop.end_of(task, now_ns, mean_ns);
        let needs = self.names.needs(self.files, owner, place);
        let refusal = if event_loop.draws_fault() {
            Some(Refusal { errno: EIO, advice: "cannot be reached: Input/output error (os error 5)" })
        } else if needs > self.room {
            Some(Refusal { errno: ENOSPC, advice: "cannot be written: No space left on device (os error 28)" })
        } else {
            self.names.act(self.files, owner, place).err()
        };
        self.room -= needs.min(self.room);
        self.by_task[task] = Some(InFlight { item, refusal, hit });
        let bytes = self.files.moved_bytes();
        let op = if self.files.op == FileOp::Read { Op::Read } else { Op::Write };
        event_loop.visit(task, ((bytes > 0).then_some(op), owner, place.number, bytes), now_ns, end_ns);
        if self.files.op == FileOp::Churn {
            // It is looked at, and removed.
            (0..2).for_each(|_| event_loop.visit(task, (None, owner, place.number, 0), now_ns, end_ns));
        }
        end_ns
    }

    fn end(&mut self, event_loop: &mut EventLoop, (_, task): (usize, usize), from_ns: u64, now_ns: u64) {
        let Some(InFlight { item, refusal, hit }) = self.by_task[task].take() else { return };
        let identity = self.identity(item);
        event_loop.arrive(task, now_ns);
        if let Some(refusal) = refusal {
            let message = format!("{} {}", self.path(item), refusal.advice);
            event_loop.fail_with(task, (identity, 0), refusal.errno, message);
            return;
        }
        let (reads, bytes) = (self.files.op == FileOp::Read, self.files.moved_bytes());
        event_loop.record(task, now_ns, now_ns - from_ns, bytes);
        self.moved_bytes += bytes;
        if reads && !hit {
            self.device_read_bytes += bytes;
        }
        if reads && self.files.verify || !reads && bytes > 0 && self.files.check_written {
            event_loop.verify(task, identity, 0, bytes);
        }
    }
}

impl NamesModel<'_> {
    /// The number of an item among all tasks'; items 2^32 apart have the same.
    fn identity(&self, ItemOf { owner, place }: ItemOf) -> u32 {
        self.files.number_of_all(owner, place.number)
    }

    fn path(&self, ItemOf { owner, place }: ItemOf) -> String {
        let tree = if self.files.tree.shared { 0 } else { owner };
        if self.files.op.is_on_tree() {
            return format!("directory {} of tree {tree}", place.directory);
        }
        let what = if self.files.op.is_on_directories() { "directory" } else { "file" };
        format!("{what} {} of task {owner} in directory {} of tree {tree}", place.number, place.directory)
    }
}
