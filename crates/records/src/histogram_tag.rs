//! Whose histogram one of `latency/` is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::result::Role;

/// Whose histogram it is: its tag in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tagged {
    /// Latencies of a task that works: `task-<n>`. All of these together are the phase's.
    Task(u32),
    /// Latencies of a task that follows: `follow-<n>`.
    Follow(u32),
    /// Latencies of a task that writes checkpoints of a training: `save-<n>`.
    Save(u32),
    /// How far a follower was behind: `lag-<n>`.
    Lag(u32),
    /// What a task's snapshots took: `snapshot-<n>`.
    Snapshot(u32),
}

/// What the latencies of all snapshots together are called where those of several processes are added.
pub const SNAPSHOTS: &str = "snapshot";

impl Tagged {
    /// That of the latencies of a task.
    #[must_use]
    pub const fn of(role: Role, task: u32) -> Self {
        match role {
            Role::Work => Self::Task(task),
            Role::Follow => Self::Follow(task),
            Role::Save => Self::Save(task),
        }
    }
}

impl From<u32> for Tagged {
    fn from(task: u32) -> Self {
        Self::Task(task)
    }
}

impl fmt::Display for Tagged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(out, "task-{task}"),
            Self::Follow(task) => write!(out, "follow-{task}"),
            Self::Save(task) => write!(out, "save-{task}"),
            Self::Lag(task) => write!(out, "lag-{task}"),
            Self::Snapshot(task) => write!(out, "{SNAPSHOTS}-{task}"),
        }
    }
}
