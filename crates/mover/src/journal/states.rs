//! The changes of state.

use rusqlite::{CachedStatement, OptionalExtension, params};

use super::{Copied, DIRECTORIES_KEPT, Journal, Pass, Sql, row};
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Chunk, Entry, Placed, State};
use crate::path::TreePath;

/// What an entry was before a change.
pub(super) struct Stored {
    pub(super) id: i64,
    pub(super) state: State,
    present: bool,
    pub(super) version: Version,
    /// Whether it is known what lies, or may lie, at the destination.
    placed: bool,
}

impl Journal {
    /// Says what was seen at the source. What is new or has changed is queued, durably, and comes back; what has not, does not.
    /// Sockets and devices are noted as skipped and never come back. A directory's times are kept, and do not queue it.
    pub fn found(&self, seen: &[(TreePath, Version)]) -> Result<Vec<Entry>> {
        self.write(|pass| {
            let mut insert = pass.db.prepare_cached(INSERT)?;
            let mut fresh = Vec::new();
            for (path, version) in seen {
                fresh.extend(pass.see(&mut insert, path, version)?);
            }
            Ok(fresh)
        })
    }

    /// The temporaries of these versions are whole and synced, and are about to get their names. Returns the entries of which a
    /// later version, or their end, was found meanwhile: these must not be placed.
    pub fn placing(&self, ready: &[(i64, Version, Placed)]) -> Result<Vec<i64>> {
        self.write(|pass| {
            let (mut look, mut update) = (pass.db.prepare_cached(STORED_OF)?, pass.db.prepare_cached(PLACING)?);
            let mut refused = Vec::new();
            for (id, version, placed) in ready {
                let stored = look.query_row([id], stored).optional()?;
                if !pass.place(&mut update, stored, version, placed)? {
                    refused.push(*id);
                }
            }
            Ok(refused)
        })
    }

    /// These were renamed, and their directories and manifest lines are durable. Returns the entries that were found changed, or
    /// were written, meanwhile: what was placed is whole, and they stay queued to go again.
    pub fn done(&self, ids: &[i64]) -> Result<Vec<i64>> {
        self.write(|pass| {
            let mut changed = Vec::new();
            let (any_before, any_chunk, any_anew) = (pass.any("before")?, pass.any("chunk")?, pass.any("anew")?);
            let (mut look, mut update) = (pass.db.prepare_cached(STORED_OF)?, pass.db.prepare_cached(DONE)?);
            for &id in ids {
                let Some(stored) = look.query_row([id], stored).optional()? else { continue };
                if any_before {
                    pass.run("DELETE FROM before WHERE entry = ?", id)?;
                }
                let doubted = pass.memory.doubted.remove(&id);
                if any_anew {
                    pass.settle_anew(id)?;
                }
                if stored.state == State::Placing {
                    if any_chunk {
                        pass.forget_chunks(&stored)?;
                    }
                    if doubted {
                        pass.turn(&stored, State::Queued)?;
                        changed.push(id);
                        continue;
                    }
                    pass.memory.done_here.iter_mut().for_each(|done| _ = done.insert(id));
                    update.execute(params![State::Done as u8, id])?;
                    pass.count_turn(&stored, State::Done);
                } else if stored.state != State::Done {
                    changed.push(id);
                }
            }
            Ok(changed)
        })
    }

    /// Gives an entry up.
    pub fn failed(&self, id: i64, reason: &str) -> Result<()> {
        self.write(|pass| {
            pass.say(id, reason)?;
            pass.turn_if(id, State::Failed, |stored| is_waiting(stored.state)).map(|_| ())
        })
    }

    /// Counts an attempt that failed; the entry is queued again. Returns how many attempts of this version have failed.
    pub fn attempt(&self, id: i64, reason: &str) -> Result<u32> {
        self.write(|pass| {
            pass.say(id, reason)?;
            pass.run("UPDATE entry SET attempts = attempts + 1 WHERE id = ?", id)?;
            pass.turn_if(id, State::Queued, |stored| stored.state == State::Placing)?;
            let mut query = pass.db.prepare_cached("SELECT attempts FROM entry WHERE id = ?")?;
            Ok(query.query_row([id], |row| row.get(0)).optional()?.unwrap_or(0))
        })
    }

