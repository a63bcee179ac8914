//! A storage that fails by rule: the same failures at the same operations each time.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tonnage_workload::{CachePolicy, Op};

use crate::error::Result;
use crate::snapshots::Wrapped;
use crate::{
    Completion, Facts, File, ItemKind, Lane, Mended, Names, NamesRequest, Note, OpenRequest, Opening, Placement, Queue, Request,
    Residency, Slots, SnapshotRequest, Snapshots, Storage, Watch,
};

/// One rule. Operations are counted from 1 in each lane, reads and writes apart; `nth` of 3 means the 3rd, 6th, 9th …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "op, nth, errno, offset, bytes and delay are what the rules say")]
pub enum Fault {
    /// Each nth operation fails.
    FailEvery { op: Op, nth: u64, errno: i32 },
    /// Operations that touch the byte at `offset` fail.
    FailAt { op: Op, offset: u64, errno: i32 },
    /// The storage is full (ENOSPC) when all lanes together wrote `bytes`; the last write before is cut short.
    FullAfter { bytes: u64 },
    /// Each nth operation moves only half of its bytes.
    ShortEvery { op: Op, nth: u64 },
    /// Each nth read gives one flipped bit, in the middle.
    FlipEvery { nth: u64 },
    /// Each nth operation takes so much longer.
    DelayEvery { op: Op, nth: u64, delay: Duration },
    /// Each nth act on a name (make, stat, rename, remove, list, open) fails; they are counted together.
    FailNameEvery { nth: u64, errno: i32 },
    /// Sync fails; nothing is synced.
    FailSync { errno: i32 },
    /// Close fails; the file is closed all the same.
    FailClose { errno: i32 },
}

/// Another storage, with faults.
pub struct Faulty {
    inner: Arc<dyn Storage>,
    shared: Arc<Shared>,
}

struct Shared {
    faults: Vec<Fault>,
    written_bytes: AtomicU64,
}

impl Faulty {
    /// `inner` with these faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Storage>, faults: Vec<Fault>) -> Self {
        Self { inner, shared: Arc::new(Shared { faults, written_bytes: AtomicU64::new(0) }) }
    }
}

impl Storage for Faulty {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let rules = Rules::new(&self.shared);
        Ok(match self.inner.lane(request)? {
            Lane::Sync(inner) => Lane::Sync(Box::new(FaultyFile { inner, rules })),
            Lane::Queued(inner) => {
                let flips = vec![None; request.queue_depth];
                let failed = VecDeque::with_capacity(request.queue_depth);
                Lane::Queued(Box::new(FaultyQueue { inner, rules, flips, failed }))
            }
        })
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(FaultyNames { inner: self.inner.names(request)?, rules: Rules::new(&self.shared) }))
    }

    fn length(&self, file: u32) -> Result<u64> {
        self.inner.length(file)
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.inner.prepare_write(files)
    }

    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<Residency> {
        self.inner.settle(files, cache)
    }

    fn watch(&self, file: u32) -> Option<Watch> {
        self.inner.watch(file)
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let shared = Arc::clone(&self.shared);
        let wrap = move |inner| Arc::new(Self { inner, shared: Arc::clone(&shared) }) as Arc<dyn Storage>;
        Ok(Box::new(Wrapped { inner: self.inner.snapshots(request)?, wrap }))
    }

    fn cut_short(&self) {
        self.inner.cut_short();
    }

    fn clear(&self) -> Result<()> {
        self.inner.clear()
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.inner.finish()
    }

    fn keep_named(&self, keep: bool) {
        self.inner.keep_named(keep);
    }

    fn placement(&self) -> Result<Option<Placement>> {
        self.inner.placement()
    }

    fn explain(&self, error: &io::Error) -> Option<String> {
        self.inner.explain(error)
    }

    fn facts(&self) -> Facts {
        self.inner.facts()
    }
}

/// The rules as one lane counts them.
struct Rules {
    shared: Arc<Shared>,
    reads: u64,
    writes: u64,
    names: u64,
}

/// What an operation may do.
struct Verdict {
    /// Bytes it may move, or the error it meets.
    length: std::result::Result<usize, i32>,
    flip: bool,
}

