//! A writer and its readers, against the laws of the model.

use tonnage_records::{PhaseFiles, PhaseResult, Role, StopReason, read_histograms, read_table};
use tonnage_workload::{Durability, Limit, PhaseSpec, RateLimits, ReadShare, Tail, Waiting, Work};

use super::{MIB, near, run, simulator, working};
use crate::ModelSpec;

const POLL_NS: u64 = 100_000_000;
const FILE_BYTES: u64 = 10_000 * MIB;

/// One task is enough for the plateau of 2 GB/s, and readers read at 10 GB/s.
fn model() -> ModelSpec {
    ModelSpec { knee: Some(1), jitter: 0.0, cache_bytes: 1 << 40, ..ModelSpec::default() }
}

fn tail(readers: u32, follow: ReadShare, waiting: Waiting) -> PhaseSpec {
    let tail = Tail {
        transfer_size: MIB,
        file_bytes: FILE_BYTES,
        follow,
        waiting,
        poll_ns: POLL_NS,
        durability: Durability::None,
        grace_ns: 60_000_000_000,
        verify: false,
    };
    working(Work::Tail(tail), readers + 1)
}

fn whole(readers: u32) -> PhaseSpec {
    tail(readers, ReadShare::Whole, Waiting::Poll)
}

fn write_rate(result: &PhaseResult) -> f64 {
    let writer = &result.tasks[0];
    writer.bytes as f64 * 1e9 / (writer.end_ns - writer.start_ns) as f64
}

#[test]
fn each_reader_takes_its_share_of_the_writers_speed() {
    for readers in [0, 1, 8] {
        let result = run(ModelSpec { reader_cost: 0.05, ..model() }, &whole(readers));
        let law = 2e9 * 0.95_f64.powi(readers as i32);
        assert!(near(write_rate(&result), law, 0.001), "{readers}: {} against {law}", write_rate(&result));
    }
}

#[test]
fn a_polling_reader_is_half_a_poll_behind_and_at_most_a_poll_of_bytes() {
    // Waiting T and reading five times as fast as the writer writes, a transfer written t into a cycle is read
    // 0.8·t earlier than T later, in a cycle of 1.25·T: on average T/2, plus the time of its own read.
    let follow = run(model(), &whole(1)).follow.expect("it has a reader");
    let read_ns = MIB as f64 / 10.0;
    assert!(near(follow.lag.mean_ns as f64, POLL_NS as f64 / 2.0 + read_ns, 0.02), "{:?}", follow.lag);
    assert!(near(follow.lag.max_ns as f64, POLL_NS as f64 + read_ns, 0.02), "{:?}", follow.lag);
    assert!(near(follow.max_lag_bytes as f64, 2e9 * 0.1, 0.02), "{}", follow.max_lag_bytes);
    assert_eq!((follow.readers, follow.bytes), (1, FILE_BYTES));
    assert_eq!(follow.device_bytes, Some(0));
    assert!((40..=45).contains(&follow.waits), "a wait in each cycle of 125 ms of 5.2 s: {}", follow.waits);
}

#[test]
fn a_notified_reader_is_behind_by_the_time_of_one_read() {
    let follow = run(model(), &tail(1, ReadShare::Whole, Waiting::Notify)).follow.expect("it has a reader");
    let read_ns = MIB as f64 / 10.0;
    assert!(near(follow.lag.max_ns as f64, read_ns, 0.002), "{:?}", follow.lag);
    assert_eq!(follow.max_lag_bytes, MIB);
}

#[test]
fn readers_read_all_of_the_file_or_share_it() {
    let each = |follow| {
        let result = run(model(), &tail(4, follow, Waiting::Poll));
        assert!(result.tasks.iter().skip(1).all(|task| task.role == Role::Follow));
        assert_eq!((result.tasks[0].role, result.tasks[0].bytes), (Role::Work, FILE_BYTES));
        assert_eq!(result.latency.count, FILE_BYTES / MIB, "readers are in no total");
        result.tasks.iter().skip(1).map(|task| task.bytes).collect::<Vec<u64>>()
    };
    assert_eq!(each(ReadShare::Whole), [FILE_BYTES; 4]);
    assert_eq!(each(ReadShare::Share), [FILE_BYTES / 4; 4]);
}

#[test]
fn a_lock_stalls_the_writer_for_its_length_and_only_the_tail_of_the_latency_shows_it() {
    let model = ModelSpec { lock_every_ns: 10_000_000_000, lock_ns: 30_000_000_000, ..model() };
    let pace = RateLimits { bytes_per_s: Some(100 * MIB), ..RateLimits::default() };
    let result = run(model.clone(), &PhaseSpec { pace, ..whole(1) });
    let write_ns = (MIB as f64 / 2.0) as u64;
    let stalls: Vec<_> = result.events.iter().filter(|event| event.task == Some(0)).collect();
    assert!(stalls.len() >= 2, "{:?}", result.events);
    let lengths: Vec<u64> = stalls.iter().filter_map(|event| event.duration_ns).collect();
    // A lock meets a write in flight, or, between two, what is left of it meets the next.
    assert!(lengths.iter().all(|&ns| (30_000_000_000 - 10_000_000..=30_000_000_000 + write_ns).contains(&ns)), "{lengths:?}");
    assert!(result.events.iter().all(|event| event.kind == "stall" && event.task == Some(0)), "readers only wait");
    let calm = run(ModelSpec { lock_every_ns: 0, ..model }, &PhaseSpec { pace, ..whole(1) });
    assert_eq!(calm.events, []);
    assert!(near(result.latency.max_ns as f64, 30e9, 0.01), "{:?}", result.latency);
    assert!(calm.latency.max_ns < 1_000_000, "{:?}", calm.latency);
}

