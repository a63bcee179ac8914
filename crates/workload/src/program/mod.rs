//! What one task does and when, decided without doing it.
//!
//! A [`Program`] is told the time and which operations have ended, and says what is due. The engine carries that out on a
//! storage and by its clock, the simulator on a model in virtual time: neither decides anything of its own.
//!
//! ```text
//! next(now) ──→ Issue     an operation begins, in a slot that is free
//!               WaitUntil nothing begins before then, or before one in flight has ended
//!               Wait      nothing begins before one in flight has ended
//!               Tell      its time is up, with so many operations begun: all others are to know
//!               Learn     it goes on as far as the task that had begun most: learned(most)
//!               Done
//! completed(slot, now) ──→ the operation that follows there at once, where nothing is to be asked first
//! ```

mod copies;
mod feeding;
mod finds;
mod names;
mod retry;
mod rounds;
mod starts;
mod stonewall;
mod stop_rule;
mod tail_reader;
mod transfers;

use std::collections::VecDeque;

use crate::phase_limit::Limit;
use crate::rate_limits::{RateLimits, Schedule};
use starts::Starts;
use stop_rule::{AtQuota, StopRule};

pub use copies::{Copies, Deal};
pub use feeding::{Fed, FeedStep, Feeding, SaveStep};
pub use finds::{Finds, Search};
pub use names::{ItemOf, Items};
pub use retry::{Attempts, RetryRule};
pub use rounds::{RemovalStep, Removals, RoundStep, Rounds};
pub use starts::{Nanoseconds, TimeUnit};
pub use stonewall::WallState;
pub use tail_reader::{FollowStep, TailReader};
pub use transfers::{Appends, Transfer, Transfers};

/// The operations of one task, in their order.
pub trait Operations {
    /// What one of them is.
    type Operation: Copy;

    /// The next one; `None` if there is none left.
    fn next_operation(&mut self) -> Option<Self::Operation>;

    /// Whether there is none left, for all that is known without taking one.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether the next one begins only when nothing else is in flight.
    fn is_alone(&self) -> bool {
        false
    }

    /// Whether that may be so of any of them.
    fn may_be_alone(&self) -> bool {
        false
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<T> {
    /// An operation begins.
    Issue {
        /// The free slot that it takes.
        slot: u32,
        /// Where its latency begins: now, or when it was meant to start.
        from: u64,
        /// What it does.
        operation: T,
    },
    /// Nothing begins before this instant, or before an operation in flight has ended.
    WaitUntil(u64),
    /// Nothing begins before an operation in flight has ended.
    Wait,
    /// The task has come to its wall with so many operations begun; the others learn it. The next step follows at once.
    Tell(u64),
    /// It goes on only as far as the task that had begun most, of which it has begun so many itself: to be answered by
    /// [`Program::learned`].
    Learn(u64),
    /// Nothing begins any more, and nothing is in flight.
    Done,
}

/// When a task ends and when its operations start: what a [`Program`] is made from.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// When it ends.
    pub limit: Limit,
    /// Pauses between operations.
    pub pace: RateLimits,
    /// Starts that are fixed beforehand.
    pub schedule: Option<Schedule>,
    /// Operations of a pass; more only where the limit says so.
    pub pass: u64,
    /// Operations in flight at most, each in a slot of its own.
    pub slots: u32,
}

impl Terms {
    /// Operations that are due at first: a pass, or as many as are allowed.
    #[must_use]
    pub fn quota(&self) -> u64 {
        if self.limit.wrap { u64::MAX } else { self.pass }.min(self.limit.operations.unwrap_or(u64::MAX))
    }
}

/// One task's operations and their times. Instants are in units of `U`, which both sides choose.
#[derive(Debug)]
pub struct Program<U, O: Operations> {
    operations: O,
    /// Taken, and not begun: it waits for its time.
    held: Option<O::Operation>,
    stop_rule: StopRule,
    starts: Starts<U>,
    /// Slots without an operation, and from when on each may take one.
    free: VecDeque<(u32, u64)>,
    in_flight: u64,
    issued: u64,
    /// Operations below this number follow as soon as another ended, without a question: the quota where nothing is to be
    /// waited for, else 0.
    unasked: u64,
    at_once: bool,
    is_ending: bool,
    timed_out: bool,
}

impl<U: TimeUnit, O: Operations> Program<U, O> {
    /// A task that begins `now`.
    pub fn new(operations: O, terms: &Terms, unit: U, now: u64) -> Self {
        let stop_rule = StopRule::new(terms, unit, now);
        let at_once = !terms.pace.waits() && !operations.may_be_alone();
        Self {
            operations,
            held: None,
            unasked: if at_once { stop_rule.quota } else { 0 },
            stop_rule,
            starts: Starts::new(terms.pace, terms.schedule, unit, now),
            free: (0..terms.slots).map(|slot| (slot, 0)).collect(),
            in_flight: 0,
            issued: 0,
            at_once,
            is_ending: false,
            timed_out: false,
        }
    }

