//! A modelled storage over the phases of a run.

use std::collections::BTreeMap;

use tonnage_records::{PhaseFiles, PhaseResult};
use tonnage_workload::{PhaseSpec, Work};

use crate::burst::Burst;
use crate::event_loop::{Counters, Visit};
use crate::model::ModelSpec;
use crate::names::Names;
use crate::pages::Pages;
use crate::state::{Outcome, SimulatorError, State};
use crate::{checkpoint, command, files, find, fluid_model, kv_cache, stream, tail, training};

/// A modelled storage and its virtual clock. What one phase leaves in files, cache and burst buffer, the next one finds.
#[derive(Debug)]
pub struct Simulator {
    pub(crate) model: ModelSpec,
    pub(crate) now_ns: u64,
    pub(crate) state: State,
}

impl Simulator {
    /// An empty storage at the time where the model's clock begins.
    pub fn new(model: ModelSpec) -> Result<Self, SimulatorError> {
        model.check()?;
        let burst = Burst::new(model.burst_bytes);
        let state = State { pages: Pages::default(), names: Names::default(), burst, counters: Counters::default() };
        Ok(Self { now_ns: model.clock_ns, model, state })
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
        self.state.pages.by_number.get(&file).map(|file| file.length)
    }

    /// From now on each operation is kept, for whoever compares it with another storage's. Streams that are computed by
    /// node have none.
    pub fn keep_visits(&mut self) {
        self.state.counters.visits.get_or_insert_default();
    }

    /// The operations that were kept since this was last asked, in the order in which they began.
    pub fn take_visits(&mut self) -> Vec<Visit> {
        self.state.counters.visits.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Removes all files and names. The burst buffer keeps what it has still to drain.
    pub fn clear(&mut self) {
        (self.state.pages, self.state.names) = (Pages::default(), Names::default());
    }

    /// Runs a phase from its start line to its end; the virtual clock then stands at its end. With `record`, series and
    /// histograms are kept there.
    pub fn run(&mut self, spec: &PhaseSpec, record: Option<PhaseFiles>) -> Result<PhaseResult, SimulatorError> {
        spec.check()?;
        let (model, state, now_ns) = (&self.model.of_work(&spec.work), &mut self.state, self.now_ns);
        let outcome = match &spec.work {
            Work::Stream(stream) if fluid_model::takes(model, spec, stream) => {
                fluid_model::run(model, state, spec, stream, now_ns, record)?
            }
            Work::Stream(stream) => stream::run(model, state, spec, stream, now_ns, record)?,
            Work::Tail(tail) => tail::run(model, state, spec, tail, now_ns, record)?,
            Work::Command(command) => command::run(model, state, spec, command, now_ns, record)?,
            Work::Find(work) => find::run(model, state, spec, work, now_ns, record)?,
            Work::Checkpoint(work) => checkpoint::run(model, state, spec, work, now_ns, record)?,
            Work::Training(work) => training::run(model, state, spec, work, now_ns, record)?,
            Work::KvCache(work) => kv_cache::run(model, state, spec, work, now_ns, record)?,
            Work::Files(work) => files::run(model, state, spec, work, now_ns, record)?,
        };
        self.now_ns = outcome.finish.end_ns;
        Ok(self.result(spec, outcome))
    }

    /// The record of a phase.
    pub(crate) fn result(&self, spec: &PhaseSpec, outcome: Outcome) -> PhaseResult {
        let Outcome { finish, cache, parts, follow, copies, checkpoint, found, training, kv_cache, fact } = outcome;
        PhaseResult {
            stop_reason: finish.stop_reason,
            tasks: finish.tasks,
            latency: finish.latency,
            cpu_user_ns: copies.iter().map(|copy| copy.cpu_user_ns).sum(),
            cpu_system_ns: 0,
            direct: self.model.direct,
            cache,
            verify: spec.work.verifies().then_some(finish.verify),
            first_error: finish.first_error,
            hints: BTreeMap::new(),
            facts: [("simulated", true)].into_iter().chain(fact).map(|(name, is)| (name.to_owned(), is)).collect(),
            notes: Vec::new(),
            events: finish.events,
            parts,
            follow,
            copies,
            checkpoint,
            found,
            training,
            kv_cache,
            placement: None,
        }
    }
}
