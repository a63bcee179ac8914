//! Curves of throughput over tasks whose knee follows from the curve itself.
//!
//! Each is a share of the plateau. The true knee of any model is the smallest number of tasks whose share is at least
//! 95 % of the largest share within the tasks that a search may use ([`ModelSpec::shares`](crate::ModelSpec::shares)
//! gives them all).

/// The straight lines through `points` (tasks, share), from nothing at no task, and flat beyond the last point.
///
/// A stair of node links: where ranks fill one node first, throughput stays at one link's rate until the node is full,
/// and rises again with the ranks of the next one. Points (4, 0.5), (16, 0.5), (20, 1) are two nodes of 16 ranks, each of
/// whose links is full with 4.
pub(crate) fn through(points: &[(u32, f64)], tasks: f64) -> f64 {
    let (mut before, mut share) = (0.0, 0.0);
    for &(at, there) in points {
        let at = f64::from(at);
        if tasks < at {
            return share + (there - share) * (tasks - before) / (at - before);
        }
        (before, share) = (at, there);
    }
    share
}

/// Throughput of `tasks` in a closed network of `queues` queues of one server each, by exact mean-value analysis (Reiser
/// and Lavenberg 1980): an arriving task finds the queues as they are with one task fewer. The slowest queue's demand is
/// 1, so that the throughput of many tasks is 1; that of every other is `others`, at most 1.
///
/// With equal demands this is N ÷ (N + queues − 1).
pub(crate) fn queues(queues: u32, others: f64, tasks: u64) -> f64 {
    let count = f64::from(queues - 1);
    let (mut at_slowest, mut at_each, mut throughput) = (0.0, 0.0, 0.0);
    for present in 1..=tasks {
        let (slowest, each) = (1.0 + at_slowest, others * (1.0 + at_each));
        throughput = present as f64 / (slowest + count * each);
        (at_slowest, at_each) = (throughput * slowest, throughput * each);
    }
    throughput
}

