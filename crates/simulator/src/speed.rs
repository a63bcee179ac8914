//! How long an operation takes now.

use tonnage_workload::PhaseSpec;

use crate::model::ModelSpec;
use crate::seeded_random::Chance;
use crate::trial;

/// How much slower the warm-up is.
const WARMUP: f64 = 2.0;
const NS_PER_MINUTE: f64 = 60e9;

/// The device's speed in one phase, which changes with the number of operations in flight and with time.
///
/// An operation is known by its cost: the seconds that the device, used at its plateau by many tasks, would spend on
/// it. So operations of several kinds share one device, each with its own weight.
pub(crate) struct Speed<'a> {
    model: &'a ModelSpec,
    trial: f64,
    drift: f64,
    warm_at_ns: u64,
    /// Mean latency of an operation that costs a second.
    second_ns: f64,
    in_flight: u64,
}

impl<'a> Speed<'a> {
    /// Draws the trial's noise.
    pub fn new(model: &'a ModelSpec, spec: &PhaseSpec, start_ns: u64, chance: &mut Chance) -> Self {
        let trial = trial::speed(model, spec, chance);
        let warm_at_ns = start_ns.saturating_add(model.warmup_ns);
        let mut speed = Self { model, trial, drift: 1.0, warm_at_ns, second_ns: 0.0, in_flight: 0 };
        speed.pass(start_ns);
        speed
    }

    /// Takes account of the time.
    pub fn pass(&mut self, now_ns: u64) {
        let step = if now_ns >= self.model.step_at_ns { 1.0 + self.model.step } else { 1.0 };
        self.drift = step * (1.0 + self.model.drift).powf(now_ns as f64 / NS_PER_MINUTE);
        self.crowd(self.in_flight);
    }

    /// Takes account of how many operations are in flight.
    pub fn crowd(&mut self, in_flight: u64) {
        self.in_flight = in_flight;
        self.second_ns = self.model.crowd_ns(in_flight.max(1)) / self.device_share();
    }

    /// What the device can move now, as a share of its plateau.
    #[inline]
    pub fn device_share(&self) -> f64 {
        self.trial * self.drift
    }

    /// Mean latency of an operation that costs `cost_s` seconds of the device.
    #[inline]
    pub fn device_ns(&self, cost_s: f64, now_ns: u64) -> f64 {
        let latency_ns = self.second_ns * cost_s;
        if now_ns < self.warm_at_ns { latency_ns * WARMUP } else { latency_ns }
    }

    /// What a latency of `latency_ns` on a device at its usual speed is now.
    #[inline]
    pub fn slowed_ns(&self, latency_ns: f64, now_ns: u64) -> f64 {
        let latency_ns = latency_ns / self.device_share();
        if now_ns < self.warm_at_ns { latency_ns * WARMUP } else { latency_ns }
    }

    /// The same as `device_ns` where `in_flight` operations share the device, whatever else goes on.
    pub fn device_ns_among(&self, in_flight: u64, cost_s: f64, now_ns: u64) -> f64 {
        let latency_ns = self.model.crowd_ns(in_flight.max(1)) / self.device_share() * cost_s;
        if now_ns < self.warm_at_ns { latency_ns * WARMUP } else { latency_ns }
    }

    /// Mean latency of a read of `bytes` from the page cache. Memory has no knee: one task is enough to fill it.
    #[inline]
    pub fn cache_ns(&self, bytes: u64) -> f64 {
        (self.in_flight.max(1) * bytes) as f64 * 1e9 / self.model.cache_bytes_per_s as f64
    }
}
