//! One suite that every kind of storage passes, and every wrapper that has nothing to do.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use crate::support::{Ground, Kind, Rig, disk, geometry, places, read_all, request, write_all};
use tonnage_storage::{Buffer, DirectMode, Lane, OpenRequest, Request, Slots, Storage, StorageError, StorageKind};
use tonnage_testing::{Fault, Faulty, Throttled};
use tonnage_workload::{Access, CachePolicy, Geometry, Op};

/// Opens the lane's file; the error if it cannot be.
fn open_lane(storage: &dyn Storage, request: &OpenRequest) -> tonnage_storage::Result<Lane> {
    let mut lane = storage.lane(request)?;
    match &mut lane {
        Lane::Sync(file) => file.open()?,
        Lane::Queued(queue) => {
            queue.set_memory(Slots::new(request.queue_depth, request.transfer_size)?)?;
            queue.open()?;
        }
    }
    Ok(lane)
}

/// Result of reading one transfer, as a queue would give it.
fn read_once(lane: &mut Lane, offset: u64, length: usize) -> i32 {
    match lane {
        Lane::Sync(file) => file.read_at(offset, &mut Buffer::new(length).unwrap()).unwrap() as i32,
        Lane::Queued(queue) => {
            queue.push(Request { slot: 0, op: Op::Read, offset, start: 0, length });
            queue.submit_and_wait(1).unwrap();
            queue.next_completion().expect("one completion").result
        }
    }
}

fn has_note(storage: &dyn Storage, code: &str) -> bool {
    storage.facts().notes.iter().any(|(known, _)| *known == code)
}

fn bytes_come_back(kind: &Kind, access: Access) {
    for place in places() {
        for (size, count) in [(512, 70), (4096, 70), (47_008, 40), (1 << 20, 9)] {
            let rig = Rig::new(kind, &place);
            let geometry = geometry(size, count, access);
            let written = if kind.writes_at_random() { access } else { Access::Sequential };
            for depth in [1, 4, 32] {
                write_all(&*rig.storage, &Geometry { access: written, ..geometry.clone() }, depth);
                read_all(&*rig.storage, &geometry, depth);
            }
            assert_eq!(rig.storage.length(0).unwrap(), geometry.file_bytes(1));
        }
    }
}

fn a_short_file_is_told(kind: &Kind) {
    let rig = Rig::new(kind, &disk());
    rig.fill(4096, 3);
    for depth in [1, 4] {
        let longer = request(&geometry(4096, 5, Access::Sequential), Op::Read, depth);
        let error = open_lane(&*rig.storage, &longer).err().expect("a file that is too short");
        assert!(matches!(error, StorageError::TooShort { file: 0, needed: 20_480, actual: 12_288 }), "{error}");
        let exact = request(&geometry(4096, 3, Access::Sequential), Op::Read, depth);
        let mut lane = open_lane(&*rig.storage, &exact).unwrap();
        assert_eq!(read_once(&mut lane, 8192, 4096), 4096);
        assert_eq!(read_once(&mut lane, 12_288, 4096), 0, "at the end");
        assert_eq!(read_once(&mut lane, 1 << 40, 4096), 0, "far behind the end");
    }
}

fn a_missing_file_is_not_found(kind: &Kind) {
    let rig = Rig::new(kind, &disk());
    for depth in [1, 4] {
        let read = request(&geometry(4096, 1, Access::Sequential), Op::Read, depth);
        let error = open_lane(&*rig.storage, &read).err().expect("no file");
        assert_eq!(error.io().map(std::io::Error::kind), Some(ErrorKind::NotFound), "{error}");
    }
    let error = rig.storage.length(0).unwrap_err();
    assert_eq!(error.io().map(std::io::Error::kind), Some(ErrorKind::NotFound), "{error}");
}

fn clear_removes_the_data_and_nothing_else(kind: &Kind) {
    let rig = Rig::new(kind, &disk());
    rig.fill(4096, 3);
    let others = ["notes.txt", "data.1", "data.000000001"].map(|name| rig.file.with_file_name(name));
    for path in &others {
        std::fs::File::create_new(path).unwrap();
    }
    rig.storage.clear().unwrap();
    assert!(rig.storage.length(0).is_err());
    assert!(!rig.file.exists());
    assert!(others.iter().all(|path| path.exists()));
    assert!(rig.scratches.iter().all(|scratch| scratch.path().join("TONNAGE-SCRATCH").exists()));
    rig.fill(4096, 2);
    assert_eq!(rig.storage.length(0).unwrap(), 8192, "it can be used again");
}

