//! Opening: a journal that goes on, one for a status, and a new one where the old cannot be used.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use rustix::fs::fsync;
use rustix::io::Errno;

use super::memory::Memory;
use super::schema::{self, Found};
use super::{DATABASE, Identity, Inner, Journal, Kept, Opened, Reserve, Sql, error};
use crate::error::{MoverError, Result};
use crate::hex::hex;
use crate::names;
use crate::tree::Tree;

/// File that keeps the mover's id, so that a journal that is rebuilt knows its temporaries.
const ID: &str = "id";
/// A reader of another process holds the database for moments only.
const BUSY: Duration = Duration::from_secs(10);
const STATEMENTS_KEPT: usize = 96;
/// What the names of a database's files end with: its own, its log's, its log's index's.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

impl Journal {
    /// Whether the directory `state` has one. What has its name and is not a file is a [`MoverError::Request`].
    pub fn exists(state: &Path) -> Result<bool> {
        let path = state.join(DATABASE);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => Ok(true),
            Ok(_) => {
                let said = format!("journal {} is not a regular file; hint: move it away, and begin again", path.display());
                Err(MoverError::Request(said))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(MoverError::path("look at", path, source)),
        }
    }

    /// Opens the journal in the directory `state`, which exists and whose lock the caller holds, or begins one. A journal of
    /// another version, or a damaged one, is set aside under another name and never removed; so is one of other trees in which
    /// nothing is left to do. One of other trees with work left is a [`MoverError::Request`].
    pub fn open(state: &Path, identity: &Identity) -> Result<(Self, Opened)> {
        let path = state.join(DATABASE);
        if !Self::exists(state)? {
            // A log whose database is gone must not be taken for the new one's.
            set_aside(state)?;
        }
        if let Ok(taken) = Self::take(state, &path, identity)? {
            return Ok(taken);
        }
        // SQLite calls a read that fails damage. What the storage does not give is no reason to begin anew.
        readable(state)?;
        let why = match Self::take(state, &path, identity)? {
            Ok(taken) => return Ok(taken),
            Err(why) => why,
        };
        let backup = set_aside(state)?;
        let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE);
        let journal = Self::create(state, db.map_err(|source| error(&path, source))?, identity)?;
        Ok((journal, Opened::Rebuilt { backup, why }))
    }

    /// Opens what is there, or begins a journal where nothing is; or why what is there cannot be used.
    fn take(state: &Path, path: &Path, identity: &Identity) -> Result<std::result::Result<(Self, Opened), String>> {
        let damaged = |source: rusqlite::Error| Ok(Err(format!("it is damaged ({source})")));
        match begin(path, identity) {
            Ok((db, Found::Ours(id))) => match Self::ready(state, db, id) {
                Err(MoverError::Journal { source, .. }) if schema::is_damage(&source) => damaged(source),
                journal => journal.map(|journal| Ok((journal, Opened::Again))),
            },
            Ok((db, Found::Empty)) => Self::create(state, db, identity).map(|journal| Ok((journal, Opened::New))),
            Ok((_, Found::OfOthers { identity, unfinished: true })) => Err(of_others(path, &identity)),
            Ok((_, Found::OfOthers { identity: of, .. })) => {
                let (from, to) = (of.from.display(), of.to.display());
                Ok(Err(format!("it is of {from} to {to}, where nothing is left to do")))
            }
            Ok((_, Found::Unusable(why))) => Ok(Err(why)),
            Err(source) if schema::is_damage(&source) => damaged(source),
            Err(source) => Err(unopened(path, source)),
        }
    }

    /// Opens the journal of a mover for reading, whether one is at work on it or not.
    pub fn read_only(state: &Path) -> Result<Self> {
        let path = state.join(DATABASE);
        if !Self::exists(state)? {
            let said = format!("no journal in {}; hint: name the directories that were staged", state.display());
            return Err(MoverError::Request(said));
        }
        let useless = |why: &str| {
            let said = format!("journal {}: {why}; hint: resume, which sets it aside and begins a new one", path.display());
            MoverError::Request(said)
        };
        let look = || -> Sql<(Found, Connection, Option<Kept>)> {
            let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|db| schema::recognise(&db).map(|_| db));
            // Without write permission on the directory the index of an empty log cannot be made; none is needed then.
            let db = db.or_else(|_| connect(&immutable(&path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI))?;
            let found = schema::recognise(&db)?;
            let kept = if let Found::Ours(_) = found { Some(schema::count(&db)?) } else { None };
            Ok((found, db, kept))
        };
        match look() {
            Ok((Found::Ours(id), db, Some(kept))) => {
                Ok(Self { path, id, inner: Mutex::new(Inner { db, kept, memory: Memory::default(), reserve: None }) })
            }
            Ok((Found::Unusable(why), ..)) => Err(useless(&why)),
            Ok(_) => Err(useless("nothing was ever written to it")),
            Err(source) if schema::is_damage(&source) => Err(useless("it is damaged")),
            Err(source) => Err(unopened(&path, source)),
        }
    }

    /// Whose files the journal keeps.
    pub fn identity(&self) -> Result<Identity> {
        self.read(schema::trees)
    }

    fn create(state: &Path, mut db: Connection, identity: &Identity) -> Result<Self> {
        let path = state.join(DATABASE);
        let (id, first_id) = mover_id(state, &db)?;
        let made = schema::settle(&db).and_then(|()| schema::create(&mut db, &id, identity, first_id));
        made.map_err(|source| error(&path, source))?;
        let directory = Tree::open(state)?;
        fsync(directory.root()).map_err(|error| MoverError::path("sync directory", state, error))?;
        Self::ready(state, db, id)
    }

    fn ready(state: &Path, db: Connection, id: String) -> Result<Self> {
        let path = state.join(DATABASE);
        let kept = schema::settle(&db)
            .and_then(|()| schema::complete(&db))
            .and_then(|()| schema::count(&db))
            .map_err(|source| error(&path, source))?;
        let reserve = Reserve::open(state);
        Ok(Self { path, id, inner: Mutex::new(Inner { db, kept, memory: Memory::default(), reserve }) })
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Sql<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // A plan that may depend on the values would be made anew for each of them, which is two thirds of a small file's steps.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(db)
}

