//! The laws of throughput over concurrency.

use tonnage_workload::{FileOp, Op};

use crate::curves;
use crate::model::{DEFAULT_KNEE, ModelSpec, Shape};

/// Share of the plateau that the load line asks for.
const NEAR: f64 = 0.95;

impl ModelSpec {
    /// Plateau of transfers of `transfer_size` bytes on the device, in bytes per second: where nodes share nothing, that
    /// of the one node.
    pub(crate) fn plateau(&self, op: Op, transfer_size: u64) -> f64 {
        let shared = self.shared_plateau(op, transfer_size);
        if shared.is_finite() { shared } else { self.node_plateau(op).unwrap_or(shared) }
    }

    /// What all nodes share; infinite where they share nothing.
    pub(crate) fn shared_plateau(&self, op: Op, transfer_size: u64) -> f64 {
        let bytes = match op {
            Op::Write => self.plateau_bytes_per_s,
            Op::Read => self.read_plateau_bytes_per_s.or(self.plateau_bytes_per_s),
        };
        let bytes = bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let capped = self.operations_per_s.map_or(f64::INFINITY, |operations| operations as f64 * transfer_size as f64);
        capped.min(bytes)
    }

    /// Plateau of one node, in bytes per second; `None` where nodes mean nothing.
    pub(crate) fn node_plateau(&self, op: Op) -> Option<f64> {
        let bytes = match op {
            Op::Write => self.node_plateau_bytes_per_s,
            Op::Read => self.read_node_plateau_bytes_per_s.or(self.node_plateau_bytes_per_s),
        };
        bytes.map(|bytes| bytes as f64)
    }

    /// What an operation on a name costs, in creations of an empty file.
    pub(crate) const fn name_weight(op: FileOp) -> f64 {
        match op {
            FileOp::Create | FileOp::MakeDirectory | FileOp::MakeTree => 1.0,
            FileOp::Stat | FileOp::StatDirectory => 0.4,
            FileOp::Read | FileOp::Write => 0.6,
            FileOp::OpenWriteClose => 0.8,
            // To make it, to look at it, and to remove it.
            FileOp::Churn => 2.6,
            FileOp::ReadDirectory => 2.0,
            FileOp::Rename | FileOp::RenameDirectory => 1.5,
            FileOp::Remove | FileOp::RemoveDirectory | FileOp::RemoveTree => 1.2,
        }
    }

    /// Shares of the plateau that 1 to `most` operations in flight reach, without noise: the truth that a search for the
    /// load line can be held against. Where nodes have a plateau of their own, these are shares of that of one node.
    #[must_use]
    pub fn shares(&self, most: u32) -> Vec<f64> {
        (1..=u64::from(most)).map(|tasks| self.share(tasks)).collect()
    }

    /// Share of the plateau that `concurrency` operations in flight reach, without noise. Above 1 for what never levels
    /// off.
    pub(crate) fn share(&self, concurrency: u64) -> f64 {
        let (most, exchange) = self.aggregators.map_or((concurrency, 0.0), |(most, exchange)| (most.into(), exchange));
        let concurrency = concurrency.min(most);
        let n = concurrency as f64;
        let share = match (self.queues, self.power) {
            _ if self.alone.is_some() => self.bent(self.alone.unwrap_or_default() * n),
            _ if !self.curve.is_empty() => curves::through(&self.curve, n),
            (Some(queues), _) => curves::queues(queues, self.queue_demand, concurrency),
            (_, Some(power)) => n.powf(power),
            _ if self.contention + self.coherency > 0.0 => curves::scalability(self.contention, self.coherency, n),
            _ => self.kneed(n),
        };
        let dip = if (self.dip_from.into()..=self.dip_to.into()).contains(&concurrency) { self.dip } else { 0.0 };
        let odd = if concurrency % 2 == 1 { self.odd_loss } else { 0.0 };
        share * (1.0 - dip) * (1.0 - odd) * (1.0 - exchange)
    }

