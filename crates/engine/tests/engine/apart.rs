//! Phases whose tasks are in several processes: here several phases of one process, each with its part of the tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{MIB, in_memory, null, on_disk, spec, streaming};
use tonnage_engine::Phase;
use tonnage_records::{Collected, PhaseFiles, PhaseResult, Share, StopReason};
use tonnage_storage::{Delays, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Limit, Op, PhaseSpec, TaskRange};

const S: u64 = 1_000_000_000;

/// One process's part.
struct ProcessPart {
    phase: Phase,
    collected: Collected,
}

/// `spec` over processes of `split` tasks, each at its start line.
fn prepare(storage: &Arc<dyn Storage>, spec: &PhaseSpec, split: &[u32]) -> Vec<ProcessPart> {
    let mut first = 0;
    let total = split.iter().sum();
    split
        .iter()
        .map(|&here| {
            let tasks = TaskRange { first, here, total };
            first += here;
            let (files, collected) = PhaseFiles::in_memory(spec.operation_log > 0);
            let part = PhaseSpec { tasks, ..spec.clone() };
            ProcessPart { phase: Phase::prepare(Arc::clone(storage), part, Some(files)).expect("prepared"), collected }
        })
        .collect()
}

/// What a launcher does from the barrier on: whoever meets waits until all do, and gets the largest number.
fn attend(parts: &mut [ProcessPart]) -> Vec<Vec<u64>> {
    for part in &mut *parts {
        part.phase.go();
    }
    let mut meetings = Vec::new();
    let began = Instant::now();
    while !parts.iter().all(|part| part.phase.wait(Duration::from_millis(1))) {
        assert!(began.elapsed() < Duration::from_secs(60), "the phase ends");
        let said: Vec<_> = parts.iter().filter_map(|part| part.phase.meeting()).collect();
        if said.len() == parts.len() {
            let agreed = said.iter().copied().max().expect("parts");
            for part in &*parts {
                part.phase.meet(agreed);
            }
            meetings.push(said);
        }
        if parts.iter().any(|part| part.phase.live().failed) {
            for part in &*parts {
                part.phase.stop();
            }
        }
    }
    meetings
}

fn merged(parts: &[ProcessPart]) -> PhaseResult {
    let shares = parts.iter().map(|ProcessPart { phase, collected }| {
        let result = phase.take_result().expect("a result").expect("it ran");
        Share::new(result, phase.line_ns(), collected).expect("a share")
    });
    let share = shares.reduce(|one, other| other.merge(one).expect("of one phase")).expect("parts");
    share.write(None, "0000-test", 5 * S).expect("folded")
}

#[test]
fn the_shares_of_several_processes_are_one_result_of_all_tasks() {
    for storage in [null(), in_memory()] {
        let mut parts = prepare(&storage, &spec(Op::Write, 7), &[2, 1, 4]);
        assert!(attend(&mut parts).is_empty(), "nothing is to be agreed");
        let result = merged(&parts);
        assert_eq!(result.stop_reason, StopReason::Size);
        let tasks: Vec<_> = result.tasks.iter().map(|task| (task.task, task.bytes, task.operations)).collect();
        assert_eq!(tasks, (0..7).map(|task| (task, 4 * MIB, 64)).collect::<Vec<_>>());
        assert_eq!(result.latency.count, 7 * 64);
        assert!(result.tasks.iter().all(|task| (5 * S..6 * S).contains(&task.start_ns) && task.end_ns > task.start_ns));
    }
}

#[test]
fn what_processes_wrote_they_find_again_whoever_wrote_it() {
    let storage = in_memory();
    attend(&mut prepare(&storage, &spec(Op::Write, 5), &[2, 3]));
    let shifted = streaming(spec(Op::Read, 5), |stream| {
        stream.source = tonnage_workload::Source::Shift { tasks: 2 };
        stream.verify = true;
    });
    let mut parts = prepare(&storage, &shifted, &[4, 1]);
    attend(&mut parts);
    let verify = merged(&parts).verify.expect("verified");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (20 * MIB, 0));
}

/// A storage that takes its time with one of the tasks only.
fn straggling(task: u32) -> Arc<dyn Storage> {
    let delays = Delays { create_ns: 80_000_000, transfer_ns: 1_000_000, task: Some(task), ..Delays::default() };
    open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).expect("null")
}

#[test]
fn with_barriers_tasks_wait_for_those_of_other_processes() {
    let spec = streaming(spec(Op::Write, 3), |stream| stream.barriers = true);
    let mut parts = prepare(&straggling(2), &spec, &[2, 1]);
    assert_eq!(attend(&mut parts), [[0, 0], [0, 0]], "after the opening and before the closing");
    let result = merged(&parts);
    assert!(result.notes.is_empty(), "{:?}", result.notes);
    for task in &result.tasks[..2] {
        assert!(task.open_wait_ns > 50_000_000, "the other process opens slowly: {task:?}");
        assert!(task.close_wait_ns > 40_000_000, "and moves slowly: {task:?}");
    }
    assert!(result.tasks[2].open_wait_ns < 50_000_000);
}

