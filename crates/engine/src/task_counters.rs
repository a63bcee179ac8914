//! What a task lets others see while it runs: counters that only it writes and anyone may read.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use tonnage_records::{BUCKETS, bucket_of};

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Waiting,
    Transferring,
    /// Waits between operations, by plan.
    Pausing,
    Finishing,
    Ended,
}

/// Counters of one task. Written by plain stores (no locked instruction), read about ten times a second; on cache
/// lines of its own, so that tasks do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
pub struct TaskCounters {
    operations: AtomicU64,
    bytes: AtomicU64,
    latency_sum_ns: AtomicU64,
    step: AtomicU8,
    /// On the run's clock; 0 before that.
    started_ns: AtomicU64,
    heat: [AtomicU32; BUCKETS],
}

/// One reading of them. `heat` wraps; differences of two readings do not.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub operations: u64,
    pub bytes: u64,
    pub latency_sum_ns: u64,
    pub heat: [u32; BUCKETS],
}

impl Default for Reading {
    fn default() -> Self {
        Self { operations: 0, bytes: 0, latency_sum_ns: 0, heat: [0; BUCKETS] }
    }
}

impl TaskCounters {
    pub fn new() -> Self {
        Self {
            operations: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            latency_sum_ns: AtomicU64::new(0),
            step: AtomicU8::new(Step::Waiting as u8),
            started_ns: AtomicU64::new(0),
            heat: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }

    /// Counts an operation. Only the owning task calls this.
    #[inline]
    pub fn count(&self, latency_ns: u64, bytes: u64) {
        self.operations.store(self.operations.load(Relaxed) + 1, Relaxed);
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
        self.latency_sum_ns.store(self.latency_sum_ns.load(Relaxed).wrapping_add(latency_ns), Relaxed);
        let cell = &self.heat[bucket_of(latency_ns)];
        cell.store(cell.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The task crosses the start line.
    pub fn start(&self, now_ns: u64) {
        self.started_ns.store(now_ns, Relaxed);
    }

    /// When it did; `None` before that.
    pub fn started_ns(&self) -> Option<u64> {
        Some(self.started_ns.load(Relaxed)).filter(|&ns| ns > 0)
    }

    pub fn set_step(&self, step: Step) {
        self.step.store(step as u8, Relaxed);
    }

    /// Does `what` as another step than the task is in, and goes back to that.
    pub fn during<T>(&self, step: Step, what: impl FnOnce() -> T) -> T {
        let before = self.step.load(Relaxed);
        self.set_step(step);
        let done = what();
        self.step.store(before, Relaxed);
        done
    }

    pub fn is_transferring(&self) -> bool {
        self.step.load(Relaxed) == Step::Transferring as u8
    }

    pub fn operations(&self) -> u64 {
        self.operations.load(Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    pub fn read(&self) -> Reading {
        Reading {
            operations: self.operations(),
            bytes: self.bytes(),
            latency_sum_ns: self.latency_sum_ns.load(Relaxed),
            heat: std::array::from_fn(|bucket| self.heat[bucket].load(Relaxed)),
        }
    }
}

/// Sum of some readings' buckets.
pub fn total_heat(heats: impl Iterator<Item = [u32; BUCKETS]>) -> [u64; BUCKETS] {
    let mut total = [0; BUCKETS];
    for heat in heats {
        for (sum, count) in total.iter_mut().zip(heat) {
            *sum += u64::from(count);
        }
    }
    total
}

/// The latency below which a share `quantile` of the operations in `heat` completed; 0 where there are none.
pub fn quantile_of(heat: &[u64; BUCKETS], quantile: f64) -> u64 {
    let total: u64 = heat.iter().sum();
    let rank = ((total as f64 * quantile).ceil() as u64).max(1);
    let mut seen = 0;
    for (bucket, count) in heat.iter().enumerate() {
        seen += count;
        if total > 0 && seen >= rank {
            return tonnage_records::bucket_bounds(bucket).1;
        }
    }
    0
}
