//! The result of a phase. Field names are those of `docs/record-format.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kv_cache::KvCacheResult;
use crate::object_placement::PlacementResult;
use crate::training::TrainingResult;

/// What ended a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// Every task moved its block.
    Size,
    /// The time limit.
    Time,
    /// The user, or a signal.
    Interrupted,
    /// An operation failed.
    Error,
}

/// Quantiles of the latency of one operation, from the histogram (three significant digits).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name is the quantile")]
pub struct LatencySummary {
    pub count: u64,
    pub min_ns: u64,
    pub mean_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// An operation that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "plain facts")]
pub struct ErrorAt {
    pub task: u32,
    pub file: u32,
    pub offset: u64,
    /// The operating system's error number; 0 where the error is not the system's (a file that is too short).
    pub errno: i32,
    pub message: String,
}

/// A damaged transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "plain facts")]
pub struct DamageAt {
    pub task: u32,
    pub file: u32,
    pub offset: u64,
    pub what: String,
}

/// Outcome of verified reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// Bytes that were checked.
    pub checked_bytes: u64,
    /// Operations with at least one damaged byte.
    pub damaged_operations: u64,
    /// The first places, at most 16.
    pub first_damage: Vec<DamageAt>,
}

/// What the page cache and the device had to do with a read phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheFacts {
    /// Bytes of the files in the page cache just before the phase; `None` if the kernel does not say.
    pub cached_before_bytes: Option<u64>,
    /// Bytes of the files that were looked at.
    pub examined_bytes: Option<u64>,
    /// Bytes the kernel fetched from a device for this process during the phase; `None` if it does not say.
    pub device_bytes: Option<u64>,
    /// Bytes of the files that no block holds, which read as zeros at the speed of memory; `None` if it is not known.
    pub hole_bytes: Option<u64>,
}

/// A fallback that was taken, or a fact a finding may stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Stable, kebab-case.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// Something that happened during a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// On the run's clock.
    pub time_ns: u64,
    /// Stable, kebab-case: `stall`, `retry`.
    pub kind: String,
    /// The task it happened to.
    pub task: Option<u32>,
    /// How long it lasted, where that means anything.
    pub duration_ns: Option<u64>,
    /// Of a `retry`: attempts that failed and were followed by another.
    pub attempts: Option<u64>,
    /// What there is to say.
    pub message: Option<String>,
}

/// What a task is in its trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its bytes and operations are what the trial measures.
    #[default]
    Work,
    /// It follows what others write: kept apart, and in no total of the trial.
    Follow,
    /// It writes the checkpoints of a training, whose reads are what the trial measures: kept apart as well.
    Save,
}

/// What one kind of operation did in a phase that mixes several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct OperationResult {
    /// `write` or `read`.
    pub op: String,
    pub bytes: u64,
    pub operations: u64,
    pub latency: LatencySummary,
}

/// How readers followed a writer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct FollowResult {
    pub readers: u32,
    /// Read by all readers.
    pub bytes: u64,
    /// Time from the end of a transfer's write to the end of its read, over all readers' reads (`_ns` as everywhere).
    pub lag: LatencySummary,
    /// The furthest that a reader was behind the writer.
    pub max_lag_bytes: u64,
    /// How often readers found nothing to read.
    pub waits: u64,
    /// Bytes the kernel fetched from a device for this process meanwhile; `None` if it does not say. Where this is far
    /// below `bytes`, the readers were served by the cache of the host that wrote.
    pub device_bytes: Option<u64>,
}

/// One copy of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct CopyResult {
    pub copy: u32,
    pub task: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// What it returned; `None` where a signal ended it, or it never started.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Why it never started.
    pub error: Option<String>,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    /// How long it could have run and had no processor: its first thread's (`/proc/<pid>/schedstat`); `None` where the
    /// kernel does not say.
    pub run_delay_ns: Option<u64>,
    /// The most memory it had; `None` where that was less than what the process that started it had, which the kernel
    /// counts as well.
    pub max_resident_bytes: Option<u64>,
    /// Read and write calls, bytes through them, and bytes that went from and to devices, of it and the children it
    /// waited for (`/proc/<pid>/io`); `None` where the kernel does not say.
    pub read_calls: Option<u64>,
    pub write_calls: Option<u64>,
    pub read_call_bytes: Option<u64>,
    pub write_call_bytes: Option<u64>,
    pub device_read_bytes: Option<u64>,
    pub device_write_bytes: Option<u64>,
}

/// When the tasks of a round began and ended. Instants are on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct RoundWindow {
    pub first_begin_ns: u64,
    pub last_begin_ns: u64,
    pub first_end_ns: u64,
    pub last_end_ns: u64,
    /// The longest time that a snapshot of it took; 0 where there is none.
    pub snapshot_ns: u64,
}

