//! Carries out what a task's program says between its operations: waits by the clock, and meets the other tasks.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tonnage_workload::{Operations, Program, Step, Terms, TimeUnit};

use crate::clock::{Clock, NAP_NS};
use crate::stonewall::{Seat, Stonewall};
use crate::task::TaskContext;
use crate::task_counters;

/// The last part of a wait is spun, since a sleep ends a little late; short, since spinning is CPU time of the trial.
const SPIN_NS: u64 = 20_000;

impl TimeUnit for Clock {
    fn units(self, ns: u64) -> u64 {
        self.ticks_of(ns)
    }
}

/// A task's program on this machine's clock. Instants are ticks.
pub struct Steering<O: Operations> {
    pub program: Program<Clock, O>,
    stop: Arc<AtomicBool>,
    seat: Option<Seat>,
}

impl<O: Operations> Steering<O> {
    /// That of a task that begins now; `wall` where it is to wear out.
    pub fn new(context: &TaskContext, operations: O, terms: &Terms, wall: Option<Arc<Stonewall>>) -> Self {
        if terms.pace.waits() {
            // By default the kernel may end a thread's sleeps 50 µs late. Where it does not take this, it will.
            let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
        }
        let clock = context.shared.clock;
        let stop = Arc::clone(&context.shared.stop);
        Self { program: Program::new(operations, terms, clock, clock.ticks()), stop, seat: wall.map(Seat::at) }
    }

    /// What is due `now`, when the other tasks have been told and heard. Nothing begins any more where all are to stop.
    pub fn next(&mut self, context: &mut TaskContext, mut now: u64) -> Step<O::Operation> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                self.program.stop();
            }
            let step = self.program.next(now);
            context.tally.timed_out |= self.program.timed_out();
            match (step, &mut self.seat) {
                (Step::Tell(begun), seat) => {
                    context.tally.stonewall = Some((self.program.completed_operations(), context.counters.bytes()));
                    if let Some(seat) = seat {
                        seat.tell(begun);
                    }
                }
                (Step::Learn(done), Some(seat)) => {
                    let learn = || seat.most_beyond(done, &context.shared.stop);
                    self.program.learned(context.counters.during(task_counters::Step::Pausing, learn));
                }
                (Step::Learn(_), None) => self.program.learned(None),
                _ => return step,
            }
            now = context.shared.clock.ticks();
        }
    }

    /// Waits, with nothing in flight, until an operation begins: where its latency begins, and what it does. `None` at the
    /// end.
    #[cold]
    #[inline(never)]
    pub fn wait_for_next(&mut self, context: &mut TaskContext, mut now: u64) -> Option<(u64, O::Operation)> {
        loop {
            match self.next(context, now) {
                Step::Issue { from, operation, .. } => return Some((from, operation)),
                Step::WaitUntil(until) => wait_until(context, until),
                Step::Wait | Step::Tell(_) | Step::Learn(_) | Step::Done => return None,
            }
            now = context.shared.clock.ticks();
        }
    }

    /// The only operation in flight has ended `now`: the next one, as [`wait_for_next`](Self::wait_for_next) says it.
    #[expect(clippy::inline_always, reason = "in the loops of all tasks, whose speed is what may be measured")]
    #[inline(always)]
    pub fn follow(&mut self, context: &mut TaskContext, now: u64) -> Option<(u64, O::Operation)> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        match self.program.completed(0, now) {
            Some(operation) => Some((now, operation)),
            None => self.wait_for_next(context, now),
        }
    }
}

/// Waits, with nothing in flight, until `until` (ticks) or until somebody says stop. The counters say that this is by
/// plan and no stall.
pub fn wait_until(context: &TaskContext, until: u64) {
    let clock = context.shared.clock;
    context.counters.during(task_counters::Step::Pausing, || {
        loop {
            let left_ns = clock.ns_between(clock.ticks(), until);
            if left_ns == 0 || context.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if left_ns > SPIN_NS {
                std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(NAP_NS)));
            } else {
                std::hint::spin_loop();
            }
        }
    });
}
