//! `stream` in virtual time: operations in flight, each replaced as it completes or when its time has come.

use tonnage_records::{CacheFacts, LatencyRecorder, Part, PhaseFiles};
use tonnage_workload::{CachePolicy, Durability, Offsets, Op, Ops, PhaseSpec, Stream};

use crate::burst::Burst;
use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::quota::Quota;
use crate::race::{EIO, ENOSPC, Play, Race};
use crate::simulator::{Outcome, SimulatorError, State};

/// A task's way through its part.
struct Course {
    file: usize,
    offsets: Offsets,
    ops: Ops,
    quota: Quota,
    /// Of its lanes, those with an operation in flight.
    flying: u32,
}

/// Room for one operation of a task.
#[derive(Clone, Copy)]
struct Lane {
    course: usize,
    state: LaneState,
    /// Counts among those in flight.
    aboard: bool,
    op: Op,
    offset: u64,
    first_pass: bool,
    /// Where its latency counts from.
    from_ns: u64,
    /// 0 if it will succeed.
    errno: i32,
    from_device: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneState {
    /// Has nothing.
    Idle,
    /// Has an operation that starts when it is due.
    Waiting,
    /// Its operation is in flight.
    Flying,
}

/// Counts of one kind of operation.
#[derive(Default)]
struct Kind {
    recorder: LatencyRecorder,
    bytes: u64,
    operations: u64,
}

struct StreamPlay<'a> {
    stream: &'a Stream,
    courses: Vec<Course>,
    lanes: Vec<Lane>,
    files: OpenFiles,
    burst: &'a mut Burst,
    /// The cache holds all files of the phase, so what was read once is read from it.
    refills: bool,
    /// Seconds of the device that one transfer costs: written, taken by the burst buffer, read.
    write_s: f64,
    burst_s: f64,
    read_s: f64,
    plateau: f64,
    device_read_bytes: u64,
    /// Of writes and reads, where the phase mixes both.
    kinds: Option<[Kind; 2]>,
    worn_out: bool,
}

/// Runs a stream that starts at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    stream: &Stream,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let capacity = model.cache_bytes.saturating_sub(spec.hog_bytes);
    state.pages.shrink(capacity);
    let before = stream.reads().then(|| cache_before(state, spec, stream)).transpose()?;
    state.burst.drain(start_ns, model.plateau_bytes_per_s as f64);
    let State { pages, burst, counters, .. } = state;
    let mut race = Race::new(model, spec, start_ns, counters, files);
    let mut open = OpenFiles::new(pages.allocated(), model.full_after_bytes);
    let (size, tasks) = (stream.geometry.transfer_size, spec.tasks);
    let mut courses = Vec::with_capacity(tasks.here as usize);
    for task in tasks.first..tasks.first + tasks.here {
        let schedule = spec.pace.schedule(size, task, tasks.total);
        courses.push(Course {
            file: open.open(stream.file(task, tasks.total), pages, !model.direct),
            offsets: stream.offsets(task, tasks.total, spec.seed),
            ops: stream.ops(task, spec.seed),
            quota: Quota::new(spec.limit, stream.geometry.operations(), spec.pace, schedule, start_ns),
            flying: 0,
        });
    }
    let plateau = model.plateau(Op::Write, size);
    let mut play = StreamPlay {
        stream,
        courses,
        lanes: Vec::new(),
        files: open,
        burst,
        refills: !model.direct && before.is_some_and(|facts| facts.examined_bytes <= Some(capacity)),
        write_s: size as f64 / plateau,
        burst_s: size as f64 / model.burst_bytes_per_s as f64,
        read_s: size as f64 / model.plateau(Op::Read, size),
        plateau,
        device_read_bytes: 0,
        kinds: stream.read_percent.is_some().then(Default::default),
        worn_out: false,
    };
    play.open(&mut race);
    race.run(play.lanes.len(), &mut play)?;
    play.close(&mut race);
    let cache = before.map(|facts| CacheFacts { device_bytes: Some(play.device_read_bytes), ..facts });
    let parts = play.parts();
    let touched = play.files.close(pages);
    if !model.direct {
        pages.keep_cached(&touched, capacity);
    }
    Ok(Outcome { cache, parts, ..Outcome::of(race.finish()?) })
}

