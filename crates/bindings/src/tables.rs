//! Readers of the files of a record.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

#[pyfunction]
pub fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let columns = py.detach(|| tonnage_records::read_table(&path)).map_err(|error| errors::files(&error))?;
    let dict = PyDict::new(py);
    for (name, values) in columns {
        dict.set_item(name, values)?;
    }
    Ok(dict)
}

#[pyfunction]
pub fn read_histograms(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let histograms = py.detach(|| tonnage_records::read_histograms(&path)).map_err(|error| errors::files(&error))?;
    let dict = PyDict::new(py);
    for (tag, buckets) in histograms {
        dict.set_item(tag, buckets)?;
    }
    Ok(dict)
}
