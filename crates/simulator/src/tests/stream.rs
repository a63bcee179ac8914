//! Streams, against the laws of the model.

use std::fs;

use tonnage_records::{CacheFacts, PhaseFiles, StopReason, read_histograms, read_table};
use tonnage_workload::{CachePolicy, Durability, Limit, Op, PhaseSpec, Work};

use super::{MIB, bytes, elapsed_ns, near, phase, rate, run, simulator, streaming};
use crate::{ModelSpec, Shape};

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let model = ModelSpec { noise: 0.2, stall_every_ns: 500_000_000, stall_ns: 1_200_000_000, ..ModelSpec::default() };
    let spec = phase(Op::Write, 5, 4, "0003-write");
    let first = run(model.clone(), &spec);
    assert_eq!(first, run(model.clone(), &spec));
    assert_ne!(first, run(ModelSpec { seed: 1, ..model.clone() }, &spec));
    assert_ne!(first, run(model, &PhaseSpec { record: "0004-write".to_owned(), ..spec }));
}

#[test]
fn throughput_is_within_one_percent_of_the_law_at_every_number_of_tasks() {
    for shape in [Shape::Hinge, Shape::Smooth, Shape::Linear] {
        for tasks in [1, 2, 4, 7, 8, 9, 16, 32] {
            let model = ModelSpec { shape, ..ModelSpec::default() };
            let law = model.share(u64::from(tasks)) * 2e9;
            let measured = rate(&run(model, &phase(Op::Write, tasks, 5, "0000-write")));
            assert!(near(measured, law, 0.01), "{shape:?} {tasks}: {measured} against {law}");
        }
    }
}

#[test]
fn throughput_follows_the_curves_that_have_a_knee_of_their_own() {
    let plain = ModelSpec::default();
    let models = [
        ModelSpec { curve: vec![(4, 0.5), (16, 0.5), (20, 1.0)], ..plain.clone() },
        ModelSpec { queues: Some(8), queue_demand: 0.9, ..plain.clone() },
        ModelSpec { contention: 0.02, coherency: 0.01, ..plain.clone() },
        ModelSpec { power: Some(0.1), ..plain.clone() },
        ModelSpec { creep: 0.04, odd_loss: 0.1, dip: 0.3, dip_from: 9, dip_to: 16, ..plain },
    ];
    for model in models {
        for tasks in [1, 3, 8, 16, 17, 32] {
            let law = model.share(u64::from(tasks)) * 2e9;
            let measured = rate(&run(model.clone(), &phase(Op::Write, tasks, 5, "0000-write")));
            assert!(near(measured, law, 0.01), "{model:?} {tasks}: {measured} against {law}");
        }
    }
}

#[test]
fn a_call_that_takes_time_moves_the_knee_with_the_transfer_size() {
    let model = ModelSpec {
        call_ns: 1_000_000,
        task_bytes_per_s: Some(100_000_000),
        operations_per_s: Some(8_000),
        stripe_bytes: 4 * MIB,
        stripe_gain: 0.25,
        jitter: 0.0,
        ..ModelSpec::default()
    };
    model.check().expect("a possible model");
    // A task alone: 4 KiB in 1 ms + 41 us, 1 MiB in 1 ms + 10.5 ms. All: 8,000 operations, 2 GB/s, a quarter of that.
    for (size, tasks, expected) in [
        (4096, 1, 4096.0 / 0.001_040_96),
        (4096, 32, 4096.0 * 8000.0),
        (MIB, 4, 4.0 * 1_048_576.0 / 0.011_485_76),
        (MIB, 64, 2e9),
        (4 * MIB, 64, 5e8),
    ] {
        let spec = streaming(phase(Op::Write, tasks, 5, "0000-write"), |stream| stream.geometry.transfer_size = size);
        let measured = rate(&run(model.clone(), &spec));
        assert!(near(measured, expected, 0.02), "{size} {tasks}: {measured} against {expected}");
    }
}

