//! A storage of known speed: another one, slowed to a rate that all lanes share.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tonnage_workload::CachePolicy;

use crate::error::Result;
use crate::snapshots::Wrapped;
use crate::{
    Completion, Facts, File, ItemKind, Lane, Mended, Names, NamesRequest, Note, OpenRequest, Opening, Placement, Queue, Request,
    Residency, Slots, SnapshotRequest, Snapshots, Storage, Watch,
};

/// Time that an idle or late storage may catch up on; more would be a burst above the rate.
const CREDIT_NS: u64 = 10_000_000;

/// Another storage, at most at these rates.
pub struct Throttled {
    inner: Arc<dyn Storage>,
    meter: Arc<Meter>,
}

impl Throttled {
    /// `inner` at no more than so many bytes and operations a second, over all its lanes. `None`: no limit.
    #[must_use]
    pub fn new(inner: Arc<dyn Storage>, bytes_per_s: Option<u64>, operations_per_s: Option<u64>) -> Self {
        let meter = Meter {
            origin: Instant::now(),
            ns_per_byte: bytes_per_s.map_or(0.0, |rate| 1e9 / rate.max(1) as f64),
            ns_per_operation: operations_per_s.map_or(0.0, |rate| 1e9 / rate.max(1) as f64),
            bytes_until_ns: AtomicU64::new(0),
            operations_until_ns: AtomicU64::new(0),
        };
        Self { inner, meter: Arc::new(meter) }
    }
}

impl Storage for Throttled {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let meter = Arc::clone(&self.meter);
        Ok(match self.inner.lane(request)? {
            Lane::Sync(inner) => Lane::Sync(Box::new(ThrottledFile { inner, meter })),
            Lane::Queued(inner) => {
                let (due_ns, held) = (vec![0; request.queue_depth], Vec::with_capacity(request.queue_depth));
                Lane::Queued(Box::new(ThrottledQueue { inner, meter, due_ns, held }))
            }
        })
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(ThrottledNames { inner: self.inner.names(request)?, meter: Arc::clone(&self.meter) }))
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
        let meter = Arc::clone(&self.meter);
        let wrap = move |inner| Arc::new(Self { inner, meter: Arc::clone(&meter) }) as Arc<dyn Storage>;
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

/// Two buckets, each kept as the time until which its tokens are spent.
struct Meter {
    origin: Instant,
    ns_per_byte: f64,
    ns_per_operation: f64,
    bytes_until_ns: AtomicU64,
    operations_until_ns: AtomicU64,
}

impl Meter {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Takes tokens for one operation; when it may complete.
    fn take(&self, bytes: usize) -> u64 {
        let by_bytes = self.take_bytes(bytes);
        by_bytes.max(spend(&self.operations_until_ns, self.now_ns(), self.ns_per_operation))
    }

    /// Takes tokens for bytes alone.
    fn take_bytes(&self, bytes: usize) -> u64 {
        spend(&self.bytes_until_ns, self.now_ns(), bytes as f64 * self.ns_per_byte)
    }

    fn sleep_until(&self, due_ns: u64) {
        let wait = due_ns.saturating_sub(self.now_ns());
        if wait > 0 {
            thread::sleep(Duration::from_nanos(wait));
        }
    }
}

/// Spends `cost` nanoseconds of a bucket from `now` on (or from a little before, if it had time left).
fn spend(until_ns: &AtomicU64, now_ns: u64, cost_ns: f64) -> u64 {
    let cost = cost_ns.round() as u64;
    let next = |until: u64| until.max(now_ns.saturating_sub(CREDIT_NS)) + cost;
    let before = until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(next(until)));
    next(before.unwrap_or_else(|same| same))
}

struct ThrottledFile {
    inner: Box<dyn File>,
    meter: Arc<Meter>,
}

impl File for ThrottledFile {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let due = self.meter.take(buffer.len());
        let count = self.inner.read_at(offset, buffer);
        self.meter.sleep_until(due);
        count
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let due = self.meter.take(buffer.len());
        let count = self.inner.write_at(offset, buffer);
        self.meter.sleep_until(due);
        count
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}

struct ThrottledQueue {
    inner: Box<dyn Queue>,
    meter: Arc<Meter>,
    /// By slot: when its operation may complete.
    due_ns: Vec<u64>,
    /// Completions of the storage that are not due yet, or not taken; the last due first.
    held: Vec<(u64, Completion)>,
}

impl ThrottledQueue {
    /// Holds what the storage has completed; when the last of the next `wait_for` is due, if there are so many.
    fn hold(&mut self, wait_for: usize) -> Option<u64> {
        while let Some(completion) = self.inner.next_completion() {
            self.held.push((self.due_ns[completion.slot as usize], completion));
        }
        self.held.sort_unstable_by_key(|(due, _)| std::cmp::Reverse(*due));
        wait_for.checked_sub(1).and_then(|last| self.held.iter().rev().nth(last)).map(|(due, _)| *due)
    }
}

impl Queue for ThrottledQueue {
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
        self.due_ns[request.slot as usize] = self.meter.take(request.length);
        self.inner.push(request);
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.inner.submit_and_wait(wait_for.saturating_sub(self.held.len()))?;
        if let Some(due) = self.hold(wait_for) {
            self.meter.sleep_until(due);
        }
        Ok(())
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        let end = self.meter.now_ns().saturating_add(timeout.as_nanos() as u64);
        self.inner.submit_and_wait_for(wait_for.saturating_sub(self.held.len()), timeout)?;
        let due = self.hold(wait_for);
        self.meter.sleep_until(due.map_or(end, |due| due.min(end)));
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let (due, _) = *self.held.last()?;
        if due > self.meter.now_ns() { None } else { self.held.pop().map(|(_, completion)| completion) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}

/// Each act on a name counts as an operation; reads and writes of the open file only as their bytes.
struct ThrottledNames {
    inner: Box<dyn Names>,
    meter: Arc<Meter>,
}

impl ThrottledNames {
    fn paced<T>(&mut self, act: impl FnOnce(&mut dyn Names) -> io::Result<T>) -> io::Result<T> {
        let due = self.meter.take(0);
        let done = act(self.inner.as_mut());
        self.meter.sleep_until(due);
        done
    }
}

impl Names for ThrottledNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        self.paced(|inner| inner.make_tree(directory))
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        self.paced(|inner| inner.remove_tree(directory))
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.paced(|inner| inner.make(kind, number))
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.paced(|inner| inner.stat(kind, number))
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.paced(|inner| inner.rename(kind, number))
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.paced(|inner| inner.remove(kind, number))
    }

    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        self.paced(|inner| inner.open(kind, number, how))
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        self.paced(|inner| inner.list(directory))
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.inner.enter(directory)
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.inner.forget(kind, number)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let due = self.meter.take_bytes(buffer.len());
        let count = self.inner.read_at(offset, buffer);
        self.meter.sleep_until(due);
        count
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let due = self.meter.take_bytes(buffer.len());
        let count = self.inner.write_at(offset, buffer);
        self.meter.sleep_until(due);
        count
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        self.inner.sync_file_system()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()
    }

    fn take_mended(&mut self) -> Vec<Mended> {
        self.inner.take_mended()
    }
}
