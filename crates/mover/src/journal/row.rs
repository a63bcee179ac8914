//! Between rows and what they mean.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, Row};

use super::{Copied, PerState, Sql};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Chunk, Entry, Placed, State};
use crate::path::TreePath;

/// The columns that [`entry`] reads, in its order.
pub(super) const ENTRY: &str = "SELECT e.id, d.path, e.name, e.state, e.kind, e.ino, e.size, e.mtime_ns, e.ctime_ns, e.mode, \
    e.links, e.uid, e.gid, e.attempts, e.reason, e.placed_ino, e.placed_size, e.placed_mtime_ns, e.placed_checksum \
    FROM entry e JOIN directory d ON d.id = e.dir";

/// One row of [`ENTRY`]. What lay there before is looked up only where it can matter.
pub(super) fn entry(db: &Connection, row: &Row<'_>) -> Sql<Entry> {
    let id: i64 = row.get(0)?;
    let state = state(row.get(3)?)?;
    let placed = placed(row, 15)?;
    // None is left of what was done.
    let may_have = placed.is_some() && !matches!(state, State::Done | State::Cleared);
    let before = if may_have { before(db, id)? } else { Vec::new() };
    Ok(Entry {
        id,
        path: path(row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?)?,
        version: version(row, 4)?,
        state,
        attempts: row.get(13)?,
        reason: row.get(14)?,
        placed,
        before,
    })
}

fn before(db: &Connection, id: i64) -> Sql<Vec<Placed>> {
    let mut query = db.prepare_cached("SELECT ino, size, mtime_ns, checksum FROM before WHERE entry = ? ORDER BY number")?;
    let rows = query.query_map([id], |row| placed(row, 0))?;
    rows.filter_map(Result::transpose).collect()
}

/// The nine columns of a version, from `first` on.
pub(super) fn version(row: &Row<'_>, first: usize) -> Sql<Version> {
    Ok(Version {
        kind: kind(row.get(first)?)?,
        ino: unsigned(row, first + 1)?,
        size: unsigned(row, first + 2)?,
        mtime_ns: row.get(first + 3)?,
        ctime_ns: row.get(first + 4)?,
        mode: row.get(first + 5)?,
        links: row.get(first + 6)?,
        uid: row.get(first + 7)?,
        gid: row.get(first + 8)?,
    })
}

/// The four columns of what was placed, from `first` on.
pub(super) fn placed(row: &Row<'_>, first: usize) -> Sql<Option<Placed>> {
    let Some(ino) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
    let (size, mtime_ns, checksum) = (unsigned(row, first + 1)?, row.get(first + 2)?, row.get(first + 3)?);
    Ok(Some(Placed { ino: ino as u64, size, mtime_ns, checksum }))
}

/// A row of number, directory, name, kind, size, time of change, and whether it was lost.
pub(super) fn copied(row: &Row<'_>) -> Sql<Copied> {
    Ok(Copied {
        id: row.get(0)?,
        path: path(row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?)?,
        kind: kind(row.get(3)?)?,
        ino: Placed { ino: row.get::<_, i64>(9)? as u64, size: 0, mtime_ns: 0, checksum: None }.made_ino(),
        size: unsigned(row, 4)?,
        mtime_ns: row.get(5)?,
        lost: row.get(6)?,
        at_source: row.get(7)?,
        links: unsigned(row, 8)?,
    })
}

/// Counts one row of state, kind and size, from `first` on.
pub(super) fn add(totals: &mut PerState, row: &Row<'_>, first: usize) -> Sql<()> {
    totals.add(state(row.get(first)?)?, kind(row.get(first + 1)?)?, unsigned(row, first + 2)?);
    Ok(())
}

/// One row of offset, length and hash.
pub(super) fn chunk(row: &Row<'_>) -> Sql<Chunk> {
    Ok(Chunk { offset: unsigned(row, 0)?, length: unsigned(row, 1)?, hash: row.get(2)? })
}

/// What ties a chunk to one state of the source's bytes.
pub(super) fn chunk_version(version: &Version) -> [u8; 32] {
    let mut tag = [0; 32];
    let parts = [version.ino, version.size, version.mtime_ns as u64, version.ctime_ns as u64];
    for (place, part) in tag.chunks_exact_mut(8).zip(parts) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    tag
}

fn unsigned(row: &Row<'_>, column: usize) -> Sql<u64> {
    row.get::<_, i64>(column).map(|value| value as u64)
}

/// The state of this number.
pub(super) fn state(number: i64) -> Sql<State> {
    let states =
        [State::Queued, State::Placing, State::Done, State::Cleared, State::Failed, State::Gone, State::Skipped, State::Lost];
    let state = usize::try_from(number).ok().and_then(|number| states.get(number));
    state.copied().ok_or_else(|| damaged("a state"))
}

fn kind(number: i64) -> Sql<Kind> {
    let kinds = [Kind::File, Kind::Directory, Kind::Link, Kind::Fifo, Kind::Special];
    usize::try_from(number).ok().and_then(|number| kinds.get(number)).copied().ok_or_else(|| damaged("a kind"))
}

/// A row of a directory's path alone.
pub(super) fn directory(row: &Row<'_>) -> Sql<TreePath> {
    TreePath::new(row.get_ref(0)?.as_blob()?).ok_or_else(|| damaged("a path"))
}

fn path(directory: &[u8], name: &[u8]) -> Sql<TreePath> {
    let mut bytes = Vec::with_capacity(directory.len() + 1 + name.len());
    bytes.extend_from_slice(directory);
    if !directory.is_empty() {
        bytes.push(b'/');
    }
    bytes.extend_from_slice(name);
    TreePath::new(&bytes).ok_or_else(|| damaged("a path"))
}

/// A stored value that this program never writes.
pub(super) fn damaged(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, format!("{what} that cannot be").into())
}

/// A path's bytes.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
