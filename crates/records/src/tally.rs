//! What a phase's result makes of what its tasks counted. The engine counts on real storage and the simulator on a model;
//! what that comes to is the same.

use crate::latency::LatencyRecorder;
use crate::result::{DamageAt, Event, FollowResult, OperationResult, StopReason, TaskResult, VerifyResult};

/// The kinds of operation of a phase that mixes, as its record names them.
pub const SIDES: [&str; 2] = ["write", "read"];
/// Damaged places that a result names; more are counted only.
pub const DAMAGE_KEPT: usize = 16;

/// A task that completed nothing for this long has stalled…
const STALL_NS: u64 = 1_000_000_000;
/// …unless its operations usually take that long: at least this many mean latencies, or mean times between two of them
/// where those are shorter (in an open loop the waiting behind one stall would hide the next).
const STALL_LATENCIES: u64 = 8;

/// What operations of one kind did.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// Their latencies.
    pub recorder: LatencyRecorder,
    /// Bytes that they moved.
    pub bytes: u64,
}

impl Side {
    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.recorder.add(&other.recorder);
        self.bytes += other.bytes;
    }

    /// Counts an operation.
    #[inline]
    pub fn record(&mut self, latency_ns: u64, bytes: u64) {
        self.recorder.record(latency_ns);
        self.bytes += bytes;
    }
}

/// What the result says of the two kinds of operation of a phase that mixes: writes first.
#[must_use]
pub fn parts_of(sides: &[Side; 2]) -> Vec<OperationResult> {
    let part = |(op, side): (&str, &Side)| {
        let latency = side.recorder.summary();
        OperationResult { op: op.to_owned(), bytes: side.bytes, operations: latency.count, latency }
    };
    SIDES.into_iter().zip(sides).map(part).collect()
}

/// What a task had done until it completed nothing for a while.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Operations that it had completed.
    pub operations: u64,
    /// The sum of their latencies.
    pub latency_sum_ns: u64,
    /// When the phase began, when the task was last seen to make progress, and when it did so again.
    pub opened_ns: u64,
    /// See above.
    pub progress_ns: u64,
    /// See above.
    pub now_ns: u64,
}

impl Silence {
    /// The event that it is, if it is a stall.
    #[must_use]
    pub fn stall(self, task: u32) -> Option<Event> {
        let Self { operations, latency_sum_ns, opened_ns, progress_ns, now_ns } = self;
        let lasted_ns = now_ns - progress_ns;
        if lasted_ns < STALL_NS {
            return None;
        }
        let latency_ns = latency_sum_ns.checked_div(operations).unwrap_or(0);
        let between_ns = (progress_ns - opened_ns).checked_div(operations).unwrap_or(0);
        let is_stall = lasted_ns >= STALL_LATENCIES * latency_ns.min(between_ns);
        let (kind, duration_ns) = ("stall".to_owned(), Some(lasted_ns));
        is_stall.then(|| Event { time_ns: progress_ns, kind, task: Some(task), duration_ns, ..Event::default() })
    }
}

impl StopReason {
    /// Why a phase ended that failed, was asked to stop, or whose time was up.
    #[must_use]
    pub const fn of(failed: bool, interrupted: bool, timed_out: bool) -> Self {
        match (failed, interrupted, timed_out) {
            (true, ..) => Self::Error,
            (_, true, _) => Self::Interrupted,
            (.., true) => Self::Time,
            (false, false, false) => Self::Size,
        }
    }
}

impl VerifyResult {
    /// With what one task found.
    pub fn add(&mut self, checked_bytes: u64, damaged_operations: u64, damage: impl IntoIterator<Item = DamageAt>) {
        self.checked_bytes += checked_bytes;
        self.damaged_operations += damaged_operations;
        let room = DAMAGE_KEPT.saturating_sub(self.first_damage.len());
        self.first_damage.extend(damage.into_iter().take(room));
    }
}

impl TaskResult {
    /// With its start-up: its first operations, as many as it keeps `in_flight` (0: something else decides), the last of
    /// which ended at `ended_ns`. None is told of a task that began no other before its time was up.
    #[must_use]
    pub fn with_startup(mut self, in_flight: u64, ended_ns: Option<u64>, timed_out: bool) -> Self {
        let went_on = timed_out && in_flight > 0 && self.operations > in_flight;
        let startup = |ended_ns: u64| (ended_ns - self.start_ns, self.bytes / self.operations * in_flight);
        (self.startup_ns, self.startup_bytes) = ended_ns.filter(|_| went_on).map(startup).unzip();
        self
    }
}

/// What one reader of a file that grows leaves behind.
#[derive(Debug, Clone)]
pub struct Followed {
    /// The task.
    pub task: u32,
    /// Bytes that it read.
    pub bytes: u64,
    /// From the end of a transfer's write to the end of its read here.
    pub lag: LatencyRecorder,
    /// The most that was written and not yet read here.
    pub max_lag_bytes: u64,
    /// How often it found nothing to read.
    pub waits: u64,
}

impl FollowResult {
    /// What all `readers` come to; `device_bytes` came from a device meanwhile.
    #[must_use]
    pub fn of<'a>(readers: impl IntoIterator<Item = &'a Followed>, device_bytes: Option<u64>) -> Self {
        let mut lag = LatencyRecorder::new();
        let mut follow = Self { device_bytes, ..Self::default() };
        for reader in readers {
            lag.add(&reader.lag);
            follow.readers += 1;
            follow.bytes += reader.bytes;
            follow.waits += reader.waits;
            follow.max_lag_bytes = follow.max_lag_bytes.max(reader.max_lag_bytes);
        }
        follow.lag = lag.summary();
        follow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Whether a silence of `silence_ns` counts, after 100 operations of `latency_ns` in 100 s.
    fn is_stall(silence_ns: u64, latency_ns: u64) -> bool {
        let (opened_ns, progress_ns) = (5 * S, 105 * S);
        let now_ns = progress_ns + silence_ns;
        Silence { operations: 100, latency_sum_ns: 100 * latency_ns, opened_ns, progress_ns, now_ns }.stall(0).is_some()
    }

    #[test]
    fn a_silence_is_a_stall_by_latency_or_by_what_is_usual_between_operations() {
        assert!(is_stall(S, S / 1000));
        assert!(!is_stall(S - 1, S / 1000), "shorter than a second");
        assert!(!is_stall(8 * S - 1, S), "operations take as long, and come as seldom");
        assert!(is_stall(8 * S, S));
        assert!(is_stall(8 * S, 20 * S), "in an open loop latencies hold the waiting behind an earlier stall");
    }
}
