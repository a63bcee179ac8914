//! The object that says whose a namespace is, and the namespaces that killed runs left behind.

use std::ffi::CStr;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::pool::Pool;
use super::{Rados, timeout_diagnosis};
use crate::error::{Result, StorageError};
use crate::scratch::Leftover;
use crate::scratch::marker::{End, MARKER_BYTES, MARKER_NAME, Marker};
use crate::target::PoolSpec;
use crate::target::Process;

const MARKER: &CStr = c"TONNAGE-SCRATCH";
/// What the namespace of a run begins with; its id follows.
const PREFIX: &str = "tonnage-";

/// The marked namespaces of a pool, by name. Looks at the name of every object of the pool.
pub fn pool_leftovers(spec: &PoolSpec) -> Result<Vec<Leftover>> {
    let pool = Arc::new(Pool::open(spec)?);
    left_in(&pool).map_err(|error| error.explained(|error| timeout_diagnosis::explain(&pool, error)))
}

fn left_in(pool: &Arc<Pool>) -> Result<Vec<Leftover>> {
    let mut names = pool.namespaces_with(MARKER).map_err(|error| pool.failed("list the objects of", "", error))?;
    names.retain(|name| name.starts_with(PREFIX));
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let here = pool.beside(&name)?;
        // One that is gone meanwhile, or merely named alike, is left out.
        let Ok(Some(marker)) = read(&here) else { continue };
        let (state, why) = marker.standing_alone();
        let path = PathBuf::from(format!("rados://{}/{name}", pool.spec.pool));
        found.push(Leftover { path, run_id: marker.run_id, pid: marker.pid, host: marker.host, state, why });
    }
    Ok(found)
}

/// Removes what a dead run left in its namespace, which `spec` names: snapshots, objects, the marker. Nothing that the
/// run did not note or spell.
/// `force`: also where nobody can know whether the run is over.
pub fn clean_pool(spec: &PoolSpec, force: bool) -> Result<()> {
    let rados = Rados { pool: Arc::new(Pool::open(spec)?), process: Process::First, registry: Arc::default() };
    rados.remove_dead(force).map_err(|error| error.explained(|error| timeout_diagnosis::explain(&rados.pool, error)))
}

/// The marker of a namespace; `None` where there is none, an error where it is another's.
fn read(pool: &Pool) -> Result<Option<Marker>> {
    let mut bytes = [0; MARKER_BYTES];
    let count = match pool.read(MARKER, 0, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| pool.failed("read", MARKER_NAME, error))?,
    };
    let not_ours = |why: String| StorageError::NotOurs { path: pool.path(MARKER_NAME), why };
    let marker = Marker::parse(&bytes[..count]).map_err(not_ours)?;
    if marker.run_id == run_id(pool) { Ok(Some(marker)) } else { Err(not_ours("its marker is another's".to_owned())) }
}

fn run_id(pool: &Pool) -> &str {
    let namespace = &pool.spec.namespace;
    namespace.strip_prefix(PREFIX).unwrap_or(namespace)
}

impl Rados {
    /// Removes what a run left that is over.
    fn remove_dead(&self, force: bool) -> Result<()> {
        let Some(marker) = read(&self.pool)? else {
            let why = format!("it has no marker {MARKER_NAME}");
            return Err(StorageError::NotOurs { path: self.pool.path(""), why });
        };
        marker.require_over(marker.standing_alone(), &self.pool.path(""), End::Remove { force })?;
        self.remove_all()?;
        self.unmark()
    }

    /// Makes the marker, or takes over that of a process of this run that died, with nothing left of it; whether there
    /// was none. Before the first write and not before: what is refused leaves nothing.
    pub(super) fn mark(&self) -> Result<bool> {
        if self.process == Process::Other || self.registry.marked.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mine = Marker::of_this_process(run_id(&self.pool));
        let made = match self.pool.make(MARKER, &mine.text()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.take_over(&mine).map(|()| false),
            made => made.map(|()| true).map_err(|error| self.pool.failed("make", MARKER_NAME, error)),
        }?;
        self.registry.marked.store(true, Ordering::Relaxed);
        Ok(made)
    }

    fn take_over(&self, mine: &Marker) -> Result<()> {
        let Some(found) = read(&self.pool)? else {
            let gone = io::ErrorKind::NotFound.into();
            return Err(self.pool.failed("read", MARKER_NAME, gone));
        };
        if found == *mine {
            return Ok(());
        }
        // Where nobody can know it is taken: only who resumes the run knows its id.
        found.require_over(found.standing_alone(), &self.pool.path(""), End::Remove { force: true })?;
        self.remove_all()?;
        // Of one size: it is replaced at once.
        self.pool.write(MARKER, 0, &mine.text()).map_err(|error| self.pool.failed("write", MARKER_NAME, error))
    }

    /// Whether there is this run's marker; an error where it is another's.
    pub(super) fn is_marked(&self) -> Result<bool> {
        read(&self.pool).map(|found| found.is_some())
    }

    pub(super) fn unmark(&self) -> Result<()> {
        self.registry.marked.store(false, Ordering::Relaxed);
        self.pool.remove(MARKER).map_err(|error| self.pool.failed("remove", MARKER_NAME, error))
    }
}
