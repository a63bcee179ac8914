//! Stage-out.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use tonnage_mover::{MoverError, Options};

use crate::errors;

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Mover {
    mover: tonnage_mover::Mover,
}

#[pymethods]
impl Mover {
    #[new]
    #[pyo3(signature = (options, before_journal=None))]
    fn new(py: Python<'_>, options: &str, before_journal: Option<Py<PyAny>>) -> PyResult<Self> {
        let options: Options = serde_json::from_str(options).map_err(|error| errors::json("options", &error))?;
        let mut raised = None;
        let prepared = py.detach(|| {
            tonnage_mover::Mover::prepare_with(options, || {
                let Some(callback) = before_journal else { return Ok(()) };
                Python::attach(|py| callback.call0(py).map(drop)).map_err(|error| {
                    let said = error.to_string();
                    raised = Some(error);
                    MoverError::Request(said)
                })
            })
        });
        match (prepared, raised) {
            (_, Some(error)) => Err(error),
            (prepared, None) => Ok(Self { mover: prepared.map_err(failed)? }),
        }
    }

    fn start(&self) -> PyResult<()> {
        self.mover.start().map_err(failed)
    }

    #[pyo3(signature = (pid=None))]
    fn give_way_to(&self, pid: Option<u32>) -> PyResult<()> {
        self.mover.give_way_to(pid).map_err(failed)
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = py.detach(|| self.mover.status());
        Ok(pythonize::pythonize(py, &status)?)
    }

    fn drain(&self, py: Python<'_>) {
        py.detach(|| self.mover.drain());
    }

    fn rescan(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.mover.rescan())
    }

    #[pyo3(signature = (bytes_per_s, files_per_s))]
    fn set_limit(&self, bytes_per_s: Option<u64>, files_per_s: Option<u64>) {
        self.mover.set_limit(bytes_per_s, files_per_s);
    }

    fn stop(&self, py: Python<'_>, deadline_ns: u64) {
        py.detach(|| self.mover.stop(deadline_ns));
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s.max(0.0)).unwrap_or(Duration::MAX / 4);
        py.detach(|| self.mover.wait(timeout)).map_err(failed)
    }
}

#[pyfunction]
pub fn stage_status(py: Python<'_>, state: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let status = py.detach(|| tonnage_mover::status_of(&state)).map_err(failed)?;
    Ok(pythonize::pythonize(py, &status)?)
}

#[pyfunction]
#[pyo3(signature = (state, kind, after=0, limit=1000))]
pub fn stage_entries<'py>(py: Python<'py>, state: PathBuf, kind: &str, after: i64, limit: u32) -> PyResult<Bound<'py, PyAny>> {
    let entries = py.detach(|| tonnage_mover::list(&state, kind, after, limit)).map_err(failed)?;
    Ok(pythonize::pythonize(py, &entries)?)
}

#[pyfunction]
pub fn stage_lost(py: Python<'_>, to: PathBuf, id: &str) -> PyResult<Vec<String>> {
    py.detach(|| tonnage_mover::manifest::lost(&to, id)).map_err(failed)
}

/// `on_progress(files, of_files, bytes, of_bytes)` returns whether to go on.
#[pyfunction]
pub fn stage_verify<'py>(
    py: Python<'py>,
    to: PathBuf,
    threads: usize,
    on_progress: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let callback = on_progress.clone().unbind();
    let mut raised = None;
    let report = py
        .detach(|| {
            tonnage_mover::manifest::verify(&to, threads, &mut |seen| {
                let asked = Python::attach(|py| {
                    py.check_signals()?;
                    callback.bind(py).call1((seen.files, seen.of_files, seen.bytes, seen.of_bytes))?.is_truthy()
                });
                asked.unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
            })
        })
        .map_err(failed)?;
    raised.map_or_else(|| Ok(pythonize::pythonize(py, &report)?), Err)
}

/// A wrong request is a `ValueError`, a failed call an `OSError`, the rest a `RuntimeError`.
fn failed(error: MoverError) -> PyErr {
    errors::mover(&error)
}