/// The universal scalability law (Gunther 1993, 2007), N ÷ (1 + σ(N − 1) + κN(N − 1)), as a share of its peak; where
/// coherency κ is 0, of 1/σ, which it then comes near.
pub(crate) fn scalability(contention: f64, coherency: f64, tasks: f64) -> f64 {
    let law = |n: f64| n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0));
    if coherency == 0.0 {
        return contention * law(tasks);
    }
    let peak = ((1.0 - contention) / coherency).sqrt();
    law(tasks) / law(peak.floor().max(1.0)).max(law(peak.ceil().max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelSpec;

    /// By its definition, of the curve as it is.
    fn knee(spec: &ModelSpec, most: u32) -> usize {
        let shares = spec.shares(most);
        let best = shares.iter().copied().fold(0.0, f64::max);
        1 + shares.iter().position(|&share| share >= 0.95 * best).expect("the best itself")
    }

    #[test]
    fn a_stair_stays_flat_until_the_node_is_full_and_its_knee_is_on_the_last_step() {
        let curve = vec![(4, 0.5), (16, 0.5), (20, 1.0)];
        let spec = ModelSpec { curve: curve.clone(), ..ModelSpec::default() };
        let shares = spec.shares(64);
        assert_eq!((shares[0], shares[1], shares[17], shares[63]), (0.125, 0.25, 0.75, 1.0));
        assert!(shares[3..16].iter().all(|&share| (share - 0.5).abs() < 1e-12));
        assert_eq!((knee(&spec, 64), knee(&spec, 16)), (20, 4));
        let steps = [(4, 0.25), (16, 0.25), (20, 0.5), (32, 0.5), (36, 0.75), (48, 0.75), (52, 1.0)];
        assert_eq!(knee(&ModelSpec { curve: steps.to_vec(), ..spec }, 128), 52);
    }

    /// With M tasks at most the knee is the first N above 7 × 0.95·M ÷ (0.05·M + 7).
    #[test]
    fn a_balanced_network_is_its_closed_form_and_its_knee_grows_with_the_tasks_that_are_allowed() {
        let spec = ModelSpec { queues: Some(8), ..ModelSpec::default() };
        for tasks in 1..=300 {
            let closed = tasks as f64 / (tasks as f64 + 7.0);
            assert!((spec.share(tasks) - closed).abs() < 1e-12);
        }
        assert_eq!([32, 64, 128, 256].map(|most| knee(&spec, most)), [25, 42, 64, 86]);
    }

    /// Product form: with demands d, G(N) is the sum of all products Πd^n with Σn = N, and X(N) = G(N−1) ÷ G(N) (Buzen
    /// 1973).
    #[test]
    fn an_unbalanced_network_agrees_with_its_normalising_constants() {
        for (count, others) in [(3, 0.5), (8, 0.9), (2, 1.0), (1, 1.0), (5, 0.1)] {
            let mut constants = vec![0.0; 101];
            constants[0] = 1.0;
            for queue in 0..count {
                let demand = if queue == 0 { 1.0 } else { others };
                for n in 1..=100 {
                    constants[n] += demand * constants[n - 1];
                }
            }
            for n in 1..=100 {
                let exact = constants[n - 1] / constants[n];
                assert!((queues(count, others, n as u64) / exact - 1.0).abs() < 1e-9, "{count} {others} {n}");
            }
        }
        assert!(queues(4, 0.5, 1000) > 0.999, "the slowest queue is always busy");
    }

    #[test]
    fn scalability_peaks_at_one_and_falls_beyond() {
        let spec = ModelSpec { contention: 0.02, coherency: 0.001, ..ModelSpec::default() };
        let shares = spec.shares(200);
        let best = (0..200).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).expect("some");
        assert_eq!((best + 1, shares[best]), (31, 1.0), "the root of (1 − 0.02) ÷ 0.001 is 31.3");
        assert!(shares[199] < 0.6);
        assert_eq!(knee(&spec, 200), 22);
        let level = ModelSpec { contention: 0.1, ..ModelSpec::default() };
        assert!((level.share(100_000) - 1.0).abs() < 1e-3);
        assert!((level.share(1) - 0.1).abs() < 1e-12, "one task has the tenth of what many reach");
        let alone = ModelSpec { contention: 1.0, coherency: 0.5, ..ModelSpec::default() };
        assert!((alone.share(1) - 1.0).abs() < 1e-12, "nobody gains by a second task");
    }

    #[test]
    fn a_power_law_rises_by_the_same_factor_with_every_doubling() {
        let spec = ModelSpec { power: Some(0.1), ..ModelSpec::default() };
        assert!((spec.share(1) - 1.0).abs() < 1e-12);
        assert!((spec.share(128) / spec.share(64) - 2f64.powf(0.1)).abs() < 1e-12);
        assert_eq!(knee(&spec, 128), 77, "0.95 to the tenth of 128 is 76.6");
    }

    #[test]
    fn creep_begins_at_the_knee_and_gains_its_share_with_every_doubling() {
        let spec = ModelSpec { knee: Some(8), creep: 0.04, ..ModelSpec::default() };
        assert!((spec.share(8) - 1.0).abs() < 1e-12);
        assert!((spec.share(16) - 1.04).abs() < 1e-12);
        assert!((spec.share(128) - 1.04f64.powi(4)).abs() < 1e-12);
        assert!(spec.share(4) < 0.6, "what comes before is the law's own");
        assert_eq!((knee(&spec, 8), knee(&spec, 64), knee(&spec, 128)), (8, 26, 52));
    }

    #[test]
    fn a_dip_is_one_band_and_odd_numbers_lose_their_share() {
        let plain = ModelSpec::default();
        let dipped = ModelSpec { dip: 0.3, dip_from: 12, dip_to: 20, ..plain.clone() };
        let odd = ModelSpec { odd_loss: 0.1, ..plain.clone() };
        for tasks in 1..=40 {
            let band = if (12..=20).contains(&tasks) { 0.7 } else { 1.0 };
            assert!((dipped.share(tasks) / plain.share(tasks) - band).abs() < 1e-12);
            let loss = if tasks % 2 == 1 { 0.9 } else { 1.0 };
            assert!((odd.share(tasks) / plain.share(tasks) - loss).abs() < 1e-12);
        }
        assert_eq!((knee(&dipped, 64), knee(&odd, 64)), (8, 8));
        assert_eq!(knee(&ModelSpec { knee: Some(7), ..odd }, 64), 8);
    }
}
