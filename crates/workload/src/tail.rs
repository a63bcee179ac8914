//! `tail`: one writer, and readers that follow the growing file.

use serde::{Deserialize, Serialize};

use crate::common_settings::{Durability, TaskRange};
use crate::spec_error::SpecError;

/// What part of the file each reader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadShare {
    /// All of it.
    Whole,
    /// Its own 1/N: transfers are dealt to the readers in turn.
    Share,
}

/// What a reader does at the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Looks again after [`Tail::poll_ns`].
    Poll,
    /// Waits for an inotify event (and looks again every second, since a network file system sends none).
    Notify,
}

/// A writer and its followers. Task 0 writes at the phase's pace; tasks 1… read. The phase ends when the writer is done
/// (size or time) and every reader has read what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Bytes of one operation, of the writer and of the readers.
    pub transfer_size: u64,
    /// Bytes that the writer writes; whole transfers.
    pub file_bytes: u64,
    /// What each reader reads.
    pub follow: ReadShare,
    /// What a reader does at the end of the file.
    pub waiting: Waiting,
    /// Pause of a polling reader.
    pub poll_ns: u64,
    /// How long after the writer's end the readers may still read what it wrote; then they have failed.
    #[serde(default = "a_minute")]
    pub grace_ns: u64,
    /// fsync policy of the writer.
    pub durability: Durability,
    /// Readers check every byte.
    #[serde(default)]
    pub verify: bool,
}

const fn a_minute() -> u64 {
    60_000_000_000
}

impl Tail {
    /// Operations that write the whole file.
    #[must_use]
    pub const fn transfers(&self) -> u64 {
        self.file_bytes / self.transfer_size
    }

    /// What is said of a reader that did not read all in the time that it had after the writer's end.
    #[must_use]
    pub fn given_up(&self, reader: u32, behind_bytes: u64) -> String {
        let grace_s = self.grace_ns as f64 / 1e9;
        format!("reader {reader} is still {behind_bytes} bytes behind {grace_s} s after the writer's end")
    }

    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        for (name, size) in [("transfer_size", self.transfer_size), ("file_bytes", self.file_bytes), ("poll_ns", self.poll_ns)] {
            if size == 0 {
                return Err(SpecError::Zero(name));
            }
        }
        if self.transfer_size > 1 << 30 {
            return Err(SpecError::TransferTooLarge(self.transfer_size));
        }
        if !self.file_bytes.is_multiple_of(self.transfer_size) {
            return Err(SpecError::NotMultiple { block_size: self.file_bytes, transfer_size: self.transfer_size });
        }
        if self.file_bytes > i64::MAX as u64 {
            return Err(SpecError::TooLarge);
        }
        if tasks.first != 0 || tasks.here != tasks.total {
            return Err(SpecError::TailApart);
        }
        Ok(())
    }
}
