//! What a phase says when its storage fails.

use std::sync::Arc;
use std::time::Duration;

use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{StorageKind, TargetSpec, open};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{Access, Durability, Geometry, Layout, Limit, Op, PhaseSpec, RateLimits, Stream, TaskRange, Work};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const TRANSFER: u64 = 4096;

fn spec(op: Op, queue_depth: u32) -> PhaseSpec {
    PhaseSpec {
        record: "0000-fault".to_owned(),
        tasks: TaskRange { first: 0, here: 1, total: 1 },
        tasks_per_node: None,
        limit: Limit::default(),
        pace: RateLimits::default(),
        hog_bytes: 0,
        operation_log: 0,
        seed: 5,
        interval_ns: 10_000_000,
        work: Work::Stream(Stream {
            queue_depth,
            durability: Durability::Fsync,
            verify: op == Op::Read,
            ..Stream::new(
                op,
                Geometry {
                    transfer_size: TRANSFER,
                    block_size: 100 * TRANSFER,
                    segments: 1,
                    layout: Layout::FilePerTask,
                    access: Access::Sequential,
                },
            )
        }),
    }
}

/// `spec` with its stream changed.
fn streaming(mut spec: PhaseSpec, change: impl FnOnce(&mut Stream)) -> PhaseSpec {
    let Work::Stream(stream) = &mut spec.work else { unreachable!("these phases are streams") };
    change(stream);
    spec
}

fn run(faults: Vec<Fault>, specs: &[PhaseSpec]) -> PhaseResult {
    let memory = TargetSpec::new(StorageKind::Memory);
    let storage = Arc::new(Faulty::storage(open(&memory).expect("memory"), faults));
    let mut last = None;
    for spec in specs {
        let mut phase = Phase::prepare(storage.clone(), spec.clone(), None).expect("prepared");
        phase.go();
        assert!(phase.wait(Duration::from_secs(60)), "the phase ends");
        last = Some(phase.take_result().expect("a result").expect("it ran"));
    }
    last.expect("at least one phase")
}

#[test]
fn an_error_is_counted_with_its_offset_and_ends_the_phase() {
    for depth in [1, 8] {
        let fault = Fault::FailAt { op: Op::Write, offset: 30 * TRANSFER, errno: EIO };
        let result = run(vec![fault], &[spec(Op::Write, depth)]);
        assert_eq!(result.stop_reason, StopReason::Error);
        let error = result.first_error.expect("the error is kept");
        assert_eq!((error.offset, error.errno), (30 * TRANSFER, EIO), "depth {depth}");
        assert!(error.message.starts_with("write failed: "), "{}", error.message);
        assert_eq!(result.tasks[0].errors, 1);
        let operations = result.tasks[0].operations;
        assert!((30..30 + u64::from(depth)).contains(&operations), "{operations} succeeded at depth {depth}");
        assert_eq!(result.latency.count, operations, "a failed operation has no latency");
    }
}

#[test]
fn what_fails_for_a_passing_reason_is_tried_again_and_counted() {
    for depth in [1, 8] {
        let retrying = |op| streaming(spec(op, depth), |stream| stream.retry_ns = Some(10_000_000_000));
        let faults = [Op::Write, Op::Read].map(|op| Fault::FailEvery { op, nth: 20, errno: EIO });
        let result = run(faults.to_vec(), &[retrying(Op::Write), retrying(Op::Read)]);
        let task = &result.tasks[0];
        assert_eq!((result.stop_reason, task.errors, task.operations), (StopReason::Size, 0, 100), "depth {depth}");
        // Attempts are counted as well: the 20th, 40th … of 105 fail.
        assert_eq!(task.retries, 5, "depth {depth}");
        assert_eq!(result.verify.expect("it checks").damaged_operations, 0);
        let told: u64 = result.events.iter().filter_map(|event| event.attempts).sum();
        assert_eq!(told, 5);
        for event in result.events {
            assert_eq!((event.kind.as_str(), event.task), ("retry", Some(0)));
            assert!(event.message.expect("why").starts_with("read failed: "));
            assert!(event.duration_ns.expect("how long") >= 10_000_000, "the first pause");
        }
        assert!(result.latency.max_ns >= 10_000_000, "latency counts from the first attempt");
    }
}

#[test]
fn patience_ends_with_its_limit_and_is_not_for_what_stays() {
    for depth in [1, 8] {
        for (errno, attempts) in [(EIO, 1..20), (ENOSPC, 0..1)] {
            let fault = Fault::FailAt { op: Op::Write, offset: 30 * TRANSFER, errno };
            let retrying = streaming(spec(Op::Write, depth), |stream| stream.retry_ns = Some(100_000_000));
            let result = run(vec![fault], &[retrying]);
            assert_eq!(result.first_error.expect("it fails in the end").errno, errno);
            let task = &result.tasks[0];
            assert_eq!((result.stop_reason, task.errors), (StopReason::Error, 1));
            assert!(attempts.contains(&task.retries), "{} attempts at depth {depth}", task.retries);
        }
    }
}

