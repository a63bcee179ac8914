//! Operations that start at times of their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{in_memory, null, on_disk, run, run_with_latencies, spec, streaming};
use tonnage_engine::Phase;
use tonnage_records::StopReason;
use tonnage_storage::{Storage, StorageKind};
use tonnage_testing::{Fault, Faulty, Throttled, holds_on_a_busy_machine};
use tonnage_workload::{Limit, Op, PhaseSpec, RateLimits};

const MS: u64 = 1_000_000;

fn rate(operations_per_s: u64) -> RateLimits {
    RateLimits { operations_per_s: Some(operations_per_s), ..RateLimits::default() }
}

/// A phase of writes that only its limit ends.
fn paced(pace: RateLimits, time_ms: u64, tasks: u32, depth: u32) -> PhaseSpec {
    let limit = Limit { time_ns: Some(time_ms * MS), wrap: true, ..Limit::default() };
    streaming(PhaseSpec { pace, limit, ..spec(Op::Write, tasks) }, |stream| {
        stream.geometry.transfer_size = 4096;
        stream.queue_depth = depth;
    })
}

#[test]
fn all_tasks_together_keep_the_rate_for_the_whole_time() {
    holds_on_a_busy_machine(|| {
        for (tasks, depth) in [(1, 1), (4, 1), (1, 8), (3, 8)] {
            let result = run(&null(), paced(rate(1000), 500, tasks, depth), None);
            let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
            assert!((470..=500).contains(&operations), "{operations} by {tasks} tasks at depth {depth}");
            assert_eq!(result.stop_reason, StopReason::Time);
            let share = operations / u64::from(tasks);
            assert!(result.tasks.iter().all(|task| task.operations.abs_diff(share) <= 10), "each has its share");
            assert!(result.tasks.iter().all(|task| task.transfer_ns >= 500 * MS), "the rate is over the whole time");
        }
    });
}

#[test]
fn a_rate_in_bytes_is_one_of_whole_transfers() {
    holds_on_a_busy_machine(|| {
        let pace = RateLimits { bytes_per_s: Some(400 * 4096), ..RateLimits::default() };
        let result = run(&null(), paced(pace, 500, 2, 1), None);
        let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
        assert!((188..=200).contains(&operations), "{operations}");
    });
}

#[test]
fn a_rate_holds_through_a_ring_as_well() {
    holds_on_a_busy_machine(|| {
        let (_parent, _scratch, storage) = on_disk(StorageKind::Uring);
        let (result, latencies) = run_with_latencies(&storage, paced(rate(1000), 500, 1, 8));
        assert!((460..=500).contains(&result.tasks[0].operations), "{}", result.tasks[0].operations);
        let late: u64 = latencies.iter().filter(|(ns, _)| *ns > 20 * MS).map(|(_, count)| count).sum();
        assert!(late < 100, "{late} completions were noticed only with a later operation");
    });
}

/// 100 operations a second, of which the 40th hangs for 300 ms: the 29 that were meant to start meanwhile are late too.
#[test]
fn a_stall_is_in_the_latency_of_every_operation_that_it_kept_waiting() {
    holds_on_a_busy_machine(|| {
        for depth in [1, 4] {
            let fault = Fault::DelayEvery { op: Op::Write, nth: 40, delay: Duration::from_millis(300) };
            let storage: Arc<dyn Storage> = Arc::new(Faulty::storage(in_memory(), vec![fault]));
            let mut phase = paced(rate(100), 60_000, 1, depth);
            phase.limit.operations = Some(79);
            let (result, latencies) = run_with_latencies(&storage, phase);
            assert_eq!(result.tasks[0].operations, 79, "a late task leaves none out");
            let high = |above: u64| latencies.iter().filter(|(ns, _)| *ns >= above * MS).map(|(_, count)| count).sum::<u64>();
            assert!((26..=45).contains(&high(15)), "{} operations felt the stall at depth {depth}", high(15));
            assert!((13..=25).contains(&high(150)), "{} felt half of it at depth {depth}", high(150));
            let elapsed = result.tasks[0].transfer_ns;
            assert!((775 * MS..900 * MS).contains(&elapsed), "the lost time was made up for: {elapsed} ns");
        }
    });
}

