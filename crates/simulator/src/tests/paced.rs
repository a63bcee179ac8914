//! Mixes, paces, limits and sources of streams.

use tonnage_records::{PhaseFiles, StopReason, read_table};
use tonnage_workload::{Limit, Op, PhaseSpec, RateLimits, Source};

use super::{MIB, bytes, elapsed_ns, near, phase, rate, run, simulator, streaming};
use crate::ModelSpec;

/// Latency of a 1 MiB transfer below the knee of the default model: K − ½ tasks move 0.95 of 2 GB/s.
const SERVICE_NS: f64 = 7.5 / 0.95 * MIB as f64 / 2.0;

fn steady() -> ModelSpec {
    ModelSpec { jitter: 0.0, ..ModelSpec::default() }
}

fn paced(bytes_per_s: u64, seconds: u64) -> PhaseSpec {
    PhaseSpec {
        pace: RateLimits { bytes_per_s: Some(bytes_per_s), ..RateLimits::default() },
        ..phase(Op::Write, 8, seconds, "a")
    }
}

#[test]
fn at_half_the_plateau_the_pace_is_kept_and_latency_is_service() {
    let result = run(steady(), &paced(1_000_000_000, 5));
    assert!(near(rate(&result), 1e9, 0.002), "{}", rate(&result));
    // The latency of each single operation: nothing queues.
    assert!(near(result.latency.min_ns as f64, SERVICE_NS, 0.001), "{:?}", result.latency);
    assert!(near(result.latency.max_ns as f64, SERVICE_NS, 0.001), "{:?}", result.latency);
    assert_eq!(result.stop_reason, StopReason::Time);
}

#[test]
fn at_twice_the_plateau_latency_grows_linearly_from_the_intended_start() {
    let result = run(steady(), &paced(4_000_000_000, 4));
    assert!(near(rate(&result), 2e9, 0.01), "{}", rate(&result));
    // What ends after t seconds was due after t/2: at the end of 4 s that is 2 s late, on average 1 s.
    assert!(near(result.latency.max_ns as f64, 2e9, 0.01), "{:?}", result.latency);
    assert!(near(result.latency.mean_ns as f64, 1e9, 0.01), "{:?}", result.latency);
    assert!(near(result.latency.p50_ns as f64, 1e9, 0.01), "{:?}", result.latency);
}

#[test]
fn waiting_for_the_next_start_is_no_stall() {
    let pace = RateLimits { operations_per_s: Some(1), ..RateLimits::default() };
    let result = run(steady(), &PhaseSpec { pace, ..phase(Op::Write, 2, 30, "a") });
    assert_eq!(result.events, []);
    assert_eq!(result.tasks.iter().map(|task| task.operations).sum::<u64>(), 30);
}

#[test]
fn a_pause_after_each_operation_is_in_the_throughput_and_in_no_latency() {
    let pace = RateLimits { think_ns: 10_000_000, ..RateLimits::default() };
    let result = run(steady(), &PhaseSpec { pace, ..phase(Op::Write, 4, 5, "a") });
    let law = 4.0 * MIB as f64 * 1e9 / (SERVICE_NS + 1e7);
    assert!(near(rate(&result), law, 0.01), "{} against {law}", rate(&result));
    assert!(near(result.latency.mean_ns as f64, SERVICE_NS, 0.001), "{:?}", result.latency);
}

#[test]
fn a_mix_has_its_share_of_reads_and_each_kind_its_own_plateau() {
    let model = ModelSpec { read_plateau_bytes_per_s: Some(4_000_000_000), ..steady() };
    let mut simulator = simulator(model);
    simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
    let spec = streaming(phase(Op::Write, 8, 5, "0001-mixed"), |stream| stream.read_percent = Some(70));
    let result = simulator.run(&spec, None).expect("mixes");
    let [write, read] = result.parts.as_slice() else { panic!("{:?}", result.parts) };
    assert_eq!((write.op.as_str(), read.op.as_str()), ("write", "read"));
    assert_eq!(write.bytes + read.bytes, bytes(&result));
    assert_eq!((write.operations + read.operations, write.latency.count), (result.latency.count, write.operations));
    let share = read.operations as f64 / result.latency.count as f64;
    assert!((share - 0.7).abs() < 0.015, "{share}");
    let law = 1e9 / (share / 4.0 + (1.0 - share) / 2.0);
    assert!(near(rate(&result), law, 0.01), "{} against {law}", rate(&result));
    assert!(near(write.latency.mean_ns as f64 / read.latency.mean_ns as f64, 2.0, 0.002));
    assert_eq!(result.cache.expect("it reads").device_bytes, Some(read.bytes));
}

