//! Objects of a Ceph pool, through librados: no file system, no page cache, no mount.
//!
//! File *f* is kept as objects of equal size, `data.f.0`, `data.f.1` and on, in a namespace that the run has for itself.
//! A file of a tree is one object whose name is its path. An object named `TONNAGE-SCRATCH` says whose the namespace is;
//! nothing but objects spelled like these is ever removed.

mod file;
mod library;
mod marker;
mod names;
mod object;
mod osds_of_objects;
mod pool;
mod queue;
mod snapshot_notes;
mod snapshots;
mod timeout_diagnosis;
mod traffic;

use std::io;
use std::sync::Arc;

use tonnage_workload::{CachePolicy, Means};

pub use marker::{clean_pool, pool_leftovers};

use crate::api::{CacheState, Facts, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Storage};
use crate::error::{Result, StorageError};
use crate::object_placement::Placement;
use crate::snapshots::of_any as snapshots_of_any;
use crate::target::PoolSpec;
use crate::target::{Process, TargetSpec};
use crate::wait::{go_on, waits_are_over};
use file::{RadosFile, length};
use names::RadosNames;
use object::is_ours;
use pool::Pool;
use queue::RadosQueue;
use snapshots::{RadosSnapshots, SnapshotRegistry};
use traffic::Meter;

/// Bytes that the cluster of a pool has left on all of its disks: copies of an object count each. `None` where
/// nobody counts them. Nothing is made.
pub fn pool_free_bytes(spec: &PoolSpec) -> Result<Option<u64>> {
    let pool = Pool::open(spec)?;
    pool.free_bytes().map_err(|error| pool.failed("ask for the space of", "", error))
}

/// The answers of a monitor to questions in JSON.
pub fn ask_monitor(spec: &PoolSpec, questions: &[String]) -> Result<Vec<String>> {
    let pool = Pool::open(spec)?;
    let answer = |question: &String| {
        let said = pool.ask(question).map_err(|error| pool.failed("ask a monitor of", "", error))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    };
    questions.iter().map(answer).collect()
}

/// The objects of a run in one pool.
#[derive(Debug)]
pub(crate) struct Rados {
    pool: Arc<Pool>,
    process: Process,
    registry: Arc<SnapshotRegistry>,
}

impl Rados {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let Some(pool) = &spec.rados else {
            return Err(StorageError::Unsupported("a storage of kind rados needs a pool".to_owned()));
        };
        if pool.object_bytes == 0 || pool.namespace.is_empty() {
            return Err(StorageError::Unsupported("objects have at least one byte, and a namespace a name".to_owned()));
        }
        Ok(Self { pool: Arc::new(Pool::open(pool)?), process: spec.process, registry: Arc::default() })
    }

    /// Removes what the run noted or spelled. Snapshots first: an object that one of them needs would leave its bytes
    /// behind.
    fn remove_all(&self) -> Result<()> {
        self.registry.remove_all(&self.pool)?;
        self.registry.remove_noted(&self.pool)?;
        let mut names = self.pool.list().map_err(|error| self.pool.failed("list", "", error))?;
        names.retain(|name| is_ours(name));
        self.pool.remove_all(&names).map_err(|error| self.pool.failed("remove objects of", "", error))
    }
}

impl Storage for Rados {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let pool = Arc::clone(&self.pool);
        if request.queue_depth > 1 {
            return Ok(Lane::Queued(Box::new(RadosQueue::new(pool, *request))));
        }
        Ok(Lane::Sync(Box::new(RadosFile { pool, request: *request, meter: Meter::default() })))
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        self.mark()?;
        Ok(Box::new(RadosNames::new(Arc::clone(&self.pool), *request)))
    }

    fn length(&self, file: u32) -> Result<u64> {
        length(&self.pool, file)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        self.mark().map(drop)
    }

    /// This host has no cache of objects; what an OSD has in memory, it does not tell.
    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        Ok(CacheState::default())
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        match &request.means {
            Means::RadosSelfManaged {} | Means::RadosPool {} => Ok(Box::new(RadosSnapshots::new(self, request)?)),
            _ => {
                let PoolSpec { pool, namespace, .. } = &self.pool.spec;
                snapshots_of_any(request, &[("pool", pool.clone()), ("namespace", namespace.clone())], "a pool of Ceph")
            }
        }
    }

    fn clear(&self) -> Result<()> {
        // What librados waits for, it waits for to its own limit: nothing more is begun.
        go_on().map_err(|error| self.pool.failed("remove objects of", "", error))?;
        if self.process == Process::Other {
            return self.registry.remove_all(&self.pool);
        }
        if self.is_marked()? { self.remove_all() } else { Ok(()) }
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.clear()?;
        if self.process != Process::Other {
            self.unmark()?;
        }
        Ok(Vec::new())
    }

    fn placement(&self) -> Result<Option<Placement>> {
        if waits_are_over() {
            return Ok(None);
        }
        self.pool.ledger.placement(&self.pool).map_err(|error| self.pool.failed("place the objects of", "", error))
    }

    fn explain(&self, error: &io::Error) -> Option<String> {
        timeout_diagnosis::explain(&self.pool, error)
    }

    fn facts(&self) -> Facts {
        Facts { direct: true, ..Facts::default() }
    }
}
