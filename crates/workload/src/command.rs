//! `command`: copies of any command line, so many at once as there are tasks.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::common_settings::TaskRange;
use crate::spec_error::SpecError;

/// Copies of a command. Each task takes the next copy that nobody has taken, runs it to its end, and takes another. An
/// operation is one copy; its latency is the copy's elapsed time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments; no shell sees them. `{copy}` in an argument becomes the copy's number.
    pub argv: Vec<String>,
    /// How many copies all tasks of the trial run together.
    pub copies: u32,
    /// Directory in which they run.
    pub directory: String,
    /// Added to the environment; each copy also has `TONNAGE_COPY` and `TONNAGE_TASK`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Directory for `<copy>.out` and `<copy>.err`, which exists. `None`: output is thrown away.
    #[serde(default)]
    pub output: Option<String>,
}

impl Command {
    /// The copies that the tasks of one process take among them: as large a part of all as they are of all tasks.
    #[must_use]
    pub fn part(&self, tasks: TaskRange) -> Range<u32> {
        let before = |task: u32| {
            let copies = u64::from(self.copies) * u64::from(task) / u64::from(tasks.total.max(1));
            copies as u32
        };
        before(tasks.first)..before(tasks.first + tasks.here)
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if self.argv.first().is_none_or(String::is_empty) {
            return Err(SpecError::Zero("the length of argv"));
        }
        if self.copies == 0 {
            return Err(SpecError::Zero("copies"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_is_in_exactly_one_part_however_the_tasks_are_split() {
        for copies in [1, 2, 7, 100] {
            let argv = vec!["true".to_owned()];
            let command = Command { argv, copies, directory: "/".to_owned(), environment: BTreeMap::new(), output: None };
            for split in [vec![5], vec![1, 4], vec![2, 1, 2], vec![1; 5]] {
                let mut first = 0;
                let parts = split.iter().flat_map(|&here| {
                    let part = command.part(TaskRange { first, here, total: 5 });
                    first += here;
                    part
                });
                assert!(parts.eq(0..copies), "{copies} over {split:?}");
            }
        }
    }
}
