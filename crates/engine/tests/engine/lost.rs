//! What a storage took and lost before it was durable is written again as it was, and no more often than is sensible.

use std::ops::Range;
use std::sync::Arc;

use crate::support::{MIB, in_memory, run, spec, streaming};
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::Storage;
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{Durability, Op};

/// Of one file: a part of one transfer, and some that begin and end within transfers of 64 KiB.
const LOST: [Range<u64>; 2] = [100..101, MIB - 5..MIB + 200_000];

/// Memory that loses parts of its file when it is to be durable, so many times in all.
fn losing(times: u64) -> Arc<dyn Storage> {
    let lose = |range: Range<u64>| Fault::Lose { offset: range.start, bytes: range.end - range.start, times };
    Arc::new(Faulty::storage(in_memory(), LOST.map(lose).to_vec()))
}

/// One task writes 4 MiB to a storage that loses so often, and reads them back.
fn written_and_read(times: u64, depth: u32, durability: Durability, retry_ns: Option<u64>) -> [PhaseResult; 2] {
    let storage = losing(times);
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
                assert_eq!((write.tasks[0].retries, again.len()), (6 * times, times as usize), "depth {depth}");
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
        let [write, read] = written_and_read(u64::MAX, depth, Durability::Fsync, None);
        assert_eq!(write.stop_reason, StopReason::Error);
        assert!(write.first_error.expect("kept").message.starts_with("fsync failed: "));
        assert!(read.verify.expect("verified").damaged_operations > 0, "the loss is no pretence");
    }
}
