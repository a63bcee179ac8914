//! Where each operation goes: IOR's segments × blocks × transfers, in one of three orders.

use serde::{Deserialize, Serialize};

use crate::integer_mixing::mix64;
use crate::permutation::Permutation;

/// Whether each task has a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Task *t* owns file *t*.
    FilePerTask,
    /// All tasks share file 0; in each segment, task *t* owns block *t*.
    Shared,
}

/// In which order a task visits its transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Ascending offsets.
    Sequential,
    /// Every 16th transfer of the task's region, then again from the second, until each was visited once.
    Strided,
    /// A random order without repetition (a new one for every pass).
    Random,
    /// Whole blocks at random places of the file, drawn with repetition (IOR's `-z -z`); ascending inside a block. The
    /// first block that a file's first task visits is the last of the file, which so gets its length.
    RandomBlocks,
}

/// How far apart the transfers of a strided pass are, in transfers.
const STRIDE: u64 = 16;

/// Sizes and order of a stream of transfers. All sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Bytes of one operation.
    pub transfer_size: u64,
    /// Bytes a task moves in one segment; a multiple of `transfer_size`.
    pub block_size: u64,
    /// Number of segments.
    #[serde(default = "one")]
    pub segments: u64,
    /// A file per task or one shared file.
    pub layout: Layout,
    /// Order of the transfers.
    pub access: Access,
}

const fn one() -> u64 {
    1
}

/// Transfers whose offsets are looked at, to tell how far a phase reaches, at most.
const LONGEST_WALK: u64 = 1 << 22;

impl Geometry {
    /// The file that `task` of `tasks` works on.
    #[must_use]
    pub const fn file(&self, task: u32) -> u32 {
        match self.layout {
            Layout::FilePerTask => task,
            Layout::Shared => 0,
        }
    }

    /// Number of files that `tasks` tasks work on.
    #[must_use]
    pub const fn files(&self, tasks: u32) -> u32 {
        match self.layout {
            Layout::FilePerTask => tasks,
            Layout::Shared => 1,
        }
    }

    /// Bytes of one file when `tasks` tasks have each made one pass.
    #[must_use]
    pub const fn file_bytes(&self, tasks: u32) -> u64 {
        let blocks = match self.layout {
            Layout::FilePerTask => 1,
            Layout::Shared => tasks as u64,
        };
        self.segments * self.block_size * blocks
    }

    /// Bytes that a file must hold for each of `tasks` tasks to visit its first `operations` transfers (`None`: all).
    #[must_use]
    pub fn reach_bytes(&self, tasks: u32, seed: u64, operations: Option<u64>) -> u64 {
        let whole = self.file_bytes(tasks);
        let Some(count) = operations.filter(|&count| count > 0 && count < self.operations()) else { return whole };
        let one = if self.access == Access::Sequential { 1 } else { count };
        // An order that jumps has to be followed; one this long gets as far as the end.
        if u64::from(tasks).saturating_mul(one) > LONGEST_WALK {
            return whole;
        }
        let furthest = (0..tasks).map(|task| {
            let mut offsets = self.offsets(task, tasks, seed);
            if self.access == Access::Sequential {
                offsets.position = count - 1;
            }
            (0..one).map(|_| offsets.next_offset()).max().unwrap_or(0) + self.transfer_size
        });
        furthest.max().unwrap_or(whole)
    }

    /// Operations of one pass of one task.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.segments * (self.block_size / self.transfer_size)
    }

    /// The offsets that `task` of `tasks` visits, in order, endlessly.
    #[must_use]
    pub fn offsets(&self, task: u32, tasks: u32, seed: u64) -> Offsets {
        Offsets::new(self, task, tasks, seed)
    }
}

/// The offsets one task visits. Endless: after one pass of [`Geometry::operations`] it begins another.
#[derive(Debug, Clone)]
pub struct Offsets {
    transfer_size: u64,
    per_block: u64,
    base: u64,
    segment_stride: u64,
    count: u64,
    position: u64,
    pass: u64,
    seed: u64,
    one_block: bool,
    /// Its first random block is the last of the file.
    sets_length: bool,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    Sequential,
    Strided {
        next: u64,
        lane: u64,
    },
    Random(Permutation),
    /// The block in hand, of so many in the file.
    Blocks {
        block: u64,
        blocks: u64,
    },
}

