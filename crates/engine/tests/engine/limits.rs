//! How long a phase goes on: operations, least times, and the wear-out after the time.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{MIB, in_memory, null, on_disk, run, spec, streaming};
use tonnage_engine::Phase;
use tonnage_records::StopReason;
use tonnage_storage::{Delays, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Durability, Limit, Op, PhaseSpec, RateLimits};

/// Tasks that no pass ends, at `depth`.
fn endless(limit: Limit, tasks: u32, depth: u32) -> PhaseSpec {
    let phase = PhaseSpec { limit, ..spec(Op::Write, tasks) };
    streaming(phase, |stream| {
        stream.geometry.block_size = 1 << 50;
        stream.queue_depth = depth;
    })
}

#[test]
fn a_limit_of_operations_holds_for_each_task_with_and_without_wrapping() {
    for depth in [1, 8] {
        for (wrap, operations) in [(false, 7), (true, 7), (true, 200)] {
            let limit = Limit { operations: Some(operations), wrap, time_ns: Some(60_000_000_000), ..Limit::default() };
            let phase = streaming(PhaseSpec { limit, ..spec(Op::Write, 3) }, |stream| stream.queue_depth = depth);
            let result = run(&in_memory(), phase, None);
            assert_eq!(result.stop_reason, StopReason::Size);
            assert!(result.tasks.iter().all(|task| task.operations == operations), "depth {depth}: {:?}", result.tasks);
            assert_eq!(result.tasks[0].wrapped, operations > 64);
        }
    }
}

#[test]
fn a_pass_is_repeated_whole_until_the_least_time_is_over() {
    for depth in [1, 8] {
        let limit = Limit { min_time_ns: 100_000_000, ..Limit::default() };
        let phase = streaming(PhaseSpec { limit, ..spec(Op::Write, 2) }, |stream| stream.queue_depth = depth);
        let result = run(&in_memory(), phase, None);
        assert_eq!(result.stop_reason, StopReason::Size, "no time limit ended it");
        for task in &result.tasks {
            assert!(task.wrapped && task.operations.is_multiple_of(64), "{} operations are no whole passes", task.operations);
            assert!(task.transfer_ns >= 100_000_000, "{} ns", task.transfer_ns);
        }
    }
    let once = Limit { min_time_ns: 1, ..Limit::default() };
    assert_eq!(run(&in_memory(), PhaseSpec { limit: once, ..spec(Op::Write, 1) }, None).tasks[0].operations, 64);
}

#[test]
fn after_the_time_every_task_wears_out_to_what_the_fastest_had_done() {
    for depth in [1, 8] {
        let limit = Limit { time_ns: Some(100_000_000), wear_out: true, ..Limit::default() };
        // More tasks than processors: without wear-out their counts differ by a lot.
        let result = run(&null(), endless(limit, 5, depth), None);
        assert_eq!(result.stop_reason, StopReason::Time);
        let operations = result.tasks[0].operations;
        for task in &result.tasks {
            assert_eq!(task.operations, operations, "depth {depth}");
            let at_wall = task.stonewall_operations.expect("told");
            assert!((1..=operations).contains(&at_wall));
            assert_eq!(task.stonewall_bytes, Some(at_wall * (64 << 10)));
        }
        let most = result.tasks.iter().filter_map(|task| task.stonewall_operations).max().expect("tasks");
        let begun = if depth == 1 { 0 } else { u64::from(depth) };
        assert!(operations - most <= begun, "{operations} operations are more than the fastest had begun, {most}");
        let plain = run(&null(), endless(Limit { wear_out: false, ..limit }, 5, depth), None);
        assert!(plain.tasks.iter().any(|task| task.operations != plain.tasks[0].operations));
        assert!(plain.tasks.iter().all(|task| task.stonewall_operations.is_none()));
    }
}

