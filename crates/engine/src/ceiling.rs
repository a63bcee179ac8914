//! The memory ceiling: no figure of this host can be above what it copies in memory without a flag.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tonnage_storage::{Buffer, Result};

/// Rate at which `tasks` threads together copy buffers of `transfer_size` bytes, in bytes per second, measured for
/// `duration` after every page was touched. Each thread copies between two buffers of its own.
pub fn memory_copy_bytes_per_s(transfer_size: usize, tasks: usize, duration: Duration) -> Result<u64> {
    let tasks = tasks.max(1);
    let buffers =
        (0..tasks).map(|_| Ok((Buffer::new(transfer_size)?, Buffer::new(transfer_size)?))).collect::<Result<Vec<_>>>()?;
    let (start_line, copied, slowest_ns) = (Barrier::new(tasks), AtomicU64::new(0), AtomicU64::new(1));
    std::thread::scope(|scope| {
        for (mut from, mut to) in buffers {
            let (start_line, copied, slowest_ns) = (&start_line, &copied, &slowest_ns);
            scope.spawn(move || {
                from.fill(0xa5);
                start_line.wait();
                let start = Instant::now();
                let mut bytes = 0;
                while start.elapsed() < duration {
                    to.copy_from_slice(std::hint::black_box(&from));
                    std::hint::black_box(&mut to);
                    bytes += from.len() as u64;
                }
                copied.fetch_add(bytes, Relaxed);
                slowest_ns.fetch_max(start.elapsed().as_nanos() as u64, Relaxed);
            });
        }
    });
    let (bytes, ns) = (copied.into_inner(), slowest_ns.into_inner());
    Ok((u128::from(bytes) * 1_000_000_000 / u128::from(ns)) as u64)
}
