//! A barrier between the steps of a phase: no task goes on before each of them has come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::remote_barrier::{Point, RemoteBarrier};

/// How often a task that waits for others looks whether it is to stop: one that panics never comes.
const LOOK: Duration = Duration::from_millis(50);

/// Where the tasks of a phase meet, as often as they like.
pub struct Barrier {
    tasks: u64,
    state: Mutex<State>,
    changed: Condvar,
    /// Where tasks of other processes come as well.
    remote: Option<Arc<RemoteBarrier>>,
}

#[derive(Default)]
struct State {
    arrivals: u64,
    /// The largest number that any task has said so far.
    most: u64,
}

impl Barrier {
    pub fn new(tasks: u32, remote: Option<Arc<RemoteBarrier>>) -> Self {
        Self { tasks: tasks.into(), state: Mutex::default(), changed: Condvar::new(), remote }
    }

    /// Waits until every task of all processes has come to `point`, or all are to stop. Each says a number; the largest
    /// that was said up to this point.
    pub fn meet(&self, point: Point, number: u64, stop: &AtomicBool) -> u64 {
        let time = match point {
            Point::Opened => 1,
            Point::Numbered(index) => u64::from(index) + 1,
            Point::Wall | Point::Transferred => 2,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrivals += 1;
        state.most = state.most.max(number);
        self.changed.notify_all();
        if let Some(remote) = self.remote.as_ref().filter(|_| state.arrivals == self.tasks * time) {
            remote.say(state.most);
        }
        while state.arrivals < self.tasks * time && !stop.load(Ordering::Relaxed) {
            (state, _) = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        let most = state.most;
        drop(state);
        self.remote.as_ref().and_then(|remote| remote.agreed(point, stop)).unwrap_or(most)
    }
}
