//! Lock stalls: stretches of time in which nothing completes.

use std::collections::VecDeque;

use crate::seeded_random::Chance;

/// The stalls of one phase, drawn as far ahead as they are asked for.
pub(crate) struct Stalls {
    mean_gap_ns: f64,
    length_ns: u64,
    chance: Chance,
    /// Starts of those that may still matter, and one beyond.
    starts: VecDeque<u64>,
}

impl Stalls {
    /// None at all where `every_ns` (the mean time between two) or `length_ns` is 0.
    pub fn new(every_ns: f64, length_ns: u64, chance: Chance, phase_start_ns: u64) -> Self {
        let mut stalls = Self { mean_gap_ns: every_ns, length_ns, chance, starts: VecDeque::new() };
        if every_ns == 0.0 || length_ns == 0 {
            stalls.starts.push_back(u64::MAX);
        } else {
            stalls.draw(phase_start_ns);
        }
        stalls
    }

    /// When an operation that begins now and takes `service_ns` ends. `now_ns` never goes back between calls.
    #[inline]
    pub fn end_of(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let end = now_ns.saturating_add(service_ns);
        if end > self.starts[0] { self.delayed(now_ns, service_ns) } else { end }
    }

    #[cold]
    fn delayed(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        while self.starts[0].saturating_add(self.length_ns) <= now_ns {
            self.at(1);
            self.starts.pop_front();
        }
        let mut end = now_ns.saturating_add(service_ns);
        let mut index = 0;
        while end > self.at(index) {
            // What begins inside a stall waits for the rest of it only.
            let gone_ns = now_ns.saturating_sub(self.starts[index]);
            end = end.saturating_add(self.length_ns - gone_ns);
            index += 1;
        }
        end
    }

    /// How much of the time between two moments was no stall.
    pub fn moving_ns(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        let (mut moving_ns, mut index) = (to_ns - from_ns, 0);
        while self.starts[index] < to_ns {
            let end_ns = self.starts[index] + self.length_ns;
            moving_ns -= end_ns.min(to_ns).saturating_sub(self.starts[index].max(from_ns));
            index += 1;
            self.at(index);
        }
        moving_ns
    }

    /// Start of the stall with this number among those that are kept.
    fn at(&mut self, index: usize) -> u64 {
        while self.starts.len() <= index {
            self.draw(self.starts[self.starts.len() - 1] + self.length_ns);
        }
        self.starts[index]
    }

    fn draw(&mut self, after_ns: u64) {
        self.starts.push_back(after_ns + self.chance.exponential(self.mean_gap_ns) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 1000;

    /// Stalls whose first begins at the time that is also given.
    fn stalls() -> (Stalls, u64) {
        let stalls = Stalls::new(1e6, LENGTH, Chance::new(1, "a", 1), 0);
        let first = stalls.starts[0];
        assert!(first > 2 * LENGTH);
        (stalls, first)
    }

    #[test]
    fn what_is_in_flight_when_a_stall_begins_takes_its_length_longer() {
        let (mut stalls, first) = stalls();
        assert_eq!(stalls.end_of(first - 100, 100), first, "it ends as the stall begins");
        assert_eq!(stalls.end_of(first - 100, 150), first + 50 + LENGTH);
    }

    #[test]
    fn what_begins_inside_a_stall_waits_for_the_rest_of_it_and_what_begins_behind_it_not_at_all() {
        let (mut stalls, first) = stalls();
        assert_eq!(stalls.end_of(first + 400, 50), first + LENGTH + 50);
        assert_eq!(stalls.end_of(first + LENGTH, 50), first + LENGTH + 50);
    }

    #[test]
    fn time_that_moves_is_all_but_the_stalls() {
        let (mut stalls, first) = stalls();
        assert_eq!(stalls.moving_ns(0, first), first);
        assert_eq!(stalls.moving_ns(first - 10, first + 400), 10);
        assert_eq!(stalls.moving_ns(first + 400, first + LENGTH + 7), 7);
        let mut none = Stalls::new(0.0, LENGTH, Chance::new(1, "a", 1), 0);
        assert_eq!((none.moving_ns(5, 1 << 60), none.end_of(5, 1 << 60)), ((1 << 60) - 5, (1 << 60) + 5));
    }
}
