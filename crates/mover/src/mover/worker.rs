//! Carries what is queued: large files together with others, the rest in batches of its own.

use std::collections::HashSet;
use std::panic;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;

use crate::copy::{Large, SMALL_BYTES, Started};
use crate::error::{MoverError, Result, words};
use crate::file_version::Kind;
use crate::journal_entry::{Entry, Outcome, State};
use crate::options::Gentle;
use crate::rate_limiter::FILE_COST_BYTES;

use super::completion::land;
use super::core::Core;

/// Most entries of one batch, and most bytes: between two batches a worker hears of everything else.
const BATCH_ENTRIES: usize = 2048;
const BATCH_BYTES: u64 = 64 << 20;
/// A batch waits for the device some times, whatever is in it: less work than this is not worth another's waits. A file of no bytes
/// is [some](FILE_COST_BYTES), too.
const WORTH_ENTRIES: usize = 128;
const WORTH_BYTES: u64 = WORTH_ENTRIES as u64 * FILE_COST_BYTES;
/// So few are divided all the same: each may be dear.
const FEW: usize = 32;

enum Job {
    Help(Arc<Large>),
    /// Numbers, and whether each is taken for the first time; how many of them are this worker's whatever they cost.
    Carry(Vec<(i64, bool)>, usize),
}

/// The life of the worker `number`. As long as somebody is to come first, a thread of its own does the work: one that has stepped back
/// cannot come forward again without privileges, and would be starved by whoever else uses the processors.
pub(super) fn run(core: &Core, number: u32) -> Result<()> {
    if core.options.gentle == Gentle::Auto {
        thread::scope(|scope| {
            let stepped_back = || {
                let _back = core.cpu_priority.step_back();
                Worker { core, number, stepped_back: true }.run()
            };
            let name = format!("worker {number}");
            let spawned = thread::Builder::new().name(name).spawn_scoped(scope, stepped_back);
            let thread = spawned.map_err(|error| MoverError::Thread(format!("worker {number}: {}", words(error))))?;
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        })?;
    }
    Worker { core, number, stepped_back: false }.run()
}

#[derive(Clone, Copy)]
struct Worker<'a> {
    core: &'a Core,
    number: u32,
    stepped_back: bool,
}

impl Worker<'_> {
    fn run(self) -> Result<()> {
        while let Some(job) = self.next_job() {
            match job {
                Job::Help(large) => self.help(&large)?,
                Job::Carry(taken, share) => self.core.carry(&taken, share)?,
            }
        }
        Ok(())
    }

    /// Whether there are not too many workers for this one.
    fn is_active(self) -> bool {
        self.number < self.core.counters.workers.load(Ordering::Relaxed).max(1)
    }

    /// Whether nobody is to come first any more, and this one still would let others.
    fn is_replaced(self) -> bool {
        self.stepped_back && self.core.cpu_priority.is_over()
    }

    /// Waits for work; `None` when the mover ends, or another thread takes over.
    fn next_job(self) -> Option<Job> {
        let core = self.core;
        let mut state = core.lock();
        loop {
            if core.halted() || self.is_replaced() {
                return None;
            }
            let active = core.counters.workers.load(Ordering::Relaxed).max(1);
            if self.number < active {
                if let Some(large) = state.large.first() {
                    return Some(Job::Help(Arc::clone(large)));
                }
                // A share for each, so that a few files do not all wait for one worker.
                let ready = state.queue.ready();
                let share = ready.div_ceil(active as usize).clamp(1, BATCH_ENTRIES);
                let worth = if ready > FEW { share.max(WORTH_ENTRIES) } else { share };
                // Each stays open until its batch is durable.
                let room = core.most_open.saturating_sub(state.queue.flying());
                let taken = state.queue.take(worth.min(room));
                if !taken.is_empty() {
                    return Some(Job::Carry(taken, share));
                }
            }
            state = core.wakeup.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn help(self, large: &Arc<Large>) -> Result<()> {
        let core = self.core;
        let last = large.help(|| self.is_active() && !self.is_replaced())?;
        // One that left before the end leaves work for others.
        core.lock().large.retain(|other| !Arc::ptr_eq(other, large) || large.has_work());
        if last {
            let landed = large.finish()?;
            core.flying_bytes.fetch_sub(large.bytes(), Ordering::Relaxed);
            land(core, vec![landed])?;
        }
        Ok(())
    }
}

impl Core {
    fn carry(&self, taken: &[(i64, bool)], share: usize) -> Result<()> {
        let ids: Vec<i64> = taken.iter().map(|(id, _)| *id).collect();
        let first: HashSet<i64> = taken.iter().filter(|(_, first)| *first).map(|(id, _)| *id).collect();
        let entries = self.journal.entries(&ids)?;
        let (mut batch, mut bytes, mut rest, mut over) = (Vec::new(), 0_u64, Vec::new(), Vec::new());
        for (number, entry) in entries.into_iter().enumerate() {
            let (size, own) = (size_of(&entry), number < share);
            if !matches!(entry.state, State::Queued | State::Placing) {
                // It moved on while it waited. Where it was found gone, what an earlier attempt left of it goes too.
                over.push((entry.id, if entry.state == State::Gone { Outcome::Gone } else { Outcome::Done }));
            } else if size > SMALL_BYTES && own {
                rest.push(entry);
            } else if bytes + size > BATCH_BYTES || !own && (size > SMALL_BYTES || cost(bytes, batch.len()) >= WORTH_BYTES) {
                self.lock().queue.give_back(entry.id, self.rules.key(&entry));
            } else {
                bytes += size;
                batch.push(entry);
            }
        }
        if !over.is_empty() {
            land(self, over)?;
        }
        // One large file at a time is begun; workers that have nothing to do help with it.
        let mut rest = rest.into_iter();
        let large = rest.next();
        for entry in rest {
            self.lock().queue.give_back(entry.id, self.rules.key(&entry));
        }
        let begun = batch.iter().chain(&large).filter(|entry| first.contains(&entry.id) && entry.version.kind != Kind::Directory);
        self.log.dequeue(begun.map(|entry| &entry.path));
        if batch.len() < taken.len() {
            // Whoever saw the queue empty meanwhile.
            self.wakeup.notify_all();
        }
        if let Some(entry) = large {
            self.begin_large(entry)?;
        }
        if !batch.is_empty() {
            self.flying_bytes.fetch_add(bytes, Ordering::Relaxed);
            let landed = self.carrier.carry(batch)?;
            self.flying_bytes.fetch_sub(bytes, Ordering::Relaxed);
            land(self, landed)?;
        }
        Ok(())
    }

    fn begin_large(&self, entry: Entry) -> Result<()> {
        match self.carrier.large(entry)? {
            Started::Large(large) => {
                self.flying_bytes.fetch_add(large.bytes(), Ordering::Relaxed);
                self.lock().large.push(large);
                self.wakeup.notify_all();
                Ok(())
            }
            Started::Ended(id, outcome) => land(self, vec![(id, outcome)]),
        }
    }
}

fn cost(bytes: u64, entries: usize) -> u64 {
    bytes.saturating_add(FILE_COST_BYTES * entries as u64)
}

fn size_of(entry: &Entry) -> u64 {
    if entry.version.kind == Kind::File { entry.version.size } else { 0 }
}
