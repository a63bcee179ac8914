//! A storage under test, real or simulated.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use tonnage_engine::monotonic_ns;
use tonnage_records::PhaseFiles;
use tonnage_simulator::{ModelSpec, Simulator};
use tonnage_storage::{BucketSpec, ExportSpec, PoolSpec, Storage, TargetSpec};
use tonnage_workload::PhaseSpec;

use crate::beside::Beside;
use crate::errors;
use crate::phase::Phase;

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Target {
    backend: Backend,
    run_directory: Option<PathBuf>,
    /// As it was given, and read.
    stated: StatedTarget,
}

enum StatedTarget {
    Real(Box<TargetSpec>),
    Simulated(String),
}

#[derive(Clone)]
pub enum Backend {
    Real(Arc<dyn Storage>),
    Simulated(Arc<Mutex<Simulator>>),
}

#[pymethods]
impl Target {
    #[new]
    #[pyo3(signature = (spec, *, series_directory = None))]
    fn new(py: Python<'_>, spec: &str, series_directory: Option<PathBuf>) -> PyResult<Self> {
        let mut value: serde_json::Value = serde_json::from_str(spec).map_err(|error| errors::json("target", &error))?;
        let simulated = value.get("kind").is_some_and(|kind| kind == "sim");
        let (backend, stated) = if simulated {
            value.as_object_mut().map(|keys| keys.remove("kind"));
            let model: ModelSpec = serde_json::from_value(value).map_err(|error| errors::json("sim", &error))?;
            let simulator = Simulator::new(model).map_err(|error| errors::simulator(&error))?;
            (Backend::Simulated(Arc::new(Mutex::new(simulator))), StatedTarget::Simulated(spec.to_owned()))
        } else {
            let target: TargetSpec = serde_json::from_value(value).map_err(|error| errors::json("target", &error))?;
            // A server may take its time to answer.
            let storage = py.detach(|| tonnage_storage::open(&target)).map_err(|error| errors::storage(&error))?;
            (Backend::Real(storage), StatedTarget::Real(Box::new(target)))
        };
        Ok(Self { backend, run_directory: series_directory, stated })
    }

    fn for_others(&self) -> PyResult<String> {
        match &self.stated {
            StatedTarget::Simulated(spec) => Ok(spec.clone()),
            StatedTarget::Real(spec) => {
                let others = spec.for_others().map_err(|error| errors::storage(&error))?;
                serde_json::to_string(&others).map_err(|error| errors::json("target", &error))
            }
        }
    }

    #[pyo3(signature = (phase, *, share = false, processes = None))]
    fn start(&self, py: Python<'_>, phase: &str, share: bool, processes: Option<Vec<u32>>) -> PyResult<Phase> {
        let spec: PhaseSpec = serde_json::from_str(phase).map_err(|error| errors::json("phase", &error))?;
        if let (Backend::Real(storage), Some(processes)) = (&self.backend, processes) {
            storage.tasks_at(&processes);
        }
        if share {
            let (files, collected) = PhaseFiles::in_memory(spec.operation_log > 0);
            return py.detach(|| Phase::prepare(&self.backend, spec, Some(files), Some(collected)));
        }
        let files = self.files_of(&spec)?;
        py.detach(|| Phase::prepare(&self.backend, spec, files, None))
    }

    fn start_beside(&self, py: Python<'_>, phase: &str, company: &Self, company_phase: &str, lead_ns: u64) -> PyResult<Beside> {
        let read = |text: &str| serde_json::from_str::<PhaseSpec>(text).map_err(|error| errors::json("phase", &error));
        let (own, other) = (read(phase)?, read(company_phase)?);
        let (own_files, other_files) = (self.files_of(&own)?, company.files_of(&other)?);
        py.detach(|| Beside::prepare((&self.backend, own, own_files), (&company.backend, other, other_files), lead_ns))
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        match &self.backend {
            Backend::Real(storage) => py.detach(|| told(storage, storage.clear())),
            Backend::Simulated(simulator) => {
                lock(simulator).clear();
                Ok(())
            }
        }
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        match &self.backend {
            Backend::Real(storage) => py.detach(|| told(storage, storage.finish())),
            Backend::Simulated(_) => Ok(Vec::new()),
        }
    }

