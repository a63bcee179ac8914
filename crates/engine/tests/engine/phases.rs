//! Whole phases on real storages, as the front runs them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{MIB, on_disk, run, spec, streaming};
use tonnage_engine::{EngineError, Phase};
use tonnage_records::{PhaseFiles, StopReason, read_histograms, read_table};
use tonnage_storage::{StorageError, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, Durability, Geometry, Layout, Limit, Op, PhaseSpec, SpecError};

fn run_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        std::fs::create_dir(directory.path().join(name)).expect("a directory");
    }
    directory
}

fn sum(path: &Path, column: &str) -> i64 {
    let columns = read_table(path).expect("the table is readable");
    columns.iter().find(|(name, _)| name == column).map(|(_, values)| values.iter().sum()).expect("the column is there")
}

#[test]
fn what_is_written_reads_back_verified_in_every_order_and_layout() {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Mmap] {
        for layout in [Layout::FilePerTask, Layout::Shared] {
            for (access, depth) in [(Access::Random, 1), (Access::Strided, 8), (Access::Sequential, 3)] {
                let (_parent, scratch, storage) = on_disk(kind);
                let mut write = spec(Op::Write, 3);
                let geometry = |old: &Geometry| Geometry { layout, access, segments: 2, ..old.clone() };
                write = streaming(write, |stream| {
                    stream.geometry = geometry(&stream.geometry);
                    stream.queue_depth = depth;
                });
                let written = run(&storage, write.clone(), None);
                assert_eq!(written.stop_reason, StopReason::Size);
                assert_eq!(written.tasks.iter().map(|task| task.bytes).sum::<u64>(), 3 * 8 * MIB);
                let read = streaming(write, |stream| {
                    stream.op = Op::Read;
                    stream.verify = true;
                });
                let result = run(&storage, read, None);
                let verify = result.verify.expect("verified");
                assert_eq!((verify.checked_bytes, verify.damaged_operations), (3 * 8 * MIB, 0), "{kind:?} {layout:?} {access:?}");
                assert_eq!(result.latency.count, 3 * 128);
                scratch.remove().expect("nothing foreign in the scratch directory");
            }
        }
    }
}

#[test]
fn every_damaged_transfer_is_counted_and_the_first_places_are_named() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, spec(Op::Write, 1), None);
    let path = scratch.path().join("data.00000000");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the data file");
    for transfer in 0..40 {
        std::os::unix::fs::FileExt::write_all_at(&file, b"rot", transfer * (64 << 10) + 100).expect("a damaged byte");
    }
    let result = run(&storage, streaming(spec(Op::Read, 1), |stream| stream.verify = true), None);
    let verify = result.verify.expect("verified");
    assert_eq!(verify.damaged_operations, 40);
    assert_eq!(verify.first_damage.len(), 16);
    assert_eq!(verify.first_damage[3].offset, 3 * (64 << 10));
    assert_eq!(result.tasks[0].damaged_operations, 40);
}

#[test]
fn series_heat_and_histograms_hold_every_operation() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let directory = run_directory();
    let files = PhaseFiles::create(directory.path(), "0000-test", false).expect("files");
    let result = run(&storage, spec(Op::Write, 4), Some(files));
    let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
    let series = directory.path().join("series/0000-test.parquet");
    assert_eq!(sum(&series, "operations"), operations as i64);
    assert_eq!(sum(&series, "bytes"), 16 * MIB as i64);
    assert_eq!(sum(&directory.path().join("heat/0000-test.parquet"), "count"), operations as i64);
    let histograms = read_histograms(&directory.path().join("latency/0000-test.hlog")).expect("histograms");
    assert_eq!(histograms.len(), 4);
    assert_eq!(histograms.iter().flat_map(|(_, buckets)| buckets).map(|(_, count)| count).sum::<u64>(), operations);
}

#[test]
fn the_series_of_a_phase_shorter_than_an_interval_has_its_rate() {
    let directory = run_directory();
    let storage = open(&TargetSpec::new(StorageKind::Null)).expect("null");
    let files = PhaseFiles::create(directory.path(), "0000-test", false).expect("files");
    let result = run(&storage, PhaseSpec { interval_ns: 60_000_000_000, ..spec(Op::Write, 3) }, Some(files));
    let columns = read_table(&directory.path().join("series/0000-test.parquet")).expect("a table");
    let column = |name: &str| &columns.iter().find(|(known, _)| known == name).expect("a column").1;
    assert_eq!(column("task"), &[0, 1, 2], "one interval");
    let first = result.tasks.iter().map(|task| task.start_ns).min().expect("tasks");
    let last = result.tasks.iter().map(|task| task.end_ns).max().expect("tasks");
    let lasted: Vec<_> = column("end_ns").iter().zip(column("start_ns")).map(|(end, start)| end - start).collect();
    assert_eq!(lasted, [(last - first) as i64; 3], "what the start and the end took to notice is in no interval");
}

#[test]
fn a_time_limit_ends_a_wrapping_phase_and_says_that_it_wrapped() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let limit = Limit { time_ns: Some(200_000_000), wrap: true, ..Limit::default() };
    let result = run(&storage, PhaseSpec { limit, ..spec(Op::Write, 2) }, None);
    assert_eq!(result.stop_reason, StopReason::Time);
    for task in &result.tasks {
        assert!(task.wrapped, "200 ms are many passes over 4 MiB");
        let elapsed = task.end_ns - task.start_ns;
        assert!((200_000_000..2_000_000_000).contains(&elapsed), "{elapsed} ns");
        assert_eq!(task.bytes, task.operations * (64 << 10));
    }
}

