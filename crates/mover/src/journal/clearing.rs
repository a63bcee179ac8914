//! What clearing asks and says: the names of one file, the times of directories, and what could not be ended well.

use rusqlite::params;

use super::{Journal, Sql, row};
use crate::entry::{Entry, State};
use crate::error::Result;
use crate::path::TreePath;

impl Journal {
    /// Regular files that are done, at the source, and had this inode when last looked at.
    pub fn names_done(&self, ino: u64) -> Result<Vec<Entry>> {
        self.list("WHERE e.state = 2 AND e.present = 1 AND e.kind = 0 AND e.ino = ?1", params![ino as i64])
    }

    /// The same of those that were given up.
    pub fn names_given_up(&self, ino: u64) -> Result<Vec<Entry>> {
        let which = "WHERE e.state >= 4 AND e.state = 4 AND e.present = 1 AND e.kind = 0 AND e.ino = ?1";
        self.list(which, params![ino as i64])
    }

    /// Keeps the times of change that directories of the source have before files are taken out of them.
    pub fn keep_times(&self, times: &[(TreePath, i64)]) -> Result<()> {
        self.write(|pass| {
            let mut insert = pass.db.prepare_cached("INSERT OR REPLACE INTO time_before VALUES (?, ?)")?;
            times.iter().try_for_each(|(path, mtime_ns)| insert.execute(params![path.bytes(), mtime_ns]).map(|_| ()))
        })
    }

    /// What was kept so and not forgotten.
    pub fn kept_times(&self) -> Result<Vec<(TreePath, i64)>> {
        self.read(|db| {
            let mut query = db.prepare_cached("SELECT path, mtime_ns FROM time_before")?;
            let rows = query.query_map([], |found| Ok((row::directory(found)?, found.get(1)?)))?;
            rows.collect()
        })
    }

    /// The directories have their times.
    pub fn forget_times(&self) -> Result<()> {
        self.write(|pass| pass.db.execute("DELETE FROM time_before", []).map(|_| ()))
    }

    /// What was done of the entry did not stay so, and this mover cannot help it: it counts as failed, until a mover tries again.
    pub fn strand(&self, id: i64, reason: &str) -> Result<()> {
        self.write(|pass| -> Sql<()> {
            let Some(stored) = pass.stored(id)? else { return Ok(()) };
            pass.db.prepare_cached("UPDATE entry SET reason = ? WHERE id = ?")?.execute(params![reason, id])?;
            pass.turn(&stored, State::Failed)
        })
    }
}
