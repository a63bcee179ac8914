//! The loop of a task that keeps several operations in flight.

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tonnage_storage::{Completion, Lane, Queue, Request};
use tonnage_workload::{Durability, Op, Step, Transfer, Transfers};

use crate::clock::{Clock, NAP_NS};
use crate::steering::{Steering, wait_until};
use crate::stream::StreamWorker;
use crate::task::TaskContext;
use crate::transfers::{describe, short};

/// An operation in flight.
#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    offset: u64,
    /// In the slot's memory.
    start: usize,
    moved: usize,
    /// When its latency begins, in ticks.
    started: u64,
}

/// What is in flight, and what may follow.
struct Traffic {
    slots: Vec<Slot>,
    steering: Steering<Transfers>,
    clock: Clock,
}

/// Keeps the queue full (or as full as the pace wants it) until the task's program is done or someone says stop, then
/// drains it.
///
/// The clock is read once a round: operations that were reaped together ended together, and those that replace them
/// began there, or when they were meant to.
pub fn transfer(worker: &mut StreamWorker, context: &mut TaskContext) {
    let mut traffic = Traffic::new(worker, context);
    let clock = traffic.clock;
    let mut now = clock.ticks();
    loop {
        let step = traffic.fill(worker, context, now);
        let until = if let Step::WaitUntil(until) = step { Some(until) } else { None };
        if step == Step::Done {
            break;
        } else if traffic.steering.program.in_flight() == 0 {
            if let Some(until) = until {
                wait_until(context, until);
            }
        } else if let Err(error) = traffic.wait(worker, until, now)
            && error.kind() != io::ErrorKind::Interrupted
        {
            let errno = error.raw_os_error().unwrap_or(0);
            context.fail(worker.file, 0, errno, describe(worker.stream.op, &error));
            worker.in_doubt = !is_drained(worker, traffic.steering.program.in_flight());
            return;
        }
        now = clock.ticks();
        if context.shared.stop.load(Ordering::Relaxed) {
            traffic.steering.program.stop();
        }
        while let Some(completion) = next_completion(worker) {
            if traffic.complete(worker, context, completion, now)
                && let Some(transfer) = traffic.steering.program.completed(completion.slot, now)
            {
                traffic.issue(worker, completion.slot, transfer, now);
            }
        }
    }
    worker.passes = traffic.steering.program.operations().passes();
}

#[inline]
fn next_completion(worker: &mut StreamWorker) -> Option<Completion> {
    match &mut worker.lane {
        Lane::Queued(queue) => queue.next_completion(),
        Lane::Sync(_) => None,
    }
}

/// Writes bytes of the first slot, with nothing else in flight.
pub fn write_once(queue: &mut dyn Queue, offset: u64, bytes: Range<usize>) -> io::Result<()> {
    let (mut start, end) = (bytes.start, bytes.end);
    while start < end {
        let offset = offset + (start - bytes.start) as u64;
        queue.push(Request { slot: 0, op: Op::Write, offset, start, length: end - start });
        queue.submit_and_wait(1)?;
        match queue.next_completion().map_or(0, |completion| completion.result) {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            moved if moved > 0 => start += moved as usize,
            errno => return Err(io::Error::from_raw_os_error(-errno)),
        }
    }
    Ok(())
}

#[inline]
fn push(queue: &mut dyn Queue, number: u32, slot: Slot, transfer_size: usize) {
    queue.push(Request {
        slot: number,
        op: slot.op,
        offset: slot.offset + slot.moved as u64,
        start: slot.start + slot.moved,
        length: transfer_size - slot.moved,
    });
}

/// After a wait that failed: takes what is still in flight, without a look at it. False where that is not to be had, so
/// that the storage may still be at work on it.
#[cold]
fn is_drained(worker: &mut StreamWorker, mut in_flight: u64) -> bool {
    while in_flight > 0 {
        let Lane::Queued(queue) = &mut worker.lane else { return false };
        let before = in_flight;
        match queue.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return false,
            _ => {}
        }
        while queue.next_completion().is_some() {
            in_flight -= 1;
        }
        if in_flight == before {
            return false;
        }
    }
    true
}

impl Traffic {
    fn new(worker: &mut StreamWorker, context: &TaskContext) -> Self {
        let (terms, transfers) = (worker.terms(context), worker.transfers(context));
        let none = Slot { op: worker.stream.op, offset: 0, start: 0, moved: 0, started: 0 };
        Self {
            slots: vec![none; terms.slots as usize],
            steering: Steering::new(context, transfers, &terms, worker.wall.take()),
            clock: context.shared.clock,
        }
    }

