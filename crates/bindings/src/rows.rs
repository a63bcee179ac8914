//! Lines of JSON as rows that Python reads as mappings.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use tonnage_records::{Kind, RowsError, Value};

use crate::errors;

const BUFFER_BYTES: usize = 1 << 20;

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
        let rows = py
            .detach(|| tonnage_records::Rows::read(BufReader::with_capacity(BUFFER_BYTES, File::open(&path)?)))
            .map_err(|error: RowsError| errors::rows(&error, &path))?;
        Ok(Self(Arc::new(Shared { rows, objects: Mutex::default(), parse })))
    }

    fn all(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.listed(py, 0..self.0.rows.len())
    }

    fn having(&self, py: Python<'_>, key: &str) -> PyResult<Py<PyList>> {
        self.listed(py, self.0.rows.having(key))
    }

    fn unlike(&self, py: Python<'_>, key: &str, kind: &str) -> PyResult<Py<PyList>> {
        let kind = match kind {
            "count" => Kind::Count,
            "integer or null" => Kind::IntegerOrNull,
            "string" => Kind::String,
            "object" => Kind::Object,
            other => return Err(PyValueError::new_err(format!("{other:?} is no kind of value"))),
        };
        self.listed(py, self.0.rows.unlike(key, kind))
    }

    fn distinct(&self, py: Python<'_>, key: &str) -> PyResult<Vec<Py<PyAny>>> {
        self.0.rows.distinct(key).into_iter().map(|value| self.0.object(py, value)).collect()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.rows.all_keys()
    }

    fn equal(&self, py: Python<'_>, key: &str, json: &str) -> PyResult<Py<PyList>> {
        self.listed(py, self.0.rows.equal(key, json))
    }

    fn column(&self, py: Python<'_>, key: &str) -> PyResult<Py<PyList>> {
        let list = PyList::empty(py);
        for row in 0..self.0.rows.len() {
            list.append(self.0.rows.get(row, key).map(|value| self.0.object(py, value)).transpose()?)?;
        }
        Ok(list.unbind())
    }
}

impl Rows {
    fn listed(&self, py: Python<'_>, rows: impl Iterator<Item = usize>) -> PyResult<Py<PyList>> {
        let list = PyList::empty(py);
        for row in rows {
            list.append(Py::new(py, Row { all: Arc::clone(&self.0), row })?)?;
        }
        Ok(list.unbind())
    }
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
        Ok(PyList::new(py, self.all.rows.keys(self.row).iter().map(|key| &**key))?.unbind())
    }
}
