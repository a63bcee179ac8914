//! `stream`: tasks that write or read transfers of one size.

use serde::{Deserialize, Serialize};

use crate::geometry::{Geometry, Layout};
use crate::payload::PayloadKind;
use crate::phase::{CachePolicy, Durability, Op, SpecError, TaskRange};

/// A stream of transfers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What each operation does.
    pub op: Op,
    /// Where the operations go.
    pub geometry: Geometry,
    /// Operations in flight at once in each task; 1 is synchronous.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// fsync policy of a write phase.
    pub durability: Durability,
    /// Cache policy of a read phase.
    pub cache: CachePolicy,
    /// Bytes that are written, or expected when `verify` is set.
    #[serde(default)]
    pub payload: PayloadKind,
    /// Check every byte that is read (only with [`PayloadKind::Unique`]).
    #[serde(default)]
    pub verify: bool,
}

const fn one() -> u32 {
    1
}

impl Stream {
    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        let geometry = &self.geometry;
        for (name, size) in [
            ("transfer_size", geometry.transfer_size),
            ("block_size", geometry.block_size),
            ("segments", geometry.segments),
            ("queue_depth", u64::from(self.queue_depth)),
        ] {
            if size == 0 {
                return Err(SpecError::Zero(name));
            }
        }
        if geometry.transfer_size > 1 << 30 {
            return Err(SpecError::TransferTooLarge(geometry.transfer_size));
        }
        if !geometry.block_size.is_multiple_of(geometry.transfer_size) {
            return Err(SpecError::NotMultiple { block_size: geometry.block_size, transfer_size: geometry.transfer_size });
        }
        let blocks = if geometry.layout == Layout::Shared { u64::from(tasks.total) } else { 1 };
        let bytes = geometry.block_size.checked_mul(geometry.segments).and_then(|b| b.checked_mul(blocks));
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            return Err(SpecError::TooLarge);
        }
        if self.verify && self.payload == PayloadKind::Constant {
            return Err(SpecError::VerifyConstant);
        }
        Ok(())
    }
}
