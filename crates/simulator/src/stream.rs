//! `stream` in virtual time.

use tonnage_records::{CacheFacts, PhaseFiles, SIDES, Side, parts_of};
use tonnage_workload::{
    Attempts, CachePolicy, Durability, Nanoseconds, Op, PhaseSpec, Program, RetryRule, Stream, Transfer, Transfers, first_below,
};

use crate::burst::Burst;
use crate::event_loop::{EIO, ENOSPC, EventLoop};
use crate::lanes::{Model, Playing};
use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::pages::Pages;
use crate::state::{Outcome, SimulatorError, State};

/// An operation in flight.
#[derive(Clone, Copy)]
struct InFlight {
    op: Op,
    offset: u64,
    /// 0 if it will succeed.
    errno: i32,
    from_device: bool,
}

const fn verb(op: Op) -> &'static str {
    SIDES[(matches!(op, Op::Read)) as usize]
}

pub(crate) struct StreamModel<'a> {
    stream: &'a Stream,
    /// Of each lane.
    by_lane: Vec<InFlight>,
    files: OpenFiles,
    /// Of each task, its file among them.
    file_of: Vec<usize>,
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
    kinds: Option<[Side; 2]>,
}

/// A stream that has begun.
pub(crate) struct StreamRun<'a> {
    pub playing: Playing<'a, StreamModel<'a>>,
    pages: &'a mut Pages,
    before: Option<CacheFacts>,
    capacity: u64,
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
    let mut run = StreamRun::begin(model, state, (spec, stream), (start_ns, 0), files)?;
    run.playing.play()?;
    run.finish()
}

impl<'a> StreamRun<'a> {
    /// A stream that starts at `start_ns` beside so many operations of another workload.
    pub fn begin(
        model: &'a ModelSpec,
        state: &'a mut State,
        (spec, stream): (&'a PhaseSpec, &'a Stream),
        (start_ns, beside): (u64, u64),
        files: Option<PhaseFiles>,
    ) -> Result<Self, SimulatorError> {
        let capacity = model.cache_bytes.saturating_sub(spec.hog_bytes);
        state.pages.shrink(capacity);
        let before = stream.reads().then(|| cache_before(state, spec, stream)).transpose()?;
        state.burst.drain(start_ns, model.plateau(Op::Write, u64::MAX));
        let State { pages, names, burst, counters } = state;
        let mut event_loop = EventLoop::new(model, spec, start_ns, counters, files);
        event_loop.share_with(beside);
        let mut open = OpenFiles::new(pages.allocated() + names.allocated, model.full_after_bytes);
        let (size, tasks) = (stream.geometry.transfer_size, spec.tasks);
        let numbers = tasks.first..tasks.first + tasks.here;
        let file_of = numbers.clone().map(|task| open.open(stream.file(task, tasks.total), pages, !model.direct)).collect();
        let program =
            |task| Program::new(stream.transfers(task, tasks.total, spec.seed), &stream.terms(spec, task), Nanoseconds, start_ns);
        let programs: Vec<_> = numbers.map(program).collect();
        let plateau = model.plateau(Op::Write, size);
        let none = InFlight { op: stream.op, offset: 0, errno: 0, from_device: true };
        let mut work = StreamModel {
            stream,
            by_lane: vec![none; programs.len() * stream.queue_depth as usize],
            file_of,
            files: open,
            burst,
            refills: !model.direct && before.is_some_and(|facts| facts.examined_bytes <= Some(capacity)),
            write_s: size as f64 / plateau,
            burst_s: size as f64 / model.burst_bytes_per_s as f64,
            read_s: size as f64 / model.plateau(Op::Read, size),
            plateau,
            device_read_bytes: 0,
            kinds: stream.read_percent.is_some().then(Default::default),
        };
        work.open(&mut event_loop);
        let playing = Playing::begin(event_loop, stream.queue_depth, programs, work);
        Ok(Self { playing, pages, before, capacity })
    }

    /// What it leaves, once it has been played to its end.
    pub fn finish(self) -> Result<Outcome, SimulatorError> {
        let Self { playing, pages, before, capacity } = self;
        let (mut event_loop, work) = playing.into_parts();
        let (model, stream) = (event_loop.model, work.stream);
        work.close(&mut event_loop);
        let cache = before.map(|facts| CacheFacts { device_bytes: Some(work.device_read_bytes), ..facts });
        let parts = work.kinds.as_ref().map(parts_of).unwrap_or_default();
        for (op, kind) in SIDES.into_iter().zip(work.kinds.iter().flatten()) {
            event_loop.part(op, &kind.recorder);
        }
        let touched = work.files.close(pages);
        if !model.direct {
            pages.keep_cached(&touched, capacity);
        }
        let fact = (stream.preallocate && stream.writes()).then_some(("preallocated", true));
        Ok(Outcome { cache, parts, fact, ..Outcome::of(event_loop.finish()?) })
    }
}

