//! Plain streams of very many tasks: the tasks of a node advance as one.
//!
//! The law is that of `nodes.rs`. Time goes on in intervals; in each, a node's operations in flight share its time, and
//! as many latencies as fill that time are drawn at once (`latency_cells.rs`). What is left behind is kept by node: a result and
//! a histogram, and rows of the series, each under the number of the node's first task.

use tonnage_records::{BUCKETS, CacheFacts, LatencyRecorder, LatencySummary, PhaseFiles, Role, SeriesRow};
use tonnage_records::{StopReason, TaskResult, VerifyResult, bucket_of};
use tonnage_workload::{Access, Durability, Layout, Op, PhaseSpec, Stream};

use crate::event_loop::Finish;
use crate::latency_cells::Cells;
use crate::model::ModelSpec;
use crate::nodes::{Ceilings, per_node, slowness};
use crate::seeded_random::Chance;
use crate::speed::Speed;
use crate::state::{Outcome, SimulatorError, State};
use crate::stream::cache_before;

/// More tasks than these are not simulated one by one, where nothing asks for it.
pub(crate) const MOST_TASKS: u32 = 1024;
/// Rows of the series, at most about so many: an interval is as long as that takes, in whole intervals of the phase.
const ROWS: u64 = 1 << 14;
/// Intervals that there are at least.
const LEAST_INTERVALS: u64 = 10;

/// Whether a phase is one of these: many tasks on nodes, and nothing in the model or the workload that single operations
/// decide.
pub(crate) fn takes(model: &ModelSpec, spec: &PhaseSpec, stream: &Stream) -> bool {
    let calm = model.stall_every_ns == 0 && model.fault_every == 0 && model.full_after_bytes.is_none();
    let direct = model.burst_bytes == 0 && (model.direct || model.cache_bytes == 0);
    let alike = model.warmup_ns == 0 && model.straggler <= 1.0;
    let endless = spec.limit.min_time_ns > 0 || spec.limit.wear_out;
    let ordered = stream.geometry.access == Access::Sequential && stream.geometry.layout == Layout::FilePerTask;
    let plain = !stream.verify && stream.read_percent.is_none() && stream.durability != Durability::FsyncEach;
    let at_once = !spec.pace.waits() && spec.pace.think_ns == 0 && spec.operation_log == 0 && !stream.preallocate;
    let nodes = model.node_plateau_bytes_per_s.is_some() && spec.tasks_per_node.is_some();
    nodes && spec.tasks.here > MOST_TASKS && calm && direct && alike && !endless && ordered && plain && at_once
}

/// The tasks of one node.
struct NodeGroup {
    first: u32,
    tasks: u32,
    /// Operations in flight at once.
    lanes: u64,
    slowness: f64,
    /// Operations to begin yet.
    left: u64,
    operations: u64,
    /// Time of all lanes that the last interval left over; below 0, that it took too much.
    spare_ns: f64,
    recorder: LatencyRecorder,
    end_ns: Option<u64>,
    sync_ns: u64,
}

/// What a node did in an interval.
#[derive(Default)]
struct Done {
    operations: u64,
    sum_ns: f64,
    longest_ns: u64,
}

struct FluidModel<'a> {
    model: &'a ModelSpec,
    size: u64,
    ceilings: Ceilings,
    speed: Speed<'a>,
    chance: Chance,
    cells: Cells,
    groups: Vec<NodeGroup>,
    /// How many times as many tasks there are as here.
    others: f64,
    heat: Box<[u64; BUCKETS]>,
    files: Option<PhaseFiles>,
    start_ns: u64,
    deadline_ns: u64,
    interval_ns: u64,
}

/// Runs a stream that starts at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    stream: &Stream,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let before = stream.reads().then(|| cache_before(state, spec, stream)).transpose()?;
    let size = stream.geometry.transfer_size;
    let Some(ceilings) = Ceilings::of(model, stream.op, size) else { unreachable!("these models have nodes") };
    let mut chance = Chance::new(model.seed, &spec.record, spec.seed);
    let mut fluid_model = FluidModel {
        model,
        size,
        ceilings,
        speed: Speed::new(model, spec, start_ns, &mut chance),
        chance,
        cells: Cells::new(model.jitter),
        groups: groups(model, spec, stream),
        others: f64::from(spec.tasks.total) / f64::from(spec.tasks.here),
        heat: Box::new([0; BUCKETS]),
        files,
        start_ns,
        deadline_ns: spec.limit.time_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns)),
        interval_ns: 0,
    };
    fluid_model.interval_ns = fluid_model.interval_of(spec.interval_ns);
    let mut now_ns = start_ns;
    while fluid_model.groups.iter().any(|group| group.end_ns.is_none()) {
        now_ns = fluid_model.pass(now_ns)?;
    }
    if stream.writes() {
        fluid_model.leave(state, stream, spec.tasks.total);
    }
    let moved = fluid_model.groups.iter().map(|group| group.operations * size).sum();
    let cache = before.map(|facts| CacheFacts { device_bytes: Some(moved), ..facts });
    state.counters.operations += moved / size;
    let finish = fluid_model.finish(stream)?;
    Ok(Outcome { cache, fact: Some(("by_node", true)), ..Outcome::of(finish) })
}

