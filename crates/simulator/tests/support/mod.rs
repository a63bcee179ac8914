//! A storage that does nothing but tell what it was asked, and the two ways to run a phase.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonnage_engine::Phase;
use tonnage_records::PhaseResult;
use tonnage_simulator::{ModelSpec, Simulator};
use tonnage_storage::{
    CacheState, Completion, Facts, File, ItemKind, Lane, Names, NamesRequest, Note, OpenRequest, Opening, Queue, Request, Result,
    Slots, SnapshotRequest, Snapshots, Storage,
};
use tonnage_workload::{CachePolicy, Op, PhaseSpec};

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

/// Takes every byte and every name, and keeps none.
#[derive(Default, Clone)]
pub struct Watched(Arc<Mutex<Book>>);

impl Watched {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, task: u32, seen: Seen) {
        self.book().seen.entry(task).or_default().push(seen);
    }

    fn transfer(&self, task: u32, op: Op, file: u32, offset: u64, bytes: usize) {
        let mut book = self.book();
        if op == Op::Write {
            let length = book.lengths.entry(file).or_default();
            *length = (*length).max(offset + bytes as u64);
        }
        book.seen.entry(task).or_default().push((Some(op), file, offset, bytes as u64));
    }
}

impl Storage for Watched {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let way = Way {
            storage: self.clone(),
            task: request.task,
            file: request.file,
            memory: None,
            done: VecDeque::new(),
            pushed: Vec::new(),
        };
        Ok(if request.queue_depth > 1 { Lane::Queued(Box::new(way)) } else { Lane::Sync(Box::new(way)) })
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        let name = std::thread::current().name().and_then(|name| name.strip_prefix("task-")?.parse().ok());
        Ok(Box::new(Spelled { storage: self.clone(), task: name.expect("a task's thread"), owner: request.owner }))
    }

    fn length(&self, file: u32) -> Result<u64> {
        Ok(self.book().lengths.get(&file).copied().unwrap_or(0))
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        Ok(CacheState::default())
    }

    fn snapshots(&self, _request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        Ok(Box::new(Kept))
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts::default()
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

/// One task's way to its file, with one or several operations in flight.
struct Way {
    storage: Watched,
    task: u32,
    file: u32,
    memory: Option<Slots>,
    /// Completions that a wait has made known, and those that none has.
    done: VecDeque<Completion>,
    pushed: Vec<Completion>,
}

impl File for Way {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Who follows a file that grows comes to its end.
        let left = self.storage.length(self.file).unwrap_or(0).saturating_sub(offset).min(buffer.len() as u64) as usize;
        if left > 0 {
            self.storage.transfer(self.task, Op::Read, self.file, offset, left);
        }
        Ok(left)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.storage.transfer(self.task, Op::Write, self.file, offset, buffer.len());
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Queue for Way {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        self.storage.transfer(self.task, request.op, self.file, request.offset, request.length);
        self.pushed.push(Completion { slot: request.slot, result: request.length as i32 });
    }

    fn submit_and_wait(&mut self, _wait_for: usize) -> io::Result<()> {
        self.done.extend(self.pushed.drain(..));
        Ok(())
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, _timeout: Duration) -> io::Result<()> {
        self.submit_and_wait(wait_for)
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One task's way to the names of one owner.
struct Spelled {
    storage: Watched,
    task: u32,
    owner: u32,
}

impl Spelled {
    fn see(&self, number: u64) {
        self.storage.see(self.task, (None, self.owner, number, 0));
    }

    /// The open file moves bytes: that is what its operation does.
    fn moves(&self, op: Op, bytes: usize) -> usize {
        let mut book = self.storage.book();
        let seen = book.seen.get_mut(&self.task).and_then(|seen| seen.last_mut()).expect("an open file");
        (seen.0, seen.3) = (Some(op), seen.3 + bytes as u64);
        bytes
    }
}

impl Names for Spelled {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        self.see(directory);
        Ok(())
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        self.see(directory);
        Ok(())
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        self.see(directory);
        Ok(0)
    }

    fn enter(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    fn make(&mut self, _kind: ItemKind, number: u64) -> io::Result<()> {
        self.see(number);
        Ok(())
    }

    fn stat(&mut self, _kind: ItemKind, number: u64) -> io::Result<()> {
        self.see(number);
        Ok(())
    }

    fn rename(&mut self, _kind: ItemKind, number: u64) -> io::Result<()> {
        self.see(number);
        Ok(())
    }

    fn remove(&mut self, _kind: ItemKind, number: u64) -> io::Result<()> {
        self.see(number);
        Ok(())
    }

    fn forget(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    fn open(&mut self, _kind: ItemKind, number: u64, _how: Opening) -> io::Result<()> {
        self.see(number);
        Ok(())
    }

    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.moves(Op::Read, buffer.len()))
    }

    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        Ok(self.moves(Op::Write, buffer.len()))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a side makes of the phase at the end of `phases`, or why it refuses it; and what each task of it did.
pub type Told = (std::result::Result<PhaseResult, String>, Courses);

/// The engine runs `phases`, one after the other, on one storage.
pub fn by_engine(phases: &[PhaseSpec]) -> Told {
    let storage = Watched::default();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let mut told = Err(String::new());
    for phase in phases {
        storage.book().seen.clear();
        told = Phase::prepare(Arc::clone(&shared), phase.clone(), None)
            .map(|mut phase| {
                phase.go();
                assert!(phase.wait(Duration::from_secs(60)), "the phase ends");
                phase.take_result().expect("a result").expect("it ran")
            })
            .map_err(|error| error.to_string());
    }
    let seen = std::mem::take(&mut storage.book().seen);
    (told, seen)
}

/// The simulator does.
pub fn by_simulator(phases: &[PhaseSpec]) -> Told {
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
