//! One suite that every means of snapshots passes: old snapshots give old bytes, and nothing is left.
//!
//! Each needs a place of its own, which a variable names; `tests/lab/test_snapshots.py` has them made.

use std::path::PathBuf;
use std::sync::Arc;

use crate::support::{run, spec};
use tonnage_engine::{EngineError, Phase};
use tonnage_records::StopReason;
use tonnage_storage::{DirectMode, PoolSpec, Scratch, Storage, StorageError, StorageKind, TargetSpec, open};
use tonnage_workload::{
    CachePolicy, Checkpoint, CheckpointStep, Coordination, Durability, Geometry, Layout, Means, Op, PayloadKind, PhaseSpec, Work,
};

const TASKS: u32 = 3;
const ROUNDS: u32 = 4;
const BLOCK_BYTES: u64 = 1 << 18;

fn place(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} names a place")).into()
}

fn pool(namespace: &str) -> TargetSpec {
    let pool = PoolSpec {
        pool: place("TONNAGE_TEST_POOL").to_string_lossy().into_owned(),
        namespace: format!("{namespace}-{}", std::process::id()),
        object_bytes: 100_000,
        ..serde_json::from_str(r#"{"pool": "", "namespace": "", "object_bytes": 1}"#).expect("a pool")
    };
    TargetSpec { rados: Some(pool), ..TargetSpec::new(StorageKind::Rados) }
}

fn phase(step: CheckpointStep, work: &Checkpoint) -> PhaseSpec {
    PhaseSpec { work: Work::Checkpoint(Checkpoint { step, ..work.clone() }), ..spec(Op::Write, TASKS) }
}

fn rounds(means: &Means, coordination: Coordination, queue_depth: u32) -> Checkpoint {
    let Work::Stream(stream) = spec(Op::Write, TASKS).work else { unreachable!("it is one") };
    Checkpoint {
        step: CheckpointStep::Checkpoint,
        rounds: ROUNDS,
        think_ns: 0,
        coordination,
        geometry: Geometry { block_size: BLOCK_BYTES, ..stream.geometry },
        queue_depth,
        durability: Durability::None,
        cache: CachePolicy::Keep,
        payload: PayloadKind::Unique,
        verify: true,
        snapshot: Some(means.clone()),
        of_round: None,
        retry_ns: None,
    }
}

fn read_back(storage: &Arc<dyn Storage>, work: &Checkpoint, round: u32) {
    let read = run(storage, phase(CheckpointStep::Restart, &Checkpoint { of_round: Some(round), ..work.clone() }), None);
    assert_eq!(read.stop_reason, StopReason::Size, "{:?}", read.first_error);
    let verify = read.verify.expect("it was verified");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (u64::from(TASKS) * BLOCK_BYTES, 0), "round {round}");
}

/// All rounds are read back, snapshot by snapshot; then they go, one by one or all at once.
fn suite(storage: &Arc<dyn Storage>, means: &Means) {
    for coordination in [Coordination::Together, Coordination::Each] {
        for (depth, drops) in [(1, true), (4, false)] {
            let work = rounds(means, coordination, depth);
            let written = run(storage, phase(CheckpointStep::Checkpoint, &work), None);
            assert_eq!(written.stop_reason, StopReason::Size, "{:?}", written.first_error);
            let taken = u64::from(ROUNDS * if work.is_together() { 1 } else { TASKS });
            assert_eq!(written.checkpoint.expect("it is one").snapshot.count, taken);
            for round in [3, 0, 2] {
                read_back(storage, &work, round);
            }
            if drops {
                let dropped = run(storage, phase(CheckpointStep::Drop, &work), None);
                assert_eq!(dropped.stop_reason, StopReason::Size, "{:?}", dropped.first_error);
                assert_eq!(dropped.latency.count, taken + 1);
            } else {
                storage.clear().expect("cleared");
            }
            assert!(storage.length(0).is_err(), "the data are gone");
        }
    }
    let shared = Checkpoint {
        geometry: Geometry { layout: Layout::Shared, ..rounds(means, Coordination::Together, 1).geometry },
        ..rounds(means, Coordination::Together, 1)
    };
    run(storage, phase(CheckpointStep::Checkpoint, &shared), None);
    read_back(storage, &shared, 1);
    storage.clear().expect("cleared");
}

