//! Whose region a task works on: its own, or that of another, so that a re-read finds nothing in its own cache.

use serde::{Deserialize, Serialize};

use crate::permutation::Permutation;

/// Whose file (or block of a shared file) a task works on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Source {
    /// Its own.
    #[default]
    Own,
    /// That of the task this many numbers further on, counted around.
    Shift {
        /// How many.
        tasks: u32,
    },
    /// That of the next one in a random ring of all tasks: never its own where there is another.
    Random {
        /// Which ring; the same in every process.
        seed: u64,
    },
}

impl Source {
    /// The task whose region `task` of `tasks` works on. No two tasks get the same one.
    #[must_use]
    pub fn task(self, task: u32, tasks: u32) -> u32 {
        let next = |of: u32, by: u32| ((u64::from(of) + u64::from(by)) % u64::from(tasks.max(1))) as u32;
        match self {
            Self::Own => task,
            Self::Shift { tasks: by } => next(task, by),
            Self::Random { seed } => {
                let ring = Permutation::new(u64::from(tasks), seed);
                let seat = (0..tasks).find(|&seat| ring.apply(u64::from(seat)) == u64::from(task)).unwrap_or(task);
                ring.apply(u64::from(next(seat, 1))) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: Source, tasks: u32) -> Vec<u32> {
        (0..tasks).map(|task| source.task(task, tasks)).collect()
    }

    #[test]
    fn every_region_has_exactly_one_task_whatever_the_source() {
        let sources = [Source::Own, Source::Shift { tasks: 3 }, Source::Shift { tasks: u32::MAX }, Source::Random { seed: 9 }];
        for source in sources {
            for tasks in [1, 2, 5, 64] {
                let mut regions = all(source, tasks);
                regions.sort_unstable();
                assert_eq!(regions, (0..tasks).collect::<Vec<_>>(), "{source:?} of {tasks}");
            }
        }
    }

    #[test]
    fn a_random_source_is_never_the_task_itself_and_another_seed_is_another_ring() {
        for seed in 0..50 {
            let regions = all(Source::Random { seed }, 7);
            assert!(regions.iter().enumerate().all(|(task, &region)| task as u32 != region), "seed {seed}: {regions:?}");
        }
        assert_ne!(all(Source::Random { seed: 1 }, 64), all(Source::Random { seed: 2 }, 64));
        assert_eq!(Source::Random { seed: 1 }.task(0, 1), 0, "a lone task has only its own");
    }

    #[test]
    fn a_shift_goes_around() {
        assert_eq!(all(Source::Shift { tasks: 2 }, 5), [2, 3, 4, 0, 1]);
    }
}
