//! Snapshots of a pool: self-managed ones, which the writers carry along, or those of the whole pool. A pool takes one
//! kind or the other, for good.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io;
use std::mem::take;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tonnage_workload::Means;

use super::pool::Pool;
use super::{Rados, snapshot_notes};
use crate::api::Storage;
use crate::api::{SnapshotRequest, Snapshots};
use crate::error::{Result, StorageError};
use crate::scratch::scratch_names::round_name;
use crate::target::Process;

/// A snapshot that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Taken {
    /// By its number.
    SelfManaged(u64),
    /// By its name in the pool.
    Pool(String),
}

/// What this process knows of its namespace.
#[derive(Debug, Default)]
pub(super) struct SnapshotRegistry {
    snapshots: Mutex<Known>,
    /// The marker was made, or found to be this run's.
    pub(super) marked: AtomicBool,
}

/// The snapshots that this process knows of.
#[derive(Debug, Default)]
struct Known {
    /// Those that are there, by whose they are and by round.
    there: BTreeMap<(Option<u32>, u32), Taken>,
    /// Those that this process removed, and which are noted still.
    gone: BTreeSet<Taken>,
}

impl SnapshotRegistry {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all of them; the first error, after all were tried, or as many as a monitor answered for.
    pub(super) fn remove_all(&self, pool: &Pool) -> Result<()> {
        let mut first = Ok(());
        let mut known = self.lock();
        let mut left = take(&mut known.there).into_iter();
        for ((owner, round), taken) in left.by_ref() {
            match remove(pool, &taken) {
                Ok(()) => _ = known.gone.insert(taken),
                Err(error) => {
                    let silent = error.kind() == io::ErrorKind::TimedOut;
                    first = first.and(Err(failed(pool, "remove", owner, round, error)));
                    // Each of the others would be waited for as long.
                    if silent {
                        break;
                    }
                }
            }
        }
        known.there.extend(left);
        first
    }

    /// Removes what is noted and still there, whoever took it, and the notes.
    pub(super) fn remove_noted(&self, pool: &Pool) -> Result<()> {
        let gone = take(&mut self.lock().gone);
        snapshot_notes::remove_noted(pool, &gone)
    }
}