/// Checks that what will be read is there, and brings the cache into the state asked for.
fn cache_before(state: &mut State, spec: &PhaseSpec, stream: &Stream) -> Result<CacheFacts, SimulatorError> {
    let tasks = spec.tasks;
    let mut numbers: Vec<u32> = (tasks.first..tasks.first + tasks.here).map(|task| stream.file(task, tasks.total)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let needed = stream.geometry.file_bytes(tasks.total);
    for &file in &numbers {
        let actual = state.pages.by_number.get(&file).map_or(0, |file| file.length);
        if actual < needed {
            return Err(SimulatorError::TooShort { file, needed, actual });
        }
    }
    if stream.cache == CachePolicy::Drop {
        state.pages.drop_cached(&numbers);
    }
    Ok(CacheFacts {
        cached_before_bytes: Some(state.pages.sum(&numbers, |file| file.cached)),
        examined_bytes: Some(state.pages.sum(&numbers, |file| file.length)),
        device_bytes: None,
        hole_bytes: Some(0),
    })
}

impl Play for StreamPlay<'_> {
    #[inline]
    fn step(&mut self, race: &mut Race, lane: usize, now_ns: u64) -> Option<u64> {
        match self.lanes[lane].state {
            LaneState::Flying => {
                self.complete(race, lane, now_ns);
                self.begin(race, lane, now_ns)
            }
            LaneState::Idle => self.begin(race, lane, now_ns),
            LaneState::Waiting => {
                let course = self.lanes[lane].course;
                if !race.may_begin(course) {
                    return None;
                }
                Some(self.depart(race, lane, now_ns))
            }
        }
    }
}

