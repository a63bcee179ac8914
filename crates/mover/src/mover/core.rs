//! What the threads of a mover share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::shared_state::SharedState;
use crate::adaptive_throttle::CpuPriority;
use crate::copy::{Carrier, Counters};
use crate::error::MoverError;
use crate::journal::Journal;
use crate::log::Log;
use crate::options::Options;
use crate::preflight::Established;
use crate::quiescence::QuiescenceCheck;
use crate::rate_limiter::Limiter;
use crate::rules::Rules;
use crate::status::Progress;
use crate::tree::Tree;
use crate::watch::Watch;

/// What the threads share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) options: Arc<Options>,
    pub(super) from: Arc<Tree>,
    pub(super) to: Arc<Tree>,
    pub(super) established: Arc<Established>,
    pub(super) journal: Arc<Journal>,
    pub(super) log: Arc<Log>,
    pub(super) quiescence: Arc<QuiescenceCheck>,
    pub(super) rules: Rules,
    pub(super) watch: Watch,
    pub(super) limiter: Arc<Limiter>,
    pub(super) counters: Arc<Counters>,
    pub(super) carrier: Carrier,
    pub(super) cpu_priority: Arc<CpuPriority>,
    pub(super) state: Mutex<SharedState>,
    pub(super) wakeup: Condvar,
    /// Set to end every thread between two pieces of work.
    pub(super) halt: Arc<AtomicBool>,
    /// Bytes of the entries in flight.
    pub(super) flying_bytes: AtomicU64,
    pub(super) began: Instant,
    /// Most entries in flight at once.
    pub(super) most_open: usize,
}

impl Core {
    pub(super) fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since the mover was prepared.
    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn halted(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
    }

    /// The first failure ends the mover; later ones follow from it.
    pub(super) fn fail(&self, error: MoverError) {
        self.lock().fatal.get_or_insert(error);
        self.end();
    }

    /// Halts every thread and wakes whoever waits.
    pub(super) fn end(&self) {
        self.halt.store(true, Ordering::Relaxed);
        let mut state = self.lock();
        state.ended = true;
        if state.progress != Progress::Finished {
            state.progress = Progress::Stopped;
        }
        drop(state);
        self.wakeup.notify_all();
    }
}
