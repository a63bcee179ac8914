//! What was found and where it stands: `SQLite` on node-local storage, every commit durable.
//!
//! Entries are never deleted and their numbers never used again, also not by a journal that was rebuilt: a number names a
//! temporary. Every change of state looks at what is stored first, so that a file found changed while it is copied stays queued.

mod clearing;
#[cfg(test)]
mod guarantees;
mod memory;
mod open;
mod pending_recovery;
mod queries;
mod requeue;
mod reserve;
mod row;
mod schema;
#[cfg(test)]
mod speed;
mod states;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, ffi};

use crate::error::{MoverError, Result};
use crate::file_version::Kind;
use crate::path::TreePath;
use memory::Memory;
pub use pending_recovery::Owed;
pub use requeue::Doubt;
use reserve::Reserve;
pub use totals::PerState;

type Sql<T> = rusqlite::Result<T>;

/// Name of the database in the state directory.
pub const DATABASE: &str = "journal.sqlite";

/// Whose files a journal keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Tree that is read.
    pub from: PathBuf,
    /// Tree that is written.
    pub to: PathBuf,
}

/// What a copy was like when it was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Number of its entry.
    pub id: i64,
    /// Where.
    pub path: TreePath,
    /// What it is.
    pub kind: Kind,
    /// Its inode, where that is known.
    pub ino: Option<u64>,
    /// Bytes.
    pub size: u64,
    /// Its time of change.
    pub mtime_ns: i64,
    /// It was found missing before.
    pub lost: bool,
    /// It is done, and its source is there.
    pub at_source: bool,
    /// Names of its source, when last looked at.
    pub links: u64,
}

/// How a journal was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// There was none.
    New,
    /// The one of an earlier mover of the same trees goes on.
    Again,
    /// What was there could not be used. It lies at `backup`, and a scan fills the new one.
    Rebuilt {
        /// Where the former one is.
        backup: PathBuf,
        /// Why it could not be used.
        why: String,
    },
}

/// An open journal. All calls may come from any thread; they take turns.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    id: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    db: Connection,
    kept: Kept,
    memory: Memory,
    reserve: Option<Reserve>,
}

/// What is known without asking the database.
#[derive(Debug)]
struct Kept {
    totals: PerState,
    next_id: i64,
    directories: HashMap<Box<[u8]>, i64>,
}

/// Directories whose numbers are remembered; a scan asks for one at a time, hints for a few.
const DIRECTORIES_KEPT: usize = 4096;

/// One transaction at work.
struct Pass<'a> {
    db: &'a Connection,
    kept: &'a mut Kept,
    memory: &'a mut Memory,
}

impl Journal {
    /// The mover's identity: 32 hexadecimal digits, drawn when the state directory was first used.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The database.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Numbers and bytes of each state, at no cost.
    #[must_use]
    pub fn totals(&self) -> PerState {
        self.lock().kept.totals
    }

    /// What the user must know of the journal itself.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.lock().reserve.iter().filter_map(Reserve::note).collect()
    }

    /// The value last [`set`](Self::set) for `key`.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        self.read(|db| db.prepare_cached("SELECT value FROM meta WHERE key = ?")?.query_row([key], |row| row.get(0)).optional())
    }

    /// Keeps `value` for `key`.
    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        self.write(|pass| pass.db.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?, ?)")?.execute([key, value]).map(|_| ()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, look: impl FnOnce(&Connection) -> Sql<T>) -> Result<T> {
        look(&self.lock().db).map_err(|source| self.error(source))
    }

    /// One transaction, durable when this returns. `work` runs again where the storage was full and the reserve could be given up.
    fn write<T>(&self, work: impl Fn(&mut Pass<'_>) -> Sql<T>) -> Result<T> {
        let mut inner = self.lock();
        let mut result = inner.commit(&work);
        if let Err(error) = &result
            && reserve::is_full(error)
            && inner.reserve.as_mut().is_some_and(Reserve::release)
        {
            result = inner.commit(&work);
        }
        if result.is_ok()
            && let Some(reserve) = &mut inner.reserve
        {
            reserve.refill_now_and_then();
        }
        result.map_err(|source| self.error(source))
    }

    fn error(&self, source: rusqlite::Error) -> MoverError {
        error(&self.path, source)
    }
}

impl Inner {
    fn commit<T>(&mut self, work: impl Fn(&mut Pass<'_>) -> Sql<T>) -> Sql<T> {
        let (totals, next_id) = (self.kept.totals, self.kept.next_id);
        let result = (|| {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&mut Pass { db: &transaction, kept: &mut self.kept, memory: &mut self.memory })?;
            transaction.commit()?;
            Ok(value)
        })();
        if result.is_err() {
            self.kept = Kept { totals, next_id, directories: HashMap::new() };
        }
        result
    }
}

/// What `source` means for the whole mover.
fn error(path: &Path, source: rusqlite::Error) -> MoverError {
    match &source {
        rusqlite::Error::SqliteFailure(ffi::Error { code: ffi::ErrorCode::DiskFull, .. }, _) => {
            let said = "no space left on its file system, its reserve used up; hint: free some space there, then resume";
            MoverError::path("write", path, io::Error::new(io::ErrorKind::StorageFull, said))
        }
        _ => MoverError::Journal { path: path.to_owned(), source },
    }
}
