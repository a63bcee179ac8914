//! `tail`: task 0 writes a file, the others follow it while it grows.

mod progress;
mod reader;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tonnage_records::{FollowResult, Followed, LatencyRecorder, Note, PhaseResult, Role, Tagged};
use tonnage_storage::{CacheState, OpenRequest, Slots, Storage, StorageError};
use tonnage_workload::{Arena, Op, Payload, PayloadKind, PhaseSpec, Tail, TailReader, Verifier};

use crate::lane_port::Port;
use crate::task::{PhaseWorkload, Shared, Worker, of_places};
use progress::Progress;
use reader::Reader;
use writer::Writer;

/// The file of the writer.
const FILE: u32 = 0;
/// The storage cannot say when a file is written to.
const NO_NOTIFY: &str = "no-notify";

/// What the writer and its readers share.
pub struct TailWorkload {
    tail: Tail,
    seed: u64,
    progress: Arc<Progress>,
    verifier: Option<Arc<Verifier>>,
    followed: Arc<Mutex<Vec<Followed>>>,
    /// A reader was to be notified, and looked again and again instead.
    polled_instead: Arc<AtomicBool>,
}

impl TailWorkload {
    pub fn new(tail: Tail, seed: u64) -> Self {
        let progress = Arc::new(Progress::new(tail.transfers()));
        let verifier = tail.verify.then(|| Arc::new(Verifier::new(Payload::new(PayloadKind::Unique, seed))));
        Self { tail, seed, progress, verifier, followed: Arc::default(), polled_instead: Arc::default() }
    }

    fn request(&self, task: u32, op: Op) -> OpenRequest {
        OpenRequest {
            task,
            file: FILE,
            op,
            // A reader comes while there is nothing yet.
            file_bytes: if op == Op::Write { self.tail.file_bytes } else { 0 },
            transfer_size: self.tail.transfer_size as usize,
            queue_depth: 1,
            // A reserved file would have its length from the beginning.
            preallocate: false,
            durable_each: false,
            retry_ns: None,
        }
    }

    fn writer(&self, shared: &Shared) -> Result<Writer, StorageError> {
        let transfer_size = self.tail.transfer_size as usize;
        let lane = shared.storage.lane(&self.request(0, Op::Write))?;
        let mut memory = Slots::new(1, Payload::span_bytes(PayloadKind::Unique, transfer_size, 1))?;
        let arena = Arena::new(Payload::new(PayloadKind::Unique, self.seed), 0, transfer_size, 1);
        arena.fill(0, memory.bytes(0));
        Ok(Writer {
            tail: self.tail.clone(),
            port: Port::new(lane, memory)?,
            arena,
            progress: Arc::clone(&self.progress),
            clock: shared.clock,
        })
    }

    fn reader(&self, shared: &Shared, task: u32) -> Result<Reader, StorageError> {
        let lane = shared.storage.lane(&self.request(task, Op::Read))?;
        let mut memory = Slots::new(1, self.tail.transfer_size as usize)?;
        memory.bytes(0).fill(1);
        let grace = shared.clock.ticks_of(self.tail.grace_ns);
        Ok(Reader {
            follower: TailReader::new(&self.tail, task - 1, shared.spec.tasks.total - 1, grace),
            port: Port::new(lane, memory)?,
            progress: Arc::clone(&self.progress),
            verifier: self.verifier.clone(),
            followed: Some(Followed { task, bytes: 0, lag: LatencyRecorder::new(), max_lag_bytes: 0, waits: 0 }),
            polled_instead: Arc::clone(&self.polled_instead),
            workload: Arc::clone(&self.followed),
            watch: None,
            tail: self.tail.clone(),
        })
    }

    fn followed(&self) -> std::sync::MutexGuard<'_, Vec<Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PhaseWorkload for TailWorkload {
    fn before(&self, storage: &dyn Storage, spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        storage.prepare_write(&[FILE])?;
        if spec.tasks.total == 1 {
            return Ok(None);
        }
        match storage.length(FILE) {
            Ok(bytes) if bytes > 0 => Err(StorageError::Unsupported(format!(
                "readers would find {bytes} bytes before the first is written; a tail starts on a fresh file, and on a \
                 storage that keeps what it is given"
            ))),
            // What came from a device during the phase is what the readers fetched.
            _ => of_places(storage).map(Some),
        }
    }

    fn worker(&self, shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        Ok(if task == 0 { Box::new(self.writer(shared)?) } else { Box::new(self.reader(shared, task)?) })
    }

    fn role(&self, task: u32) -> Role {
        if task == 0 { Role::Work } else { Role::Follow }
    }

    fn histograms(&self) -> Vec<(Tagged, LatencyRecorder)> {
        self.followed().iter().map(|followed| (Tagged::Lag(followed.task), followed.lag.clone())).collect()
    }

    fn after(&self, result: &mut PhaseResult) {
        let followed = self.followed();
        let Some(cache) = result.cache.take() else { return };
        for reader in followed.iter() {
            if let Some(task) = result.tasks.iter_mut().find(|task| task.task == reader.task) {
                task.max_lag_ns = Some(reader.lag.summary().max_ns);
                task.max_lag_bytes = Some(reader.max_lag_bytes);
            }
        }
        result.follow = Some(FollowResult::of(followed.iter(), cache.device_bytes));
        result.facts.insert("readers_past_cache".to_owned(), result.direct);
        if self.polled_instead.load(Ordering::Relaxed) {
            result.notes.push(Note {
                code: NO_NOTIFY.to_owned(),
                message: format!(
                    "this storage does not tell when a file grows; readers looked every {} ms instead",
                    self.tail.poll_ns / 1_000_000
                ),
            });
        }
    }
}