#[test]
fn a_stall_of_a_writer_at_full_speed_is_an_event_of_its_exact_length() {
    let model = ModelSpec { lock_every_ns: 4_000_000_000, lock_ns: 30_000_000_000, ..model() };
    let result = run(model, &whole(2));
    assert!(!result.events.is_empty());
    let write_ns = (MIB as f64 / 2.0).round() as u64;
    assert!(result.events.iter().all(|event| event.duration_ns == Some(30_000_000_000 + write_ns)), "{:?}", result.events);
    // Less than one write in a thousand: the median, and the 99th percentile, know nothing of it.
    assert!(result.latency.p99_ns < 1_000_000 && result.latency.max_ns > 29_000_000_000, "{:?}", result.latency);
}

#[test]
fn more_readers_take_the_lock_more_often() {
    let model = ModelSpec { lock_every_ns: 2_000_000_000, lock_ns: 2_000_000_000, ..model() };
    let stalls =
        |readers| (0..8).map(|seed| run(ModelSpec { seed, ..model.clone() }, &whole(readers)).events.len()).sum::<usize>();
    let (one, eight) = (stalls(1), stalls(8));
    // Eight files of 5.24 s of writing: 21 conflicts with one reader, eight times as many with eight.
    assert!((10..=33).contains(&one), "{one}");
    assert!((135..=200).contains(&eight), "{eight}");
}

#[test]
fn when_the_time_is_up_the_writer_ends_and_readers_read_what_there_is() {
    let limit = Limit { time_ns: Some(1_000_000_000), ..Limit::default() };
    let result = run(model(), &PhaseSpec { limit, ..whole(3) });
    assert_eq!(result.stop_reason, StopReason::Time);
    assert!(near(result.tasks[0].bytes as f64, 2e9, 0.01));
    assert!(result.tasks.iter().all(|task| task.bytes == result.tasks[0].bytes));
    assert!(result.tasks[1].end_ns > result.tasks[0].end_ns);
}

#[test]
fn a_reader_without_a_cache_reads_from_the_device() {
    let slow = ModelSpec { cache_bytes: 0, read_plateau_bytes_per_s: Some(500_000_000), ..model() };
    let result = run(slow, &whole(1));
    let reader = &result.tasks[1];
    assert!(near(reader.latency.mean_ns as f64, MIB as f64 * 2.0, 0.001), "{:?}", reader.latency);
    let follow = result.follow.as_ref().expect("it has a reader");
    assert_eq!(follow.device_bytes, Some(FILE_BYTES));
    assert_eq!((reader.max_lag_bytes, reader.max_lag_ns), (Some(follow.max_lag_bytes), Some(follow.lag.max_ns)));
    let behind = follow.max_lag_bytes as f64;
    assert!(near(behind, FILE_BYTES as f64 * 0.75, 0.03), "it falls behind by three of four bytes: {behind}");
}

#[test]
fn damage_is_found_by_readers_that_look_and_a_full_storage_ends_the_phase() {
    let mut spec = whole(2);
    let Work::Tail(tail) = &mut spec.work else { unreachable!("it is a tail") };
    tail.verify = true;
    let verify = run(ModelSpec { damage_every: 1000, ..model() }, &spec).verify.expect("it verifies");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (2 * FILE_BYTES, 20));
    let result = run(ModelSpec { full_after_bytes: Some(100 * MIB), ..model() }, &whole(2));
    let error = result.first_error.expect("it is full");
    assert_eq!((error.errno, error.offset, result.stop_reason), (28, 100 * MIB, StopReason::Error));
}

#[test]
fn the_same_seed_gives_the_same_tail() {
    let model = ModelSpec { lock_every_ns: 2_000_000_000, lock_ns: 1_500_000_000, jitter: 0.2, ..model() };
    assert_eq!(run(model.clone(), &whole(3)), run(model.clone(), &whole(3)));
    assert_ne!(run(model.clone(), &whole(3)), run(ModelSpec { seed: 9, ..model.clone() }, &whole(3)));
    let mut simulator = simulator(model);
    simulator.run(&whole(3), None).expect("runs");
    assert_eq!(simulator.length(0), Some(FILE_BYTES));
    let error = simulator.run(&whole(3), None).expect_err("it is there already").to_string();
    assert!(error.contains("a tail starts on a fresh file"), "{error}");
}

#[test]
fn readers_have_histograms_of_their_own_and_are_not_in_the_heat() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        std::fs::create_dir(directory.path().join(name)).expect("made");
    }
    let files = PhaseFiles::create(directory.path(), "0000-work", false).expect("created");
    simulator(model()).run(&whole(2), Some(files)).expect("runs");
    let histograms = read_histograms(&directory.path().join("latency/0000-work.hlog")).expect("reads");
    let tags: Vec<&str> = histograms.iter().map(|(tag, _)| tag.as_str()).collect();
    assert_eq!(tags, ["task-0", "follow-1", "lag-1", "follow-2", "lag-2"]);
    let heat = read_table(&directory.path().join("heat/0000-work.parquet")).expect("reads");
    assert_eq!(heat[4].1.iter().sum::<i64>() as u64, FILE_BYTES / MIB);
}
