//! A phase from the start line to its result.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tonnage_engine::Live;
use tonnage_records::{Collected, PhaseFiles, PhaseResult, Share};
use tonnage_simulator::Simulator;
use tonnage_workload::PhaseSpec;

use crate::errors;
use crate::target::{Backend, lock};

/// See `_native.pyi`.
#[pyclass(frozen, module = "tonnage._native")]
pub struct Phase {
    state: Mutex<State>,
    /// Where a phase that is shared keeps what others put into files.
    collected: Option<Collected>,
}

enum State {
    Real(tonnage_engine::Phase),
    Waiting(Arc<Mutex<Simulator>>, Box<PhaseSpec>, Option<PhaseFiles>),
    /// With the time at which its start line opened.
    Simulated(Box<PhaseResult>, u64),
    Failed(PyErr),
    Taken,
}

impl Phase {
    pub fn prepare(
        backend: &Backend,
        spec: PhaseSpec,
        files: Option<PhaseFiles>,
        collected: Option<Collected>,
    ) -> PyResult<Self> {
        let state = match backend {
            Backend::Real(storage) => tonnage_engine::Phase::prepare(Arc::clone(storage), spec, files)
                .map(State::Real)
                .map_err(|error| errors::engine(&error))?,
            Backend::Simulated(simulator) => State::Waiting(Arc::clone(simulator), Box::new(spec), files),
        };
        Ok(Self { state: Mutex::new(state), collected })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As Python has them.
pub fn live_figures(py: Python<'_>, live: Live) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("elapsed_ns", live.elapsed_ns)?;
    dict.set_item("bytes", live.bytes)?;
    dict.set_item("operations", live.operations)?;
    dict.set_item("bandwidth_bytes_per_s", live.bandwidth_bytes_per_s)?;
    dict.set_item("recent_p99_ns", live.recent_p99_ns)?;
    dict.set_item("p50_ns", live.p50_ns)?;
    dict.set_item("p99_ns", live.p99_ns)?;
    dict.set_item("heat", live.heat)?;
    dict.set_item("running_tasks", live.running_tasks)?;
    dict.set_item("failed", live.failed)?;
    Ok(dict)
}

#[pymethods]
impl Phase {
    fn go(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.state();
            match std::mem::replace(&mut *state, State::Taken) {
                State::Real(mut phase) => {
                    phase.go();
                    *state = State::Real(phase);
                }
                State::Waiting(simulator, spec, files) => {
                    let mut simulator = lock(&simulator);
                    let line_ns = simulator.now_ns();
                    *state = match simulator.run(&spec, files) {
                        Ok(result) => State::Simulated(Box::new(result), line_ns),
                        Err(error) => State::Failed(errors::simulator(&error)),
                    };
                }
                other => *state = other,
            }
        });
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> bool {
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or_default();
        py.detach(|| match &*self.state() {
            State::Real(phase) => phase.wait(timeout),
            State::Waiting(..) => false,
            State::Simulated(..) | State::Failed(_) | State::Taken => true,
        })
    }

    fn stop(&self) {
        if let State::Real(phase) = &*self.state() {
            phase.stop();
        }
    }

    fn meeting(&self) -> Option<u64> {
        if let State::Real(phase) = &*self.state() { phase.meeting() } else { None }
    }

    fn meet(&self, agreed: u64) {
        if let State::Real(phase) = &*self.state() {
            phase.meet(agreed);
        }
    }

    fn live<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let live = match &*self.state() {
            State::Real(phase) => phase.live(),
            _ => Live::default(),
        };
        live_figures(py, live)
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (result, _) = self.take()?;
        Ok(pythonize::pythonize(py, &result)?)
    }

    fn share<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(collected) = &self.collected else {
            return Err(PyRuntimeError::new_err("the phase was not started with share=True; take its result"));
        };
        let (result, line_ns) = self.take()?;
        let bytes = py.detach(|| Share::new(result, line_ns, collected).and_then(|share| share.to_bytes()));
        Ok(PyBytes::new(py, &bytes.map_err(|error| errors::share(&error))?))
    }
}

impl Phase {
    /// The result, and when the start line opened. Once.
    fn take(&self) -> PyResult<(PhaseResult, u64)> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Real(phase) => {
                let Some(result) = phase.take_result() else {
                    *state = State::Real(phase);
                    return Err(PyRuntimeError::new_err("the phase has not ended; wait until wait() is True"));
                };
                Ok((result.map_err(|error| errors::engine(&error))?, phase.line_ns()))
            }
            State::Simulated(result, line_ns) => Ok((*result, line_ns)),
            State::Failed(error) => Err(error),
            State::Waiting(..) => Err(PyRuntimeError::new_err("the phase never started; call go() first")),
            State::Taken => Err(PyRuntimeError::new_err("the result was taken before")),
        }
    }
}
