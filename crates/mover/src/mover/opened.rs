//! What is done and may be written where neither a time nor a hint tells of it: what somebody has open, and files of further names.

use std::os::fd::OwnedFd;

use crate::error::Result;
use crate::in_threads::in_threads;
use crate::journal::FileDone;
use crate::path::TreePath;
use crate::settle::Settled;

use super::Core;

/// Entries that come from the journal at once.
const PAGE: u32 = 8192;

impl Core {
    /// Queues what is done and may be written now, so that it waits as any file that is open for writing, and files of further names,
    /// which may have been written where nobody watches; how many. What is on its way may have been opened after it was read: it is
    /// compared once it is done.
    pub(super) fn doubt_opened(&self) -> Result<u64> {
        let flying = self.lock().queue.all_flying();
        self.journal.doubt_once_done(flying.into_iter());
        let (mut after, mut doubted) = (i64::MIN, 0);
        while !self.halted() {
            let page = self.journal.files_done(after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.id;
            let opened = in_threads(&page, |part| self.may_be_written(part))?.concat();
            let again = self.journal.written(&opened, |id| self.lock().queue.flies(id))?;
            doubted += again.len() as u64;
            self.queue(again, true);
        }
        Ok(doubted)
    }

    /// Those that have further names, or of which a look does not show that nobody can write them.
    fn may_be_written(&self, files: &[FileDone]) -> Vec<TreePath> {
        let mut found = Vec::new();
        let mut here: Option<(TreePath, Option<OwnedFd>)> = None;
        for file in files {
            if self.halted() {
                break;
            }
            let parent = file.path.parent();
            if here.as_ref().is_none_or(|(path, _)| *path != parent) {
                let opened = self.from.directory(&parent).ok();
                here = Some((parent, opened));
            }
            let directory = here.as_ref().and_then(|(_, opened)| opened.as_ref());
            // The first look asks with few calls and knows little; nearly always it is enough.
            let free = || {
                directory.is_some_and(|directory| self.settler.is_free(directory, file.path.name()))
                    || matches!(self.settler.look(&self.from, &file.path), Ok(Settled::Now(_) | Settled::Gone))
            };
            if file.links > 1 || !free() {
                found.push(file.path.clone());
            }
        }
        found
    }
}