#[test]
fn all_wear_out_to_the_most_that_a_task_of_any_process_had_done() {
    let limit = Limit { time_ns: Some(60_000_000), wear_out: true, ..Limit::default() };
    for depth in [1, 4] {
        let spec = streaming(PhaseSpec { limit, ..spec(Op::Write, 3) }, |stream| {
            stream.geometry.block_size = 1 << 50;
            stream.queue_depth = depth;
        });
        let delays = Delays { transfer_ns: 1_000_000, ..Delays::default() };
        let fast = Delays { transfer_ns: 300_000, ..Delays::default() };
        let storages = [fast, delays].map(|delays| open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).unwrap());
        let mut parts = prepare(&storages[0], &spec, &[1, 2]);
        parts[1] = prepare(&storages[1], &spec, &[1, 2]).pop().expect("two parts");
        let meetings = attend(&mut parts);
        let [said] = meetings.as_slice() else { panic!("one agreement, not {meetings:?}") };
        assert!(said[0] > said[1], "{said:?}");
        let result = merged(&parts);
        assert_eq!(result.stop_reason, StopReason::Time);
        assert!(result.tasks.iter().all(|task| task.operations == said[0]), "{said:?} {:?}", result.tasks);
        assert!(result.tasks[1].stonewall_operations < Some(said[0]));
    }
}

#[test]
fn a_process_that_is_through_before_the_time_still_says_how_much_it_did_and_is_timed_without_the_wait() {
    let limit = Limit { time_ns: Some(200_000_000), wear_out: true, ..Limit::default() };
    let delays = Delays { transfer_ns: 10_000_000, task: Some(1), ..Delays::default() };
    let storage = open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).unwrap();
    let spec = streaming(PhaseSpec { limit, ..spec(Op::Write, 2) }, |stream| stream.geometry.block_size = 30 * (64 << 10));
    let mut parts = prepare(&storage, &spec, &[1, 1]);
    let meetings = attend(&mut parts);
    assert_eq!(meetings[0][0], 30, "{meetings:?}");
    assert!(meetings[0][1] < 30, "{meetings:?}");
    let result = merged(&parts);
    assert!(result.tasks.iter().all(|task| task.operations == 30));
    assert!(result.tasks[0].end_ns < result.tasks[1].end_ns - 100_000_000, "its end is that of its last operation");
}

#[test]
fn a_process_that_fails_lets_the_launcher_send_the_others_home() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    std::fs::create_dir(scratch.path().join("data.00000001")).expect("a directory where a file should be");
    let spec = streaming(spec(Op::Write, 2), |stream| stream.barriers = true);
    let mut parts = prepare(&storage, &spec, &[1, 1]);
    attend(&mut parts);
    let result = merged(&parts);
    assert_eq!(result.stop_reason, StopReason::Error);
    assert_eq!(result.first_error.map(|error| error.task), Some(1));
}

#[test]
fn who_waits_for_a_phase_is_woken_by_a_meeting_once() {
    let spec = streaming(spec(Op::Write, 2), |stream| stream.barriers = true);
    let mut parts = prepare(&null(), &spec, &[1, 1]);
    parts[0].phase.go();
    let began = Instant::now();
    assert!(!parts[0].phase.wait(Duration::from_secs(30)));
    assert!(began.elapsed() < Duration::from_secs(10), "a meeting wakes who waits");
    assert_eq!(parts[0].phase.meeting(), Some(0));
    let again = Instant::now();
    assert!(!parts[0].phase.wait(Duration::from_millis(100)));
    assert!(again.elapsed() >= Duration::from_millis(100), "who knows of it is not woken again");
    parts[0].phase.stop();
    assert!(parts[0].phase.wait(Duration::from_secs(10)), "a stop ends the waiting");
    assert_eq!(parts[0].phase.meeting(), None);
}

#[test]
fn rounds_of_checkpoints_are_those_of_all_processes_and_one_snapshot_is_of_all() {
    let stream = r#"{"transfer_size": 65536, "block_size": 262144, "layout": "file-per-task", "access": "sequential"}"#;
    let text = format!(
        r#"{{"kind": "checkpoint", "step": "checkpoint", "rounds": 3, "coordination": "together", "geometry": {stream},
            "durability": "none", "snapshot": {{"means": "command", "argv": ["sleep", "0.05"]}}}}"#
    );
    let spec = PhaseSpec { work: serde_json::from_str(&text).expect("a checkpoint"), ..spec(Op::Write, 3) };
    let mut parts = prepare(&straggling(2), &spec, &[2, 1]);
    assert_eq!(attend(&mut parts).len(), 9, "three times a round");
    let result = merged(&parts);
    let checkpoint = result.checkpoint.expect("it is one");
    assert_eq!((checkpoint.rounds, checkpoint.snapshot.count, checkpoint.windows.len()), (3, 3, 3));
    assert_eq!(checkpoint.checkpoint_ns, checkpoint.windows_ns());
    for window in checkpoint.windows {
        assert!(window.first_end_ns - window.last_begin_ns >= 80_000_000 + 50_000_000, "all wait for all: {window:?}");
        assert!(window.first_begin_ns >= 5 * S && window.snapshot_ns >= 50_000_000, "{window:?}");
    }
    assert_eq!(result.events.iter().filter(|event| event.kind == "snapshot").count(), 3);
}
