//! Each workload on the model against what the model says in closed form.

mod beside;
mod checkpoint;
mod command;
mod files;
mod kv_cache;
mod nodes;
mod paced;
mod stream;
mod tail;
mod training;

use tonnage_records::PhaseResult;
use tonnage_workload::{Access, Geometry, Layout, Limit, Op, PhaseSpec, RateLimits, Stream, TaskRange, Work};

use crate::{ModelSpec, Simulator};

pub const MIB: u64 = 1 << 20;

/// A phase of 1 MiB transfers, for `seconds` of virtual time, or for one pass where that is 0.
pub fn phase(op: Op, tasks: u32, seconds: u64, record: &str) -> PhaseSpec {
    PhaseSpec {
        record: record.to_owned(),
        tasks: TaskRange { first: 0, here: tasks, total: tasks },
        tasks_per_node: None,
        limit: Limit { time_ns: (seconds > 0).then_some(seconds * 1_000_000_000), wrap: seconds > 0, ..Limit::default() },
        pace: RateLimits::default(),
        hog_bytes: 0,
        operation_log: 0,
        seed: 7,
        interval_ns: 100_000_000,
        work: Work::Stream(Stream::new(
            op,
            Geometry {
                transfer_size: MIB,
                block_size: 64 * MIB,
                segments: 1,
                layout: Layout::FilePerTask,
                access: Access::Sequential,
            },
        )),
    }
}

pub fn simulator(model: ModelSpec) -> Simulator {
    Simulator::new(model).expect("a possible model")
}

pub fn elapsed_ns(result: &PhaseResult) -> u64 {
    let end = result.tasks.iter().map(|task| task.end_ns).max().expect("tasks");
    end - result.tasks.iter().map(|task| task.start_ns).min().expect("tasks")
}

pub fn bytes(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.bytes).sum()
}

pub fn rate(result: &PhaseResult) -> f64 {
    bytes(result) as f64 * 1e9 / elapsed_ns(result) as f64
}

/// `spec` with its stream changed.
pub fn streaming(mut spec: PhaseSpec, change: impl FnOnce(&mut Stream)) -> PhaseSpec {
    let Work::Stream(stream) = &mut spec.work else { unreachable!("these phases are streams") };
    change(stream);
    spec
}

pub fn run(model: ModelSpec, spec: &PhaseSpec) -> PhaseResult {
    simulator(model).run(spec, None).expect("runs")
}

pub fn near(actual: f64, expected: f64, tolerance: f64) -> bool {
    (actual / expected - 1.0).abs() < tolerance
}

/// A phase of `tasks` tasks that do `work`, without limit.
pub fn working(work: Work, tasks: u32) -> PhaseSpec {
    PhaseSpec { work, ..phase(Op::Write, tasks, 0, "0000-work") }
}