/// The suite in a scratch directory, of which nothing is left; and two of its rounds for the other kinds of storage.
fn in_directory(variable: &str, means: &Means) {
    let parent = tempfile::tempdir_in(place(variable)).expect("a temporary directory");
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Mmap] {
        let scratch = Scratch::create(parent.path(), "snapshots").expect("a scratch directory");
        let directories = vec![scratch.path().to_owned()];
        let storage = open(&TargetSpec { directories, direct: DirectMode::No, ..TargetSpec::new(kind) }).expect("opens");
        if kind == StorageKind::Posix {
            suite(&storage, means);
        }
        let work = rounds(means, Coordination::Together, 2);
        run(&storage, phase(CheckpointStep::Checkpoint, &work), None);
        read_back(&storage, &work, 2);
        drop(storage);
        scratch.remove().expect("what a run left in the middle goes with its scratch directory");
    }
}

fn refused(storage: &Arc<dyn Storage>, means: &Means) -> String {
    let work = rounds(means, Coordination::Together, 1);
    match Phase::prepare(Arc::clone(storage), phase(CheckpointStep::Checkpoint, &work), None) {
        Err(EngineError::Storage(error @ StorageError::Unsupported(_))) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
#[ignore = "needs XFS; tests/lab/test_snapshots.py makes one"]
fn xfs_reflink() {
    in_directory("TONNAGE_TEST_XFS", &Means::Reflink {});
}

#[test]
#[ignore = "needs Btrfs; tests/lab/test_snapshots.py makes one"]
fn btrfs_reflink() {
    in_directory("TONNAGE_TEST_BTRFS", &Means::Reflink {});
}

#[test]
#[ignore = "needs Btrfs; tests/lab/test_snapshots.py makes one"]
fn btrfs_subvolume() {
    in_directory("TONNAGE_TEST_BTRFS", &Means::Btrfs {});
}

#[test]
#[ignore = "needs CephFS; tests/lab/test_snapshots.py makes one"]
fn cephfs_snap() {
    in_directory("TONNAGE_TEST_CEPHFS", &Means::Cephfs {});
}

#[test]
#[ignore = "needs a Ceph; tests/lab/test_snapshots.py runs it with one"]
fn rados_self_managed() {
    let storage = open(&pool("self-managed")).expect("the pool");
    suite(&storage, &Means::RadosSelfManaged {});
    let text = refused(&storage, &Means::RadosPool {});
    assert!(text.contains("takes self-managed snapshots"), "{text}");
    storage.finish().expect("finished");
}

#[test]
#[ignore = "needs a Ceph; tests/lab/test_snapshots.py runs it with one"]
fn rados_pool() {
    let storage = open(&pool("pool")).expect("the pool");
    suite(&storage, &Means::RadosPool {});
    let text = refused(&storage, &Means::RadosSelfManaged {});
    assert!(text.contains("takes pool snapshots"), "{text}");
    let text = refused(&storage, &Means::Btrfs {});
    assert!(text.contains("a directory on Btrfs"), "{text}");
    storage.finish().expect("finished");
}

#[test]
fn a_file_system_without_snapshots_says_so() {
    // A tmpfs has none of the three.
    let Ok(parent) = tempfile::tempdir_in("/dev/shm") else { return eprintln!("skipped: no /dev/shm here") };
    let scratch = Scratch::create(parent.path(), "snapshots").expect("a scratch directory");
    let directories = vec![scratch.path().to_owned()];
    let storage = open(&TargetSpec { directories, ..TargetSpec::new(StorageKind::Posix) }).expect("opens");
    for (means, said) in
        [(Means::Reflink {}, "no reflinks"), (Means::Btrfs {}, "not on Btrfs"), (Means::Cephfs {}, "not on CephFS")]
    {
        let text = refused(&storage, &means);
        assert!(text.contains(said), "{text}");
    }
    drop(storage);
    scratch.remove().expect("nothing was left in it");
}
