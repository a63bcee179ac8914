//! Whose CPU time a phase's is. Alone in its process, whose threads it looks at.

use std::collections::HashMap;
use std::time::Duration;

use crate::support::{MIB, on_disk, spec, streaming};
use tonnage_engine::Phase;
use tonnage_storage::StorageKind;
use tonnage_workload::Op;

/// CPU time of each kernel worker of `io_uring` that this process has now, by its number, in nanoseconds.
fn workers() -> HashMap<String, u64> {
    let threads = std::fs::read_dir("/proc/self/task").expect("procfs").flatten();
    let stats = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).ok()?;
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(") ")?;
        let ticks = |at: usize| fields.split(' ').nth(at)?.parse::<u64>().ok();
        let worker = name.starts_with("iou-wrk").then(|| Some(ticks(11)? + ticks(12)?))??;
        // `USER_HZ`, which is 100 on every system of today.
        Some((thread.file_name().to_string_lossy().into_owned(), worker * 10_000_000))
    });
    stats.collect()
}

#[test]
fn the_cpu_time_of_a_phase_includes_the_kernels_workers() {
    let (_parent, scratch, storage) = on_disk(StorageKind::Uring);
    let write = streaming(spec(Op::Write, 1), |stream| {
        stream.geometry.transfer_size = 4096;
        stream.geometry.block_size = 256 * MIB;
        stream.queue_depth = 16;
    });
    let mut phase = Phase::prepare(storage, write, None).expect("prepared");
    phase.go();
    let mut seen = HashMap::new();
    while !phase.wait(Duration::from_millis(5)) {
        seen.extend(workers());
    }
    let result = phase.take_result().expect("a result").expect("it ran");
    scratch.remove().expect("nothing foreign in the scratch directory");
    let by_workers: u64 = seen.values().sum();
    if by_workers < 50_000_000 {
        return eprintln!("skipped: this file system needs no workers for writes");
    }
    let all = result.cpu_user_ns + result.cpu_system_ns;
    // The task itself stamps and submits: it is no small part.
    assert!(all > by_workers + by_workers / 20, "{all} ns in all, {by_workers} ns by the kernel's workers");
}
