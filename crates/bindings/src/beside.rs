//! A phase beside its company, on real storages or on models.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tonnage_engine::Live;
use tonnage_records::{PhaseFiles, PhaseResult};
use tonnage_simulator::Simulator;
use tonnage_workload::PhaseSpec;

use crate::errors;
use crate::phase::live_figures;
use crate::target::{Backend, lock};

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Beside {
    state: Mutex<State>,
}

/// A phase to run, where, and where its files go.
pub type PlannedPhase<'a> = (&'a Backend, PhaseSpec, Option<PhaseFiles>);
type Modelled = (Arc<Mutex<Simulator>>, Box<PhaseSpec>, Option<PhaseFiles>);

enum State {
    Real(Box<tonnage_engine::Beside>),
    Waiting(Box<(Modelled, Modelled, u64)>),
    Ended(Box<(PyResult<PhaseResult>, PyResult<PhaseResult>)>),
    Taken,
}

impl Beside {
    pub fn prepare(measured: PlannedPhase, company: PlannedPhase, lead_ns: u64) -> PyResult<Self> {
        let state = match (measured, company) {
            ((Backend::Real(own), spec, files), (Backend::Real(other), company_spec, company_files)) => {
                let prepare = |storage: &Arc<_>, spec, files| {
                    tonnage_engine::Phase::prepare(Arc::clone(storage), spec, files).map_err(|error| errors::engine(&error))
                };
                let company = prepare(other, company_spec, company_files)?;
                let measured = prepare(own, spec, files)?;
                State::Real(Box::new(tonnage_engine::Beside::new(measured, company, Duration::from_nanos(lead_ns))))
            }
            ((Backend::Simulated(own), spec, files), (Backend::Simulated(other), company_spec, company_files)) => {
                if Arc::ptr_eq(own, other) {
                    return Err(PyValueError::new_err("company needs a storage of its own; open another of the same model"));
                }
                let measured = (Arc::clone(own), Box::new(spec), files);
                let company = (Arc::clone(other), Box::new(company_spec), company_files);
                State::Waiting(Box::new((measured, company, lead_ns)))
            }
            _ => return Err(PyValueError::new_err("a model has no real company; give both the same kind of storage")),
        };
        Ok(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn simulate((own, other, lead_ns): (Modelled, Modelled, u64)) -> State {
    let (mut simulator, mut company) = (lock(&own.0), lock(&other.0));
    let found = simulator.run_beside((&own.1, own.2), &mut company, (&other.1, other.2), lead_ns);
    State::Ended(Box::new(match found {
        Ok((measured, company)) => (Ok(measured), Ok(company)),
        Err(error) => (Err(errors::simulator(&error)), Err(errors::simulator(&error))),
    }))
}

#[pymethods]
impl Beside {
    fn go(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.state();
            *state = match std::mem::replace(&mut *state, State::Taken) {
                State::Real(mut phases) => {
                    phases.go();
                    State::Real(phases)
                }
                State::Waiting(asked) => simulate(*asked),
                other => other,
            };
        });
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> bool {
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or_default();
        py.detach(|| match &*self.state() {
            State::Real(phases) => phases.wait(timeout),
            State::Waiting(_) => false,
            State::Ended(_) | State::Taken => true,
        })
    }

    fn stop(&self) {
        if let State::Real(phases) = &*self.state() {
            phases.stop();
        }
    }

    fn live<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let live = if let State::Real(phases) = &*self.state() { phases.live() } else { Live::default() };
        live_figures(py, live)
    }

    fn results<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut state = self.state();
        let (measured, company) = match std::mem::replace(&mut *state, State::Taken) {
            State::Real(phases) => {
                let Some((measured, company)) = phases.take_results() else {
                    *state = State::Real(phases);
                    return Err(PyRuntimeError::new_err("the phases have not ended; wait until wait() is True"));
                };
                let told = |result: Result<_, _>| result.map_err(|error| errors::engine(&error));
                (told(measured), told(company))
            }
            State::Ended(results) => *results,
            State::Waiting(_) => return Err(PyRuntimeError::new_err("the phases never started; call go() first")),
            State::Taken => return Err(PyRuntimeError::new_err("the results were taken before")),
        };
        Ok((pythonize::pythonize(py, &measured?)?, pythonize::pythonize(py, &company?)?))
    }
}
