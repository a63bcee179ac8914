//! Steps that begin when every task is through the one before.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{MIB, on_disk, run, spec, streaming};
use tonnage_storage::{Delays, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Op, PhaseSpec};

const OPENING: u64 = 80_000_000;
const MOVING: u64 = 40_000_000;

/// A storage that takes its time with the second of the tasks only.
fn straggling() -> Arc<dyn Storage> {
    let delays = Delays { create_ns: OPENING, transfer_ns: MOVING, task: Some(1), ..Delays::default() };
    open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).expect("null")
}

fn one_transfer(barriers: bool) -> PhaseSpec {
    streaming(spec(Op::Write, 3), |stream| {
        stream.geometry.block_size = 64 << 10;
        stream.barriers = barriers;
    })
}

#[test]
fn with_barriers_no_task_transfers_before_the_last_has_opened_nor_closes_before_the_last_has_moved() {
    let result = run(&straggling(), one_transfer(true), None);
    let start = result.tasks.iter().map(|task| task.start_ns).max().expect("tasks");
    for task in &result.tasks {
        let transfer_start = task.start_ns + task.open_ns + task.open_wait_ns;
        let close_start = task.end_ns - task.close_ns;
        assert!(transfer_start + 1_000_000 >= start.min(result.tasks[1].start_ns) + OPENING, "{task:?}");
        assert!(close_start >= result.tasks[1].start_ns + OPENING + MOVING, "{task:?}");
        let steps = task.open_ns + task.open_wait_ns + task.transfer_ns + task.sync_ns + task.close_wait_ns + task.close_ns;
        assert_eq!(task.start_ns + steps, task.end_ns, "the steps and the waits are all of the task's time");
    }
    assert!(result.tasks[1].open_wait_ns < OPENING / 2, "who comes last does not wait");
    assert!(result.tasks[0].transfer_ns < MOVING / 2, "waiting is no part of a step");
}

#[test]
fn without_barriers_no_task_waits_for_another() {
    let result = run(&straggling(), one_transfer(false), None);
    assert!(result.tasks.iter().all(|task| (task.open_wait_ns, task.close_wait_ns) == (0, 0)));
    assert!(result.tasks[0].end_ns < result.tasks[1].start_ns + OPENING, "task 0 is long gone: {:?}", result.tasks[0]);
}

#[test]
fn a_task_that_cannot_open_its_file_lets_the_others_go() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, spec(Op::Write, 3), None);
    let read = streaming(spec(Op::Read, 3), |stream| stream.barriers = true);
    let mut phase = tonnage_engine::Phase::prepare(Arc::clone(&storage), read, None).expect("prepared");
    let cut = std::fs::OpenOptions::new().write(true).open(scratch.path().join("data.00000001")).expect("a file");
    cut.set_len(5).expect("cut short since it was looked at");
    phase.go();
    assert!(phase.wait(Duration::from_secs(10)), "nobody waits for ever");
    let result = phase.take_result().expect("a result").expect("of a phase that ran");
    assert_eq!(result.tasks.iter().map(|task| task.errors).sum::<u64>(), 1);
    assert!(result.tasks.iter().map(|task| task.bytes).sum::<u64>() <= 8 * MIB);
}
