//! A barrier between the steps of a phase: no task goes on before each of them has come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::outside::{Outside, Point};

/// How often a task that waits for others looks whether it is to stop: one that panics never comes.
const LOOK: Duration = Duration::from_millis(50);

/// Where the tasks of a phase meet, as often as they like.
pub struct Meeting {
    tasks: u64,
    arrivals: Mutex<u64>,
    changed: Condvar,
    /// Where tasks of other processes come as well.
    outside: Option<Arc<Outside>>,
}

impl Meeting {
    pub fn new(tasks: u32, outside: Option<Arc<Outside>>) -> Self {
        Self { tasks: tasks.into(), arrivals: Mutex::new(0), changed: Condvar::new(), outside }
    }

    /// Waits until every task of all processes has come to `point`, or all are to stop.
    pub fn meet(&self, point: Point, stop: &AtomicBool) {
        let time = if point == Point::Opened { 1 } else { 2 };
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        *arrivals += 1;
        self.changed.notify_all();
        if let Some(outside) = self.outside.as_ref().filter(|_| *arrivals == self.tasks * time) {
            outside.say(0);
        }
        while *arrivals < self.tasks * time && !stop.load(Ordering::Relaxed) {
            (arrivals, _) = self.changed.wait_timeout(arrivals, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        drop(arrivals);
        if let Some(outside) = &self.outside {
            outside.agreed(point, stop);
        }
    }
}
