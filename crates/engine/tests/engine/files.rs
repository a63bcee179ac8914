//! Whole phases on names, as the front runs them.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{DirectMode, NamesRequest, Scratch, Storage, StorageKind, TargetSpec, open};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{
    Arena, CachePolicy, FileOp, Files, Limit, Payload, PayloadKind, PhaseSpec, RateLimits, TaskRange, Tree, Work,
};

const TREE: Tree = Tree { depth: 2, branch: 3, items_per_directory: 4, leaves_only: false, shared: false };
const ITEMS: u64 = 13 * 4;
const EIO: i32 = 5;

fn files(op: FileOp) -> Files {
    Files {
        op,
        tree: TREE,
        operations: 50,
        counts: Vec::new(),
        renamed: false,
        file_bytes: 0,
        fsync: false,
        shift: 0,
        random: false,
        cache: CachePolicy::Keep,
        payload: PayloadKind::Unique,
        verify: false,
        check_written: false,
        syncfs: false,
        mknod: false,
        collective: false,
        shared_files: false,
    }
}

fn run(storage: &Arc<dyn Storage>, tasks: u32, files: Files) -> PhaseResult {
    run_limited(storage, tasks, files, Limit::default())
}

fn run_limited(storage: &Arc<dyn Storage>, tasks: u32, files: Files, limit: Limit) -> PhaseResult {
    let spec = PhaseSpec {
        record: "0000-files".to_owned(),
        tasks: TaskRange { first: 0, here: tasks, total: tasks },
        tasks_per_node: None,
        limit,
        pace: RateLimits::default(),
        hog_bytes: 0,
        operation_log: 0,
        seed: 5,
        interval_ns: 10_000_000,
        work: Work::Files(files),
    };
    let mut phase = Phase::prepare(Arc::clone(storage), spec, None).expect("prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(60)), "the phase ends");
    phase.take_result().expect("a result").expect("it ran")
}

/// Each kind, in a scratch directory where it needs one.
fn each_kind(test: impl Fn(&Arc<dyn Storage>, Option<&Path>)) {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Mmap] {
        let (_home, scratch, storage) = on_disk(kind);
        test(&storage, Some(scratch.path()));
        scratch.remove().expect("nothing foreign");
    }
    test(&open(&TargetSpec::new(StorageKind::Memory)).expect("memory"), None);
}

fn on_disk(kind: StorageKind) -> (tempfile::TempDir, Scratch, Arc<dyn Storage>) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let scratch = Scratch::create(home.path(), "files").expect("a scratch directory");
    let spec = TargetSpec { directories: vec![scratch.path().to_owned()], ..TargetSpec::new(kind) };
    let storage = open(&spec).expect("the storage opens");
    (home, scratch, storage)
}

fn operations(result: &PhaseResult) -> Vec<u64> {
    result.tasks.iter().map(|task| task.operations).collect()
}

fn message(result: &PhaseResult) -> &str {
    assert_eq!(result.stop_reason, StopReason::Error);
    &result.first_error.as_ref().expect("an error").message
}

#[test]
fn every_phase_does_what_the_tree_says_and_leaves_nothing() {
    each_kind(|storage, path| {
        for shared in [false, true] {
            let tree = Tree { shared, ..TREE };
            let phase = |op, expected: [u64; 2], renamed| {
                let result = run(storage, 2, Files { tree, file_bytes: 100, renamed, ..files(op) });
                assert_eq!(result.first_error, None, "{op:?}");
                assert_eq!(result.stop_reason, StopReason::Size);
                assert_eq!(operations(&result), expected, "{op:?}");
                assert_eq!(result.latency.count, expected.iter().sum::<u64>(), "every operation is timed");
                let bytes = if op.writes() || op == FileOp::Read { 100 * ITEMS } else { 0 };
                assert!(result.tasks.iter().all(|task| task.bytes == bytes), "{op:?}");
            };
            let (all, trees) = ([ITEMS; 2], if shared { [13, 0] } else { [13, 13] });
            phase(FileOp::MakeTree, trees, false);
            for op in [FileOp::MakeDirectory, FileOp::StatDirectory, FileOp::RenameDirectory] {
                phase(op, all, false);
            }
            phase(FileOp::RemoveDirectory, all, true);
            for op in [FileOp::Create, FileOp::Write, FileOp::Stat, FileOp::Read, FileOp::Rename] {
                phase(op, all, false);
            }
            phase(FileOp::ReadDirectory, [13; 2], false);
            phase(FileOp::Rename, all, true);
            phase(FileOp::Remove, all, false);
            phase(FileOp::RemoveTree, trees, false);
            if let Some(path) = path {
                assert_eq!(std::fs::read_dir(path).unwrap().count(), 1, "only the marker is left");
            }
        }
    });
}

