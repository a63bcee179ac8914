//! What is particular to `io_uring`: what the kernel was told beforehand, threads, and life without it.

use std::time::{Duration, Instant};

use crate::support::{Kind, Rig, disk, geometry, read_all, request, write_all};
use tonnage_storage::{DirectMode, Lane, Request, Slots, StorageKind};
use tonnage_workload::{Access, Op};

fn uring() -> Kind {
    Kind::new(StorageKind::Uring, DirectMode::No)
}

fn flag(rig: &Rig, name: &str) -> Option<bool> {
    rig.storage.facts().flags.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Whether this machine has `io_uring`; the reason is printed if not.
fn available(rig: &Rig) -> bool {
    let there = flag(rig, "io_uring") == Some(true);
    if !there {
        eprintln!("skipped: {:?}", rig.storage.facts().notes);
    }
    there
}

/// From now on, in this thread, `io_uring_setup` fails with EPERM, as in most containers.
fn forbid_io_uring() {
    const LOAD_NUMBER: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let equal = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_io_uring_setup as u32 };
    let result = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let mut filter = [LOAD_NUMBER, equal, result(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32), result(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a filter for this thread alone, in the kernel's layout; the kernel copies it.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(refused, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn where_it_is_off_operations_are_done_one_at_a_time_and_a_note_says_why() {
    let rig = Rig::new(&uring(), &disk());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            forbid_io_uring();
            let geometry = geometry(4096, 40, Access::Random);
            write_all(&*rig.storage, &geometry, 8);
            read_all(&*rig.storage, &geometry, 8);
        });
    });
    assert_eq!(flag(&rig, "io_uring"), Some(false));
    let notes = rig.storage.facts().notes;
    assert!(notes.iter().any(|(code, text)| *code == "io-uring-off" && text.contains("not permitted")), "{notes:?}");
}

#[test]
fn facts_say_what_the_kernel_was_told_beforehand() {
    let rig = Rig::new(&uring(), &disk());
    rig.fill(4096, 4);
    if available(&rig) {
        assert_eq!(flag(&rig, "registered_files"), Some(true));
        let noted = rig.storage.facts().notes.iter().any(|(code, _)| *code == "no-fixed-buffers");
        assert_eq!(flag(&rig, "fixed_buffers"), Some(!noted));
    }
}

#[test]
fn a_lane_may_be_prepared_on_another_thread_than_it_runs_on() {
    let rig = Rig::new(&uring(), &disk());
    rig.fill(4096, 4);
    let Lane::Queued(mut queue) = rig.storage.lane(&request(&geometry(4096, 4, Access::Sequential), Op::Read, 4)).unwrap() else {
        panic!("a queue")
    };
    queue.set_memory(Slots::new(4, 4096).unwrap()).unwrap();
    let moved = std::thread::spawn(move || {
        queue.open().unwrap();
        for slot in 0..4 {
            queue.push(Request { slot, op: Op::Read, offset: u64::from(slot) * 4096, start: 0, length: 4096 });
        }
        queue.submit_and_wait(4).unwrap();
        std::iter::from_fn(|| queue.next_completion()).map(|completion| completion.result).sum::<i32>()
    });
    assert_eq!(moved.join().unwrap(), 4 * 4096);
}

#[test]
fn a_wait_with_an_end_ends_though_nothing_completed_and_sooner_when_something_did() {
    let rig = Rig::new(&uring(), &disk());
    rig.fill(4096, 1);
    let Lane::Queued(mut queue) = rig.storage.lane(&request(&geometry(4096, 1, Access::Sequential), Op::Read, 4)).unwrap() else {
        panic!("a queue")
    };
    if !available(&rig) {
        return;
    }
    queue.set_memory(Slots::new(4, 4096).unwrap()).unwrap();
    queue.open().unwrap();
    let began = Instant::now();
    queue.submit_and_wait_for(1, Duration::from_millis(30)).unwrap();
    assert!((30..5000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert!(queue.next_completion().is_none());
    queue.push(Request { slot: 0, op: Op::Read, offset: 0, start: 0, length: 4096 });
    queue.submit_and_wait_for(1, Duration::from_secs(60)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(queue.next_completion().map(|completion| completion.result), Some(4096));
}

#[test]
fn a_queue_dropped_with_operations_in_flight_waits_for_them() {
    let rig = Rig::new(&Kind { direct: DirectMode::Auto, ..uring() }, &disk());
    let geometry = geometry(1 << 20, 8, Access::Sequential);
    let Lane::Queued(mut queue) = rig.storage.lane(&request(&geometry, Op::Write, 8)).unwrap() else { panic!("a queue") };
    if !available(&rig) {
        return;
    }
    queue.set_memory(Slots::new(8, 1 << 20).unwrap()).unwrap();
    queue.open().unwrap();
    for slot in 0..8 {
        queue.memory(slot).fill(7);
        queue.push(Request { slot, op: Op::Write, offset: u64::from(slot) << 20, start: 0, length: 1 << 20 });
        // Half of them are with the kernel when the queue goes, half are still to be handed over.
        if slot == 3 {
            queue.submit_and_wait(0).unwrap();
        }
    }
    drop(queue);
    let written = std::fs::read(&rig.file).unwrap();
    assert!(written.len() == 8 << 20 && written.iter().all(|&byte| byte == 7), "{} bytes", written.len());
}