#[test]
fn stop_ends_a_phase_without_limit_promptly_and_is_told_apart() {
    let storage = open(&TargetSpec::new(StorageKind::Null)).expect("null");
    let limit = Limit { time_ns: Some(3_600_000_000_000), wrap: true, ..Limit::default() };
    let mut phase = Phase::prepare(storage, PhaseSpec { limit, ..spec(Op::Write, 2) }, None).expect("prepared");
    phase.go();
    while phase.live().operations == 0 {
        std::thread::yield_now();
    }
    let asked = Instant::now();
    phase.stop();
    assert!(phase.wait(Duration::from_secs(30)));
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert_eq!(phase.take_result().expect("a result").expect("it ran").stop_reason, StopReason::Interrupted);
    assert!(phase.take_result().is_none(), "the result is given once");
}

#[test]
fn a_phase_that_is_dropped_at_the_start_line_leaves_no_thread() {
    let threads = || std::fs::read_dir("/proc/self/task").expect("procfs").count();
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let before = threads();
    let phase = Phase::prepare(storage, spec(Op::Write, 8), None).expect("prepared");
    assert!(threads() >= before + 8 || threads() > 8);
    drop(phase);
    // Other tests of this process start and end threads as well: ours are the ones called task-N.
    let named = std::fs::read_dir("/proc/self/task").expect("procfs").flatten();
    let ours = named.filter(|entry| std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.trim() == "task-7"));
    assert_eq!(ours.count(), 0);
}

#[test]
fn a_read_of_what_is_not_there_fails_before_the_start_line() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let missing = Phase::prepare(Arc::clone(&storage), spec(Op::Read, 1), None).err().expect("no file");
    assert!(missing.to_string().contains("data.00000000"), "{missing}");
    run(&storage, spec(Op::Write, 1), None);
    let mut longer = spec(Op::Read, 1);
    longer = streaming(longer, |stream| stream.geometry.block_size = 8 * MIB);
    let error = Phase::prepare(storage, longer, None).err().expect("too short");
    assert!(matches!(
        error,
        EngineError::Storage(StorageError::TooShort { file: 0, needed, actual }) if needed == 8 * MIB && actual == 4 * MIB
    ));
}

#[test]
fn a_contradiction_is_refused_before_anything_happens() {
    let storage = open(&TargetSpec::new(StorageKind::Null)).expect("null");
    let mut wrong = spec(Op::Write, 1);
    wrong = streaming(wrong, |stream| stream.geometry.block_size = 100_000);
    let error = Phase::prepare(storage, wrong, None).err().expect("refused");
    assert!(matches!(error, EngineError::Spec(SpecError::NotMultiple { .. })));
}

#[test]
fn fsync_is_inside_the_clock_and_told_apart() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let result = run(&storage, streaming(spec(Op::Write, 1), |stream| stream.durability = Durability::Fsync), None);
    let task = &result.tasks[0];
    assert!(task.sync_ns > 0);
    let steps = task.open_ns + task.transfer_ns + task.sync_ns + task.close_ns;
    assert_eq!(steps, task.end_ns - task.start_ns);
}

#[test]
fn a_read_of_holes_says_how_many_bytes_of_them_there_are() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, streaming(spec(Op::Write, 1), |stream| stream.durability = Durability::Fsync), None);
    let holes = |storage| run(storage, spec(Op::Read, 1), None).cache.expect("a read phase").hole_bytes;
    assert_eq!(holes(&storage), Some(0));
    let file = std::fs::OpenOptions::new().write(true).open(scratch.path().join("data.00000000")).expect("the data file");
    file.set_len(MIB).and_then(|()| file.set_len(4 * MIB)).expect("a hole where three quarters were");
    assert_eq!(holes(&storage), Some(3 * MIB));
}

#[test]
fn a_read_tells_what_was_cached_before_it() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, streaming(spec(Op::Write, 1), |stream| stream.durability = Durability::Fsync), None);
    let warm = run(&storage, spec(Op::Read, 1), None).cache.expect("a read phase");
    assert_eq!(warm.examined_bytes, Some(4 * MIB));
    assert_eq!(warm.cached_before_bytes, Some(4 * MIB));
}

#[test]
fn the_first_operations_of_each_task_are_kept_one_by_one_where_that_is_asked() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let directory = run_directory();
    std::fs::create_dir(directory.path().join("operations")).expect("a directory");
    let spec = PhaseSpec { operation_log: 10, ..spec(Op::Write, 2) };
    let mut files = PhaseFiles::create(directory.path(), &spec.record, false).expect("files");
    files.keep_operations(directory.path(), &spec.record).expect("a table");
    let record = spec.record.clone();
    run(&storage, spec, Some(files));
    let table = read_table(&directory.path().join(format!("operations/{record}.parquet"))).expect("a table");
    let column = |name: &str| table.iter().find(|(known, _)| known == name).map(|(_, values)| values.clone()).expect("a column");
    let (tasks, ends, latencies) = (column("task"), column("end_ns"), column("latency_ns"));
    assert_eq!(tasks, [[0; 10], [1; 10]].concat());
    assert!(latencies.iter().all(|&ns| ns > 0) && ends[..10].is_sorted() && ends[10..].is_sorted());
}
