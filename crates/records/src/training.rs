//! What became of the accelerators of a `training` phase.

use serde::{Deserialize, Serialize};

/// Accelerators, and how long they computed. Times are sums, of all steps but the first of each epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct TrainingResult {
    pub accelerators: u32,
    pub readers: u32,
    pub batch_samples: u32,
    pub compute_ns: u64,
    /// Of each epoch and each accelerator: steps that ended, the first included; how long it computed after the first one;
    /// and how long that took, to the end of the last step for all.
    pub windows: Vec<[u64; 3]>,
    /// Accelerators waited so long for a batch.
    pub starved_ns: u64,
    /// They waited so long for the slowest of them.
    pub uneven_ns: u64,
    /// Readers waited so long, in all steps, for there were enough batches.
    pub idle_ns: u64,
}
