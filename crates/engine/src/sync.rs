//! The loop of a task that does one operation at a time.

use std::sync::atomic::Ordering;

use tonnage_storage::Lane;
use tonnage_workload::{Durability, Op, Verifier};

use crate::stream::StreamWorker;
use crate::task::{Desk, describe};
use crate::transfers::{read_all, write_all};

/// Moves transfers until the block is done, the time is up, or someone says stop.
///
/// The clock is read once an operation: the end of one is the beginning of the next, so a latency includes the few
/// nanoseconds of taking the next offset and stamping the payload. Where reads are verified, the check is outside the
/// latency (but inside the phase).
pub fn transfer(worker: &mut StreamWorker, desk: &mut Desk) {
    match (worker.stream.op, worker.verifier.is_some()) {
        (Op::Write, _) => run::<true, false>(worker, desk),
        (Op::Read, false) => run::<false, false>(worker, desk),
        (Op::Read, true) => run::<false, true>(worker, desk),
    }
}

fn run<const WRITE: bool, const VERIFY: bool>(worker: &mut StreamWorker, desk: &mut Desk) {
    let StreamWorker { stream, file, transfer_size, lane, memory, arena, verifier, passes } = worker;
    let (Lane::Sync(storage), Some(memory)) = (lane, memory) else { return };
    let (shared, number) = (std::sync::Arc::clone(&desk.shared), desk.number);
    let (spec, clock) = (&shared.spec, shared.clock);
    let mut offsets = stream.offsets(number, spec.tasks.total, spec.seed);
    let quota = if spec.limit.wrap { u64::MAX } else { stream.geometry.operations() };
    let sync_each = WRITE && stream.durability == Durability::FsyncEach;
    let mut last = clock.ticks();
    let deadline = spec.limit.time_ns.map_or(u64::MAX, |ns| last.saturating_add(clock.ticks_of(ns)));
    let mut done = 0;
    while done < quota && !shared.stop.load(Ordering::Relaxed) {
        let offset = offsets.next_offset();
        let mut moved = if WRITE {
            let range = arena.as_mut().map_or(0..0, |arena| arena.next(memory, 0, *file, offset));
            write_all(offset, &memory[range], |offset, bytes| storage.write_at(offset, bytes))
        } else {
            read_all(offset, &mut memory[..*transfer_size], |offset, bytes| storage.read_at(offset, bytes))
        };
        if sync_each && moved.is_ok() {
            moved = storage.sync();
        }
        let now = clock.ticks();
        if let Err(error) = moved {
            let errno = error.raw_os_error().unwrap_or(0);
            desk.fail(*file, offset, errno, describe(stream.op, &error));
            break;
        }
        desk.tally.record(&desk.board, clock.ns_between(last, now), *transfer_size as u64);
        done += 1;
        last = now;
        if VERIFY {
            verify(&mut desk.tally, verifier.as_ref(), &memory[..*transfer_size], number, *file, offset);
            last = clock.ticks();
        }
        if now >= deadline {
            desk.tally.timed_out = true;
            break;
        }
    }
    *passes = offsets.passes();
}

#[inline]
fn verify(tally: &mut crate::task::Tally, verifier: Option<&Verifier>, bytes: &[u8], task: u32, file: u32, offset: u64) {
    if let Some(verifier) = verifier {
        tally.verify(verifier, bytes, task, file, offset);
    }
}
