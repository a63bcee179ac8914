//! What is modelled. The front turns the text after `sim:` into these keys.
//!
//! | text | JSON key | unit | default | meaning |
//! |---|---|---|---|---|
//! | `knee` | `knee` | tasks | 8 | smallest number of tasks (at queue depth 1) whose noise-free throughput is within 5 % of the plateau; `none` (`null`): no plateau, as `shape=linear` with 8 |
//! | `plateau` | `plateau_bytes_per_s` | B/s | 2·10⁹ | throughput that more tasks do not raise; `none` (`null`), with `node-plateau`: nodes share nothing |
//! | `read-plateau` | `read_plateau_bytes_per_s` | B/s | as `plateau` | the same for reads |
//! | `node-plateau` | `node_plateau_bytes_per_s` | B/s | none | throughput of streams that more tasks on one node do not raise; knee, shape and decline are then those of a node, and `plateau` is what all nodes share |
//! | `read-node-plateau` | `read_node_plateau_bytes_per_s` | B/s | as `node-plateau` | the same for reads |
//! | `straggler-node` | `straggler_node` | factor | 1 | how much slower the operations of a stream's last node are (if it has several) |
//! | `operations` | `operations_per_s` | 1/s | none | cap on operations: the plateau is at most this × `transfer_size` |
//! | `call` | `call_ns` | ns | 0 | what a stream's transfer takes beside its bytes, for a task alone: the knee then follows from the transfer size, and `shape` is that of the bend |
//! | `task-speed` | `task_bytes_per_s` | B/s | none | with `call`: throughput of the bytes of one task alone |
//! | `stripe` | `stripe_bytes` | B | 0 | with `call`: from this transfer size on the plateau is `stripe-gain` times as high |
//! | `stripe-gain` | `stripe_gain` | factor | 1 | how many times |
//! | `shape` | `shape` | `hinge`, `smooth`, `linear` | `hinge` | law of throughput over tasks ([`Shape`]) |
//! | `decline` | `decline` | fraction | 0 | throughput lost with each task beyond the knee |
//! | `creep` | `creep` | fraction | 0 | throughput gained with each doubling of the tasks beyond the knee, for ever |
//! | `curve` | `curve` | tasks, shares | none | throughput as shares of the plateau at some numbers of tasks, straight lines between them, flat beyond the last: `4:50%/16:50%/20:100%` (`[[4, 0.5], …]`) is a stair of two node links |
//! | `queues` | `queues` | queues | none | throughput of a closed network of so many queues, by exact mean-value analysis: N ÷ (N + `queues` − 1) where they are equal |
//! | `queue-demand` | `queue_demand` | fraction | 1 | what a task asks of every queue but the slowest, as a share of what it asks of that one |
//! | `contention` | `contention` | fraction | 0 | σ of the universal scalability law; `plateau` is its peak |
//! | `coherency` | `coherency` | fraction | 0 | κ of the same law |
//! | `power` | `power` | exponent | none | throughput is `plateau` × N to this power |
//! | `dip` | `dip` | fraction | 0 | throughput lost by `dip-from` to `dip-to` tasks, both included |
//! | `dip-from` | `dip_from` | tasks | 0 | where the dip begins |
//! | `dip-to` | `dip_to` | tasks | 0 | where it ends |
//! | `odd-loss` | `odd_loss` | fraction | 0 | throughput lost by odd numbers of tasks |
//! | `aggregators` | `aggregators` | tasks, fraction | none | collective transfers: no more than so many tasks, which have the data of all, work on the storage at once; and the throughput that the way of the data between the tasks and them costs: `2:20%` (`[2, 0.2]`) |
//! | `noise` | `noise` | fraction | 0 | standard deviation of the logarithm of each trial's speed (median 1) |
//! | `noise-growth` | `noise_growth` | exponent | 0 | trials of N tasks have `noise` × N to this power, at most 3 |
//! | `tails` | `tails` | degrees of freedom | none | the logarithm of each trial's speed is `noise` times Student's t of so many; no trial is more than e⁵ times faster or slower |
//! | `correlation` | `correlation` | fraction | 0 | of the noise of a trial with that of the trial before it, by their numbers (autoregressive of order 1) |
//! | `outliers` | `outliers` | fraction | 0 | share of trials that run at `outlier-speed` |
//! | `outlier-speed` | `outlier_speed` | fraction | 1/3 | their speed, as a share of the others' |
//! | `day` | `day` | fraction | 0 | standard deviation of the logarithm of a factor on all speeds of a run, drawn from the run's seed |
//! | `drift` | `drift` | fraction | 0 | change of speed in each virtual minute, compounding |
//! | `step` | `step` | fraction | 0 | change of speed from `step-at` on |
//! | `step-at` | `step_at_ns` | ns | 0 | when, on the run's virtual clock |
//! | `jitter` | `jitter` | fraction | 0.1 | standard deviation of the logarithm of each operation's latency (mean kept) |
//! | `warmup` | `warmup_ns` | ns | 0 | the first part of each trial, at half the speed |
//! | `straggler` | `straggler` | factor | 1 | how much slower the operations of the trial's last task are (if it has several) |
//! | `fsync` | `fsync_ns` | ns | 200 000 | mean latency of an fsync |
//! | `cache` | `cache_bytes` | B | 0 | size of the page cache (least recently used files leave first) |
//! | `cache-speed` | `cache_bytes_per_s` | B/s | 10¹⁰ | throughput of reads from it |
//! | `direct` | `direct` | `true`, `false` | `false` | operations go past the page cache |
//! | `burst` | `burst_bytes` | B | 0 | size of a burst buffer in front of the device, for writes; drains with what the plateau leaves |
//! | `burst-speed` | `burst_bytes_per_s` | B/s | 10¹⁰ | plateau of writes while it has room |
//! | `stall-every` | `stall_every_ns` | ns | 0 | mean time between lock stalls (exponential); 0: none |
//! | `stall` | `stall_ns` | ns | 0 | length of a stall, in which no task completes anything |
//! | `fault-every` | `fault_every` | operations | 0 | every so many operations one fails with EIO; 0: none |
//! | `damage-every` | `damage_every` | reads | 0 | of so many reads whose bytes are checked one is damaged; 0: none |
//! | `full-after` | `full_after_bytes` | B | none | a write that would keep more than this fails with ENOSPC |
//! | `snapshot` | `snapshot_ns` | ns | 0 | mean time of a snapshot of a `checkpoint`; the standard deviation of its logarithm is `noise` (mean kept) |
//! | `names` | `names_per_s` | 1/s | 20 000 | plateau of operations on names, in creations of empty files or directories. In these, stat costs 0.4, read and write 0.6, open-write-close 0.8, churn 2.6, remove 1.2, rename 1.5, listing a directory 2, a name of a find 0.02 and its attributes 0.4; bytes come on top |
//! | `lock-every` | `lock_every_ns` | ns | 0 | mean time between the moments in which one reader of a `tail` takes the writer's lock (exponential); 0: never |
//! | `lock` | `lock_ns` | ns | 0 | how long the writer then stands still |
//! | `reader-cost` | `reader_cost` | fraction | 0 | share of the writer's speed that each reader of a `tail` takes, compounding |
//! | `copy` | `copy_bytes` | B | 10⁹ | what a copy of a `command` moves through the device |
//! | `copy-cpu` | `copy_cpu_ns` | ns | 0 | processor time of a copy, spread evenly over its bytes |
//! | `cpus` | `cpus` | processors | 4 | what all copies share |
//! | | `clock_ns` | ns | 0 | where the virtual clock begins: of a run that goes on, the time it has come to |
//! | `seed` | `seed` | integer | 0 | where all chance comes from, with the record's name and the phase's seed |

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tonnage_workload::Work;

