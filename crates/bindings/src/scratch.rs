//! The scratch directory.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Scratch(tonnage_storage::Scratch);

#[pymethods]
impl Scratch {
    #[staticmethod]
    fn create(parent: PathBuf, run_id: &str) -> PyResult<Self> {
        tonnage_storage::Scratch::create(&parent, run_id).map(Self).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn reopen(path: PathBuf) -> PyResult<Self> {
        tonnage_storage::Scratch::reopen(&path).map(Self).map_err(|error| errors::storage(&error))
    }

    #[staticmethod]
    fn leftovers<'py>(py: Python<'py>, parent: PathBuf) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = tonnage_storage::Scratch::leftovers(&parent).map_err(|error| errors::storage(&error))?;
        found
            .into_iter()
            .map(|leftover| {
                let dict = PyDict::new(py);
                dict.set_item("path", leftover.path)?;
                dict.set_item("run_id", leftover.run_id)?;
                dict.set_item("pid", leftover.pid)?;
                dict.set_item("host", leftover.host)?;
                dict.set_item("alive", leftover.alive)?;
                Ok(dict)
            })
            .collect()
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.remove()).map_err(|error| errors::storage(&error))
    }
}
