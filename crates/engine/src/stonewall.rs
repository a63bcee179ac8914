//! Where the tasks of a phase that wear out meet when their time is up, across threads and processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonnage_workload::{PhaseSpec, WallState};

use crate::remote_barrier::{Point, RemoteBarrier};

/// How often a task that waits for others looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The wall of a phase.
pub struct Stonewall {
    state: Mutex<WallState>,
    changed: Condvar,
    /// Where tasks of other processes wear out as well.
    remote_barrier: Option<Arc<RemoteBarrier>>,
}

impl Stonewall {
    /// The wall of a phase whose tasks wear out.
    pub fn of(spec: &PhaseSpec, remote_barrier: Option<&Arc<RemoteBarrier>>) -> Option<Arc<Self>> {
        spec.limit.wear_out.then(|| Arc::new(Self::among(spec.tasks.here, remote_barrier.cloned())))
    }

    fn among(tasks: u32, remote_barrier: Option<Arc<RemoteBarrier>>) -> Self {
        Self { state: Mutex::new(WallState::new(tasks)), changed: Condvar::new(), remote_barrier }
    }

    fn lock(&self) -> MutexGuard<'_, WallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, operations: u64) {
        let mut state = self.lock();
        state.tell(operations);
        self.changed.notify_all();
        if let Some(remote_barrier) = self.remote_barrier.as_ref().filter(|_| state.is_complete()) {
            remote_barrier.say(state.most());
        }
    }

    /// The most that any task had begun, if that is more than `done`. Waits for tasks that have not told, here and in
    /// other processes, as long as they could make a difference.
    fn most_beyond(&self, done: u64, stop: &AtomicBool) -> Option<u64> {
        let mut state = self.lock();
        while state.learned(done).is_none() && !stop.load(Ordering::Relaxed) {
            (state, _) = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        let most = state.most();
        drop(state);
        let elsewhere = || self.remote_barrier.as_ref().and_then(|remote_barrier| remote_barrier.agreed(Point::Wall, stop));
        let most = if most > done { most } else { elsewhere().unwrap_or(most) };
        (most > done).then_some(most)
    }
}

/// One task's place at the wall. A task that ends tells, whatever ended it: no other waits for it.
pub struct Seat {
    wall: Arc<Stonewall>,
    has_told: bool,
}

impl Seat {
    /// That of a task that has not told.
    pub const fn at(wall: Arc<Stonewall>) -> Self {
        Self { wall, has_told: false }
    }

    /// The task's wall is reached, with so many operations begun.
    pub fn tell(&mut self, operations: u64) {
        self.wall.tell(operations);
        self.has_told = true;
    }

    /// See [`Stonewall::most_beyond`].
    pub fn most_beyond(&self, done: u64, stop: &AtomicBool) -> Option<u64> {
        self.wall.most_beyond(done, stop)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.has_told {
            self.wall.tell(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_task_that_has_ended_whatever_it_told() {
        let wall = Arc::new(Stonewall::among(2, None));
        drop(Seat::at(Arc::clone(&wall)));
        wall.tell(3);
        let (there, back) = std::sync::mpsc::channel();
        let waiting = Arc::clone(&wall);
        std::thread::spawn(move || there.send(waiting.most_beyond(3, &AtomicBool::new(false))));
        assert_eq!(back.recv_timeout(Duration::from_secs(20)), Ok(None), "it waited for the one that is gone");
    }
}
