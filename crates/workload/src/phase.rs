//! One timed step of a workload, as the front asks for it.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, CheckpointStep};
use crate::command::Command;
use crate::common_settings::TaskRange;
use crate::files::Files;
use crate::find::Find;
use crate::kv_cache::KvCache;
use crate::phase_limit::Limit;
use crate::rate_limits::RateLimits;
use crate::spec_error::SpecError;
use crate::stream::Stream;
use crate::tail::Tail;
use crate::training::Training;

/// What the tasks of a phase do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Work {
    /// Transfers of one size.
    Stream(Stream),
    /// Names: many small files and directories.
    Files(Files),
    /// A writer and readers that follow the growing file.
    Tail(Tail),
    /// Copies of a command.
    Command(Command),
    /// A search for files.
    Find(Find),
    /// Rounds of writing, with or without a snapshot each.
    Checkpoint(Checkpoint),
    /// Accelerators that are fed with samples.
    Training(Training),
    /// Users of an inference server whose cache is on the storage.
    #[serde(rename = "kv-cache")]
    KvCache(KvCache),
}

/// One phase: everything that the engine or the simulator has to know. It crosses from Python as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Name of the record (`0007-write`), for messages.
    pub record: String,
    /// Which tasks run here.
    pub tasks: TaskRange,
    /// So many tasks share a host before the next one takes any, where the storage is a model that knows of hosts;
    /// `None`: all share one.
    #[serde(default)]
    pub tasks_per_node: Option<u32>,
    /// When the phase ends.
    #[serde(default)]
    pub limit: Limit,
    /// When operations start.
    #[serde(default)]
    pub pace: RateLimits,
    /// Memory that each process holds and touches during the phase, in bytes, so that less is left for the page cache.
    #[serde(default)]
    pub hog_bytes: u64,
    /// Operations of each task that are kept one by one, with their end and their latency: the first so many.
    #[serde(default)]
    pub operation_log: u32,
    /// Seed of orders and payloads. A read verifies against the payload of the same seed.
    pub seed: u64,
    /// Length of an interval of the series.
    #[serde(default = "tenth_of_a_second")]
    pub interval_ns: u64,
    /// What the tasks do.
    pub work: Work,
}

const fn tenth_of_a_second() -> u64 {
    100_000_000
}

impl Work {
    /// Whether some operations write and some read.
    #[must_use]
    pub const fn mixes(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.read_percent.is_some())
    }

    /// Whether the tasks wait for each other between opening, transferring and closing.
    #[must_use]
    pub const fn meets(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.barriers)
    }

    /// How often all tasks meet besides, at numbered points.
    #[must_use]
    pub fn meetings(&self) -> u32 {
        if let Self::Checkpoint(checkpoint) = self { checkpoint.meetings() } else { 0 }
    }

    /// Whether it is known of all operations that they move no bytes, or of none how many.
    const fn moves_nothing(&self) -> bool {
        match self {
            Self::Files(files) => files.moved_bytes() == 0,
            Self::Command(_) | Self::Find(_) => true,
            Self::Stream(_) | Self::Tail(_) | Self::Checkpoint(_) | Self::Training(_) | Self::KvCache(_) => false,
        }
    }

    /// Space that the work of `total` tasks takes at most, in bytes, where nothing ends it before; `None` where it takes
    /// none, or its kind has no files whose number and size are known.
    #[must_use]
    pub fn takes_bytes(&self, total: u32) -> Option<u64> {
        match self {
            // What mixes works on files that are there.
            Self::Stream(stream) => (!stream.reads()).then(|| stream.all_bytes(total)),
            Self::Files(files) => files.takes_bytes(total),
            Self::Tail(_) | Self::Command(_) | Self::Find(_) | Self::Checkpoint(_) | Self::Training(_) | Self::KvCache(_) => None,
        }
    }

    /// Whether bytes that are read are checked.
    #[must_use]
    pub const fn verifies(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.verify,
            Self::Files(files) => files.verify || files.check_written && files.op.writes(),
            Self::Tail(tail) => tail.verify,
            Self::Command(_) | Self::Find(_) | Self::Training(_) | Self::KvCache(_) => false,
            Self::Checkpoint(checkpoint) => checkpoint.verify && matches!(checkpoint.step, CheckpointStep::Restart),
        }
    }
}

