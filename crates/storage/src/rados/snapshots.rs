//! Snapshots of a pool: self-managed ones, which the writers carry along, or those of the whole pool. A pool takes one
//! kind or the other, for good.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tonnage_workload::Means;

use super::Rados;
use super::pool::Pool;
use crate::error::{Result, StorageError};
use crate::snapshots::{SnapshotRequest, Snapshots, round_name};
use crate::{Process, Storage};

/// A snapshot that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Taken {
    /// By its number.
    SelfManaged(u64),
    /// By its name in the pool.
    Pool(CString),
}

type Taking = BTreeMap<(Option<u32>, u32), Taken>;

/// The snapshots that this process knows of, by whose they are and by round.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Taking>);

impl Book {
    fn lock(&self) -> MutexGuard<'_, Taking> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all of them; the first error, after all were tried.
    pub(super) fn remove_all(&self, pool: &Pool) -> Result<()> {
        let mut first = Ok(());
        for ((owner, round), taken) in std::mem::take(&mut *self.lock()) {
            first = first.and(remove(pool, &taken).map_err(|error| failed(pool, "remove", owner, round, error)));
        }
        first
    }
}

/// One that another process removed is no error.
fn remove(pool: &Pool, taken: &Taken) -> io::Result<()> {
    let removed = match taken {
        Taken::SelfManaged(number) => pool.remove_own_snapshot(*number),
        Taken::Pool(name) => pool.remove_snapshot(name),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn snapshot_name(owner: Option<u32>, round: u32) -> String {
    owner.map_or_else(|| round_name(round), |task| format!("{task:08}.{}", round_name(round)))
}

fn failed(pool: &Pool, action: &'static str, owner: Option<u32>, round: u32, error: io::Error) -> StorageError {
    let action = if action == "take" { "take the snapshot" } else { "remove the snapshot" };
    pool.failed(action, &snapshot_name(owner, round), error)
}

/// Snapshots of one task's objects, or of all.
pub(super) struct RadosSnapshots {
    /// With a context of its own, whose writes carry the snapshots.
    pool: Arc<Pool>,
    process: Process,
    book: Arc<Book>,
    owner: Option<u32>,
    of_pool: bool,
}

impl RadosSnapshots {
    pub(super) fn new(storage: &Rados, request: &SnapshotRequest) -> Result<Self> {
        let pool = storage.pool.another()?;
        let of_pool = matches!(request.means, Means::RadosPool {});
        let book = Arc::clone(&storage.book);
        let snapshots = Self { pool: Arc::new(pool), process: storage.process, book, owner: request.owner, of_pool };
        if snapshots.book.lock().is_empty() && snapshots.process != Process::Other {
            snapshots.probe()?;
        }
        Ok(snapshots)
    }

    /// Takes one and removes it, so that a pool of the other kind says so before the start.
    fn probe(&self) -> Result<()> {
        let tried = self.make("probe").and_then(|taken| remove(&self.pool, &taken));
        tried.map_err(|error| {
            let (pool, kind) = (&self.pool.spec.pool, if self.of_pool { "pool" } else { "self-managed" });
            let text = match error.raw_os_error() {
                Some(libc::EINVAL) => {
                    let other = if self.of_pool { "self-managed" } else { "pool" };
                    format!("the pool {pool} takes {other} snapshots, so it can take no {kind} ones; use another pool or means")
                }
                _ => format!("the pool {pool} takes no {kind} snapshots: {error}"),
            };
            StorageError::Unsupported(text)
        })
    }

    fn make(&self, name: &str) -> io::Result<Taken> {
        if !self.of_pool {
            return self.pool.take_own_snapshot().map(Taken::SelfManaged);
        }
        // Names are the whole pool's, so the run's own namespace is in front.
        let name = CString::new(format!("{}.{name}", self.pool.spec.namespace))?;
        self.pool.take_snapshot(&name).map(|()| Taken::Pool(name))
    }

    /// Writes carry all self-managed snapshots that are there, the newest first.
    fn carry(&self) -> io::Result<()> {
        if self.of_pool {
            return Ok(());
        }
        let book = self.book.lock();
        let own = book.range((self.owner, 0)..=(self.owner, u32::MAX)).rev();
        let numbers: Vec<u64> =
            own.filter_map(|(_, taken)| if let Taken::SelfManaged(number) = taken { Some(*number) } else { None }).collect();
        self.pool.carry_snapshots(&numbers)
    }

    fn keep(&self, round: u32, taken: Taken) -> io::Result<()> {
        self.book.lock().insert((self.owner, round), taken);
        self.carry()
    }
}

impl Snapshots for RadosSnapshots {
    fn live(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(Rados { pool: Arc::clone(&self.pool), process: self.process, book: Arc::clone(&self.book) }))
    }

    fn take(&mut self, round: u32) -> Result<u64> {
        let made = self.make(&snapshot_name(self.owner, round));
        let kept = made.and_then(|taken| {
            let said = if let Taken::SelfManaged(number) = taken { number } else { 0 };
            self.keep(round, taken).map(|()| said)
        });
        kept.map_err(|error| failed(&self.pool, "take", self.owner, round, error))
    }

    fn adopt(&mut self, round: u32, token: u64) -> Result<()> {
        let known = if self.of_pool {
            let name = format!("{}.{}", self.pool.spec.namespace, snapshot_name(self.owner, round));
            CString::new(name).map(Taken::Pool).map_err(io::Error::from).and_then(|taken| {
                // What is written from here on must know of it.
                self.pool.look_up_map().map(|()| taken)
            })
        } else {
            Ok(Taken::SelfManaged(token))
        };
        let kept = known.and_then(|taken| self.keep(round, taken));
        kept.map_err(|error| failed(&self.pool, "take", self.owner, round, error))
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        let name = snapshot_name(self.owner, round);
        let path = || self.pool.failed("find the snapshot", &name, rustix::io::Errno::NOENT.into());
        let taken = self.book.lock().get(&(self.owner, round)).cloned().ok_or_else(path)?;
        let number = match taken {
            Taken::SelfManaged(number) => number,
            Taken::Pool(known) => {
                let found = self.pool.look_up_map().and_then(|()| self.pool.snapshot_number(&known));
                found.map_err(|error| self.pool.failed("find the snapshot", &name, error))?
            }
        };
        let then = self.pool.another()?;
        then.read_snapshot(number);
        Ok(Some(Arc::new(Rados { pool: Arc::new(then), process: Process::Other, book: Arc::default() })))
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        let taken = self.book.lock().remove(&(self.owner, round));
        let removed = taken.map_or(Err(io::ErrorKind::NotFound.into()), |taken| remove(&self.pool, &taken));
        removed.map_err(|error| failed(&self.pool, "remove", self.owner, round, error))
    }
}
