//! What the tests of this crate share.

use std::sync::Arc;
use std::time::Duration;

use tonnage_engine::Phase;
use tonnage_records::{PhaseFiles, PhaseResult};
use tonnage_storage::{DirectMode, Scratch, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, Geometry, Layout, Limit, Op, PhaseSpec, RateLimits, Stream, TaskRange, Work};

pub const MIB: u64 = 1 << 20;

pub fn spec(op: Op, tasks: u32) -> PhaseSpec {
    PhaseSpec {
        record: "0000-test".to_owned(),
        tasks: TaskRange { first: 0, here: tasks, total: tasks },
        tasks_per_node: None,
        limit: Limit::default(),
        pace: RateLimits::default(),
        hog_bytes: 0,
        operation_log: 0,
        seed: 5,
        interval_ns: 10_000_000,
        work: Work::Stream(Stream::new(
            op,
            Geometry {
                transfer_size: 64 << 10,
                block_size: 4 * MIB,
                segments: 1,
                layout: Layout::FilePerTask,
                access: Access::Sequential,
            },
        )),
    }
}

/// `spec` with its stream changed.
pub fn streaming(mut spec: PhaseSpec, change: impl FnOnce(&mut Stream)) -> PhaseSpec {
    let Work::Stream(stream) = &mut spec.work else { unreachable!("these phases are streams") };
    change(stream);
    spec
}

pub fn run(storage: &Arc<dyn Storage>, spec: PhaseSpec, files: Option<PhaseFiles>) -> PhaseResult {
    let mut phase = Phase::prepare(Arc::clone(storage), spec, files).expect("the phase can be prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(60)), "the phase ends");
    phase.take_result().expect("there is a result").expect("the phase ran")
}

pub fn on_disk(kind: StorageKind) -> (tempfile::TempDir, Scratch, Arc<dyn Storage>) {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let scratch = Scratch::create(parent.path(), "engine-test").expect("a scratch directory");
    let directories = vec![scratch.path().to_owned()];
    let spec = TargetSpec { directories, direct: DirectMode::No, ..TargetSpec::new(kind) };
    let storage = open(&spec).expect("the storage opens");
    (parent, scratch, storage)
}

/// A storage in memory.
pub fn in_memory() -> Arc<dyn Storage> {
    open(&TargetSpec::new(StorageKind::Memory)).expect("memory")
}

/// A storage that does nothing.
pub fn null() -> Arc<dyn Storage> {
    open(&TargetSpec::new(StorageKind::Null)).expect("null")
}

/// Every latency of a phase, as the lower bound of its bucket (within 0.1 %) and how often it came.
pub fn run_with_latencies(storage: &Arc<dyn Storage>, spec: PhaseSpec) -> (PhaseResult, Vec<(u64, u64)>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        std::fs::create_dir(directory.path().join(name)).expect("a directory");
    }
    let files = PhaseFiles::create(directory.path(), &spec.record, false).expect("files");
    let hlog = directory.path().join(format!("latency/{}.hlog", spec.record));
    let result = run(storage, spec, Some(files));
    let histograms = tonnage_records::read_histograms(&hlog).expect("histograms");
    (result, histograms.into_iter().flat_map(|(_, buckets)| buckets).collect())
}
