//! A random order of `0..count` that is computed, not stored: visiting 10⁹ offsets at random needs no memory.

use crate::integer_mixing::{SplitMix64, mix64};

/// A seeded bijection of `0..count` onto itself.
///
/// The smallest power of two that holds `count` is permuted by three rounds of multiply by an odd number, add and
/// xor-shift (each a bijection modulo 2ᵏ); values outside `0..count` are permuted again until one falls inside
/// (cycle walking, Black and Rogaway 2002), which takes two rounds on average at the worst.
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    multiply: [u64; 3],
    add: [u64; 3],
}

impl Permutation {
    /// The permutation of `0..count` that `seed` names. `count` of 0 is treated as 1.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let count = count.max(1);
        let bits = 64 - (count - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        let mut random = SplitMix64::new(mix64(seed ^ 0x7065_726d_7574_6521));
        Self {
            count,
            mask,
            shift: bits / 2 + 1,
            multiply: std::array::from_fn(|_| random.next_u64() | 1),
            add: std::array::from_fn(|_| random.next_u64()),
        }
    }

    /// Where `index` goes. `index` must be below `count`.
    #[must_use]
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut x = index;
        loop {
            for round in 0..3 {
                x = x.wrapping_mul(self.multiply[round]).wrapping_add(self.add[round]) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.count {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_visited_exactly_once() {
        for count in [1, 2, 3, 7, 8, 9, 1000, 1024, 4097] {
            for seed in 0..20 {
                let permutation = Permutation::new(count, seed);
                let mut seen = vec![false; count as usize];
                for index in 0..count {
                    let there = permutation.apply(index) as usize;
                    assert!(!seen[there], "count {count} seed {seed}: {there} twice");
                    seen[there] = true;
                }
            }
        }
    }

    #[test]
    fn neighbours_are_not_visited_one_after_the_other() {
        let count = 1 << 16;
        let permutation = Permutation::new(count, 42);
        let near = (1..count).filter(|&i| permutation.apply(i).abs_diff(permutation.apply(i - 1)) <= 8).count();
        // A random order has a step of at most 8 with probability about 16 / count.
        assert!(near < 100, "{near} short steps of {count}");
    }

    #[test]
    fn another_seed_gives_another_order() {
        let (a, b) = (Permutation::new(1000, 1), Permutation::new(1000, 2));
        let same = (0..1000).filter(|&i| a.apply(i) == b.apply(i)).count();
        assert!(same < 20, "{same} of 1000 in the same place");
    }
}
