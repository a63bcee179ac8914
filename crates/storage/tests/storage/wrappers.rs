//! Each fault strikes where its rule says, on both kinds of lanes; a throttled storage has the rate it was given.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Kind, Rig, VERIFIER, disk, drive, geometry, read_all, request, write_all};
use tonnage_storage::{Buffer, DirectMode, Lane, Request, Slots, Storage, StorageKind, TargetSpec, open};
use tonnage_testing::{Fault, Faulty, Throttled};
use tonnage_workload::{Access, Op};

const SIZE: usize = 4096;

fn posix() -> Kind {
    Kind::new(StorageKind::Posix, DirectMode::No)
}

fn uring() -> Kind {
    Kind { storage: StorageKind::Uring, ..posix() }
}

/// The results of `count` operations in order, as a queue would give them, and what sync and close said.
fn results(storage: &dyn Storage, op: Op, count: u64) -> (Vec<i32>, [Option<i32>; 2], Vec<bool>) {
    let geometry = geometry(SIZE, count, Access::Sequential);
    let mut memory = Buffer::new(SIZE).unwrap();
    let intact = |bytes: &[u8], offset| VERIFIER.check(bytes, 0, offset).is_ok();
    let errno = |result: std::io::Result<()>| result.err().and_then(|error| error.raw_os_error());
    let (mut moved, mut whole) = (Vec::new(), Vec::new());
    let offsets = (0..count).map(|n| n * SIZE as u64);
    match storage.lane(&request(&geometry, op, 1)).unwrap() {
        Lane::Sync(mut file) => {
            file.open().unwrap();
            for offset in offsets {
                let result = match op {
                    Op::Read => file.read_at(offset, &mut memory),
                    Op::Write => file.write_at(offset, &memory),
                };
                moved.push(result.map_or_else(|error| -error.raw_os_error().unwrap(), |count| count as i32));
                whole.push(intact(&memory, offset));
            }
            (moved, [errno(file.sync()), errno(file.close())], whole)
        }
        Lane::Queued(mut queue) => {
            queue.set_memory(Slots::new(1, SIZE).unwrap()).unwrap();
            queue.open().unwrap();
            let mut offsets = offsets;
            let next = |_: &mut dyn tonnage_storage::Queue, slot| Request {
                slot,
                op,
                offset: offsets.next().unwrap(),
                start: 0,
                length: SIZE,
            };
            drive(&mut *queue, 1, count, next, |queue, request, completion| {
                moved.push(completion.result);
                whole.push(intact(&queue.memory(0)[..SIZE], request.offset));
            });
            (moved, [errno(queue.sync()), errno(queue.close())], whole)
        }
    }
}

/// What `faults` do to six operations, the same on a file and on a queue.
fn with(faults: &[Fault], op: Op) -> (Vec<i32>, [Option<i32>; 2], Vec<bool>) {
    let [sync, queued] = [posix(), uring()].map(|kind| {
        let rig = Rig::new(&kind, &disk());
        rig.fill(SIZE, 6);
        results(&Faulty::storage(Arc::clone(&rig.storage), faults.to_vec()), op, 6)
    });
    assert_eq!((&sync.0, sync.1), (&queued.0, queued.1));
    if op == Op::Read {
        assert_eq!(sync.2, queued.2);
    }
    sync
}

#[test]
fn each_rule_strikes_where_it_says() {
    let full = SIZE as i32;
    let eio = -libc::EIO;
    let fail = Fault::FailEvery { op: Op::Read, nth: 3, errno: libc::EIO };
    assert_eq!(with(&[fail], Op::Read).0, [full, full, eio, full, full, eio]);
    assert_eq!(with(&[fail], Op::Write).0, [full; 6], "it is about reads");
    let at = Fault::FailAt { op: Op::Write, offset: 2 * SIZE as u64 + 5, errno: libc::EIO };
    assert_eq!(with(&[at], Op::Write).0, [full, full, eio, full, full, full]);
    let short = Fault::ShortEvery { op: Op::Write, nth: 2 };
    assert_eq!(with(&[short], Op::Write).0, [full, full / 2, full, full / 2, full, full / 2]);
    let room = Fault::FullAfter { bytes: 2 * SIZE as u64 + 100 };
    let no_space = -libc::ENOSPC;
    assert_eq!(with(&[room], Op::Write).0, [full, full, 100, no_space, no_space, no_space]);
}

#[test]
fn a_flipped_bit_is_found_by_the_verifier_and_nothing_else_is() {
    let (moved, _, whole) = with(&[Fault::FlipEvery { nth: 4 }], Op::Read);
    assert_eq!(moved, [SIZE as i32; 6]);
    assert_eq!(whole, [true, true, true, false, true, true]);
}

