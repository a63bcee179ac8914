//! How long an operation takes now.

use tonnage_workload::Op;

use crate::chance::Chance;
use crate::model::ModelSpec;

/// How much slower an outlying trial is.
const OUTLIER: f64 = 3.0;
/// How much slower the warm-up is.
const WARMUP: f64 = 2.0;
const NS_PER_MINUTE: f64 = 60e9;

/// Mean latencies of one phase, in nanoseconds, which change with the number of operations in flight and with time.
pub(crate) struct Pace<'a> {
    model: &'a ModelSpec,
    transfer_size: u64,
    /// Plateau of this trial, its noise included, without drift.
    plateau: f64,
    trial: f64,
    warm_at_ns: u64,
    device_ns: f64,
    burst_ns: f64,
    cache_ns: f64,
    /// Bytes per second that the device moves at best now.
    pub device_bytes_per_s: f64,
}

impl<'a> Pace<'a> {
    /// Draws the trial's noise.
    pub fn new(model: &'a ModelSpec, op: Op, transfer_size: u64, start_ns: u64, chance: &mut Chance) -> Self {
        let noise = (model.noise * chance.normal()).exp();
        let trial = if chance.uniform() < model.outliers { noise / OUTLIER } else { noise };
        Self {
            model,
            transfer_size,
            plateau: model.plateau(op, transfer_size) * trial,
            trial,
            warm_at_ns: start_ns.saturating_add(model.warmup_ns),
            device_ns: 0.0,
            burst_ns: 0.0,
            cache_ns: 0.0,
            device_bytes_per_s: 0.0,
        }
    }

    /// Takes account of the time and of how many operations are in flight.
    pub fn refresh(&mut self, now_ns: u64, in_flight: u64) {
        let drift = (1.0 + self.model.drift).powf(now_ns as f64 / NS_PER_MINUTE);
        let (model, size, in_flight) = (self.model, self.transfer_size, in_flight.max(1));
        self.device_bytes_per_s = self.plateau * drift;
        self.device_ns = model.latency_ns(in_flight, size, self.device_bytes_per_s);
        self.burst_ns = model.latency_ns(in_flight, size, model.burst_bytes_per_s as f64 * self.trial * drift);
        // Memory has no knee: one task is enough to fill it.
        self.cache_ns = (in_flight * size) as f64 * 1e9 / model.cache_bytes_per_s as f64;
    }

    /// Mean latency of a transfer to or from the device.
    #[inline]
    pub fn device_ns(&self, now_ns: u64) -> f64 {
        if now_ns < self.warm_at_ns { self.device_ns * WARMUP } else { self.device_ns }
    }

    /// Mean latency of a write that the burst buffer takes.
    #[inline]
    pub fn burst_ns(&self, now_ns: u64) -> f64 {
        if now_ns < self.warm_at_ns { self.burst_ns * WARMUP } else { self.burst_ns }
    }

    /// Mean latency of a read from the page cache.
    #[inline]
    pub fn cache_ns(&self) -> f64 {
        self.cache_ns
    }
}
