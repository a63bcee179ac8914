//! Several operations on objects in flight.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tonnage_workload::Op;

use super::file::open;
use super::library::{self, Rados};
use super::object::{Name, parts};
use super::pool::Pool;
use super::traffic::Meter;
use crate::api::{Completion, OpenRequest, Queue, Request};
use crate::error::Result;
use crate::slots::Slots;

/// What came back, and who waits for it.
#[derive(Default)]
struct Arrivals {
    done: VecDeque<Completion>,
    /// Wake the task at so many.
    wanted: usize,
}

/// Between the library's threads and the task.
#[derive(Default)]
struct Shared {
    arrivals: Mutex<Arrivals>,
    enough: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, completion: Completion) {
        let mut arrivals = self.lock();
        arrivals.done.push_back(completion);
        if arrivals.wanted > 0 && arrivals.done.len() >= arrivals.wanted {
            arrivals.wanted = 0;
            drop(arrivals);
            self.enough.notify_one();
        }
    }
}

/// An operation in flight, which may be several of the library's.
struct Slot {
    shared: Arc<Shared>,
    library: &'static Rados,
    number: u32,
    /// Of the library's.
    left: AtomicUsize,
    /// Bytes so far, or a negated errno.
    result: AtomicI32,
}

/// One of the library's operations, as its callback is told of it.
#[derive(Clone, Copy)]
struct Flight {
    slot: *const Slot,
    length: usize,
    op: Op,
}

/// One task's objects.
pub(super) struct RadosQueue {
    pool: Arc<Pool>,
    request: OpenRequest,
    /// Freed by hand: never while the library may still write to it.
    memory: ManuallyDrop<Option<Slots>>,
    pushed: Vec<Request>,
    shared: Arc<Shared>,
    slots: ManuallyDrop<Box<[Slot]>>,
    /// Of each slot so many, one a part: made before the clock starts.
    flights: ManuallyDrop<Box<[Flight]>>,
    parts_most: usize,
    in_flight: usize,
    meter: Meter,
}

// SAFETY: what the library's threads touch of it is behind a lock or atomic.
unsafe impl Send for RadosQueue {}

impl RadosQueue {
    pub(super) fn new(pool: Arc<Pool>, request: OpenRequest) -> Self {
        let shared = Arc::<Shared>::default();
        let slot = |number| Slot {
            shared: Arc::clone(&shared),
            library: pool.library,
            number,
            left: AtomicUsize::new(0),
            result: AtomicI32::new(0),
        };
        let slots: Box<[Slot]> = (0..request.queue_depth as u32).map(slot).collect();
        // A transfer that begins inside an object touches one more.
        let object_bytes = pool.spec.object_bytes as usize;
        let parts_most = request.transfer_size.div_ceil(object_bytes) + 1;
        let none = Flight { slot: std::ptr::null(), length: 0, op: request.op };
        let meter = Meter::with_room(request.file_bytes.div_ceil(pool.spec.object_bytes));
        Self {
            pool,
            request,
            memory: ManuallyDrop::new(None),
            pushed: Vec::with_capacity(request.queue_depth),
            shared,
            flights: ManuallyDrop::new(vec![none; slots.len() * parts_most].into()),
            slots: ManuallyDrop::new(slots),
            parts_most,
            in_flight: 0,
            meter,
        }
    }

