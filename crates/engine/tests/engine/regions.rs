//! Whose bytes a task works on, and the space they take.

use std::os::unix::fs::MetadataExt;

use crate::support::{MIB, on_disk, run, spec, streaming};
use tonnage_storage::StorageKind;
use tonnage_workload::{CachePolicy, Layout, Op, Source, TaskRange};

#[test]
fn a_re_read_of_anothers_region_reads_that_one_and_no_other() {
    for layout in [Layout::FilePerTask, Layout::Shared] {
        for source in [Source::Shift { tasks: 1 }, Source::Random { seed: 3 }] {
            let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
            let in_layout = |op| streaming(spec(op, 4), |stream| stream.geometry.layout = layout);
            run(&storage, in_layout(Op::Write), None);
            // Damage where task 0's region is, and see who finds it.
            let path = scratch.path().join("data.00000000");
            let file = std::fs::OpenOptions::new().write(true).open(path).expect("the data file");
            std::os::unix::fs::FileExt::write_all_at(&file, b"rot", 100).expect("a damaged byte");
            let read = streaming(in_layout(Op::Read), |stream| {
                stream.source = source;
                stream.verify = true;
            });
            let result = run(&storage, read, None);
            let verify = result.verify.expect("verified");
            assert_eq!((verify.checked_bytes, verify.damaged_operations), (16 * MIB, 1), "{layout:?} {source:?}");
            let finder = (0..4).find(|&task| source.task(task, 4) == 0).expect("someone reads it");
            assert_ne!(finder, 0);
            assert_eq!(result.tasks[finder as usize].damaged_operations, 1, "{layout:?} {source:?}");
        }
    }
}

#[test]
fn a_shifted_read_settles_and_examines_the_files_it_reads_not_its_own() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Posix);
    run(&storage, spec(Op::Write, 2), None);
    // Task 0's own file is too short for a read.
    let own = std::fs::OpenOptions::new().write(true).open(scratch.path().join("data.00000000")).expect("its own file");
    own.set_len(5).expect("shortened");
    let read = streaming(spec(Op::Read, 2), |stream| {
        stream.source = Source::Shift { tasks: 1 };
        stream.cache = CachePolicy::Drop;
    });
    let here = tonnage_workload::PhaseSpec { tasks: TaskRange { first: 0, here: 1, total: 2 }, ..read };
    let result = run(&storage, here, None);
    assert_eq!(result.cache.expect("a read").examined_bytes, Some(4 * MIB));
    assert_eq!(result.tasks[0].bytes, 4 * MIB);
}

#[test]
fn preallocation_reserves_the_whole_file_when_it_is_opened_and_only_where_asked() {
    for (preallocate, kind) in [(true, StorageKind::Posix), (true, StorageKind::Uring), (false, StorageKind::Posix)] {
        let (_parent, scratch, storage) = on_disk(kind);
        let write = streaming(spec(Op::Write, 1), |stream| {
            stream.preallocate = preallocate;
            stream.geometry.segments = 4;
        });
        let mut phase = tonnage_engine::Phase::prepare(storage, write, None).expect("prepared");
        // Next to nothing is written: the stop comes before the first operation is through, but after the open.
        phase.stop();
        phase.go();
        assert!(phase.wait(std::time::Duration::from_secs(60)));
        let result = phase.take_result().expect("a result").expect("it ran");
        assert!(result.tasks[0].operations <= 1);
        let file = std::fs::metadata(scratch.path().join("data.00000000")).expect("the data file");
        if preallocate && result.facts["preallocated"] {
            assert!(file.blocks() * 512 >= 16 * MIB, "{} blocks", file.blocks());
        } else if preallocate {
            assert!(result.notes.iter().any(|note| note.code == "no-preallocation"), "{:?}", result.notes);
        } else {
            assert!(file.len() <= 64 << 10 && !result.facts.contains_key("preallocated"));
        }
    }
}
