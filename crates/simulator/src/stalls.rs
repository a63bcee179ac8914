//! Lock stalls: stretches of time in which nothing completes.

use std::collections::VecDeque;

use crate::chance::Chance;

/// The stalls of one phase, drawn as far ahead as they are asked for.
pub(crate) struct Stalls {
    mean_gap_ns: f64,
    length_ns: u64,
    chance: Chance,
    /// Starts of those that may still matter, and one beyond.
    starts: VecDeque<u64>,
}

impl Stalls {
    /// None at all where `every_ns` or `length_ns` is 0.
    pub fn new(every_ns: u64, length_ns: u64, chance: Chance, phase_start_ns: u64) -> Self {
        let mut stalls = Self { mean_gap_ns: every_ns as f64, length_ns, chance, starts: VecDeque::new() };
        if every_ns == 0 || length_ns == 0 {
            stalls.starts.push_back(u64::MAX);
        } else {
            stalls.draw(phase_start_ns);
        }
        stalls
    }

    /// When an operation that begins now and takes `service_ns` ends. `now_ns` never goes back between calls.
    #[inline]
    pub fn end_of(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let mut end = now_ns.saturating_add(service_ns);
        if end > self.starts[0] {
            end = self.delayed(now_ns, end);
        }
        end
    }

    #[cold]
    fn delayed(&mut self, now_ns: u64, mut end: u64) -> u64 {
        while self.starts[0] < now_ns {
            let past = self.starts[0];
            if self.starts.len() == 1 {
                self.draw(past + self.length_ns);
            }
            self.starts.pop_front();
        }
        let mut index = 0;
        while end > self.starts[index] {
            end = end.saturating_add(self.length_ns);
            index += 1;
            if index == self.starts.len() {
                self.draw(self.starts[index - 1] + self.length_ns);
            }
        }
        end
    }

    fn draw(&mut self, after_ns: u64) {
        self.starts.push_back(after_ns + self.chance.exponential(self.mean_gap_ns) as u64);
    }
}
