//! What a target may be asked besides its kind: delays, advice on mappings, locks on ranges.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{geometry, read_all, request, write_all};
use tonnage_storage::{Advice, Delays, DirectMode, Lane, Scratch, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, Op};

fn delayed(delays: Delays) -> Arc<dyn Storage> {
    open(&TargetSpec { delays, ..TargetSpec::new(StorageKind::Null) }).unwrap()
}

/// How long each of open, write, read, sync and close takes, in milliseconds.
fn times(storage: &dyn Storage, op: Op, task: u32) -> [u128; 4] {
    let asked = tonnage_storage::OpenRequest { task, ..request(&geometry(4096, 1, Access::Sequential), op, 1) };
    let Lane::Sync(mut file) = storage.lane(&asked).unwrap() else { panic!("a depth of one") };
    let mut buffer = vec![0; 4096];
    let mut time = |step: usize| {
        let began = Instant::now();
        match step {
            0 => file.open().unwrap(),
            1 if op == Op::Write => assert_eq!(file.write_at(0, &buffer).unwrap(), 4096),
            1 => assert_eq!(file.read_at(0, &mut buffer).unwrap(), 4096),
            2 => file.sync().unwrap(),
            _ => file.close().unwrap(),
        }
        began.elapsed().as_millis()
    };
    [time(0), time(1), time(2), time(3)]
}

#[test]
fn a_null_storage_waits_as_long_as_it_was_told_in_the_call_it_was_told_and_no_other() {
    let long = 150_000_000;
    for (delays, step) in [
        (Delays { create_ns: long, ..Delays::default() }, 0),
        (Delays { transfer_ns: long, ..Delays::default() }, 1),
        (Delays { sync_ns: long, ..Delays::default() }, 2),
        (Delays { close_ns: long, ..Delays::default() }, 3),
    ] {
        let storage = delayed(delays);
        for op in [Op::Write, Op::Read] {
            // Only a write creates.
            let waits = |at| at == step && (op == Op::Write || step != 0);
            let found = times(&*storage, op, 3);
            assert!((0..4).all(|at| (found[at] >= 150) == waits(at)), "{delays:?} {op:?}: {found:?}");
        }
    }
}

#[test]
fn delays_of_one_task_are_that_tasks_alone() {
    let storage = delayed(Delays { transfer_ns: 150_000_000, task: Some(1), ..Delays::default() });
    assert!(times(&*storage, Op::Read, 0)[1] < 150);
    assert!(times(&*storage, Op::Read, 1)[1] >= 150);
}

#[test]
fn mapped_files_hold_the_same_bytes_whatever_the_kernel_was_told() {
    for advice in [vec![Advice::Sequential], vec![Advice::Random, Advice::DontNeed]] {
        let home = tempfile::tempdir_in(crate::support::disk()).unwrap();
        let scratch = Scratch::create(home.path(), "advice").unwrap();
        let spec = TargetSpec { directories: vec![scratch.path().to_owned()], advice, ..TargetSpec::new(StorageKind::Mmap) };
        let storage = open(&spec).unwrap();
        let geometry = geometry(4096, 50, Access::Random);
        write_all(&*storage, &geometry, 1);
        read_all(&*storage, &geometry, 1);
    }
}

#[test]
fn the_kernel_is_told_what_the_target_says_of_a_mapping() {
    let home = tempfile::tempdir_in(crate::support::disk()).unwrap();
    let scratch = Scratch::create(home.path(), "advice").unwrap();
    for (advice, flag) in [(Advice::Random, "rr"), (Advice::Sequential, "sr")] {
        let directories = vec![scratch.path().to_owned()];
        let storage = open(&TargetSpec { directories, advice: vec![advice], ..TargetSpec::new(StorageKind::Mmap) }).unwrap();
        let Lane::Sync(mut file) = storage.lane(&request(&geometry(4096, 4, Access::Sequential), Op::Write, 1)).unwrap() else {
            panic!("mapped files have no queue")
        };
        file.open().unwrap();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let ours = maps.split("VmFlags:").zip(maps.split("VmFlags:").skip(1));
        let name = scratch.path().to_str().unwrap();
        let flags: Vec<&str> = ours.filter(|(head, _)| head.contains(name)).filter_map(|(_, tail)| tail.lines().next()).collect();
        assert!(flags.len() == 1 && flags[0].split_whitespace().any(|word| word == flag), "{advice:?}: {flags:?}");
    }
}

#[test]
fn a_transfer_waits_for_a_lock_on_its_bytes_and_not_for_one_on_others() {
    let home = tempfile::tempdir_in(crate::support::disk()).unwrap();
    let scratch = Scratch::create(home.path(), "locks").unwrap();
    let directories = vec![scratch.path().to_owned()];
    let storage =
        open(&TargetSpec { directories, range_locks: true, direct: DirectMode::No, ..TargetSpec::new(StorageKind::Posix) })
            .unwrap();
    let geometry = geometry(4096, 2, Access::Sequential);
    write_all(&*storage, &geometry, 1);
    read_all(&*storage, &geometry, 1);
    let other = std::fs::OpenOptions::new().read(true).write(true).open(scratch.path().join("data.00000000")).unwrap();
    let set = |kind: libc::c_int| {
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        (range.l_type, range.l_start, range.l_len) = (kind as libc::c_short, 4096, 4096);
        assert_eq!(unsafe { libc::fcntl(other.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) }, 0);
    };
    set(libc::F_WRLCK);
    let Lane::Sync(mut file) = storage.lane(&request(&geometry, Op::Write, 1)).unwrap() else { panic!("a depth of one") };
    file.open().unwrap();
    assert_eq!(file.write_at(0, &[7; 4096]).unwrap(), 4096, "nobody holds these");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.send(file.write_at(4096, &[7; 4096]).unwrap()).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err(), "somebody holds those");
        set(libc::F_UNLCK);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(10)).unwrap(), 4096);
    });
}

#[test]
fn an_option_of_another_kind_is_an_error_and_not_passed_over() {
    for (spec, said) in [
        (TargetSpec { advice: vec![Advice::Random], ..TargetSpec::new(StorageKind::Null) }, "advice is for kind mmap, not null"),
        (TargetSpec { range_locks: true, ..TargetSpec::new(StorageKind::Uring) }, "range_locks is for kind posix, not uring"),
        (
            TargetSpec { delays: Delays { sync_ns: 1, ..Delays::default() }, ..TargetSpec::new(StorageKind::Memory) },
            "delays is for kind null, not memory",
        ),
    ] {
        let error = open(&spec).err().expect("an option of another kind").to_string();
        assert!(error.contains(said), "{error}");
    }
}