#[test]
fn a_queue_of_four_counts_as_four_tasks() {
    let spec = streaming(phase(Op::Write, 2, 5, "0000-write"), |stream| stream.queue_depth = 4);
    assert!(near(rate(&run(ModelSpec::default(), &spec)), 2e9, 0.01));
}

#[test]
fn reads_have_a_plateau_of_their_own() {
    let model = ModelSpec { read_plateau_bytes_per_s: Some(500_000_000), ..ModelSpec::default() };
    let mut simulator = simulator(model);
    simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
    let read = simulator.run(&phase(Op::Read, 8, 5, "0000-read"), None).expect("reads");
    assert!(near(rate(&read), 5e8, 0.01));
}

#[test]
fn noise_has_median_one_and_the_deviation_it_was_given() {
    let mut logs: Vec<f64> = (0..1001)
        .map(|seed| {
            let model = ModelSpec { knee: Some(1), noise: 0.2, jitter: 0.0, seed, ..ModelSpec::default() };
            (rate(&run(model, &phase(Op::Write, 1, 0, "0000-write"))) / 2e9).ln()
        })
        .collect();
    logs.sort_by(f64::total_cmp);
    let deviation = (logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64).sqrt();
    // The standard error of the median of 1001 is 1.25·0.2/√1001 = 0.008.
    assert!(logs[500].abs() < 0.024, "{}", logs[500]);
    assert!((0.185..0.215).contains(&deviation), "{deviation}");
}

#[test]
fn outliers_are_three_times_slower_at_their_share() {
    let slow = (0..1000)
        .filter(|&seed| {
            let model = ModelSpec { knee: Some(1), outliers: 0.1, jitter: 0.0, seed, ..ModelSpec::default() };
            near(rate(&run(model, &phase(Op::Write, 1, 0, "0000-write"))), 2e9 / 3.0, 0.01)
        })
        .count();
    assert!((70..130).contains(&slow), "{slow}");
}

#[test]
fn a_step_changes_the_speed_at_its_moment_and_for_good() {
    let model = ModelSpec { step: -0.4, step_at_ns: 5_000_000_000, ..ModelSpec::default() };
    let mut simulator = simulator(model);
    let mut next = || rate(&simulator.run(&phase(Op::Write, 8, 4, "0000-write"), None).expect("runs"));
    let (before, across, after) = (next(), next(), next());
    assert!(near(before, 2e9, 0.01) && near(after, 1.2e9, 0.01), "{before} {after}");
    // Of the second trial's 4 s the first one is at the old speed, up to an interval of the series.
    assert!(near(across, 1.4e9, 0.03), "{across}");
}

#[test]
fn jitter_keeps_the_mean_latency() {
    let model = ModelSpec { jitter: 0.5, ..ModelSpec::default() };
    let expected = model.crowd_ns(8) * MIB as f64 / 2e9;
    let latency = run(model, &phase(Op::Write, 8, 20, "0000-write")).latency;
    assert!(near(latency.mean_ns as f64, expected, 0.01), "{latency:?}");
    assert!(latency.p50_ns < latency.mean_ns);
}

#[test]
fn nothing_starts_after_the_time_limit_and_what_is_in_flight_counts() {
    let result = run(ModelSpec::default(), &phase(Op::Write, 8, 1, "0000-write"));
    assert_eq!(result.stop_reason, StopReason::Time);
    assert!(result.tasks.iter().all(|task| task.end_ns >= 1_000_000_000 && task.wrapped));
    assert!(elapsed_ns(&result) < 1_000_000_000 + result.latency.max_ns + result.latency.max_ns / 100);
    let once = run(ModelSpec::default(), &phase(Op::Write, 8, 0, "0000-write"));
    assert_eq!((once.stop_reason, bytes(&once)), (StopReason::Size, 8 * 64 * MIB));
    assert!(once.tasks.iter().all(|task| !task.wrapped));
}