impl Offsets {
    fn new(geometry: &Geometry, task: u32, tasks: u32, seed: u64) -> Self {
        let count = geometry.operations();
        let (base, segment_stride) = match geometry.layout {
            Layout::FilePerTask => (0, geometry.block_size),
            Layout::Shared => (u64::from(task) * geometry.block_size, u64::from(tasks) * geometry.block_size),
        };
        let blocks = geometry.segments * if geometry.layout == Layout::Shared { u64::from(tasks) } else { 1 };
        let seed = mix64(seed ^ (u64::from(task) << 32));
        Self {
            transfer_size: geometry.transfer_size,
            per_block: geometry.block_size / geometry.transfer_size,
            base: if geometry.access == Access::RandomBlocks { 0 } else { base },
            segment_stride,
            count,
            position: 0,
            pass: 0,
            seed,
            one_block: geometry.segments == 1
                || geometry.layout == Layout::FilePerTask
                || geometry.access == Access::RandomBlocks,
            sets_length: task == 0 || geometry.layout == Layout::FilePerTask,
            order: match geometry.access {
                Access::Sequential => Order::Sequential,
                Access::Strided => Order::Strided { next: 0, lane: 0 },
                Access::Random => Order::Random(Permutation::new(count, seed)),
                Access::RandomBlocks => Order::Blocks { block: blocks - 1, blocks },
            },
        }
    }

    /// The same, with random blocks drawn from the first `bytes` of the file. No other order is changed.
    #[must_use]
    pub fn spread_over(mut self, bytes: u64) -> Self {
        if let Order::Blocks { block, blocks } = &mut self.order {
            *blocks = (bytes / (self.per_block * self.transfer_size)).max(1);
            *block = *blocks - 1;
        }
        self
    }

    /// How many passes are complete.
    #[must_use]
    pub const fn passes(&self) -> u64 {
        self.pass
    }

    /// Whether the next offset begins a pass.
    #[must_use]
    pub const fn is_at_start(&self) -> bool {
        self.position == 0
    }

