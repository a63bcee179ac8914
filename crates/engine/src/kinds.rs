//! The registry of kinds of workload.

use std::sync::Arc;

use tonnage_workload::{PhaseSpec, Work};

use crate::checkpoint::CheckpointCrew;
use crate::command::CommandCrew;
use crate::files::FilesCrew;
use crate::outside::Outside;
use crate::stream::StreamCrew;
use crate::tail::TailCrew;
use crate::task::Crew;

/// The crew that does the work of `spec`.
pub fn crew_for(spec: &PhaseSpec, outside: Option<&Arc<Outside>>) -> Box<dyn Crew> {
    match &spec.work {
        Work::Stream(stream) => Box::new(StreamCrew::new(stream.clone(), spec, outside)),
        Work::Files(files) => Box::new(FilesCrew::new(files.clone(), spec, outside)),
        Work::Tail(tail) => Box::new(TailCrew::new(tail.clone(), spec.seed)),
        Work::Command(command) => Box::new(CommandCrew::new(command.clone(), spec.tasks)),
        Work::Checkpoint(checkpoint) => Box::new(CheckpointCrew::new(checkpoint.clone(), spec)),
    }
}
