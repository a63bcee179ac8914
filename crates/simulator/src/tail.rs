//! `tail` in virtual time: one writer, readers that follow it, and the locks that they take from it.

use std::collections::{BTreeMap, VecDeque};

use tonnage_records::{FollowResult, Followed, PhaseFiles};
use tonnage_workload::{Appends, Durability, FollowStep, Nanoseconds, Op, PhaseSpec, Program, Step, Tail, TailReader, Waiting};

use crate::event_loop::{EIO, ENOSPC, EventHandler, EventLoop};
use crate::lanes::TaskProgram;
use crate::model::ModelSpec;
use crate::open_files::OpenFiles;
use crate::runner::Runner;
use crate::seeded_random::Chance;
use crate::stalls::Stalls;
use crate::state::{Outcome, SimulatorError, State};

/// The one file.
const FILE: u32 = 0;

/// The writer's place in the file, in transfers.
struct Writer {
    program: TaskProgram<Appends>,
    flying: bool,
    /// It waits for its time.
    waits: bool,
    ended_ns: Option<u64>,
    from_ns: u64,
    errno: i32,
    /// When it does something next.
    due_ns: u64,
    written: u64,
    /// When each transfer was written that some reader has still to read; the first is number `first_kept`.
    ends_ns: VecDeque<u64>,
    first_kept: u64,
}

/// A reader's place in the file, in transfers.
struct Reader {
    follower: TailReader,
    flying: bool,
    waited: bool,
    waits: u64,
    from_ns: u64,
    errno: i32,
}

struct TailPlay<'a> {
    tail: &'a Tail,
    writer: Writer,
    readers: Vec<Reader>,
    files: OpenFiles,
    locks: Stalls,
    /// Seconds of the device that a transfer costs.
    write_s: f64,
    read_s: f64,
    cache_bytes: u64,
    device_bytes: u64,
}

/// Runs a writer and its readers, starting at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    tail: &Tail,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let readers = spec.tasks.total - 1;
    let State { pages, names, counters, .. } = state;
    let there = pages.by_number.get(&FILE).map_or(0, |file| file.length);
    if readers > 0 && there > 0 {
        return Err(SimulatorError::NotFresh(there));
    }
    let mut event_loop = EventLoop::new(model, spec, start_ns, counters, files);
    (1..event_loop.runners.len()).for_each(|reader| event_loop.follow(reader));
    let mut open = OpenFiles::new(pages.allocated() + names.allocated, model.full_after_bytes);
    open.open(FILE, pages, false);
    let cache_bytes = if model.direct { 0 } else { model.cache_bytes.saturating_sub(spec.hog_bytes) };
    let mut handler = TailPlay::new(&event_loop, tail, open, cache_bytes);
    event_loop.run(1 + readers as usize, &mut handler)?;
    if tail.durability != Durability::None {
        event_loop.sync_at_end(0);
    }
    let follow = (readers > 0).then(|| handler.result(&event_loop));
    let touched: BTreeMap<u32, u64> = handler.files.close(pages);
    pages.keep_cached(&touched, cache_bytes);
    let fact = follow.is_some().then_some(("readers_past_cache", model.direct));
    Ok(Outcome { follow, fact, ..Outcome::of(event_loop.finish()?) })
}

impl EventHandler for TailPlay<'_> {
    fn is_in_flight(&self, lane: usize) -> bool {
        if lane == 0 { self.writer.flying } else { self.readers[lane - 1].flying }
    }

    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        if lane == 0 { self.step_writer(event_loop, now_ns) } else { self.step_reader(event_loop, lane, now_ns) }
    }
}

