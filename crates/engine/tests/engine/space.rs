//! A phase that was not checked to fit ends before a file system is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{MIB, null, run, spec, streaming};
use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{Space, Storage, Wrapper};
use tonnage_workload::{Limit, Op, PhaseSpec, TaskRange};

/// Of which each look finds 40 MiB fewer free.
struct Filling {
    inner: Arc<dyn Storage>,
    free_bytes: AtomicU64,
}

impl Wrapper for Filling {
    fn inner(&self) -> &dyn Storage {
        self.inner.as_ref()
    }

    fn space(&self) -> Vec<Space> {
        let free_bytes = self.free_bytes.fetch_sub(40 * MIB, Ordering::Relaxed);
        let (path, size_bytes) = ("/filling".into(), 1000 * MIB);
        vec![Space { path, free_bytes, size_bytes, taken_bytes: 0, counts_at_once: true }]
    }
}

#[test]
fn those_of_other_processes_are_told_to_end_as_well() {
    let limit = Limit { time_ns: Some(20_000_000_000), watch_space: true, ..Limit::default() };
    let storage = Arc::new(Filling { inner: null(), free_bytes: AtomicU64::new(1000 * MIB) });
    let tasks = TaskRange { first: 0, here: 2, total: 4 };
    let apart = PhaseSpec { limit: Limit { wear_out: true, ..limit }, tasks, ..spec(Op::Write, 2) };
    let mut phase =
        Phase::prepare(storage, streaming(apart, |stream| stream.geometry.block_size = 1 << 50), None).expect("ready");
    phase.go();
    while !phase.wait(Duration::from_secs(60)) {
        assert_eq!(phase.meeting(), None, "it waits for no agreement");
    }
    assert!(phase.live().failed);
}

fn written(watch_space: bool, block_size: u64) -> (PhaseResult, u64) {
    let limit = Limit { time_ns: Some(20_000_000_000), watch_space, ..Limit::default() };
    let filling = Arc::new(Filling { inner: null(), free_bytes: AtomicU64::new(1000 * MIB) });
    let storage: Arc<dyn Storage> = filling.clone();
    let phase = streaming(PhaseSpec { limit, ..spec(Op::Write, 2) }, |stream| stream.geometry.block_size = block_size);
    (run(&storage, phase, None), filling.free_bytes.load(Ordering::Relaxed))
}

#[test]
fn it_fails_with_what_is_left_and_what_to_do() {
    let (result, free_bytes) = written(true, 1 << 50);
    assert_eq!(result.stop_reason, StopReason::Error);
    assert!(free_bytes >= 50 * MIB, "{free_bytes} are below a twentieth");
    let told = result.first_error.expect("an error").message;
    assert!(told.starts_with("/filling is nearly full: ") && told.contains(" of 1000.0 MiB are left"), "{told}");
    assert!(told.contains("ends before fewer than 50.0 MiB are; use a shorter time limit"), "{told}");
    assert!(result.tasks.iter().all(|task| task.errors == 0), "no operation failed");
}

#[test]
fn one_that_fits_or_was_checked_is_not_looked_after() {
    let (result, free_bytes) = written(true, 4 * MIB);
    assert_eq!((result.stop_reason, free_bytes), (StopReason::Size, 960 * MIB), "one look says that it fits");
    let (result, free_bytes) = written(false, 4 * MIB);
    assert_eq!((result.stop_reason, free_bytes), (StopReason::Size, 1000 * MIB));
}
