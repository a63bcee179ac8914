//! When an operation that failed is tried again.

/// The pause before the second attempt; each further one is twice as long, up to the longest.
const FIRST_PAUSE_NS: u64 = 10_000_000;
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

/// How long operations are tried again.
#[derive(Debug, Clone, Copy)]
pub struct RetryRule {
    /// From an operation's first failure on.
    pub limit_ns: u64,
}

/// One operation's failures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempts {
    /// The first.
    since_ns: u64,
    /// Before the next attempt; 0 where there was no failure.
    pause_ns: u64,
}

impl Attempts {
    /// Whether none has failed.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.pause_ns == 0
    }
}

impl RetryRule {
    /// An attempt failed at `now_ns`: when the next one is due; `None` where there is none.
    pub fn again(self, attempts: &mut Attempts, now_ns: u64) -> Option<u64> {
        let first = attempts.is_first();
        let since_ns = if first { now_ns } else { attempts.since_ns };
        let pause_ns = if first { FIRST_PAUSE_NS } else { (attempts.pause_ns * 2).min(LONGEST_PAUSE_NS) };
        let due_ns = now_ns + pause_ns;
        if due_ns - since_ns > self.limit_ns {
            return None;
        }
        *attempts = Attempts { since_ns, pause_ns };
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second_until_the_time_is_over() {
        let mut attempts = Attempts::default();
        let (rule, mut now_ns, mut pauses) = (RetryRule { limit_ns: 5_000_000_000 }, 7, Vec::new());
        while let Some(due_ns) = rule.again(&mut attempts, now_ns) {
            pauses.push((due_ns - now_ns) / 1_000_000);
            now_ns = due_ns;
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
        assert!(RetryRule { limit_ns: 9_999_999 }.again(&mut Attempts::default(), 0).is_none());
    }
}
