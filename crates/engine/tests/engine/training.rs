//! Accelerators that are fed from real storages: what is read, what an epoch leaves out, and how a phase ends.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{in_memory, on_disk, run, spec};
use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, Role, StopReason, TrainingResult};
use tonnage_storage::{Storage, StorageKind};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{CachePolicy, Dataset, Limit, Op, PhaseSpec, Saving, Shuffle, TaskRange, Training, TrainingStep, Work};

const MS: u64 = 1_000_000;
const EIO: i32 = 5;

fn training() -> Training {
    Training {
        step: TrainingStep::Train,
        dataset: Dataset { files: 6, samples_per_file: 4, sample_bytes: 40_000, spread_bytes: 12_000 },
        transfer_size: 16 << 10,
        accelerators: 2,
        readers: 2,
        batch_samples: 3,
        prefetch_batches: 2,
        compute_ns: MS,
        steps: None,
        epochs: 1,
        shuffle: Shuffle::Samples,
        first_pass: 0,
        cache: CachePolicy::Drop,
        saving: None,
    }
}

fn of(training: Training, tasks: u32) -> PhaseSpec {
    let tasks = TaskRange { first: 0, here: tasks, total: tasks };
    PhaseSpec { record: "0000-train".to_owned(), tasks, work: Work::Training(training), ..spec(Op::Read, 1) }
}

fn lay_out(storage: &Arc<dyn Storage>, training: &Training) -> PhaseResult {
    run(storage, of(Training { step: TrainingStep::LayOut, ..training.clone() }, 3), None)
}

fn fed(result: &PhaseResult) -> &TrainingResult {
    result.training.as_ref().expect("a training")
}

#[test]
fn every_sample_is_read_once_in_a_pass_whatever_the_storage_and_the_order() {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Memory] {
        let on = (kind != StorageKind::Memory).then(|| on_disk(kind));
        let storage = on.as_ref().map_or_else(in_memory, |(_, _, storage)| Arc::clone(storage));
        let written = lay_out(&storage, &training());
        assert_eq!((written.stop_reason, &written.first_error), (StopReason::Size, &None), "{kind:?}");
        let bytes: u64 = (0..6).map(|file| training().dataset.file_bytes(file, spec(Op::Read, 1).seed)).sum();
        assert_eq!(written.tasks.iter().map(|task| task.bytes).sum::<u64>(), bytes);
        for shuffle in [Shuffle::Samples, Shuffle::Files, Shuffle::No] {
            let result = run(&storage, of(Training { shuffle, ..training() }, 4), None);
            assert_eq!((result.stop_reason, &result.first_error), (StopReason::Size, &None), "{kind:?} {shuffle:?}");
            let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
            assert_eq!(operations, 24, "{kind:?} {shuffle:?}");
            if shuffle == Shuffle::Samples {
                assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), bytes);
            }
            for window in &fed(&result).windows {
                assert_eq!(window[..2], [4, 3 * MS]);
                assert!(window[2] >= 3 * MS);
            }
        }
    }
}