impl<'a> TailPlay<'a> {
    fn new(event_loop: &EventLoop, tail: &'a Tail, files: OpenFiles, cache_bytes: u64) -> Self {
        let (model, spec) = (event_loop.model, event_loop.spec);
        let readers = u64::from(spec.tasks.total) - 1;
        let size = tail.transfer_size;
        let chance = Chance::new(model.seed ^ 0x006c_6f63_6b73, &spec.record, spec.seed);
        // Conflicts of independent readers add up, and the sum of such processes is one of their kind.
        let every_ns = if readers == 0 { 0.0 } else { model.lock_every_ns as f64 / readers as f64 };
        let slowed = (1.0 - model.reader_cost).powf(readers as f64);
        let reader = |number: u64| Reader {
            follower: TailReader::new(tail, number as u32, readers as u32, tail.grace_ns),
            flying: false,
            waited: false,
            waits: 0,
            from_ns: event_loop.start_ns,
            errno: 0,
        };
        Self {
            tail,
            writer: Writer {
                program: Program::new(Appends::default(), &tail.terms(spec), Nanoseconds, event_loop.start_ns),
                flying: false,
                waits: false,
                ended_ns: None,
                from_ns: event_loop.start_ns,
                errno: 0,
                due_ns: event_loop.start_ns,
                written: 0,
                ends_ns: VecDeque::new(),
                first_kept: 0,
            },
            readers: (0..readers).map(reader).collect(),
            files,
            locks: Stalls::new(every_ns, model.lock_ns, chance, event_loop.start_ns),
            write_s: size as f64 / model.plateau(Op::Write, size) / slowed,
            read_s: size as f64 / model.plateau(Op::Read, size),
            cache_bytes,
            device_bytes: 0,
        }
    }

    /// How the readers followed.
    fn result(&self, event_loop: &EventLoop) -> FollowResult {
        let followed = |(runner, reader): (&Runner, &Reader)| {
            let (lag, max_lag_bytes) = runner.lag.clone()?;
            Some(Followed { task: runner.number, bytes: runner.bytes, lag, max_lag_bytes, waits: reader.waits })
        };
        let all: Vec<_> = event_loop.runners[1..].iter().zip(&self.readers).filter_map(followed).collect();
        FollowResult::of(&all, Some(self.device_bytes))
    }

    fn step_writer(&mut self, event_loop: &mut EventLoop, now_ns: u64) -> Option<u64> {
        let flew = std::mem::take(&mut self.writer.flying);
        if flew {
            self.finish_write(event_loop, now_ns);
        }
        if event_loop.is_stopping() {
            self.writer.program.stop();
        }
        let due_ns = self.next_write(event_loop, flew, now_ns);
        if due_ns.is_none() {
            self.writer.ended_ns = Some(now_ns);
            event_loop.ended(0, now_ns, self.writer.program.timed_out());
        }
        self.writer.due_ns = due_ns.unwrap_or(now_ns);
        due_ns
    }

    /// Starts the writer's next operation, or waits for its time; `None` at the end.
    fn next_write(&mut self, event_loop: &mut EventLoop, flew: bool, now_ns: u64) -> Option<u64> {
        let writer = &mut self.writer;
        let follows = if flew { writer.program.completed(0, now_ns) } else { None };
        writer.from_ns = match follows
            .map_or_else(|| writer.program.next(now_ns), |operation| Step::Issue { slot: 0, from: now_ns, operation })
        {
            Step::Issue { from, .. } => from,
            Step::WaitUntil(until_ns) => {
                writer.waits = true;
                return Some(until_ns);
            }
            Step::Wait | Step::Tell(_) | Step::Learn(_) | Step::Done => return None,
        };
        if std::mem::take(&mut writer.waits) {
            event_loop.wake(0, now_ns);
        }
        writer.flying = true;
        let sync_ns = if self.tail.durability == Durability::FsyncEach { event_loop.model.fsync_ns as f64 } else { 0.0 };
        // It is one operation in flight, however many read: what they take is the model's `reader_cost`.
        let mean_ns = event_loop.speed.device_ns_among(1, self.write_s, now_ns) + sync_ns;
        let end_ns = event_loop.end_of(0, now_ns, mean_ns);
        let (offset, size) = (writer.written * self.tail.transfer_size, self.tail.transfer_size);
        writer.errno = match () {
            () if event_loop.draws_fault() => EIO,
            () if !self.files.write(0, offset, size, true) => ENOSPC,
            () => 0,
        };
        let end_ns = self.locks.end_of(now_ns, end_ns - now_ns);
        event_loop.visit(0, (Some(Op::Write), FILE, offset, size), now_ns, end_ns);
        Some(end_ns)
    }