/// One that another process removed is no error.
pub(super) fn remove(pool: &Pool, taken: &Taken) -> io::Result<()> {
    let removed = match taken {
        Taken::SelfManaged(number) => pool.remove_own_snapshot(*number),
        Taken::Pool(name) => pool.remove_snapshot(&CString::new(name.as_str())?),
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
    /// Whose writes carry none: no snapshot keeps old notes.
    plain: Arc<Pool>,
    process: Process,
    registry: Arc<SnapshotRegistry>,
    owner: Option<u32>,
    of_pool: bool,
}

impl RadosSnapshots {
    pub(super) fn new(storage: &Rados, request: &SnapshotRequest) -> Result<Self> {
        let pool = storage.pool.another()?;
        let of_pool = matches!(request.means, Means::RadosPool {});
        let registry = Arc::clone(&storage.registry);
        let (process, plain) = (storage.process, Arc::clone(&storage.pool));
        let snapshots = Self { pool: Arc::new(pool), plain, process, registry, owner: request.owner, of_pool };
        if snapshots.registry.lock().there.is_empty() && snapshots.process != Process::Other {
            let new = storage.mark()?;
            if let Err(error) = snapshots.probe() {
                if new {
                    storage.finish()?;
                }
                return Err(error);
            }
        }
        snapshots.note_names(request.rounds)?;
        Ok(snapshots)
    }

    /// Takes one and removes it, so that a pool of the other kind says so before the start.
    fn probe(&self) -> Result<()> {
        if self.of_pool {
            snapshot_notes::add(&self.plain, &[Taken::Pool(self.name("probe"))])?;
        }
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

    /// Notes the snapshots of the pool that will be taken here, unless they are there already.
    fn note_names(&self, rounds: u32) -> Result<()> {
        let takes = self.owner.is_some() || self.process != Process::Other;
        if !takes || !self.of_pool || self.registry.lock().there.contains_key(&(self.owner, 0)) {
            return Ok(());
        }
        let name = |round| Taken::Pool(self.name(&snapshot_name(self.owner, round)));
        snapshot_notes::add(&self.plain, &(0..rounds).map(name).collect::<Vec<_>>())
    }

    /// Names are the whole pool's, so the run's own namespace is in front.
    fn name(&self, name: &str) -> String {
        format!("{}.{name}", self.pool.spec.namespace)
    }

    fn make(&self, name: &str) -> io::Result<Taken> {
        if !self.of_pool {
            return self.pool.take_own_snapshot().map(Taken::SelfManaged);
        }
        let name = self.name(name);
        self.pool.take_snapshot(&CString::new(name.as_str())?).map(|()| Taken::Pool(name))
    }

    /// Writes carry all self-managed snapshots that are there, the newest first.
    fn carry(&self) -> io::Result<()> {
        if self.of_pool {
            return Ok(());
        }
        let registry = self.registry.lock();
        let own = registry.there.range((self.owner, 0)..=(self.owner, u32::MAX)).rev();
        let numbers: Vec<u64> =
            own.filter_map(|(_, taken)| if let Taken::SelfManaged(number) = taken { Some(*number) } else { None }).collect();
        self.pool.carry_snapshots(&numbers)
    }

    fn keep(&self, round: u32, taken: Taken) -> io::Result<()> {
        let mut known = self.registry.lock();
        known.gone.remove(&taken);
        known.there.insert((self.owner, round), taken);
        drop(known);
        self.carry()
    }
}

impl Snapshots for RadosSnapshots {
    fn live(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(Rados { pool: Arc::clone(&self.pool), process: self.process, registry: Arc::clone(&self.registry) }))
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
            // What is written from here on must know of it.
            self.pool.look_up_map().map(|()| Taken::Pool(self.name(&snapshot_name(self.owner, round))))
        } else {
            Ok(Taken::SelfManaged(token))
        };
        let kept = known.and_then(|taken| self.keep(round, taken));
        kept.map_err(|error| failed(&self.pool, "take", self.owner, round, error))
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        let name = snapshot_name(self.owner, round);
        let path = || self.pool.failed("find the snapshot", &name, rustix::io::Errno::NOENT.into());
        let taken = self.registry.lock().there.get(&(self.owner, round)).cloned().ok_or_else(path)?;
        let number = match taken {
            Taken::SelfManaged(number) => number,
            Taken::Pool(known) => {
                let known = CString::new(known).map_err(io::Error::from);
                let found = known.and_then(|known| self.pool.look_up_map().and_then(|()| self.pool.snapshot_number(&known)));
                found.map_err(|error| self.pool.failed("find the snapshot", &name, error))?
            }
        };
        let then = self.pool.another()?;
        then.read_snapshot(number);
        Ok(Some(Arc::new(Rados { pool: Arc::new(then), process: Process::Other, registry: Arc::default() })))
    }

    /// A number without a write that carries it keeps nothing, so it is time enough when the round is over.
    fn note(&mut self, round: u32) -> Result<()> {
        if self.of_pool {
            return Ok(());
        }
        let taken = self.registry.lock().there.get(&(self.owner, round)).cloned();
        taken.map_or(Ok(()), |taken| snapshot_notes::add(&self.plain, &[taken]))
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        let taken = self.registry.lock().there.remove(&(self.owner, round));
        let removed = taken.map_or(Err(io::ErrorKind::NotFound.into()), |taken| {
            remove(&self.pool, &taken)?;
            self.registry.lock().gone.insert(taken);
            Ok(())
        });
        removed.map_err(|error| failed(&self.pool, "remove", self.owner, round, error))
    }
}
