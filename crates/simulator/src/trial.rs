//! How fast a trial is: the noise between trials.
//!
//! Everything here is a function of the seeds and of the record's name, which begins with the number of the trial. So a
//! run that was interrupted and goes on draws what it would have drawn.

use tonnage_workload::PhaseSpec;

use crate::model::ModelSpec;
use crate::seeded_random::Chance;

/// Largest deviation of a trial's logarithm, and largest logarithm where tails are heavy: a trial a million times faster
/// would never be computed to its end.
const DEVIATION: f64 = 3.0;
const LOGARITHM: f64 = 5.0;
/// What is left of an earlier trial's noise where it is no longer looked for.
const FORGOTTEN: f64 = 1e-9;

/// The speed of a phase as a share of the usual one.
pub(crate) fn speed(model: &ModelSpec, spec: &PhaseSpec, chance: &mut Chance) -> f64 {
    let own = chance.normal();
    let normal = if model.correlation == 0.0 { own } else { correlated(model, spec) };
    let deviation = model.deviation(spec.tasks.total);
    let logarithm = match model.tails {
        None => deviation * normal,
        Some(degrees) => (deviation * normal / spread(model, spec, degrees)).clamp(-LOGARITHM, LOGARITHM),
    };
    let usual = (logarithm + day(model, spec)).exp();
    if chance.uniform() < model.outliers { usual * model.outlier_speed } else { usual }
}

impl ModelSpec {
    /// Standard deviation of the logarithm of the speed of trials with so many tasks.
    fn deviation(&self, tasks: u32) -> f64 {
        let deviation = self.noise * f64::from(tasks).powf(self.noise_growth);
        if self.noise_growth == 0.0 { deviation } else { deviation.min(DEVIATION) }
    }
}

/// The logarithm of what a whole run is faster: the same in every phase of the run's seed.
fn day(model: &ModelSpec, spec: &PhaseSpec) -> f64 {
    if model.day == 0.0 { 0.0 } else { model.day * Chance::new(model.seed, "day", spec.seed).normal() }
}

/// Standard normal, of the trial and of those before it: z(n) = ρz(n−1) + √(1−ρ²)·e(n), stationary from the first on (an
/// autoregressive process of order 1; Yule 1927). Phases of one name are one such series.
fn correlated(model: &ModelSpec, spec: &PhaseSpec) -> f64 {
    let (number, name) = parts(&spec.record);
    let rho = model.correlation;
    let reach = (FORGOTTEN.ln() / rho.abs().ln()).ceil() as u64;
    let drawn = |trial: u64| Chance::new(model.seed, &format!("series {name} {trial}"), spec.seed).normal();
    let first = number.saturating_sub(reach);
    (first + 1..=number).fold(drawn(first), |noise, trial| rho * noise + (1.0 - rho * rho).sqrt() * drawn(trial))
}

/// Root of a chi-square over its degrees of freedom: a standard normal divided by it has Student's t-distribution
/// (Student 1908).
fn spread(model: &ModelSpec, spec: &PhaseSpec, degrees: u32) -> f64 {
    let mut chance = Chance::new(model.seed, &format!("tails {}", spec.record), spec.seed);
    let squares: f64 = (0..degrees).map(|_| chance.normal().powi(2)).sum();
    (squares / f64::from(degrees)).sqrt()
}

/// The trial's number and the phase's name of `0007-write`.
fn parts(record: &str) -> (u64, &str) {
    let (number, name) = record.split_once('-').unwrap_or((record, ""));
    (number.parse().unwrap_or(0), name)
}

#[cfg(test)]
mod tests {
    use tonnage_workload::Op;

    use super::*;
    use crate::tests::phase;

