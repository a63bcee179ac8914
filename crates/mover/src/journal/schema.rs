//! The tables, and whether a database is one of ours.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rusqlite::{Connection, ffi};

use super::totals::PerState;
use super::{Identity, Kept, Owed, Sql, pending_recovery, row};
use crate::hex::{hex, unhex};

/// Changes with every change of the tables; a journal of another version is set aside.
const VERSION: i64 = 1;
/// Of a mover's first journal.
pub(super) const FIRST_ID: i64 = 1;
/// "TnMv": tells a journal from any other database.
const APPLICATION: i64 = 0x546e_4d76;

// Times, sizes and inodes are 64-bit integers as SQLite stores them, with the sign bit as it comes.
// `present`: whether the name was at the source when last looked at. `before`: what this mover may have left under the name
// earlier; of several, a crash does not tell which. A chunk belongs to one version of its entry and to no other.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE directory (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, dir INTEGER NOT NULL, name BLOB NOT NULL, state INTEGER NOT NULL, present INTEGER NOT NULL,
    kind INTEGER NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    mode INTEGER NOT NULL, links INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, reason TEXT,
    placed_ino INTEGER, placed_size INTEGER, placed_mtime_ns INTEGER, placed_checksum BLOB,
    UNIQUE (dir, name));
CREATE INDEX entry_given_up ON entry (state) WHERE state >= 4;
CREATE INDEX entry_linked ON entry (ino) WHERE state = 2 AND present = 1 AND kind = 0;
CREATE INDEX entry_relinked ON entry (ino) WHERE state = 0 AND links > 1 AND placed_ino IS NOT NULL;
CREATE INDEX entry_clearable ON entry (mtime_ns) WHERE state = 2 AND present = 1 AND kind = 0;
CREATE TABLE before (
    number INTEGER PRIMARY KEY, entry INTEGER NOT NULL,
    ino INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, checksum BLOB);
CREATE INDEX before_entry ON before (entry);
CREATE TABLE chunk (
    entry INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, hash BLOB NOT NULL, version BLOB NOT NULL,
    PRIMARY KEY (entry, offset)) WITHOUT ROWID;
";

/// What a database turned out to be.
pub(super) enum Found {
    /// Nothing was ever committed to it.
    Empty,
    /// A journal of these trees, with its mover's id.
    Ours(String),
    /// A journal of other trees, and whether anything in it is not safe.
    OfOthers { identity: Identity, unfinished: bool },
    /// Something else; why.
    Unusable(String),
}

/// Settings of each connection that writes.
pub(super) fn settle(db: &Connection) -> Sql<()> {
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;
         PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF;",
    )
}

/// Makes the tables in an empty database, in one transaction with whose they are.
pub(super) fn create(db: &mut Connection, id: &str, identity: &Identity, first_id: i64) -> Sql<()> {
    let transaction = db.transaction()?;
    transaction.execute_batch(TABLES)?;
    let mut put = transaction.prepare("INSERT INTO meta VALUES (?, ?)")?;
    let (from, to) = (hex(row::path_bytes(&identity.from)), hex(row::path_bytes(&identity.to)));
    // Numbers begin anew with a mover that never had a journal, and so left nothing.
    let owes = if first_id == FIRST_ID { Owed::Nothing } else { Owed::Manifest }.text();
    for (key, value) in
        [("id", id), ("from", &from), ("to", &to), ("first_id", &first_id.to_string()), (pending_recovery::KEY, owes)]
    {
        put.execute([key, value])?;
    }
    drop(put);
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Adds what journals of this version had not from the beginning. `anew`: names that this mover had cleared and that were made again;
/// `open` until it is known whether that has `replaced` other contents.
pub(super) fn complete(db: &Connection) -> Sql<()> {
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS dropped (entry INTEGER PRIMARY KEY, what TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS time_before (path BLOB PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS anew (entry INTEGER PRIMARY KEY, checksum BLOB, open INTEGER NOT NULL, replaced INTEGER NOT NULL);",
    )
}

/// Looks at what is there, and at whether it is sound.
pub(super) fn look(db: &Connection, identity: &Identity) -> Sql<Found> {
    let found = recognise(db)?;
    if !matches!(found, Found::Ours(_)) {
        return Ok(found);
    }
    let check: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if check != "ok" {
        return Ok(Found::Unusable(format!("it is damaged ({})", check.lines().last().unwrap_or_default())));
    }
    let of = trees(db)?;
    if of == *identity {
        return Ok(found);
    }
    // What failed, was lost or could not be read is known here alone.
    let unfinished = "SELECT EXISTS (SELECT 1 FROM entry WHERE state <= 1) OR EXISTS (SELECT 1 FROM entry WHERE state >= 4 AND state IN (4, 7)) \
                      OR EXISTS (SELECT 1 FROM meta WHERE key = 'unreadable' AND value != '[]')";
    Ok(Found::OfOthers { identity: of, unfinished: db.query_row(unfinished, [], |row| row.get(0))? })
}

/// Says what is there by its head alone; whose it is, is not looked at.
pub(super) fn recognise(db: &Connection) -> Sql<Found> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(Found::Empty);
    }
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application != APPLICATION {
        return Ok(Found::Unusable("it is a database of another program".to_owned()));
    }
    if version != VERSION {
        return Ok(Found::Unusable(format!("it is of version {version}, and this Tonnage writes version {VERSION}")));
    }
    db.query_row("SELECT value FROM meta WHERE key = 'id'", [], |row| row.get(0)).map(Found::Ours)
}

/// Which trees a journal is of.
pub(super) fn trees(db: &Connection) -> Sql<Identity> {
    let tree = |key: &str| -> Sql<PathBuf> {
        let text: String = db.query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0))?;
        let bytes = unhex(&text).ok_or_else(|| row::damaged("a tree's path"))?;
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    };
    Ok(Identity { from: tree("from")?, to: tree("to")? })
}

/// Counts what is there: one pass over all entries.
pub(super) fn count(db: &Connection) -> Sql<Kept> {
    let first: String = db.query_row("SELECT value FROM meta WHERE key = 'first_id'", [], |row| row.get(0))?;
    let mut next_id: i64 = first.parse().map_err(|_| row::damaged("the first number"))?;
    let mut totals = PerState::default();
    let mut query = db.prepare("SELECT id, state, kind, size FROM entry")?;
    let mut rows = query.query([])?;
    while let Some(found) = rows.next()? {
        row::add(&mut totals, found, 1)?;
        next_id = next_id.max(found.get::<_, i64>(0)? + 1);
    }
    Ok(Kept { totals, next_id, directories: HashMap::new() })
}

/// Whether `error` says that the database itself is no good.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(ffi::Error { code, .. }, _) => {
            matches!(code, ffi::ErrorCode::DatabaseCorrupt | ffi::ErrorCode::NotADatabase | ffi::ErrorCode::Unknown)
        }
        // A table or a column that is not there, or a value of another type: somebody wrote into it.
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}
