//! Copies of a command, against the laws of the model.

use std::collections::BTreeMap;

use tonnage_records::StopReason;
use tonnage_workload::{Command, Limit, PhaseSpec, Work};

use super::{elapsed_ns, near, run, working};
use crate::{ModelSpec, Shape};

fn copies(tasks: u32, copies: u32) -> PhaseSpec {
    let command =
        Command { argv: vec!["gzip".to_owned()], copies, directory: "/".to_owned(), environment: BTreeMap::new(), output: None };
    working(Work::Command(command), tasks)
}

/// 1 GB and 2 s of processor time a copy, which is longer than the device takes for up to four.
fn model() -> ModelSpec {
    ModelSpec { knee: Some(1), copy_cpu_ns: 2_000_000_000, cpus: 8, jitter: 0.0, ..ModelSpec::default() }
}

#[test]
fn the_load_line_of_a_program_is_that_of_the_scarcer_of_device_and_processors() {
    let even = ModelSpec { knee: Some(8), ..model() };
    let device_bound = ModelSpec { copy_cpu_ns: 100_000_000, ..even.clone() };
    let smooth = ModelSpec { shape: Shape::Smooth, knee: Some(4), ..device_bound.clone() };
    for model in [model(), even, device_bound, smooth] {
        for tasks in [1, 2, 4, 6, 8, 12, 16] {
            let result = run(model.clone(), &copies(tasks, 4 * tasks));
            let measured = f64::from(4 * tasks) * 1e9 / elapsed_ns(&result) as f64;
            let device = model.share(u64::from(tasks)) * 2e9 / 1e9;
            let processors = f64::from(tasks.min(model.cpus)) * 1e9 / model.copy_cpu_ns as f64;
            let law = device.min(processors);
            assert!(near(measured, law, 1e-6), "{tasks}: {measured} against {law}");
        }
    }
}

#[test]
fn copies_are_dealt_to_whoever_is_free() {
    let result = run(ModelSpec { straggler: 4.0, ..model() }, &copies(4, 40));
    let numbers: Vec<u32> = result.copies.iter().map(|copy| copy.copy).collect();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
    assert_eq!(result.tasks.iter().map(|task| task.operations).sum::<u64>(), 40);
    assert!(result.tasks[3].operations * 3 < result.tasks[0].operations, "the last task is slower");
    for task in 0..4 {
        let mut mine: Vec<_> = result.copies.iter().filter(|copy| copy.task == task).collect();
        mine.sort_by_key(|copy| copy.start_ns);
        assert!(mine.windows(2).all(|two| two[0].end_ns <= two[1].start_ns), "one after the other");
    }
}

#[test]
fn a_copy_has_its_accounts_and_ends_well() {
    let result = run(model(), &copies(2, 2));
    let copy = &result.copies[1];
    assert_eq!((copy.exit_code, copy.cpu_user_ns, copy.device_read_bytes), (Some(0), 2_000_000_000, Some(1_000_000_000)));
    assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), 2_000_000_000);
    assert_eq!((copy.end_ns - copy.start_ns, result.cpu_user_ns), (2_000_000_000, 4_000_000_000));
}

#[test]
fn a_failing_copy_fails_the_trial_and_nothing_more_begins() {
    let result = run(ModelSpec { fault_every: 5, ..model() }, &copies(2, 100));
    assert_eq!(result.stop_reason, StopReason::Error);
    let failed: Vec<u32> = result.copies.iter().filter(|copy| copy.exit_code == Some(1)).map(|copy| copy.copy).collect();
    assert_eq!((failed.len(), result.copies.len()), (1, 6), "the one beside it ends");
    let error = result.first_error.expect("a copy failed");
    assert_eq!(error.message, format!("copy {} ended with exit code 1", failed[0]));
}

#[test]
fn no_copy_starts_when_the_time_is_up() {
    let limit = Limit { time_ns: Some(5_000_000_000), ..Limit::default() };
    let result = run(model(), &PhaseSpec { limit, ..copies(2, 100) });
    assert_eq!((result.stop_reason, result.copies.len()), (StopReason::Time, 6));
    assert!(result.copies.iter().all(|copy| copy.start_ns < 5_000_000_000));
}

#[test]
fn a_stall_of_the_storage_is_added_to_every_copy_that_runs() {
    let stalled = ModelSpec { stall_every_ns: 3_000_000_000, stall_ns: 7_000_000_000, ..model() };
    let result = run(stalled, &copies(4, 40));
    for copy in &result.copies {
        let late = copy.end_ns - copy.start_ns - 2_000_000_000;
        assert!(late.is_multiple_of(7_000_000_000), "{late}");
    }
    assert!(result.latency.max_ns >= 9_000_000_000);
    assert_eq!(result.events, [], "a copy may take as long as it likes");
}

#[test]
fn drift_changes_the_speed_of_copies_as_they_run() {
    let model = ModelSpec { drift: -0.5, copy_cpu_ns: 0, copy_bytes: 60_000_000_000, ..model() };
    let result = run(model, &copies(1, 2));
    let took: Vec<f64> = result.copies.iter().map(|copy| (copy.end_ns - copy.start_ns) as f64 / 1e9).collect();
    // ∫ 2^(−t/60) dt = 30 s of full speed: t = −60·log₂(1 − 30·ln 2/60) = 36.76 s; 60 s of it: 71.0 s in all.
    let after = |work: f64| -60.0 * (1.0 - work * std::f64::consts::LN_2 / 60.0).log2();
    assert!(near(took[0], after(30.0), 0.01), "{took:?}");
    assert!(near(took[0] + took[1], after(60.0), 0.01), "{took:?}");
}

#[test]
fn the_same_seed_gives_the_same_copies() {
    let model = ModelSpec { jitter: 0.3, noise: 0.2, ..model() };
    assert_eq!(run(model.clone(), &copies(3, 30)), run(model.clone(), &copies(3, 30)));
    assert_ne!(run(model.clone(), &copies(3, 30)), run(ModelSpec { seed: 1, ..model }, &copies(3, 30)));
}
