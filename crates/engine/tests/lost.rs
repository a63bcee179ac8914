//! What a storage took and lost before it was durable is written again as it was, and no more often than is sensible.

mod support;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use support::{MIB, in_memory, run, spec, streaming};
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{
    CacheState, Completion, Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, Queue, Request, Result, Slots, Storage,
};
use tonnage_workload::{CachePolicy, Durability, Op};

const EIO: i32 = 5;
/// Of one file: a part of one transfer, and some that begin and end within transfers of 64 KiB.
const LOST: [Range<u64>; 2] = [100..101, MIB - 5..MIB + 200_000];

/// Memory that loses parts of each file when it is to be durable, so many times in all.
struct Losing {
    inner: Arc<dyn Storage>,
    times: Arc<AtomicU32>,
}

/// A lane of it, of either kind.
struct LosingLane<T: ?Sized> {
    inner: Box<T>,
    storage: Arc<dyn Storage>,
    request: OpenRequest,
    times: Arc<AtomicU32>,
    lost: Vec<Range<u64>>,
}

impl<T: ?Sized> LosingLane<T> {
    fn new(losing: &Losing, request: &OpenRequest, inner: Box<T>) -> Self {
        let (storage, times) = (Arc::clone(&losing.inner), Arc::clone(&losing.times));
        Self { inner, storage, request: *request, times, lost: Vec::new() }
    }

    /// Overwrites what is lost, if something is this time.
    fn lose(&mut self) -> io::Result<()> {
        let left = self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |times| times.checked_sub(1));
        if self.request.op == Op::Read || left.is_err() {
            return Ok(());
        }
        let Ok(Lane::Sync(mut file)) = self.storage.lane(&OpenRequest { queue_depth: 1, ..self.request }) else {
            panic!("memory has lanes for one operation at a time")
        };
        file.open().expect("it is there");
        for range in LOST {
            file.write_at(range.start, &vec![0; (range.end - range.start) as usize])?;
        }
        self.lost = LOST.to_vec();
        Err(io::Error::from_raw_os_error(EIO))
    }
}

impl File for LosingLane<dyn File> {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, buffer)
    }
    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.inner.write_at(offset, buffer)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.lose()
    }
    fn close(&mut self) -> io::Result<()> {
        self.lose()
    }
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lost)
    }
}

impl Queue for LosingLane<dyn Queue> {
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
        self.inner.push(request);
    }
    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.inner.submit_and_wait(wait_for)
    }
    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.inner.submit_and_wait_for(wait_for, timeout)
    }
    fn next_completion(&mut self) -> Option<Completion> {
        self.inner.next_completion()
    }
    fn sync(&mut self) -> io::Result<()> {
        self.lose()
    }
    fn close(&mut self) -> io::Result<()> {
        self.lose()
    }
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lost)
    }
}

impl Storage for Losing {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        Ok(match self.inner.lane(request)? {
            Lane::Sync(inner) => Lane::Sync(Box::new(LosingLane::new(self, request, inner))),
            Lane::Queued(inner) => Lane::Queued(Box::new(LosingLane::new(self, request, inner))),
        })
    }
    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        self.inner.names(request)
    }
    fn length(&self, file: u32) -> Result<u64> {
        self.inner.length(file)
    }
    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.inner.prepare_write(files)
    }
    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState> {
        self.inner.settle(files, cache)
    }
    fn clear(&self) -> Result<()> {
        self.inner.clear()
    }
    fn finish(&self) -> Result<Vec<Note>> {
        self.inner.finish()
    }
    fn facts(&self) -> Facts {
        self.inner.facts()
    }
}

/// One task writes 4 MiB to a storage that loses so often, and reads them back.
fn written_and_read(times: u32, depth: u32, durability: Durability, retry_ns: Option<u64>) -> [PhaseResult; 2] {
    let storage: Arc<dyn Storage> = Arc::new(Losing { inner: in_memory(), times: Arc::new(AtomicU32::new(times)) });
    [Op::Write, Op::Read].map(|op| {
        let phase = streaming(spec(op, 1), |stream| {
            (stream.queue_depth, stream.retry_ns, stream.verify) = (depth, retry_ns, op == Op::Read);
            stream.durability = if op == Op::Write { durability } else { Durability::None };
        });
        run(&storage, phase, None)
    })
}

#[test]
fn what_was_lost_is_written_again_as_it_was() {
    // Without an fsync, the close finds it.
    for durability in [Durability::Fsync, Durability::None] {
        for (depth, retry_ns) in [(1, None), (8, None), (1, Some(1_000_000_000)), (8, Some(1_000_000_000))] {
            for times in [1, 3] {
                let [write, read] = written_and_read(times, depth, durability, retry_ns);
                assert_eq!(write.stop_reason, StopReason::Size, "{:?} at depth {depth}", write.first_error);
                assert_eq!((write.tasks[0].bytes, write.tasks[0].operations), (4 * MIB, 64), "each counts once");
                // One transfer, and five.
                let again: Vec<_> = write.events.iter().filter(|event| event.kind == "retry").collect();
                assert_eq!((write.tasks[0].retries, again.len()), (6 * u64::from(times), times as usize), "depth {depth}");
                for event in again {
                    assert_eq!((event.task, event.attempts), (Some(0), Some(6)));
                    assert!(event.message.as_ref().expect("why").contains("Input/output error"), "{event:?}");
                    let task = &write.tasks[0];
                    assert!((task.start_ns..task.end_ns).contains(&event.time_ns), "{event:?}");
                }
                let verify = read.verify.expect("verified");
                assert_eq!((verify.checked_bytes, verify.damaged_operations), (4 * MIB, 0), "depth {depth}");
            }
        }
    }
}

#[test]
fn a_storage_that_loses_whatever_it_is_sent_fails_the_phase() {
    for depth in [1, 8] {
        let [write, read] = written_and_read(u32::MAX, depth, Durability::Fsync, None);
        assert_eq!(write.stop_reason, StopReason::Error);
        assert!(write.first_error.expect("kept").message.starts_with("fsync failed: "));
        assert!(read.verify.expect("verified").damaged_operations > 0, "the loss is no pretence");
    }
}
