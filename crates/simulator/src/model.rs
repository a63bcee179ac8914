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
//! | `shape` | `shape` | `hinge`, `smooth`, `linear` | `hinge` | law of throughput over tasks ([`Shape`]) |
//! | `decline` | `decline` | fraction | 0 | throughput lost with each task beyond the knee |
//! | `noise` | `noise` | fraction | 0 | standard deviation of the logarithm of each trial's speed (median 1) |
//! | `outliers` | `outliers` | fraction | 0 | share of trials that are three times slower |
//! | `drift` | `drift` | fraction | 0 | change of speed in each virtual minute, compounding |
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
//! | `names` | `names_per_s` | 1/s | 20 000 | plateau of operations on names, in creations of empty files or directories. In these, stat costs 0.4, read and write 0.6, open-write-close 0.8, remove 1.2, rename 1.5, listing a directory 2; bytes come on top |
//! | `lock-every` | `lock_every_ns` | ns | 0 | mean time between the moments in which one reader of a `tail` takes the writer's lock (exponential); 0: never |
//! | `lock` | `lock_ns` | ns | 0 | how long the writer then stands still |
//! | `reader-cost` | `reader_cost` | fraction | 0 | share of the writer's speed that each reader of a `tail` takes, compounding |
//! | `copy` | `copy_bytes` | B | 10⁹ | what a copy of a `command` moves through the device |
//! | `copy-cpu` | `copy_cpu_ns` | ns | 0 | processor time of a copy, spread evenly over its bytes |
//! | `cpus` | `cpus` | processors | 4 | what all copies share |
//! | `seed` | `seed` | integer | 0 | where all chance comes from, with the record's name and the phase's seed |

use serde::{Deserialize, Serialize};
use thiserror::Error;

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
    pub shape: Shape,
    pub decline: f64,
    pub noise: f64,
    pub outliers: f64,
    pub drift: f64,
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
    pub seed: u64,
}

impl Default for ModelSpec {
    fn default() -> Self {
        Self {
            knee: Some(DEFAULT_KNEE),
            plateau_bytes_per_s: Some(2_000_000_000),
            read_plateau_bytes_per_s: None,
            node_plateau_bytes_per_s: None,
            read_node_plateau_bytes_per_s: None,
            straggler_node: 1.0,
            operations_per_s: None,
            shape: Shape::Hinge,
            decline: 0.0,
            noise: 0.0,
            outliers: 0.0,
            drift: 0.0,
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
            seed: 0,
        }
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
        for (key, value) in [("noise", self.noise), ("jitter", self.jitter)] {
            require(key, value, (0.0..=3.0).contains(&value), "a fraction from 0 to 3 (20 % is 0.2)")?;
        }
        require("outliers", self.outliers, (0.0..=1.0).contains(&self.outliers), "a fraction from 0 to 1")?;
        require("reader_cost", self.reader_cost, (0.0..1.0).contains(&self.reader_cost), "a fraction from 0 to below 1")?;
        require("decline", self.decline, (0.0..1.0).contains(&self.decline), "a fraction from 0 to below 1")?;
        require("drift", self.drift, self.drift > -1.0 && self.drift <= 1.0, "a fraction above -1, at most 1")?;
        for (key, value) in [("straggler", self.straggler), ("straggler_node", self.straggler_node)] {
            require(key, value, (1.0..=1e6).contains(&value), "a factor from 1 to 1000000")?;
        }
        Ok(())
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
}