#[test]
fn a_verified_mix_begins_no_pass_before_the_one_before_has_ended_and_a_plain_one_does() {
    let pauses = RateLimits { think_ns: 100_000, ..RateLimits::default() };
    let rate = RateLimits { operations_per_s: Some(2000), ..RateLimits::default() };
    for pace in [RateLimits::default(), pauses, rate] {
        for verify in [true, false] {
            let mut simulator = simulator(ModelSpec { jitter: 0.5, ..ModelSpec::default() });
            simulator.run(&phase(Op::Write, 2, 0, "0000-write"), None).expect("writes");
            let spec = streaming(phase(Op::Write, 2, 0, "0001-mixed"), |stream| {
                (stream.read_percent, stream.verify, stream.queue_depth) = (Some(50), verify, 8);
            });
            let limit = Limit { wrap: true, operations: Some(3 * 64 + 5), ..Limit::default() };
            simulator.keep_visits();
            let result = simulator.run(&PhaseSpec { limit, pace, ..spec }, None).expect("mixes");
            assert_eq!(result.latency.count, 2 * (3 * 64 + 5));
            let mut visits = simulator.take_visits();
            visits.retain(|visit| visit.task == 1);
            for pass in [64, 128, 192] {
                let ended = visits[..pass].iter().map(|visit| visit.end_ns).max();
                let began = visits[pass..].iter().map(|visit| visit.begin_ns).min();
                assert_eq!(ended <= began, verify, "{pace:?}: {ended:?} and {began:?}");
            }
        }
    }
}

#[test]
fn who_waits_longest_for_the_end_of_a_pass_begins_the_next() {
    let pace = RateLimits { think_ns: 100_000, ..RateLimits::default() };
    let mut simulator = simulator(ModelSpec { jitter: 0.5, ..ModelSpec::default() });
    simulator.run(&phase(Op::Write, 1, 0, "0000-write"), None).expect("writes");
    let spec = streaming(phase(Op::Write, 1, 0, "0001-mixed"), |stream| {
        (stream.read_percent, stream.verify, stream.queue_depth) = (Some(50), true, 2);
        stream.geometry.block_size = 2 * MIB;
    });
    let limit = Limit { wrap: true, operations: Some(100), ..Limit::default() };
    simulator.keep_visits();
    simulator.run(&PhaseSpec { limit, pace, ..spec }, None).expect("mixes");
    let offsets: Vec<u64> = simulator.take_visits().iter().map(|visit| visit.offset).collect();
    assert_eq!(offsets, [0, MIB].repeat(50));
}

#[test]
fn a_mix_needs_the_files_that_it_reads() {
    let spec = streaming(phase(Op::Write, 1, 5, "0001-mixed"), |stream| stream.read_percent = Some(70));
    assert!(simulator(steady()).run(&spec, None).is_err());
}

#[test]
fn wearing_out_ends_when_all_have_done_what_the_fastest_had_when_time_was_up() {
    let limit = Limit { time_ns: Some(100_000_000), wear_out: true, ..Limit::default() };
    let model = ModelSpec { straggler: 3.0, ..steady() };
    let result = run(model, &PhaseSpec { limit, ..phase(Op::Write, 4, 0, "a") });
    let walls: Vec<u64> = result.tasks.iter().map(|task| task.stonewall_operations.expect("it wore out")).collect();
    assert!(walls[3] < walls[0], "{walls:?}");
    assert!(result.tasks.iter().all(|task| task.operations == walls[0]), "{walls:?}");
    assert!(elapsed_ns(&result) > 290_000_000);
    assert_eq!(result.stop_reason, StopReason::Time);
}

#[test]
fn a_least_time_repeats_whole_passes_and_a_count_ends_one() {
    let once = elapsed_ns(&run(steady(), &phase(Op::Write, 1, 0, "a")));
    let least = Limit { min_time_ns: once * 5 / 2, ..Limit::default() };
    let result = run(steady(), &PhaseSpec { limit: least, ..phase(Op::Write, 1, 0, "a") });
    assert_eq!((bytes(&result), result.stop_reason), (3 * 64 * MIB, StopReason::Size));
    assert!(result.tasks[0].wrapped);
    let few = Limit { operations: Some(10), ..Limit::default() };
    assert_eq!(bytes(&run(steady(), &PhaseSpec { limit: few, ..phase(Op::Write, 3, 0, "a") })), 30 * MIB);
}

#[test]
fn the_data_of_another_task_on_this_host_is_in_the_same_cache() {
    let mut simulator = simulator(ModelSpec { cache_bytes: 1 << 40, ..steady() });
    simulator.run(&phase(Op::Write, 4, 0, "0000-write"), None).expect("writes");
    for source in [Source::Shift { tasks: 1 }, Source::Random { seed: 5 }] {
        let spec = streaming(phase(Op::Read, 4, 0, "0001-read"), |stream| stream.source = source);
        let result = simulator.run(&spec, None).expect("reads");
        assert_eq!(result.cache.expect("it reads").device_bytes, Some(0));
    }
}

