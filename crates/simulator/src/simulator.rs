//! A modelled storage over the phases of a run.

use std::collections::BTreeMap;

use thiserror::Error;
use tonnage_records::{CacheFacts, FileError, PhaseFiles, PhaseResult, VerifyResult};
use tonnage_workload::{CachePolicy, Op, PhaseSpec, SpecError, Stream, Work};

use crate::burst::Burst;
use crate::files::Files;
use crate::model::{ModelError, ModelSpec};
use crate::race::{self, Finish};

/// Why a phase could not be simulated. Failed operations are in the result instead.
#[derive(Debug, Error)]
pub enum SimulatorError {
    /// The model has an impossible value.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The specification contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The record could not be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// A workload that the model does not have.
    #[error("this build simulates only streams")]
    Unknown,
    /// A read of what was not written.
    #[error("file {file} has {actual} bytes and the read needs {needed}; write it first, with the same sizes")]
    TooShort {
        /// Its number.
        file: u32,
        /// Bytes the read phase expects.
        needed: u64,
        /// Bytes it has; 0 where it is missing.
        actual: u64,
    },
}

/// A modelled storage and its virtual clock. What one phase leaves in files, cache and burst buffer, the next one finds.
#[derive(Debug)]
pub struct Simulator {
    model: ModelSpec,
    now_ns: u64,
    files: Files,
    burst: Burst,
    /// Started so far, for `fault_every`.
    operations: u64,
}

impl Simulator {
    /// An empty storage at time 0.
    pub fn new(model: ModelSpec) -> Result<Self, SimulatorError> {
        model.check()?;
        let burst = Burst::new(model.burst_bytes);
        Ok(Self { model, now_ns: 0, files: Files::default(), burst, operations: 0 })
    }

    /// The virtual clock, in nanoseconds.
    #[must_use]
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Lets time pass in which no task runs, such as the set-up of a trial.
    pub const fn add_time(&mut self, ns: u64) {
        self.now_ns = self.now_ns.saturating_add(ns);
    }

    /// Bytes of a file; `None` if it was never written.
    #[must_use]
    pub fn length(&self, file: u32) -> Option<u64> {
        self.files.by_number.get(&file).map(|file| file.length)
    }

    /// Removes all files. The burst buffer keeps what it has still to drain.
    pub fn clear(&mut self) {
        self.files = Files::default();
    }

    /// Runs a phase from its start line to its end; the virtual clock then stands at its end. With `files`, series and
    /// histograms are kept there.
    pub fn run(&mut self, spec: &PhaseSpec, files: Option<PhaseFiles>) -> Result<PhaseResult, SimulatorError> {
        spec.check()?;
        let Work::Stream(stream) = &spec.work else { return Err(SimulatorError::Unknown) };
        let mut numbers: Vec<u32> =
            (spec.tasks.first..spec.tasks.first + spec.tasks.here).map(|task| stream.geometry.file(task)).collect();
        numbers.dedup();
        if stream.op == Op::Read {
            self.require_length(spec.tasks.total, stream, &numbers)?;
            if stream.cache == CachePolicy::Drop {
                self.files.drop_cached(&numbers);
            }
        }
        self.burst.drain(self.now_ns, self.model.plateau_bytes_per_s as f64);
        let examined_bytes = self.files.sum(&numbers, |file| file.length);
        let cached_before_bytes = self.files.sum(&numbers, |file| file.cached);
        let storage = race::Storage {
            files: &self.files,
            burst: &mut self.burst,
            operations: &mut self.operations,
            refills: examined_bytes <= self.model.cache_bytes,
        };
        let finish = race::run(&self.model, spec, stream, self.now_ns, storage, files)?;
        self.now_ns = finish.end_ns;
        self.remember(&finish);
        let (cache, verify) = if stream.op == Op::Read {
            let cache = CacheFacts {
                cached_before_bytes: Some(cached_before_bytes),
                examined_bytes: Some(examined_bytes),
                device_bytes: Some(finish.device_bytes),
                hole_bytes: Some(0),
            };
            let checked_bytes = finish.tasks.iter().map(|task| task.bytes).sum();
            (Some(cache), stream.verify.then(|| VerifyResult { checked_bytes, ..VerifyResult::default() }))
        } else {
            (None, None)
        };
        Ok(PhaseResult {
            stop_reason: finish.stop_reason,
            tasks: finish.tasks,
            latency: finish.latency,
            cpu_user_ns: 0,
            cpu_system_ns: 0,
            direct: self.model.direct,
            cache,
            verify,
            first_error: finish.first_error,
            facts: BTreeMap::from([("simulated".to_owned(), true)]),
            notes: Vec::new(),
            events: finish.events,
            parts: Vec::new(),
            follow: None,
            copies: Vec::new(),
        })
    }

    fn require_length(&self, tasks: u32, stream: &Stream, numbers: &[u32]) -> Result<(), SimulatorError> {
        let needed = stream.geometry.file_bytes(tasks);
        for &file in numbers {
            let actual = self.length(file).unwrap_or(0);
            if actual < needed {
                return Err(SimulatorError::TooShort { file, needed, actual });
            }
        }
        Ok(())
    }

    fn remember(&mut self, finish: &Finish) {
        let mut touched = BTreeMap::new();
        for file in &finish.files {
            let state = self.files.by_number.entry(file.number).or_default();
            state.length = file.length;
            state.allocated = file.allocated;
            touched.insert(file.number, file.touched);
        }
        if !self.model.direct {
            self.files.keep_cached(&touched, self.model.cache_bytes);
        }
    }
}

#[cfg(test)]
#[path = "simulator_tests.rs"]
mod tests;
