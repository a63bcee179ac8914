//! What a journal tells while no mover runs on it.

use std::path::Path;

use serde::Serialize;

use crate::error::{MoverError, Result};
use crate::journal::Journal;
use crate::options::Options;
use crate::status::{Progress, Status};

use super::status;

/// Key of the options in the journal.
const OPTIONS: &str = "options";
/// Key of whether the last mover came to the end of its drain: then nothing was left when it ended.
const FINISHED: &str = "finished";
/// Key of what the last scan of everything could not read.
const UNREADABLE: &str = "unreadable";

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its number; the next page begins after it.
    pub id: i64,
    /// As `TreePath` prints it.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Why the last attempt failed, if one did.
    pub reason: Option<String>,
}

/// Keeps what was asked, for later looks at the journal alone.
pub(super) fn remember(journal: &Journal, options: &Options) -> Result<()> {
    let text = serde_json::to_string(options).map_err(|error| MoverError::Request(format!("options cannot be kept: {error}")))?;
    journal.set(OPTIONS, &text)
}

/// The status that the journal in `state` tells. Rates, workers and limits are those of a mover, and none runs.
pub fn status_of(state: &Path) -> Result<Status> {
    let journal = Journal::read_only(state)?;
    let options: Options = journal.get(OPTIONS)?.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(|| {
        MoverError::Request(format!(
            "{} is not of this version; hint: tonnage stage resume begins it anew",
            journal.path().display()
        ))
    })?;
    let totals = journal.totals();
    let finished = journal.get(FINISHED)?.is_some_and(|text| text == true.to_string());
    let whole = finished && totals.pending().files == 0;
    Ok(status::of_journal(&journal, &options, if whole { Progress::Finished } else { Progress::Stopped }))
}

/// Keeps whether the mover has come to the end of its drain.
pub(super) fn say_finished(journal: &Journal, finished: bool) -> Result<()> {
    journal.set(FINISHED, &finished.to_string())
}

/// Keeps what the last scan of everything could not read, with why: it has no entry of its own.
pub(super) fn keep_unreadable(journal: &Journal, unreadable: &[(String, String)]) -> Result<()> {
    let text =
        serde_json::to_string(unreadable).map_err(|error| MoverError::Request(format!("a path cannot be kept: {error}")))?;
    journal.set(UNREADABLE, &text)
}

/// What [`keep_unreadable`] kept; nothing in a journal from before it was kept.
pub(super) fn unreadable(journal: &Journal) -> Vec<(String, String)> {
    let kept = journal.get(UNREADABLE).ok().flatten();
    kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Entries of one kind (`queued` or `failed`) in the journal in `state`, in the order of their numbers, those after the number
/// `after`, at most `limit`.
pub fn list(state: &Path, kind: &str, after: i64, limit: u32) -> Result<Vec<Listed>> {
    let journal = Journal::read_only(state)?;
    let entries = match kind {
        "queued" => journal.queued(after, limit)?,
        "failed" => journal.failures(after, limit)?,
        other => return Err(MoverError::Request(format!("there is no list {other:?}; hint: queued or failed"))),
    };
    let listed = |entry: crate::journal_entry::Entry| Listed {
        id: entry.id,
        path: entry.path.to_string(),
        size: entry.version.size,
        reason: entry.reason,
    };
    Ok(entries.into_iter().map(listed).collect())
}
