//! What clearing asks and says: the names of one file, the times of directories, and what could not be ended well.

use rusqlite::params;

use super::states::Stored;
use super::{Journal, Pass, Sql, row};
use crate::error::Result;
use crate::journal_entry::{Entry, State};
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

    /// How many names had other contents that were cleared, and were replaced at the destination by what was made under the name
    /// later; and one of these names. A journal from before that was counted has none.
    pub fn replaced_after_clearing(&self) -> Result<(u64, Option<TreePath>)> {
        let counted = self.read(|db| {
            let there = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'anew')";
            if !db.query_row(there, [], |row| row.get::<_, bool>(0))? {
                return Ok((0, None));
            }
            let counted = "SELECT count(*), min(entry) FROM anew WHERE replaced = 1";
            db.prepare_cached(counted)?.query_row([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, Option<i64>>(1)?)))
        })?;
        let one = counted.1.map_or(Ok(Vec::new()), |id| self.entries(&[id]))?;
        Ok((counted.0, one.into_iter().next().map(|entry| entry.path)))
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

impl Pass<'_> {
    /// A name that was cleared has something again, which will take the place of the copy. What was taken over from a manifest counts
    /// as cleared, and nobody knows whether it was.
    pub(super) fn made_anew(&self, stored: &Stored) -> Sql<()> {
        if stored.version.ctime_ns == 0 && stored.version.ino == 0 {
            return Ok(());
        }
        self.run(
            "INSERT INTO anew SELECT id, placed_checksum, 1, 0 FROM entry WHERE id = ?1 \
             ON CONFLICT (entry) DO UPDATE SET checksum = excluded.checksum, open = 1",
            stored.id,
        )
    }

    /// What has the name is at the destination. Without checksums it counts as other contents.
    pub(super) fn settle_anew(&self, id: i64) -> Sql<()> {
        self.run(
            "UPDATE anew SET open = 0, replaced = max(replaced, (SELECT placed_ino <> 0 AND \
             (kind <> 0 OR placed_checksum IS NULL OR placed_checksum IS NOT anew.checksum) FROM entry WHERE id = anew.entry)) \
             WHERE entry = ?1 AND open = 1",
            id,
        )
    }
}
