//! `command`: copies of any command line, so many at once as there are tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::phase::SpecError;

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