impl StreamPlay<'_> {
    /// Gives each task its lanes, one by one, so that each has its first operation in flight before any has its
    /// second; and its files their space, where that is asked for.
    fn open(&mut self, race: &mut Race) {
        let (tasks, depth) = (self.courses.len(), self.stream.queue_depth as usize);
        let idle = Lane {
            course: 0,
            state: LaneState::Idle,
            aboard: false,
            op: self.stream.op,
            offset: 0,
            first_pass: true,
            from_ns: race.start_ns,
            errno: 0,
            from_device: true,
        };
        self.lanes = (0..tasks * depth).map(|lane| Lane { course: lane % tasks, ..idle }).collect();
        if self.stream.preallocate && self.stream.writes() {
            let bytes = self.stream.geometry.file_bytes(race.spec.tasks.total);
            for course in 0..tasks {
                let file = self.courses[course].file;
                if !self.files.preallocate(file, bytes) {
                    race.fail(course, (self.files.files[file].number, 0), "preallocate", ENOSPC);
                }
            }
        }
        // Operations that follow each other at once are all in flight from the beginning; others as they start.
        if !race.spec.pace.waits() {
            race.board(self.lanes.len() as u64);
            self.lanes.iter_mut().for_each(|lane| lane.aboard = true);
            self.courses.iter_mut().for_each(|course| course.flying = depth as u32);
        }
    }

    /// Takes the next operation of a lane's task, if it has one, and starts it or waits for its time.
    #[inline]
    fn begin(&mut self, race: &mut Race, index: usize, now_ns: u64) -> Option<u64> {
        let lane = &mut self.lanes[index];
        if race.is_wearing_out(lane.course, now_ns) && !self.worn_out {
            self.worn_out = true;
            let most = self.courses.iter().map(|course| course.quota.taken).max().unwrap_or(0);
            self.courses.iter_mut().for_each(|course| course.quota.wear_out(most));
        }
        let course = &mut self.courses[lane.course];
        if !race.may_begin(lane.course) || !course.quota.take(now_ns) {
            self.alight(race, index);
            return None;
        }
        lane.op = course.ops.next_op();
        lane.first_pass = course.offsets.passes() == 0;
        lane.offset = course.offsets.next_offset();
        let due_ns = course.quota.due_ns();
        lane.from_ns = due_ns.unwrap_or_else(|| course.quota.after_thinking_ns(now_ns));
        if lane.from_ns <= now_ns {
            return Some(self.depart(race, index, now_ns));
        }
        let start_ns = lane.from_ns;
        lane.state = LaneState::Waiting;
        self.alight(race, index);
        race.may_begin_at(self.lanes[index].course, start_ns).then_some(start_ns)
    }

    /// Starts the operation that a lane has; when it will end.
    #[inline]
    fn depart(&mut self, race: &mut Race, index: usize, now_ns: u64) -> u64 {
        let lane = &mut self.lanes[index];
        lane.state = LaneState::Flying;
        if !lane.aboard {
            lane.aboard = true;
            race.board(1);
            let course = &mut self.courses[lane.course];
            course.flying += 1;
            if course.flying == 1 {
                race.wake(lane.course, now_ns);
            }
        }
        let Lane { course, op, offset, first_pass, .. } = *lane;
        let file = self.courses[course].file;
        let hit = op == Op::Read && self.is_hit(race, file, offset, first_pass);
        let size = self.stream.geometry.transfer_size;
        let mean_ns = match op {
            Op::Write => self.write_ns(race, now_ns),
            Op::Read if hit => race.speed.cache_ns(size),
            Op::Read => race.speed.device_ns(self.read_s, now_ns),
        };
        let end_ns = race.end_of(course, now_ns, mean_ns);
        let errno = if race.draws_fault() {
            EIO
        } else if op == Op::Write && !self.files.write(file, offset, size, first_pass) {
            ENOSPC
        } else {
            0
        };
        (self.lanes[index].errno, self.lanes[index].from_device) = (errno, !hit);
        end_ns
    }

    /// A lane has nothing in flight: those that have share the storage.
    fn alight(&mut self, race: &mut Race, index: usize) {
        let lane = &mut self.lanes[index];
        if std::mem::take(&mut lane.aboard) {
            self.courses[lane.course].flying -= 1;
            race.alight();
        }
    }

    #[inline]
    fn is_hit(&self, race: &Race, file: usize, offset: u64, first_pass: bool) -> bool {
        if !first_pass && self.refills {
            return true;
        }
        !race.model.direct && self.files.is_hit(file, offset)
    }

    #[inline]
    fn write_ns(&mut self, race: &Race, now_ns: u64) -> f64 {
        let each = self.stream.durability == Durability::FsyncEach;
        let sync_ns = if each { race.model.fsync_ns as f64 } else { 0.0 };
        let taken = race.model.burst_bytes > 0 && {
            self.burst.drain(now_ns, self.plateau * race.speed.device_share());
            self.burst.take(self.stream.geometry.transfer_size)
        };
        sync_ns + race.speed.device_ns(if taken { self.burst_s } else { self.write_s }, now_ns)
    }

    /// Counts the operation of a lane, which ends now.
    #[inline]
    fn complete(&mut self, race: &mut Race, index: usize, now_ns: u64) {
        let Lane { course, op, offset, from_ns, errno, from_device, .. } = self.lanes[index];
        let size = self.stream.geometry.transfer_size;
        self.lanes[index].state = LaneState::Idle;
        race.arrive(course, now_ns);
        let file = &mut self.files.files[self.courses[course].file];
        if errno != 0 {
            let verb = if op == Op::Write { "write" } else { "read" };
            race.fail(course, (file.number, offset), verb, errno);
            return;
        }
        let latency_ns = now_ns - from_ns;
        file.touched += size;
        race.record(course, now_ns, latency_ns, size);
        if op == Op::Read {
            if from_device {
                self.device_read_bytes += size;
            }
            if self.stream.verify {
                race.verify(course, file.number, offset, size);
            }
        }
        if let Some(kinds) = &mut self.kinds {
            let kind = &mut kinds[usize::from(op == Op::Read)];
            kind.recorder.record(latency_ns);
            kind.bytes += size;
            kind.operations += 1;
        }
    }

    /// What is left to do when all operations are done.
    fn close(&self, race: &mut Race) {
        for index in 0..self.courses.len() {
            if self.stream.writes() && self.stream.durability != Durability::None {
                race.sync_at_end(index);
            }
            race.runners[index].wrapped = race.runners[index].operations > self.stream.geometry.operations();
        }
    }

    fn parts(&self) -> Vec<Part> {
        let part = |(op, kind): (&str, &Kind)| Part {
            op: op.to_owned(),
            bytes: kind.bytes,
            operations: kind.operations,
            latency: kind.recorder.summary(),
        };
        self.kinds.iter().flat_map(|kinds| ["write", "read"].into_iter().zip(kinds).map(part)).collect()
    }
}
