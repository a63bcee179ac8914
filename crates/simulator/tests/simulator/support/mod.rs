//! A storage that does nothing but tell what it was asked, and the two ways to run a phase.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonnage_engine::Phase;
use tonnage_records::PhaseResult;
use tonnage_simulator::{ModelSpec, Simulator};
use tonnage_storage::{Result, SnapshotRequest, Snapshots, Storage, StorageKind, TargetSpec, Wrapper, open};
use tonnage_testing::{Call, Hook, Hooked, Leave, Way};
use tonnage_workload::{Op, PhaseSpec};

/// An operation as both sides tell it: what it does with bytes, whose file or names, where, how many bytes.
pub type Seen = (Option<Op>, u32, u64, u64);
/// Those of each task, in their order.
pub type Courses = BTreeMap<u32, Vec<Seen>>;

/// What the storage was asked, and how long its files are.
#[derive(Default)]
struct Book {
    seen: Courses,
    lengths: BTreeMap<u32, u64>,
}

type Shared = Arc<Mutex<Book>>;

fn lock(book: &Shared) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes every byte and every name, and keeps none.
struct Watched {
    nothing: Hooked<Watcher>,
    book: Shared,
}

impl Watched {
    fn new(book: &Shared) -> Self {
        let shared = Arc::clone(book);
        let null = open(&TargetSpec::new(StorageKind::Null)).expect("there is always nothing");
        Self { nothing: Hooked::new(null, move |way| Watcher::new(&shared, way)), book: Arc::clone(book) }
    }
}

impl Wrapper for Watched {
    fn inner(&self) -> &dyn Storage {
        &self.nothing
    }

    fn length(&self, file: u32) -> Result<u64> {
        Ok(lock(&self.book).lengths.get(&file).copied().unwrap_or(0))
    }

    fn snapshots(&self, _request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        Ok(Box::new(Kept))
    }
}

/// Snapshots that take nothing: that they are taken, the result tells.
struct Kept;

impl Snapshots for Kept {
    fn take(&mut self, _round: u32) -> Result<u64> {
        Ok(0)
    }

    fn at(&mut self, _round: u32) -> Result<Option<Arc<dyn Storage>>> {
        Ok(None)
    }

    fn remove(&mut self, _round: u32) -> Result<()> {
        Ok(())
    }
}

/// Sees what one task does with its file, or with the names of one owner.
struct Watcher {
    book: Shared,
    task: u32,
    /// The file, or the owner.
    whose: u32,
    /// Several operations may be in flight.
    queued: bool,
}

impl Watcher {
    fn new(book: &Shared, way: Way<'_>) -> Self {
        let book = Arc::clone(book);
        match way {
            Way::Lane(request) => Self { book, task: request.task, whose: request.file, queued: request.queue_depth > 1 },
            Way::Names(request) => {
                let name = std::thread::current().name().and_then(|name| name.strip_prefix("task-")?.parse().ok());
                Self { book, task: name.expect("a task's thread"), whose: request.owner, queued: false }
            }
        }
    }

    /// How many of `bytes` are moved.
    fn transfer(&self, op: Op, offset: u64, bytes: usize) -> usize {
        let mut book = lock(&self.book);
        let length = book.lengths.entry(self.whose).or_default();
        // Who follows a file that grows comes to its end.
        let left = length.saturating_sub(offset).min(bytes as u64) as usize;
        let moved = if op == Op::Read && !self.queued { left } else { bytes };
        if op == Op::Write {
            *length = (*length).max(offset + bytes as u64);
        }
        if moved > 0 {
            book.seen.entry(self.task).or_default().push((Some(op), self.whose, offset, moved as u64));
        }
        moved
    }

    /// The open file moves bytes: that is what its operation does.
    fn transfer_of_named(&self, op: Op, bytes: usize) -> usize {
        let mut book = lock(&self.book);
        let seen = book.seen.get_mut(&self.task).and_then(|seen| seen.last_mut()).expect("an open file");
        (seen.0, seen.3) = (Some(op), seen.3 + bytes as u64);
        bytes
    }
}

impl Hook for Watcher {
    fn before(&mut self, call: Call) -> std::result::Result<Leave, i32> {
        let length = match call {
            Call::Transfer(op, offset, bytes) => self.transfer(op, offset, bytes),
            Call::OfNamed(op, _, bytes) => self.transfer_of_named(op, bytes),
            Call::Name(number) => {
                lock(&self.book).seen.entry(self.task).or_default().push((None, self.whose, number, 0));
                0
            }
            Call::Sync | Call::Close => 0,
        };
        Ok(Leave { length, alter: None, due: None })
    }
}

/// What a side makes of the phase at the end of `phases`, or why it refuses it; and what each task of it did.
pub type Outcome = (std::result::Result<PhaseResult, String>, Courses);

/// The engine runs `phases`, one after the other, on one storage.
pub fn by_engine(phases: &[PhaseSpec]) -> Outcome {
    let book = Shared::default();
    let storage: Arc<dyn Storage> = Arc::new(Watched::new(&book));
    let mut told = Err(String::new());
    for phase in phases {
        lock(&book).seen.clear();
        told = Phase::prepare(Arc::clone(&storage), phase.clone(), None)
            .map(|mut phase| {
                phase.go();
                assert!(phase.wait(Duration::from_secs(60)), "the phase ends");
                phase.take_result().expect("a result").expect("it ran")
            })
            .map_err(|error| error.to_string());
    }
    let seen = std::mem::take(&mut lock(&book).seen);
    (told, seen)
}

/// The simulator does.
pub fn by_simulator(phases: &[PhaseSpec]) -> Outcome {
    let mut simulator = Simulator::new(ModelSpec::default()).expect("a possible model");
    simulator.keep_visits();
    let mut told = Err(String::new());
    let mut seen = Courses::new();
    for phase in phases {
        simulator.take_visits();
        told = simulator.run(phase, None).map_err(|error| error.to_string());
        seen.clear();
        for visit in simulator.take_visits() {
            seen.entry(visit.task).or_default().push((visit.op, visit.file, visit.offset, visit.bytes));
        }
    }
    (told, seen)
}
