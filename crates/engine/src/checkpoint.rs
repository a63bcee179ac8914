//! `checkpoint`: rounds of writing with a snapshot at the end of each, one of them read back, and their removal.

mod removal;
mod rounds;
mod snapshot_taker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tonnage_records::{CheckpointResult, LatencyRecorder, PhaseResult, RoundLog, Tagged, snapshot_events};
use tonnage_storage::{CacheState, Facts, SnapshotRequest, Storage, StorageError};
use tonnage_workload::{Checkpoint, CheckpointStep, Op, PhaseSpec};

use crate::stream::StreamWorkload;
use crate::supervisor::notes_of;
use crate::task::{PhaseWorkload, Shared, Worker};
use removal::Remover;
pub use rounds::{Pacer, RoundsWorker};
use snapshot_taker::{Taker, lock};

/// What the tasks of a checkpoint phase share.
pub struct CheckpointWorkload {
    work: Checkpoint,
    first_task: u32,
    /// The writes of the first round, or the reads of a restart.
    stream: StreamWorkload,
    ready: OnceLock<Ready>,
    logs: Arc<Mutex<Vec<RoundLog>>>,
    /// Set with the phase's: whoever takes a snapshot knows only this one.
    stop: Arc<AtomicBool>,
}

/// What is known once the storage was asked.
#[derive(Default)]
struct Ready {
    /// None without snapshots; one where they are taken together; else one a task here.
    takers: Vec<Taker>,
    /// Where each of these writes or reads, if that is not the storage as it is.
    places: Vec<Option<Arc<dyn Storage>>>,
}

impl CheckpointWorkload {
    pub fn new(work: Checkpoint, spec: &PhaseSpec) -> Self {
        let (op, round) = if work.step == CheckpointStep::Restart { (Op::Read, work.round()) } else { (Op::Write, 0) };
        let stream = StreamWorkload::seeded(work.stream(op), Checkpoint::round_seed(spec.seed, round));
        Self { work, first_task: spec.tasks.first, stream, ready: OnceLock::new(), logs: Arc::default(), stop: Arc::default() }
    }

    /// Asks the storage for snapshots, and for where the tasks will work.
    fn prepare(&self, storage: &dyn Storage, spec: &PhaseSpec) -> Result<Ready, StorageError> {
        let Some(means) = &self.work.snapshot else { return Ok(Ready::default()) };
        let tasks = spec.tasks;
        let owners: Vec<Option<u32>> =
            if self.work.is_together() { vec![None] } else { (tasks.first..tasks.first + tasks.here).map(Some).collect() };
        let mut ready = Ready::default();
        for owner in owners {
            let files = match owner {
                Some(task) => vec![self.work.geometry.file(task)],
                None => (0..self.work.geometry.files(tasks.total)).collect(),
            };
            let (rounds, stop) = (self.work.rounds, Arc::clone(&self.stop));
            let request = SnapshotRequest { means: means.clone(), owner, files, rounds, stop };
            let mut taker = storage.snapshots(&request)?;
            ready.places.push(match self.work.step {
                CheckpointStep::Restart => taker.at(self.work.round())?,
                CheckpointStep::Checkpoint => taker.live(),
                CheckpointStep::Drop => None,
            });
            ready.takers.push(Arc::new(Mutex::new(taker)));
        }
        Ok(ready)
    }

    /// The one of `all` that is this task's, or everybody's.
    fn own<'a, T>(&self, all: &'a [T], task: u32) -> Option<&'a T> {
        let index = if self.work.is_together() { 0 } else { (task - self.first_task) as usize };
        all.get(index)
    }

    fn ready(&self) -> &Ready {
        static NOTHING: Ready = Ready { takers: Vec::new(), places: Vec::new() };
        self.ready.get().unwrap_or(&NOTHING)
    }

    fn place(&self, task: u32) -> Option<&dyn Storage> {
        self.own(&self.ready().places, task)?.as_deref()
    }
}

impl PhaseWorkload for CheckpointWorkload {
    fn before(&self, storage: &dyn Storage, spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        let ready = self.prepare(storage, spec)?;
        let ready = self.ready.get_or_init(|| ready);
        if self.work.step == CheckpointStep::Drop {
            return Ok(None);
        }
        let mut sum: Option<CacheState> = None;
        let together = self.work.is_together() || ready.places.is_empty();
        let range = if together { 0..1 } else { 0..spec.tasks.here };
        for index in range {
            let part = if together { spec.clone() } else { alone(spec, spec.tasks.first + index) };
            let place = ready.places.get(index as usize).and_then(|place| place.as_deref()).unwrap_or(storage);
            let found = self.stream.before(place, &part)?;
            sum = sum.zip(found).map(|(one, other)| one.with(other)).or(found);
        }
        Ok(sum)
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let taker = self.own(&self.ready().takers, task).cloned();
        let log = RoundLog::new(task);
        if self.work.step == CheckpointStep::Drop {
            return Ok(Box::new(Remover::new(self.work.clone(), taker, log, Arc::clone(&self.logs))));
        }
        let storage = self.place(task).unwrap_or(shared.storage.as_ref());
        let stream = self.stream.worker_on(storage, &shared.spec, task)?.with_retries(task, &shared.stop);
        if self.work.step == CheckpointStep::Restart {
            return Ok(Box::new(stream));
        }
        Ok(Box::new(RoundsWorker::new(self.work.clone(), stream, taker, log, Arc::clone(&self.logs))))
    }

    fn tick(&self, shared: &Shared) {
        self.stop.store(shared.stop.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn histograms(&self) -> Vec<(Tagged, LatencyRecorder)> {
        let mut tagged: Vec<_> = lock(&self.logs)
            .iter()
            .filter(|log| !log.takes.is_empty())
            .map(|log| (log.task, Tagged::Snapshot(log.task), log.recorder()))
            .collect();
        tagged.sort_by_key(|(task, ..)| *task);
        tagged.into_iter().map(|(_, tag, recorder)| (tag, recorder)).collect()
    }

    fn after(&self, result: &mut PhaseResult) {
        let logs = lock(&self.logs);
        result.events.extend(snapshot_events(&logs, self.work.step == CheckpointStep::Drop));
        result.events.sort_by_key(|event| (event.time_ns, event.task));
        let (step, coordination) = (self.work.step.name(), self.work.coordination.name());
        result.checkpoint = Some(CheckpointResult::of(step, coordination, self.work.is_together(), &logs));
        result.facts.insert("snapshots".to_owned(), self.work.snapshot.is_some());
        // What was asked of the place where the tasks worked, the storage above does not know.
        let mut direct: Option<bool> = None;
        for place in self.ready().places.iter().flatten() {
            let Facts { direct: here, flags, notes, .. } = place.facts();
            direct = Some(direct.unwrap_or(true) && here);
            result.facts.extend(flags.into_iter().map(|(name, is)| (name.to_owned(), is)));
            for note in notes_of(notes) {
                if !result.notes.contains(&note) {
                    result.notes.push(note);
                }
            }
        }
        result.direct = direct.unwrap_or(result.direct);
    }
}

/// The phase of one of its tasks.
fn alone(spec: &PhaseSpec, task: u32) -> PhaseSpec {
    let mut spec = spec.clone();
    (spec.tasks.first, spec.tasks.here) = (task, 1);
    spec
}
