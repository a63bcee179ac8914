//! `find` in virtual time: the files that the phase says are there, looked at at the model's rate for names.

use tonnage_records::PhaseFiles;
use tonnage_workload::{FileOp, Find, Finds, Nanoseconds, PhaseSpec, Program, Search};

use crate::event_loop::{EIO, EventLoop};
use crate::lanes::{self, Model};
use crate::model::ModelSpec;
use crate::state::{Outcome, SimulatorError, State};

/// What a name in a listing costs, as a share of what asking for its attributes does.
const LISTED: f64 = 0.05;

struct FindModel<'a> {
    find: &'a Find,
    /// Files that are looked at here, by number.
    files: Vec<u64>,
    /// Of each task, the file in hand and whether the look at it will fail.
    by_task: Vec<(u64, bool)>,
    /// Of each task, how many of its files match.
    found: Vec<u64>,
    /// Seconds of the device that a name costs, and that attributes cost.
    name_s: f64,
    attributes_s: f64,
}

/// Runs a search that starts at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    find: &Find,
    start_ns: u64,
    record: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut event_loop = EventLoop::new(model, spec, start_ns, &mut state.counters, record);
    let tasks = spec.tasks;
    let is_here = |number: &u64| Find::is_of(Find::modelled_name(*number).as_bytes(), tasks);
    let files: Vec<u64> = (0..find.files).filter(is_here).collect();
    let search = Search::of(0..files.len() as u64);
    let program = |task| Program::new(Finds(search.clone()), &find.terms(spec, task), Nanoseconds, start_ns);
    let programs: Vec<_> = (tasks.first..tasks.first + tasks.here).map(program).collect();
    let attributes_s = ModelSpec::name_weight(FileOp::Stat) / model.names_per_s as f64;
    let work = FindModel {
        find,
        files,
        by_task: vec![(0, false); programs.len()],
        found: vec![0; programs.len()],
        name_s: LISTED * attributes_s,
        attributes_s: if find.needs_attributes() { attributes_s } else { 0.0 },
    };
    let work = lanes::run(&mut event_loop, 1, programs, work)?;
    let mut outcome = Outcome::of(event_loop.finish()?);
    for (task, &found) in outcome.finish.tasks.iter_mut().zip(&work.found) {
        task.found = Some(found);
    }
    outcome.found = Some(work.found.iter().sum());
    Ok(outcome)
}

impl Model for FindModel<'_> {
    type Operations = Finds;

    fn start(&mut self, event_loop: &mut EventLoop, (_, task): (usize, usize), place: u64, now_ns: u64) -> u64 {
        let number = self.files[place as usize];
        let matches = self.find.takes_name(Find::modelled_name(number).as_bytes());
        let cost_s = self.name_s + if matches { self.attributes_s } else { 0.0 };
        let mean_ns = event_loop.speed.device_ns(cost_s, now_ns);
        let end_ns = event_loop.end_of(task, now_ns, mean_ns);
        self.by_task[task] = (number, event_loop.draws_fault());
        event_loop.visit(task, (None, 0, number, 0), now_ns, end_ns);
        end_ns
    }

    fn end(&mut self, event_loop: &mut EventLoop, (_, task): (usize, usize), from_ns: u64, now_ns: u64) {
        let (number, fails) = self.by_task[task];
        event_loop.arrive(task, now_ns);
        let name = Find::modelled_name(number);
        if fails {
            let message = format!("{name} cannot be looked at: Input/output error (os error 5)");
            event_loop.miss(task, (0, 0), EIO, message);
            return;
        }
        self.found[task] += u64::from(self.find.takes_name(name.as_bytes()));
        event_loop.record(task, now_ns, now_ns - from_ns, 0);
    }
}
