//! Files through MPI-IO: the MPI of the site, through a shim in C that is compiled for it.
//!
//! Each file is made, or found, as every kind with files does it; MPI then opens what the handle leads to. Files of one task
//! each are opened alone (`MPI_COMM_SELF`). A file that all tasks share is opened by all of them together, where each is in
//! a process of its own.

mod file;
mod group;
mod library;
mod names;

use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::api::{Lane, Names, NamesRequest, OpenRequest};
use crate::error::{Result, StorageError};
use crate::fs::direct::NO_DIRECT;
use crate::fs::file_storage::FileAccess;
use crate::fs::files::Files;
use crate::target::{DirectMode, FileView, MpiioSpec, TargetSpec};
use file::MpiioFile;
use library::{Mpi, hints_text, mpi, mpi_at};
use names::MpiioNames;

const WHY: &str = "MPI-IO opens files through the page cache";

/// The source of the library, for whoever compiles it.
pub const SHIM: &str = include_str!("shim.c");

/// Reads and writes through MPI-IO.
pub(crate) struct Mpiio {
    spec: MpiioSpec,
    mpi: &'static Mpi,
    hints: CString,
    /// What a call takes before it comes to MPI, where that is not nothing.
    slow: Option<Duration>,
    /// The cache was not asked for, so a note says that it was used.
    told: bool,
    /// Of each task of the next phase, the rank of its process; empty where this process has all tasks.
    processes: Mutex<Arc<[u32]>>,
}

impl std::fmt::Debug for Mpiio {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Mpiio").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Mpiio {
    pub(crate) fn new(target: &TargetSpec) -> Result<Self> {
        let Some(spec) = &target.mpiio else {
            return Err(StorageError::Unsupported("a storage of kind mpiio needs the library of an MPI".to_owned()));
        };
        if target.direct == DirectMode::Yes {
            return Err(StorageError::Unsupported(format!("{WHY}; use direct = \"no\", or kind posix or uring")));
        }
        if spec.view.is_some_and(|view| view.piece_bytes == 0 || view.pieces == 0 || view.block_bytes == 0 || view.tasks == 0) {
            return Err(StorageError::Unsupported("a file view shows at least one byte of each block".to_owned()));
        }
        let (mpi, slow) = if spec.functions.is_empty() {
            (mpi(&spec.library)?, None)
        } else {
            let (mpi, call) = mpi_at(&spec.functions)?;
            (mpi, Some(call))
        };
        Ok(Self {
            hints: hints_text(spec.hints.iter())?,
            mpi,
            slow,
            spec: spec.clone(),
            told: target.direct == DirectMode::Auto,
            processes: Mutex::default(),
        })
    }

    /// The processes that open a file together; empty: this one alone.
    fn partners(&self) -> Result<Arc<[u32]>> {
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let each_its_own = processes.iter().collect::<HashSet<_>>().len() == processes.len();
        if !self.spec.shared || self.spec.tasks < 2 {
            return Ok(Arc::default());
        }
        if processes.is_empty() || !each_its_own {
            if self.spec.collective {
                let text = "collective transfers on a shared file need a process for each task; start it with mpiexec -n \
                            TASKS, or give each task a file";
                return Err(StorageError::Unsupported(text.to_owned()));
            }
            return Ok(Arc::default());
        }
        Ok(processes)
    }
}

impl FileAccess for Mpiio {
    /// Which bytes a call of MPI moved, and when, only MPI knows.
    const IS_WATCHED: bool = false;

    fn lane(&self, files: &Arc<Files>, request: &OpenRequest) -> Result<Lane> {
        files.note_depth(request, "mpiio");
        files.set_direct(request.file, false, self.told.then(|| (NO_DIRECT, WHY.to_owned())));
        if let Some(call) = self.slow {
            files.note("mpiio-by-python", || by_python(call));
        }
        let partners = self.partners()?;
        if partners.len() > 1 && request.retry_ns.is_some() && self.spec.collective {
            let text = "a collective transfer that failed is not tried again by one task alone; leave retry_for out";
            return Err(StorageError::Unsupported(text.to_owned()));
        }
        Ok(Lane::Sync(Box::new(MpiioFile::new(self, Arc::clone(files), *request, partners))))
    }

    fn names(&self, files: &Files, request: &NamesRequest) -> Result<Box<dyn Names>> {
        if let Some(call) = self.slow {
            files.note("mpiio-by-python", || by_python(call));
        }
        let tree = files.tree_names(request)?;
        let failed = |error: std::io::Error| StorageError::Unsupported(format!("MPI-IO cannot be used: {error}"));
        Ok(Box::new(MpiioNames::new(self, tree).map_err(failed)?))
    }

    fn tasks_at(&self, processes: &[u32]) {
        *self.processes.lock().unwrap_or_else(PoisonError::into_inner) = processes.into();
    }
}

/// The hints that were asked for and are not in effect, as `name = value`.
fn ignored(asked: &BTreeMap<String, String>, told: &[(String, String)]) -> Vec<String> {
    let is_told = |name: &String, value: &String| told.iter().any(|(known, is)| known == name && is.trim() == value.trim());
    asked.iter().filter(|(name, value)| !is_told(name, value)).map(|(name, value)| format!("{name} = {value}")).collect()
}

/// What calls through Python cost; a time that rounds to nothing is not named.
fn by_python(call: Duration) -> String {
    let us = (call.as_secs_f64() * 1e6).round();
    let adds = if us < 1.0 { String::new() } else { format!("adds about {us:.0} µs and ") };
    format!(
        "there is no compiler for this MPI, so each call of MPI-IO goes through Python, which {adds}lets one task of a process \
         call at a time"
    )
}

/// Where in the view that a task has the byte at `offset` of the file is, and the task's number in the file.
fn in_view(view: FileView, offset: u64) -> (u64, u64) {
    let segment = view.block_bytes * u64::from(view.tasks);
    (offset / segment * view.block_bytes + offset % view.block_bytes, offset % segment / view.block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_holds_the_blocks_of_one_task_in_their_order() {
        let view = FileView { piece_bytes: 8, pieces: 1, block_bytes: 8, tasks: 3 };
        assert_eq!(in_view(view, 0), (0, 0));
        assert_eq!(in_view(view, 11), (3, 1));
        assert_eq!(in_view(view, 24 + 16 + 5), (13, 2));
    }

    #[test]
    fn a_cost_that_rounds_to_nothing_is_not_named() {
        assert!(by_python(Duration::from_nanos(2_600)).contains("which adds about 3 µs and lets one task"));
        assert!(by_python(Duration::from_nanos(400)).contains("which lets one task"));
    }

    #[test]
    fn a_hint_with_another_value_is_ignored() {
        let asked = [("cb_nodes", "2"), ("romio_cb_write", "enable"), ("no_such", "1")];
        let asked = asked.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let told = [("cb_nodes", "1"), ("romio_cb_write", "enable")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(ignored(&asked, &told), ["cb_nodes = 2", "no_such = 1"]);
    }
}
