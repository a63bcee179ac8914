//! The loop of a task that keeps several operations in flight.

use std::io;
use std::sync::atomic::Ordering;

use tonnage_storage::{Completion, Lane, Queue, Request};
use tonnage_workload::{CELL_BYTES, Durability, Offsets, Op};

use crate::stream::StreamWorker;
use crate::task::{Desk, describe};

/// An operation in flight.
#[derive(Clone, Copy, Default)]
struct Slot {
    offset: u64,
    start: usize,
    moved: usize,
    started: u64,
}

/// What a round of completions leaves to do.
struct Round {
    slots: Vec<Slot>,
    in_flight: usize,
    left: u64,
    stopping: bool,
    sync_each: bool,
}

/// Keeps the queue full until the block is done, the time is up, or someone says stop, then drains it.
///
/// The clock is read once a round: operations that were reaped together ended together, and those that replace them
/// began there.
pub fn transfer(worker: &mut StreamWorker, desk: &mut Desk) {
    let spec = &desk.shared.spec;
    let depth = worker.stream.queue_depth as usize;
    let mut offsets = worker.stream.offsets(desk.number, spec.tasks.total, spec.seed);
    let clock = desk.shared.clock;
    let mut now = clock.ticks();
    let deadline = spec.limit.time_ns.map_or(u64::MAX, |ns| now.saturating_add(clock.ticks_of(ns)));
    let mut flight = Round {
        slots: vec![Slot::default(); depth],
        in_flight: 0,
        left: if spec.limit.wrap { u64::MAX } else { worker.stream.geometry.operations() },
        stopping: false,
        sync_each: worker.stream.op == Op::Write && worker.stream.durability == Durability::FsyncEach,
    };
    for slot in 0..depth {
        issue(worker, &mut flight, &mut offsets, slot, now);
    }
    while flight.in_flight > 0 {
        let Lane::Queued(queue) = &mut worker.lane else { return };
        if let Err(error) = queue.submit_and_wait(1)
            && error.kind() != io::ErrorKind::Interrupted
        {
            let errno = error.raw_os_error().unwrap_or(0);
            desk.fail(worker.file, 0, errno, describe(worker.stream.op, &error));
            return;
        }
        now = clock.ticks();
        if now >= deadline && !flight.stopping {
            flight.stopping = true;
            desk.tally.timed_out = true;
        }
        flight.stopping |= desk.shared.stop.load(Ordering::Relaxed);
        while let Some(completion) = next_completion(worker) {
            if complete(worker, desk, &mut flight, completion, now) {
                issue(worker, &mut flight, &mut offsets, completion.slot as usize, now);
            }
        }
    }
    worker.passes = offsets.passes();
}

#[inline]
fn next_completion(worker: &mut StreamWorker) -> Option<Completion> {
    match &mut worker.lane {
        Lane::Queued(queue) => queue.next_completion(),
        Lane::Sync(_) => None,
    }
}

/// Starts the next operation in a free slot, if there is one to start.
#[inline]
fn issue(worker: &mut StreamWorker, flight: &mut Round, offsets: &mut Offsets, slot: usize, now: u64) {
    if flight.left == 0 || flight.stopping {
        return;
    }
    flight.left -= 1;
    flight.in_flight += 1;
    let Lane::Queued(queue) = &mut worker.lane else { return };
    let offset = offsets.next_offset();
    let start = match &mut worker.arena {
        Some(arena) => arena.next(queue.memory(), slot, worker.file, offset).start,
        None => slot * worker.transfer_size.next_multiple_of(CELL_BYTES),
    };
    flight.slots[slot] = Slot { offset, start, moved: 0, started: now };
    push(queue.as_mut(), worker.stream.op, slot, flight.slots[slot], worker.transfer_size);
}

#[inline]
fn push(queue: &mut dyn Queue, op: Op, number: usize, slot: Slot, transfer_size: usize) {
    queue.push(Request {
        slot: number as u32,
        op,
        offset: slot.offset + slot.moved as u64,
        start: slot.start + slot.moved,
        length: transfer_size - slot.moved,
    });
}

/// Takes a completion; true if its slot is free again.
#[inline]
fn complete(worker: &mut StreamWorker, desk: &mut Desk, flight: &mut Round, completion: Completion, now: u64) -> bool {
    let slot = &mut flight.slots[completion.slot as usize];
    let whole = completion.result > 0 && slot.moved + completion.result as usize == worker.transfer_size;
    if !whole {
        return finish(worker, desk, flight, completion);
    }
    let slot = *slot;
    flight.in_flight -= 1;
    let mut now = now;
    if flight.sync_each {
        if !sync(worker, desk, flight, slot.offset) {
            return false;
        }
        now = desk.shared.clock.ticks();
    }
    let latency_ns = desk.shared.clock.ns_between(slot.started, now);
    desk.tally.record(&desk.board, latency_ns, worker.transfer_size as u64);
    if let Some(verifier) = &worker.verifier
        && let Lane::Queued(queue) = &mut worker.lane
    {
        let bytes = &queue.memory()[slot.start..slot.start + worker.transfer_size];
        desk.tally.verify(verifier, bytes, desk.number, worker.file, slot.offset);
    }
    true
}

/// An fsync after a write, while others may be in flight: it covers at least what has completed.
fn sync(worker: &mut StreamWorker, desk: &mut Desk, flight: &mut Round, offset: u64) -> bool {
    let Lane::Queued(queue) = &mut worker.lane else { return false };
    let Err(error) = queue.sync() else { return true };
    let errno = error.raw_os_error().unwrap_or(0);
    desk.fail(worker.file, offset, errno, format!("fsync failed: {error}"));
    flight.stopping = true;
    false
}

/// A short or failed operation: goes on with the rest of it, or fails the trial. Never frees the slot for another.
#[cold]
fn finish(worker: &mut StreamWorker, desk: &mut Desk, flight: &mut Round, completion: Completion) -> bool {
    let slot = &mut flight.slots[completion.slot as usize];
    let again = match completion.result {
        result if result > 0 => {
            slot.moved += result as usize;
            true
        }
        result => result == -rustix::io::Errno::INTR.raw_os_error() || result == -rustix::io::Errno::AGAIN.raw_os_error(),
    };
    let slot = *slot;
    let Lane::Queued(queue) = &mut worker.lane else { return false };
    if again {
        push(queue.as_mut(), worker.stream.op, completion.slot as usize, slot, worker.transfer_size);
        return false;
    }
    flight.in_flight -= 1;
    flight.stopping = true;
    let error = match (completion.result, worker.stream.op) {
        (0, Op::Read) => io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends here; write it first"),
        (0, Op::Write) => io::Error::new(io::ErrorKind::WriteZero, "the storage takes no more bytes"),
        (errno, _) => io::Error::from_raw_os_error(-errno),
    };
    let errno = error.raw_os_error().unwrap_or(0);
    desk.fail(worker.file, slot.offset, errno, describe(worker.stream.op, &error));
    false
}