/// Throughput X over N tasks, with plateau P and knee K. Each crosses 0.95 P midway between K−1 and K tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// X = P·min(1, 0.95·N/(K−½)).
    #[default]
    Hinge,
    /// X = P·(1 − exp(−aN)), a = ln 20/(K−½).
    Smooth,
    /// X = P·N/K: never levels off, so there is no load line to find.
    Linear,
}

/// Tasks at the knee where nothing else is said.
pub(crate) const DEFAULT_KNEE: u32 = 8;

/// A modelled storage: the JSON keys of the table above, which gives units and defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the table at the top of the file")]
pub struct ModelSpec {
    pub knee: Option<u32>,
    pub plateau_bytes_per_s: Option<u64>,
    pub read_plateau_bytes_per_s: Option<u64>,
    pub node_plateau_bytes_per_s: Option<u64>,
    pub read_node_plateau_bytes_per_s: Option<u64>,
    pub straggler_node: f64,
    pub operations_per_s: Option<u64>,
    pub call_ns: u64,
    pub task_bytes_per_s: Option<u64>,
    pub stripe_bytes: u64,
    pub stripe_gain: f64,
    /// Share of the plateau of one task alone, where `call_ns` gives it for the transfers of a phase.
    #[serde(skip)]
    pub(crate) alone: Option<f64>,
    pub shape: Shape,
    pub decline: f64,
    pub creep: f64,
    pub curve: Vec<(u32, f64)>,
    pub queues: Option<u32>,
    pub queue_demand: f64,
    pub contention: f64,
    pub coherency: f64,
    pub power: Option<f64>,
    pub dip: f64,
    pub dip_from: u32,
    pub dip_to: u32,
    pub odd_loss: f64,
    pub aggregators: Option<(u32, f64)>,
    pub noise: f64,
    pub noise_growth: f64,
    pub tails: Option<u32>,
    pub correlation: f64,
    pub outliers: f64,
    pub outlier_speed: f64,
    pub day: f64,
    pub drift: f64,
    pub step: f64,
    pub step_at_ns: u64,
    pub jitter: f64,
    pub warmup_ns: u64,
    pub straggler: f64,
    pub fsync_ns: u64,
    pub cache_bytes: u64,
    pub cache_bytes_per_s: u64,
    pub direct: bool,
    pub burst_bytes: u64,
    pub burst_bytes_per_s: u64,
    pub stall_every_ns: u64,
    pub stall_ns: u64,
    pub fault_every: u64,
    pub damage_every: u64,
    pub full_after_bytes: Option<u64>,
    pub snapshot_ns: u64,
    pub names_per_s: u64,
    pub lock_every_ns: u64,
    pub lock_ns: u64,
    pub reader_cost: f64,
    pub copy_bytes: u64,
    pub copy_cpu_ns: u64,
    pub cpus: u32,
    pub clock_ns: u64,
    pub seed: u64,
}

