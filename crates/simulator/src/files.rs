//! `files` in virtual time: names made, looked at and removed at the model's rate, as long as they are there.

use tonnage_records::{CacheFacts, PhaseFiles};
use tonnage_workload::{CachePolicy, FileOp, Files, Op, PhaseSpec, Place, Walk};

use crate::lanes::{Lanes, Operations};
use crate::model::ModelSpec;
use crate::names::{Names, Refusal};
use crate::quota::Quota;
use crate::race::{EIO, ENOSPC, Race};
use crate::state::{Outcome, SimulatorError, State};

/// A task's way through its names.
struct Course {
    owner: u32,
    walk: Walk,
    quota: Quota,
    place: Place,
    /// What the operation in hand will fail with.
    refusal: Option<Refusal>,
    hit: bool,
}

struct FileWork<'a> {
    files: &'a Files,
    courses: Vec<Course>,
    names: &'a mut Names,
    /// Bytes that there is still room for.
    room: u64,
    /// Seconds of the device that an operation costs: for its name, and for its bytes.
    name_s: f64,
    bytes_s: f64,
    device_read_bytes: u64,
    moved_bytes: u64,
    worn_out: bool,
}

/// Runs a phase on names that starts at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    files: &Files,
    start_ns: u64,
    record: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
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
    let mut race = Race::new(model, spec, start_ns, counters, record);
    let tasks = spec.tasks;
    let course = |task| {
        let walk = files.walk(task, tasks.total, spec.seed);
        let schedule = spec.pace.schedule(files.file_bytes, task, tasks.total);
        Course {
            owner: files.owner(task, tasks.total),
            quota: Quota::new(spec.limit, files.operations_of(task, tasks.total), spec.pace, schedule, start_ns),
            walk,
            place: Place { directory: 0, number: 0 },
            refusal: None,
            hit: false,
        }
    };
    let full = model.full_after_bytes.unwrap_or(u64::MAX);
    let bytes = files.file_bytes;
    let op = if reads { Op::Read } else { Op::Write };
    let moves = files.moved_bytes() > 0;
    let work = FileWork {
        files,
        courses: (tasks.first..tasks.first + tasks.here).map(course).collect(),
        room: full.saturating_sub(pages.allocated() + names.allocated),
        names,
        name_s: ModelSpec::name_weight(files.op) / model.names_per_s as f64,
        bytes_s: if moves { bytes as f64 / model.plateau(op, bytes) } else { 0.0 },
        device_read_bytes: 0,
        moved_bytes: 0,
        worn_out: false,
    };
    let work = Lanes::run(&mut race, 1, work)?;
    if files.syncfs && !matches!(files.op, FileOp::MakeTree | FileOp::RemoveTree) {
        (0..work.courses.len()).for_each(|task| race.sync_at_end(task));
    }
    let device_bytes = Some(work.device_read_bytes);
    let moved_bytes = work.moved_bytes;
    names.keep_cached(moved_bytes, capacity);
    let cache = reads.then_some(CacheFacts { device_bytes, ..before });
    Ok(Outcome { cache, ..Outcome::of(race.finish()?) })
}

impl Operations for FileWork<'_> {
    fn take(&mut self, race: &mut Race, _lane: usize, task: usize, now_ns: u64) -> Option<u64> {
        if race.is_wearing_out(task, now_ns) && !self.worn_out {
            self.worn_out = true;
            let most = self.courses.iter().map(|course| course.quota.taken).max().unwrap_or(0);
            self.courses.iter_mut().for_each(|course| course.quota.wear_out(most));
        }
        let course = &mut self.courses[task];
        if !race.may_begin(task) || !course.quota.take(now_ns) {
            return None;
        }
        course.place = course.walk.next()?;
        course.owner = course.walk.owner();
        Some(course.quota.starts_ns(now_ns))
    }

    fn start(&mut self, race: &mut Race, _lane: usize, task: usize, now_ns: u64) -> u64 {
        let identity = self.identity(task);
        let course = &mut self.courses[task];
        course.hit = self.files.op == FileOp::Read && !race.model.direct && self.names.is_cached(identity);
        let mut mean_ns = race.speed.device_ns(self.name_s, now_ns);
        mean_ns +=
            if course.hit { race.speed.cache_ns(self.files.file_bytes) } else { race.speed.device_ns(self.bytes_s, now_ns) };
        if self.files.fsync && self.files.op.writes() {
            mean_ns += race.model.fsync_ns as f64;
        }
        let end_ns = race.end_of(task, now_ns, mean_ns);
        let needs = self.names.needs(self.files, course.owner, course.place);
        course.refusal = if race.draws_fault() {
            Some(Refusal { errno: EIO, advice: "cannot be reached: Input/output error (os error 5)" })
        } else if needs > self.room {
            Some(Refusal { errno: ENOSPC, advice: "cannot be written: No space left on device (os error 28)" })
        } else {
            self.names.act(self.files, course.owner, course.place).err()
        };
        self.room -= needs.min(self.room);
        let (owner, number, bytes) = (course.owner, course.place.number, self.files.moved_bytes());
        let op = if self.files.op == FileOp::Read { Op::Read } else { Op::Write };
        race.visit(task, ((bytes > 0).then_some(op), owner, number, bytes), now_ns, end_ns);
        end_ns
    }

    fn end(&mut self, race: &mut Race, _lane: usize, task: usize, from_ns: u64, now_ns: u64) {
        let identity = self.identity(task);
        let Course { refusal, hit, quota, .. } = &self.courses[task];
        race.arrive(task, now_ns, quota.has_more());
        if let Some(refusal) = refusal {
            let message = format!("{} {}", self.path(task), refusal.advice);
            race.fail_with(task, (identity, 0), refusal.errno, message);
            return;
        }
        let (reads, bytes) = (self.files.op == FileOp::Read, self.files.moved_bytes());
        race.record(task, now_ns, now_ns - from_ns, bytes);
        self.moved_bytes += bytes;
        if reads && !hit {
            self.device_read_bytes += bytes;
        }
        if reads && self.files.verify || !reads && bytes > 0 && self.files.check_written {
            race.verify(task, identity, 0, bytes);
        }
    }
}

impl FileWork<'_> {
    /// The number of the task's present item among all tasks'; items 2^32 apart have the same.
    fn identity(&self, task: usize) -> u32 {
        let Course { owner, place, .. } = &self.courses[task];
        let first = u64::from(*owner) * self.files.tree.items().unwrap_or(0);
        first.wrapping_add(place.number) as u32
    }

    fn path(&self, task: usize) -> String {
        let Course { owner, place, .. } = &self.courses[task];
        let tree = if self.files.tree.shared { 0 } else { *owner };
        if self.files.op.is_on_tree() {
            return format!("directory {} of tree {tree}", place.directory);
        }
        let what = if self.files.op.is_on_directories() { "directory" } else { "file" };
        format!("{what} {} of task {owner} in directory {} of tree {tree}", place.number, place.directory)
    }
}
