//! Doubt in what is done: its bytes may be others although no time says so. It is queued again, and whoever carries it compares.

use super::{Journal, queries};
use crate::error::Result;
use crate::journal_entry::{Entry, State};
use crate::path::TreePath;
use crate::status::Totals;

/// Which of the regular files that are done and at the source are in doubt.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// Those with a lower number than this.
    pub before_id: i64,
    /// All of them.
    pub all: bool,
    /// Those that do not belong to this user, for whom there are no leases.
    pub not_of: Option<u32>,
}

impl Journal {
    /// The next new entry's number.
    #[must_use]
    pub fn next_id(&self) -> i64 {
        self.lock().kept.next_id
    }

    /// Queues what is in doubt; how many.
    pub fn doubt(&self, which: &Doubt) -> Result<u64> {
        const THESE: &str = "WHERE state = 2 AND present = 1 AND kind = 0 AND id < ?1 AND (?2 OR uid <> ?3)";
        self.write(|pass| {
            let fields = || {
                let uid = which.not_of.map(i64::from);
                // Without a user, an entry's own is compared with NULL, which no row passes.
                (which.before_id, which.all, uid)
            };
            let mut sum = pass.db.prepare_cached(&format!("SELECT count(*), coalesce(sum(size), 0) FROM entry {THESE}"))?;
            let (files, bytes): (i64, i64) = sum.query_row(fields(), |row| Ok((row.get(0)?, row.get(1)?)))?;
            if files > 0 {
                pass.db.prepare_cached(&format!("UPDATE entry SET state = 0, attempts = 0 {THESE}"))?.execute(fields())?;
                let moved = Totals { files: files as u64, bytes: bytes as u64 };
                pass.kept.totals.shift(State::Done, State::Queued, moved);
            }
            Ok(files as u64)
        })
    }

    /// Somebody has ended writing these names. What is done of them is queued and comes back; what `flies` will be, once it is done.
    pub fn written(&self, paths: &[TreePath], flies: impl Fn(i64) -> bool) -> Result<Vec<Entry>> {
        let mut known = Vec::new();
        for path in paths {
            known.extend(self.by_path(path)?);
        }
        let ids: Vec<(i64, bool)> = known.iter().map(|entry| (entry.id, flies(entry.id))).collect();
        self.write(|pass| {
            let mut again = Vec::new();
            for &(id, flies) in &ids {
                let Some(stored) = pass.stored(id)? else { continue };
                if stored.state == State::Done {
                    pass.turn(&stored, State::Queued)?;
                    again.extend(queries::one(pass.db, id)?);
                } else if flies {
                    pass.memory.doubted.insert(id);
                }
            }
            Ok(again)
        })
    }

    /// These are on their way, and may have been written since they were begun.
    pub fn doubt_once_done(&self, ids: impl Iterator<Item = i64>) {
        self.lock().memory.doubted.extend(ids);
    }

    /// Directories of which something was seen to have changed since this was last asked, if only a name in them.
    #[must_use]
    pub fn directories_touched(&self) -> Vec<i64> {
        std::mem::take(&mut self.lock().memory.directories).into_iter().collect()
    }

    /// Has these among them when that is asked next.
    pub fn touch_directories(&self, ids: impl IntoIterator<Item = i64>) {
        self.lock().memory.directories.extend(ids);
    }

    /// Queues those of these that are done; they come back.
    pub fn redo(&self, ids: &[i64]) -> Result<Vec<Entry>> {
        self.write(|pass| {
            let mut again = Vec::new();
            for &id in ids {
                let Some(stored) = pass.stored(id)?.filter(|stored| stored.state == State::Done) else { continue };
                pass.turn(&stored, State::Queued)?;
                again.extend(queries::one(pass.db, id)?);
            }
            Ok(again)
        })
    }

    /// From now on it is remembered what this process makes done.
    pub fn remember_done(&self) {
        self.lock().memory.done_here.get_or_insert_default();
    }

    /// Whether this process has made the entry done, since that is remembered.
    #[must_use]
    pub fn was_done_here(&self, id: i64) -> bool {
        self.lock().memory.done_here.as_ref().is_some_and(|done| done.contains(&id))
    }
}
