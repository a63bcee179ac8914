//! The rounds of one task: begin, write, sync, snapshot, end.

use std::mem::replace;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tonnage_storage::StorageError;
use tonnage_workload::Checkpoint;

use super::log::RoundLog;
use super::{Taker, lock};
use crate::clock::monotonic_ns;
use crate::pace::wait_until;
use crate::retry::Retries;
use crate::stream::StreamWorker;
use crate::task::{TaskContext, Worker};
use crate::task_counters::Step;

/// One task that writes all rounds.
pub struct Rounds {
    work: Checkpoint,
    stream: StreamWorker,
    taker: Option<Taker>,
    log: RoundLog,
    logs: Arc<Mutex<Vec<RoundLog>>>,
    /// Meetings so far.
    met: u32,
}

impl Rounds {
    pub fn new(
        work: Checkpoint,
        stream: StreamWorker,
        taker: Option<Taker>,
        mut log: RoundLog,
        logs: Arc<Mutex<Vec<RoundLog>>>,
    ) -> Self {
        log.rounds.reserve_exact(work.rounds as usize);
        log.takes.reserve_exact(if taker.is_some() { work.rounds as usize } else { 0 });
        Self { work, stream, taker, log, logs, met: 0 }
    }

    /// The pause before a round, and the bytes that it will write.
    fn think(&mut self, context: &TaskContext, round: u32) {
        let (clock, began_ns) = (context.shared.clock, monotonic_ns());
        let until = clock.ticks().saturating_add(clock.ticks_of(self.work.think_ns));
        context.counters.set_step(Step::Pausing);
        if round > 0 {
            self.stream.renew(context.number, Checkpoint::round_seed(context.shared.spec.seed, round));
        }
        if self.work.think_ns > 0 {
            wait_until(context, until);
        }
        self.log.think_ns += monotonic_ns() - began_ns;
    }

    /// Meets the other tasks, if that is how rounds are coordinated. `None` if all are to stop.
    fn meet(&mut self, context: &TaskContext, token: u64) -> Option<u64> {
        if !self.work.is_together() {
            return (!context.shared.stop.load(Ordering::Relaxed)).then_some(token);
        }
        self.met += 1;
        context.meet_at(self.met - 1, token)
    }

    /// One round; `None` if it failed, or all are to stop.
    fn round(&mut self, context: &mut TaskContext, round: u32) -> Option<()> {
        self.meet(context, 0)?;
        let begin_ns = monotonic_ns();
        context.counters.set_step(Step::Transferring);
        if !self.stream.open(context) {
            return None;
        }
        self.stream.transfer(context);
        context.counters.set_step(Step::Pausing);
        if !context.shared.stop.load(Ordering::Relaxed) {
            self.stream.sync(context);
        }
        let saved = self.meet(context, 0).and_then(|_| self.snapshot(context, round));
        self.stream.close(context);
        saved?;
        self.log.rounds.push((begin_ns, monotonic_ns()));
        self.note(context, round)
    }

    /// Whether this task takes snapshots, where there are any.
    fn takes(&self, context: &TaskContext) -> bool {
        !self.work.is_together() || context.number == 0
    }

    /// After the round's time: nobody writes again before it is done.
    fn note(&self, context: &mut TaskContext, round: u32) -> Option<()> {
        match &self.taker {
            Some(taker) if self.takes(context) => {
                let noted = lock(taker).note(round);
                self.told(context, noted)
            }
            _ => Some(()),
        }
    }

    /// The snapshot of a round, where there is one; of all tasks' data the first task takes it, and the rest wait.
    fn snapshot(&mut self, context: &mut TaskContext, round: u32) -> Option<()> {
        let Some(taker) = self.taker.clone() else { return Some(()) };
        let own = self.takes(context);
        let mut token = 0;
        if own {
            let begin_ns = monotonic_ns();
            let outcome = lock(&taker).take(round);
            let took_ns = monotonic_ns() - begin_ns;
            token = self.told(context, outcome)?;
            self.log.takes.push((round, begin_ns, took_ns));
        }
        if !self.work.is_together() {
            return Some(());
        }
        let agreed = self.meet(context, token)?;
        // One task of each process learns what another process's did.
        if !own && context.number == context.shared.spec.tasks.first {
            let adopted = lock(&taker).adopt(round, agreed);
            self.told(context, adopted)?;
        }
        Some(())
    }

    /// What was said, if it was no error. One of a program that was ended because all are to stop is not why they are.
    fn told<T>(&self, context: &mut TaskContext, result: Result<T, StorageError>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if error.io().is_none_or(|io| io.kind() != std::io::ErrorKind::Interrupted) {
            fail(context, self.stream.file, &error);
        }
        None
    }
}

/// Ends the trial for what a means of snapshots says.
pub fn fail(context: &mut TaskContext, file: u32, error: &StorageError) {
    let errno = error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0);
    context.fail(file, 0, errno, error.to_string());
}

impl Worker for Rounds {
    fn transfer(&mut self, context: &mut TaskContext) {
        for round in 0..self.work.rounds {
            self.think(context, round);
            if self.round(context, round).is_none() {
                break;
            }
        }
        let log = replace(&mut self.log, RoundLog::new(context.number));
        lock(&self.logs).push(log);
    }

    fn retries(&mut self) -> Retries {
        self.stream.retries()
    }
}