#[test]
fn the_first_task_makes_and_removes_for_all_where_that_is_asked() {
    each_kind(|storage, path| {
        for shared in [false, true] {
            let tree = Tree { shared, ..TREE };
            let with = |op| Files { tree, collective: true, mknod: op == FileOp::Create, ..files(op) };
            run(storage, 2, with(FileOp::MakeTree));
            assert_eq!(operations(&run(storage, 2, with(FileOp::MakeDirectory))), [2 * ITEMS, 0]);
            assert_eq!(operations(&run(storage, 2, with(FileOp::RemoveDirectory))), [2 * ITEMS, 0]);
            assert_eq!(operations(&run(storage, 2, with(FileOp::Create))), [2 * ITEMS, 0]);
            let own = Files { file_bytes: 100, ..with(FileOp::Write) };
            assert_eq!(operations(&run(storage, 2, own)), [ITEMS; 2]);
            let read = Files { file_bytes: 100, verify: true, ..with(FileOp::Read) };
            assert_eq!(run(storage, 2, read).verify.expect("it checks").damaged_operations, 0);
            assert_eq!(operations(&run(storage, 2, with(FileOp::Remove))), [2 * ITEMS, 0]);
            assert_eq!(run(storage, 2, with(FileOp::RemoveTree)).first_error, None, "both trees are empty");
        }
        if let Some(path) = path {
            assert_eq!(std::fs::read_dir(path).unwrap().count(), 1, "only the marker is left");
        }
    });
}

#[test]
fn shared_files_are_made_once_and_used_by_all() {
    each_kind(|storage, path| {
        let tree = Tree { shared: true, ..TREE };
        let with = |op| Files { tree, file_bytes: 100, shared_files: true, shift: 1, ..files(op) };
        run(storage, 2, with(FileOp::MakeTree));
        let made = run(storage, 2, with(FileOp::Create));
        assert_eq!((operations(&made), made.first_error), (vec![ITEMS; 2], None));
        if let Some(path) = path {
            let root = std::fs::read_dir(path.join("tree.00000000")).unwrap();
            assert_eq!(root.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file()).count(), 4);
        }
        let read = run(storage, 2, Files { verify: true, ..with(FileOp::Read) });
        assert_eq!((operations(&read), read.verify.unwrap().damaged_operations), (vec![ITEMS; 2], 0));
        assert_eq!(operations(&run(storage, 2, with(FileOp::Remove))), [ITEMS, 0]);
        assert_eq!(run(storage, 2, with(FileOp::RemoveTree)).first_error, None);
    });
}

#[test]
fn a_written_file_is_read_back_and_damage_is_counted() {
    let (_home, scratch, posix) = on_disk(StorageKind::Posix);
    run(&posix, 1, files(FileOp::MakeTree));
    let with = |op| Files { file_bytes: 2 << 20 | 5, check_written: true, ..files(op) };
    let created = run(&posix, 1, with(FileOp::Create));
    let verify = created.verify.expect("it checks");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (ITEMS * (2 << 20 | 5), 0));
    assert_eq!(created.tasks[0].bytes, ITEMS * (2 << 20 | 5), "what was read back is no work of the phase");
    let damaging: Arc<dyn Storage> = Arc::new(Faulty::storage(Arc::clone(&posix), vec![Fault::FlipEvery { nth: 3 }]));
    let verify = run(&damaging, 1, with(FileOp::Write)).verify.expect("it checks");
    assert!(verify.damaged_operations > 0);
    scratch.remove().expect("nothing foreign");
}