#[test]
fn a_task_reads_the_file_of_its_source_and_no_other() {
    let mut simulator = simulator(steady());
    simulator.run(&phase(Op::Write, 2, 0, "0000-write"), None).expect("files 0 and 1");
    let read = |source| streaming(phase(Op::Read, 3, 0, "0001-read"), |stream| stream.source = source);
    let here = |spec: PhaseSpec| PhaseSpec { tasks: tonnage_workload::TaskRange { first: 1, here: 2, total: 3 }, ..spec };
    assert!(simulator.run(&here(read(Source::Own)), None).is_err(), "file 2 is not there");
    let result = simulator.run(&here(read(Source::Shift { tasks: 2 })), None).expect("files 0 and 1 are");
    assert_eq!(bytes(&result), 2 * 64 * MIB);
}

#[test]
fn memory_that_is_held_is_missing_from_the_cache() {
    let mut simulator = simulator(ModelSpec { cache_bytes: 8 * 64 * MIB, ..steady() });
    simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
    let spec = PhaseSpec { hog_bytes: 6 * 64 * MIB, ..phase(Op::Read, 8, 0, "0001-read") };
    let cache = simulator.run(&spec, None).expect("reads").cache.expect("it reads");
    assert_eq!(cache.cached_before_bytes, Some(2 * 64 * MIB));
}

#[test]
fn space_that_is_reserved_is_refused_before_the_first_write() {
    let model = ModelSpec { full_after_bytes: Some(100 * MIB), ..steady() };
    let spec = streaming(phase(Op::Write, 2, 0, "a"), |stream| stream.preallocate = true);
    let result = run(model, &spec);
    let error = result.first_error.expect("no space for the second file");
    assert_eq!((error.errno, error.task, error.message.split(':').next()), (28, 1, Some("preallocate failed")));
    assert_eq!((result.latency.count, result.facts["preallocated"]), (0, true));
}

#[test]
fn the_first_operations_are_kept_one_by_one_where_that_is_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency", "operations"] {
        std::fs::create_dir(directory.path().join(name)).expect("made");
    }
    let mut files = PhaseFiles::create(directory.path(), "a", false).expect("created");
    files.keep_operations(directory.path(), "a").expect("kept");
    let spec = PhaseSpec { operation_log: 5, ..phase(Op::Write, 2, 0, "a") };
    simulator(steady()).run(&spec, Some(files)).expect("runs");
    let table = read_table(&directory.path().join("operations/a.parquet")).expect("reads");
    assert_eq!(table[0].1, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    let service = SERVICE_NS.round() as i64;
    assert_eq!(table[1].1[..5], [1, 2, 3, 4, 5].map(|number| number * service));
    assert_eq!(table[2].1, [service; 10]);
}

#[test]
fn damage_is_counted_in_full_named_sixteen_times_and_fails_no_phase() {
    let mut simulator = simulator(ModelSpec { damage_every: 10, ..steady() });
    simulator.run(&phase(Op::Write, 8, 0, "0000-write"), None).expect("writes");
    let spec = streaming(phase(Op::Read, 8, 0, "0001-read"), |stream| stream.verify = true);
    let result = simulator.run(&spec, None).expect("reads");
    let verify = result.verify.expect("it verifies");
    assert_eq!((verify.checked_bytes, verify.damaged_operations, verify.first_damage.len()), (512 * MIB, 51, 16));
    assert_eq!((result.first_error, result.stop_reason), (None, StopReason::Size));
    let found: u64 = result.tasks.iter().map(|task| task.damaged_operations).sum();
    assert_eq!(found, 51);
    let first = &verify.first_damage[0];
    assert_eq!((first.task, first.file, first.offset), (1, 1, MIB), "the tenth of eight files read side by side");
}

#[test]
fn who_waits_for_its_turn_when_an_operation_fails_ends_there() {
    let full = ModelSpec { full_after_bytes: Some(5 * MIB), ..steady() };
    let at_rate = RateLimits { operations_per_s: Some(1), ..RateLimits::default() };
    let thinking = RateLimits { think_ns: 20_000_000_000, ..RateLimits::default() };
    for (pace, depth) in [(at_rate, 1), (at_rate, 4), (thinking, 1), (thinking, 2)] {
        let spec = streaming(PhaseSpec { pace, ..phase(Op::Write, 3, 0, "a") }, |stream| stream.queue_depth = depth);
        let result = run(full.clone(), &spec);
        assert_eq!(result.stop_reason, StopReason::Error);
        let failed = result.first_error.as_ref().expect("it is full").task;
        let end_ns = result.tasks.iter().find(|task| task.task == failed).expect("a task").end_ns;
        // Those that have an operation in flight end it; nobody waits for the next.
        let most_ns = end_ns + 2 * result.latency.max_ns.max(1_000_000);
        assert!(result.tasks.iter().all(|task| (end_ns..most_ns).contains(&task.end_ns)), "{pace:?}: {:?}", result.tasks);
    }
}