    /// Logarithms of the speeds of trials 0 to `trials` − 1 of a run, with `tasks` tasks.
    fn logs(model: &ModelSpec, trials: u64, tasks: u32, seed: u64) -> Vec<f64> {
        let log = |trial| {
            let spec = PhaseSpec { seed, ..phase(Op::Write, tasks, 1, &format!("{trial:04}-write")) };
            speed(model, &spec, &mut Chance::new(model.seed, &spec.record, spec.seed)).ln()
        };
        (0..trials).map(log).collect()
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    fn deviation(values: &[f64]) -> f64 {
        (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
    }

    fn autocorrelation(values: &[f64], lag: usize) -> f64 {
        let products: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum();
        products / values.iter().map(|value| value * value).sum::<f64>()
    }

    #[test]
    fn correlated_trials_have_the_autocorrelation_and_the_deviation_that_were_given() {
        for rho in [-0.5, 0.5, 0.9] {
            let model = ModelSpec { noise: 0.1, correlation: rho, ..ModelSpec::default() };
            let values = logs(&model, 6000, 1, 3);
            for lag in [1, 2, 5] {
                let found = autocorrelation(&values, lag);
                assert!((found - rho.powi(lag as i32)).abs() < 0.06, "{rho} at {lag}: {found}");
            }
            assert!((deviation(&values) / 0.1 - 1.0).abs() < 0.1, "{rho}: {}", deviation(&values));
        }
        let plain = logs(&ModelSpec { noise: 0.1, ..ModelSpec::default() }, 6000, 1, 3);
        assert!(autocorrelation(&plain, 1).abs() < 0.04);
    }

    #[test]
    fn a_trial_is_the_same_whatever_was_drawn_before_it_and_the_first_is_as_noisy_as_any() {
        let model = ModelSpec { noise: 0.1, correlation: 0.95, tails: Some(4), day: 0.1, ..ModelSpec::default() };
        let spec = phase(Op::Write, 4, 1, "0730-write");
        let alone = speed(&model, &spec, &mut Chance::new(0, &spec.record, spec.seed)).ln();
        assert_eq!(logs(&model, 731, 4, spec.seed)[730].to_bits(), alone.to_bits());
        let stationary = ModelSpec { tails: None, day: 0.0, ..model };
        let firsts: Vec<f64> = (0..2000).map(|seed| logs(&stationary, 1, 1, seed)[0]).collect();
        assert!((deviation(&firsts) / 0.1 - 1.0).abs() < 0.06);
    }

    #[test]
    fn a_share_of_the_trials_runs_at_its_own_speed_and_the_median_is_that_of_both() {
        let model = ModelSpec { outliers: 0.4, outlier_speed: 0.7, noise: 0.02, ..ModelSpec::default() };
        let values = logs(&model, 4000, 1, 5);
        let slow = values.iter().filter(|&&value| value < 0.85f64.ln()).count();
        assert!((1480..1720).contains(&slow), "{slow}");
        // 0.6 of the trials are at the usual speed: the median is where a sixth of them are slower, 0.967 deviations below.
        assert!((median(values) / 0.02 + 0.967).abs() < 0.12);
    }

    #[test]
    fn heavy_tails_keep_the_median_and_reach_far_beyond_a_normal_law() {
        let model = ModelSpec { noise: 0.05, tails: Some(3), ..ModelSpec::default() };
        let values = logs(&model, 6000, 1, 9);
        let beyond = |times: f64| values.iter().filter(|value| value.abs() > times * 0.05).count() as f64 / 6000.0;
        // Student's t with 3 degrees of freedom: 14.4 % lie beyond 1.96, 1.54 % beyond 5.
        assert!((beyond(1.96) - 0.1448).abs() < 0.02, "{}", beyond(1.96));
        assert!((beyond(5.0) - 0.0154).abs() < 0.006, "{}", beyond(5.0));
        assert!(values.iter().all(|value| value.abs() <= LOGARITHM));
        assert!(median(values).abs() < 0.004);
    }

    #[test]
    fn noise_grows_with_the_tasks_as_it_is_told() {
        let model = ModelSpec { noise: 0.02, noise_growth: 0.5, ..ModelSpec::default() };
        for (tasks, expected) in [(1, 0.02), (16, 0.08), (64, 0.16)] {
            let found = deviation(&logs(&model, 3000, tasks, 2));
            assert!((found / expected - 1.0).abs() < 0.06, "{tasks}: {found}");
        }
        let wild = ModelSpec { noise: 1.0, noise_growth: 2.0, ..ModelSpec::default() };
        assert!((wild.deviation(1000) - DEVIATION).abs() < 1e-12);
    }

    #[test]
    fn a_day_is_one_factor_for_the_whole_run_and_another_for_the_next() {
        let model = ModelSpec { day: 0.05, ..ModelSpec::default() };
        let days: Vec<f64> = (0..3000)
            .map(|seed| {
                let trials = logs(&model, 3, 1 + (seed % 9) as u32, seed);
                assert!(trials.iter().all(|log| log.to_bits() == trials[0].to_bits()));
                trials[0]
            })
            .collect();
        assert!((deviation(&days) / 0.05 - 1.0).abs() < 0.06);
        assert!(autocorrelation(&days, 1).abs() < 0.06);
        assert!(median(days).abs() < 0.005);
    }
}
