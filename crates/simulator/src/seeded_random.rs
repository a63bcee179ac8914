//! Seeded chance.

use std::f64::consts::TAU;

use tonnage_workload::{SplitMix64, mix64};

/// A stream of random numbers that depends on nothing but its seeds.
pub(crate) struct Chance {
    bits: SplitMix64,
    spare: Option<f64>,
}

impl Chance {
    /// The stream of a phase: of the model's seed, the record's name and the phase's seed.
    pub fn new(model_seed: u64, record: &str, phase_seed: u64) -> Self {
        let name = record.bytes().fold(0, |hash: u64, byte| mix64(hash ^ u64::from(byte)));
        let seed = mix64(mix64(mix64(model_seed) ^ name) ^ phase_seed);
        Self { bits: SplitMix64::new(seed), spare: None }
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        self.bits.next_f64()
    }

    /// Standard normal (Box and Muller 1958; each pair of uniforms gives two).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.bits.next_f64()).ln()).sqrt();
        let (sine, cosine) = (TAU * self.bits.next_f64()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }

    /// Lognormal with mean 1; `sigma` is the standard deviation of its logarithm.
    #[inline]
    pub fn lognormal_mean_1(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 { 1.0 } else { (sigma * self.normal() - sigma * sigma / 2.0).exp() }
    }

    /// How many of `count` tries succeed, each with probability `share`. Where both outcomes are expected often the
    /// normal law stands for the binomial one; its mean and its variance are the same.
    pub fn binomial(&mut self, count: u64, share: f64) -> u64 {
        const OFTEN: f64 = 30.0;
        if share >= 1.0 {
            return count;
        }
        let (all, rare) = (count as f64, share.min(1.0 - share));
        if rare * all > OFTEN {
            let deviation = (all * share * (1.0 - share)).sqrt();
            return (all * share + deviation * self.normal()).round().clamp(0.0, all) as u64;
        }
        // From one of the rarer outcomes to the next there are geometrically many tries; infinitely many where it never
        // comes.
        let miss = (-rare).ln_1p();
        let mut gap = || 1.0 + ((1.0 - self.uniform()).ln() / miss).floor();
        let (mut found, mut reached) = (0, gap());
        while rare > 0.0 && reached <= all {
            found += 1;
            reached += gap();
        }
        if share > 0.5 { count - found } else { found }
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}
