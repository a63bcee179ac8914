//! Why a phase cannot be run, in one line each.

use thiserror::Error;

use crate::common_settings::MOST_ROUNDS;

/// Why a [`PhaseSpec`](crate::PhaseSpec) cannot be run.
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
    /// The readers of a training phase are one process.
    #[error(
        "accelerators and their readers run in one process, readers × accelerators tasks of it, at most 65536 of each; use the local launcher"
    )]
    TrainingApart,
    /// When samples are read follows from when batches are taken.
    #[error("the pace of training is what its accelerators compute; leave pace out")]
    ComputingPaces,
    /// Blocks of steps between checkpoints in which nothing is measured, or no checkpoint at all.
    #[error(
        "a checkpoint every {every} steps of {steps}; use 2 up to all of them, for the first step after one counts for nothing"
    )]
    SavingSteps {
        /// As given.
        every: u64,
        /// Of an epoch.
        steps: u64,
    },
    /// Not one batch for each accelerator.
    #[error(
        "a data set of {samples} samples has no batch for each of {accelerators} accelerators; use more files or fewer accelerators"
    )]
    NoBatch {
        /// Of the data set.
        samples: u64,
        /// As given.
        accelerators: u32,
    },
    /// The users of a kv-cache phase are one process.
    #[error("the users of a key-value cache run in one process; use the local launcher")]
    UsersApart,
    /// When turns begin follows from how long users think.
    #[error("the pace of a key-value cache is what its users think; leave pace out")]
    ThinkingPaces,
    /// More files, or bytes, than a cache may have.
    #[error("the cache would have more than 2^24 files or 2^63 bytes; make its capacity, or its conversations, smaller")]
    CacheTooLarge,
    /// More turns than a result has room for.
    #[error("users would have more than {0} turns; make the duration shorter, or let them think longer")]
    TooManyTurns(u64),
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
