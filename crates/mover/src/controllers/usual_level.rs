//! What is usual, and what lasts.

/// A new value counts one part in so many.
const WEIGHT: f64 = 8.0;

/// A running mean of what is measured, and one of how far each value was from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The mean.
    pub(super) mean: f64,
    spread: f64,
}

impl Level {
    /// Begins at the first value.
    pub(super) fn at(mean: f64) -> Self {
        Self { mean, spread: 0.0 }
    }

    pub(super) fn follow(&mut self, value: f64) {
        self.spread += ((value - self.mean).abs() - self.spread) / WEIGHT;
        self.mean += (value - self.mean) / WEIGHT;
    }

    /// A value's ratio to the mean.
    pub(super) fn ratio(&self, value: f64) -> f64 {
        value / self.mean.max(f64::MIN_POSITIVE)
    }

    /// How far a value is above the mean and `spreads` mean deviations.
    pub(super) fn excess(&self, value: f64, spreads: f64) -> f64 {
        value - self.mean - spreads * self.spread
    }
}

/// For how many windows in a row something held.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streak(u32);

impl Streak {
    /// It held in this window, or did not: whether it has in `wanted` of them in a row. Then the count begins anew.
    pub(super) fn lasts(&mut self, holds: bool, wanted: u32) -> bool {
        let count = if holds { self.0 + 1 } else { 0 };
        let lasts = count >= wanted;
        self.0 = if lasts { 0 } else { count };
        lasts
    }
}
