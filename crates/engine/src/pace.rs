//! Waiting for the time at which an operation is to start.

use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tonnage_workload::{PhaseSpec, Schedule};

use crate::clock::{Clock, NAP_NS};
use crate::task::TaskContext;
use crate::task_counters::Step;

/// The last part of a wait is spun, since a sleep ends a little late; short, since spinning is CPU time of the trial.
const SPIN_NS: u64 = 20_000;

/// When one task's operations start.
pub struct Pacer {
    schedule: Option<Schedule>,
    think: u64,
    origin: u64,
    clock: Clock,
}

impl Pacer {
    /// The pace of task `number`, which begins now and shares the phase's rate with all others.
    pub fn new(spec: &PhaseSpec, transfer_size: u64, number: u32, clock: Clock) -> Self {
        Self::among(spec, transfer_size, number, spec.tasks.total, clock)
    }

    /// The pace of the only task that writes: the whole rate is its own.
    pub fn alone(spec: &PhaseSpec, transfer_size: u64, clock: Clock) -> Self {
        Self::among(spec, transfer_size, 0, 1, clock)
    }

    fn among(spec: &PhaseSpec, transfer_size: u64, number: u32, tasks: u32, clock: Clock) -> Self {
        if spec.pace.waits() {
            // By default the kernel may end a thread's sleeps 50 µs late. Where it does not take this, it will.
            let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
        }
        Self {
            schedule: spec.pace.schedule(transfer_size, number, tasks),
            think: clock.ticks_of(spec.pace.think_ns),
            origin: clock.ticks(),
            clock,
        }
    }

    /// When operation number `operation` is to start, in ticks, if that was fixed beforehand.
    #[inline]
    pub fn due(&self, operation: u64) -> Option<u64> {
        let schedule = self.schedule.as_ref()?;
        Some(self.origin.saturating_add(self.clock.ticks_of(schedule.due_ns(operation))))
    }

    /// When a task may begin another operation after one that ended at `ended`, in ticks.
    #[inline]
    pub const fn ready(&self, ended: u64) -> u64 {
        ended.saturating_add(self.think)
    }
}

/// Waits, with nothing in flight, until `until` (ticks) or until somebody says stop. The counters say that this is by
/// plan and no stall.
pub fn wait_until(context: &TaskContext, until: u64) {
    let clock = context.shared.clock;
    context.counters.set_step(Step::Pausing);
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
    context.counters.set_step(Step::Transferring);
}