    /// Starts all operations that may start now; what is due after them.
    #[inline]
    fn fill(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, now: u64) -> Step<Transfer> {
        loop {
            match self.steering.next(context, now) {
                Step::Issue { slot, from, operation } => self.issue(worker, slot, operation, from),
                step => return step,
            }
        }
    }

    /// Starts an operation in its slot.
    #[inline]
    fn issue(&mut self, worker: &mut StreamWorker, number: u32, transfer: Transfer, started: u64) {
        let Lane::Queued(queue) = &mut worker.lane else { return };
        let Transfer { op, offset, .. } = transfer;
        let start = match &mut worker.arena {
            Some(arena) if op == Op::Write => arena.next(queue.memory(number), number as usize, worker.file, offset).start,
            _ => worker.landing,
        };
        let slot = Slot { op, offset, start, moved: 0, started };
        self.slots[number as usize] = slot;
        push(queue.as_mut(), number, slot, worker.transfer_size);
    }

    /// Hands over what was pushed and waits for a completion, or for `next`, when another operation may start.
    #[inline]
    fn wait(&self, worker: &mut StreamWorker, next: Option<u64>, now: u64) -> io::Result<()> {
        let Lane::Queued(queue) = &mut worker.lane else { return Ok(()) };
        let Some(next) = next else { return queue.submit_and_wait(1) };
        let left_ns = self.clock.ns_between(now, next).min(NAP_NS);
        queue.submit_and_wait_for(1, Duration::from_nanos(left_ns))
    }

    /// Takes a completion; true if its operation has ended well.
    #[inline]
    fn complete(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, completion: Completion, mut now: u64) -> bool {
        let slot = self.slots[completion.slot as usize];
        let whole = completion.result > 0 && slot.moved + completion.result as usize == worker.transfer_size;
        if !whole {
            return self.finish(worker, context, completion);
        }
        if slot.op == Op::Write && worker.stream.durability == Durability::FsyncEach {
            if !self.sync(worker, context, slot.offset) {
                self.steering.program.completed(completion.slot, now);
                return false;
            }
            now = self.clock.ticks();
        }
        let latency_ns = self.clock.ns_between(slot.started, now);
        context.tally.record_as(slot.op, &context.counters, latency_ns, worker.transfer_size as u64);
        if slot.op == Op::Read
            && let Some(verifier) = &worker.verifier
            && let Lane::Queued(queue) = &mut worker.lane
        {
            let bytes = &queue.memory(completion.slot)[slot.start..slot.start + worker.transfer_size];
            context.tally.verify(verifier, bytes, context.number, worker.file, slot.offset);
        }
        true
    }

    /// An fsync after a write, while others may be in flight: it covers at least what has completed.
    fn sync(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, offset: u64) -> bool {
        let Lane::Queued(queue) = &mut worker.lane else { return false };
        let Err(error) = queue.sync() else { return true };
        let errno = error.raw_os_error().unwrap_or(0);
        context.fail(worker.file, offset, errno, format!("fsync failed: {error}"));
        self.steering.program.stop();
        false
    }

    /// A short or failed operation: goes on with the rest of it, or fails the trial. Never frees the slot for another.
    #[cold]
    fn finish(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, completion: Completion) -> bool {
        let slot = &mut self.slots[completion.slot as usize];
        let again = match completion.result {
            result if result > 0 => {
                slot.moved += result as usize;
                !worker.stream.single_attempt
            }
            result => result == -rustix::io::Errno::INTR.raw_os_error() || result == -rustix::io::Errno::AGAIN.raw_os_error(),
        };
        let slot = *slot;
        let Lane::Queued(queue) = &mut worker.lane else { return false };
        if again {
            push(queue.as_mut(), completion.slot, slot, worker.transfer_size);
            return false;
        }
        self.steering.program.stop();
        self.steering.program.completed(completion.slot, 0);
        let error = match (completion.result, slot.op) {
            (moved, _) if moved > 0 => short(moved as usize, worker.transfer_size),
            (0, Op::Read) => io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends here; write it first"),
            (0, Op::Write) => io::Error::new(io::ErrorKind::WriteZero, "the storage takes no more bytes"),
            (errno, _) => io::Error::from_raw_os_error(-errno),
        };
        let errno = error.raw_os_error().unwrap_or(0);
        context.fail(worker.file, slot.offset, errno, describe(slot.op, &error));
        false
    }
}
