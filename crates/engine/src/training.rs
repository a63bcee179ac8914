//! `training`: tasks read samples for accelerators, which take them in batches and let time pass.
//!
//! What an accelerator does is computed ([`Feeding`]), so that no thread that sleeps too long or wakes too late is part of
//! its figures. Readers take the next sample under one lock, and wait there while enough has been read.

mod layout;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonnage_records::{PhaseResult, Role, RoundLog, StopReason, TrainingResult, round_spans};
use tonnage_storage::{CacheState, OpenRequest, Slots, Storage, StorageError};
use tonnage_workload::{Checkpoint, FeedStep, Feeding, Op, PhaseSpec, Sample, SaveStep, Training, TrainingStep};

use crate::checkpoint::{Pacer, RoundsWorker};
use crate::clock::monotonic_ns;
use crate::lane_port::Port;
use crate::retry::Retries;
use crate::stream::StreamWorkload;
use crate::task::{PhaseWorkload, Shared, TaskContext, Worker};
use crate::task_counters::Step;
use crate::transfers::describe;
use layout::Layout;

/// How long a reader that waits stays deaf to a stop.
const SLICE_NS: u64 = 50_000_000;

/// What the readers share.
pub struct TrainingWorkload {
    training: Training,
    seed: u64,
    feed: Arc<Feed>,
    /// Of those that write checkpoints.
    logs: Arc<Mutex<Vec<RoundLog>>>,
}

/// Which samples are read, and who waits for whom.
#[derive(Default)]
struct Feed {
    /// Made by the first task that crosses the start line.
    feeding: Mutex<Option<Feeding>>,
    changed: Condvar,
}

/// One reader of an accelerator.
struct Reader {
    training: Training,
    storage: Arc<dyn Storage>,
    feed: Arc<Feed>,
    task: u32,
    /// Its file, while more is to be read of it.
    open: Option<(u32, Port)>,
    /// While no file is open.
    memory: Option<Slots>,
    retries: Retries,
}

impl TrainingWorkload {
    pub fn new(training: Training, seed: u64) -> Self {
        Self { training, seed, feed: Arc::default(), logs: Arc::default() }
    }

    /// The number of a task among those that write checkpoints, and what they write.
    fn writer_of(&self, task: u32) -> Option<(u32, Checkpoint)> {
        if self.training.step == TrainingStep::LayOut {
            return None;
        }
        task.checked_sub(self.training.all_readers()).zip(self.training.checkpoint())
    }

    fn checkpoint_writer(
        &self,
        shared: &Shared,
        task: u32,
        (writer, work): (u32, Checkpoint),
    ) -> Result<Box<dyn Worker>, StorageError> {
        // Its file comes after those of the data set.
        let file = self.training.dataset.files + writer;
        let stream = StreamWorkload::seeded(work.stream(Op::Write), Checkpoint::round_seed(self.seed, 0));
        let stream = stream.worker_on(shared.storage.as_ref(), &shared.spec, file)?;
        let pacer = CheckpointPacer { feed: Arc::clone(&self.feed), training: self.training.clone(), writer };
        let worker = RoundsWorker::new(work, stream, None, RoundLog::new(task), Arc::clone(&self.logs));
        Ok(Box::new(worker.paced_by(Box::new(pacer))))
    }
}

impl PhaseWorkload for TrainingWorkload {
    fn before(&self, storage: &dyn Storage, _spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        match self.training.step {
            TrainingStep::LayOut => storage.prepare_write(&self.training.files()).map(|()| None),
            TrainingStep::Train => {
                let first = self.training.dataset.files;
                let written = first..first + self.training.saving.map_or(0, |saving| saving.writers);
                storage.prepare_write(&written.collect::<Vec<_>>())?;
                storage.settle(&self.training.files(), self.training.cache).map(Some)
            }
        }
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let (training, storage) = (self.training.clone(), Arc::clone(&shared.storage));
        if training.step == TrainingStep::LayOut {
            return Ok(Box::new(Layout::new(training, storage, self.seed, task)?));
        }
        if let Some(writer) = self.writer_of(task) {
            return self.checkpoint_writer(shared, task, writer);
        }
        let mut memory = Slots::new(1, training.transfer_size as usize)?;
        memory.bytes(0).fill(1);
        let (feed, retries) = (Arc::clone(&self.feed), Retries::default());
        Ok(Box::new(Reader { training, storage, feed, task, open: None, memory: Some(memory), retries }))
    }

