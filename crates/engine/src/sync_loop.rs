//! The loops of a task that does one operation at a time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tonnage_storage::Lane;
use tonnage_workload::{Durability, Op, Verifier};

use crate::pace::{Pacer, wait_until};
use crate::stop_rule::StopRule;
use crate::stream::StreamWorker;
use crate::task::{Tally, TaskContext};
use crate::transfers::{Rest, describe, read_all, write_all};

/// Moves transfers until the stop rule holds or someone says stop.
pub fn transfer(worker: &mut StreamWorker, context: &mut TaskContext) {
    let spec = &context.shared.spec;
    let mut stop_rule = StopRule::new(&spec.limit, worker.stream.geometry.operations(), context.shared.clock, worker.wall.take());
    if worker.stream.read_percent.is_some() || spec.pace.waits() {
        return steered(worker, context, &mut stop_rule);
    }
    match (worker.stream.op, worker.verifier.is_some()) {
        (Op::Write, _) => run::<true, false>(worker, context, &mut stop_rule),
        (Op::Read, false) => run::<false, false>(worker, context, &mut stop_rule),
        (Op::Read, true) => run::<false, true>(worker, context, &mut stop_rule),
    }
}

/// One kind of operation, each as soon as the one before it ended.
///
/// The clock is read once an operation: the end of one is the beginning of the next, so a latency includes the few
/// nanoseconds of taking the next offset and stamping the payload. Where reads are verified, the check is outside the
/// latency (but inside the phase).
fn run<const WRITE: bool, const VERIFY: bool>(worker: &mut StreamWorker, context: &mut TaskContext, stop_rule: &mut StopRule) {
    let StreamWorker { stream, file, transfer_size, lane, memory, arena, verifier, passes, .. } = worker;
    let (Lane::Sync(storage), Some(memory)) = (lane, memory) else { return };
    let memory = memory.bytes(0);
    let (shared, number) = (Arc::clone(&context.shared), context.number);
    let (spec, clock) = (&shared.spec, shared.clock);
    let mut offsets = stream.offsets(number, spec.tasks.total, spec.seed);
    let rest = Rest::of(stream.single_attempt);
    let sync_each = WRITE && stream.durability == Durability::FsyncEach;
    let mut last = clock.ticks();
    let mut done = 0;
    while (done < stop_rule.quota || stop_rule.more(context, done)) && !shared.stop.load(Ordering::Relaxed) {
        let offset = offsets.next_offset();
        let mut moved = if WRITE {
            let range = arena.as_mut().map_or(0..0, |arena| arena.next(memory, 0, *file, offset));
            write_all(offset, &memory[range], rest, |offset, bytes| storage.write_at(offset, bytes))
        } else {
            read_all(offset, &mut memory[..*transfer_size], rest, |offset, bytes| storage.read_at(offset, bytes))
        };
        if sync_each && moved.is_ok() {
            moved = storage.sync();
        }
        let now = clock.ticks();
        if let Err(error) = moved {
            let errno = error.raw_os_error().unwrap_or(0);
            context.fail(*file, offset, errno, describe(stream.op, &error));
            break;
        }
        context.tally.record(&context.counters, clock.ns_between(last, now), *transfer_size as u64);
        done += 1;
        last = now;
        if VERIFY {
            verify(&mut context.tally, verifier.as_ref(), &memory[..*transfer_size], number, *file, offset);
            last = clock.ticks();
        }
        if now >= stop_rule.deadline && stop_rule.time_is_up(context, done, done) {
            break;
        }
    }
    *passes = offsets.passes();
}

/// Operations that are drawn, or that start at times of their own: those fixed beforehand, whose latency counts from
/// there however late the task is, or a pause after the one before.
fn steered(worker: &mut StreamWorker, context: &mut TaskContext, stop_rule: &mut StopRule) {
    let (shared, number) = (Arc::clone(&context.shared), context.number);
    let (spec, clock) = (&shared.spec, shared.clock);
    let pacer = Pacer::new(spec, worker.transfer_size as u64, number, clock);
    let mut offsets = worker.stream.offsets(number, spec.tasks.total, spec.seed);
    let mut ops = worker.stream.ops(number, spec.seed);
    let mut done = 0;
    let (mut now, mut ready) = (clock.ticks(), 0);
    while (done < stop_rule.quota || stop_rule.more(context, done)) && !shared.stop.load(Ordering::Relaxed) {
        let due = pacer.due(done);
        let start = due.unwrap_or(ready).min(stop_rule.deadline);
        if start > now {
            wait_until(context, start);
            now = clock.ticks();
            if shared.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if now >= stop_rule.deadline {
            if stop_rule.time_is_up(context, done, done) {
                break;
            }
            continue;
        }
        let (op, offset, started) = (ops.next_op(), offsets.next_offset(), due.unwrap_or(now));
        let moved = operate(worker, op, offset);
        let ended = clock.ticks();
        if let Err(error) = moved {
            context.fail(worker.file, offset, error.raw_os_error().unwrap_or(0), describe(op, &error));
            break;
        }
        context.tally.record_as(op, &context.counters, clock.ns_between(started, ended), worker.transfer_size as u64);
        done += 1;
        now = ended;
        if op == Op::Read
            && worker.verifier.is_some()
            && let Some(memory) = &mut worker.memory
        {
            let bytes = &memory.bytes(0)[worker.landing..][..worker.transfer_size];
            verify(&mut context.tally, worker.verifier.as_ref(), bytes, number, worker.file, offset);
            now = clock.ticks();
        }
        ready = pacer.ready(now);
    }
    worker.passes = offsets.passes();
}

/// One operation, with the fsync that belongs to it.
fn operate(worker: &mut StreamWorker, op: Op, offset: u64) -> io::Result<()> {
    let StreamWorker { stream, file, transfer_size, lane, memory, arena, landing, .. } = worker;
    let (Lane::Sync(storage), Some(memory)) = (lane, memory) else { return Ok(()) };
    let memory = memory.bytes(0);
    let rest = Rest::of(stream.single_attempt);
    if op == Op::Read {
        let bytes = &mut memory[*landing..][..*transfer_size];
        return read_all(offset, bytes, rest, |offset, bytes| storage.read_at(offset, bytes));
    }
    let range = arena.as_mut().map_or(0..0, |arena| arena.next(memory, 0, *file, offset));
    write_all(offset, &memory[range], rest, |offset, bytes| storage.write_at(offset, bytes))?;
    if stream.durability == Durability::FsyncEach { storage.sync() } else { Ok(()) }
}

#[inline]
fn verify(tally: &mut Tally, verifier: Option<&Verifier>, bytes: &[u8], task: u32, file: u32, offset: u64) {
    if let Some(verifier) = verifier {
        tally.verify(verifier, bytes, task, file, offset);
    }
}