#[test]
fn a_start_up_is_the_first_operations_of_a_loop_that_the_time_ends() {
    for depth in [1, 4] {
        let spec = streaming(phase(Op::Write, 3, 1, "0000-write"), |stream| stream.queue_depth = depth);
        let model = ModelSpec { straggler: 3.0, ..ModelSpec::default() };
        let tasks = run(model, &spec).tasks;
        let took: Vec<u64> = tasks.iter().map(|task| task.startup_ns.expect("its time was up")).collect();
        assert!(took[2] > 2 * took[0], "the straggler's first operations take longer: {took:?}");
        for task in &tasks {
            assert_eq!(task.startup_bytes, Some(u64::from(depth) * task.bytes / task.operations));
            let (least, most) = (task.startup_ns.expect("told") / 3, task.startup_ns.expect("told") * 3);
            let mean = task.transfer_ns / task.operations * u64::from(depth);
            assert!((least..most).contains(&mean), "{task:?}");
        }
    }
    let by_size = run(ModelSpec::default(), &phase(Op::Write, 3, 0, "0000-write"));
    assert!(by_size.tasks.iter().all(|task| (task.startup_ns, task.startup_bytes) == (None, None)));
}

#[test]
fn fsync_is_inside_the_clock() {
    let spec = |durability| streaming(phase(Op::Write, 1, 0, "0000-write"), |stream| stream.durability = durability);
    let model = ModelSpec { fsync_ns: 10_000_000, jitter: 0.0, ..ModelSpec::default() };
    let none = elapsed_ns(&run(model.clone(), &spec(Durability::None)));
    let end = run(model.clone(), &spec(Durability::Fsync));
    assert_eq!((elapsed_ns(&end) - none, end.tasks[0].sync_ns), (10_000_000, 10_000_000));
    let each = elapsed_ns(&run(model, &spec(Durability::FsyncEach)));
    assert_eq!(each - none, 65 * 10_000_000);
}

#[test]
fn a_stall_is_an_event_of_every_task_and_nothing_completes_in_it() {
    let model = ModelSpec { stall_every_ns: 3_000_000_000, stall_ns: 2_000_000_000, ..ModelSpec::default() };
    let result = run(model, &phase(Op::Write, 4, 20, "0000-write"));
    let first: Vec<_> = result.events.iter().take(4).collect();
    assert_eq!(first.iter().filter_map(|event| event.task).collect::<std::collections::BTreeSet<_>>().len(), 4);
    assert!(first.iter().all(|event| event.kind == "stall" && event.duration_ns >= Some(2_000_000_000)));
    assert!(result.latency.max_ns >= 2_000_000_000);
    assert!(run(ModelSpec::default(), &phase(Op::Write, 4, 20, "0000-write")).events.is_empty());
}

#[test]
fn a_burst_is_fast_until_the_buffer_is_full_and_then_writes_go_at_the_plateau() {
    let model = ModelSpec { burst_bytes: 4_000_000_000, ..ModelSpec::default() };
    let mut simulator = simulator(model);
    // 10 GB/s in and 2 GB/s out fill 4 GB in half a second.
    let burst = simulator.run(
        &PhaseSpec { limit: Limit { time_ns: Some(400_000_000), wrap: true, ..Limit::default() }, ..phase(Op::Write, 8, 0, "a") },
        None,
    );
    assert!(near(rate(&burst.expect("runs")), 1e10, 0.01));
    simulator.run(&phase(Op::Write, 8, 2, "b"), None).expect("fills it");
    let full = simulator.run(&phase(Op::Write, 8, 10, "c"), None).expect("runs");
    assert!(near(rate(&full), 2e9, 0.01), "{}", rate(&full));
    simulator.add_time(2_000_000_000);
    let again = simulator.run(
        &PhaseSpec { limit: Limit { time_ns: Some(400_000_000), wrap: true, ..Limit::default() }, ..phase(Op::Write, 8, 0, "d") },
        None,
    );
    assert!(near(rate(&again.expect("runs")), 1e10, 0.01), "it has drained");
}

