//! What the others ask.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, params};

use super::{Copied, Journal, PerState, Sql, row};
use crate::error::Result;
use crate::file_version::Version;
use crate::journal_entry::{Chunk, Entry, State};
use crate::path::TreePath;
use crate::status::Totals;

impl Journal {
    /// The entries of these numbers, in this order; a number that was never given is left out.
    pub fn entries(&self, ids: &[i64]) -> Result<Vec<Entry>> {
        self.read(|db| {
            // Each query by itself would take a lock of its own, and be looked up by its text.
            let _together = db.unchecked_transaction()?;
            let mut query = one_by_one(db)?;
            ids.iter().filter_map(|&id| query.query_row([id], |found| row::entry(db, found)).optional().transpose()).collect()
        })
    }

    /// What is to be carried over, queued or placing, by number from after `after_id` on; at most `limit`.
    pub fn queued(&self, after_id: i64, limit: u32) -> Result<Vec<Entry>> {
        self.list("WHERE e.id > ?1 AND e.state <= 1 ORDER BY e.id LIMIT ?2", params![after_id, limit])
    }

    /// What stands in `state`, by number from after `after_id` on; at most `limit`.
    pub fn in_state(&self, state: State, after_id: i64, limit: u32) -> Result<Vec<Entry>> {
        let known = if state as u8 >= State::Failed as u8 { "AND e.state >= 4" } else { "" };
        let which = format!("WHERE e.state = ?1 {known} AND e.id > ?2 ORDER BY e.id LIMIT ?3");
        self.list(&which, params![state as u8, after_id, limit])
    }

    /// What was given up, by number from after `after_id` on; at most `limit`.
    pub fn failures(&self, after_id: i64, limit: u32) -> Result<Vec<Entry>> {
        self.list("WHERE e.state >= 4 AND e.state IN (4, 7) AND e.id > ?1 ORDER BY e.id LIMIT ?2", params![after_id, limit])
    }

    /// Whether any copy lacks attributes of its source.
    pub fn any_dropped(&self) -> Result<bool> {
        self.read(|db| db.prepare_cached("SELECT EXISTS (SELECT 1 FROM dropped)")?.query_row([], |row| row.get(0)))
    }

    /// What the copy of an entry lacks, in words.
    pub fn dropped(&self, id: i64) -> Result<Option<String>> {
        self.read(|db| {
            db.prepare_cached("SELECT what FROM dropped WHERE entry = ?")?.query_row([id], |row| row.get(0)).optional()
        })
    }