/// Opens what is there and says what it is. What is not ours is closed as it was found, without a checkpoint.
fn begin(path: &Path, identity: &Identity) -> Sql<(Connection, Found)> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let found = schema::look(&db, identity)?;
    if matches!(found, Found::Ours(_) | Found::Empty) {
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    }
    Ok((db, found))
}

/// The id of this state directory's mover, drawn the first time; and the first number for entries of a new journal. Where there
/// was a journal before, that is above all that were ever given: the seconds since 1970 in the upper bits.
fn mover_id(state: &Path, db: &Connection) -> Result<(String, i64)> {
    let path = state.join(ID);
    let failed = |error: io::Error| MoverError::path("write", &path, error);
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
    let mut file = how.open(&path).map_err(failed)?;
    let mut text = Vec::new();
    // One that cannot be read is there: another in its stead would make this mover's copies another's.
    file.read_to_end(&mut text).map_err(|error| MoverError::path("read", &path, error))?;
    if let Some(id) =
        String::from_utf8(text).ok().filter(|id| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
    {
        return Ok((id, (seconds() as i64) << 20));
    }
    let drawn: Sql<String> = db.query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0));
    let id = drawn.map_err(|source| error(&state.join(DATABASE), source))?;
    file.set_len(0).and_then(|()| io::Seek::rewind(&mut file)).map_err(failed)?;
    file.write_all(id.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok((id, schema::FIRST_ID))
}

/// Gives the database and its log another name; returns the database's.
fn set_aside(state: &Path) -> Result<PathBuf> {
    let tree = Tree::open(state)?;
    let name = |second: u64| format!("{DATABASE}.{second}.backup");
    let mut second = seconds();
    let taken = |second| ENDINGS.iter().any(|ending| state.join(format!("{}{ending}", name(second))).symlink_metadata().is_ok());
    while taken(second) {
        second += 1;
    }
    for ending in ENDINGS {
        let (from, to) = (format!("{DATABASE}{ending}"), format!("{}{ending}", name(second)));
        match names::move_to_own((tree.root(), from.as_bytes()), (tree.root(), to.as_bytes())) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(MoverError::path("set aside", state.join(from), error)),
        }
    }
    fsync(tree.root()).map_err(|error| MoverError::path("sync directory", state, error))?;
    Ok(state.join(name(second)))
}

/// Reads the database and its log to their ends.
fn readable(state: &Path) -> Result<()> {
    for name in [DATABASE.to_owned(), format!("{DATABASE}-wal")] {
        let path = state.join(name);
        let read = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        match read.and_then(|mut file| io::copy(&mut file, &mut io::sink())) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let hint = "resume once its storage answers; where it never will, move it away and begin again";
                return Err(MoverError::Request(format!("cannot read journal {}: {error}; hint: {hint}", path.display())));
            }
        }
    }
    Ok(())
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The address that tells `SQLite` that nobody writes to the database, so that it needs no lock and no log.
fn immutable(path: &Path) -> PathBuf {
    let mut address = String::from("file:");
    for &byte in super::row::path_bytes(path) {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push('%');
            address.push_str(&hex(&[byte]));
        }
    }
    PathBuf::from(address + "?immutable=1")
}

fn of_others(path: &Path, of: &Identity) -> MoverError {
    let (from, to) = (of.from.display(), of.to.display());
    let path = path.display();
    MoverError::Request(format!(
        "journal {path} is of {from} to {to}, which is not finished; hint: resume that first, or give this mover another --state"
    ))
}

/// Why the journal at `path` could not be opened.
fn unopened(path: &Path, source: rusqlite::Error) -> MoverError {
    use ffi::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    match &source {
        rusqlite::Error::SqliteFailure(ffi::Error { code: CannotOpen | PermissionDenied | ReadOnly, .. }, _) => {
            // SQLite keeps the system's reason to itself.
            let why = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).err();
            let why = why.map_or_else(|| source.to_string(), |error| error.to_string());
            let hint = "look at it and at what is beside it, or ask as the user whose mover it is";
            MoverError::Request(format!("cannot open journal {}: {why}; hint: {hint}", path.display()))
        }
        _ => error(path, source),
    }
}
