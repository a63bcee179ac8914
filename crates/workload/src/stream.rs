//! `stream`: tasks that write or read transfers of one size.

use serde::{Deserialize, Serialize};

use crate::common_settings::{CachePolicy, Durability, Op, TaskRange};
use crate::geometry::{Access, Geometry, Layout, Offsets};
use crate::integer_mixing::{SplitMix64, mix64};
use crate::payload::PayloadKind;
use crate::source::Source;
use crate::spec_error::SpecError;

/// A stream of transfers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Stream {
    /// What each operation does.
    pub op: Op,
    /// Of 100 operations, how many are reads, drawn at random; the files must be there. `None`: `op` says it for all.
    #[serde(default)]
    pub read_percent: Option<u8>,
    /// Where the operations go.
    pub geometry: Geometry,
    /// Whose region each task works on.
    #[serde(default)]
    pub source: Source,
    /// Operations in flight at once in each task; 1 is synchronous.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// fsync policy of a write phase.
    pub durability: Durability,
    /// Cache policy of a read phase.
    pub cache: CachePolicy,
    /// Reserve each file's whole space when a write opens it, inside the clock.
    #[serde(default)]
    pub preallocate: bool,
    /// Bytes that are written, or expected when `verify` is set.
    #[serde(default)]
    pub payload: PayloadKind,
    /// All tasks wait for each other after opening and before closing, so that each step has a time of its own.
    #[serde(default)]
    pub barriers: bool,
    /// A call that moves less than a whole transfer is a failure; else it is followed by another for the rest.
    #[serde(default)]
    pub single_attempt: bool,
    /// A read or write that failed for a reason that may pass is tried again for so long; `None`: it fails the phase.
    #[serde(default)]
    pub retry_ns: Option<u64>,
    /// Seed of the order in which offsets are visited; `None`: the phase's, which is also the payload's.
    #[serde(default)]
    pub order_seed: Option<u64>,
    /// With [`Access::RandomBlocks`]: bytes of a file from which blocks are drawn; `None`: those of a pass.
    #[serde(default)]
    pub spread_bytes: Option<u64>,
    /// All tasks of a file make each transfer together: a storage of MPI-IO does, and a model with aggregators.
    #[serde(default)]
    pub collective: bool,
    /// Check every byte that is read (only with [`PayloadKind::Unique`]).
    #[serde(default)]
    pub verify: bool,
}

const fn one() -> u32 {
    1
}

impl Stream {
    /// A plain stream: synchronous, on each task's own region, not durable, the cache left alone, unique payload.
    #[must_use]
    pub const fn new(op: Op, geometry: Geometry) -> Self {
        Self {
            op,
            read_percent: None,
            geometry,
            source: Source::Own,
            queue_depth: 1,
            durability: Durability::None,
            cache: CachePolicy::Keep,
            preallocate: false,
            payload: PayloadKind::Unique,
            barriers: false,
            single_attempt: false,
            retry_ns: None,
            order_seed: None,
            spread_bytes: None,
            collective: false,
            verify: false,
        }
    }

    /// Whether the end of an operation may leave its bytes to the fsync after the last one, where a cache takes them.
    #[must_use]
    pub fn leaves_to_sync(&self) -> bool {
        self.writes() && self.durability == Durability::Fsync
    }

    /// Whether any operation reads: what it reads must be there.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.op == Op::Read || self.read_percent.is_some()
    }

    /// Whether any operation writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.op == Op::Write || self.read_percent.is_some()
    }

    /// The task whose region `task` of `tasks` works on: file and block.
    #[must_use]
    pub fn source_task(&self, task: u32, tasks: u32) -> u32 {
        self.source.task(task, tasks)
    }

    /// The file that `task` of `tasks` works on.
    #[must_use]
    pub fn file(&self, task: u32, tasks: u32) -> u32 {
        self.geometry.file(self.source_task(task, tasks))
    }

    /// The files that the tasks of one process work on, each once.
    #[must_use]
    pub fn files(&self, tasks: TaskRange) -> Vec<u32> {
        let mut files: Vec<u32> = (tasks.first..tasks.first + tasks.here).map(|task| self.file(task, tasks.total)).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The offsets that `task` of `tasks` visits, in order, endlessly. `seed` is the phase's.
    #[must_use]
    pub fn offsets(&self, task: u32, tasks: u32, seed: u64) -> Offsets {
        let offsets = self.geometry.offsets(self.source_task(task, tasks), tasks, self.order_seed.unwrap_or(seed));
        if let Some(bytes) = self.spread_bytes { offsets.spread_over(bytes) } else { offsets }
    }

    /// Bytes of one file when `tasks` tasks have each made one pass.
    #[must_use]
    pub fn file_bytes(&self, tasks: u32) -> u64 {
        self.spread().unwrap_or_else(|| self.geometry.file_bytes(tasks))
    }

    /// Bytes of all files of `tasks` tasks, at most.
    pub(crate) fn all_bytes(&self, tasks: u32) -> u64 {
        let files = if self.geometry.layout == Layout::Shared { 1 } else { u64::from(tasks) };
        self.file_bytes(tasks).saturating_mul(files)
    }

    /// Whole blocks of the part of a file from which they are drawn, if that is given.
    fn spread(&self) -> Option<u64> {
        let block = self.geometry.block_size.max(1);
        self.spread_bytes.filter(|_| self.geometry.access == Access::RandomBlocks).map(|bytes| (bytes / block).max(1) * block)
    }

    /// Bytes that a file must hold for each of `tasks` tasks to visit its first `operations` transfers (`None`: all).
    #[must_use]
    pub fn reach_bytes(&self, tasks: u32, seed: u64, operations: Option<u64>) -> u64 {
        self.spread().unwrap_or_else(|| self.geometry.reach_bytes(tasks, self.order_seed.unwrap_or(seed), operations))
    }

    /// What the operations of `task` do, in order, endlessly.
    #[must_use]
    pub fn ops(&self, task: u32, seed: u64) -> Ops {
        let random = SplitMix64::new(mix64(seed ^ mix64(u64::from(task) ^ 0x6d69_7865_6421)));
        Ops { op: self.op, read_percent: self.read_percent, random }
    }

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
        if let Some(percent) = self.read_percent.filter(|percent| !(1..100).contains(percent)) {
            return Err(SpecError::Percent(percent));
        }
        if self.verify && self.payload == PayloadKind::Constant {
            return Err(SpecError::VerifyConstant);
        }
        Ok(())
    }
}