const DEFAULT: ModelSpec = ModelSpec {
    knee: Some(DEFAULT_KNEE),
    plateau_bytes_per_s: Some(2_000_000_000),
    read_plateau_bytes_per_s: None,
    node_plateau_bytes_per_s: None,
    read_node_plateau_bytes_per_s: None,
    straggler_node: 1.0,
    operations_per_s: None,
    call_ns: 0,
    task_bytes_per_s: None,
    stripe_bytes: 0,
    stripe_gain: 1.0,
    alone: None,
    shape: Shape::Hinge,
    decline: 0.0,
    creep: 0.0,
    curve: Vec::new(),
    queues: None,
    queue_demand: 1.0,
    contention: 0.0,
    coherency: 0.0,
    power: None,
    dip: 0.0,
    dip_from: 0,
    dip_to: 0,
    odd_loss: 0.0,
    aggregators: None,
    noise: 0.0,
    noise_growth: 0.0,
    tails: None,
    correlation: 0.0,
    outliers: 0.0,
    outlier_speed: 1.0 / 3.0,
    day: 0.0,
    drift: 0.0,
    step: 0.0,
    step_at_ns: 0,
    jitter: 0.1,
    warmup_ns: 0,
    straggler: 1.0,
    fsync_ns: 200_000,
    cache_bytes: 0,
    cache_bytes_per_s: 10_000_000_000,
    direct: false,
    burst_bytes: 0,
    burst_bytes_per_s: 10_000_000_000,
    stall_every_ns: 0,
    stall_ns: 0,
    fault_every: 0,
    damage_every: 0,
    full_after_bytes: None,
    snapshot_ns: 0,
    names_per_s: 20_000,
    lock_every_ns: 0,
    lock_ns: 0,
    reader_cost: 0.0,
    copy_bytes: 1_000_000_000,
    copy_cpu_ns: 0,
    cpus: 4,
    clock_ns: 0,
    seed: 0,
};

