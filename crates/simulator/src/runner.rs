//! What one task counts.

use tonnage_records::{LatencyRecorder, Role, Tagged, TaskResult};

/// A task of a simulated phase.
pub(crate) struct Runner {
    pub number: u32,
    pub role: Role,
    /// How much longer its operations take.
    pub slowness: f64,
    pub recorder: LatencyRecorder,
    pub bytes: u64,
    pub operations: u64,
    pub errors: u64,
    pub retries: u64,
    pub damaged_operations: u64,
    pub checked_bytes: u64,
    pub timed_out: bool,
    pub wrapped: bool,
    /// Operations and bytes that it had done when the time was up, if it went on to wear out.
    pub stonewall: Option<(u64, u64)>,
    /// It has nothing left to do.
    pub is_over: bool,
    /// When its last operation ended, or it stopped waiting.
    pub end_ns: u64,
    /// Of a follower: how far behind it was, in time and at most in bytes.
    pub lag: Option<(LatencyRecorder, u64)>,
    /// What its snapshots took.
    pub snapshots: Option<LatencyRecorder>,
    /// End and latency of its first operations, as many as are kept one by one.
    pub log: Vec<(u64, u64)>,
    /// Operations that it keeps in flight for as long as the phase's time lasts; 0 where anything else decides.
    pub in_flight: u64,
    /// When the first of them had ended, as many.
    pub started_up_ns: Option<u64>,
    /// What it took after that to make its data durable.
    pub sync_ns: u64,
}

impl Runner {
    pub fn new(number: u32, slowness: f64, start_ns: u64) -> Self {
        Self {
            number,
            role: Role::Work,
            slowness,
            recorder: LatencyRecorder::new(),
            bytes: 0,
            operations: 0,
            errors: 0,
            retries: 0,
            damaged_operations: 0,
            checked_bytes: 0,
            timed_out: false,
            wrapped: false,
            stonewall: None,
            is_over: false,
            end_ns: start_ns,
            lag: None,
            snapshots: None,
            log: Vec::new(),
            in_flight: 0,
            started_up_ns: None,
            sync_ns: 0,
        }
    }

    /// Its histograms, as they are tagged in the file.
    pub fn histograms(&self) -> impl Iterator<Item = (Tagged, &LatencyRecorder)> {
        let own = Tagged::of(self.role, self.number);
        let lag = self.lag.as_ref().map(|(lag, _)| (Tagged::Lag(self.number), lag));
        let snapshots = self.snapshots.as_ref().map(|taken| (Tagged::Snapshot(self.number), taken));
        std::iter::once((own, &self.recorder)).chain(lag).chain(snapshots)
    }

    /// Its part of the result of a phase that began at `start_ns`.
    pub fn result(&self, start_ns: u64) -> TaskResult {
        TaskResult {
            task: self.number,
            role: self.role,
            start_ns,
            end_ns: self.end_ns + self.sync_ns,
            transfer_ns: self.end_ns - start_ns,
            sync_ns: self.sync_ns,
            bytes: self.bytes,
            operations: self.operations,
            errors: self.errors,
            retries: self.retries,
            damaged_operations: self.damaged_operations,
            wrapped: self.wrapped,
            stonewall_operations: self.stonewall.map(|(operations, _)| operations),
            stonewall_bytes: self.stonewall.map(|(_, bytes)| bytes),
            latency: self.recorder.summary(),
            max_lag_ns: self.lag.as_ref().map(|(lag, _)| lag.summary().max_ns),
            max_lag_bytes: self.lag.as_ref().map(|(_, bytes)| *bytes),
            ..TaskResult::default()
        }
        .with_startup(self.in_flight, self.started_up_ns, self.timed_out)
    }
}
