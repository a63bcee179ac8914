//! A writer and the readers that follow it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{on_disk, run};
use tonnage_engine::Phase;
use tonnage_records::{PhaseFiles, PhaseResult, Role, StopReason, read_histograms};
use tonnage_storage::{Storage, StorageKind, TargetSpec, open};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{Durability, Limit, Op, PhaseSpec, RateLimits, ReadShare, Tail, TaskRange, Waiting, Work};

const TRANSFER: u64 = 16 << 10;
const MS: u64 = 1_000_000;

/// A writer of `transfers`, and `readers` that look each millisecond and check what they read.
fn tail(transfers: u64, readers: u32, change: impl FnOnce(&mut Tail)) -> PhaseSpec {
    let mut tail = Tail {
        transfer_size: TRANSFER,
        file_bytes: transfers * TRANSFER,
        follow: ReadShare::Whole,
        waiting: Waiting::Poll,
        poll_ns: MS,
        grace_ns: 60_000 * MS,
        durability: Durability::None,
        verify: true,
    };
    change(&mut tail);
    PhaseSpec {
        record: "0000-tail".to_owned(),
        tasks: TaskRange { first: 0, here: 1 + readers, total: 1 + readers },
        tasks_per_node: None,
        limit: Limit::default(),
        pace: RateLimits::default(),
        hog_bytes: 0,
        operation_log: 0,
        seed: 5,
        interval_ns: 10 * MS,
        work: Work::Tail(tail),
    }
}

fn paced(spec: PhaseSpec, operations_per_s: u64) -> PhaseSpec {
    PhaseSpec { pace: RateLimits { operations_per_s: Some(operations_per_s), ..RateLimits::default() }, ..spec }
}

fn in_memory() -> Arc<dyn Storage> {
    open(&TargetSpec::new(StorageKind::Memory)).expect("memory")
}

fn with(fault: Fault) -> Arc<dyn Storage> {
    Arc::new(Faulty::storage(in_memory(), vec![fault]))
}

fn assert_all_was_read(result: &PhaseResult, transfers: u64, readers: u64, copies: u64) {
    assert_eq!((result.stop_reason, &result.first_error), (StopReason::Size, &None));
    let follow = result.follow.as_ref().expect("readers followed");
    let bytes = transfers * TRANSFER;
    assert_eq!((u64::from(follow.readers), follow.bytes), (readers, copies * bytes));
    assert_eq!(follow.lag.count, copies * transfers, "a lag for each transfer that was read");
    let verify = result.verify.as_ref().expect("verified");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (copies * bytes, 0));
    assert_eq!(result.latency.count, transfers, "only the writer's latencies are the phase's");
    for task in &result.tasks {
        assert_eq!(task.role, if task.task == 0 { Role::Work } else { Role::Follow });
        assert_eq!(task.max_lag_ns.is_some(), task.task > 0);
        assert!(task.max_lag_bytes.is_none_or(|behind| behind <= bytes));
    }
}

#[test]
fn readers_read_all_that_is_written_each_the_whole_or_its_share() {
    for kind in [StorageKind::Posix, StorageKind::Uring] {
        for (follow, readers, copies) in [(ReadShare::Whole, 3, 3), (ReadShare::Share, 3, 1), (ReadShare::Share, 8, 1)] {
            let (_parent, scratch, storage) = on_disk(kind);
            let result = run(&storage, tail(100, readers, |tail| tail.follow = follow), None);
            assert_all_was_read(&result, 100, u64::from(readers), copies);
            assert!(!result.facts["readers_past_cache"]);
            scratch.remove().expect("only its own file is there");
        }
    }
    assert_all_was_read(&run(&in_memory(), tail(500, 2, |_| {}), None), 500, 2, 2);
}

#[test]
fn without_readers_it_is_a_writer_alone() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let result = run(&storage, tail(50, 0, |tail| tail.durability = Durability::FsyncEach), None);
    assert_eq!((result.stop_reason, result.latency.count), (StopReason::Size, 50));
    assert_eq!(result.follow, None);
}