impl Default for ModelSpec {
    fn default() -> Self {
        DEFAULT
    }
}

/// A value that no storage could have.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("sim: {key} is {}; give {wanted}", short(*value))]
pub struct ModelError {
    /// The JSON key.
    pub key: &'static str,
    /// As given.
    pub value: f64,
    /// What would do.
    pub wanted: &'static str,
}

impl ModelSpec {
    /// What it is for the work of a phase: only collective transfers have aggregators, and only those of a stream have a
    /// knee that follows from their size.
    pub(crate) fn of_work(&self, work: &Work) -> Self {
        let mut own = self.clone();
        let Work::Stream(stream) = work else { return Self { aggregators: None, ..own } };
        if !stream.collective {
            own.aggregators = None;
        }
        let size = stream.geometry.transfer_size;
        if self.call_ns > 0 {
            let bytes_s = self.task_bytes_per_s.map_or(0.0, |speed| size as f64 / speed as f64);
            let alone = size as f64 / (self.call_ns as f64 / 1e9 + bytes_s);
            if self.stripe_bytes > 0 && size >= self.stripe_bytes {
                let gained = |rate: Option<u64>| rate.map(|rate| (rate as f64 * self.stripe_gain) as u64);
                own.plateau_bytes_per_s = gained(self.plateau_bytes_per_s);
                own.read_plateau_bytes_per_s = gained(self.read_plateau_bytes_per_s);
            }
            own.alone = Some(alone / own.plateau(stream.op, size));
        }
        own
    }

