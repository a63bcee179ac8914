//! Nodes: each moves its own plateau at most, and all together what they share.

use tonnage_workload::{Op, PhaseSpec, Work};

use crate::model::ModelSpec;

/// Who has operations in flight, node by node, and how long they take at the device's usual speed.
///
/// A node with n operations in flight asks for Q·share(n) of its plateau Q. All nodes together move what they share, P,
/// at most: then each gets the same part of what it asks for.
pub(crate) struct Nodes<'a> {
    model: &'a ModelSpec,
    per_node: usize,
    in_flight: Vec<u64>,
    /// Of each node: its share of its plateau, and the mean latency in nanoseconds of an operation that would cost the
    /// node a second at that plateau.
    shares: Vec<f64>,
    second_ns: Vec<f64>,
    /// Sum of the shares.
    asked: f64,
    /// How many times as many tasks there are as here.
    others: f64,
    write: Ceilings,
    read: Ceilings,
}

/// What one kind of transfer meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceilings {
    /// Seconds of one node at its plateau that a transfer costs.
    pub cost_s: f64,
    /// How many nodes at their plateau reach what all share; infinite where they share nothing.
    nodes: f64,
}

impl Ceilings {
    /// Of transfers of `size` bytes; `None` where the model knows of no nodes.
    pub fn of(model: &ModelSpec, op: Op, size: u64) -> Option<Self> {
        let node = model.node_plateau(op)?;
        Some(Self { cost_s: size as f64 / node, nodes: model.shared_plateau(op, size) / node })
    }

    /// The part that nodes get of what they ask for, where that is `asked` times a node's plateau.
    pub fn part(self, asked: f64) -> f64 {
        (self.nodes / asked).min(1.0)
    }
}

/// Tasks that share a node.
pub(crate) fn per_node(spec: &PhaseSpec) -> u32 {
    spec.tasks_per_node.unwrap_or(spec.tasks.total).min(spec.tasks.total)
}

/// How much longer the operations of a task take.
pub(crate) fn slowness(model: &ModelSpec, spec: &PhaseSpec, task: u32) -> f64 {
    let (total, per_node) = (spec.tasks.total, per_node(spec));
    let last = if total > 1 && task + 1 == total { model.straggler } else { 1.0 };
    let apart = total > per_node && task / per_node == (total - 1) / per_node;
    if apart && matches!(spec.work, Work::Stream(_)) { last * model.straggler_node } else { last }
}

impl<'a> Nodes<'a> {
    /// Nobody has anything in flight. `None` where the model knows of no nodes, or the work is no stream.
    pub fn of(model: &'a ModelSpec, spec: &PhaseSpec) -> Option<Self> {
        let Work::Stream(stream) = &spec.work else { return None };
        let size = stream.geometry.transfer_size;
        let write = Ceilings::of(model, Op::Write, size)?;
        let per_node = per_node(spec) as usize;
        let nodes = (spec.tasks.here as usize).div_ceil(per_node);
        Some(Self {
            model,
            per_node,
            in_flight: vec![0; nodes],
            shares: vec![0.0; nodes],
            second_ns: vec![0.0; nodes],
            asked: 0.0,
            others: f64::from(spec.tasks.total) / f64::from(spec.tasks.here),
            write,
            read: Ceilings::of(model, Op::Read, size).unwrap_or(write),
        })
    }

    /// `more` operations of the task at `index` are in flight from now on.
    pub fn board(&mut self, index: usize, more: u64) {
        let node = index / self.per_node;
        self.set(node, self.in_flight[node] + more);
    }

    /// One fewer is.
    pub fn alight(&mut self, index: usize) {
        let node = index / self.per_node;
        self.set(node, self.in_flight[node] - 1);
    }

    fn set(&mut self, node: usize, in_flight: u64) {
        self.asked -= self.shares[node];
        self.in_flight[node] = in_flight;
        self.shares[node] = if in_flight == 0 { 0.0 } else { self.model.share(in_flight) };
        self.second_ns[node] = self.model.crowd_ns(in_flight.max(1));
        self.asked += self.shares[node];
    }

    /// Mean latency in nanoseconds of a transfer of the task at `index`, at the device's usual speed.
    #[inline]
    pub fn transfer_ns(&self, op: Op, index: usize) -> f64 {
        let ceilings = if op == Op::Write { self.write } else { self.read };
        self.second_ns[index / self.per_node] * ceilings.cost_s / ceilings.part(self.asked * self.others)
    }
}
