//! Whether what is called safe still is: its copy lies where it was put, and nobody can write its source where neither a time nor a hint
//! would tell of it.

use std::os::fd::OwnedFd;

use crate::error::Result;
use crate::file_version::Kind;
use crate::in_threads::in_threads;
use crate::journal::Copied;
use crate::journal_entry::Entry;
use crate::path::TreePath;
use crate::quiescence::Quiescence;

use super::core::Core;

/// Entries that come from the journal at once.
const PAGE: u32 = 8192;

/// What a look is for: the journal is read once for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// At the copies: what is missing or has changed is safe no longer.
    pub(super) copies: bool,
    /// For writers: a file that somebody can write now is compared once more, as are those of further names, which may have been
    /// written where nobody watches.
    pub(super) writers: bool,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// What the source still has of the copies that are missing.
    pub(super) missing: Vec<Entry>,
    /// So many were queued to be compared, and wait as any file that is open for writing.
    pub(super) doubted: u64,
}

impl Core {
    /// Looks at all that is called safe. What is on its way may have been opened after it was read: it is compared once it is done.
    pub(super) fn look(&self, look: Look) -> Result<Looked> {
        if look.writers {
            let flying = self.lock().queue.all_flying();
            self.journal.doubt_once_done(flying.into_iter());
        }
        let (mut after, mut found) = (i64::MIN, Looked::default());
        while !self.halted() {
            let page = self.journal.copies(after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.id;
            let parts = in_threads(&page, |part| {
                let copies = look.copies.then(|| self.carrier.look_at_copies(part));
                (copies, if look.writers { self.may_be_written(part) } else { Vec::new() })
            })?;
            for (copies, written) in parts {
                if let Some(copies) = copies {
                    found.missing.extend(self.carrier.say_copies(&copies)?);
                }
                let again = self.journal.written(&written, |id| self.lock().queue.flies(id))?;
                found.doubted += again.len() as u64;
                self.queue(again, true);
            }
        }
        Ok(found)
    }

    /// Files at the source that have further names, or of which a look does not show that nobody can write them.
    fn may_be_written(&self, copies: &[Copied]) -> Vec<TreePath> {
        let mut found = Vec::new();
        let mut here: Option<(TreePath, Option<OwnedFd>)> = None;
        for copy in copies.iter().filter(|copy| copy.at_source && copy.kind == Kind::File) {
            if self.halted() {
                break;
            }
            let parent = copy.path.parent();
            if here.as_ref().is_none_or(|(path, _)| *path != parent) {
                let opened = self.from.directory(&parent).ok();
                here = Some((parent, opened));
            }
            let directory = here.as_ref().and_then(|(_, opened)| opened.as_ref());
            // The first look asks with few calls and knows little; nearly always it is enough.
            let free = || {
                directory.is_some_and(|directory| self.quiescence.is_free(directory, copy.path.name()))
                    || matches!(self.quiescence.look(&self.from, &copy.path), Ok(Quiescence::Now(_) | Quiescence::Gone))
            };
            if copy.links > 1 || !free() {
                found.push(copy.path.clone());
            }
        }
        found
    }
}