    /// How many copies lack attributes of their sources, and what one of them lacks. A journal from before these were kept has none.
    pub fn all_dropped(&self) -> Result<(u64, String)> {
        self.read(|db| {
            let there = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'dropped')";
            if !db.query_row(there, [], |row| row.get::<_, bool>(0))? {
                return Ok((0, String::new()));
            }
            let counted = "SELECT count(*), ifnull(min(what), '') FROM dropped";
            db.prepare_cached(counted)?.query_row([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))
        })
    }

    /// What must lie at the destination, by number from after `after_id` on; at most `limit`.
    pub fn copies(&self, after_id: i64, limit: u32) -> Result<Vec<Copied>> {
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT e.id, d.path, e.name, e.kind, e.placed_size, e.placed_mtime_ns, e.state = 7, \
                 e.state = 2 AND e.present, e.links, e.placed_ino FROM entry e JOIN directory d ON d.id = e.dir \
                 WHERE e.id > ?1 AND e.state IN (2, 3, 7) AND e.placed_ino IS NOT NULL ORDER BY e.id LIMIT ?2",
            )?;
            query.query_map(params![after_id, limit], row::copied)?.collect()
        })
    }

    /// The names of a directory that were at the source when last looked at, in the order of their bytes.
    pub fn children(&self, directory: &TreePath) -> Result<Vec<Entry>> {
        self.children_after(directory, b"", u32::MAX)
    }

    /// The same for a directory of any size, in parts: names after `after`, at most `limit`.
    pub fn children_after(&self, directory: &TreePath, after: &[u8], limit: u32) -> Result<Vec<Entry>> {
        self.list(
            "WHERE e.dir = (SELECT id FROM directory WHERE path = ?1) AND e.name > ?2 AND e.present ORDER BY e.name LIMIT ?3",
            params![directory.bytes(), after, limit],
        )
    }

    /// The directories at or below `directory` that hold names which were at the source when last looked at, in the order of
    /// their bytes. A directory that is not staged itself is no entry, and may hold some.
    pub fn directories_below(&self, directory: &TreePath) -> Result<Vec<TreePath>> {
        let (from, to) = range_below(directory);
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT d.path FROM directory d WHERE (d.path = ?1 OR (d.path >= ?2 AND d.path < ?3)) \
                 AND EXISTS (SELECT 1 FROM entry e WHERE e.dir = d.id AND e.present) ORDER BY d.path",
            )?;
            let rows = query.query_map(params![directory.bytes(), from, to], row::directory)?;
            rows.collect()
        })
    }

    /// The entry of this path, whatever became of it.
    pub fn by_path(&self, path: &TreePath) -> Result<Option<Entry>> {
        let which = "WHERE e.dir = (SELECT id FROM directory WHERE path = ?1) AND e.name = ?2";
        self.list(which, params![path.parent().bytes(), path.name()]).map(|mut found| found.pop())
    }

    /// What this mover placed in a directory with this size and time.
    pub fn placed_like(&self, directory: &TreePath, size: u64, mtime_ns: i64) -> Result<Vec<Entry>> {
        let which = "WHERE e.dir = (SELECT id FROM directory WHERE path = ?1) AND e.placed_size = ?2 AND e.placed_mtime_ns = ?3";
        self.list(which, params![directory.bytes(), size as i64, mtime_ns])
    }

    /// Names that may be further ones of the same file, of which a copy lies at the destination: regular files that are done, or are
    /// to be compared, and were of this size, time and inode when last looked at. The inode may have been given up and used again
    /// since, or written: the source itself must be asked.
    pub fn linked(&self, version: &Version) -> Result<Vec<Entry>> {
        const SAME: &str = "e.ino = ?1 AND e.present = 1 AND e.kind = 0 AND e.size = ?2 AND e.mtime_ns = ?3 LIMIT 8";
        let fields = params![version.ino as i64, version.size as i64, version.mtime_ns];
        let mut found = self.list(&format!("WHERE e.state = 2 AND {SAME}"), fields)?;
        if found.is_empty() {
            found = self.list(&format!("WHERE e.state = 0 AND e.links > 1 AND e.placed_ino IS NOT NULL AND {SAME}"), fields)?;
        }
        Ok(found)
    }

    /// What is still to be carried over below a directory.
    pub fn pending_below(&self, directory: &TreePath) -> Result<Totals> {
        self.below(directory).map(|totals| totals.pending())
    }

    /// Numbers and bytes of each state below a directory. Costs a look at each of its entries.
    pub fn below(&self, directory: &TreePath) -> Result<PerState> {
        if directory.is_root() {
            return Ok(self.totals());
        }
        let (from, to) = range_below(directory);
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT e.state, e.kind, e.size FROM directory d JOIN entry e ON e.dir = d.id \
                 WHERE d.path = ?1 OR (d.path >= ?2 AND d.path < ?3)",
            )?;
            let mut rows = query.query(params![directory.bytes(), from, to])?;
            let mut totals = PerState::default();
            while let Some(found) = rows.next()? {
                row::add(&mut totals, found, 0)?;
            }
            Ok(totals)
        })
    }

    /// Regular files that are done and at the source, those changed longest ago first; `after` is the last one of the list
    /// before. At most `limit`.
    pub fn done_files(&self, after: Option<&Entry>, limit: u32) -> Result<Vec<Entry>> {
        let (mtime_ns, id) = after.map_or((i64::MIN, i64::MIN), |entry| (entry.version.mtime_ns, entry.id));
        self.list(
            "WHERE e.state = 2 AND e.present = 1 AND e.kind = 0 AND (e.mtime_ns, e.id) > (?1, ?2) \
             ORDER BY e.mtime_ns, e.id LIMIT ?3",
            params![mtime_ns, id, limit],
        )
    }

    /// Numbers of the directories that are done, each before the one it lies in.
    pub fn directories(&self) -> Result<Vec<i64>> {
        self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT e.id FROM entry e JOIN directory d ON d.id = e.dir WHERE e.state = 2 AND e.kind = 1 \
                 ORDER BY length(d.path) + length(e.name) DESC",
            )?;
            query.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// The parts of `version` of an entry that are in its temporary, by offset. Those of another version are not told.
    pub fn chunks(&self, id: i64, version: &Version) -> Result<Vec<Chunk>> {
        self.read(|db| {
            let parts = "SELECT offset, length, hash FROM chunk WHERE entry = ? AND version = ? ORDER BY offset";
            let mut query = db.prepare_cached(parts)?;
            query.query_map(params![id, row::chunk_version(version)], row::chunk)?.collect()
        })
    }

    pub(super) fn list(&self, which: &str, values: impl Params) -> Result<Vec<Entry>> {
        self.read(|db| {
            let mut query = db.prepare_cached(&format!("{} {which}", row::ENTRY))?;
            query.query_map(values, |found| row::entry(db, found))?.collect()
        })
    }
}

/// Where the paths below a directory begin and end. Each begins with the directory's and a `/`; `0` is the byte after that.
fn range_below(directory: &TreePath) -> (Vec<u8>, Vec<u8>) {
    if directory.is_root() {
        // No name is longer than 255 bytes.
        return (Vec::new(), vec![u8::MAX; 256]);
    }
    let [from, to] = [b'/', b'0'].map(|end| [directory.bytes(), &[end]].concat());
    (from, to)
}

/// The entry of this number.
pub(super) fn one(db: &Connection, id: i64) -> Sql<Option<Entry>> {
    one_by_one(db)?.query_row([id], |found| row::entry(db, found)).optional()
}

/// Asks for the entry of a number.
fn one_by_one(db: &Connection) -> Sql<CachedStatement<'_>> {
    db.prepare_cached(&format!("{} WHERE e.id = ?", row::ENTRY))
}
