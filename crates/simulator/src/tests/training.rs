//! Accelerators that are fed, against closed forms: what a reader reads takes a known time, and so does a step.

use tonnage_records::{PhaseResult, Role, TrainingResult};
use tonnage_workload::{CachePolicy, Dataset, Limit, PhaseSpec, Saving, Shuffle, Training, TrainingStep, Work};

use super::{near, phase, run, working};
use crate::ModelSpec;

const MS: u64 = 1_000_000;

/// Two accelerators, each with two readers and batches of four samples of 1 MiB: on a device of 1 GB/s that four tasks
/// fill, a batch of both takes 8.389 ms.
fn training(compute_ns: u64) -> Training {
    Training {
        step: TrainingStep::Train,
        dataset: Dataset { files: 64, samples_per_file: 8, sample_bytes: 1 << 20, spread_bytes: 0 },
        transfer_size: 1 << 20,
        accelerators: 2,
        readers: 2,
        batch_samples: 4,
        prefetch_batches: 2,
        compute_ns,
        steps: None,
        epochs: 1,
        shuffle: Shuffle::Samples,
        first_pass: 0,
        cache: CachePolicy::Drop,
        saving: None,
    }
}

fn model() -> ModelSpec {
    ModelSpec { knee: Some(1), plateau_bytes_per_s: Some(1_000_000_000), jitter: 0.0, ..ModelSpec::default() }
}

fn spec(training: Training, time_ns: Option<u64>) -> PhaseSpec {
    let tasks = training.all_readers() + training.saving.map_or(0, |saving| saving.writers);
    PhaseSpec { limit: Limit { time_ns, ..Limit::default() }, ..working(Work::Training(training), tasks) }
}

fn of(result: &PhaseResult) -> &TrainingResult {
    result.training.as_ref().expect("a training")
}

fn utilisation(result: &PhaseResult) -> f64 {
    let windows = &of(result).windows;
    windows.iter().map(|[_, compute, total]| *compute as f64 / *total as f64).sum::<f64>() / windows.len() as f64
}

#[test]
fn what_the_device_cannot_give_is_missing_of_the_utilisation() {
    let batches_ms = 8.388_608;
    for (compute_ms, expected) in [(2, 2.0 / batches_ms), (6, 6.0 / batches_ms), (8, 8.0 / batches_ms), (20, 1.0)] {
        let result = run(model(), &spec(training(compute_ms * MS), None));
        assert!(near(utilisation(&result), expected, 0.002), "{compute_ms} ms: {}", utilisation(&result));
        assert_eq!(of(&result).windows.iter().map(|window| window[0]).collect::<Vec<_>>(), [64, 64]);
        assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), 512 << 20);
    }
}

#[test]
fn readers_wait_where_enough_has_been_read_and_accelerators_where_it_has_not() {
    let starved = run(model(), &spec(training(2 * MS), None));
    // In 63 steps two accelerators waited for what 2 ms of 8.389 left.
    let waited = of(&starved).starved_ns + of(&starved).uneven_ns;
    assert!(near(waited as f64, 2.0 * 63.0 * 6_388_608.0, 0.01), "{:?}", of(&starved));
    assert_eq!(of(&starved).idle_ns, 0);
    let fed = run(model(), &spec(training(20 * MS), None));
    assert_eq!((of(&fed).starved_ns, of(&fed).uneven_ns), (0, 0));
    // Of 20 ms each reader reads for 8.389.
    assert!(near(of(&fed).idle_ns as f64, 4.0 * 64.0 * 11_611_392.0, 0.08), "{:?}", of(&fed));
}

#[test]
fn a_limit_of_time_counts_the_steps_that_all_ended_within_it() {
    let result = run(model(), &spec(training(6 * MS), Some(100 * MS)));
    // The first ends after 8.389 + 6 ms, each other one 8.389 ms later.
    let ends = &of(&result).step_ends_ns;
    assert!(ends.len() == 11 && near(ends[0] as f64, 14.389e6, 0.001) && near((ends[10] - ends[0]) as f64, 83.886e6, 0.001));
    assert_eq!(of(&result).windows.iter().map(|window| window[0]).collect::<Vec<_>>(), [11, 11]);
    // The first step of one is over a little before that of the other, for which it waits.
    assert!(near(utilisation(&result), 6.0 / 8.388_608, 0.02));
    let none = run(model(), &spec(training(200 * MS), Some(100 * MS)));
    assert_eq!(of(&none).windows, [[0, 0, 0], [0, 0, 0]]);
}

#[test]
fn each_epoch_has_a_window_and_begins_with_nothing_read_ahead() {
    let epochs = Training { epochs: 3, steps: Some(10), ..training(20 * MS) };
    let result = run(model(), &spec(epochs, None));
    for epoch in of(&result).windows.chunks(2) {
        assert!(epoch.iter().all(|window| window[..2] == [10, 180 * MS] && window[2] <= 183 * MS), "{epoch:?}");
        assert_eq!(epoch.iter().map(|window| window[2]).min(), Some(180 * MS));
    }
    assert_eq!(result.tasks.iter().map(|task| task.operations).sum::<u64>(), 3 * 10 * 8);
}