    /// The next offset in the file, in bytes.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        let index = match &mut self.order {
            Order::Sequential => self.position,
            Order::Random(permutation) => permutation.apply(self.position),
            Order::Blocks { block, blocks } => {
                let inside = self.position % self.per_block;
                if inside == 0 && !(self.sets_length && self.position == 0 && self.pass == 0) {
                    *block = mix64(self.seed ^ mix64(self.pass.wrapping_mul(self.count) + self.position)) % *blocks;
                }
                *block * self.per_block + inside
            }
            Order::Strided { next, lane } => {
                let index = *next;
                *next += STRIDE;
                if *next >= self.count {
                    *lane += 1;
                    *next = *lane;
                }
                index
            }
        };
        self.position += 1;
        if self.position == self.count {
            self.begin_pass();
        }
        if self.one_block {
            self.base + index * self.transfer_size
        } else {
            let (segment, inside) = (index / self.per_block, index % self.per_block);
            self.base + segment * self.segment_stride + inside * self.transfer_size
        }
    }

    #[cold]
    fn begin_pass(&mut self) {
        self.position = 0;
        self.pass += 1;
        match &mut self.order {
            Order::Sequential | Order::Blocks { .. } => {}
            Order::Strided { next, lane } => (*next, *lane) = (0, 0),
            Order::Random(permutation) => *permutation = Permutation::new(self.count, self.seed ^ mix64(self.pass)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(layout: Layout, access: Access, segments: u64) -> Geometry {
        Geometry { transfer_size: 4096, block_size: 4096 * 37, segments, layout, access }
    }

    #[test]
    fn all_tasks_together_cover_every_transfer_once_in_every_order() {
        for layout in [Layout::FilePerTask, Layout::Shared] {
            for access in [Access::Sequential, Access::Strided, Access::Random] {
                for segments in [1, 3] {
                    let geometry = geometry(layout, access, segments);
                    let tasks = 5;
                    let mut seen = std::collections::HashSet::new();
                    for task in 0..tasks {
                        let mut offsets = geometry.offsets(task, tasks, 7);
                        for _ in 0..geometry.operations() {
                            let offset = offsets.next_offset();
                            assert!(offset + 4096 <= geometry.file_bytes(tasks));
                            assert!(seen.insert((geometry.file(task), offset)), "{geometry:?} repeats {offset}");
                        }
                        assert_eq!(offsets.passes(), 1);
                    }
                    assert_eq!(seen.len() as u64, u64::from(tasks) * geometry.operations());
                }
            }
        }
    }

    #[test]
    fn a_file_must_hold_what_the_first_operations_visit_and_no_more() {
        for layout in [Layout::FilePerTask, Layout::Shared] {
            for access in [Access::Sequential, Access::Strided, Access::Random] {
                let geometry = geometry(layout, access, 3);
                for count in [1, 2, geometry.operations() / 2, geometry.operations() - 1] {
                    let visited = (0..5).flat_map(|task| {
                        let mut offsets = geometry.offsets(task, 5, 7);
                        (0..count).map(|_| offsets.next_offset() + geometry.transfer_size).collect::<Vec<_>>()
                    });
                    assert_eq!(Some(geometry.reach_bytes(5, 7, Some(count))), visited.max(), "{geometry:?}, {count}");
                }
                for all in [None, Some(geometry.operations()), Some(u64::MAX)] {
                    assert_eq!(geometry.reach_bytes(5, 7, all), geometry.file_bytes(5));
                }
            }
        }
    }

    #[test]
    fn a_random_order_is_over_all_segments_of_the_task_and_no_other_block() {
        let geometry = geometry(Layout::Shared, Access::Random, 50);
        let mut offsets = geometry.offsets(2, 4, 7);
        let segment = |offset: u64| offset / (4 * geometry.block_size);
        let visited: Vec<u64> = (0..geometry.operations()).map(|_| offsets.next_offset()).collect();
        assert!(visited.iter().all(|offset| offset / geometry.block_size % 4 == 2), "only blocks of task 2");
        let early: std::collections::HashSet<u64> = visited[..200].iter().map(|&offset| segment(offset)).collect();
        assert!(early.len() > 40, "the first 200 of 1850 transfers are in {} of 50 segments", early.len());
        let same = visited.windows(2).filter(|pair| segment(pair[0]) == segment(pair[1])).count();
        assert!(same < 100, "{same} of 1850 steps stay in their segment, as if it were exhausted first");
    }

    #[test]
    fn a_trillion_transfers_need_no_memory_and_no_time_to_begin() {
        for count in [1_000_000_000, 1_000_000_000_000] {
            for access in [Access::Sequential, Access::Strided, Access::Random] {
                for (layout, segments) in [(Layout::FilePerTask, 1), (Layout::Shared, 1000)] {
                    let geometry =
                        Geometry { transfer_size: 512, block_size: 512 * (count / segments), segments, layout, access };
                    let began = std::time::Instant::now();
                    let mut offsets = geometry.offsets(1, 2, 7);
                    let first: std::collections::HashSet<u64> = (0..1000).map(|_| offsets.next_offset()).collect();
                    assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?} for {count}", began.elapsed());
                    assert_eq!(first.len(), 1000, "no place twice");
                    assert!(first.iter().all(|&offset| offset + 512 <= geometry.file_bytes(2)));
                }
            }
            assert!(size_of::<Offsets>() < 256, "{} bytes", size_of::<Offsets>());
        }
    }

    #[test]
    fn random_blocks_are_whole_blocks_anywhere_in_the_file_some_again_and_the_last_one_first() {
        for (layout, blocks) in [(Layout::FilePerTask, 60), (Layout::Shared, 240)] {
            let geometry = geometry(layout, Access::RandomBlocks, 60);
            let visited: Vec<u64> = {
                let mut offsets = geometry.offsets(0, 4, 7);
                (0..geometry.operations()).map(|_| offsets.next_offset()).collect()
            };
            let drawn: Vec<u64> = visited.chunks(37).map(|block| block[0] / geometry.block_size).collect();
            for (block, at) in visited.chunks(37).zip(&drawn) {
                let whole: Vec<u64> = (0..37).map(|transfer| at * geometry.block_size + transfer * 4096).collect();
                assert_eq!(block, whole, "a block from its start to its end");
            }
            assert_eq!(drawn[0], blocks - 1, "the file gets its length");
            let different: std::collections::HashSet<u64> = drawn.iter().copied().collect();
            assert!(different.len() < 60 && different.len() > 30, "{} different blocks", different.len());
            assert!(drawn.iter().all(|&block| block < blocks) && drawn.iter().any(|&block| block > blocks / 2));
        }
        let shared = geometry(Layout::Shared, Access::RandomBlocks, 60);
        let first = |task| shared.offsets(task, 4, 7).next_offset();
        assert!((1..4).any(|task| first(task) != first(0)), "only one task sets the length");
    }

    #[test]
    fn a_second_random_pass_has_another_order() {
        let geometry = geometry(Layout::FilePerTask, Access::Random, 1);
        let mut offsets = geometry.offsets(0, 1, 7);
        let first: Vec<u64> = (0..37).map(|_| offsets.next_offset()).collect();
        let second: Vec<u64> = (0..37).map(|_| offsets.next_offset()).collect();
        assert_ne!(first, second);
    }
}
