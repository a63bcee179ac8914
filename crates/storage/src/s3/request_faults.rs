//! Requests that failed for a reason that may pass, counted by it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::service::Failure;
use crate::api::Note;

/// What becomes of a request that had no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Answered that there are too many (503, 429): it may be made again.
    Slow,
    /// The service failed (500, 502, 504): it may be made again.
    Server,
    /// Its answer ended before its end: it may be made again.
    Cut,
    /// No answer came: it may be made again.
    Broken,
    /// No byte came or went for as long as a service is waited for: it is not asked again.
    Silent,
    /// Answered with a no that will stay one.
    Refused,
}

/// Since the latest phase began.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    slow: AtomicU64,
    server: AtomicU64,
    cut: AtomicU64,
    broken: AtomicU64,
    /// In the service's words.
    last: Mutex<String>,
}

impl Troubles {
    /// A request failed.
    pub(super) fn count(&self, failure: &Failure) {
        let counter = match failure.why {
            Why::Slow => &self.slow,
            Why::Server => &self.server,
            Why::Cut => &self.cut,
            Why::Broken | Why::Silent => &self.broken,
            Why::Refused => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = failure.error.to_string();
    }

    /// A phase begins.
    pub(super) fn restart(&self) {
        for counter in [&self.slow, &self.server, &self.cut, &self.broken] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// What is to be told of the phase.
    pub(super) fn note(&self) -> Option<Note> {
        let counts = [&self.slow, &self.server, &self.cut, &self.broken].map(|counter| counter.load(Ordering::Relaxed));
        let [slow, server, cut, broken] = counts;
        let all: u64 = counts.iter().sum();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!(
            "requests that failed: {all} ({slow} told to slow down, {server} failed by the service, {cut} cut short, {broken} \
             without an answer); the last one: {last}"
        );
        (all > 0).then_some(("s3-troubles", text))
    }
}