    fn role(&self, task: u32) -> Role {
        if self.writer_of(task).is_some() { Role::Save } else { Role::Work }
    }

    fn after(&self, result: &mut PhaseResult) {
        if self.training.step == TrainingStep::LayOut {
            return;
        }
        let ended_ns = result.tasks.iter().map(|task| task.end_ns).max().unwrap_or(0);
        let stopped = matches!(result.stop_reason, StopReason::Interrupted | StopReason::Error);
        let fed = self.feed.lock().take().map(|feeding| feeding.finish(ended_ns, stopped)).unwrap_or_default();
        result.training = Some(TrainingResult {
            accelerators: self.training.accelerators,
            readers: self.training.readers,
            batch_samples: self.training.batch_samples,
            compute_ns: self.training.compute_ns,
            windows: fed.windows,
            step_ends_ns: fed.step_ends_ns,
            starved_ns: fed.starved_ns,
            uneven_ns: fed.uneven_ns,
            idle_ns: fed.idle_ns,
            checkpoint_bytes: self.training.saving.map_or(0, |saving| saving.writer_bytes * u64::from(saving.writers)),
            checkpoints: round_spans(&self.logs.lock().unwrap_or_else(PoisonError::into_inner)),
        });
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, Option<Feeding>> {
        self.feeding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks `what` is due, again and again, until it is something; `None` at the end.
    fn when_due<T>(
        &self,
        context: &mut TaskContext,
        training: &Training,
        mut what: impl FnMut(&mut Feeding, u64) -> Turn<T>,
    ) -> Option<T> {
        let shared = Arc::clone(&context.shared);
        let spec = &shared.spec;
        let mut held = self.lock();
        loop {
            if shared.stop.load(Ordering::Relaxed) {
                self.changed.notify_all();
                return None;
            }
            // After the lock, so that instants come in their order.
            let now_ns = monotonic_ns();
            let feeding = held.get_or_insert_with(|| Feeding::new(training, spec.seed, now_ns, spec.limit.time_ns));
            match what(feeding, now_ns) {
                Turn::Due(what) => return Some(what),
                Turn::Done => {
                    context.tally.timed_out |= feeding.timed_out();
                    return None;
                }
                Turn::Wait(until_ns) => {
                    let left_ns = until_ns.map_or(SLICE_NS, |until_ns| until_ns.saturating_sub(now_ns)).min(SLICE_NS);
                    let wait = Duration::from_nanos(left_ns);
                    let pause = || self.changed.wait_timeout(held, wait).unwrap_or_else(PoisonError::into_inner).0;
                    held = context.counters.during(Step::Pausing, pause);
                }
            }
        }
    }

    /// The next sample of the reader that is task `task`; `None` at the end.
    fn next(&self, context: &mut TaskContext, training: &Training, task: u32) -> Option<Sample> {
        self.when_due(context, training, |feeding, now_ns| match feeding.next(task, now_ns) {
            FeedStep::Read(sample) => Turn::Due(sample),
            FeedStep::Wait(until_ns) => Turn::Wait(until_ns),
            FeedStep::Done => Turn::Done,
        })
    }

    /// Tells what has happened now; those who wait look again where that changes something for them.
    fn tell(&self, what: impl FnOnce(&mut Feeding, u64) -> bool) {
        let mut held = self.lock();
        if held.as_mut().is_some_and(|feeding| what(feeding, monotonic_ns())) {
            self.changed.notify_all();
        }
    }
}

/// What is due for a task.
enum Turn<T> {
    Due(T),
    Wait(Option<u64>),
    Done,
}

/// Lets a task write its part of a checkpoint when the accelerators pause for it.
struct CheckpointPacer {
    feed: Arc<Feed>,
    training: Training,
    writer: u32,
}

impl Pacer for CheckpointPacer {
    fn wait(&mut self, context: &mut TaskContext) -> Option<u64> {
        let (feed, writer) = (Arc::clone(&self.feed), self.writer);
        feed.when_due(context, &self.training, |feeding, now_ns| match feeding.next_save(writer, now_ns) {
            SaveStep::Save(until_ns) => Turn::Due(until_ns),
            SaveStep::Wait(until_ns) => Turn::Wait(until_ns),
            SaveStep::Done => Turn::Done,
        })
    }

    fn done(&mut self) {
        self.feed.tell(|feeding, now_ns| feeding.saved(self.writer, now_ns));
    }
}

impl Worker for Reader {
    fn transfer(&mut self, context: &mut TaskContext) {
        let feed = Arc::clone(&self.feed);
        while let Some(sample) = feed.next(context, &self.training, self.task) {
            let begun_ns = monotonic_ns();
            if let Err((offset, errno, message)) = self.read(&sample) {
                context.fail(sample.file, offset, errno, message);
                feed.changed.notify_all();
                return;
            }
            context.tally.record(&context.counters, monotonic_ns() - begun_ns, sample.bytes);
            feed.tell(|feeding, now_ns| feeding.completed(self.task, now_ns));
        }
    }

    fn close(&mut self, context: &mut TaskContext) {
        let file = self.open.as_ref().map_or(0, |(file, _)| *file);
        if let Err((offset, errno, message)) = self.shut() {
            context.fail(file, offset, errno, message);
        }
    }

    fn retries(&mut self) -> Retries {
        std::mem::take(&mut self.retries)
    }
}

/// Where it failed, the system's error number or 0, and a sentence.
type Failure = (u64, i32, String);

fn failure(offset: u64, what: &str, error: &io::Error) -> Failure {
    (offset, error.raw_os_error().unwrap_or(0), format!("{what} failed: {error}"))
}

impl Reader {
    /// Opens the sample's file where that is not open, reads the sample, and closes the file where no more is read of it.
    fn read(&mut self, sample: &Sample) -> Result<(), Failure> {
        if self.open.as_ref().is_none_or(|(file, _)| *file != sample.file) {
            self.shut()?;
            self.go_to(sample)?;
        }
        let Some((_, port)) = &mut self.open else { return Ok(()) };
        let end = sample.offset + sample.bytes;
        let mut offset = sample.offset;
        while offset < end {
            let length = (end - offset).min(self.training.transfer_size) as usize;
            match port.read(offset, 0..length) {
                Ok(0) => return Err((offset, 0, "the file ends here; lay the data set out first".to_owned())),
                Ok(moved) => offset += moved as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((offset, error.raw_os_error().unwrap_or(0), describe(Op::Read, &error))),
            }
        }
        if sample.goes_on { Ok(()) } else { self.shut() }
    }

    fn go_to(&mut self, sample: &Sample) -> Result<(), Failure> {
        let told =
            |error: StorageError| (sample.offset, error.io().and_then(io::Error::raw_os_error).unwrap_or(0), error.to_string());
        let transfer_size = self.training.transfer_size as usize;
        let request = OpenRequest {
            task: self.task,
            file: sample.file,
            op: Op::Read,
            file_bytes: sample.offset + sample.bytes,
            transfer_size,
            queue_depth: 1,
            preallocate: false,
            durable_each: false,
            retry_ns: None,
        };
        let lane = self.storage.lane(&request).map_err(told)?;
        let memory = self.memory.take().map_or_else(|| Slots::new(1, transfer_size), Ok).map_err(told)?;
        let mut port = Port::new(lane, memory).map_err(told)?;
        port.lane().open().map_err(told)?;
        self.open = Some((sample.file, port));
        Ok(())
    }

    /// Closes the file that is open, if one is.
    fn shut(&mut self) -> Result<(), Failure> {
        let Some((_, mut port)) = self.open.take() else { return Ok(()) };
        let closed = port.lane().close();
        for report in port.lane().take_retry_reports() {
            self.retries.add(report);
        }
        self.memory = port.into_memory();
        closed.map_err(|error| failure(0, "close", &error))
    }
}