#[test]
fn an_operation_that_finds_no_free_slot_waits_and_its_latency_says_so() {
    holds_on_a_busy_machine(|| {
        // Twice the rate that the storage can do: after half a second the latest are a quarter of a second late.
        let storage: Arc<dyn Storage> = Arc::new(Throttled::storage(in_memory(), None, Some(200)));
        for depth in [1, 4] {
            let result = run(&storage, paced(rate(400), 500, 1, depth), None);
            assert!((85..=115).contains(&result.tasks[0].operations), "{}", result.tasks[0].operations);
            assert!((180 * MS..330 * MS).contains(&result.latency.max_ns), "{} ns at depth {depth}", result.latency.max_ns);
            assert!(result.latency.p50_ns > 80 * MS, "{} ns at depth {depth}", result.latency.p50_ns);
        }
    });
}

#[test]
fn a_pause_by_plan_is_no_stall_and_an_operation_that_hangs_is_one() {
    holds_on_a_busy_machine(|| {
        let slow = RateLimits { bytes_per_s: Some(4096 * 2 / 3), ..RateLimits::default() };
        for depth in [1, 4] {
            let result = run(&in_memory(), paced(slow, 1700, 1, depth), None);
            assert_eq!((result.tasks[0].operations, result.events.len()), (2, 0), "{:?}", result.events);
        }
        let fault = Fault::DelayEvery { op: Op::Write, nth: 12, delay: Duration::from_millis(1300) };
        let storage: Arc<dyn Storage> = Arc::new(Faulty::storage(in_memory(), vec![fault]));
        let mut hanging = paced(rate(100), 60_000, 1, 1);
        hanging.limit.operations = Some(20);
        let result = run(&storage, hanging, None);
        assert_eq!(result.events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["stall"]);
    });
}

#[test]
fn think_time_is_between_operations_and_in_no_latency() {
    holds_on_a_busy_machine(|| {
        let pace = RateLimits { think_ns: 20 * MS, ..RateLimits::default() };
        let result = run(&in_memory(), paced(pace, 500, 1, 1), None);
        assert!((15..=25).contains(&result.tasks[0].operations), "{}", result.tasks[0].operations);
        assert!(result.latency.p50_ns < 5 * MS, "{} ns", result.latency.p50_ns);
        // Each of the slots of a queue pauses by itself.
        let result = run(&in_memory(), paced(pace, 500, 1, 4), None);
        assert!((4 * 15..=4 * 25).contains(&result.tasks[0].operations), "{}", result.tasks[0].operations);
        assert!(result.latency.p50_ns < 5 * MS, "{} ns", result.latency.p50_ns);
    });
}

#[test]
fn a_task_that_waits_by_plan_hears_stop_long_before_its_time() {
    holds_on_a_busy_machine(|| {
        let hour = 3_600_000;
        let thinking = RateLimits { think_ns: hour * MS, ..RateLimits::default() };
        for (pace, depth) in [(thinking, 1), (thinking, 4), (RateLimits { bytes_per_s: Some(1), ..RateLimits::default() }, 1)] {
            let mut phase = Phase::prepare(in_memory(), paced(pace, hour, 2, depth), None).expect("prepared");
            phase.go();
            while phase.live().operations == 0 {
                std::thread::yield_now();
            }
            let asked = Instant::now();
            phase.stop();
            assert!(phase.wait(Duration::from_secs(30)));
            assert!(asked.elapsed() < Duration::from_millis(300), "{:?} with {pace:?} at depth {depth}", asked.elapsed());
            assert_eq!(phase.take_result().expect("a result").expect("it ran").stop_reason, StopReason::Interrupted);
        }
    });
}
