//! Two workloads at once on one modelled storage: the device's queue is shared, files and names are not.
//!
//! Each has its own lanes, and its operations cost the device what they cost alone. How long one takes follows from the
//! number of operations that are in flight of both. So with costs c and d (seconds of the device), a tasks that always have
//! an operation in flight, and a company that offers λ operations a second, a storage beyond its knee gives the tasks
//! (1 − λd)/c operations a second: what the company leaves.

use tonnage_records::{FileError, PhaseFiles, PhaseResult, StopReason};
use tonnage_workload::{PhaseSpec, Work};

use crate::files::FilesRun;
use crate::lanes::Play;
use crate::model::ModelSpec;
use crate::simulator::Simulator;
use crate::state::{Outcome, SimulatorError, State};
use crate::stream::StreamRun;

/// A phase to run, and where its series and histograms are kept.
pub type PlannedPhase<'a> = (&'a PhaseSpec, Option<PhaseFiles>);

enum Run<'a> {
    Stream(StreamRun<'a>),
    Files(FilesRun<'a>),
}

impl Simulator {
    /// Runs the phase of `asked` beside the one that `company` is asked for, which starts `lead_ns` earlier and ends when
    /// the first has: both results. Both clocks then stand at the end of what ended last. `company` is another storage of
    /// the same model, for its files and names are its own.
    pub fn run_beside(
        &mut self,
        (spec, record): PlannedPhase<'_>,
        company: &mut Self,
        (company_spec, company_record): PlannedPhase<'_>,
        lead_ns: u64,
    ) -> Result<(PhaseResult, PhaseResult), SimulatorError> {
        spec.check()?;
        company_spec.check()?;
        let began_ns = self.now_ns.max(company.now_ns);
        let start_ns = began_ns.saturating_add(lead_ns);
        let (model, company_model) = (self.model.of_work(&spec.work), company.model.of_work(&company_spec.work));
        let mut other = Run::begin(&company_model, &mut company.state, company_spec, (began_ns, 0), company_record)?;
        while other.next_ns().is_some_and(|at_ns| at_ns < start_ns) {
            other.step(0)?;
        }
        let mut own = Run::begin(&model, &mut self.state, spec, (start_ns, other.in_flight()), record)?;
        let mut now_ns = start_ns;
        while let Some(at_ns) = own.next_ns() {
            if other.next_ns().is_some_and(|other_ns| other_ns < at_ns) {
                other.step(own.in_flight())?;
            } else {
                own.step(other.in_flight())?;
                now_ns = at_ns;
            }
        }
        other.end_at(now_ns);
        while other.next_ns().is_some() {
            other.step(0)?;
        }
        let (own, mut other) = (own.finish()?, other.finish()?);
        if other.finish.stop_reason == StopReason::Size {
            other.finish.stop_reason = StopReason::Time;
        }
        let end_ns = own.finish.end_ns.max(other.finish.end_ns);
        (self.now_ns, company.now_ns) = (end_ns, end_ns);
        Ok((self.result(spec, own), company.result(company_spec, other)))
    }
}

impl<'a> Run<'a> {
    fn begin(
        model: &'a ModelSpec,
        state: &'a mut State,
        spec: &'a PhaseSpec,
        at: (u64, u64),
        record: Option<PhaseFiles>,
    ) -> Result<Self, SimulatorError> {
        if model.node_plateau_bytes_per_s.is_some() {
            return Err(SimulatorError::Beside("a model of nodes"));
        }
        match &spec.work {
            Work::Stream(stream) => StreamRun::begin(model, state, (spec, stream), at, record).map(Self::Stream),
            Work::Files(files) => Ok(Self::Files(FilesRun::begin(model, state, (spec, files), at, record))),
            _ => Err(SimulatorError::Beside("another kind")),
        }
    }

    fn finish(self) -> Result<Outcome, SimulatorError> {
        match self {
            Self::Stream(run) => run.finish(),
            Self::Files(run) => run.finish(),
        }
    }
}

impl Play for Run<'_> {
    fn next_ns(&self) -> Option<u64> {
        match self {
            Self::Stream(run) => run.playing.next_ns(),
            Self::Files(run) => run.0.next_ns(),
        }
    }

    fn step(&mut self, beside: u64) -> Result<(), FileError> {
        match self {
            Self::Stream(run) => run.playing.step(beside),
            Self::Files(run) => run.0.step(beside),
        }
    }

    fn in_flight(&self) -> u64 {
        match self {
            Self::Stream(run) => run.playing.in_flight(),
            Self::Files(run) => run.0.in_flight(),
        }
    }

    fn end_at(&mut self, now_ns: u64) {
        match self {
            Self::Stream(run) => run.playing.end_at(now_ns),
            Self::Files(run) => run.0.end_at(now_ns),
        }
    }
}