#[test]
fn a_task_that_was_through_before_the_time_makes_the_others_finish_too() {
    let limit = Limit { time_ns: Some(60_000_000_000), wear_out: true, ..Limit::default() };
    let result = run(&in_memory(), PhaseSpec { limit, ..spec(Op::Write, 3) }, None);
    assert_eq!(result.stop_reason, StopReason::Size);
    assert!(result.tasks.iter().all(|task| (task.operations, task.stonewall_bytes) == (64, Some(4 * MIB))));
    assert!(result.notes.is_empty());
}

#[test]
fn a_task_that_fails_before_the_wall_keeps_no_other_waiting_there() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    std::fs::create_dir(scratch.path().join("data.00000001")).expect("a directory where a file should be");
    let limit = Limit { time_ns: Some(50_000_000), wear_out: true, ..Limit::default() };
    let mut phase = Phase::prepare(storage, PhaseSpec { limit, ..spec(Op::Write, 2) }, None).expect("prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(10)), "the other task does not wait for ever");
    let result = phase.take_result().expect("a result").expect("it ran");
    assert_eq!(result.stop_reason, StopReason::Error);
}

#[test]
fn a_task_that_has_done_all_it_may_before_the_least_time_keeps_no_other_waiting_at_the_wall() {
    let limit =
        Limit { time_ns: Some(100_000_000), min_time_ns: 90_000_000, operations: Some(7), wear_out: true, ..Limit::default() };
    let delays = Delays { transfer_ns: 20_000_000, task: Some(1), ..Delays::default() };
    let slow = open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).expect("null");
    let result = run(&slow, PhaseSpec { limit, ..spec(Op::Write, 2) }, None);
    assert_eq!(result.stop_reason, StopReason::Time);
    assert!(result.tasks.iter().all(|task| task.operations == 7), "{:?}", result.tasks);
    assert_eq!(result.tasks[0].stonewall_operations, Some(7));
}

#[test]
fn a_start_up_is_as_many_operations_as_a_task_keeps_in_flight_until_its_time_is_up() {
    let limit = Limit { time_ns: Some(100_000_000), ..Limit::default() };
    let startups = |storage: &Arc<dyn Storage>, phase: PhaseSpec| -> Vec<Option<u64>> {
        run(storage, phase, None).tasks.iter().map(|task| task.startup_bytes).collect()
    };
    for depth in [1, 8] {
        let result = run(&null(), endless(limit, 3, depth), None);
        for task in &result.tasks {
            let (took, began) = (task.startup_ns.expect("its time was up"), task.open_ns + task.open_wait_ns);
            assert!(took >= began && took < began + task.transfer_ns, "it is within the transfers: {task:?}");
            assert_eq!(task.startup_bytes, Some(u64::from(depth) * (64 << 10)));
        }
    }
    let slow = Limit { time_ns: Some(1), ..limit };
    assert_eq!(startups(&null(), endless(slow, 2, 1)), [None; 2], "nothing beyond it");
    let worn = Limit { wear_out: true, ..limit };
    assert_eq!(startups(&null(), endless(worn, 2, 1)), [None; 2], "the time did not end it");
    assert_eq!(startups(&null(), spec(Op::Write, 2)), [None; 2], "there was no time");
    let pace = RateLimits { think_ns: 1_000_000, ..RateLimits::default() };
    assert_eq!(startups(&null(), PhaseSpec { pace, ..endless(limit, 2, 1) }), [None; 2], "nothing is in flight in a pause");
    let (_parent, _scratch, cached) = on_disk(StorageKind::Posix);
    let written = |durability| {
        let wrap = Limit { wrap: true, ..limit };
        startups(&cached, streaming(PhaseSpec { limit: wrap, ..spec(Op::Write, 1) }, |stream| stream.durability = durability))
    };
    assert_eq!(written(Durability::Fsync), [None], "its bytes may still be in the cache");
    assert_eq!(written(Durability::FsyncEach), [Some(64 << 10)]);
}
