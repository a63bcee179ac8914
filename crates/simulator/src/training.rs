//! `training` in virtual time: readers of samples, each an operation on the device, the accelerators that they feed, and
//! those that write checkpoints meanwhile.

use tonnage_records::{CacheFacts, PhaseFiles, Role, RoundLog, TrainingResult, round_spans};
use tonnage_workload::{FeedStep, Feeding, Op, PhaseSpec, Sample, SaveStep, Training, TrainingStep};

use crate::event_loop::{EIO, EventHandler, EventLoop};
use crate::model::ModelSpec;
use crate::state::{Outcome, SimulatorError, State};

/// What a reader is at.
#[derive(Clone, Copy)]
enum Reader {
    /// It reads, from when on and until when; 0 if that will succeed, else the error.
    Reads { sample: Sample, from_ns: u64, until_ns: u64, errno: i32 },
    /// It waits, and is looked at again at an instant that is known, or when another is asked for.
    Waits { until_ns: Option<u64> },
    /// It has ended, or not begun.
    Rests,
}

/// What one that writes checkpoints is at.
#[derive(Clone, Copy)]
enum Writer {
    /// It writes a transfer from this offset on, from when on and until when; 0 if that will succeed, else the error.
    Writes { offset: u64, from_ns: u64, until_ns: u64, errno: i32 },
    /// It makes what it wrote durable, until when.
    Syncs { until_ns: u64 },
    /// As a reader does.
    Waits { until_ns: Option<u64> },
    /// It has ended, or not begun.
    Rests,
}

/// Lanes are those of the readers, then those of the writers.
struct TrainingPlay {
    feeding: Feeding,
    training: Training,
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    /// When the part in hand of a writer is to be over, and its rounds.
    until_ns: u64,
    logs: Vec<RoundLog>,
    begun_ns: Vec<u64>,
    /// Seconds of the device that a transfer of a checkpoint costs.
    write_s: f64,
    /// Bytes a second that the device gives to many.
    plateau: f64,
    read_bytes: u64,
}

/// Runs the readers from `start_ns` on. Laying out takes no time of a model, whose files are as long as they are read.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    training: &Training,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut event_loop = EventLoop::new(model, spec, start_ns, &mut state.counters, files);
    if training.step == TrainingStep::LayOut {
        return Ok(Outcome::of(event_loop.finish()?));
    }
    let mut play = TrainingPlay {
        feeding: Feeding::new(training, spec.seed, start_ns, spec.limit.time_ns),
        readers: vec![Reader::Rests; training.all_readers() as usize],
        writers: (training.all_readers()..spec.tasks.here).map(|_| Writer::Rests).collect(),
        training: training.clone(),
        until_ns: u64::MAX,
        logs: (training.all_readers()..spec.tasks.here).map(RoundLog::new).collect(),
        begun_ns: vec![0; spec.tasks.here.saturating_sub(training.all_readers()) as usize],
        write_s: training.transfer_size as f64 / model.plateau(Op::Write, training.transfer_size),
        plateau: model.plateau(Op::Read, training.transfer_size),
        read_bytes: 0,
    };
    (training.all_readers()..spec.tasks.here).for_each(|task| event_loop.keep_apart(task as usize, Role::Save));
    event_loop.run(spec.tasks.here as usize, &mut play)?;
    let stopped = event_loop.is_stopping();
    let (read_bytes, logs) = (play.read_bytes, std::mem::take(&mut play.logs));
    let finish = event_loop.finish()?;
    let fed = play.feeding.finish(finish.end_ns, stopped);
    let result = TrainingResult {
        accelerators: training.accelerators,
        readers: training.readers,
        batch_samples: training.batch_samples,
        compute_ns: training.compute_ns,
        windows: fed.windows,
        step_ends_ns: fed.step_ends_ns,
        starved_ns: fed.starved_ns,
        uneven_ns: fed.uneven_ns,
        idle_ns: fed.idle_ns,
        checkpoint_bytes: training.saving.map_or(0, |saving| saving.writer_bytes * u64::from(saving.writers)),
        checkpoints: round_spans(&logs),
    };
    // A model has no cache of files that it never wrote.
    let cache =
        CacheFacts { cached_before_bytes: Some(0), examined_bytes: None, device_bytes: Some(read_bytes), hole_bytes: Some(0) };
    Ok(Outcome { cache: Some(cache), training: Some(result), ..Outcome::of(finish) })
}

impl EventHandler for TrainingPlay {
    fn is_in_flight(&self, lane: usize) -> bool {
        match self.readers.get(lane) {
            Some(reader) => matches!(reader, Reader::Reads { .. }),
            None => matches!(self.writers[lane - self.readers.len()], Writer::Writes { .. } | Writer::Syncs { .. }),
        }
    }

    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        if let Some(writer) = lane.checked_sub(self.readers.len()) {
            return self.step_writer(event_loop, lane, writer, now_ns);
        }
        match self.readers[lane] {
            // It was to be looked at while it waited, and waits no longer.
            Reader::Reads { until_ns, .. } if until_ns > now_ns => return None,
            Reader::Reads { sample, from_ns, errno, .. } => self.end(event_loop, lane, (sample, from_ns, errno), now_ns),
            Reader::Waits { until_ns } if until_ns.is_some_and(|until_ns| until_ns > now_ns) => return None,
            Reader::Waits { .. } => event_loop.wake(lane, now_ns),
            Reader::Rests if event_loop.runners[lane].is_over => return None,
            Reader::Rests => {}
        }
        self.readers[lane] = Reader::Rests;
        if event_loop.is_stopping() {
            return None;
        }
        self.begin(event_loop, lane, now_ns)
    }
}