    fn keep_named(&self, keep: bool) {
        if let Backend::Real(storage) = &self.backend {
            storage.keep_named(keep);
        }
    }

    fn length(&self, py: Python<'_>, file: u32) -> PyResult<u64> {
        match &self.backend {
            Backend::Real(storage) => py.detach(|| told(storage, storage.length(file))),
            Backend::Simulated(simulator) => {
                lock(simulator).length(file).ok_or_else(|| PyFileNotFoundError::new_err(format!("file {file} was never written")))
            }
        }
    }

    fn now_ns(&self) -> u64 {
        match &self.backend {
            Backend::Real(_) => monotonic_ns(),
            Backend::Simulated(simulator) => lock(simulator).now_ns(),
        }
    }
}

impl Target {
    /// Where the series and histograms of a phase go.
    fn files_of(&self, spec: &PhaseSpec) -> PyResult<Option<PhaseFiles>> {
        self.run_directory
            .as_deref()
            .map(|directory| {
                let mut files = PhaseFiles::create(directory, &spec.record, true)?;
                if spec.operation_log > 0 {
                    files.keep_operations(directory, &spec.record)?;
                }
                Ok(files)
            })
            .transpose()
            .map_err(|error| errors::files(&error))
    }
}

/// What a call outside the phases gave, with what the storage knows of its error.
fn told<T>(storage: &Arc<dyn Storage>, result: tonnage_storage::Result<T>) -> PyResult<T> {
    result.map_err(|error| errors::storage(&error.explained(|error| storage.explain(error))))
}

pub fn lock(simulator: &Mutex<Simulator>) -> std::sync::MutexGuard<'_, Simulator> {
    simulator.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pyfunction]
pub fn memory_copy_bytes_per_s(py: Python<'_>, transfer_size: usize, tasks: usize, duration_ns: u64) -> PyResult<u64> {
    let duration = Duration::from_nanos(duration_ns);
    py.detach(|| tonnage_engine::memory_copy_bytes_per_s(transfer_size, tasks, duration)).map_err(|error| errors::storage(&error))
}

#[pyfunction]
pub fn pool_free_bytes(py: Python<'_>, pool: &str) -> PyResult<Option<u64>> {
    let pool: PoolSpec = serde_json::from_str(pool).map_err(|error| errors::json("pool", &error))?;
    py.detach(|| tonnage_storage::pool_free_bytes(&pool)).map_err(|error| errors::storage(&error))
}

#[pyfunction]
pub fn export_facts(py: Python<'_>, export: &str) -> PyResult<String> {
    let export: ExportSpec = serde_json::from_str(export).map_err(|error| errors::json("export", &error))?;
    let facts = py.detach(|| tonnage_storage::export_facts(&export)).map_err(|error| errors::storage(&error))?;
    serde_json::to_string(&facts).map_err(|error| errors::json("export", &error))
}

#[pyfunction]
pub fn check_bucket(py: Python<'_>, bucket: &str) -> PyResult<()> {
    let bucket: BucketSpec = serde_json::from_str(bucket).map_err(|error| errors::json("bucket", &error))?;
    py.detach(|| tonnage_storage::check_bucket(&bucket)).map_err(|error| errors::storage(&error))
}

#[pyfunction]
pub fn ask_monitor(py: Python<'_>, pool: &str, questions: Vec<String>) -> PyResult<Vec<String>> {
    let pool: PoolSpec = serde_json::from_str(pool).map_err(|error| errors::json("pool", &error))?;
    py.detach(|| tonnage_storage::ask_monitor(&pool, &questions)).map_err(|error| errors::storage(&error))
}

#[pyfunction]
pub const fn mpiio_shim() -> &'static str {
    tonnage_storage::MPIIO_SHIM
}

#[pyfunction]
pub fn end_waits(now: bool) {
    tonnage_storage::end_waits(now);
}

#[pyfunction]
pub fn sim_shares(model: &str, tasks: u32) -> PyResult<Vec<f64>> {
    let model: ModelSpec = serde_json::from_str(model).map_err(|error| errors::json("sim", &error))?;
    model.check().map_err(|error| errors::simulator(&error.into()))?;
    Ok(model.shares(tasks))
}

#[pyfunction]
pub fn clock_name() -> &'static str {
    tonnage_engine::Clock::new().name()
}