    /// Checks every value against what the model means.
    pub fn check(&self) -> Result<(), ModelError> {
        let rates = [
            ("knee", f64::from(self.knee.unwrap_or(DEFAULT_KNEE))),
            ("plateau_bytes_per_s", self.plateau_bytes_per_s.unwrap_or(1) as f64),
            ("read_plateau_bytes_per_s", self.read_plateau_bytes_per_s.unwrap_or(1) as f64),
            ("node_plateau_bytes_per_s", self.node_plateau_bytes_per_s.unwrap_or(1) as f64),
            ("read_node_plateau_bytes_per_s", self.read_node_plateau_bytes_per_s.unwrap_or(1) as f64),
            ("operations_per_s", self.operations_per_s.unwrap_or(1) as f64),
            ("cache_bytes_per_s", self.cache_bytes_per_s as f64),
            ("burst_bytes_per_s", self.burst_bytes_per_s as f64),
            ("names_per_s", self.names_per_s as f64),
            ("cpus", f64::from(self.cpus)),
            ("copy_bytes or copy_cpu_ns", self.copy_bytes.max(self.copy_cpu_ns) as f64),
        ];
        for (key, value) in rates {
            require(key, value, value >= 1.0, "at least 1")?;
        }
        if self.node_plateau_bytes_per_s.is_none() {
            let (shared, reads) = (self.plateau_bytes_per_s, self.read_node_plateau_bytes_per_s);
            require("plateau_bytes_per_s", f64::INFINITY, shared.is_some(), "a rate, or node_plateau_bytes_per_s beside it")?;
            let value = reads.unwrap_or(0) as f64;
            require("read_node_plateau_bytes_per_s", value, reads.is_none(), "node_plateau_bytes_per_s beside it")?;
        }
        for (key, value) in [("noise", self.noise), ("jitter", self.jitter), ("day", self.day)] {
            require(key, value, (0.0..=3.0).contains(&value), "a fraction from 0 to 3 (20 % is 0.2)")?;
        }
        for (key, value) in [("outliers", self.outliers), ("contention", self.contention), ("coherency", self.coherency)] {
            require(key, value, (0.0..=1.0).contains(&value), "a fraction from 0 to 1")?;
        }
        for (key, value) in [("reader_cost", self.reader_cost), ("decline", self.decline), ("dip", self.dip)] {
            require(key, value, (0.0..1.0).contains(&value), "a fraction from 0 to below 1")?;
        }
        require("odd_loss", self.odd_loss, (0.0..1.0).contains(&self.odd_loss), "a fraction from 0 to below 1")?;
        let (aggregators, exchange) = self.aggregators.unwrap_or((1, 0.0));
        require("aggregators", f64::from(aggregators), aggregators > 0, "at least 1")?;
        require("aggregators", exchange, (0.0..1.0).contains(&exchange), "a fraction from 0 to below 1")?;
        for (key, value) in [("drift", self.drift), ("creep", self.creep), ("step", self.step)] {
            require(key, value, value > -1.0 && value <= 1.0, "a fraction above -1, at most 1")?;
        }
        let speed = self.outlier_speed;
        require("outlier_speed", speed, speed > 0.0 && speed <= 1.0, "a fraction above 0, at most 1")?;
        let correlation = self.correlation;
        require("correlation", correlation, correlation.abs() < 1.0, "a fraction above -1 and below 1")?;
        require("noise_growth", self.noise_growth, self.noise_growth.abs() <= 2.0, "an exponent from -2 to 2")?;
        let degrees = self.tails.unwrap_or(2);
        require("tails", f64::from(degrees), (2..=1000).contains(&degrees), "degrees of freedom from 2 to 1000")?;
        for (key, value) in [("straggler", self.straggler), ("straggler_node", self.straggler_node)] {
            require(key, value, (1.0..=1e6).contains(&value), "a factor from 1 to 1000000")?;
        }
        let (every, long) = (self.stall_every_ns, self.stall_ns);
        require("stall_every_ns", every as f64, every == 0 || every >= 1_000_000, "0, or at least 1 ms (1000000)")?;
        let most = every as f64 * 100.0;
        require("stall_ns", long as f64, every == 0 || long as f64 <= most, "at most a hundred times stall_every_ns")?;
        self.check_sizes()?;
        self.check_curve()
    }

    /// Checks what is said of transfer sizes.
    fn check_sizes(&self) -> Result<(), ModelError> {
        let (gain, own) = (self.stripe_gain, "beside call");
        require("stripe_gain", gain, gain > 0.0 && gain <= 1000.0, "a factor above 0, at most 1000")?;
        require("stripe_bytes", self.stripe_bytes as f64, self.stripe_bytes == 0 || self.call_ns > 0, own)?;
        let speed = self.task_bytes_per_s.unwrap_or(1) as f64;
        require("task_bytes_per_s", speed, speed >= 1.0, "at least 1")?;
        require("task_bytes_per_s", speed, self.task_bytes_per_s.is_none() || self.call_ns > 0, own)
    }

