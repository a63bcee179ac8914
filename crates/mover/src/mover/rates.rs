//! Progress of the last seconds.

use std::collections::VecDeque;

/// What the rates are taken over.
const WINDOW_NS: u64 = 3_000_000_000;

/// Counts at moments, the oldest first.
#[derive(Debug, Default)]
pub struct Rates {
    marks: VecDeque<(u64, u64, u64)>,
}

impl Rates {
    /// At `now_ns` so many bytes and files have been carried since the beginning; bytes of what failed are taken back.
    pub fn mark(&mut self, now_ns: u64, bytes: u64, files: u64) {
        self.marks.push_back((now_ns, bytes, files));
        // One mark beyond the window stays, so that the window is always covered.
        while self.marks.get(1).is_some_and(|mark| mark.0 + WINDOW_NS <= now_ns) {
            self.marks.pop_front();
        }
    }

    /// Bytes and files a second; `None` before there are two marks.
    pub fn now(&self) -> Option<(u64, f64)> {
        let (first, last) = (self.marks.front()?, self.marks.back()?);
        let elapsed_ns = last.0.checked_sub(first.0).filter(|&ns| ns > 0)?;
        let seconds = elapsed_ns as f64 / 1e9;
        Some(((last.1.saturating_sub(first.1) as f64 / seconds) as u64, (last.2 - first.2) as f64 / seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_seconds_and_not_of_all_time() {
        let mut rates = Rates::default();
        assert_eq!(rates.now(), None);
        for second in 0..10 {
            rates.mark(second * 1_000_000_000, if second < 5 { second * 1000 } else { 5000 }, second);
        }
        assert_eq!(rates.now(), Some((0, 1.0)));
    }

    #[test]
    fn bytes_that_are_taken_back_are_no_rate() {
        let mut rates = Rates::default();
        rates.mark(0, 8_000_000, 1);
        rates.mark(1_000_000_000, 0, 1);
        assert_eq!(rates.now(), Some((0, 0.0)));
    }
}
