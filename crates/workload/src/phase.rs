//! One timed step of a workload, as the front asks for it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointStep, MOST_ROUNDS};
use crate::command::Command;
use crate::files::Files;
use crate::limit::Limit;
use crate::pace::Pace;
use crate::stream::Stream;
use crate::tail::Tail;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Write one transfer.
    Write,
    /// Read one transfer.
    Read,
}

/// When written data is made durable, inside the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Never.
    None,
    /// One fsync of the file after the task's last write.
    Fsync,
    /// An fsync after each write; its time counts in the operation's latency.
    FsyncEach,
}

/// What happens to the files' pages in the cache before a read phase starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CachePolicy {
    /// Leave the cache as it is; what is in it is measured and reported.
    Keep,
    /// Write back and drop the files' pages first (`posix_fadvise`, needs no privilege).
    Drop,
}

/// Which tasks of the trial run in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRange {
    /// Number of the first one.
    #[serde(default)]
    pub first: u32,
    /// How many run here.
    pub here: u32,
    /// How many run in the whole trial.
    pub total: u32,
}

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
    /// Rounds of writing, with or without a snapshot each.
    Checkpoint(Checkpoint),
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
    pub pace: Pace,
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

/// Why a [`PhaseSpec`] cannot be run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// A size or a number is zero.
    #[error("{0} is 0; give at least 1")]
    Zero(&'static str),
    /// The block is not made of whole transfers.
    #[error("block_size {block_size} is not a multiple of transfer_size {transfer_size}")]
    NotMultiple {
        /// As given.
        block_size: u64,
        /// As given.
        transfer_size: u64,
    },
    /// No tasks, or more than there are in the trial.
    #[error("tasks {first}+{here} do not fit in a trial of {total}")]
    Tasks {
        /// As given.
        first: u32,
        /// As given.
        here: u32,
        /// As given.
        total: u32,
    },
    /// Wrapping never ends without a limit of time or operations.
    #[error("limit.wrap needs limit.time_ns or limit.operations, or the phase would never end")]
    Endless,
    /// There is one time limit, and what is done beyond it must have an end.
    #[error("limit.wear_out needs limit.time_ns, and ends after one pass: leave limit.wrap out")]
    WearOut,
    /// The phase would have to end before it may.
    #[error("limit.min_time_ns {least} is above limit.time_ns {most}")]
    MinTime {
        /// As given.
        least: u64,
        /// As given.
        most: u64,
    },
    /// Operations cannot come at two rates.
    #[error("pace has both operations_per_s and bytes_per_s; give one")]
    TwoRates,
    /// A pause between operations contradicts starts that are fixed beforehand.
    #[error("pace.think_ns is for tasks that wait for their operations; leave it out where a rate is given")]
    ThinkingAtRate,
    /// A share that leaves nothing to mix.
    #[error("read_percent {0} mixes nothing; give 1 to 99, or op alone")]
    Percent(u8),
    /// A file would be larger than an offset can say.
    #[error("the file would be larger than 2^63 bytes; make block_size, segments or tasks smaller")]
    TooLarge,
    /// A tree with more names than can be counted.
    #[error("the tree would have more than 2^32 directories or 2^64 items; make depth, branch or items smaller")]
    TreeTooLarge,
    /// A tree with more levels than directories may be held open.
    #[error("depth {0} is above the 100 levels that a tree may have")]
    TreeTooDeep(u32),
    /// Numbers of items for other tasks than there are.
    #[error("counts has {given} numbers for {tasks} tasks")]
    Counts {
        /// As given.
        given: usize,
        /// As given.
        tasks: u32,
    },
    /// A tail phase is one process.
    #[error("the writer of a tail and its readers run in one process; use the local launcher")]
    TailApart,
    /// What is worked on once cannot be begun again.
    #[error("{0}; leave {1} out")]
    Once(&'static str, &'static str),
    /// A rate of what no operation moves.
    #[error("pace.bytes_per_s needs operations that move bytes; give pace.operations_per_s")]
    NothingMoves,
    /// Verification needs to know what was written.
    #[error("verify needs the unique payload; a constant one cannot tell one place from another")]
    VerifyConstant,
    /// A transfer must fit in one system call.
    #[error("transfer_size {0} is above the 1 GiB that one call can carry")]
    TransferTooLarge(u64),
    /// More rounds than a result has room for.
    #[error("rounds {0} is above the {MOST_ROUNDS} that a phase may have")]
    Rounds(u32),
    /// Rounds have a number and pauses of their own.
    #[error("limit and pace are not for checkpoints; give rounds and think_ns")]
    LimitedRounds,
    /// A round that never was.
    #[error("of_round {round} is not among the {rounds} rounds, which count from 0")]
    NoRound {
        /// As given.
        round: u32,
        /// As given.
        rounds: u32,
    },
    /// A round that another one wrote over.
    #[error("round {0} was overwritten by the next; take snapshots, or read the newest")]
    NoSnapshot(u32),
    /// No part of a shared file is one task's own.
    #[error("a snapshot by each task needs a file per task; use coordination together, or layout file-per-task")]
    SharedSnapshot,
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
            Self::Command(_) => true,
            Self::Stream(_) | Self::Tail(_) | Self::Checkpoint(_) => false,
        }
    }

    /// Whether bytes that are read are checked.
    #[must_use]
    pub const fn verifies(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.verify,
            Self::Files(files) => files.verify || files.check_written && files.op.writes(),
            Self::Tail(tail) => tail.verify,
            Self::Command(_) => false,
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
            Work::Checkpoint(_) if self.limit != Limit::default() || self.pace != Pace::default() => {
                Err(SpecError::LimitedRounds)
            }
            Work::Checkpoint(checkpoint) => checkpoint.check(self.tasks),
        }
    }

    /// Refuses what would let work begin again that cannot: nothing that was asked for is left undone in silence.
    const fn check_once(&self) -> Result<(), SpecError> {
        let why = match self.work {
            Work::Files(_) => "a files phase makes one pass over its names",
            Work::Tail(_) => "the writer of a tail never begins again",
            Work::Command(_) => "each copy of a command runs once",
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
