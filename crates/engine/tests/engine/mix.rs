//! Reads and writes in one phase.

use crate::support::{MIB, null, on_disk, run, spec, streaming};
use tonnage_engine::{EngineError, Phase};
use tonnage_records::StopReason;
use tonnage_storage::{StorageError, StorageKind};
use tonnage_workload::{Access, Durability, Layout, Limit, Op, PhaseSpec, Source};

fn mixed(tasks: u32, percent: u8, depth: u32) -> PhaseSpec {
    streaming(spec(Op::Write, tasks), |stream| {
        stream.read_percent = Some(percent);
        stream.queue_depth = depth;
        stream.geometry.transfer_size = 4096;
        stream.verify = true;
    })
}

#[test]
fn a_mix_keeps_its_share_verifies_its_reads_and_tells_the_two_kinds_apart() {
    for (kind, depth) in [(StorageKind::Posix, 1), (StorageKind::Uring, 8), (StorageKind::Mmap, 1)] {
        for (layout, access) in [(Layout::Shared, Access::Random), (Layout::FilePerTask, Access::Sequential)] {
            let (_parent, scratch, storage) = on_disk(kind);
            let placed = |phase| {
                streaming(phase, |stream| {
                    stream.geometry.layout = layout;
                    stream.geometry.access = access;
                })
            };
            run(&storage, placed(spec(Op::Write, 2)), None);
            let result = run(&storage, placed(mixed(2, 70, depth)), None);
            assert_eq!(result.stop_reason, StopReason::Size, "{:?}", result.first_error);
            let [writes, reads] = result.parts.as_slice() else { panic!("two parts, not {:?}", result.parts) };
            assert_eq!((writes.op.as_str(), reads.op.as_str()), ("write", "read"));
            assert_eq!(writes.bytes + reads.bytes, 8 * MIB);
            assert_eq!((writes.latency.count, reads.latency.count), (writes.bytes / 4096, reads.bytes / 4096));
            assert_eq!((writes.operations, reads.operations), (writes.latency.count, reads.latency.count));
            assert!((1340..1530).contains(&reads.operations), "{} of 2048 are no 70 %", reads.operations);
            assert_eq!(result.latency.count, 2048, "the totals count both");
            assert_eq!(result.latency.max_ns, writes.latency.max_ns.max(reads.latency.max_ns));
            let verify = result.verify.expect("verified");
            assert_eq!((verify.checked_bytes, verify.damaged_operations), (reads.bytes, 0), "{kind:?} {layout:?}");
            assert_eq!(result.cache.expect("a mix reads").examined_bytes, Some(8 * MIB));
            // What was written over is still what belongs there.
            let read = streaming(placed(spec(Op::Read, 2)), |stream| stream.verify = true);
            assert_eq!(run(&storage, read, None).verify.expect("verified").damaged_operations, 0);
            scratch.remove().expect("nothing foreign in the scratch directory");
        }
    }
}

#[test]
fn a_mix_that_wraps_with_many_in_flight_never_reads_what_is_half_written() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Uring);
    // Few places and a deep queue: the end of a pass and the beginning of the next would often be the same place.
    let tight = |phase| {
        streaming(phase, |stream| {
            stream.geometry.transfer_size = 256 << 10;
            stream.geometry.block_size = 4 * MIB;
            stream.geometry.access = Access::Random;
        })
    };
    run(&storage, tight(spec(Op::Write, 1)), None);
    let limit = Limit { time_ns: Some(400_000_000), wrap: true, ..Limit::default() };
    let result = run(&storage, PhaseSpec { limit, ..tight(mixed(1, 50, 16)) }, None);
    assert!(result.tasks[0].wrapped);
    assert_eq!(result.verify.expect("verified").damaged_operations, 0);
}

#[test]
fn a_mix_may_work_on_anothers_region_and_be_made_durable() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, spec(Op::Write, 3), None);
    for durability in [Durability::Fsync, Durability::FsyncEach] {
        let phase = streaming(mixed(3, 50, 1), |stream| {
            stream.source = Source::Random { seed: 1 };
            stream.durability = durability;
            stream.geometry.transfer_size = 256 << 10;
        });
        let result = run(&storage, phase, None);
        assert_eq!((result.stop_reason, result.verify.expect("verified").damaged_operations), (StopReason::Size, 0));
        assert!(result.tasks.iter().all(|task| task.sync_ns > 0), "fsync at the end, inside the clock");
    }
}

#[test]
fn a_mix_on_a_file_that_is_not_there_or_too_short_fails_before_the_start_line() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    let refused = |phase| Phase::prepare(storage.clone(), phase, None).err().expect("refused");
    let missing = refused(mixed(1, 50, 1));
    assert!(missing.to_string().contains("data.00000000"), "{missing}");
    assert!(!scratch.path().join("data.00000000").exists(), "a mix lays out nothing");
    run(&storage, spec(Op::Write, 1), None);
    let longer = streaming(mixed(1, 50, 1), |stream| stream.geometry.segments = 2);
    assert!(matches!(refused(longer), EngineError::Storage(StorageError::TooShort { .. })));
}

#[test]
fn the_same_seed_mixes_the_same_and_a_phase_of_one_kind_has_no_parts() {
    let parts = |seed| {
        let unverified = streaming(PhaseSpec { seed, ..mixed(2, 30, 4) }, |stream| stream.verify = false);
        run(&null(), unverified, None).parts.into_iter().map(|part| part.operations).collect::<Vec<u64>>()
    };
    assert_eq!(parts(7), parts(7));
    assert_ne!(parts(7), parts(8));
    assert!(run(&null(), spec(Op::Write, 1), None).parts.is_empty());
}