impl TrainingPlay {
    fn end(&mut self, event_loop: &mut EventLoop, lane: usize, (sample, from_ns, errno): (Sample, u64, i32), now_ns: u64) {
        event_loop.alight(lane);
        event_loop.arrive(lane, now_ns);
        if errno != 0 {
            event_loop.fail(lane, (sample.file, sample.offset), "read", errno);
            return;
        }
        self.read_bytes += sample.bytes;
        event_loop.record(lane, now_ns, now_ns - from_ns, sample.bytes);
        if self.feeding.completed(lane as u32, now_ns) {
            self.ask_again(event_loop, now_ns);
        }
    }

    /// Those who wait for others may go on, or know until when.
    fn ask_again(&mut self, event_loop: &mut EventLoop, now_ns: u64) {
        for (lane, reader) in self.readers.iter_mut().enumerate() {
            if let Reader::Waits { until_ns } = reader {
                *until_ns = Some(now_ns);
                event_loop.schedule(lane, now_ns);
            }
        }
        for (writer, at) in self.writers.iter_mut().enumerate() {
            if let Writer::Waits { until_ns } = at {
                *until_ns = Some(now_ns);
                event_loop.schedule(self.readers.len() + writer, now_ns);
            }
        }
    }

    fn begin(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        match self.feeding.next(lane as u32, now_ns) {
            FeedStep::Done => {
                let timed_out = self.feeding.timed_out();
                let ended_ns = event_loop.runners[lane].end_ns;
                event_loop.ended(lane, ended_ns, timed_out);
                None
            }
            FeedStep::Wait(until_ns) => {
                self.readers[lane] = Reader::Waits { until_ns };
                until_ns
            }
            FeedStep::Read(sample) => {
                event_loop.board(lane, 1);
                let cost_s = sample.bytes as f64 / self.plateau;
                let mean_ns = event_loop.speed.device_ns(cost_s, now_ns);
                let end_ns = event_loop.end_of(lane, now_ns, mean_ns);
                let errno = if event_loop.draws_fault() { EIO } else { 0 };
                self.readers[lane] = Reader::Reads { sample, from_ns: now_ns, until_ns: end_ns, errno };
                event_loop.visit(lane, (Some(Op::Read), sample.file, sample.offset, sample.bytes), now_ns, end_ns);
                Some(end_ns)
            }
        }
    }

    fn step_writer(&mut self, event_loop: &mut EventLoop, lane: usize, writer: usize, now_ns: u64) -> Option<u64> {
        match self.writers[writer] {
            Writer::Writes { until_ns, .. } | Writer::Syncs { until_ns } if until_ns > now_ns => return None,
            Writer::Waits { until_ns } if until_ns.is_some_and(|until_ns| until_ns > now_ns) => return None,
            Writer::Rests if event_loop.runners[lane].is_over => return None,
            Writer::Writes { offset, from_ns, errno, .. } => {
                event_loop.alight(lane);
                event_loop.arrive(lane, now_ns);
                let file = self.training.dataset.files + writer as u32;
                if errno != 0 {
                    event_loop.fail(lane, (file, offset), "write", errno);
                    return None;
                }
                event_loop.record(lane, now_ns, now_ns - from_ns, self.training.transfer_size);
                let next = offset + self.training.transfer_size;
                if event_loop.is_stopping() {
                    return None;
                }
                if now_ns < self.until_ns {
                    return Some(self.write(event_loop, lane, writer, next, now_ns));
                }
            }
            Writer::Syncs { .. } => {
                event_loop.arrive(lane, now_ns);
                self.logs[writer].rounds.push((self.begun_ns[writer], now_ns));
                if self.feeding.saved(writer as u32, now_ns) {
                    self.ask_again(event_loop, now_ns);
                }
            }
            Writer::Waits { .. } => event_loop.wake(lane, now_ns),
            Writer::Rests => {}
        }
        self.writers[writer] = Writer::Rests;
        if event_loop.is_stopping() {
            return None;
        }
        match self.feeding.next_save(writer as u32, now_ns) {
            SaveStep::Done => {
                let (ended_ns, timed_out) = (event_loop.runners[lane].end_ns, self.feeding.timed_out());
                event_loop.ended(lane, ended_ns, timed_out);
                None
            }
            SaveStep::Wait(until_ns) => {
                self.writers[writer] = Writer::Waits { until_ns };
                until_ns
            }
            SaveStep::Save(until_ns) => {
                (self.until_ns, self.begun_ns[writer]) = (until_ns, now_ns);
                Some(self.write(event_loop, lane, writer, 0, now_ns))
            }
        }
    }

    /// A transfer of a checkpoint begins, or the sync behind the last one: when that ends.
    fn write(&mut self, event_loop: &mut EventLoop, lane: usize, writer: usize, offset: u64, now_ns: u64) -> u64 {
        let (size, whole) = (self.training.transfer_size, self.training.saving.map_or(0, |saving| saving.writer_bytes));
        if offset >= whole {
            let model = event_loop.model;
            let sync_ns = model.fsync_ns as f64 * event_loop.chance.lognormal_mean_1(model.jitter);
            let until_ns = now_ns + sync_ns.round() as u64;
            self.writers[writer] = Writer::Syncs { until_ns };
            return until_ns;
        }
        event_loop.board(lane, 1);
        let mean_ns = event_loop.speed.device_ns(self.write_s, now_ns);
        let until_ns = event_loop.end_of(lane, now_ns, mean_ns);
        let errno = if event_loop.draws_fault() { EIO } else { 0 };
        self.writers[writer] = Writer::Writes { offset, from_ns: now_ns, until_ns, errno };
        event_loop.visit(lane, (Some(Op::Write), self.training.dataset.files + writer as u32, offset, size), now_ns, until_ns);
        until_ns
    }
}
