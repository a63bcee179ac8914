//! Readers of the files of a record, and the writer of a series that the engine did not measure.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tonnage_records::SeriesRow;

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

#[pyfunction]
pub fn read_merged(py: Python<'_>, path: PathBuf, prefix: &str) -> PyResult<Vec<(u64, u64)>> {
    py.detach(|| tonnage_records::read_merged(&path, prefix)).map_err(|error| errors::files(&error))
}

#[pyfunction]
pub fn write_series(py: Python<'_>, run_directory: PathBuf, record: &str, rows: Vec<(u64, u64, u32, u64)>) -> PyResult<()> {
    let rows: Vec<SeriesRow> = rows
        .into_iter()
        .map(|(start_ns, end_ns, task, bytes)| SeriesRow { start_ns, end_ns, task, bytes, operations: 0, latency_sum_ns: 0 })
        .collect();
    py.detach(|| tonnage_records::write_series(&run_directory, record, &rows)).map_err(|error| errors::files(&error))
}
