//! The loop of a task that does one operation at a time.

use std::sync::Arc;

use tonnage_storage::Lane;
use tonnage_workload::{Durability, Op};

use crate::steering::Steering;
use crate::stream::StreamWorker;
use crate::task::TaskContext;
use crate::transfers::{Remainder, describe, read_all, write_all};

/// Moves transfers until the task's program is done or someone says stop.
pub fn transfer(worker: &mut StreamWorker, context: &mut TaskContext) {
    let verifies = worker.verifier.is_some();
    match (worker.stream.read_percent, worker.stream.op) {
        (Some(_), _) if verifies => run::<MIX, true>(worker, context),
        (Some(_), _) => run::<MIX, false>(worker, context),
        (None, Op::Write) => run::<WRITE, false>(worker, context),
        (None, Op::Read) if verifies => run::<READ, true>(worker, context),
        (None, Op::Read) => run::<READ, false>(worker, context),
    }
}

/// What operations there are.
const WRITE: u8 = 0;
const READ: u8 = 1;
const MIX: u8 = 2;

/// The loop for one kind of operation, or for both.
///
/// The clock is read once an operation: where one follows another at once, the end of one is the beginning of the next, so
/// that a latency includes the few nanoseconds of taking the next offset and stamping the payload. Where starts are fixed
/// beforehand, it counts from there however late the task is. Where reads are verified, the check is outside the latency
/// (but inside the phase).
fn run<const KIND: u8, const VERIFY: bool>(worker: &mut StreamWorker, context: &mut TaskContext) {
    let (terms, transfers) = (worker.terms(context), worker.transfers(context));
    let StreamWorker { stream, file, transfer_size, lane, memory, arena, verifier, passes, landing, wall, .. } = worker;
    let (Lane::Sync(storage), Some(memory)) = (lane, memory) else { return };
    let memory = memory.bytes(0);
    let (file, landing, size) = (*file, *landing, *transfer_size);
    let (shared, number) = (Arc::clone(&context.shared), context.number);
    let clock = shared.clock;
    let rest = Remainder::of(stream.single_attempt);
    let sync_each = stream.durability == Durability::FsyncEach;
    let mut steering = Steering::new(context, transfers, &terms, wall.take());
    let mut next = steering.wait_for_next(context, clock.ticks());
    while let Some((from, transfer)) = next {
        let offset = transfer.offset;
        let op = match KIND {
            WRITE => Op::Write,
            READ => Op::Read,
            _ => transfer.op,
        };
        let moved = if op == Op::Write {
            let range = arena.as_mut().map_or(0..0, |arena| arena.next(memory, 0, file, offset));
            let written = write_all(offset, &memory[range], rest, |offset, bytes| storage.write_at(offset, bytes));
            if sync_each { written.and_then(|()| storage.sync()) } else { written }
        } else {
            read_all(offset, &mut memory[landing..][..size], rest, |offset, bytes| storage.read_at(offset, bytes))
        };
        let mut now = clock.ticks();
        if let Err(error) = moved {
            let errno = error.raw_os_error().unwrap_or(0);
            context.fail(file, offset, errno, describe(op, &error));
            break;
        }
        let latency_ns = clock.ns_between(from, now);
        if KIND == MIX {
            context.tally.record_as(op, &context.counters, latency_ns, size as u64);
        } else {
            context.tally.record(&context.counters, latency_ns, size as u64);
        }
        if VERIFY
            && op == Op::Read
            && let Some(verifier) = verifier
        {
            context.tally.verify(verifier, &memory[landing..][..size], number, file, offset);
            now = clock.ticks();
        }
        next = steering.follow(context, now);
    }
    *passes = steering.program.operations().passes();
}
