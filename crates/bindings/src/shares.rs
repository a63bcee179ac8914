//! Shares of a phase, on their way to the process that writes its record.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tonnage_records::Share;

use crate::errors;

#[pyfunction]
pub fn merge_shares<'py>(py: Python<'py>, one: &[u8], other: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| Share::from_bytes(one)?.merge(Share::from_bytes(other)?)?.to_bytes());
    Ok(PyBytes::new(py, &merged.map_err(|error| errors::share(&error))?))
}

#[pyfunction]
pub fn write_share<'py>(
    py: Python<'py>,
    share: &[u8],
    run_directory: Option<PathBuf>,
    record: &str,
    line_ns: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let result = py.detach(|| Share::from_bytes(share)?.write(run_directory.as_deref(), record, line_ns));
    Ok(pythonize::pythonize(py, &result.map_err(|error| errors::share(&error))?)?)
}