    /// Checks what is said of throughput over tasks.
    fn check_curve(&self) -> Result<(), ModelError> {
        let mut last = 0;
        for &(tasks, share) in &self.curve {
            require("curve", f64::from(tasks), tasks > last, "numbers of tasks that rise, the first above 0")?;
            require("curve", share, share > 0.0 && share <= 1.0, "shares above 0, at most 1")?;
            last = tasks;
        }
        let (queues, power, demand) = (self.queues.unwrap_or(1), self.power.unwrap_or(1.0), self.queue_demand);
        require("queues", f64::from(queues), (1..=1_000_000).contains(&queues), "from 1 to 1000000")?;
        require("queue_demand", demand, demand > 0.0 && demand <= 1.0, "a fraction above 0, at most 1")?;
        require("queue_demand", demand, demand >= 1.0 || self.queues.is_some(), "queues beside it")?;
        require("power", power, power > 0.0 && power <= 2.0, "an exponent above 0, at most 2")?;
        let dip_to = f64::from(self.dip_to);
        let dips = self.dip > 0.0;
        require(
            "dip_to",
            dip_to,
            !dips || (1..=self.dip_to).contains(&self.dip_from),
            "no fewer tasks than dip_from, which is at least 1",
        )?;
        require("dip", self.dip, dips || self.dip_to.max(self.dip_from) == 0, "the share that dip_from to dip_to lose")?;
        require("step", self.step, self.step != 0.0 || self.step_at_ns == 0, "the change that comes at step_at")?;
        let usl = self.contention + self.coherency > 0.0;
        let laws = [!self.curve.is_empty(), self.queues.is_some(), usl, self.power.is_some(), self.call_ns > 0];
        let given = laws.into_iter().filter(|&is| is).count();
        require("laws of throughput", given as f64, given <= 1, "one of curve, queues, contention with coherency, power, call")?;
        let bends = self.shape == Shape::Hinge || self.call_ns > 0;
        let plain = bends && self.knee == Some(DEFAULT_KNEE);
        let own = "no knee, decline or creep beside call, and neither these nor a shape beside curve, queues, contention, coherency or power";
        let knee = f64::from(self.knee.unwrap_or(DEFAULT_KNEE));
        require("knee", knee, given == 0 || (plain && self.decline == 0.0 && self.creep == 0.0), own)
    }
}

/// Without hundreds of digits.
fn short(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") }
}

fn require(key: &'static str, value: f64, holds: bool, wanted: &'static str) -> Result<(), ModelError> {
    if holds { Ok(()) } else { Err(ModelError { key, value, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_and_an_impossible_value_are_errors() {
        assert!(serde_json::from_str::<ModelSpec>(r#"{"kneee": 8}"#).is_err());
        let spec: ModelSpec = serde_json::from_str(r#"{"knee": 0, "shape": "smooth"}"#).expect("parses");
        assert_eq!(spec.check().expect_err("no knee").to_string(), "sim: knee is 0; give at least 1");
        assert!(ModelSpec { noise: f64::NAN, ..ModelSpec::default() }.check().is_err());
        assert_eq!(ModelSpec::default().check(), Ok(()));
    }

    #[test]
    fn curves_that_contradict_themselves_or_each_other_are_errors() {
        let wrong = [
            r#"{"curve": [[4, 0.5], [4, 1]]}"#,
            r#"{"curve": [[0, 0.5]]}"#,
            r#"{"curve": [[4, 1.5]]}"#,
            r#"{"curve": [[4, 0]]}"#,
            r#"{"queues": 0}"#,
            r#"{"queue_demand": 0.5}"#,
            r#"{"queues": 2, "queue_demand": 1.5}"#,
            r#"{"contention": -0.1}"#,
            r#"{"coherency": 2}"#,
            r#"{"power": 0}"#,
            r#"{"dip": 0.3}"#,
            r#"{"dip": 0.3, "dip_from": 9, "dip_to": 8}"#,
            r#"{"dip_from": 8, "dip_to": 9}"#,
            r#"{"odd_loss": 1}"#,
            r#"{"aggregators": [0, 0]}"#,
            r#"{"aggregators": [2, 1]}"#,
            r#"{"creep": -1}"#,
            r#"{"step_at_ns": 5}"#,
            r#"{"tails": 1}"#,
            r#"{"correlation": 1}"#,
            r#"{"noise_growth": 3}"#,
            r#"{"outlier_speed": 0}"#,
            r#"{"day": 4}"#,
            r#"{"stall_every_ns": 1, "stall_ns": 1000000000}"#,
            r#"{"stall_every_ns": 1000000, "stall_ns": 3600000000000}"#,
            r#"{"power": 0.1, "queues": 8}"#,
            r#"{"power": 0.1, "knee": 4}"#,
            r#"{"queues": 8, "creep": 0.1}"#,
            r#"{"contention": 0.1, "shape": "smooth"}"#,
        ];
        for text in wrong {
            let spec: ModelSpec = serde_json::from_str(text).expect("parses");
            assert!(spec.check().is_err(), "{text}");
        }
    }
}
