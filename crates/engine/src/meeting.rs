//! A barrier between the steps of a phase: no task goes on before each of them has come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a task that waits for others looks whether it is to stop: one that panics never comes.
const LOOK: Duration = Duration::from_millis(50);

/// Where the tasks of a phase meet, as often as they like.
pub struct Meeting {
    tasks: u64,
    arrivals: Mutex<u64>,
    changed: Condvar,
}

impl Meeting {
    pub fn new(tasks: u32) -> Self {
        Self { tasks: tasks.into(), arrivals: Mutex::new(0), changed: Condvar::new() }
    }

    /// Waits until every task has come for the `time`-th time (from 1), or all are to stop.
    pub fn meet(&self, time: u64, stop: &AtomicBool) {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        *arrivals += 1;
        self.changed.notify_all();
        while *arrivals < self.tasks * time && !stop.load(Ordering::Relaxed) {
            (arrivals, _) = self.changed.wait_timeout(arrivals, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