    /// These names are no longer at the source. What was safe stays done.
    pub fn gone(&self, ids: &[i64]) -> Result<()> {
        self.write(|pass| {
            for &id in ids {
                let Some(stored) = pass.stored(id)? else { continue };
                pass.run("UPDATE entry SET present = 0 WHERE id = ?", id)?;
                if !matches!(stored.state, State::Done | State::Cleared | State::Lost) {
                    pass.forget_chunks(&stored)?;
                    pass.turn(&stored, State::Gone)?;
                }
            }
            Ok(())
        })
    }

    /// These are of a kind that is never staged.
    pub fn skipped(&self, entries: &[(i64, &str)]) -> Result<()> {
        self.write(|pass| {
            for &(id, reason) in entries {
                pass.say(id, reason)?;
                pass.turn_if(id, State::Skipped, |stored| is_waiting(stored.state))?;
            }
            Ok(())
        })
    }

    /// This mover took these off the source. Only what is done can be cleared; the rest is left as it is.
    pub fn cleared(&self, ids: &[i64]) -> Result<()> {
        self.write(|pass| {
            for &id in ids {
                if pass.turn_if(id, State::Cleared, |stored| stored.state == State::Done)? {
                    pass.run("UPDATE entry SET present = 0 WHERE id = ?", id)?;
                }
            }
            Ok(())
        })
    }

    /// Queues `version` of an entry, unless a later one is queued already.
    pub fn requeue(&self, id: i64, version: Version) -> Result<()> {
        self.write(|pass| {
            let Some(stored) = pass.stored(id)? else { return Ok(()) };
            if stored.state == State::Queued && stored.version.ctime_ns >= version.ctime_ns {
                return Ok(());
            }
            pass.again(&stored, &version, State::Queued)
        })
    }

    /// Queues everything that was given up, with its attempts forgotten. Returns how many.
    pub fn retry_failed(&self) -> Result<u64> {
        self.write(|pass| {
            let mut query = pass.db.prepare_cached("SELECT id FROM entry WHERE state = 4 AND state >= 4")?;
            let ids: Vec<i64> = query.query_map([], |row| row.get(0))?.collect::<Sql<_>>()?;
            for &id in &ids {
                pass.run("UPDATE entry SET attempts = 0, reason = NULL WHERE id = ?", id)?;
                pass.turn_if(id, State::Queued, |_| true)?;
            }
            Ok(ids.len() as u64)
        })
    }

    /// Takes what a manifest of this mover says for its own, where nothing else is known of the name: after a rebuild. The entries
    /// count as cleared, which is what they are if no scan finds them.
    pub fn adopt(&self, staged: &[(TreePath, Kind, Placed)]) -> Result<()> {
        self.write(|pass| {
            let mut insert = pass.db.prepare_cached(ADOPT)?;
            for (path, kind, placed) in staged {
                let (dir, id) = (pass.directory(path)?, pass.kept.next_id);
                let (ino, size) = (placed.ino as i64, placed.size as i64);
                let fields = params![id, dir, path.name(), size, ino, placed.mtime_ns, placed.checksum, *kind as u8];
                if insert.execute(fields)? == 1 {
                    pass.kept.next_id += 1;
                    pass.kept.totals.add(State::Cleared, *kind, placed.size);
                }
            }
            Ok(())
        })
    }

    /// The copies of these are no longer at the destination as they were put there. What the source still has is queued and comes back;
    /// of the rest the journal says, with `reason`, that it is lost. What was placed anew since it was looked at stays done.
    pub fn missing(&self, copies: &[Copied], reason: &str) -> Result<Vec<Entry>> {
        self.write(|pass| {
            let mut again = Vec::new();
            for copy in copies {
                let Some(entry) = super::queries::one(pass.db, copy.id)? else { continue };
                let Some(stored) = pass.stored(copy.id)? else { continue };
                let same = entry.placed.is_some_and(|placed| (placed.size, placed.mtime_ns) == (copy.size, copy.mtime_ns));
                if !same || !matches!(stored.state, State::Done | State::Cleared) {
                    continue;
                }
                pass.say(copy.id, reason)?;
                let here = stored.state == State::Done && stored.present;
                pass.turn(&stored, if here { State::Queued } else { State::Lost })?;
                if here {
                    again.extend(super::queries::one(pass.db, copy.id)?);
                }
            }
            Ok(again)
        })
    }

