//! Rust errors as the Python exceptions a caller would expect: `OSError` with errno and filename, `ValueError`, …

use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tonnage_engine::EngineError;
use tonnage_mover::MoverError;
use tonnage_records::{FileError, RowsError, ShareError};
use tonnage_simulator::SimulatorError;
use tonnage_storage::StorageError;

/// `OSError(errno, text, filename)`: Python picks the subclass (`FileNotFoundError`, `PermissionError`, …) by errno.
fn os_error(source: &std::io::Error, path: &Path, text: String) -> PyErr {
    PyOSError::new_err((source.raw_os_error().unwrap_or(0), text, path.as_os_str().to_owned()))
}

pub fn storage(error: &StorageError) -> PyErr {
    let text = error.to_string();
    match error {
        StorageError::Path { path, source, .. } => os_error(source, path, text),
        StorageError::Memory { .. } => PyMemoryError::new_err(text),
        StorageError::Explained { error, .. } => match error.as_ref() {
            StorageError::Path { path, source, .. } => os_error(source, path, text),
            _ => PyValueError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

pub fn files(error: &FileError) -> PyErr {
    match error {
        FileError::Io { path, source } => os_error(source, path, error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn rows(error: &RowsError, path: &Path) -> PyErr {
    match error {
        RowsError::Io(source) => os_error(source, path, error.to_string()),
        RowsError::Line(_) => PyValueError::new_err(format!("{}, {error}", path.display())),
    }
}

pub fn share(error: &ShareError) -> PyErr {
    match error {
        ShareError::Files(error) => files(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn engine(error: &EngineError) -> PyErr {
    match error {
        EngineError::Storage(error) => storage(error),
        EngineError::Files(error) => files(error),
        EngineError::Spec(_) | EngineError::Thread { .. } => PyValueError::new_err(error.to_string()),
        EngineError::Panic => PyRuntimeError::new_err(error.to_string()),
    }
}

pub fn simulator(error: &SimulatorError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn mover(error: &MoverError) -> PyErr {
    match error {
        MoverError::Request(text) => PyValueError::new_err(text.clone()),
        MoverError::Path { path, source, .. } => os_error(source, path, error.to_string()),
        MoverError::Journal { .. } | MoverError::Moved(_) | MoverError::Thread(_) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A JSON specification that does not parse: serde's text names the key.
pub fn json(what: &str, error: &serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("{what}: {error}"))
}