fn a_planted_link_is_not_followed(kind: &Kind) {
    if !kind.has_files() {
        return;
    }
    let rig = Rig::new(kind, &disk());
    let victim = rig.home.path().join("victim");
    std::fs::copy("/proc/self/cmdline", &victim).unwrap();
    let before = std::fs::read(&victim).unwrap();
    symlink(&victim, &rig.file).unwrap();
    for op in [Op::Write, Op::Read] {
        let one = OpenRequest { file_bytes: 0, ..request(&geometry(4096, 1, Access::Sequential), op, 1) };
        let error = open_lane(&*rig.storage, &one).err().expect("a link");
        let named = matches!(error, StorageError::Name { .. });
        assert!(named || error.io().and_then(std::io::Error::raw_os_error) == Some(libc::ELOOP), "{error}");
    }
    assert!(rig.storage.length(0).is_err());
    assert!(rig.storage.settle(&[0], CachePolicy::Drop).is_err());
    rig.storage.clear().unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), before);
}

fn facts_tell_whether_the_cache_was_passed(kind: &Kind) {
    if !kind.has_files() {
        return;
    }
    let memory = Rig::new(kind, places()[0].as_path());
    memory.fill(4096, 4);
    assert!(!memory.storage.facts().direct, "a tmpfs is nothing but cache");
    assert_eq!(has_note(&*memory.storage, "no-direct"), kind.direct == DirectMode::Auto);

    let rig = Rig::new(kind, &disk());
    let geometry = geometry(4096, 64, Access::Sequential);
    write_all(&*rig.storage, &geometry, 4);
    rig.storage.settle(&[0], CachePolicy::Drop).unwrap();
    read_all(&*rig.storage, &geometry, 4);
    let facts = rig.storage.facts();
    let cache_state = rig.storage.settle(&[0], CachePolicy::Keep).unwrap();
    let Some(cached) = cache_state.cached_bytes else {
        return eprintln!("skipped: the kernel does not say what is cached");
    };
    let wanted = if facts.direct { 0 } else { geometry.file_bytes(1) };
    assert_eq!(cached, wanted, "{facts:?}");
    if facts.direct {
        rig.fill(47_008, 2);
        assert!(!rig.storage.facts().direct && has_note(&*rig.storage, "direct-unaligned"));
        rig.fill(4096, 2);
        assert!(rig.storage.facts().direct && !has_note(&*rig.storage, "direct-unaligned"), "the latest phase counts");
    }
}

fn direct_or_an_error(kind: &Kind) {
    if !kind.has_files() {
        return;
    }
    let strict = Kind { direct: DirectMode::Yes, ..*kind };
    let lane = |place: &std::path::Path, size| {
        let one = request(&geometry(size, 1, Access::Sequential), Op::Write, 1);
        Rig::try_new(&strict, place).and_then(|rig| rig.storage.lane(&one))
    };
    let refused = |result: tonnage_storage::Result<Lane>| matches!(result, Err(StorageError::Unsupported(_)));
    assert!(refused(lane(&places()[0], 4096)), "a tmpfs cannot");
    assert!(refused(lane(&disk(), 47_008)), "47008 is no multiple of a block");
}

fn the_cache_fills_by_reading_and_empties_by_dropping(kind: &Kind) {
    if !kind.has_files() || kind.direct != DirectMode::No {
        return;
    }
    let rig = Rig::new(kind, &disk());
    let geometry = geometry(1 << 16, 16, Access::Sequential);
    write_all(&*rig.storage, &geometry, 1);
    let cached = |policy| rig.storage.settle(&[0], policy).unwrap().cached_bytes;
    let Some(dropped) = cached(CachePolicy::Drop) else {
        return eprintln!("skipped: the kernel does not say what is cached");
    };
    assert_eq!(dropped, 0);
    read_all(&*rig.storage, &geometry, 1);
    assert_eq!(cached(CachePolicy::Keep), Some(geometry.file_bytes(1)));
    assert_eq!(cached(CachePolicy::Drop), Some(0));
}

