//! One task: its thread's life from preparation to its result.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tonnage_records::{DamageAt, ErrorAt, LatencyRecorder, TaskResult};
use tonnage_storage::{Buffer, Lane, OpenRequest, Storage, StorageError};
use tonnage_workload::{Arena, Op, Payload, PayloadKind, PhaseSpec, Verifier};

use crate::board::{Board, Step};
use crate::clock::{Clock, monotonic_ns};
use crate::{queued, sync};

/// Damaged places a task remembers; more are counted only.
pub const DAMAGE_KEPT: usize = 16;

/// What all tasks of a phase share.
pub struct Shared {
    pub spec: PhaseSpec,
    pub storage: Arc<dyn Storage>,
    pub verifier: Option<Verifier>,
    pub clock: Clock,
    /// Set when the tasks are to end after the operation in hand.
    pub stop: AtomicBool,
    /// The user asked for it.
    pub interrupted: AtomicBool,
    /// Tasks that have not ended; the last one wakes the supervisor.
    pub running: AtomicU32,
    pub supervisor: OnceLock<std::thread::Thread>,
}

/// What a task leaves behind.
pub struct Outcome {
    pub result: TaskResult,
    pub recorder: LatencyRecorder,
    pub error: Option<ErrorAt>,
    pub damage: Vec<DamageAt>,
    pub checked_bytes: u64,
    /// The task ended because its time was up.
    pub timed_out: bool,
}

/// A task that is ready to start: nothing is allocated after this.
pub struct Task {
    pub shared: Arc<Shared>,
    pub board: Arc<Board>,
    pub number: u32,
    pub file: u32,
    pub transfer_size: usize,
    pub lane: Lane,
    /// Memory of a synchronous lane; a queue owns its own.
    pub memory: Option<Buffer>,
    pub arena: Option<Arena>,
    pub tally: Tally,
}

/// What a task counts in its loop.
pub struct Tally {
    pub recorder: LatencyRecorder,
    pub errors: u64,
    pub error: Option<ErrorAt>,
    pub damage: Vec<DamageAt>,
    pub damaged_operations: u64,
    pub checked_bytes: u64,
    pub passes: u64,
    pub timed_out: bool,
}

impl Task {
    /// Gets everything a task needs: lane, memory filled with its payload, histogram.
    pub fn prepare(shared: Arc<Shared>, board: Arc<Board>, number: u32) -> Result<Self, StorageError> {
        let spec = &shared.spec;
        let (transfer_size, depth) = (spec.geometry.transfer_size as usize, spec.queue_depth as usize);
        let file = spec.geometry.file(number);
        let mut lane = shared.storage.lane(&OpenRequest {
            file,
            op: spec.op,
            file_bytes: spec.geometry.file_bytes(spec.tasks.total),
            transfer_size,
            queue_depth: depth,
        })?;
        let slots = if matches!(lane, Lane::Sync(_)) { 1 } else { depth };
        let kind = if spec.op == Op::Write { spec.payload } else { PayloadKind::Constant };
        let mut memory = Buffer::new(Payload::arena_bytes(kind, transfer_size, slots))?;
        let arena =
            (spec.op == Op::Write).then(|| Arena::fill(Payload::new(kind, spec.seed), number, transfer_size, slots, &mut memory));
        let memory = match &mut lane {
            Lane::Sync(_) => Some(memory),
            Lane::Queued(queue) => {
                queue.set_memory(memory)?;
                None
            }
        };
        let tally = Tally {
            recorder: LatencyRecorder::new(),
            errors: 0,
            error: None,
            damage: Vec::with_capacity(DAMAGE_KEPT),
            damaged_operations: 0,
            checked_bytes: 0,
            passes: 0,
            timed_out: false,
        };
        Ok(Self { shared, board, number, file, transfer_size, lane, memory, arena, tally })
    }

    /// Opens, transfers, syncs and closes: the part inside the clock.
    pub fn run(mut self) -> Outcome {
        let start_ns = monotonic_ns();
        let opened = self.open();
        let open_end_ns = monotonic_ns();
        self.board.set_step(Step::Transferring);
        if opened {
            match self.lane {
                Lane::Sync(_) => sync::transfer(&mut self),
                Lane::Queued(_) => queued::transfer(&mut self),
            }
        }
        self.board.set_step(Step::Finishing);
        let transfer_end_ns = monotonic_ns();
        if opened && self.shared.spec.op == Op::Write && self.shared.spec.durability != tonnage_workload::Durability::None {
            let synced = self.lane.sync();
            self.finish_step("fsync", synced);
        }
        let sync_end_ns = monotonic_ns();
        if opened {
            let closed = self.lane.close();
            self.finish_step("close", closed);
        }
        let end_ns = monotonic_ns();
        let Tally { recorder, errors, error, damage, damaged_operations, checked_bytes, passes, timed_out } = self.tally;
        let result = TaskResult {
            task: self.number,
            start_ns,
            end_ns,
            open_ns: open_end_ns - start_ns,
            transfer_ns: transfer_end_ns - open_end_ns,
            sync_ns: sync_end_ns - transfer_end_ns,
            close_ns: end_ns - sync_end_ns,
            bytes: self.board.bytes(),
            operations: self.board.operations(),
            errors,
            damaged_operations,
            wrapped: passes > 1 || (passes == 1 && self.board.operations() > self.shared.spec.geometry.operations()),
            latency: recorder.summary(),
        };
        Outcome { result, recorder, error, damage, checked_bytes, timed_out }
    }

    fn open(&mut self) -> bool {
        if let Err(error) = self.lane.open() {
            let errno = error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0);
            self.tally.fail(&self.shared, self.number, self.file, 0, errno, error.to_string());
            return false;
        }
        true
    }

    /// A step after the last operation: its failure fails the trial, as NFS and quotas report late writes there.
    fn finish_step(&mut self, step: &str, result: std::io::Result<()>) {
        if let Err(error) = result {
            let text = format!("{step} failed: {error}");
            self.tally.fail(&self.shared, self.number, self.file, 0, error.raw_os_error().unwrap_or(0), text);
        }
    }
}

impl Tally {
    /// Counts an operation that moved all its bytes.
    #[inline]
    pub fn record(&mut self, board: &Board, latency_ns: u64, bytes: u64) {
        self.recorder.record(latency_ns);
        board.count(latency_ns, bytes);
    }

    /// Counts a failed operation, keeps the first, and asks all tasks to stop: the trial has failed.
    #[cold]
    pub fn fail(&mut self, shared: &Shared, task: u32, file: u32, offset: u64, errno: i32, message: String) {
        self.errors += 1;
        self.error.get_or_insert(ErrorAt { task, file, offset, errno, message });
        shared.stop.store(true, Ordering::Relaxed);
    }

    /// Checks a transfer that was read; damage is counted, never fatal, so that all of it is found.
    #[inline]
    pub fn verify(&mut self, verifier: &Verifier, transfer: &[u8], task: u32, file: u32, offset: u64) {
        self.checked_bytes += transfer.len() as u64;
        if let Err(damage) = verifier.check(transfer, file, offset) {
            self.damaged_operations += 1;
            if self.damage.len() < DAMAGE_KEPT {
                self.damage.push(DamageAt { task, file, offset: damage.offset, what: damage.what.to_owned() });
            }
        }
    }
}

/// What an error number means for whoever reads the record.
pub fn describe(op: Op, error: &std::io::Error) -> String {
    let verb = match op {
        Op::Write => "write",
        Op::Read => "read",
    };
    format!("{verb} failed: {error}")
}