    /// Says what these copies lack of what their sources have, in words; nothing is said of one that lacks nothing.
    pub fn say_dropped(&self, dropped: &[(i64, String)]) -> Result<()> {
        self.write(|pass| {
            for (id, what) in dropped {
                if what.is_empty() {
                    pass.run("DELETE FROM dropped WHERE entry = ?", *id)?;
                } else {
                    pass.db.prepare_cached("INSERT OR REPLACE INTO dropped VALUES (?, ?)")?.execute(params![id, what])?;
                }
            }
            Ok(())
        })
    }

    /// The copies of these were lost, and are at the destination again.
    pub fn back(&self, ids: &[i64]) -> Result<()> {
        self.write(|pass| {
            ids.iter().try_for_each(|&id| pass.turn_if(id, State::Cleared, |stored| stored.state == State::Lost).map(|_| ()))
        })
    }

    /// These parts of `version` of an entry are in its temporary, synced.
    pub fn add_chunks(&self, id: i64, version: &Version, chunks: &[Chunk]) -> Result<()> {
        self.write(|pass| {
            let mut insert = pass.db.prepare_cached("INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?)")?;
            for chunk in chunks {
                let (offset, length) = (chunk.offset as i64, chunk.length as i64);
                insert.execute(params![id, offset, length, chunk.hash, row::chunk_version(version)])?;
            }
            Ok(())
        })
    }

    /// The temporary was made anew, or is gone.
    pub fn forget_chunks(&self, id: i64) -> Result<()> {
        self.write(|pass| pass.run("DELETE FROM chunk WHERE entry = ?", id))
    }
}

const INSERT: &str = "INSERT OR IGNORE INTO entry \
    (id, dir, name, state, present, kind, ino, size, mtime_ns, ctime_ns, mode, links, uid, gid, reason) \
    VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const ADOPT: &str = "INSERT OR IGNORE INTO entry (id, dir, name, size, state, present, kind, ino, mtime_ns, ctime_ns, mode, links, \
    uid, gid, placed_ino, placed_size, placed_mtime_ns, placed_checksum) \
    VALUES (?1, ?2, ?3, ?4, 3, 0, ?8, 0, 0, 0, 0, 0, 0, 0, ?5, ?4, ?6, ?7)";
macro_rules! stored {
    ($which:literal) => {
        concat!(
            "SELECT id, state, present, kind, ino, size, mtime_ns, ctime_ns, mode, links, uid, gid, placed_ino IS NOT NULL ",
            "FROM entry WHERE ",
            $which
        )
    };
}
const STORED_OF: &str = stored!("id = ?");
const STORED_AT: &str = stored!("dir = ? AND name = ?");
const PLACING: &str =
    "UPDATE entry SET state = ?2, placed_ino = ?3, placed_size = ?4, placed_mtime_ns = ?5, placed_checksum = ?6 WHERE id = ?1";
const DONE: &str = "UPDATE entry SET state = ?, reason = NULL WHERE id = ?";
const NEVER_STAGED: &str = "a socket or a device, which is never staged";

/// Whether an entry in this state may still be carried over. One that was given up may, by whoever holds it.
fn is_waiting(state: State) -> bool {
    matches!(state, State::Queued | State::Placing | State::Failed)
}

