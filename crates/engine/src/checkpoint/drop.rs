//! The removal of snapshots, and then of the data.

use std::mem::replace;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tonnage_storage::StorageError;
use tonnage_workload::Checkpoint;

use super::log::RoundLog;
use super::rounds::fail;
use super::{Taker, lock};
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

    /// Removes each snapshot, the oldest first; `None` if one cannot be, or all are to stop.
    fn snapshots(&mut self, context: &mut TaskContext) -> Option<()> {
        let Some(taker) = self.taker.clone().filter(|_| !self.work.is_together() || context.number == 0) else {
            return Some(());
        };
        for round in 0..self.work.rounds {
            if context.shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            let (begin_ns, took_ns) = timed(context, || lock(&taker).remove(round))?;
            self.log.takes.push((round, begin_ns, took_ns));
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
        let removed = self.snapshots(context).is_some();
        if removed && context.meet_at(0, 0).is_some() && context.number == 0 {
            let storage = Arc::clone(&context.shared.storage);
            self.log.leftovers_ns = timed(context, || storage.clear()).map_or(0, |(_, took_ns)| took_ns);
        }
        let log = replace(&mut self.log, RoundLog::new(context.number));
        lock(&self.logs).push(log);
    }
}
