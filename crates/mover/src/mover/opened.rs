//! What is done and somebody has open for writing, where neither a time nor a hint tells of a store before the close.

use crate::entry::{Entry, State};
use crate::error::Result;
use crate::settle::Settled;
use crate::version::Kind;

use super::Core;

/// Entries that come from the journal at once.
const PAGE: u32 = 8192;

impl Core {
    /// Queues what is done and may be written now, so that it waits as any file that is open for writing; how many. What is on its way
    /// may have been opened after it was read: it is compared once it is done.
    pub(super) fn doubt_opened(&self) -> Result<u64> {
        let flying = self.lock().queue.all_flying();
        self.journal.doubt_once_done(flying.into_iter());
        let (mut after, mut doubted) = (i64::MIN, 0);
        while !self.halted() {
            let page = self.journal.in_state(State::Done, after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.id;
            let opened: Vec<_> = page.into_iter().filter(|entry| self.may_be_written(entry)).map(|entry| entry.path).collect();
            let again = self.journal.written(&opened, |id| self.lock().queue.flies(id))?;
            doubted += again.len() as u64;
            self.queue(again, true);
        }
        Ok(doubted)
    }

    /// Whether a look at a regular file does not show that nobody can write it.
    fn may_be_written(&self, entry: &Entry) -> bool {
        let free = |settled: &Settled| matches!(settled, Settled::Now(_) | Settled::Gone);
        entry.version.kind == Kind::File && !self.halted() && !self.settler.look(&self.from, &entry.path).as_ref().is_ok_and(free)
    }
}
