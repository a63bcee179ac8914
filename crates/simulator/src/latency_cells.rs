//! Many latencies at once: how often each of a few lengths comes up.

use crate::seeded_random::Chance;

/// Cells under the standard normal law of the logarithm, and half of what they span.
const CELLS: usize = 96;
const SPAN: f64 = 6.0;
/// Points of each cell in which the law is evaluated.
const POINTS: usize = 16;

/// A length, in means, and its probability.
#[derive(Debug, Clone, Copy)]
struct Cell {
    length: f64,
    share: f64,
}

/// A lognormal law with mean 1, cut into cells, the most probable first. Each cell has one length, its own mean, so
/// that the mean of the whole is kept.
pub(crate) struct Cells(Vec<Cell>);

impl Cells {
    /// `sigma` is the standard deviation of the logarithm.
    pub fn new(sigma: f64) -> Self {
        if sigma == 0.0 {
            return Self(vec![Cell { length: 1.0, share: 1.0 }]);
        }
        let width = 2.0 * SPAN / CELLS as f64;
        let cell = |number: usize| {
            let (mut share, mut sum) = (0.0, 0.0);
            for point in 0..POINTS {
                let z = -SPAN + width * (number as f64 + (point as f64 + 0.5) / POINTS as f64);
                let density = (-z * z / 2.0).exp();
                share += density;
                sum += density * (sigma * z).exp();
            }
            Cell { length: sum / share, share }
        };
        let mut cells: Vec<Cell> = (0..CELLS).map(cell).collect();
        let total: f64 = cells.iter().map(|cell| cell.share).sum();
        let mean: f64 = cells.iter().map(|cell| cell.share / total * cell.length).sum();
        for cell in &mut cells {
            (cell.length, cell.share) = (cell.length / mean, cell.share / total);
        }
        cells.sort_by(|a, b| b.share.total_cmp(&a.share));
        Self(cells)
    }

    /// Draws `count` latencies with this mean: calls `take(latency_ns, how_many)` for each length that comes up, and
    /// gives back the sum of all in nanoseconds.
    pub fn draw(&self, chance: &mut Chance, count: u64, mean_ns: f64, mut take: impl FnMut(u64, u64)) -> f64 {
        let (mut left, mut share_left, mut sum_ns) = (count, 1.0, 0.0);
        for (number, cell) in self.0.iter().enumerate() {
            if left == 0 {
                break;
            }
            let last = number + 1 == self.0.len();
            let many = if last { left } else { chance.binomial(left, cell.share / share_left) };
            (left, share_left) = (left - many, f64::max(share_left - cell.share, f64::MIN_POSITIVE));
            if many > 0 {
                let latency_ns = cell.length * mean_ns;
                take((latency_ns.round() as u64).max(1), many);
                sum_ns += latency_ns * many as f64;
            }
        }
        sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_latencies_at_once_have_the_mean_and_the_spread_of_as_many_drawn_one_by_one() {
        for (sigma, tolerance) in [(0.0, 1e-9), (0.1, 0.001), (0.5, 0.005)] {
            let (cells, mut chance) = (Cells::new(sigma), Chance::new(3, "cells", 1));
            let (mut count, mut squares) = (0, 0.0);
            let sum = cells.draw(&mut chance, 200_000, 1e9, |latency_ns, many| {
                let log = (latency_ns as f64 / 1e9).ln() + sigma * sigma / 2.0;
                (count, squares) = (count + many, squares + log * log * many as f64);
            });
            let deviation = (squares / 2e5).sqrt();
            assert_eq!(count, 200_000);
            assert!((sum / 2e14 - 1.0).abs() < tolerance, "{sigma}: {sum}");
            assert!((deviation - sigma).abs() <= 0.02 * sigma, "{sigma}: {deviation}");
        }
    }

    #[test]
    fn a_few_latencies_are_as_many_as_were_asked_for() {
        let (cells, mut chance) = (Cells::new(0.3), Chance::new(5, "few", 1));
        for count in 0..50 {
            let mut drawn = 0;
            cells.draw(&mut chance, count, 1e6, |_, many| drawn += many);
            assert_eq!(drawn, count);
        }
    }
}