/// The first of `files` that has fewer than `needed` bytes, and how many it has.
pub fn first_below<E>(
    files: &[u32],
    needed: u64,
    mut length: impl FnMut(u32) -> Result<u64, E>,
) -> Result<Option<(u32, u64)>, E> {
    for &file in files {
        let actual = length(file)?;
        if actual < needed {
            return Ok(Some((file, actual)));
        }
    }
    Ok(None)
}

/// What one task's operations do, one after the other.
#[derive(Debug, Clone)]
pub struct Ops {
    op: Op,
    read_percent: Option<u8>,
    random: SplitMix64,
}

impl Ops {
    /// What the next operation does.
    #[inline]
    pub fn next_op(&mut self) -> Op {
        match self.read_percent {
            None => self.op,
            // The high bits as a fraction of 100: no division, and no bias that a phase could show.
            Some(percent) if (self.random.next_u64() >> 32) * 100 < u64::from(percent) << 32 => Op::Read,
            Some(_) => Op::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        let (layout, access) = (Layout::FilePerTask, Access::Sequential);
        Stream::new(Op::Write, Geometry { transfer_size: 1, block_size: 1, segments: 1, layout, access })
    }

    #[test]
    fn a_mix_has_the_share_of_reads_that_was_asked_and_is_the_same_again() {
        for percent in [1, 30, 70, 99] {
            let mixed = Stream { read_percent: Some(percent), ..stream() };
            let draw = |task, seed| {
                let mut ops = mixed.ops(task, seed);
                (0..100_000).map(|_| ops.next_op()).collect::<Vec<Op>>()
            };
            let reads = draw(0, 5).iter().filter(|&&op| op == Op::Read).count() as f64 / 1000.0;
            assert!((reads - f64::from(percent)).abs() < 0.6, "{reads} % for {percent}");
            assert_eq!(draw(0, 5), draw(0, 5));
            assert_ne!(draw(0, 5), draw(1, 5));
            assert_ne!(draw(0, 5), draw(0, 6));
        }
    }

    #[test]
    fn without_a_share_every_operation_is_the_one_named() {
        let mut ops = stream().ops(0, 1);
        assert!((0..1000).all(|_| ops.next_op() == Op::Write));
    }

    #[test]
    fn random_blocks_are_drawn_from_all_of_a_longer_or_shorter_file_than_a_pass_would_fill() {
        let geometry = Geometry { transfer_size: 512, block_size: 1024, segments: 100, ..stream().geometry };
        let geometry = Geometry { access: Access::RandomBlocks, ..geometry };
        for bytes in [10 * 1024 + 700, 1 << 30] {
            let spread = Stream { spread_bytes: Some(bytes), ..Stream::new(Op::Read, geometry.clone()) };
            let mut offsets = spread.offsets(0, 1, 7);
            let visited: Vec<u64> = (0..200).map(|_| offsets.next_offset()).collect();
            assert_eq!(visited[0], bytes / 1024 * 1024 - 1024, "the last whole block");
            assert!(visited.iter().all(|offset| offset + 512 <= bytes / 1024 * 1024));
            assert!(visited.iter().any(|&offset| offset > bytes / 2) && visited.iter().any(|&offset| offset < bytes / 2));
            assert_eq!(spread.reach_bytes(1, 7, Some(3)), bytes / 1024 * 1024);
        }
        let sequential = Geometry { access: Access::Sequential, ..geometry };
        let same = Stream { spread_bytes: Some(1 << 30), ..Stream::new(Op::Read, sequential) };
        assert_eq!((same.file_bytes(1), same.offsets(0, 1, 7).next_offset()), (102_400, 0), "no other order is changed");
    }

    #[test]
    fn a_share_that_mixes_nothing_is_refused() {
        let tasks = TaskRange { first: 0, here: 1, total: 1 };
        for percent in [0, 100, 255] {
            assert_eq!(Stream { read_percent: Some(percent), ..stream() }.check(tasks), Err(SpecError::Percent(percent)));
        }
    }

    #[test]
    fn fields_that_came_later_may_be_left_out() {
        let text = r#"{"op": "read", "geometry": {"transfer_size": 1, "block_size": 1, "layout": "shared", "access": "random"},
            "durability": "none", "cache": "keep"}"#;
        let old: Stream = serde_json::from_str(text).expect("an old stream");
        assert_eq!((old.source, old.read_percent, old.preallocate), (Source::Own, None, false));
        let shifted = text.replacen('{', r#"{"source": {"kind": "shift", "tasks": 3}, "#, 1);
        assert_eq!(serde_json::from_str::<Stream>(&shifted).expect("a shift").source, Source::Shift { tasks: 3 });
    }
}