    fn finish_write(&mut self, event_loop: &mut EventLoop, now_ns: u64) {
        event_loop.arrive(0, now_ns);
        let (writer, size) = (&mut self.writer, self.tail.transfer_size);
        if writer.errno != 0 {
            event_loop.fail(0, (FILE, writer.written * size), "write", writer.errno);
            return;
        }
        event_loop.record(0, now_ns, now_ns - writer.from_ns, size);
        self.files.files[0].touched += size;
        writer.written += 1;
        if self.readers.is_empty() {
            return;
        }
        writer.ends_ns.push_back(now_ns);
        let slowest = self.readers.iter().map(|reader| reader.follower.next_number()).min().unwrap_or(writer.written);
        while writer.first_kept < slowest.min(writer.written) {
            writer.ends_ns.pop_front();
            writer.first_kept += 1;
        }
        for (reader, runner) in self.readers.iter().zip(&mut event_loop.runners[1..]) {
            let unread = reader.follower.behind(writer.written);
            if let Some((_, most)) = &mut runner.lag {
                *most = (*most).max(unread * size);
            }
        }
    }

    fn step_reader(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        if self.readers[lane - 1].flying {
            self.finish_read(event_loop, lane, now_ns);
        }
        let reader = &mut self.readers[lane - 1];
        if event_loop.is_stopping() {
            return None;
        }
        match reader.follower.next(self.writer.written, self.writer.ended_ns, now_ns) {
            FollowStep::Read { number, behind } if behind > 0 => return Some(self.begin_read(event_loop, lane, number, now_ns)),
            FollowStep::Read { .. } => {}
            FollowStep::GiveUp { number, behind } => {
                let size = self.tail.transfer_size;
                let message = self.tail.given_up(event_loop.runners[lane].number, behind * size);
                event_loop.arrive(lane, now_ns);
                event_loop.fail_with(lane, (FILE, number * size), 0, message);
                return None;
            }
            FollowStep::Done => return None,
        }
        reader.waited = true;
        reader.waits += 1;
        Some(match self.tail.waiting {
            Waiting::Poll => now_ns + self.tail.poll_ns,
            Waiting::Notify => self.writer.due_ns,
        })
    }

    fn begin_read(&mut self, event_loop: &mut EventLoop, lane: usize, number: u64, now_ns: u64) -> u64 {
        let (size, reader) = (self.tail.transfer_size, &mut self.readers[lane - 1]);
        if std::mem::take(&mut reader.waited) {
            event_loop.wake(lane, now_ns);
        }
        event_loop.board(lane, 1);
        // The cache holds the end of the file.
        let recent = (self.writer.written - number) * size <= self.cache_bytes;
        self.device_bytes += if recent { 0 } else { size };
        let mean_ns = if recent { event_loop.speed.cache_ns(size) } else { event_loop.speed.device_ns(self.read_s, now_ns) };
        (reader.flying, reader.from_ns) = (true, now_ns);
        reader.errno = if event_loop.draws_fault() { EIO } else { 0 };
        let end_ns = event_loop.end_of(lane, now_ns, mean_ns);
        event_loop.visit(lane, (Some(Op::Read), FILE, number * size, size), now_ns, end_ns);
        end_ns
    }

    fn finish_read(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) {
        let (size, reader) = (self.tail.transfer_size, &mut self.readers[lane - 1]);
        reader.flying = false;
        event_loop.alight(lane);
        event_loop.arrive(lane, now_ns);
        let number = reader.follower.next_number();
        let offset = number * size;
        if reader.errno != 0 {
            event_loop.fail(lane, (FILE, offset), "read", reader.errno);
            return;
        }
        event_loop.record(lane, now_ns, now_ns - reader.from_ns, size);
        if self.tail.verify {
            event_loop.verify(lane, FILE, offset, size);
        }
        let written_ns = self.writer.ends_ns[(number - self.writer.first_kept) as usize];
        if let Some((lag, _)) = &mut event_loop.runners[lane].lag {
            lag.record(now_ns - written_ns);
        }
        reader.follower.completed();
    }
}
