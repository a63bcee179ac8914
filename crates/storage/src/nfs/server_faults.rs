//! What a server did to a phase: connections that broke, data that it lost, and how long that took.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::api::{Note, RetryReport};

/// Times of trouble that a task tells one by one; attempts are counted all the same.
const TROUBLES_KEPT: usize = 256;

/// Counted since the phase began, over all tasks of this process.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    reconnected: u64,
    longest: Duration,
    sent_again: u64,
    delayed: u64,
    lost_bytes: u64,
}

/// The counters that all tasks share; they are touched only where something went wrong.
#[derive(Debug, Default)]
pub(super) struct Troubles(Mutex<Counts>);

impl Troubles {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another phase begins.
    pub(super) fn forget(&self) {
        *self.lock() = Counts::default();
    }

    /// A connection was made anew; nothing had been heard for so long.
    pub(super) fn reconnected(&self, silent: Duration) {
        let mut counts = self.lock();
        counts.reconnected += 1;
        counts.longest = counts.longest.max(silent);
    }

    /// Calls went out once more, as nobody knows what became of them.
    pub(super) fn sent_again(&self, calls: usize) {
        self.lock().sent_again += calls as u64;
    }

    /// The server asked for patience (`JUKEBOX`).
    pub(super) fn delayed(&self) {
        self.lock().delayed += 1;
    }

    /// The server restarted with data that it had taken and not yet committed.
    pub(super) fn lost(&self, bytes: u64) {
        self.lock().lost_bytes += bytes;
    }

    /// What is to be told of it.
    pub(super) fn notes(&self) -> Vec<Note> {
        let counts = *self.lock();
        let mut notes = Vec::new();
        if counts.reconnected > 0 {
            let (times, longest_ms, calls) = (counts.reconnected, counts.longest.as_millis(), counts.sent_again);
            let text = format!(
                "the connection to the server broke {times} times and was made anew, after up to {longest_ms} ms of silence; \
                 {calls} calls were sent again"
            );
            notes.push(("nfs-reconnected", text));
        }
        if counts.lost_bytes > 0 {
            let bytes = counts.lost_bytes;
            let text =
                format!("the server restarted with {bytes} bytes that were not committed yet; they were to be written again");
            notes.push(("nfs-restarted", text));
        }
        if counts.delayed > 0 {
            notes.push(("nfs-delayed", format!("the server asked for patience (JUKEBOX) {} times", counts.delayed)));
        }
        notes
    }
}

/// What one task sent again: each time from the first attempt that failed until an answer came.
#[derive(Debug, Default)]
pub(super) struct Mending {
    now: Option<RetryReport>,
    past: Vec<RetryReport>,
}

impl Mending {
    /// So many calls are sent again.
    #[cold]
    pub(super) fn again(&mut self, since: Instant, calls: usize, why: &str) {
        let now = self.now.get_or_insert_with(|| RetryReport { since, lasted: Duration::ZERO, attempts: 0, why: why.to_owned() });
        now.attempts += calls as u64;
    }

    /// How long no answer has come.
    pub(super) fn lasts(&self) -> Duration {
        self.now.as_ref().map_or(Duration::ZERO, |now| now.since.elapsed())
    }

    /// An answer came; whether that ended a time of trouble.
    #[inline]
    pub(super) fn answered(&mut self) -> bool {
        let ended = self.now.is_some();
        if ended {
            self.settle();
        }
        ended
    }

    #[cold]
    fn settle(&mut self) {
        let Some(mut now) = self.now.take() else { return };
        now.lasted = now.since.elapsed();
        if let Some(last) = self.past.get_mut(TROUBLES_KEPT - 1) {
            last.attempts += now.attempts;
        } else {
            self.past.push(now);
        }
    }

    /// All that is to be told, once; what has no answer yet was given up.
    pub(super) fn take(&mut self) -> Vec<RetryReport> {
        self.settle();
        std::mem::take(&mut self.past)
    }
}

/// Pauses between attempts: soon at first, then each second, without an end.
pub(super) fn backoff() -> impl Iterator<Item = Duration> {
    (0..).map(|attempt: u32| Duration::from_millis((20 << attempt.min(6)).min(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_trouble_lasts_from_the_first_failure_to_the_next_answer() {
        let mut mending = Mending::default();
        mending.answered();
        let since = Instant::now().checked_sub(Duration::from_secs(3)).expect("the clock has run for so long");
        mending.again(since, 4, "reset");
        mending.again(Instant::now(), 2, "refused");
        mending.answered();
        mending.again(Instant::now(), 1, "silent");
        let told = mending.take();
        assert_eq!(told.iter().map(|one| (one.attempts, one.why.as_str())).collect::<Vec<_>>(), [(6, "reset"), (1, "silent")]);
        assert!(told[0].since == since && told[0].lasted >= Duration::from_secs(3));
        assert_eq!(mending.take(), []);
    }

    #[test]
    fn no_attempt_goes_uncounted_where_troubles_never_end() {
        let mut mending = Mending::default();
        for _ in 0..1000 {
            mending.again(Instant::now(), 2, "reset");
            mending.answered();
        }
        let told = mending.take();
        assert_eq!((told.len(), told.iter().map(|one| one.attempts).sum::<u64>()), (TROUBLES_KEPT, 2000));
    }
}