impl Pass<'_> {
    fn see(&mut self, insert: &mut CachedStatement<'_>, path: &TreePath, version: &Version) -> Sql<Option<Entry>> {
        let (dir, id) = (self.directory(path)?, self.kept.next_id);
        let special = version.kind == Kind::Special;
        let (state, reason) = if special { (State::Skipped, Some(NEVER_STAGED)) } else { (State::Queued, None) };
        let Version { kind, mtime_ns, ctime_ns, mode, links, uid, gid, .. } = *version;
        let (ino, size) = (version.ino as i64, version.size as i64);
        let fields =
            params![id, dir, path.name(), state as u8, kind as u8, ino, size, mtime_ns, ctime_ns, mode, links, uid, gid, reason];
        if insert.execute(fields)? == 1 {
            self.kept.next_id += 1;
            self.kept.totals.add(state, version.kind, version.size);
            self.touched(id, version);
            let entry = Entry {
                id,
                path: path.clone(),
                version: *version,
                state,
                attempts: 0,
                reason: None,
                placed: None,
                before: Vec::new(),
            };
            return Ok((!special).then_some(entry));
        }
        let stored = self.db.prepare_cached(STORED_AT)?.query_row(params![dir, path.name()], stored)?;
        let change = stored.change(version);
        if !matches!(change, Change::None) {
            self.touched(stored.id, version);
        }
        match change {
            Change::None => Ok(None),
            Change::Times => {
                let present = "UPDATE entry SET present = 1, mtime_ns = ?2, ctime_ns = ?3, size = ?4, links = ?5 WHERE id = ?1";
                self.db.prepare_cached(present)?.execute(params![stored.id, mtime_ns, ctime_ns, size, links])?;
                Ok(None)
            }
            Change::Again if special => {
                self.again(&stored, version, State::Skipped)?;
                self.say(stored.id, NEVER_STAGED).map(|()| None)
            }
            Change::Again => {
                if stored.state == State::Cleared {
                    self.made_anew(&stored)?;
                }
                self.again(&stored, version, State::Queued)?;
                super::queries::one(self.db, stored.id)
            }
        }
    }

    /// Something of it has changed. Of a directory its attributes may have, which its version does not tell from a name in it.
    fn touched(&mut self, id: i64, version: &Version) {
        if version.kind == Kind::Directory {
            self.memory.directories.insert(id);
        }
    }

    /// Number of the directory that `path` lies in.
    fn directory(&mut self, path: &TreePath) -> Sql<i64> {
        let whole = path.bytes();
        let parent = &whole[..whole.len().saturating_sub(path.name().len() + 1)];
        if let Some(&id) = self.kept.directories.get(parent) {
            return Ok(id);
        }
        self.db.prepare_cached("INSERT OR IGNORE INTO directory (path) VALUES (?)")?.execute([parent])?;
        let mut query = self.db.prepare_cached("SELECT id FROM directory WHERE path = ?")?;
        let id = query.query_row([parent], |row| row.get(0))?;
        if self.kept.directories.len() >= DIRECTORIES_KEPT {
            self.kept.directories.clear();
        }
        self.kept.directories.insert(parent.into(), id);
        Ok(id)
    }

    /// Whether the entry `stored` may be placed, and is noted so by `update`.
    fn place(
        &mut self,
        update: &mut CachedStatement<'_>,
        stored: Option<Stored>,
        version: &Version,
        placed: &Placed,
    ) -> Sql<bool> {
        let Some(stored) = stored else { return Ok(false) };
        let id = stored.id;
        let is_directory = version.kind == Kind::Directory && stored.version.kind == Kind::Directory;
        let later = stored.version.ctime_ns > version.ctime_ns && !is_directory;
        if !is_waiting(stored.state) || !stored.present || later {
            return Ok(false);
        }
        if stored.placed {
            self.run(
                "INSERT INTO before (entry, ino, size, mtime_ns, checksum) \
                 SELECT id, placed_ino, placed_size, placed_mtime_ns, placed_checksum FROM entry WHERE id = ?",
                id,
            )?;
        }
        let now = if is_directory { stored.version } else { *version };
        self.set_version(&stored, &now)?;
        let (state, ino, size) = (State::Placing, placed.ino as i64, placed.size as i64);
        update.execute(params![id, state as u8, ino, size, placed.mtime_ns, placed.checksum])?;
        self.count_turn(&Stored { version: now, ..stored }, state);
        Ok(true)
    }

    /// Whether there is anything in a table.
    fn any(&self, table: &'static str) -> Sql<bool> {
        let mut query = self.db.prepare_cached(&format!("SELECT EXISTS (SELECT 1 FROM {table})"))?;
        query.query_row([], |row| row.get(0))
    }

    pub(super) fn stored(&self, id: i64) -> Sql<Option<Stored>> {
        self.db.prepare_cached(STORED_OF)?.query_row([id], stored).optional()
    }

    /// Puts an entry at the start of its life again, with another version.
    fn again(&mut self, stored: &Stored, version: &Version, state: State) -> Sql<()> {
        self.run("UPDATE entry SET attempts = 0, reason = NULL, present = 1 WHERE id = ?", stored.id)?;
        self.forget_chunks(stored)?;
        self.set_version(stored, version)?;
        self.turn(&Stored { version: *version, ..*stored }, state)
    }

    fn set_version(&mut self, stored: &Stored, version: &Version) -> Sql<()> {
        if stored.version == *version {
            return Ok(());
        }
        let update = "UPDATE entry SET kind = ?2, ino = ?3, size = ?4, mtime_ns = ?5, ctime_ns = ?6, mode = ?7, links = ?8, \
            uid = ?9, gid = ?10 WHERE id = ?1";
        let Version { kind, mtime_ns, ctime_ns, mode, links, uid, gid, .. } = *version;
        let (ino, size) = (version.ino as i64, version.size as i64);
        let fields = params![stored.id, kind as u8, ino, size, mtime_ns, ctime_ns, mode, links, uid, gid];
        self.db.prepare_cached(update)?.execute(fields)?;
        self.kept.totals.take(stored.state, stored.version.kind, stored.version.size);
        self.kept.totals.add(stored.state, kind, version.size);
        Ok(())
    }

    pub(super) fn turn(&mut self, stored: &Stored, state: State) -> Sql<()> {
        if stored.state == state {
            return Ok(());
        }
        self.db.prepare_cached("UPDATE entry SET state = ? WHERE id = ?")?.execute(params![state as u8, stored.id])?;
        self.count_turn(stored, state);
        Ok(())
    }

    fn count_turn(&mut self, stored: &Stored, state: State) {
        self.kept.totals.take(stored.state, stored.version.kind, stored.version.size);
        self.kept.totals.add(state, stored.version.kind, stored.version.size);
    }

    fn turn_if(&mut self, id: i64, state: State, may: impl Fn(&Stored) -> bool) -> Sql<bool> {
        match self.stored(id)? {
            Some(stored) if may(&stored) => self.turn(&stored, state).map(|()| true),
            _ => Ok(false),
        }
    }

    fn say(&self, id: i64, reason: &str) -> Sql<()> {
        self.db.prepare_cached("UPDATE entry SET reason = ? WHERE id = ?")?.execute(params![reason, id]).map(|_| ())
    }

    fn forget_chunks(&self, stored: &Stored) -> Sql<()> {
        self.run("DELETE FROM chunk WHERE entry = ?", stored.id)
    }

    /// One statement about one entry.
    pub(super) fn run(&self, statement: &str, id: i64) -> Sql<()> {
        self.db.prepare_cached(statement)?.execute([id]).map(|_| ())
    }
}

/// What a new look at a name says.
enum Change {
    None,
    Times,
    Again,
}

impl Stored {
    fn change(&self, seen: &Version) -> Change {
        match self.state {
            State::Gone | State::Cleared | State::Lost => Change::Again,
            _ if !self.version.unchanged(seen) => Change::Again,
            // It was away, where nobody watched it.
            State::Done if !self.present && self.version.kind == Kind::File => Change::Again,
            _ if self.version == *seen && self.present => Change::None,
            _ => Change::Times,
        }
    }
}

fn stored(row: &rusqlite::Row<'_>) -> Sql<Stored> {
    let version = row::version(row, 3)?;
    Ok(Stored { id: row.get(0)?, state: row::state(row.get(1)?)?, present: row.get(2)?, version, placed: row.get(12)? })
}
