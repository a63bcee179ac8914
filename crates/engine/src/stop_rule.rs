//! How long a task goes on: its pass, the time, and what lies beyond them (repeated passes, wear-out).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonnage_workload::{Limit, PhaseSpec};

use crate::clock::Clock;
use crate::remote_barrier::{Point, RemoteBarrier};
use crate::task::TaskContext;
use crate::task_counters::Step;

/// How often a task that waits for others looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// What one task has still to do. The loops compare two numbers; all else is asked only when one of them is reached.
pub struct StopRule {
    /// Operations that are known to be due.
    pub quota: u64,
    /// No operation starts from here on, in ticks.
    pub deadline: u64,
    /// Operations of a pass.
    pass: u64,
    /// Operations never to exceed.
    most: u64,
    /// Passes are repeated until here, in ticks.
    least: u64,
    clock: Clock,
    wall: Option<Arc<Stonewall>>,
    /// What the task had done at the wall is told.
    told: bool,
}

impl StopRule {
    /// That of a task that begins now, whose pass has `pass` operations. `wall` where it is to wear out.
    pub fn new(limit: &Limit, pass: u64, clock: Clock, wall: Option<Arc<Stonewall>>) -> Self {
        let now = clock.ticks();
        let most = limit.operations.unwrap_or(u64::MAX);
        Self {
            quota: if limit.wrap { most } else { pass.min(most) },
            deadline: limit.time_ns.map_or(u64::MAX, |ns| now.saturating_add(clock.ticks_of(ns))),
            pass,
            most,
            least: now.saturating_add(clock.ticks_of(limit.min_time_ns)),
            clock,
            wall,
            told: false,
        }
    }

    /// Whether there is more after the quota of `done` operations: another pass, or what others did more. Waits for
    /// those that are still before the wall, so nothing of this task may be in flight.
    #[cold]
    pub fn more(&mut self, context: &mut TaskContext, done: u64) -> bool {
        if context.shared.stop.load(Ordering::Relaxed) {
            return false;
        }
        if self.told {
            let Some(wall) = &self.wall else { return false };
            context.counters.set_step(Step::Pausing);
            let more = wall.most_beyond(done, &context.shared.stop);
            context.counters.set_step(Step::Transferring);
            self.quota = more.unwrap_or(done);
        } else if self.again(done) > done && self.clock.ticks() < self.least {
            self.quota = self.again(done);
        } else {
            self.tell(context, done, done);
        }
        self.quota > done
    }

    /// The time is up, with `done` operations completed and `started` begun: whether the task ends now.
    #[cold]
    pub fn time_is_up(&mut self, context: &mut TaskContext, done: u64, started: u64) -> bool {
        context.tally.timed_out = true;
        if self.wall.is_none() {
            return true;
        }
        self.deadline = u64::MAX;
        self.quota = started;
        self.tell(context, done, started);
        false
    }

    /// Operations with another pass, as far as it may go.
    fn again(&self, done: u64) -> u64 {
        done.saturating_add(self.pass).min(self.most)
    }

    fn tell(&mut self, context: &mut TaskContext, done: u64, started: u64) {
        if let Some(wall) = &self.wall {
            wall.tell(started);
            context.tally.stonewall = Some((done, context.counters.bytes()));
            self.told = true;
        }
    }
}

impl Drop for StopRule {
    /// A task that ends tells, whatever ended it: no other waits for it at the wall.
    fn drop(&mut self) {
        if let Some(wall) = self.wall.take().filter(|_| !self.told) {
            wall.tell(0);
        }
    }
}

/// Where the tasks of a phase meet when the time is up, to learn how much the one that did most had done.
pub struct Stonewall {
    state: Mutex<WallState>,
    changed: Condvar,
    /// Where tasks of other processes wear out as well.
    remote_barrier: Option<Arc<RemoteBarrier>>,
}

struct WallState {
    most: u64,
    missing: u32,
}

impl Stonewall {
    /// The wall of a phase whose tasks wear out.
    pub fn of(spec: &PhaseSpec, remote_barrier: Option<&Arc<RemoteBarrier>>) -> Option<Arc<Self>> {
        spec.limit.wear_out.then(|| Arc::new(Self::among(spec.tasks.here, remote_barrier.cloned())))
    }

    fn among(tasks: u32, remote_barrier: Option<Arc<RemoteBarrier>>) -> Self {
        Self { state: Mutex::new(WallState { most: 0, missing: tasks }), changed: Condvar::new(), remote_barrier }
    }

    fn lock(&self) -> MutexGuard<'_, WallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, operations: u64) {
        let mut state = self.lock();
        state.most = state.most.max(operations);
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
        if let Some(remote_barrier) = self.remote_barrier.as_ref().filter(|_| state.missing == 0) {
            remote_barrier.say(state.most);
        }
    }

    /// The most that any task had done, if that is more than `done`. Waits for tasks that have not told, here and in
    /// other processes, as long as they could make a difference.
    fn most_beyond(&self, done: u64, stop: &AtomicBool) -> Option<u64> {
        let mut state = self.lock();
        while state.most <= done && state.missing > 0 && !stop.load(Ordering::Relaxed) {
            (state, _) = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        let most = state.most;
        drop(state);
        let elsewhere = || self.remote_barrier.as_ref().and_then(|remote_barrier| remote_barrier.agreed(Point::Wall, stop));
        let most = if most > done { most } else { elsewhere().unwrap_or(most) };
        (most > done).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_task_that_has_ended_whatever_it_told() {
        let limit = Limit { time_ns: Some(1), wear_out: true, ..Limit::default() };
        let wall = Arc::new(Stonewall::among(2, None));
        drop(StopRule::new(&limit, 5, Clock::new(), Some(Arc::clone(&wall))));
        wall.tell(3);
        let (there, back) = std::sync::mpsc::channel();
        let waiting = Arc::clone(&wall);
        std::thread::spawn(move || there.send(waiting.most_beyond(3, &AtomicBool::new(false))));
        assert_eq!(back.recv_timeout(Duration::from_secs(20)), Ok(None), "it waited for the one that is gone");
    }
}
