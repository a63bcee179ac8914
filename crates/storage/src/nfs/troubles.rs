//! What a server did to a phase: connections that broke, data that it lost, and how long that took.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Note;

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

/// Pauses between attempts: soon at first, then each second, without an end.
pub(super) fn backoff() -> impl Iterator<Item = Duration> {
    (0..).map(|attempt: u32| Duration::from_millis((20 << attempt.min(6)).min(1000)))
}
