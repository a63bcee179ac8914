//! What became of the accelerators of a `training` phase.

use serde::{Deserialize, Serialize};

/// Accelerators, and how long they computed. A block is the steps between two checkpoints, or an epoch where none is
/// written. Times are sums, of all steps but the first of each block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct TrainingResult {
    pub accelerators: u32,
    pub readers: u32,
    pub batch_samples: u32,
    pub compute_ns: u64,
    /// Of each block and each accelerator: steps that ended, the first included; how long it computed after the first one;
    /// and how long that took, to the end of the last step for all.
    pub windows: Vec<[u64; 3]>,
    /// When all had ended each of the first 1024 steps of the first epoch, from the beginning of the phase on.
    #[serde(default)]
    pub step_ends_ns: Vec<u64>,
    /// Accelerators waited so long for a batch.
    pub starved_ns: u64,
    /// They waited so long for the slowest of them.
    pub uneven_ns: u64,
    /// Readers waited so long, in all steps, for there were enough batches; not while a checkpoint was written.
    pub idle_ns: u64,
    /// Bytes of a checkpoint; 0 where none is written.
    #[serde(default)]
    pub checkpoint_bytes: u64,
    /// Of each checkpoint: when the first of its writers began and when the last ended, on the run's clock.
    #[serde(default)]
    pub checkpoints: Vec<[u64; 2]>,
}
