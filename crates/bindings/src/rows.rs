//! Lines of JSON as rows that Python reads as mappings.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};
use tonnage_records::{RowsError, Value};

use crate::errors;

struct Shared {
    rows: tonnage_records::Rows,
    /// What texts that many rows have became in Python, by their number: made once.
    objects: Mutex<HashMap<u32, Py<PyAny>>>,
    parse: Py<PyAny>,
}

impl Shared {
    fn object(&self, py: Python<'_>, value: Value<'_>) -> PyResult<Py<PyAny>> {
        match value {
            Value::Null => Ok(py.None()),
            Value::Bool(value) => Ok(PyBool::new(py, value).to_owned().into_any().unbind()),
            Value::Integer(value) => Ok(value.into_pyobject(py)?.into_any().unbind()),
            Value::Text { json, shared: None } => self.parsed(py, json),
            Value::Text { json, shared: Some(text) } => {
                if let Some(object) = self.objects.lock().unwrap_or_else(PoisonError::into_inner).get(&text) {
                    return Ok(object.clone_ref(py));
                }
                let object = self.parsed(py, json)?;
                let kept = object.clone_ref(py);
                self.objects.lock().unwrap_or_else(PoisonError::into_inner).insert(text, kept);
                Ok(object)
            }
        }
    }

    fn parsed(&self, py: Python<'_>, json: &str) -> PyResult<Py<PyAny>> {
        match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(words) if !words.contains('\\') => Ok(PyString::new(py, words).into_any().unbind()),
            _ => match (Value::Text { json, shared: None }).members() {
                Some(members) => self.object_of(py, &members),
                None => self.parse.call1(py, (json,)),
            },
        }
    }

    fn object_of(&self, py: Python<'_>, members: &[(&str, Value<'_>)]) -> PyResult<Py<PyAny>> {
        let dict = PyDict::new(py);
        for (key, value) in members {
            let object = match *value {
                Value::Text { json, .. } if !json.starts_with('"') => self.parse.call1(py, (json,))?,
                value => self.object(py, value)?,
            };
            dict.set_item(key, object)?;
        }
        Ok(dict.into_any().unbind())
    }
}

#[pyclass(frozen)]
pub struct Rows(Arc<Shared>);

#[pymethods]
impl Rows {
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let parse = py.import("json")?.getattr("loads")?.unbind();
        let rows = py.detach(|| tonnage_records::Rows::open(&path)).map_err(|error: RowsError| errors::rows(&error, &path))?;
        Ok(Self(Arc::new(Shared { rows, objects: Mutex::default(), parse })))
    }

    fn __len__(&self) -> usize {
        self.0.rows.len()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.rows.all_keys().collect()
    }

    fn row(&self, row: usize) -> PyResult<Row> {
        self.there(row)?;
        Ok(Row { all: Arc::clone(&self.0), row })
    }

    #[pyo3(signature = (*path))]
    fn kinds(&self, py: Python<'_>, path: Vec<String>) -> Py<PyBytes> {
        PyBytes::new(py, &self.0.rows.kinds(&names(&path))).unbind()
    }

    #[pyo3(signature = (*path))]
    fn codes(&self, py: Python<'_>, path: Vec<String>) -> PyResult<(Py<PyBytes>, Vec<Py<PyAny>>)> {
        let path = names(&path);
        let (codes, values) = self.0.rows.codes(&path);
        let codes: Vec<u8> = codes.into_iter().flat_map(u32::to_ne_bytes).collect();
        let values = values.into_iter().map(|value| self.0.object(py, value)).collect::<PyResult<_>>()?;
        Ok((PyBytes::new(py, &codes).unbind(), values))
    }

    #[pyo3(signature = (rows, *path))]
    fn column(&self, py: Python<'_>, rows: &[u8], path: Vec<String>) -> PyResult<Py<PyList>> {
        let (rows, path) = (self.row_numbers(rows)?, names(&path));
        // Neighbours often have the same text.
        let mut last = (None, py.None());
        let values = PyList::empty(py);
        for value in self.0.rows.values(&path, rows.into_iter()) {
            match value {
                None => values.append(py.None())?,
                Some(Value::Text { shared: Some(text), .. }) if last.0 == Some(text) => values.append(&last.1)?,
                Some(value) => {
                    let object = self.0.object(py, value)?;
                    values.append(&object)?;
                    if let Value::Text { shared: Some(text), .. } = value {
                        last = (Some(text), object);
                    }
                }
            }
        }
        Ok(values.unbind())
    }

    #[pyo3(signature = (rows, *path))]
    fn numbers<'py>(&self, py: Python<'py>, rows: &[u8], path: Vec<String>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let rows = self.row_numbers(rows)?;
        self.0.rows.numbers(&names(&path), rows.into_iter()).map(|column| native(py, &column)).transpose()
    }

    fn integers<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Vec<(&str, Bound<'py, PyBytes>)>> {
        let found = py.detach(|| self.0.rows.integers(key));
        found.into_iter().map(|(name, column)| Ok((name, native(py, &column)?))).collect()
    }
}

impl Rows {
    /// Rows as numpy hands them over: native integers of 64 bits.
    fn row_numbers(&self, rows: &[u8]) -> PyResult<Vec<usize>> {
        let (rows, _) = rows.as_chunks();
        let rows: Vec<usize> = rows.iter().map(|row| usize::from_ne_bytes(*row)).collect();
        rows.iter().max().map_or(Ok(()), |&row| self.there(row))?;
        Ok(rows)
    }

    fn there(&self, row: usize) -> PyResult<()> {
        if row < self.0.rows.len() { Ok(()) } else { Err(PyIndexError::new_err(format!("there is no row {row}"))) }
    }
}

/// As numpy takes them up.
fn native<'py>(py: Python<'py>, column: &[i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(column), |bytes| {
        for (place, value) in bytes.as_chunks_mut().0.iter_mut().zip(column) {
            *place = value.to_ne_bytes();
        }
        Ok(())
    })
}

fn names(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

#[pyclass(frozen, mapping)]
pub struct Row {
    all: Arc<Shared>,
    row: usize,
}

#[pymethods]
impl Row {
    fn __getitem__(&self, py: Python<'_>, key: &str) -> PyResult<Py<PyAny>> {
        let value = self.all.rows.get(self.row, key).ok_or_else(|| PyKeyError::new_err(key.to_owned()))?;
        self.all.object(py, value)
    }

    #[pyo3(signature = (key, default=None))]
    fn get(&self, py: Python<'_>, key: &str, default: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        match self.all.rows.get(self.row, key) {
            Some(value) => self.all.object(py, value).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(&self, key: &str) -> bool {
        self.all.rows.get(self.row, key).is_some()
    }

    fn __len__(&self) -> usize {
        self.all.rows.keys(self.row).len()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.keys(py)?.bind(py).try_iter()?.into_any().unbind())
    }

    fn keys(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        Ok(PyList::new(py, self.all.rows.keys(self.row))?.unbind())
    }
}