#[test]
fn each_task_ends_with_a_sync_of_the_file_system_inside_its_time() {
    let (_home, scratch, posix) = on_disk(StorageKind::Posix);
    let failing: Arc<dyn Storage> = Arc::new(Faulty::storage(Arc::clone(&posix), vec![Fault::FailSync { errno: EIO }]));
    let with = |op| Files { syncfs: true, ..files(op) };
    assert_eq!(run(&failing, 2, with(FileOp::MakeTree)).first_error, None, "the tree is not the phase's");
    let result = run(&posix, 2, with(FileOp::Create));
    assert!(result.tasks.iter().all(|task| task.sync_ns > 0 && task.end_ns - task.start_ns >= task.sync_ns));
    assert_eq!(message(&run(&failing, 2, with(FileOp::Stat))), "cannot sync the file system: Input/output error (os error 5)");
    scratch.remove().expect("nothing foreign");
}

#[test]
fn what_is_not_there_fails_at_the_first_item() {
    each_kind(|storage, _| {
        for op in [FileOp::Stat, FileOp::Read, FileOp::Write, FileOp::Create, FileOp::Remove, FileOp::ReadDirectory] {
            let result = run(storage, 1, files(op));
            assert_eq!(message(&result), "tree.00000000 is not there; create it first, with the same tree", "{op:?}");
            assert_eq!(operations(&result), [0]);
        }
        run(storage, 1, files(FileOp::MakeTree));
        for op in [FileOp::Stat, FileOp::Read, FileOp::Write, FileOp::Rename, FileOp::Remove] {
            let result = run(storage, 1, files(op));
            assert_eq!(message(&result), "tree.00000000/f.0.0 is not there; create it first, with the same tree", "{op:?}");
        }
        let result = run(storage, 1, files(FileOp::RemoveDirectory));
        assert_eq!(message(&result), "tree.00000000/i.0.0 is not there; create it first, with the same tree");
        let deeper = Files { tree: Tree { depth: 3, ..TREE }, ..files(FileOp::Create) };
        let result = run(storage, 1, deeper);
        assert_eq!(message(&result), "tree.00000000/d.1/d.4/d.13 is not there; create it first, with the same tree");
        assert_eq!(operations(&result), [ITEMS], "what was there is counted");
    });
}

#[test]
fn what_is_there_already_or_still_full_fails() {
    each_kind(|storage, _| {
        run(storage, 1, files(FileOp::MakeTree));
        run(storage, 1, files(FileOp::Create));
        let again = "is there already; remove it first";
        assert_eq!(message(&run(storage, 1, files(FileOp::MakeTree))), format!("tree.00000000 {again}"));
        assert_eq!(message(&run(storage, 1, files(FileOp::Create))), format!("tree.00000000/f.0.0 {again}"));
        let full = run(storage, 1, files(FileOp::RemoveTree));
        assert_eq!(message(&full), "tree.00000000/d.3/d.12 is not empty; remove what is in it first");
    });
}

#[test]
fn a_shorter_file_is_no_read() {
    each_kind(|storage, _| {
        run(storage, 1, files(FileOp::MakeTree));
        run(storage, 1, Files { file_bytes: 99, ..files(FileOp::Create) });
        let result = run(storage, 1, Files { file_bytes: 100, ..files(FileOp::Read) });
        assert_eq!(message(&result), "tree.00000000/f.0.0 has fewer than 100 bytes; create it with that size first");
    });
}

#[test]
fn files_of_every_size_verify_and_damage_is_named() {
    let tree = Tree { depth: 1, branch: 2, items_per_directory: 2, ..TREE };
    for bytes in [1, 31, 4096, 4100, 70_000, (1 << 20) + 5, 3 << 20] {
        each_kind(|storage, path| {
            let with = |op| Files { tree, file_bytes: bytes, fsync: true, verify: op == FileOp::Read, ..files(op) };
            run(storage, 2, with(FileOp::MakeTree));
            run(storage, 2, with(FileOp::Create));
            for (random, cache) in [(false, CachePolicy::Drop), (true, CachePolicy::Keep)] {
                let result = run(storage, 2, Files { random, cache, shift: 1, ..with(FileOp::Read) });
                let verify = result.verify.expect("verified");
                assert_eq!((result.first_error, verify.damaged_operations), (None, 0), "{bytes}: {:?}", verify.first_damage);
                assert_eq!(verify.checked_bytes, 2 * 6 * bytes);
                assert!(result.cache.is_some());
            }
            let Some(path) = path else { return };
            let victim = path.join("tree.00000001/d.2/f.1.5");
            let mut content = std::fs::read(&victim).unwrap();
            *content.last_mut().unwrap() ^= 1;
            std::io::Write::write_all(&mut std::fs::File::create(&victim).unwrap(), &content).unwrap();
            let verify = run(storage, 2, with(FileOp::Read)).verify.expect("verified");
            assert_eq!(verify.damaged_operations, 1);
            let damage = &verify.first_damage[0];
            assert_eq!((damage.task, damage.offset), (1, (bytes - 1) / 4096 * 4096));
            assert!(damage.what.starts_with("tree.00000001/d.2/f.1.5: "), "{}", damage.what);
        });
    }
}

