//! The rounds of one task: begin, write, sync, snapshot, end.

use std::mem::replace;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tonnage_records::RoundLog;
use tonnage_storage::StorageError;
use tonnage_workload::{Checkpoint, RoundStep, Rounds, TaskRange};

use super::snapshot_taker::{Taker, fail, lock};
use crate::clock::monotonic_ns;
use crate::retry::Retries;
use crate::steering::wait_until;
use crate::stream::StreamWorker;
use crate::task::{TaskContext, Worker};
use crate::task_counters::Step;

/// Who says when a round begins, where that does not follow from the end of the one before.
pub trait Pacer: Send {
    /// Waits until a round is due: by when it is to be over, at the latest. `None`: none comes any more.
    fn wait(&mut self, context: &mut TaskContext) -> Option<u64>;

    /// The round is over.
    fn done(&mut self);
}

/// One task that writes all rounds.
pub struct RoundsWorker {
    work: Checkpoint,
    stream: StreamWorker,
    taker: Option<Taker>,
    log: RoundLog,
    logs: Arc<Mutex<Vec<RoundLog>>>,
    /// Begin of the round in hand, whose file is open.
    begin_ns: Option<u64>,
    /// Of a snapshot of all that it took and others are to know.
    token: u64,
    /// `None`: rounds follow each other.
    pacer: Option<Box<dyn Pacer>>,
}

impl RoundsWorker {
    pub fn new(
        work: Checkpoint,
        stream: StreamWorker,
        taker: Option<Taker>,
        mut log: RoundLog,
        logs: Arc<Mutex<Vec<RoundLog>>>,
    ) -> Self {
        log.rounds.reserve_exact(work.rounds as usize);
        log.takes.reserve_exact(if taker.is_some() { work.rounds as usize } else { 0 });
        Self { work, stream, taker, log, logs, begin_ns: None, token: 0, pacer: None }
    }

    /// The same with rounds that begin when another says so.
    pub fn paced_by(mut self, pacer: Box<dyn Pacer>) -> Self {
        self.pacer = Some(pacer);
        self
    }

    /// All rounds, step by step; returns early where one fails, or all are to stop.
    fn rounds(&mut self, context: &mut TaskContext) -> Option<()> {
        for step in Rounds::new(&self.work, context.number) {
            match step {
                RoundStep::Think(round) => self.think(context, round)?,
                RoundStep::Meet(point) => context.meet_at(point, 0).map(drop)?,
                RoundStep::Open => self.open(context)?,
                RoundStep::Write => {
                    self.stream.transfer(context);
                    context.counters.set_step(Step::Pausing);
                }
                RoundStep::Sync => self.stream.sync(context),
                RoundStep::Snapshot(round) => self.snapshot(context, round)?,
                RoundStep::Agree(point) => self.agree(context, point)?,
                RoundStep::Close => self.close(context),
                RoundStep::Note(round) => self.note(context, round)?,
            }
            // Not after a snapshot: one that was taken is closed over and noted, or nobody would find it.
            let may_break_off = matches!(step, RoundStep::Think(_) | RoundStep::Write | RoundStep::Sync);
            let is_cut = self.pacer.is_some() && step == RoundStep::Write && context.tally.timed_out;
            if may_break_off && (is_cut || context.shared.stop.load(Ordering::Relaxed)) {
                return None;
            }
        }
        Some(())
    }

    /// The pause before a round, and the bytes that it will write.
    fn think(&mut self, context: &mut TaskContext, round: u32) -> Option<()> {
        let (clock, began_ns) = (context.shared.clock, monotonic_ns());
        let until = clock.ticks().saturating_add(clock.ticks_of(self.work.think_ns));
        context.counters.set_step(Step::Pausing);
        if round > 0 {
            self.stream.renew(context.number, Checkpoint::round_seed(context.shared.spec.seed, round));
        }
        if self.work.think_ns > 0 {
            wait_until(context, until);
        }
        if let Some(pacer) = &mut self.pacer {
            self.stream.until_ns = Some(pacer.wait(context)?);
        }
        self.log.think_ns += monotonic_ns() - began_ns;
        Some(())
    }

    /// The round's time begins.
    fn open(&mut self, context: &mut TaskContext) -> Option<()> {
        let begin_ns = monotonic_ns();
        context.counters.set_step(Step::Transferring);
        self.stream.open(context).then(|| self.begin_ns = Some(begin_ns))
    }

    /// The round's time ends, with the file's.
    fn close(&mut self, context: &mut TaskContext) {
        self.stream.close(context);
        self.log.rounds.extend(self.begin_ns.take().map(|begin_ns| (begin_ns, monotonic_ns())));
        if let Some(pacer) = &mut self.pacer {
            pacer.done();
        }
    }

    fn snapshot(&mut self, context: &mut TaskContext, round: u32) -> Option<()> {
        let taker = self.taker.clone()?;
        let begin_ns = monotonic_ns();
        let outcome = lock(&taker).take(round);
        let took_ns = monotonic_ns() - begin_ns;
        self.token = self.told(context, outcome)?;
        self.log.takes.push((round, begin_ns, took_ns));
        Some(())
    }

    /// Of a snapshot that the first task took of all: one task of each process learns what another process's did.
    fn agree(&mut self, context: &mut TaskContext, point: u32) -> Option<()> {
        let agreed = context.meet_at(point, self.token)?;
        let TaskRange { first, .. } = context.shared.spec.tasks;
        let taker = self.taker.clone()?;
        if context.number > 0 && context.number == first {
            let adopted = lock(&taker).adopt(self.log.rounds.len() as u32, agreed);
            self.told(context, adopted)?;
        }
        Some(())
    }

    fn note(&self, context: &mut TaskContext, round: u32) -> Option<()> {
        let noted = lock(self.taker.as_ref()?).note(round);
        self.told(context, noted)
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

impl Worker for RoundsWorker {
    fn transfer(&mut self, context: &mut TaskContext) {
        let done = self.rounds(context);
        // A round that broke off closes its file, and is none.
        if done.is_none() && self.begin_ns.is_some() {
            self.stream.close(context);
        }
        let log = replace(&mut self.log, RoundLog::new(context.number));
        lock(&self.logs).push(log);
    }

    fn retries(&mut self) -> Retries {
        self.stream.retries()
    }
}