#[test]
fn a_read_of_what_was_just_written_is_from_the_cache_unless_dropped_or_direct() {
    let cached = ModelSpec { cache_bytes: 1 << 40, ..ModelSpec::default() };
    let read = |model: &ModelSpec, cache| {
        let mut simulator = simulator(model.clone());
        simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
        let result =
            simulator.run(&streaming(phase(Op::Read, 8, 0, "0000-read"), |stream| stream.cache = cache), None).expect("reads");
        (result.cache.expect("a read says"), rate(&result))
    };
    let all = Some(8 * 64 * MIB);
    let (warm, warm_rate) = read(&cached, CachePolicy::Keep);
    assert_eq!(warm, CacheFacts { cached_before_bytes: all, examined_bytes: all, device_bytes: Some(0), hole_bytes: Some(0) });
    assert!(near(warm_rate, 1e10, 0.1), "{warm_rate}");
    let (cold, cold_rate) = read(&cached, CachePolicy::Drop);
    assert_eq!(cold, CacheFacts { cached_before_bytes: Some(0), examined_bytes: all, device_bytes: all, hole_bytes: Some(0) });
    assert!(near(cold_rate, 2e9, 0.1), "{cold_rate}");
    let (direct, _) = read(&ModelSpec { direct: true, ..cached.clone() }, CachePolicy::Keep);
    assert_eq!(direct.device_bytes, all);
    let (half, _) = read(&ModelSpec { cache_bytes: 4 * 64 * MIB, ..cached }, CachePolicy::Keep);
    assert_eq!(half.cached_before_bytes, Some(4 * 64 * MIB));
    let share = half.device_bytes.expect("known") as f64 / (8 * 64 * MIB) as f64;
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn a_second_pass_over_files_that_fit_is_read_from_the_cache() {
    let mut simulator = simulator(ModelSpec { cache_bytes: 1 << 40, ..ModelSpec::default() });
    simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
    let spec = streaming(phase(Op::Read, 8, 2, "0000-read"), |stream| stream.cache = CachePolicy::Drop);
    let result = simulator.run(&spec, None).expect("reads");
    assert!(bytes(&result) > 8 * 64 * MIB);
    assert_eq!(result.cache.expect("a read says").device_bytes, Some(8 * 64 * MIB));
}

#[test]
fn the_straggler_is_the_last_task_alone() {
    let model = ModelSpec { straggler: 5.0, ..ModelSpec::default() };
    let tasks = run(model, &phase(Op::Write, 4, 0, "0000-write")).tasks;
    assert!(tasks[3].transfer_ns > 3 * tasks[2].transfer_ns);
    assert!(tasks[2].transfer_ns < 2 * tasks[0].transfer_ns);
}

#[test]
fn warm_up_and_drift_change_the_speed_by_what_they_say() {
    let model = ModelSpec { warmup_ns: 2_000_000_000, ..ModelSpec::default() };
    assert!(near(rate(&run(model, &phase(Op::Write, 8, 4, "0000-write"))), 1.5e9, 0.01));
    let mut simulator = simulator(ModelSpec { drift: -0.5, ..ModelSpec::default() });
    simulator.add_time(60_000_000_000);
    let later = simulator.run(&phase(Op::Write, 8, 1, "0000-write"), None).expect("runs");
    assert!(near(rate(&later), 1e9, 0.02));
}

#[test]
fn a_fault_is_mended_by_another_attempt_where_the_stream_is_patient() {
    let faulty = ModelSpec { fault_every: 40, ..ModelSpec::default() };
    let mut spec = phase(Op::Write, 1, 0, "0000-write");
    let calm = run(ModelSpec::default(), &spec);
    let Work::Stream(stream) = &mut spec.work else { unreachable!("these phases are streams") };
    stream.retry_ns = Some(1_000_000_000);
    let result = run(faulty, &spec);
    let (task, calm) = (&result.tasks[0], &calm.tasks[0]);
    assert_eq!((task.errors, task.bytes), (0, calm.bytes));
    assert_eq!(task.retries, calm.operations / 40);
    assert_eq!(result.events.len() as u64, task.retries);
    assert_eq!((result.events[0].kind.as_str(), result.events[0].attempts), ("retry", Some(1)));
    assert!(task.transfer_ns >= calm.transfer_ns + task.retries * 10_000_000);
}

#[test]
fn a_fault_is_counted_with_its_offset_and_fails_the_phase() {
    let result = run(ModelSpec { fault_every: 40, ..ModelSpec::default() }, &phase(Op::Write, 1, 0, "0000-write"));
    let error = result.first_error.expect("the fortieth");
    assert_eq!((error.errno, error.offset, error.task), (5, 39 * MIB, 0));
    assert_eq!((result.stop_reason, result.tasks[0].errors, result.tasks[0].operations), (StopReason::Error, 1, 39));
}

#[test]
fn a_full_storage_refuses_new_bytes_but_not_old_ones() {
    let mut simulator = simulator(ModelSpec { full_after_bytes: Some(100 * MIB), ..ModelSpec::default() });
    let one = simulator.run(&phase(Op::Write, 1, 1, "0000-write"), None).expect("runs");
    assert_eq!(one.stop_reason, StopReason::Time, "writing the same 64 MiB again needs no space");
    let two = simulator.run(&phase(Op::Write, 2, 0, "0001-write"), None).expect("runs");
    assert_eq!(two.first_error.expect("no space").errno, 28);
    simulator.clear();
    assert_eq!(simulator.length(0), None);
    assert_eq!(simulator.run(&phase(Op::Write, 1, 0, "0002-write"), None).expect("runs").first_error, None);
    assert_eq!(simulator.length(0), Some(64 * MIB));
}

#[test]
fn a_read_of_what_was_not_written_says_how_much_is_missing() {
    let error = simulator(ModelSpec::default()).run(&phase(Op::Read, 1, 0, "0000-read"), None).expect_err("nothing there");
    assert!(error.to_string().contains("file 0 has 0 bytes and the read needs 67108864"), "{error}");
}

#[test]
fn series_heat_and_histograms_add_up_to_the_result() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        fs::create_dir(directory.path().join(name)).expect("made");
    }
    let files = PhaseFiles::create(directory.path(), "0000-write", false).expect("created");
    let spec = streaming(phase(Op::Write, 3, 2, "0000-write"), |stream| stream.durability = Durability::Fsync);
    let mut simulator = simulator(ModelSpec::default());
    simulator.add_time(5);
    let result = simulator.run(&spec, Some(files)).expect("runs");
    let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
    let series = read_table(&directory.path().join("series/0000-write.parquet")).expect("reads");
    let sum = |table: &[(String, Vec<i64>)], column: usize| table[column].1.iter().sum::<i64>() as u64;
    assert_eq!((sum(&series, 3), sum(&series, 4)), (bytes(&result), operations));
    assert_eq!(series[1].1.last().copied(), Some(elapsed_ns(&result) as i64));
    assert_eq!(series[0].1.len(), 3 * 21);
    let heat = read_table(&directory.path().join("heat/0000-write.parquet")).expect("reads");
    assert_eq!(sum(&heat, 4), operations);
    let histograms = read_histograms(&directory.path().join("latency/0000-write.hlog")).expect("reads");
    let counts: Vec<u64> = histograms.iter().map(|(_, values)| values.iter().map(|(_, count)| count).sum()).collect();
    assert_eq!(counts, result.tasks.iter().map(|task| task.operations).collect::<Vec<_>>());
}