#[test]
fn sync_and_close_fail_apart() {
    assert_eq!(with(&[Fault::FailSync { errno: libc::EIO }], Op::Write).1, [Some(libc::EIO), None]);
    assert_eq!(with(&[Fault::FailClose { errno: libc::EDQUOT }], Op::Write).1, [None, Some(libc::EDQUOT)]);
}

#[test]
fn a_delay_is_at_least_as_long_as_it_says() {
    let delay = Duration::from_millis(5);
    let started = Instant::now();
    with(&[Fault::DelayEvery { op: Op::Read, nth: 2, delay }], Op::Read);
    assert!(started.elapsed() >= 6 * delay, "three of six, on two lanes");
}

#[test]
fn lanes_share_the_rate_of_bytes_and_never_exceed_it() {
    for kind in [StorageKind::Null, StorageKind::Memory] {
        let inner = open(&TargetSpec::new(kind)).unwrap();
        let storage = Throttled::storage(inner, Some(100_000_000), None);
        let geometry = geometry(100_000, 50, Access::Sequential);
        let started = Instant::now();
        std::thread::scope(|scope| {
            for depth in [1, 8] {
                let (storage, geometry) = (&storage, &geometry);
                scope.spawn(move || write_all(storage, geometry, depth));
            }
        });
        // Ten megabytes at 100 MB/s, less the 10 ms of credit. No upper bound: the machine may be busy.
        assert!(started.elapsed() >= Duration::from_millis(90), "{:?}", started.elapsed());
    }
}

#[test]
fn operations_have_a_rate_of_their_own() {
    let inner = open(&TargetSpec::new(StorageKind::Memory)).unwrap();
    let geometry = geometry(512, 100, Access::Random);
    write_all(&*inner, &geometry, 1);
    let storage = Throttled::storage(inner, None, Some(2000));
    for depth in [1, 16] {
        let started = Instant::now();
        read_all(&storage, &geometry, depth);
        assert!(started.elapsed() >= Duration::from_millis(39), "{:?}", started.elapsed());
    }
}

#[test]
fn what_a_snapshot_leads_to_has_the_same_faults_and_the_same_rate() {
    let rig = Rig::new(&posix(), &disk());
    rig.fill(SIZE, 6);
    let faulty = Faulty::storage(Arc::clone(&rig.storage), vec![Fault::FailEvery { op: Op::Read, nth: 2, errno: libc::EIO }]);
    let (mut snapshots, then) = rig.snapshot(&faulty);
    let full = SIZE as i32;
    assert_eq!(results(&*then, Op::Read, 4).0, [full, -libc::EIO, full, -libc::EIO]);
    snapshots.remove(0).unwrap();
    let (_, then) = rig.snapshot(&Throttled::storage(Arc::clone(&rig.storage), None, Some(50)));
    let started = Instant::now();
    results(&*then, Op::Read, 6);
    assert!(started.elapsed() >= Duration::from_millis(109), "{:?}", started.elapsed());
}

#[test]
fn a_watch_is_had_through_a_wrapper_and_of_no_mapped_file() {
    for (storage, is_watched) in [(StorageKind::Posix, true), (StorageKind::Uring, true), (StorageKind::Mmap, false)] {
        let rig = Rig::new(&Kind { storage, ..posix() }, &disk());
        rig.fill(SIZE, 1);
        let wrapped = Faulty::storage(Arc::clone(&rig.storage), Vec::new());
        assert_eq!([rig.storage.watch(0).is_some(), wrapped.watch(0).is_some()], [is_watched; 2], "{storage:?}");
    }
}

#[test]
fn a_throttled_queue_waits_no_longer_than_it_may_and_gives_the_operation_when_it_is_due() {
    let inner = open(&TargetSpec::new(StorageKind::Memory)).unwrap();
    let geometry = geometry(512, 2, Access::Sequential);
    write_all(&*inner, &geometry, 1);
    let storage = Throttled::storage(inner, None, Some(10));
    let Lane::Queued(mut queue) = storage.lane(&request(&geometry, Op::Read, 2)).unwrap() else { panic!("a queue") };
    queue.set_memory(Slots::new(2, 512).unwrap()).unwrap();
    queue.open().unwrap();
    let began = Instant::now();
    for slot in 0..2 {
        queue.push(Request { slot, op: Op::Read, offset: 512 * u64::from(slot), start: 0, length: 512 });
    }
    // Due after 90 ms (the credit is 10) and after 190 ms.
    queue.submit_and_wait_for(1, Duration::from_millis(20)).unwrap();
    let (waited, early) = (began.elapsed(), queue.next_completion());
    assert!(waited >= Duration::from_millis(20) && (early.is_none() || waited > Duration::from_millis(89)), "{waited:?}");
    queue.submit_and_wait_for(2, Duration::from_secs(60)).unwrap();
    assert!((189..30_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(queue.next_completion().map(|completion| completion.slot).or(early.map(|first| first.slot)), Some(0));
}