#[test]
fn checkpoints_are_written_between_the_steps_and_are_in_no_total() {
    for kind in [StorageKind::Posix, StorageKind::Memory] {
        let on = (kind != StorageKind::Memory).then(|| on_disk(kind));
        let storage = on.as_ref().map_or_else(in_memory, |(_, _, storage)| Arc::clone(storage));
        lay_out(&storage, &training());
        let saving = Saving { every_steps: 2, writers: 2, writer_bytes: 48 << 10 };
        let work = Training { saving: Some(saving), epochs: 2, ..training() };
        let result = run(&storage, of(work, 6), None);
        assert_eq!((result.stop_reason, &result.first_error), (StopReason::Size, &None), "{kind:?}");
        let fed = fed(&result);
        // Four steps of an epoch: two blocks for each accelerator, each with one step that counts.
        assert_eq!(fed.windows.iter().map(|window| [window[0], window[1]]).collect::<Vec<_>>(), [[2, MS]; 8]);
        assert_eq!((fed.checkpoints.len(), fed.checkpoint_bytes), (4, 96 << 10));
        let of = |role| result.tasks.iter().filter(move |task| task.role == role);
        assert_eq!(of(Role::Save).map(|task| task.bytes).collect::<Vec<_>>(), [4 * (48 << 10); 2]);
        assert_eq!(of(Role::Work).map(|task| task.operations).sum::<u64>(), 48);
        assert_eq!(result.latency.count, 48, "latencies are those of samples");
        for writer in [6, 7] {
            assert_eq!(storage.length(writer).expect("its file"), 48 << 10);
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_ends_all() {
    let memory = in_memory();
    lay_out(&memory, &training());
    let fault = Fault::FailAt { op: Op::Write, offset: 16 << 10, errno: EIO };
    let faulty: Arc<dyn Storage> = Arc::new(Faulty::storage(memory, vec![fault]));
    let saving = Saving { every_steps: 2, writers: 1, writer_bytes: 48 << 10 };
    let result = run(&faulty, of(Training { saving: Some(saving), ..training() }, 5), None);
    assert_eq!(result.stop_reason, StopReason::Error);
    let error = result.first_error.as_ref().expect("an error");
    assert_eq!((error.task, error.file, error.errno), (4, 6, EIO));
    assert!(fed(&result).checkpoints.is_empty());
}

#[test]
fn what_is_not_laid_out_fails_the_phase_and_says_so() {
    let storage = in_memory();
    let missing = Phase::prepare(Arc::clone(&storage), of(training(), 4), None).err().map(|error| error.to_string());
    let told = match missing {
        Some(text) => text,
        None => run(&storage, of(training(), 4), None).first_error.expect("an error").message,
    };
    assert!(told.starts_with("cannot find memory file"), "{told}");
}

#[test]
fn a_read_that_fails_ends_all_readers_and_those_that_wait() {
    let memory = in_memory();
    lay_out(&memory, &training());
    let offset = training().dataset.sample(0, 1, spec(Op::Read, 1).seed).offset;
    let faulty: Arc<dyn Storage> = Arc::new(Faulty::storage(memory, vec![Fault::FailAt { op: Op::Read, offset, errno: EIO }]));
    // The other accelerator computes for an hour, so its readers wait for room.
    let slow = Training { compute_ns: 3_600_000 * MS, shuffle: Shuffle::No, ..training() };
    let result = run(&faulty, of(slow, 4), None);
    assert_eq!(result.stop_reason, StopReason::Error);
    assert_eq!(result.first_error.as_ref().map(|error| error.errno), Some(EIO));
}

#[test]
fn readers_that_wait_for_accelerators_end_with_the_time_and_when_they_are_told() {
    let storage = in_memory();
    lay_out(&storage, &training());
    let slow = Training { compute_ns: 3_600_000 * MS, ..training() };
    let limited = PhaseSpec { limit: Limit { time_ns: Some(30 * MS), ..Limit::default() }, ..of(slow.clone(), 4) };
    let result = run(&storage, limited, None);
    assert_eq!((result.stop_reason, &fed(&result).windows[..]), (StopReason::Time, &[[0, 0, 0]; 2][..]));
    assert_eq!(result.tasks.iter().map(|task| task.operations).sum::<u64>(), 2 * (2 + 1) * 3, "a batch in hand and two ahead");
    assert!(fed(&result).idle_ns > 0);
    let mut phase = Phase::prepare(storage, of(slow, 4), None).expect("prepared");
    phase.go();
    while phase.live().operations < 18 {
        std::thread::yield_now();
    }
    phase.stop();
    while !phase.wait(Duration::from_millis(100)) {}
    let stopped = phase.take_result().expect("ended").expect("a result");
    assert_eq!(stopped.stop_reason, StopReason::Interrupted);
}
