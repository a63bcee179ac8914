//! The removal of snapshots, and then of the data.

use std::mem::replace;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tonnage_records::RoundLog;
use tonnage_storage::StorageError;
use tonnage_workload::{Checkpoint, RemovalStep, Removals};

use super::snapshot_taker::{Taker, fail, lock};
use crate::clock::monotonic_ns;
use crate::task::{TaskContext, Worker};

/// One task that removes what it took, or what was taken for all.
pub struct Remover {
    work: Checkpoint,
    taker: Option<Taker>,
    log: RoundLog,
    logs: Arc<Mutex<Vec<RoundLog>>>,
}

impl Remover {
    pub const fn new(work: Checkpoint, taker: Option<Taker>, log: RoundLog, logs: Arc<Mutex<Vec<RoundLog>>>) -> Self {
        Self { work, taker, log, logs }
    }

    /// All removals, step by step; returns early where one fails, or all are to stop.
    fn removals(&mut self, context: &mut TaskContext) -> Option<()> {
        for step in Removals::new(&self.work, context.number) {
            if context.shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            match step {
                RemovalStep::Snapshot(round) => {
                    let taker = self.taker.clone()?;
                    let (begin_ns, took_ns) = timed(context, || lock(&taker).remove(round))?;
                    self.log.takes.push((round, begin_ns, took_ns));
                }
                RemovalStep::Meet(point) => context.meet_at(point, 0).map(drop)?,
                RemovalStep::Data => {
                    let storage = Arc::clone(&context.shared.storage);
                    self.log.leftovers_ns = timed(context, || storage.clear())?.1;
                }
            }
        }
        Some(())
    }
}

/// Counts a removal as an operation; when it began and what it took. `None` if it failed.
fn timed(context: &mut TaskContext, remove: impl FnOnce() -> Result<(), StorageError>) -> Option<(u64, u64)> {
    let begin_ns = monotonic_ns();
    let removed = remove();
    let took_ns = monotonic_ns() - begin_ns;
    if let Err(error) = removed {
        fail(context, 0, &error);
        return None;
    }
    context.tally.record(&context.counters, took_ns, 0);
    Some((begin_ns, took_ns))
}

impl Worker for Remover {
    fn transfer(&mut self, context: &mut TaskContext) {
        self.removals(context);
        let log = replace(&mut self.log, RoundLog::new(context.number));
        lock(&self.logs).push(log);
    }
}