/// Checks that what will be read is there, and brings the cache into the state asked for.
pub(crate) fn cache_before(state: &mut State, spec: &PhaseSpec, stream: &Stream) -> Result<CacheFacts, SimulatorError> {
    let tasks = spec.tasks;
    let numbers = stream.files(tasks);
    let needed = stream.needed_bytes(spec);
    let length = |file| Ok::<u64, SimulatorError>(state.pages.by_number.get(&file).map_or(0, |file| file.length));
    if let Some((file, actual)) = first_below(&numbers, needed, length)? {
        return Err(SimulatorError::TooShort { file, needed, actual });
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

impl Model for StreamModel<'_> {
    type Operations = Transfers;

    #[inline]
    fn start(&mut self, event_loop: &mut EventLoop, (lane, task): (usize, usize), transfer: Transfer, now_ns: u64) -> u64 {
        let (file, Transfer { op, offset, is_first_pass }) = (self.file_of[task], transfer);
        let hit = op == Op::Read && self.is_hit(event_loop, file, offset, is_first_pass);
        let size = self.stream.geometry.transfer_size;
        let mean_ns = match op {
            Op::Write => self.write_ns(event_loop, task, now_ns),
            Op::Read if hit => event_loop.speed.cache_ns(size),
            Op::Read => Self::device_ns(event_loop, Op::Read, task, self.read_s, now_ns),
        };
        let mut end_ns = event_loop.end_of(task, now_ns, mean_ns);
        let fails = event_loop.draws_fault();
        // The second attempt succeeds, on a model.
        let retry = self.stream.retry_ns.filter(|_| fails).map(|limit_ns| RetryRule { limit_ns });
        let again_ns = retry.and_then(|rule| rule.again(&mut Attempts::default(), end_ns));
        if let Some(again_ns) = again_ns {
            let failed_ns = end_ns;
            end_ns = event_loop.end_of(task, again_ns, mean_ns);
            event_loop.tried_again(task, failed_ns, end_ns, verb(op));
        }
        let errno = match () {
            () if fails && again_ns.is_none() => EIO,
            () if op == Op::Write && !self.files.write(file, offset, size, is_first_pass) => ENOSPC,
            () => 0,
        };
        self.by_lane[lane] = InFlight { op, offset, errno, from_device: !hit };
        event_loop.visit(task, (Some(op), self.files.files[file].number, offset, size), now_ns, end_ns);
        end_ns
    }

    #[inline]
    fn end(&mut self, event_loop: &mut EventLoop, (lane, task): (usize, usize), from_ns: u64, now_ns: u64) {
        let InFlight { op, offset, errno, from_device } = self.by_lane[lane];
        let size = self.stream.geometry.transfer_size;
        event_loop.arrive(task, now_ns);
        let file = &mut self.files.files[self.file_of[task]];
        if errno != 0 {
            event_loop.fail(task, (file.number, offset), verb(op), errno);
            return;
        }
        let latency_ns = now_ns - from_ns;
        file.touched += size;
        event_loop.record(task, now_ns, latency_ns, size);
        if op == Op::Read {
            if from_device {
                self.device_read_bytes += size;
            }
            if self.stream.verify {
                event_loop.verify(task, file.number, offset, size);
            }
        }
        if let Some(kinds) = &mut self.kinds {
            kinds[usize::from(op == Op::Read)].record(latency_ns, size);
        }
    }
}

impl StreamModel<'_> {
    /// Gives the files their space, where that is asked for.
    fn open(&mut self, event_loop: &mut EventLoop) {
        if !self.stream.preallocate || !self.stream.writes() {
            return;
        }
        let bytes = self.stream.geometry.file_bytes(event_loop.spec.tasks.total);
        for (task, &file) in self.file_of.iter().enumerate() {
            if !self.files.preallocate(file, bytes) {
                event_loop.fail(task, (self.files.files[file].number, 0), "preallocate", ENOSPC);
            }
        }
    }

    #[inline]
    fn is_hit(&self, event_loop: &EventLoop, file: usize, offset: u64, first_pass: bool) -> bool {
        if !first_pass && self.refills {
            return true;
        }
        !event_loop.model.direct && self.files.is_hit(file, offset)
    }

    #[inline]
    fn write_ns(&mut self, event_loop: &EventLoop, task: usize, now_ns: u64) -> f64 {
        let each = self.stream.durability == Durability::FsyncEach;
        let sync_ns = if each { event_loop.model.fsync_ns as f64 } else { 0.0 };
        let taken = event_loop.model.burst_bytes > 0 && {
            self.burst.drain(now_ns, self.plateau * event_loop.speed.device_share());
            self.burst.take(self.stream.geometry.transfer_size)
        };
        if taken {
            return sync_ns + event_loop.speed.device_ns(self.burst_s, now_ns);
        }
        sync_ns + Self::device_ns(event_loop, Op::Write, task, self.write_s, now_ns)
    }

    /// Mean latency of a transfer on the device: by the law of the task's node where there is one, else by its cost.
    #[inline]
    fn device_ns(event_loop: &EventLoop, op: Op, task: usize, cost_s: f64, now_ns: u64) -> f64 {
        match &event_loop.nodes {
            Some(nodes) => event_loop.speed.slowed_ns(nodes.transfer_ns(op, task), now_ns),
            None => event_loop.speed.device_ns(cost_s, now_ns),
        }
    }

    /// What is left to do when all operations are done.
    fn close(&self, event_loop: &mut EventLoop) {
        for index in 0..self.file_of.len() {
            if self.stream.writes() && self.stream.durability != Durability::None {
                event_loop.sync_at_end(index);
            }
            event_loop.runners[index].wrapped = event_loop.runners[index].operations > self.stream.geometry.operations();
        }
    }
}
