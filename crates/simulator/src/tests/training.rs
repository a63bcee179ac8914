//! Accelerators that are fed, against closed forms: what a reader reads takes a known time, and so does a step.

use tonnage_records::{PhaseResult, TrainingResult};
use tonnage_workload::{CachePolicy, Dataset, Limit, PhaseSpec, Shuffle, Training, TrainingStep, Work};

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
        cache: CachePolicy::Drop,
    }
}

fn model() -> ModelSpec {
    ModelSpec { knee: Some(1), plateau_bytes_per_s: Some(1_000_000_000), jitter: 0.0, ..ModelSpec::default() }
}

fn spec(training: Training, time_ns: Option<u64>) -> PhaseSpec {
    let tasks = training.accelerators * training.readers;
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