#[test]
fn files_verify_by_their_place_and_name_however_many_there_are() {
    let tree = Tree { depth: 0, branch: 1, items_per_directory: 9, leaves_only: false, shared: true };
    let with = |op, items_per_directory| {
        let tree = Tree { items_per_directory, ..tree };
        Files { tree, file_bytes: 5000, verify: op == FileOp::Read, ..files(op) }
    };
    each_kind(|storage, _| {
        run(storage, 1, with(FileOp::MakeTree, 9));
        run(storage, 3, with(FileOp::Create, 9));
        let verify = run(storage, 3, with(FileOp::Read, 4)).verify.expect("verified");
        assert_eq!((verify.damaged_operations, verify.checked_bytes), (0, 3 * 4 * 5000), "{:?}", verify.first_damage);
    });
}

#[test]
fn files_that_an_earlier_build_left_verify_where_as_many_are_read() {
    let tree = Tree { depth: 0, branch: 1, items_per_directory: 2, leaves_only: false, shared: true };
    let with = |op| Files { tree, file_bytes: 5000, verify: op == FileOp::Read, ..files(op) };
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, 1, with(FileOp::MakeTree));
    run(&storage, 2, with(FileOp::Create));
    let payload = Payload::new(PayloadKind::Unique, 5);
    let mut arena = Arena::new(payload, 1, 5000, 1);
    let mut memory = vec![0; Payload::span_bytes(PayloadKind::Unique, 5000, 1)];
    arena.fill(0, &mut memory);
    // Task 1's first file was the third of all; what another file should hold is still found.
    for (stamped, damaged) in [(2, 0), (3, 1)] {
        let bytes = arena.next(&mut memory, 0, stamped, 0);
        let file = std::fs::OpenOptions::new().write(true).open(scratch.path().join("tree.00000000/f.1.0")).expect("there");
        file.write_all_at(&memory[bytes], 0).expect("written");
        let verify = run(&storage, 2, with(FileOp::Read)).verify.expect("verified");
        assert_eq!(verify.damaged_operations, damaged, "{:?}", verify.first_damage);
    }
}

#[test]
fn files_of_whole_blocks_are_written_and_verified_past_the_page_cache() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let scratch = Scratch::create(home.path(), "files").expect("a scratch directory");
    let directories = vec![scratch.path().to_owned()];
    let spec = TargetSpec { directories, direct: DirectMode::Yes, ..TargetSpec::new(StorageKind::Posix) };
    let storage = open(&spec).expect("the storage opens");
    let tree = Tree { depth: 0, branch: 1, items_per_directory: 3, leaves_only: false, shared: false };
    for file_bytes in [4096, (2 << 20) + 8192] {
        let with = |op| Files { tree, file_bytes, verify: op == FileOp::Read, check_written: true, ..files(op) };
        if let Err(error) = storage.names(&NamesRequest { tree, number: 0, owner: 0, handles: 1, transfer_bytes: file_bytes }) {
            return eprintln!("skipped: {error}");
        }
        for op in [FileOp::MakeTree, FileOp::Create, FileOp::Write, FileOp::Read, FileOp::Remove, FileOp::RemoveTree] {
            let result = run(&storage, 2, with(op));
            assert_eq!(result.first_error, None, "{op:?}");
            assert_eq!(result.direct, with(op).moved_bytes() > 0, "{op:?}");
            assert!(result.verify.is_none_or(|verify| (verify.damaged_operations, verify.checked_bytes) == (0, 6 * file_bytes)));
        }
    }
}

#[test]
fn one_file_is_opened_written_and_closed_by_each_task() {
    each_kind(|storage, path| {
        let with = |op| Files { file_bytes: 4096, tree: Tree { shared: true, ..TREE }, ..files(op) };
        run(storage, 2, with(FileOp::MakeTree));
        let result = run(storage, 2, with(FileOp::OpenWriteClose));
        assert_eq!((operations(&result), result.tasks[0].bytes), (vec![50; 2], 50 * 4096));
        if let Some(path) = path {
            assert_eq!(std::fs::metadata(path.join("tree.00000000/f.1.0")).unwrap().len(), 4096);
        }
    });
}

