//! The rounds of one task: begin, write, sync, snapshot, end.

use std::mem::replace;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tonnage_storage::StorageError;
use tonnage_workload::Checkpoint;

use super::log::RoundLog;
use super::{Taker, lock};
use crate::board::Step;
use crate::clock::monotonic_ns;
use crate::pace::wait_until;
use crate::patience::Retries;
use crate::stream::StreamWorker;
use crate::task::{Desk, Worker};

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
    fn think(&mut self, desk: &Desk, round: u32) {
        let (clock, began_ns) = (desk.shared.clock, monotonic_ns());
        let until = clock.ticks().saturating_add(clock.ticks_of(self.work.think_ns));
        desk.board.set_step(Step::Pausing);
        if round > 0 {
            self.stream.renew(desk.number, Checkpoint::round_seed(desk.shared.spec.seed, round));
        }
        if self.work.think_ns > 0 {
            wait_until(desk, until);
        }
        self.log.think_ns += monotonic_ns() - began_ns;
    }

    /// Meets the other tasks, if that is how rounds are coordinated. `None` if all are to stop.
    fn meet(&mut self, desk: &Desk, token: u64) -> Option<u64> {
        if !self.work.is_together() {
            return (!desk.shared.stop.load(Ordering::Relaxed)).then_some(token);
        }
        self.met += 1;
        desk.meet_at(self.met - 1, token)
    }

    /// One round; `None` if it failed, or all are to stop.
    fn round(&mut self, desk: &mut Desk, round: u32) -> Option<()> {
        self.meet(desk, 0)?;
        let begin_ns = monotonic_ns();
        desk.board.set_step(Step::Transferring);
        if !self.stream.open(desk) {
            return None;
        }
        self.stream.transfer(desk);
        desk.board.set_step(Step::Pausing);
        if !desk.shared.stop.load(Ordering::Relaxed) {
            self.stream.sync(desk);
        }
        let saved = self.meet(desk, 0).and_then(|_| self.snapshot(desk, round));
        self.stream.close(desk);
        saved?;
        self.log.rounds.push((begin_ns, monotonic_ns()));
        self.note(desk, round)
    }

    /// Whether this task takes snapshots, where there are any.
    fn takes(&self, desk: &Desk) -> bool {
        !self.work.is_together() || desk.number == 0
    }

    /// After the round's time: nobody writes again before it is done.
    fn note(&self, desk: &mut Desk, round: u32) -> Option<()> {
        match &self.taker {
            Some(taker) if self.takes(desk) => {
                let noted = lock(taker).note(round);
                self.told(desk, noted)
            }
            _ => Some(()),
        }
    }

    /// The snapshot of a round, where there is one; of all tasks' data the first task takes it, and the rest wait.
    fn snapshot(&mut self, desk: &mut Desk, round: u32) -> Option<()> {
        let Some(taker) = self.taker.clone() else { return Some(()) };
        let own = self.takes(desk);
        let mut token = 0;
        if own {
            let begin_ns = monotonic_ns();
            let outcome = lock(&taker).take(round);
            let took_ns = monotonic_ns() - begin_ns;
            token = self.told(desk, outcome)?;
            self.log.takes.push((round, begin_ns, took_ns));
        }
        if !self.work.is_together() {
            return Some(());
        }
        let agreed = self.meet(desk, token)?;
        // One task of each process learns what another process's did.
        if !own && desk.number == desk.shared.spec.tasks.first {
            let adopted = lock(&taker).adopt(round, agreed);
            self.told(desk, adopted)?;
        }
        Some(())
    }

    /// What was said, if it was no error. One of a program that was ended because all are to stop is not why they are.
    fn told<T>(&self, desk: &mut Desk, result: Result<T, StorageError>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if error.io().is_none_or(|io| io.kind() != std::io::ErrorKind::Interrupted) {
            fail(desk, self.stream.file, &error);
        }
        None
    }
}

/// Ends the trial for what a means of snapshots says.
pub fn fail(desk: &mut Desk, file: u32, error: &StorageError) {
    let errno = error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0);
    desk.fail(file, 0, errno, error.to_string());
}

impl Worker for Rounds {
    fn transfer(&mut self, desk: &mut Desk) {
        for round in 0..self.work.rounds {
            self.think(desk, round);
            if self.round(desk, round).is_none() {
                break;
            }
        }
        let log = replace(&mut self.log, RoundLog::new(desk.number));
        lock(&self.logs).push(log);
    }

    fn retries(&mut self) -> Retries {
        self.stream.retries()
    }
}