impl Rules {
    fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), reads: 0, writes: 0, names: 0 }
    }

    /// Judges the next act on a name.
    fn name(&mut self) -> io::Result<()> {
        self.names += 1;
        let names = self.names;
        self.first(|fault| match *fault {
            Fault::FailNameEvery { nth, errno } if names.is_multiple_of(nth) => Some(errno),
            _ => None,
        })
    }

    /// Judges the next operation; sleeps where a rule says so.
    fn judge(&mut self, op: Op, offset: u64, length: usize) -> Verdict {
        let count = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        *count += 1;
        let due = |on: Op, nth: u64| on == op && count.is_multiple_of(nth);
        let mut verdict = Verdict { length: Ok(length), flip: false };
        for fault in &self.shared.faults {
            match *fault {
                Fault::FailEvery { op: on, nth, errno } if due(on, nth) => verdict.length = Err(errno),
                Fault::FailAt { op: on, offset: at, errno } if on == op && at >= offset && at - offset < length as u64 => {
                    verdict.length = Err(errno);
                }
                Fault::FullAfter { bytes } if op == Op::Write => {
                    verdict.length = verdict.length.and_then(|length| self.shared.take(bytes, length));
                }
                Fault::ShortEvery { op: on, nth } if due(on, nth) => {
                    verdict.length = verdict.length.map(|length| length.div_ceil(2));
                }
                Fault::FlipEvery { nth } if due(Op::Read, nth) => verdict.flip = true,
                Fault::DelayEvery { op: on, nth, delay } if due(on, nth) => thread::sleep(delay),
                _ => {}
            }
        }
        verdict
    }

    fn sync(&self) -> io::Result<()> {
        self.first(|fault| if let Fault::FailSync { errno } = fault { Some(*errno) } else { None })
    }

    fn close(&self) -> io::Result<()> {
        self.first(|fault| if let Fault::FailClose { errno } = fault { Some(*errno) } else { None })
    }

    fn first(&self, errno: impl FnMut(&Fault) -> Option<i32>) -> io::Result<()> {
        self.shared.faults.iter().find_map(errno).map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
    }
}

impl Shared {
    /// How many of `wanted` bytes there is still room for.
    fn take(&self, capacity: u64, wanted: usize) -> std::result::Result<usize, i32> {
        let before = self.written_bytes.fetch_add(wanted as u64, Ordering::Relaxed);
        match capacity.saturating_sub(before).min(wanted as u64) {
            0 if wanted > 0 => Err(libc::ENOSPC),
            room => Ok(room as usize),
        }
    }
}

fn flip(bytes: &mut [u8]) {
    if let Some(byte) = bytes.get_mut(bytes.len() / 2) {
        *byte ^= 1;
    }
}

/// A read as the rules let it go.
fn read_at(
    rules: &mut Rules,
    offset: u64,
    buffer: &mut [u8],
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let verdict = rules.judge(Op::Read, offset, buffer.len());
    let length = verdict.length.map_err(io::Error::from_raw_os_error)?;
    let count = read(&mut buffer[..length])?;
    if verdict.flip {
        flip(&mut buffer[..count]);
    }
    Ok(count)
}

struct FaultyFile {
    inner: Box<dyn File>,
    rules: Rules,
}

impl File for FaultyFile {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(&mut self.rules, offset, buffer, |buffer| self.inner.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let verdict = self.rules.judge(Op::Write, offset, buffer.len());
        let length = verdict.length.map_err(io::Error::from_raw_os_error)?;
        self.inner.write_at(offset, &buffer[..length])
    }

    fn sync(&mut self) -> io::Result<()> {
        self.rules.sync()?;
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()?;
        self.rules.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}

struct FaultyQueue {
    inner: Box<dyn Queue>,
    rules: Rules,
    /// By slot: where in memory the bytes of a read to damage will be.
    flips: Vec<Option<Range<usize>>>,
    /// Completions that never reached the storage.
    failed: VecDeque<Completion>,
}

impl Queue for FaultyQueue {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        self.inner.set_memory(memory)
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.inner.memory(slot)
    }

    fn push(&mut self, request: Request) {
        let verdict = self.rules.judge(request.op, request.offset, request.length);
        match verdict.length {
            Err(errno) => self.failed.push_back(Completion { slot: request.slot, result: -errno }),
            Ok(length) => {
                let range = request.start..request.start + length;
                self.flips[request.slot as usize] = verdict.flip.then_some(range);
                self.inner.push(Request { length, ..request });
            }
        }
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.inner.submit_and_wait(wait_for.saturating_sub(self.failed.len()))
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.inner.submit_and_wait_for(wait_for.saturating_sub(self.failed.len()), timeout)
    }

    fn next_completion(&mut self) -> Option<Completion> {
        if let Some(failed) = self.failed.pop_front() {
            return Some(failed);
        }
        let completion = self.inner.next_completion()?;
        if let Some(range) = self.flips[completion.slot as usize].take() {
            let count = completion.result.max(0) as usize;
            flip(&mut self.inner.memory(completion.slot)[range.start..range.start + count]);
        }
        Some(completion)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.rules.sync()?;
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()?;
        self.rules.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}

struct FaultyNames {
    inner: Box<dyn Names>,
    rules: Rules,
}

impl Names for FaultyNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.make_tree(directory)
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.remove_tree(directory)
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.make(kind, number)
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.stat(kind, number)
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.rename(kind, number)
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.rules.name()?;
        self.inner.remove(kind, number)
    }

    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        self.rules.name()?;
        self.inner.open(kind, number, how)
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        self.rules.name()?;
        self.inner.list(directory)
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.inner.enter(directory)
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.inner.forget(kind, number)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(&mut self.rules, offset, buffer, |buffer| self.inner.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let verdict = self.rules.judge(Op::Write, offset, buffer.len());
        let length = verdict.length.map_err(io::Error::from_raw_os_error)?;
        self.inner.write_at(offset, &buffer[..length])
    }

    fn sync(&mut self) -> io::Result<()> {
        self.rules.sync()?;
        self.inner.sync()
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        self.rules.sync()?;
        self.inner.sync_file_system()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()?;
        self.rules.close()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}