    fn begin(&mut self, request: &Request) {
        let object_bytes = self.pool.spec.object_bytes;
        let Some(memory) = &mut *self.memory else { return };
        let bytes = memory.lend(request.slot, request.start, request.length);
        let slot = &raw const self.slots[request.slot as usize];
        // SAFETY: the slots stay where they are until nothing is in flight (see `drop`).
        let state = unsafe { &*slot };
        state.result.store(0, Ordering::Relaxed);
        // One more than there are, so that it is not over before the last one has begun.
        state.left.store(parts(object_bytes, request.offset, request.length).count() + 1, Ordering::Relaxed);
        self.in_flight += 1;
        let first = request.slot as usize * self.parts_most;
        for (number, part) in parts(object_bytes, request.offset, request.length).enumerate() {
            let name = Name::new(self.request.file, part.object);
            self.meter.count(self.request.file, part.object, request.op, part.length);
            let flight = &raw mut self.flights[first + number];
            let mut completion = null_mut();
            // SAFETY: the part lies in what was lent, which outlives the operation; the name is copied.
            let begun = unsafe {
                flight.write(Flight { slot, length: part.length, op: request.op });
                (self.pool.library.aio_create_completion2)(flight.cast(), Some(landed), &raw mut completion);
                let (start, name) = (bytes.add(part.start), name.as_c_str());
                match request.op {
                    Op::Read => {
                        let context = self.pool.context;
                        (self.pool.library.aio_read)(context, name.as_ptr(), completion, start.cast(), part.length, part.offset)
                    }
                    Op::Write => self.pool.begin_write(name, completion, start, part.length, part.offset),
                }
            };
            if begun < 0 {
                // SAFETY: it never began, so nobody else frees it.
                unsafe { (self.pool.library.aio_release)(completion) };
                state.add(begun);
            }
        }
        state.add(0);
    }

    fn start_pushed(&mut self) {
        for at in 0..self.pushed.len() {
            let request = self.pushed[at];
            self.begin(&request);
        }
        self.pushed.clear();
    }

    fn wait(&self, wanted: usize, limit: Option<Duration>) {
        let until = limit.map(|limit| Instant::now() + limit);
        let mut arrivals = self.shared.lock();
        while arrivals.done.len() < wanted {
            arrivals.wanted = wanted;
            arrivals = match until {
                None => self.shared.enough.wait(arrivals).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.shared.enough.wait_timeout(arrivals, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        arrivals.wanted = 0;
    }
}

impl Slot {
    /// Takes one part's result; the last one tells the task.
    fn add(&self, result: i32) {
        let sum = |known: i32| {
            Some(if known < 0 {
                known
            } else if result < 0 {
                result
            } else {
                known + result
            })
        };
        let _ = self.result.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        // Once the task knows, it may drop the queue, and this slot with it.
        let (shared, slot) = (Arc::clone(&self.shared), self.number);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.arrived(Completion { slot, result: self.result.load(Ordering::Relaxed) });
        }
    }
}

/// On a thread of the library, once for each of its operations.
extern "C" fn landed(completion: library::Completion, flight: *mut c_void) {
    // SAFETY: it is what `begin` wrote, and its slot, which nobody frees or uses anew before, waits for this.
    unsafe {
        let flight = flight.cast::<Flight>().read();
        let slot = &*flight.slot;
        let result = (slot.library.aio_get_return_value)(completion);
        (slot.library.aio_release)(completion);
        slot.add(match flight.op {
            // A write says 0 when all of it is safe.
            Op::Write if result >= 0 => flight.length as i32,
            // An object that is not there is behind the end of the file.
            Op::Read if result == -libc::ENOENT => 0,
            _ => result,
        });
    }
}

impl Queue for RadosQueue {
    fn open(&mut self) -> Result<()> {
        open(&self.pool, &self.request)
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        *self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        self.pushed.push(request);
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.start_pushed();
        self.wait(wait_for.min(self.in_flight), None);
        Ok(())
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.start_pushed();
        self.wait(wait_for.min(self.in_flight), Some(timeout));
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let found = self.shared.lock().done.pop_front()?;
        self.in_flight -= 1;
        if let Some(memory) = self.memory.as_mut() {
            memory.give_back(found.slot);
        }
        Some(found)
    }

    /// A write has come back when it was on the disks of all replicas.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RadosQueue {
    fn drop(&mut self) {
        // No operation takes longer than the library's own limit.
        self.wait(self.in_flight, None);
        self.pool.ledger.take(&mut self.meter);
        // SAFETY: dropped once, here, with nothing in flight.
        unsafe {
            ManuallyDrop::drop(&mut self.memory);
            ManuallyDrop::drop(&mut self.flights);
            ManuallyDrop::drop(&mut self.slots);
        }
    }
}