fn a_snapshot_by_a_program_is_read_from_where_it_is(kind: &Kind) {
    if !kind.has_files() || kind.ground != Ground::One {
        return;
    }
    let rig = Rig::new(kind, &disk());
    rig.fill(4096, 3);
    let (mut snapshots, then) = rig.snapshot(&*rig.storage);
    rig.fill(4096, 5);
    assert_eq!(then.length(0).unwrap(), 3 * 4096);
    read_all(&*then, &geometry(4096, 3, Access::Sequential), 1);
    assert_eq!(rig.storage.length(0).unwrap(), 5 * 4096, "which goes on");
    snapshots.remove(0).unwrap();
    assert!(then.length(0).is_err(), "by its program");
}

macro_rules! conformance {
    ($name:ident: $kind:ident, $direct:ident, $ground:ident, $wrap:expr $(, #[$need:meta])?) => {
        mod $name {
            use super::*;

            const KIND: Kind = Kind {
                storage: StorageKind::$kind,
                direct: DirectMode::$direct,
                ground: Ground::$ground,
                wrap: $wrap,
            };

            #[test]
            $(#[$need])?
            fn bytes_written_in_order_come_back() {
                bytes_come_back(&KIND, Access::Sequential);
            }

            #[test]
            $(#[$need])?
            fn bytes_written_out_of_order_come_back() {
                bytes_come_back(&KIND, Access::Random);
            }

            conformance!(@each [$(#[$need])?] a_short_file_is_told a_missing_file_is_not_found clear_removes_the_data_and_nothing_else
                a_planted_link_is_not_followed facts_tell_whether_the_cache_was_passed direct_or_an_error
                the_cache_fills_by_reading_and_empties_by_dropping a_snapshot_by_a_program_is_read_from_where_it_is);
        }
    };
    ($name:ident: $kind:ident, $direct:ident, $wrap:expr) => {
        conformance!($name: $kind, $direct, One, $wrap);
    };
    (@each [] $($test:ident)+) => {
        $(
            #[test]
            fn $test() {
                super::$test(&KIND);
            }
        )+
    };
    (@each [#[$need:meta]] $($test:ident)+) => {
        $(
            #[test]
            #[$need]
            fn $test() {
                super::$test(&KIND);
            }
        )+
    };
}

conformance!(posix_buffered: Posix, No, |inner| inner);
conformance!(posix_auto: Posix, Auto, |inner| inner);
conformance!(posix_two: Posix, Auto, Two, |inner| inner);
conformance!(posix_named: Posix, Auto, Named, |inner| inner);
conformance!(uring_buffered: Uring, No, |inner| inner);
conformance!(uring_auto: Uring, Auto, |inner| inner);
conformance!(uring_two: Uring, Auto, Two, |inner| inner);
conformance!(uring_named: Uring, Auto, Named, |inner| inner);
conformance!(mmap: Mmap, Auto, |inner| inner);
conformance!(mmap_two: Mmap, Auto, Two, |inner| inner);
conformance!(mmap_named: Mmap, Auto, Named, |inner| inner);
conformance!(mpiio: Mpiio, No, One, |inner| inner, #[ignore = "needs an MPI; tests/mpi/test_mpiio_conformance.py runs it with one"]);
conformance!(mpiio_two: Mpiio, Auto, Two, |inner| inner, #[ignore = "needs an MPI; tests/mpi/test_mpiio_conformance.py runs it with one"]);
conformance!(mpiio_named: Mpiio, Auto, Named, |inner| inner, #[ignore = "needs an MPI; tests/mpi/test_mpiio_conformance.py runs it with one"]);
conformance!(memory: Memory, No, |inner| inner);
conformance!(rados: Rados, No, Pool, |inner| inner, #[ignore = "needs a Ceph; tests/lab/test_rados.py runs it with one"]);
conformance!(nfs: Nfs, No, Export, |inner| inner, #[ignore = "needs a server of NFS version 3; tests/lab/test_nfs.py runs it with one"]);
conformance!(s3: S3, No, Bucket, |inner| inner, #[ignore = "needs an S3; tests/lab/test_s3.py runs it with one"]);
conformance!(faulty_posix: Posix, No, |inner| Arc::new(Faulty::storage(inner, vec![Fault::FullAfter { bytes: 1 << 40 }])));
conformance!(faulty_uring: Uring, Auto, |inner| Arc::new(Faulty::storage(inner, vec![Fault::FullAfter { bytes: 1 << 40 }])));
conformance!(throttled_posix: Posix, Auto, |inner| Arc::new(Throttled::storage(inner, Some(100_000_000_000), None)));
conformance!(throttled_uring: Uring, No, |inner| Arc::new(Throttled::storage(inner, Some(100_000_000_000), Some(100_000_000))));
