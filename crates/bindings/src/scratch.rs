//! The scratch directory.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tonnage_storage::{Leftover, PoolSpec};

use crate::errors;

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Scratch {
    path: PathBuf,
    held: Mutex<Option<tonnage_storage::Scratch>>,
}

impl From<tonnage_storage::Scratch> for Scratch {
    fn from(scratch: tonnage_storage::Scratch) -> Self {
        Self { path: scratch.path().to_owned(), held: Mutex::new(Some(scratch)) }
    }
}

#[pymethods]
impl Scratch {
    #[staticmethod]
    fn create(parent: PathBuf, run_id: &str) -> PyResult<Self> {
        tonnage_storage::Scratch::create(&parent, run_id).map(Self::from).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    #[pyo3(signature = (path, *, force=false))]
    fn reopen(path: PathBuf, force: bool) -> PyResult<Self> {
        tonnage_storage::Scratch::reopen(&path, force).map(Self::from).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn create_named(parent: PathBuf, name: &str, run_id: &str) -> PyResult<Self> {
        tonnage_storage::Scratch::create_named(&parent, name, run_id).map(Self::from).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    #[pyo3(signature = (parent, name, *, stays=false))]
    fn reopen_named(parent: PathBuf, name: &str, stays: bool) -> PyResult<Self> {
        tonnage_storage::Scratch::reopen_named(&parent, name, stays).map(Self::from).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn reopen_kept(parent: PathBuf, name: &str) -> PyResult<Self> {
        tonnage_storage::Scratch::reopen_kept(&parent, name).map(Self::from).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn left_ns(path: PathBuf) -> PyResult<i128> {
        tonnage_storage::Scratch::left_ns(&path).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn leftovers(py: Python<'_>, parent: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let found = tonnage_storage::Scratch::leftovers(&parent).map_err(|error| errors::storage(&error))?;
        as_dicts(py, found)
    }

    #[staticmethod]
    fn file_leftovers(py: Python<'_>, parent: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let found = tonnage_storage::file_leftovers(&parent).map_err(|error| errors::storage(&error))?;
        as_dicts(py, found)
    }

    #[staticmethod]
    fn remove_left_file(path: PathBuf) -> PyResult<()> {
        tonnage_storage::remove_left_file(&path).map_err(|error| errors::storage(&error))
    }

    #[getter]
    fn path(&self) -> OsString {
        self.path.clone().into_os_string()
    }

    #[pyo3(signature = (as_found=false))]
    fn keep(&self, as_found: bool) -> PyResult<()> {
        let Some(scratch) = self.take() else { return Ok(()) };
        scratch.keep(as_found).map_err(|error| errors::storage(&error))
    }

    #[pyo3(signature = (until_ns=None))]
    fn remove(&self, py: Python<'_>, until_ns: Option<i128>) -> PyResult<()> {
        let Some(scratch) = self.take() else { return Ok(()) };
        py.detach(|| scratch.remove_until(until_ns)).map_err(|error| errors::storage(&error))
    }
}

fn as_dicts(py: Python<'_>, found: Vec<Leftover>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    found
        .into_iter()
        .map(|leftover| {
            let dict = PyDict::new(py);
            dict.set_item("path", leftover.path.into_os_string())?;
            dict.set_item("run_id", leftover.run_id)?;
            dict.set_item("pid", leftover.pid)?;
            dict.set_item("host", leftover.host)?;
            dict.set_item("state", format!("{:?}", leftover.state).to_lowercase())?;
            dict.set_item("why", leftover.why)?;
            Ok(dict)
        })
        .collect()
}

#[pyfunction]
pub fn pool_leftovers<'py>(py: Python<'py>, pool: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let pool: PoolSpec = serde_json::from_str(pool).map_err(|error| errors::json("pool", &error))?;
    let found = py.detach(|| tonnage_storage::pool_leftovers(&pool)).map_err(|error| errors::storage(&error))?;
    as_dicts(py, found)
}

#[pyfunction]
#[pyo3(signature = (pool, *, force=false))]
pub fn clean_pool(py: Python<'_>, pool: &str, force: bool) -> PyResult<()> {
    let pool: PoolSpec = serde_json::from_str(pool).map_err(|error| errors::json("pool", &error))?;
    py.detach(|| tonnage_storage::clean_pool(&pool, force)).map_err(|error| errors::storage(&error))
}

impl Scratch {
    /// Once: a second call finds nothing left to keep or remove.
    fn take(&self) -> Option<tonnage_storage::Scratch> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