#[test]
fn histograms_tell_work_following_and_lag_apart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        std::fs::create_dir(directory.path().join(name)).expect("a directory");
    }
    let files = PhaseFiles::create(directory.path(), "0000-tail", false).expect("files");
    run(&in_memory(), tail(100, 2, |tail| tail.follow = ReadShare::Share), Some(files));
    let histograms = read_histograms(&directory.path().join("latency/0000-tail.hlog")).expect("histograms");
    let counts: Vec<(&str, u64)> =
        histograms.iter().map(|(tag, pairs)| (tag.as_str(), pairs.iter().map(|(_, n)| n).sum())).collect();
    let mut sorted = counts.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [("follow-1", 50), ("follow-2", 50), ("lag-1", 50), ("lag-2", 50), ("task-0", 100)]);
}

#[test]
fn a_writer_that_stalls_is_one_event_and_waiting_readers_are_none() {
    let (_parent, _scratch, disk) = on_disk(StorageKind::Posix);
    let fault = Fault::DelayEvery { op: Op::Write, nth: 60, delay: Duration::from_millis(1500) };
    let storage: Arc<dyn Storage> = Arc::new(Faulty::storage(disk, vec![fault]));
    let result = run(&storage, tail(100, 2, |_| {}), None);
    assert_all_was_read(&result, 100, 2, 2);
    let [stall] = result.events.as_slice() else { panic!("one stall, not {:?}", result.events) };
    assert_eq!((stall.kind.as_str(), stall.task), ("stall", Some(0)));
    let duration = stall.duration_ns.expect("a duration") / MS;
    assert!((1450..2000).contains(&duration), "{duration} ms");
    let follow = result.follow.expect("readers followed");
    assert!(follow.waits > 500, "readers looked each millisecond: {}", follow.waits);
}

#[test]
fn a_reader_that_hangs_with_something_to_read_is_a_stall() {
    let result =
        run(&with(Fault::DelayEvery { op: Op::Read, nth: 30, delay: Duration::from_millis(1300) }), tail(50, 1, |_| {}), None);
    let [stall] = result.events.as_slice() else { panic!("one stall, not {:?}", result.events) };
    assert_eq!((stall.kind.as_str(), stall.task), ("stall", Some(1)));
}

#[test]
fn the_lag_of_a_slow_reader_is_what_arithmetic_says() {
    // 200 transfers are written in 1 s and read in 2 s: half are unread at the writer's end, and the last is 1 s late.
    let fault = Fault::DelayEvery { op: Op::Read, nth: 1, delay: Duration::from_millis(10) };
    let result = run(&with(fault), paced(tail(200, 1, |_| {}), 200), None);
    assert_all_was_read(&result, 200, 1, 1);
    let follow = result.follow.expect("a reader followed");
    let (behind, late) = (follow.max_lag_bytes / TRANSFER, follow.lag.max_ns / MS);
    let [writer, reader] = result.tasks.as_slice() else { panic!("two tasks") };
    // Held against what the two took here, since a busy machine makes both slower.
    let after = (reader.end_ns - writer.end_ns) / MS;
    assert!(late > 900 && late.abs_diff(after) <= 200 + after / 10, "{late} ms late, and read on for {after} ms");
    let read = (writer.end_ns - writer.start_ns) / MS / 10;
    assert!(behind + read + 2 >= 200 && behind * 10 <= after + 200, "{behind} transfers behind after at most {read} reads");
    assert!(follow.lag.p50_ns > 300 * MS, "{} ms late usually", follow.lag.p50_ns / MS);
    assert_eq!(result.tasks[1].max_lag_bytes, Some(follow.max_lag_bytes));
}

#[test]
fn a_writer_keeps_its_pace_and_does_not_stall_by_it() {
    let began = Instant::now();
    let result = run(&in_memory(), paced(tail(4, 1, |tail| tail.poll_ns = 20 * MS), 2), None);
    assert!(began.elapsed() >= Duration::from_millis(1490), "the fourth starts after 1.5 s");
    assert_all_was_read(&result, 4, 1, 1);
    assert!(result.events.is_empty(), "{:?}", result.events);
    assert!(result.latency.max_ns < 400 * MS, "waiting for the pace is no latency");
}

#[test]
fn a_notified_reader_is_woken_by_each_write() {
    for kind in [StorageKind::Posix, StorageKind::Uring] {
        let (_parent, _scratch, storage) = on_disk(kind);
        let notified = |tail: &mut Tail| (tail.waiting, tail.poll_ns) = (Waiting::Notify, 3_600_000 * MS);
        let result = run(&storage, paced(tail(40, 2, notified), 100), None);
        assert_all_was_read(&result, 40, 2, 2);
        let follow = result.follow.expect("readers followed");
        assert!(follow.waits > 10, "{} waits", follow.waits);
        assert!(follow.lag.p50_ns < 100 * MS, "looking each second would be ten times later: {}", follow.lag.p50_ns);
        assert!(result.notes.is_empty());
    }
    let result = run(&in_memory(), tail(40, 1, |tail| tail.waiting = Waiting::Notify), None);
    assert_all_was_read(&result, 40, 1, 1);
    assert_eq!(result.notes[0].code, "no-notify");
    assert!(result.notes[0].message.contains("every 1 ms instead"), "{}", result.notes[0].message);
}