#[test]
fn files_come_and_go_and_none_is_left() {
    each_kind(|storage, path| {
        let with = |op| Files { file_bytes: 4096, tree: Tree { shared: true, ..TREE }, ..files(op) };
        run(storage, 2, with(FileOp::MakeTree));
        let result = run(storage, 2, with(FileOp::Churn));
        assert_eq!((operations(&result), result.tasks[0].bytes, result.first_error.clone()), (vec![50; 2], 50 * 4096, None));
        if let Some(path) = path {
            assert!(!path.join("tree.00000000/f.1.0").exists());
        }
    });
}

#[test]
fn the_time_limit_ends_a_phase_and_the_next_works_on_what_was_made() {
    let (_home, scratch, storage) = on_disk(StorageKind::Posix);
    let tree = Tree { depth: 0, items_per_directory: 1 << 40, ..TREE };
    let with = |op| Files { tree, ..files(op) };
    run(&storage, 2, with(FileOp::MakeTree));
    let made = run_limited(&storage, 2, with(FileOp::Create), Limit { time_ns: Some(10_000_000), ..Limit::default() });
    assert_eq!(made.stop_reason, StopReason::Time);
    let counts = operations(&made);
    assert!(counts.iter().all(|&count| count > 0));
    for op in [FileOp::Stat, FileOp::Remove] {
        let result = run(&storage, 2, Files { counts: counts.clone(), random: true, ..with(op) });
        assert_eq!((result.first_error.clone(), operations(&result)), (None, counts.clone()));
    }
    let empty = run(&storage, 2, with(FileOp::RemoveTree));
    assert_eq!(empty.first_error, None, "exactly what was made is gone");
    scratch.remove().unwrap();
}

#[test]
fn tasks_that_wear_out_make_as_many_as_the_fastest_had() {
    let (_home, scratch, storage) = on_disk(StorageKind::Posix);
    let with = |op| Files { tree: Tree { depth: 0, items_per_directory: 1 << 40, ..TREE }, ..files(op) };
    run(&storage, 3, with(FileOp::MakeTree));
    let limit = Limit { time_ns: Some(10_000_000), wear_out: true, ..Limit::default() };
    let made = run_limited(&storage, 3, with(FileOp::Create), limit);
    assert_eq!((made.first_error.clone(), made.stop_reason), (None, StopReason::Time));
    let most = made.tasks.iter().filter_map(|task| task.stonewall_operations).max();
    assert!(made.tasks.iter().all(|task| Some(task.operations) == most), "{:?}, {most:?}", operations(&made));
    scratch.remove().unwrap();
}

#[test]
fn a_failing_storage_ends_the_phase_with_one_line_and_is_cleared() {
    const ENOSPC: i32 = 28;
    let (_home, scratch, posix) = on_disk(StorageKind::Posix);
    run(&posix, 1, files(FileOp::MakeTree));
    let full: Arc<dyn Storage> = Arc::new(Faulty::storage(Arc::clone(&posix), vec![Fault::FullAfter { bytes: 10_000 }]));
    let result = run(&full, 1, Files { file_bytes: 4096, ..files(FileOp::Create) });
    assert_eq!(message(&result), "cannot create tree.00000000/f.0.2: No space left on device (os error 28)");
    assert_eq!((operations(&result), result.first_error.unwrap().errno), (vec![2], ENOSPC));
    let broken: Arc<dyn Storage> =
        Arc::new(Faulty::storage(Arc::clone(&posix), vec![Fault::FailNameEvery { nth: 2, errno: EIO }]));
    let result = run(&broken, 1, files(FileOp::Stat));
    assert_eq!(message(&result), "cannot stat tree.00000000/f.0.1: Input/output error (os error 5)");
    posix.clear().unwrap();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "only the marker is left");
}

#[test]
fn the_generator_alone_asks_nothing_of_a_system() {
    let null = open(&TargetSpec::new(StorageKind::Null)).expect("null");
    for op in [FileOp::Create, FileOp::Stat, FileOp::Remove] {
        assert_eq!(operations(&run(&null, 2, Files { file_bytes: 10, ..files(op) })), [ITEMS; 2]);
    }
}