impl RoundWindow {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            first_begin_ns: self.first_begin_ns.min(other.first_begin_ns),
            last_begin_ns: self.last_begin_ns.max(other.last_begin_ns),
            first_end_ns: self.first_end_ns.min(other.first_end_ns),
            last_end_ns: self.last_end_ns.max(other.last_end_ns),
            snapshot_ns: self.snapshot_ns.max(other.snapshot_ns),
        }
    }
}

/// Five numbers, in the order of the fields: a phase has thousands of them.
impl Serialize for RoundWindow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { first_begin_ns, last_begin_ns, first_end_ns, last_end_ns, snapshot_ns } = *self;
        [first_begin_ns, last_begin_ns, first_end_ns, last_end_ns, snapshot_ns].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RoundWindow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [first_begin_ns, last_begin_ns, first_end_ns, last_end_ns, snapshot_ns] = Deserialize::deserialize(deserializer)?;
        Ok(Self { first_begin_ns, last_begin_ns, first_end_ns, last_end_ns, snapshot_ns })
    }
}

/// The rounds of a `checkpoint` phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct CheckpointResult {
    /// `checkpoint`, `restart` or `drop`.
    pub step: String,
    /// `together` or `each`.
    pub coordination: String,
    /// Rounds that every task completed.
    pub rounds: u32,
    /// `together`: the sum over all rounds of the time from the first begin to the last end. `each`: the largest, over
    /// all tasks, of the sum of its times from begin to end.
    pub checkpoint_ns: u64,
    /// Pauses of a task; the largest sum.
    pub think_ns: u64,
    /// Taking all snapshots; in a `drop`, removing them.
    pub snapshot_ns: u64,
    pub snapshot: LatencySummary,
    /// Of a `drop`: removing the data.
    pub leftovers_ns: u64,
    /// One a round, of a `checkpoint`.
    pub windows: Vec<RoundWindow>,
}

impl CheckpointResult {
    /// The sum over all rounds of the time from the first begin to the last end.
    #[must_use]
    pub fn windows_ns(&self) -> u64 {
        self.windows.iter().map(|window| window.last_end_ns.saturating_sub(window.first_begin_ns)).sum()
    }
}

/// One task's part of a phase. `start_ns` and `end_ns` are on the run's clock, the rest are durations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct TaskResult {
    pub task: u32,
    pub role: Role,
    pub start_ns: u64,
    pub end_ns: u64,
    pub open_ns: u64,
    pub transfer_ns: u64,
    pub sync_ns: u64,
    pub close_ns: u64,
    /// Waits at the barriers after opening and before closing, where the phase has them (`barriers`).
    pub open_wait_ns: u64,
    pub close_wait_ns: u64,
    pub bytes: u64,
    pub operations: u64,
    pub errors: u64,
    /// Attempts that failed and were followed by another (`retry_ns`).
    pub retries: u64,
    pub damaged_operations: u64,
    pub wrapped: bool,
    /// What it had done when the time was up, where it then went on to wear out (`limit.wear_out`).
    pub stonewall_operations: Option<u64>,
    pub stonewall_bytes: Option<u64>,
    /// Of a task whose time was up: how long its start-up took, which is its first operations, as many as it keeps in
    /// flight, and their bytes.
    pub startup_ns: Option<u64>,
    pub startup_bytes: Option<u64>,
    pub latency: LatencySummary,
    /// Of a follower only: the longest from the end of a transfer's write to the end of its read here…
    pub max_lag_ns: Option<u64>,
    /// …and the most that was written and not yet read here.
    pub max_lag_bytes: Option<u64>,
    /// Of a `find` phase only: files that match, of those that it looked at.
    pub found: Option<u64>,
}

/// Everything a phase leaves behind but its series and histograms, which are in files by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct PhaseResult {
    pub stop_reason: StopReason,
    pub tasks: Vec<TaskResult>,
    /// Over the tasks here that work ([`Role::Work`]).
    pub latency: LatencySummary,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub direct: bool,
    /// Read phases only.
    pub cache: Option<CacheFacts>,
    /// Where reads were verified.
    pub verify: Option<VerifyResult>,
    pub first_error: Option<ErrorAt>,
    pub facts: BTreeMap<String, bool>,
    /// Of MPI, those in effect.
    pub hints: BTreeMap<String, String>,
    pub notes: Vec<Note>,
    pub events: Vec<Event>,
    /// One for each kind of operation, where a phase mixes several.
    pub parts: Vec<OperationResult>,
    /// Of a `tail` phase with readers.
    pub follow: Option<FollowResult>,
    /// Of a `command` phase, by number.
    pub copies: Vec<CopyResult>,
    /// Of a `checkpoint` phase.
    pub checkpoint: Option<CheckpointResult>,
    /// Of a `find` phase: files that match.
    pub found: Option<u64>,
    /// Of a `training` phase.
    #[serde(default)]
    pub training: Option<TrainingResult>,
    /// Of a `kv-cache` phase.
    #[serde(default)]
    pub kv_cache: Option<KvCacheResult>,
    /// Where the storage says where its objects are.
    pub placement: Option<PlacementResult>,
}