#[test]
fn a_failed_fsync_is_never_tried_again() {
    let retrying = streaming(spec(Op::Write, 1), |stream| stream.retry_ns = Some(10_000_000_000));
    let result = run(vec![Fault::FailSync { errno: EIO }], &[retrying]);
    assert_eq!((result.tasks[0].errors, result.tasks[0].retries), (1, 0));
}

#[test]
fn a_full_storage_ends_the_phase_and_counts_only_what_fitted() {
    for depth in [1, 4] {
        let result = run(vec![Fault::FullAfter { bytes: 10 * TRANSFER + 100 }], &[spec(Op::Write, depth)]);
        assert_eq!(result.first_error.expect("the error is kept").errno, ENOSPC);
        assert_eq!(result.tasks[0].bytes, 10 * TRANSFER);
    }
}

#[test]
fn short_operations_are_finished_and_nothing_is_lost() {
    for depth in [1, 8] {
        let faults = vec![Fault::ShortEvery { op: Op::Write, nth: 3 }, Fault::ShortEvery { op: Op::Read, nth: 4 }];
        let result = run(faults, &[spec(Op::Write, depth), spec(Op::Read, depth)]);
        assert_eq!(result.stop_reason, StopReason::Size, "{:?}", result.first_error);
        assert_eq!(result.tasks[0].bytes, 100 * TRANSFER);
        assert_eq!(result.verify.expect("verified").damaged_operations, 0, "depth {depth}");
    }
}

#[test]
fn a_short_operation_fails_where_there_is_to_be_one_attempt_only() {
    for (depth, op) in [(1, Op::Write), (8, Op::Write), (1, Op::Read), (8, Op::Read)] {
        let once = streaming(spec(op, depth), |stream| stream.single_attempt = true);
        let first = if op == Op::Read { vec![spec(Op::Write, depth)] } else { vec![] };
        let phases = [first, vec![once]].concat();
        let result = run(vec![Fault::ShortEvery { op, nth: 30 }], &phases);
        assert_eq!(result.stop_reason, StopReason::Error);
        let error = result.first_error.expect("an error");
        assert!(error.message.ends_with("a call moved 2048 of 4096 bytes, and no second one is wanted"), "{}", error.message);
    }
}

#[test]
fn a_flipped_bit_is_found_by_verification_and_by_nothing_else() {
    for depth in [1, 8] {
        let write = spec(Op::Write, depth);
        let read = spec(Op::Read, depth);
        let trusting = streaming(read.clone(), |stream| stream.verify = false);
        let result = run(vec![Fault::FlipEvery { nth: 10 }], &[write.clone(), read]);
        assert_eq!(result.verify.expect("verified").damaged_operations, 10, "depth {depth}");
        assert_eq!(result.stop_reason, StopReason::Size, "all damage is counted");
        assert!(run(vec![Fault::FlipEvery { nth: 10 }], &[write, trusting]).verify.is_none());
    }
}

#[test]
fn damage_is_counted_exactly_however_much_there_is() {
    for depth in [1, 8] {
        for damaged in [1, 127, 128, 129, 255, 256, 100_000] {
            let sized = |op| {
                streaming(spec(op, depth), |stream| {
                    stream.geometry.transfer_size = 512;
                    stream.geometry.block_size = damaged * 512;
                })
            };
            let result = run(vec![Fault::FlipEvery { nth: 1 }], &[sized(Op::Write), sized(Op::Read)]);
            let verify = result.verify.expect("verified");
            assert_eq!((verify.damaged_operations, verify.checked_bytes), (damaged, damaged * 512), "depth {depth}");
            assert_eq!(result.tasks[0].damaged_operations, damaged);
            let first: Vec<u64> = verify.first_damage.iter().map(|damage| damage.offset / 512).collect();
            assert_eq!(first, (0..damaged.min(16)).collect::<Vec<u64>>(), "the first places");
        }
    }
}

#[test]
fn failing_fsync_and_close_fail_the_phase() {
    for (fault, step) in [(Fault::FailSync { errno: EIO }, "fsync"), (Fault::FailClose { errno: EIO }, "close")] {
        let result = run(vec![fault], &[spec(Op::Write, 1)]);
        assert_eq!(result.stop_reason, StopReason::Error);
        assert!(result.first_error.expect("kept").message.starts_with(step));
    }
}

#[test]
fn a_second_without_progress_is_a_stall_and_less_is_not() {
    let slow = |delay| run(vec![Fault::DelayEvery { op: Op::Write, nth: 90, delay }], &[spec(Op::Write, 1)]);
    let stalled = slow(Duration::from_millis(1300));
    let [stall] = stalled.events.as_slice() else { panic!("one stall, not {:?}", stalled.events) };
    assert_eq!((stall.kind.as_str(), stall.task), ("stall", Some(0)));
    assert!((1_200_000_000..2_600_000_000).contains(&stall.duration_ns.expect("a duration")));
    assert!(slow(Duration::from_millis(300)).events.is_empty());
}