impl PhaseSpec {
    /// Checks everything that a storage needs not be asked about.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.interval_ns == 0 {
            return Err(SpecError::Zero("interval_ns"));
        }
        if self.tasks_per_node == Some(0) {
            return Err(SpecError::Zero("tasks_per_node"));
        }
        let TaskRange { first, here, total } = self.tasks;
        if here == 0 || u64::from(first) + u64::from(here) > u64::from(total) {
            return Err(SpecError::Tasks { first, here, total });
        }
        self.limit.check()?;
        self.pace.check()?;
        self.check_once()?;
        if self.pace.bytes_per_s.is_some() && self.work.moves_nothing() {
            return Err(SpecError::NothingMoves);
        }
        match &self.work {
            Work::Stream(stream) => stream.check(self.tasks),
            Work::Files(files) => files.check(self.tasks),
            Work::Tail(tail) => tail.check(self.tasks),
            Work::Command(command) => command.check(),
            Work::Find(find) => find.check(),
            Work::Checkpoint(_) if self.limit != Limit::default() || self.pace != RateLimits::default() => {
                Err(SpecError::LimitedRounds)
            }
            Work::Checkpoint(checkpoint) => checkpoint.check(self.tasks),
            Work::Training(_) if self.pace != RateLimits::default() => Err(SpecError::ComputingPaces),
            Work::Training(training) => training.check(self.tasks),
            Work::KvCache(_) if self.pace != RateLimits::default() => Err(SpecError::ThinkingPaces),
            Work::KvCache(kv_cache) => kv_cache.check(self.tasks),
        }
    }

    /// Refuses what would let work begin again that cannot: nothing that was asked for is left undone in silence.
    const fn check_once(&self) -> Result<(), SpecError> {
        let why = match self.work {
            Work::Files(_) => "a files phase makes one pass over its names",
            Work::Tail(_) => "the writer of a tail never begins again",
            Work::Command(_) => "each copy of a command runs once",
            Work::Find(_) => "a search looks at each file once",
            Work::Training(_) => "a training phase has epochs",
            Work::KvCache(_) => "the turns of users have their times",
            Work::Stream(_) | Work::Checkpoint(_) => return Ok(()),
        };
        let wears = self.limit.wear_out && !matches!(self.work, Work::Files(_));
        match (self.limit.wrap, self.limit.min_time_ns > 0, wears) {
            (true, ..) => Err(SpecError::Once(why, "limit.wrap")),
            (_, true, _) => Err(SpecError::Once(why, "limit.min_time_ns")),
            (.., true) => Err(SpecError::Once(why, "limit.wear_out")),
            (false, false, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(work: &str, more: &str) -> Result<(), SpecError> {
        let tasks = r#"{"here": 2, "total": 2}"#;
        let text = format!(r#"{{"record": "a", "tasks": {tasks}, "seed": 1, "work": {work}{more}}}"#);
        serde_json::from_str::<PhaseSpec>(&text).expect("a spec").check()
    }

    const FILES: &str = r#"{"kind": "files", "op": "OP", "file_bytes": 10, "cache": "keep", "tree":
        {"depth": 0, "branch": 0, "items_per_directory": 5, "leaves_only": false, "shared": false}}"#;
    const COMMAND: &str = r#"{"kind": "command", "argv": ["true"], "copies": 5, "directory": "/"}"#;
    const TAIL: &str = r#"{"kind": "tail", "transfer_size": 1, "file_bytes": 5, "follow": "whole", "waiting": "poll",
        "poll_ns": 1, "durability": "none"}"#;

    #[test]
    fn what_is_worked_on_once_is_asked_for_nothing_more() {
        let stat = FILES.replace("OP", "stat");
        for (key, value) in [("wrap", "true"), ("min_time_ns", "5"), ("wear_out", "true")] {
            let limit = format!(r#", "limit": {{"time_ns": 10, "{key}": {value}}}"#);
            for (work, refused) in [(stat.as_str(), key != "wear_out"), (COMMAND, true), (TAIL, true)] {
                let found = spec(work, &limit).map_err(|error| error.to_string());
                assert_eq!(found.is_err(), refused, "{key}: {found:?}");
                let named = |error: String| error.ends_with(&format!("; leave limit.{key} out"));
                assert!(found.err().is_none_or(named), "{key}");
            }
        }
        let both = r#", "limit": {"time_ns": 10, "min_time_ns": 5, "wear_out": true}"#;
        let text = "a files phase makes one pass over its names; leave limit.min_time_ns out";
        assert_eq!(spec(&stat, both).expect_err("no second pass").to_string(), text);
    }

    #[test]
    fn a_rate_in_bytes_is_refused_where_operations_move_none() {
        let rate = r#", "pace": {"bytes_per_s": 1000}"#;
        for (op, refused) in [("stat", true), ("remove", true), ("make-tree", true), ("create", false), ("read", false)] {
            assert_eq!(spec(&FILES.replace("OP", op), rate).is_err(), refused, "{op}");
        }
        let empty = FILES.replace("OP", "create").replace(": 10", ": 0");
        assert_eq!(spec(&empty, rate), Err(SpecError::NothingMoves));
        assert_eq!(
            spec(&FILES.replace("OP", "create").replacen('{', r#"{"mknod": true, "#, 1), rate),
            Err(SpecError::NothingMoves)
        );
        assert_eq!(spec(COMMAND, rate), Err(SpecError::NothingMoves), "what a copy moves is known when it has");
        assert_eq!(spec(TAIL, rate), Ok(()));
    }
}