#[test]
fn a_reader_that_cannot_keep_up_is_an_error_that_says_how_far_it_is_behind() {
    let fault = Fault::DelayEvery { op: Op::Read, nth: 1, delay: Duration::from_millis(30) };
    let result = run(&with(fault), tail(100, 2, |tail| tail.grace_ns = 200 * MS), None);
    assert_eq!(result.stop_reason, StopReason::Error);
    let error = result.first_error.expect("kept");
    assert!(error.task > 0);
    let start = format!("reader {} is still ", error.task);
    assert!(
        error.message.starts_with(&start) && error.message.ends_with(" bytes behind 0.2 s after the writer's end"),
        "{error:?}"
    );
}

#[test]
fn damage_that_a_reader_meets_is_counted() {
    let result = run(&with(Fault::FlipEvery { nth: 10 }), tail(100, 1, |tail| tail.poll_ns = 20 * MS), None);
    let verify = result.verify.expect("verified");
    assert!((8..=10).contains(&verify.damaged_operations), "each tenth read, of which some found nothing: {verify:?}");
    assert_eq!(verify.first_damage[0].task, 1);
}

#[test]
fn the_time_limit_ends_the_writer_and_readers_still_read_what_it_wrote() {
    let spec = paced(tail(1000, 2, |tail| tail.poll_ns = 50 * MS), 100);
    let result = run(&in_memory(), PhaseSpec { limit: Limit { time_ns: Some(300 * MS), ..Limit::default() }, ..spec }, None);
    assert_eq!((result.stop_reason, &result.first_error), (StopReason::Time, &None));
    let written = result.tasks[0].bytes;
    assert!((20 * TRANSFER..32 * TRANSFER).contains(&written), "{written} bytes in 300 ms");
    assert!(result.tasks[1..].iter().all(|task| task.bytes == written));
}

#[test]
fn a_stop_ends_writer_and_waiting_readers_at_once() {
    let spec = paced(tail(1000, 2, |tail| tail.poll_ns = 3_600_000 * MS), 1);
    let mut phase = Phase::prepare(in_memory(), spec, None).expect("prepared");
    phase.go();
    while phase.live().operations == 0 {
        std::thread::yield_now();
    }
    let asked = Instant::now();
    phase.stop();
    assert!(phase.wait(Duration::from_secs(30)) && asked.elapsed() < Duration::from_secs(5));
    assert_eq!(phase.take_result().expect("a result").expect("it ran").stop_reason, StopReason::Interrupted);
}

#[test]
fn live_figures_are_the_writers() {
    let mut phase = Phase::prepare(in_memory(), tail(100, 4, |_| {}), None).expect("prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(60)));
    let live = phase.live();
    assert_eq!(live.bytes, 100 * TRANSFER);
    assert_eq!(live.heat.iter().map(|[_, _, count]| count).sum::<u64>(), 100);
    assert!(live.heat.iter().all(|[low, high, count]| low < high && *count > 0));
}

#[test]
fn a_file_that_has_its_length_already_is_refused() {
    let storage = in_memory();
    run(&storage, tail(10, 1, |_| {}), None);
    let again = Phase::prepare(Arc::clone(&storage), tail(10, 1, |_| {}), None).err().expect("refused");
    assert!(again.to_string().starts_with("readers would find 163840 bytes before the first is written"), "{again}");
    let (_parent, _scratch, mapped) = on_disk(StorageKind::Mmap);
    let result = run(&mapped, tail(10, 1, |_| {}), None);
    assert!(result.first_error.expect("kept").message.ends_with("use posix or uring"));
    let endless = PhaseSpec { limit: Limit { time_ns: Some(MS), wrap: true, ..Limit::default() }, ..tail(10, 1, |_| {}) };
    let error = Phase::prepare(in_memory(), endless, None).err().expect("refused");
    assert_eq!(error.to_string(), "the writer of a tail never begins again; leave limit.wrap out");
}