    /// The law whose knee follows from what one task reaches alone; `ratio`: what the tasks would do if none waited for
    /// another, over the plateau. Smooth: X⁻⁴ is the sum of both to the −4.
    fn bent(&self, ratio: f64) -> f64 {
        match self.shape {
            Shape::Hinge => ratio.min(1.0),
            Shape::Smooth => (1.0 + ratio.powi(-4)).powf(-0.25),
            Shape::Linear => ratio,
        }
    }

    /// The laws that have a knee planted.
    fn kneed(&self, n: f64) -> f64 {
        let knee = f64::from(self.knee.unwrap_or(DEFAULT_KNEE));
        let law = if self.knee.is_none() { Shape::Linear } else { self.shape };
        let share = match law {
            Shape::Hinge => (NEAR * n / (knee - 0.5)).min(1.0),
            Shape::Smooth => 1.0 - ((1.0 - NEAR).ln() * n / (knee - 0.5)).exp(),
            Shape::Linear => n / knee,
        };
        let beyond = n.max(knee);
        share * (1.0 - self.decline).powf(beyond - knee) * (1.0 + self.creep).powf((beyond / knee).log2())
    }

    /// Mean latency in nanoseconds of an operation among `concurrency` in flight, which would cost the device a second
    /// at its plateau (Little's law on a closed system).
    pub(crate) fn crowd_ns(&self, concurrency: u64) -> f64 {
        concurrency as f64 * 1e9 / self.share(concurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_the_smallest_number_of_tasks_within_five_percent_of_the_plateau() {
        for shape in [Shape::Hinge, Shape::Smooth] {
            for knee in 1..=64 {
                let spec = ModelSpec { knee: Some(knee), shape, ..ModelSpec::default() };
                let plateau = spec.share(1_000_000);
                assert!((plateau - 1.0).abs() < 1e-12);
                let found = (1..=200).find(|&n| spec.share(n) >= NEAR * plateau);
                assert_eq!(found, Some(u64::from(knee)), "{shape:?}");
            }
        }
    }

    #[test]
    fn a_linear_curve_passes_the_plateau_at_the_knee_and_goes_on() {
        for knee in 1..=64 {
            let spec = ModelSpec { knee: Some(knee), shape: Shape::Linear, ..ModelSpec::default() };
            let found = (1..=200).find(|&n| spec.share(n) >= 1.0);
            assert_eq!(found, Some(u64::from(knee)));
            assert!((spec.share(1000) / spec.share(500) - 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn aggregators_do_for_many_tasks_what_so_few_can_do_less_the_exchange() {
        let alone = ModelSpec { knee: Some(4), decline: 0.1, ..ModelSpec::default() };
        let collective = ModelSpec { aggregators: Some((4, 0.2)), ..alone.clone() };
        assert!((collective.share(64) - 0.8).abs() < 1e-12);
        assert!((collective.share(2) - 0.8 * alone.share(2)).abs() < 1e-12, "fewer tasks than aggregators");
        assert!(alone.share(64) < 0.1, "what they spare the storage is more than the exchange costs");
    }

    #[test]
    fn the_operation_cap_limits_small_transfers_only() {
        let spec = ModelSpec { operations_per_s: Some(1000), ..ModelSpec::default() };
        assert_eq!(spec.plateau(Op::Write, 4096) as u64, 4_096_000);
        assert_eq!(spec.plateau(Op::Read, 1 << 30) as u64, 2_000_000_000);
    }

    #[test]
    fn tasks_beyond_the_knee_cost_what_decline_says() {
        let spec = ModelSpec { knee: Some(4), decline: 0.1, ..ModelSpec::default() };
        assert!((spec.share(4) - 1.0).abs() < 1e-12);
        assert!((spec.share(6) - 0.81).abs() < 1e-12);
    }
}
