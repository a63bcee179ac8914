//! The registry of kinds of workload.

use std::sync::Arc;

use tonnage_workload::{PhaseSpec, Work};

use crate::checkpoint::CheckpointWorkload;
use crate::command::CommandWorkload;
use crate::files::FilesWorkload;
use crate::find::FindWorkload;
use crate::kv_cache::KvCacheWorkload;
use crate::remote_barrier::RemoteBarrier;
use crate::stream::StreamWorkload;
use crate::tail::TailWorkload;
use crate::task::PhaseWorkload;
use crate::training::TrainingWorkload;

/// What does the work of `spec`.
pub fn workload_of(spec: &PhaseSpec, remote_barrier: Option<&Arc<RemoteBarrier>>) -> Box<dyn PhaseWorkload> {
    match &spec.work {
        Work::Stream(stream) => Box::new(StreamWorkload::new(stream.clone(), spec, remote_barrier)),
        Work::Files(files) => Box::new(FilesWorkload::new(files.clone(), spec, remote_barrier)),
        Work::Tail(tail) => Box::new(TailWorkload::new(tail.clone(), spec.seed)),
        Work::Command(command) => Box::new(CommandWorkload::new(command.clone(), spec.tasks)),
        Work::Find(find) => Box::new(FindWorkload::new(find.clone(), spec.tasks)),
        Work::Checkpoint(checkpoint) => Box::new(CheckpointWorkload::new(checkpoint.clone(), spec)),
        Work::Training(training) => Box::new(TrainingWorkload::new(training.clone(), spec.seed)),
        Work::KvCache(kv_cache) => Box::new(KvCacheWorkload::new(kv_cache.clone(), spec)),
    }
}
