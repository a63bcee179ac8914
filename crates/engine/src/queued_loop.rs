//! The loop of a task that keeps several operations in flight.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tonnage_storage::{Completion, Lane, Queue, Request};
use tonnage_workload::{Durability, Offsets, Op, Ops};

use crate::clock::{Clock, NAP_NS};
use crate::pace::{Pacer, wait_until};
use crate::stop_rule::StopRule;
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
    /// Slots without an operation, and from when on each may take one (ticks).
    free: VecDeque<(usize, u64)>,
    in_flight: u64,
    issued: u64,
    stopping: bool,
    stop_rule: StopRule,
    pacer: Pacer,
    offsets: Offsets,
    ops: Ops,
    /// A place must not be written again while it is read and checked: passes do not overlap.
    pass_by_pass: bool,
    /// Nothing is to be waited for: an operation follows as soon as another ended.
    at_once: bool,
    clock: Clock,
}

/// Keeps the queue full (or as full as the pace wants it) until the stop rule holds or someone says stop, then drains
/// it.
///
/// The clock is read once a round: operations that were reaped together ended together, and those that replace them
/// began there, or when they were meant to.
pub fn transfer(worker: &mut StreamWorker, context: &mut TaskContext) {
    let mut traffic = Traffic::new(worker, context);
    let clock = traffic.clock;
    let mut now = clock.ticks();
    loop {
        let next = traffic.fill(worker, context, now);
        if traffic.in_flight == 0 {
            let Some(next) = next else { break };
            wait_until(context, next.min(traffic.stop_rule.deadline));
        } else if let Err(error) = traffic.wait(worker, next, now)
            && error.kind() != io::ErrorKind::Interrupted
        {
            let errno = error.raw_os_error().unwrap_or(0);
            context.fail(worker.file, 0, errno, describe(worker.stream.op, &error));
            worker.in_doubt = !traffic.is_drained(worker);
            return;
        }
        now = clock.ticks();
        if now >= traffic.stop_rule.deadline && !traffic.stopping {
            traffic.stopping = traffic.stop_rule.time_is_up(context, traffic.issued - traffic.in_flight, traffic.issued);
        }
        traffic.stopping |= context.shared.stop.load(Ordering::Relaxed);
        while let Some(completion) = next_completion(worker) {
            if traffic.complete(worker, context, completion, now) {
                traffic.follow(worker, completion.slot as usize, now);
            }
        }
    }
    worker.passes = traffic.offsets.passes();
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
fn push(queue: &mut dyn Queue, number: usize, slot: Slot, transfer_size: usize) {
    queue.push(Request {
        slot: number as u32,
        op: slot.op,
        offset: slot.offset + slot.moved as u64,
        start: slot.start + slot.moved,
        length: transfer_size - slot.moved,
    });
}

impl Traffic {
    fn new(worker: &mut StreamWorker, context: &TaskContext) -> Self {
        let (spec, clock, stream) = (&context.shared.spec, context.shared.clock, &worker.stream);
        let depth = stream.queue_depth as usize;
        let pass_by_pass = stream.read_percent.is_some() && stream.verify;
        Self {
            slots: vec![Slot { op: stream.op, offset: 0, start: 0, moved: 0, started: 0 }; depth],
            free: (0..depth).map(|slot| (slot, 0)).collect(),
            in_flight: 0,
            issued: 0,
            stopping: false,
            stop_rule: StopRule::new(&spec.limit, stream.geometry.operations(), clock, worker.wall.take()),
            pacer: Pacer::new(spec, worker.transfer_size as u64, context.number, clock),
            offsets: stream.offsets(context.number, spec.tasks.total, spec.seed),
            ops: stream.ops(context.number, spec.seed),
            pass_by_pass,
            at_once: !pass_by_pass && !spec.pace.waits(),
            clock,
        }
    }

    /// Starts all operations that may start now; when the next one may, if a slot waits for nothing else.
    #[inline]
    fn fill(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, now: u64) -> Option<u64> {
        while !self.stopping
            && let Some(&(slot, ready)) = self.free.front()
        {
            if self.issued >= self.stop_rule.quota && (self.in_flight > 0 || !self.stop_rule.more(context, self.issued)) {
                return None;
            }
            if self.pass_by_pass && self.offsets.is_at_start() && self.in_flight > 0 {
                return None;
            }
            let due = self.pacer.due(self.issued);
            let start = due.unwrap_or(ready);
            if start > now {
                return Some(start);
            }
            self.free.pop_front();
            self.issue(worker, slot, due.unwrap_or(now));
        }
        None
    }

    /// A slot became free: starts its next operation, at once where nothing is to be asked first.
    #[inline]
    fn follow(&mut self, worker: &mut StreamWorker, slot: usize, now: u64) {
        if self.at_once && self.issued < self.stop_rule.quota && !self.stopping {
            self.issue(worker, slot, now);
        } else {
            self.free.push_back((slot, self.pacer.ready(now)));
        }
    }

    /// Starts the next operation in a free slot.
    #[inline]
    fn issue(&mut self, worker: &mut StreamWorker, number: usize, started: u64) {
        let Lane::Queued(queue) = &mut worker.lane else { return };
        self.issued += 1;
        self.in_flight += 1;
        let (op, offset) = (self.ops.next_op(), self.offsets.next_offset());
        let start = match &mut worker.arena {
            Some(arena) if op == Op::Write => arena.next(queue.memory(number as u32), number, worker.file, offset).start,
            _ => worker.landing,
        };
        let slot = Slot { op, offset, start, moved: 0, started };
        self.slots[number] = slot;
        push(queue.as_mut(), number, slot, worker.transfer_size);
    }

    /// Hands over what was pushed and waits for a completion, or for `next`, when another operation may start.
    #[inline]
    fn wait(&self, worker: &mut StreamWorker, next: Option<u64>, now: u64) -> io::Result<()> {
        let Lane::Queued(queue) = &mut worker.lane else { return Ok(()) };
        let Some(next) = next else { return queue.submit_and_wait(1) };
        let left_ns = self.clock.ns_between(now, next.min(self.stop_rule.deadline)).min(NAP_NS);
        queue.submit_and_wait_for(1, Duration::from_nanos(left_ns))
    }

    /// After a wait that failed: takes what is still in flight, without a look at it. False where that is not to be had,
    /// so that the storage may still be at work on it.
    #[cold]
    fn is_drained(&mut self, worker: &mut StreamWorker) -> bool {
        while self.in_flight > 0 {
            let Lane::Queued(queue) = &mut worker.lane else { return false };
            let before = self.in_flight;
            match queue.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return false,
                _ => {}
            }
            while queue.next_completion().is_some() {
                self.in_flight -= 1;
            }
            if self.in_flight == before {
                return false;
            }
        }
        true
    }

    /// Takes a completion; true if its slot is free again.
    #[inline]
    fn complete(&mut self, worker: &mut StreamWorker, context: &mut TaskContext, completion: Completion, mut now: u64) -> bool {
        let slot = self.slots[completion.slot as usize];
        let whole = completion.result > 0 && slot.moved + completion.result as usize == worker.transfer_size;
        if !whole {
            return self.finish(worker, context, completion);
        }
        self.in_flight -= 1;
        if slot.op == Op::Write && worker.stream.durability == Durability::FsyncEach {
            if !self.sync(worker, context, slot.offset) {
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
        self.stopping = true;
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
            push(queue.as_mut(), completion.slot as usize, slot, worker.transfer_size);
            return false;
        }
        self.in_flight -= 1;
        self.stopping = true;
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
