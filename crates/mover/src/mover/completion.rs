//! What follows from what became of an attempt.

use crate::error::Result;
use crate::journal_entry::{Entry, Outcome, State};

use super::core::Core;

/// A file that changed, or that somebody still writes, is looked at again after this.
const AGAIN_NS: u64 = 100_000_000;
/// Waiting after a first failure; doubled with each, up to the most.
const FIRST_RETRY_NS: u64 = 200_000_000;
const MOST_RETRY_NS: u64 = 10_000_000_000;

/// Takes the entries out of the air and decides how each goes on.
pub(super) fn land(core: &Core, landed: Vec<(i64, Outcome)>) -> Result<()> {
    let (mut gone, mut again) = (Vec::new(), Vec::new());
    {
        let mut state = core.lock();
        for (id, outcome) in &landed {
            match outcome {
                Outcome::Done | Outcome::Gone | Outcome::Halted => {
                    if state.queue.land(*id) {
                        again.push(*id);
                    } else if *outcome == Outcome::Gone {
                        gone.push(*id);
                    }
                }
                Outcome::Changed | Outcome::Busy(_) | Outcome::Later(_) | Outcome::Failed { .. } => {}
            }
        }
    }
    core.journal.gone(&gone)?;
    core.journal.entries(&gone)?.iter().try_for_each(|entry| core.carrier.abandon(entry))?;
    core.queue(core.journal.entries(&again)?.into_iter().filter(is_pending).collect(), false);
    for (id, outcome) in landed {
        match outcome {
            Outcome::Changed => core.keep(id, AGAIN_NS, "changed while it was copied")?,
            Outcome::Later(why) => core.keep(id, AGAIN_NS, why)?,
            Outcome::Busy(who) => busy(core, id, &who)?,
            Outcome::Failed { reason, again } => failed(core, id, &reason, again)?,
            Outcome::Done | Outcome::Gone | Outcome::Halted => {}
        }
    }
    core.wakeup.notify_all();
    Ok(())
}

fn is_pending(entry: &Entry) -> bool {
    matches!(entry.state, State::Queued | State::Placing)
}

/// While the application runs, a file that is open waits for its close. In the drain nobody should have it open any more.
fn busy(core: &Core, id: i64, who: &str) -> Result<()> {
    let now_ns = core.now_ns();
    let since_ns = {
        let state = core.lock();
        state.drain_ns.map(|drain_ns| state.queue.kept_since_ns(id).unwrap_or(now_ns).max(drain_ns))
    };
    match since_ns {
        Some(since_ns) if now_ns >= since_ns.saturating_add(core.options.open_grace_ns) => {
            give_up(core, id, &format!("{who}; end it, then resume"))
        }
        _ => core.keep(id, AGAIN_NS, who),
    }
}

fn failed(core: &Core, id: i64, reason: &str, again: bool) -> Result<()> {
    let attempts = core.journal.attempt(id, reason)?;
    if !again || attempts >= core.options.attempts {
        return give_up(core, id, reason);
    }
    let wait_ns = (FIRST_RETRY_NS << attempts.saturating_sub(1).min(10)).min(MOST_RETRY_NS);
    core.keep(id, wait_ns, &format!("{reason}; attempt {} of {} follows", attempts + 1, core.options.attempts))
}

fn give_up(core: &Core, id: i64, reason: &str) -> Result<()> {
    core.journal.failed(id, reason)?;
    // What is kept of a large file for the next attempt takes space that nobody else would give back.
    core.journal
        .entries(&[id])?
        .iter()
        .filter(|entry| entry.state == State::Failed)
        .try_for_each(|entry| core.carrier.abandon(entry))?;
    // Seen changed meanwhile: then the journal has it queued again, and it goes again.
    if core.lock().queue.land(id) {
        core.queue(core.journal.entries(&[id])?.into_iter().filter(is_pending).collect(), false);
    }
    Ok(())
}

impl Core {
    fn keep(&self, id: i64, wait_ns: u64, reason: &str) -> Result<()> {
        let now_ns = self.now_ns();
        if let Some(entry) = self.journal.entries(&[id])?.pop() {
            let key = self.rules.key(&entry);
            self.lock().queue.keep(id, key, now_ns, now_ns + wait_ns, reason.to_owned());
        }
        Ok(())
    }
}