    /// What is due now.
    pub fn next(&mut self, now: u64) -> Step<O::Operation> {
        let step = self.decide(now);
        self.unasked = if self.at_once && !self.is_ending { self.stop_rule.quota } else { 0 };
        step
    }

    fn decide(&mut self, now: u64) -> Step<O::Operation> {
        loop {
            if self.is_ending {
                return if self.in_flight > 0 { Step::Wait } else { Step::Done };
            }
            let Some(&(slot, ready)) = self.free.front() else { return Step::Wait };
            if self.issued >= self.stop_rule.quota {
                if self.in_flight > 0 {
                    return Step::Wait;
                }
                match self.stop_rule.at_quota(self.issued, now) {
                    AtQuota::Again => {}
                    AtQuota::Tell => return Step::Tell(self.issued),
                    AtQuota::Learn => return Step::Learn(self.issued),
                    AtQuota::End => self.is_ending = true,
                }
                continue;
            }
            if self.held.is_none() && self.operations.is_over() {
                self.is_ending = true;
                continue;
            }
            if now >= self.stop_rule.deadline {
                self.timed_out = true;
                if self.stop_rule.time_is_up(self.issued) {
                    return Step::Tell(self.issued);
                }
                self.is_ending = true;
                continue;
            }
            if self.held.is_none() && self.operations.is_alone() && self.in_flight > 0 {
                return Step::Wait;
            }
            let due = self.starts.due(self.issued);
            let start = due.unwrap_or(ready);
            if start >= self.stop_rule.deadline {
                return Step::WaitUntil(self.stop_rule.deadline);
            }
            // Taken before it is waited for: what all tasks take from, nobody waits for in vain.
            let Some(operation) = self.held.take().or_else(|| self.operations.next_operation()) else {
                self.is_ending = true;
                continue;
            };
            if start > now {
                self.held = Some(operation);
                return Step::WaitUntil(start);
            }
            self.free.pop_front();
            self.issued += 1;
            self.in_flight += 1;
            return Step::Issue { slot, from: due.unwrap_or(now), operation };
        }
    }

    /// The operation in `slot` has ended. The one that follows it there at once, whose latency begins now; `None` where
    /// [`next`](Self::next) is to be asked first.
    #[expect(clippy::inline_always, reason = "in the loops of all tasks, whose speed is what may be measured")]
    #[inline(always)]
    pub fn completed(&mut self, slot: u32, now: u64) -> Option<O::Operation> {
        if self.issued < self.unasked
            && now < self.stop_rule.deadline
            && let Some(operation) = self.operations.next_operation()
        {
            self.issued += 1;
            return Some(operation);
        }
        self.free_slot(slot, now);
        None
    }

    #[cold]
    #[inline(never)]
    fn free_slot(&mut self, slot: u32, now: u64) {
        self.in_flight -= 1;
        self.free.push_back((slot, self.starts.ready(now)));
    }

    /// No operation begins any more.
    pub const fn stop(&mut self) {
        self.is_ending = true;
        self.unasked = 0;
    }

    /// What [`Step::Learn`] asked for: the most that any task had begun, where that is more than this one has.
    pub fn learned(&mut self, most: Option<u64>) {
        self.is_ending |= !self.stop_rule.learned(most, self.issued);
    }

    /// Operations that have ended.
    #[must_use]
    pub const fn completed_operations(&self) -> u64 {
        self.issued - self.in_flight
    }

    /// Operations in flight.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether the time was up before all was done.
    #[must_use]
    pub const fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// The free slot that takes the next operation.
    #[must_use]
    pub fn next_slot(&self) -> Option<u32> {
        self.free.front().map(|&(slot, _)| slot)
    }

    /// The operations themselves.
    #[must_use]
    pub const fn operations(&self) -> &O {
        &self.operations
    }
}