fn groups(model: &ModelSpec, spec: &PhaseSpec, stream: &Stream) -> Vec<NodeGroup> {
    let (end, per_node) = (spec.tasks.first + spec.tasks.here, per_node(spec));
    let each = stream.terms(spec, spec.tasks.first).quota();
    let group = |first: u32| {
        let tasks = per_node.min(end - first);
        NodeGroup {
            first,
            tasks,
            lanes: u64::from(tasks) * u64::from(stream.queue_depth),
            slowness: slowness(model, spec, first),
            left: each.saturating_mul(u64::from(tasks)),
            operations: 0,
            spare_ns: 0.0,
            recorder: LatencyRecorder::new(),
            end_ns: None,
            sync_ns: 0,
        }
    };
    (spec.tasks.first..end).step_by(per_node as usize).map(group).collect()
}

impl FluidModel<'_> {
    /// What the nodes that still run ask for, in plateaus of a node.
    fn asked(&self) -> f64 {
        let running = self.groups.iter().filter(|group| group.end_ns.is_none());
        self.others * running.map(|group| self.model.share(group.lanes)).sum::<f64>()
    }

    /// Mean latency of a group's operations that begin now, where nodes get this part of what they ask for.
    fn mean_ns(&self, group: &NodeGroup, part: f64, now_ns: u64) -> f64 {
        let second_ns = self.model.crowd_ns(group.lanes);
        self.speed.slowed_ns(second_ns * self.ceilings.cost_s / part, now_ns) * group.slowness
    }

    /// As many whole intervals of the phase as keep the series short.
    fn interval_of(&self, asked_ns: u64) -> u64 {
        let part = self.ceilings.part(self.asked());
        let lasts = |group: &NodeGroup| group.left as f64 / group.lanes as f64 * self.mean_ns(group, part, self.start_ns);
        let longest_ns = self.groups.iter().map(lasts).fold(0.0, f64::max);
        let limit_ns = (self.deadline_ns - self.start_ns) as f64;
        let intervals = (ROWS / self.groups.len() as u64).max(LEAST_INTERVALS);
        let wanted_ns = longest_ns.min(limit_ns) / intervals as f64;
        asked_ns.saturating_mul(((wanted_ns / asked_ns as f64).ceil() as u64).max(1))
    }

    /// Lets an interval pass that begins now; when it ends.
    fn pass(&mut self, now_ns: u64) -> Result<u64, SimulatorError> {
        self.speed.pass(now_ns);
        let to_ns = now_ns.saturating_add(self.interval_ns).min(self.deadline_ns.max(now_ns + 1));
        let part = self.ceilings.part(self.asked());
        let mut rows = Vec::with_capacity(self.groups.len());
        for index in 0..self.groups.len() {
            if self.groups[index].end_ns.is_none() {
                rows.push((index, self.advance(index, part, now_ns, to_ns)));
            }
        }
        let ended = self.groups.iter().map(|group| group.end_ns).collect::<Option<Vec<u64>>>();
        let row_end_ns = ended.and_then(|ends| ends.into_iter().max()).unwrap_or(to_ns);
        self.keep(now_ns, row_end_ns, &rows)?;
        Ok(to_ns)
    }

    /// What the group at `index` does from `now_ns` to `to_ns`.
    fn advance(&mut self, index: usize, part: f64, now_ns: u64, to_ns: u64) -> Done {
        let mean_ns = self.mean_ns(&self.groups[index], part, now_ns);
        let group = &self.groups[index];
        let lanes = group.lanes as f64;
        let room_ns = lanes * (to_ns - now_ns) as f64 + group.spare_ns;
        let fits = (room_ns / mean_ns).floor().max(0.0) as u64;
        let mut done = Done::default();
        self.work(index, fits, mean_ns, &mut done);
        let group = &mut self.groups[index];
        group.spare_ns = room_ns - done.sum_ns;
        if group.left == 0 {
            let early_ns = (group.spare_ns / lanes).clamp(0.0, (to_ns - now_ns - 1) as f64);
            group.end_ns = Some(to_ns - early_ns as u64);
        } else if to_ns >= self.deadline_ns {
            // What is in flight ends, and each lane is somewhere in the middle of it.
            done.longest_ns = 0;
            let in_flight = group.lanes.min(group.left);
            self.work(index, in_flight, mean_ns, &mut done);
            let late_ns = done.longest_ns as f64 * lanes / (lanes + 1.0);
            self.groups[index].end_ns = Some(to_ns + late_ns as u64);
        }
        done
    }

    /// Draws `count` operations of the group at `index`, at most those that it has left.
    fn work(&mut self, index: usize, count: u64, mean_ns: f64, done: &mut Done) {
        let group = &mut self.groups[index];
        let count = count.min(group.left);
        let (recorder, heat) = (&mut group.recorder, &mut self.heat);
        let longest_ns = &mut done.longest_ns;
        done.sum_ns += self.cells.draw(&mut self.chance, count, mean_ns, |latency_ns, many| {
            recorder.record_many(latency_ns, many);
            heat[bucket_of(latency_ns)] += many;
            *longest_ns = latency_ns.max(*longest_ns);
        });
        done.operations += count;
        group.operations += count;
        group.left -= count;
    }

    /// Writes an interval's rows.
    fn keep(&mut self, from_ns: u64, to_ns: u64, rows: &[(usize, Done)]) -> Result<(), SimulatorError> {
        let heat = std::mem::replace(&mut *self.heat, [0; BUCKETS]);
        let Some(files) = &mut self.files else { return Ok(()) };
        let (start_ns, end_ns) = (from_ns - self.start_ns, to_ns - self.start_ns);
        for (index, done) in rows {
            let task = self.groups[*index].first;
            let (bytes, operations) = (done.operations * self.size, done.operations);
            let latency_sum_ns = done.sum_ns as u64;
            files.series(SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns })?;
        }
        heat.iter().enumerate().try_for_each(|(bucket, &count)| files.heat(start_ns, end_ns, bucket, count))?;
        Ok(())
    }

    /// The files as the phase leaves them.
    fn leave(&self, state: &mut State, stream: &Stream, total: u32) {
        for group in &self.groups {
            let moved = group.operations / u64::from(group.tasks) * self.size;
            let bytes = moved.min(stream.file_bytes(total));
            for task in group.first..group.first + group.tasks {
                let file = state.pages.by_number.entry(stream.file(task, total)).or_default();
                (file.length, file.allocated) = (file.length.max(bytes), file.allocated.max(bytes));
            }
        }
    }

    fn finish(mut self, stream: &Stream) -> Result<Finish, SimulatorError> {
        if stream.op == Op::Write && stream.durability == Durability::Fsync {
            let mean_ns = self.model.fsync_ns as f64;
            for group in &mut self.groups {
                group.sync_ns = (mean_ns * self.chance.lognormal_mean_1(self.model.jitter)).round() as u64;
            }
        }
        let mut total = LatencyRecorder::new();
        self.groups.iter().for_each(|group| total.add(&group.recorder));
        let pass = stream.geometry.operations();
        let tasks: Vec<TaskResult> = self.groups.iter().map(|group| group.result(self.start_ns, self.size, pass)).collect();
        let end_ns = tasks.iter().map(|task| task.end_ns).max().unwrap_or(self.start_ns);
        if let Some(files) = self.files {
            let histograms: Vec<_> = self.groups.iter().map(|group| (group.first, &group.recorder)).collect();
            files.finish(&histograms)?;
        }
        let timed_out = self.groups.iter().any(|group| group.left > 0);
        Ok(Finish {
            end_ns,
            stop_reason: StopReason::of(false, false, timed_out),
            tasks,
            latency: total.summary(),
            verify: VerifyResult::default(),
            first_error: None,
            events: Vec::new(),
        })
    }
}

impl NodeGroup {
    fn result(&self, start_ns: u64, size: u64, pass: u64) -> TaskResult {
        let end_ns = self.end_ns.unwrap_or(start_ns);
        let latency: LatencySummary = self.recorder.summary();
        TaskResult {
            task: self.first,
            role: Role::Work,
            start_ns,
            end_ns: end_ns + self.sync_ns,
            transfer_ns: end_ns - start_ns,
            sync_ns: self.sync_ns,
            bytes: self.operations * size,
            operations: self.operations,
            wrapped: self.operations > pass * u64::from(self.tasks),
            latency,
            ..TaskResult::default()
        }
    }
}