/// Two writers of 64 MiB each, after every tenth step.
fn saving(compute_ns: u64) -> Training {
    let saving = Saving { every_steps: 10, writers: 2, writer_bytes: 64 << 20 };
    Training { steps: Some(35), epochs: 2, saving: Some(saving), ..training(compute_ns) }
}

#[test]
fn accelerators_pause_while_a_checkpoint_is_written_and_no_window_has_that_time() {
    // Of 50 ms the device reads for 8.389: at a checkpoint all that may be read ahead has been.
    let model = ModelSpec { fsync_ns: 2 * MS, ..model() };
    let result = run(model, &spec(saving(50 * MS), None));
    let fed = of(&result);
    // Of each epoch 10, 10, 10 and 5 steps, each block for both accelerators.
    let steps: Vec<u64> = fed.windows.iter().map(|window| window[0]).collect();
    assert_eq!(steps, [10, 10, 10, 10, 10, 10, 5, 5].repeat(2));
    for [steps, compute, total] in fed.windows.iter().skip(2) {
        assert_eq!(*compute, (steps - 1) * 50 * MS);
        assert!(near(*total as f64, *compute as f64, 0.04), "{total} of {compute}");
    }
    // 128 MiB at 1 GB/s, and the sync: 136.2 ms.
    assert_eq!((fed.checkpoints.len(), fed.checkpoint_bytes), (6, 128 << 20));
    for [begin_ns, end_ns] in &fed.checkpoints {
        assert!(near((end_ns - begin_ns) as f64, 136.218e6, 0.001), "{}", end_ns - begin_ns);
    }
    // From one to the next: ten steps, and itself.
    assert!(near((fed.checkpoints[1][0] - fed.checkpoints[0][1]) as f64, 500e6, 0.001));
    let apart: Vec<_> = result.tasks.iter().filter(|task| task.role == Role::Save).map(|task| task.bytes).collect();
    assert_eq!(apart, [6 * (64 << 20); 2]);
    // Readers waited for room while 50 ms were computed, not for the checkpoints: 70 steps, of which two were the first.
    let waited_ms = fed.idle_ns as f64 / 4e6;
    assert!(waited_ms < 70.0 * 50.0 && waited_ms > 60.0 * 41.6, "{waited_ms}");
}

#[test]
fn a_checkpoint_that_the_time_cuts_is_none_and_the_phase_ends() {
    // Ten steps take 0.51 s, and the checkpoint would end at 0.64 s.
    let result = run(model(), &spec(saving(50 * MS), Some(600 * MS)));
    assert_eq!(of(&result).windows.iter().map(|window| window[0]).collect::<Vec<_>>(), [10, 10]);
    assert_eq!(of(&result).checkpoints, Vec::<[u64; 2]>::new());
    let end_ns = result.tasks.iter().map(|task| task.end_ns - task.start_ns).max();
    assert!(end_ns.is_some_and(|end_ns| end_ns < 610 * MS), "{end_ns:?}");
}

#[test]
fn a_checkpoint_that_fails_ends_the_phase() {
    // The first reads are 80 and what is read ahead.
    let model = ModelSpec { fault_every: 120, ..model() };
    let result = run(model, &spec(saving(50 * MS), None));
    let error = result.first_error.as_ref().expect("an error");
    assert!(error.message.starts_with("write failed") && error.task >= 4, "{error:?}");
}

#[test]
fn checkpoints_that_leave_nothing_to_measure_are_refused() {
    let refused = |saving| {
        let work = Training { saving: Some(saving), ..training(MS) };
        spec(work, None).check().expect_err("refused").to_string()
    };
    let well = Saving { every_steps: 2, writers: 1, writer_bytes: 1 << 20 };
    assert!(refused(Saving { every_steps: 1, ..well }).starts_with("a checkpoint every 1 steps of 64"));
    assert!(refused(Saving { every_steps: 65, ..well }).starts_with("a checkpoint every 65 steps of 64"));
    assert!(refused(Saving { writer_bytes: 0, ..well }).contains("what saving writes"));
}

#[test]
fn a_failed_read_ends_the_phase_and_the_steps_so_far_stand() {
    let model = ModelSpec { fault_every: 100, ..model() };
    let result = run(model, &spec(training(6 * MS), None));
    assert!(result.first_error.is_some());
    assert!(of(&result).windows[0][0] > 5 && of(&result).windows[0][0] < 13, "{:?}", of(&result));
}

#[test]
fn another_number_of_tasks_than_readers_is_refused() {
    let wrong = PhaseSpec { tasks: phase(tonnage_workload::Op::Read, 3, 0, "a").tasks, ..spec(training(MS), None) };
    assert!(crate::Simulator::new(model()).expect("a model").run(&wrong, None).is_err());
}
