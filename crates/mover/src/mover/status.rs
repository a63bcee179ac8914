//! The mover's answers about itself.

use std::sync::atomic::Ordering;

use crate::controllers::throttle::Own;
use crate::error::Result;
use crate::journal::Journal;
use crate::journal_entry::State;
use crate::options::{Clear, Options};
use crate::path::TreePath;
use crate::scan::Scanned;
use crate::status::{Failure, Progress, Status, Totals, Waiting};

use super::core::Core;
use super::offline;
use super::shared_state::SharedState;

/// Entries shown of those that stand still, and of those given up.
const SHOWN: usize = 10;
/// Failures with their reasons: each is for a person to mend.
const FAILURES_SHOWN: usize = 100;

impl Core {
    pub(super) fn status(&self) -> Status {
        let state = self.lock();
        let mut status = of_journal(&self.journal, &self.options, state.progress);
        let rate = state.rates.now();
        status.copying = Totals { files: state.queue.flying() as u64, bytes: self.flying_bytes.load(Ordering::Relaxed) };
        status.copied_bytes = self.counters.kept_bytes();
        status.rate_bytes_per_s = rate.map(|(bytes, _)| bytes);
        status.rate_files_per_s = rate.map(|(_, files)| files);
        status.left_ns = rate.and_then(|rate| left_ns(status.queued, rate));
        status.workers = self.counters.workers.load(Ordering::Relaxed);
        (status.limit_bytes_per_s, status.limit_files_per_s) = self.limiter.asked();
        status.gentle_bytes_per_s = self.limiter.gentle();
        status.source_used_permille = state.source_used_permille;
        status.above_high_mark = self.options.marks.is_some_and(|marks| state.source_used_permille > marks.high_permille);
        status.watch = self.watch.said();
        status.scans = state.scans;
        status.will_not_fit = state.will_not_fit;
        status.notes.extend(state.notes.iter().cloned());
        if let Some(error) = &state.fatal {
            status.notes.push(error.to_string());
        }
        let waits = Self::first_waits(&state);
        drop(state);
        status.waiting = self.name_waits(&waits);
        status
    }

    /// Those kept longest come first.
    fn first_waits(state: &SharedState) -> Vec<(i64, String)> {
        let mut waits: Vec<_> = state.queue.waits().map(|(id, wait)| (wait.since_ns, id, &wait.reason)).collect();
        waits.sort_unstable_by_key(|wait| (wait.0, wait.1));
        let mut first: Vec<(i64, String)> = waits.into_iter().take(SHOWN).map(|(_, id, reason)| (id, reason.clone())).collect();
        first.sort_unstable_by_key(|wait| wait.0);
        first
    }

    fn name_waits(&self, waits: &[(i64, String)]) -> Vec<Waiting> {
        let ids: Vec<i64> = waits.iter().map(|wait| wait.0).collect();
        let entries = self.journal.entries(&ids).unwrap_or_default();
        let reason = |id| waits.iter().find(|wait| wait.0 == id).map(|wait| wait.1.clone());
        entries.iter().filter_map(|entry| Some(Waiting { path: entry.path.to_string(), reason: reason(entry.id)? })).collect()
    }

    /// While somebody waits for the scan that he `asked` for, no other one counts: it looks at less.
    pub(super) fn told_by_scan(&self, scanned: &Scanned, asked: bool) -> Result<()> {
        let unreadable: Vec<_> = scanned.unreadable.iter().map(|(path, why)| (path.to_string(), why.clone())).collect();
        if unreadable != offline::unreadable(&self.journal) {
            offline::keep_unreadable(&self.journal, &unreadable)?;
        }
        let mut state = self.lock();
        state.scanning &= !asked;
        state.scans += u64::from(!scanned.halted && (asked || !state.rescan));
        for mount in &scanned.mounts {
            state.note(format!("{mount} is another file system and is not entered; stage it by a mover of its own"));
        }
        for path in &scanned.reserved {
            state.note(format!("{path} is not staged: movers give such names to files of their own; hint: rename it"));
        }
        Ok(())
    }

    /// What the controller asks of the mover.
    pub(super) fn own(&self) -> Own {
        let now_ns = self.now_ns();
        let state = self.lock();
        let used = state.source_used_permille;
        let urgency_permille = self.options.marks.map_or(0, |marks| {
            let above = used.saturating_sub(marks.high_permille);
            above * 1000 / (1000 - marks.high_permille.min(999)).max(1)
        });
        let left_ns = state.deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(now_ns).max(1));
        let pending = self.journal.totals().pending().bytes;
        let needed_bytes_per_s = left_ns.map_or(0, |ns| (pending as f64 / (ns as f64 / 1e9)) as u64);
        Own { bytes: self.counters.copied_bytes.load(Ordering::Relaxed), urgency_permille, needed_bytes_per_s }
    }
}

/// What the journal alone tells.
pub(super) fn of_journal(journal: &Journal, options: &Options, progress: Progress) -> Status {
    let totals = journal.totals();
    let (dropped_attributes, what) = journal.all_dropped().unwrap_or_default();
    let (replaced_after_clearing, which) = journal.replaced_after_clearing().unwrap_or_default();
    let failures = journal.failures(0, FAILURES_SHOWN as u32).unwrap_or_default();
    let unreadable = offline::unreadable(journal);
    let mut failed = totals.failed();
    failed.files += unreadable.len() as u64;
    let cleared = totals.of(State::Cleared);
    Status {
        id: journal.id().to_owned(),
        name: options.name.clone(),
        from: options.from.clone(),
        to: options.to.clone(),
        progress,
        queued: totals.pending(),
        copying: Totals::default(),
        done: totals.safe(),
        cleared,
        failed,
        gone: totals.of(State::Gone),
        skipped: totals.of(State::Skipped),
        dropped_attributes,
        replaced_after_clearing,
        copied_bytes: 0,
        rate_bytes_per_s: None,
        rate_files_per_s: None,
        left_ns: None,
        workers: 0,
        limit_bytes_per_s: options.limit_bytes_per_s,
        limit_files_per_s: options.limit_files_per_s,
        gentle_bytes_per_s: None,
        source_used_permille: 0,
        above_high_mark: false,
        watch: String::new(),
        scans: 0,
        waiting: Vec::new(),
        failures: failures
            .into_iter()
            .map(|entry| Failure { path: entry.path.to_string(), reason: entry.reason.unwrap_or_default() })
            .chain(unreadable.into_iter().map(|(path, reason)| Failure { path, reason }))
            .take(FAILURES_SHOWN)
            .collect(),
        will_not_fit: Totals::default(),
        notes: journal
            .notes()
            .into_iter()
            .chain(dropped_note(options, dropped_attributes, &what))
            .chain(which.map(|path| replaced_note(&path)))
            .collect(),
    }
}

fn replaced_note(path: &TreePath) -> String {
    format!(
        "names that were cleared at the source got other contents there, which replaced the cleared ones at the destination, \
         such as {path}; hint: --exclude files that are appended to or made anew, or do not delete"
    )
}

/// The number is left out: it would be said anew with each.
fn dropped_note(options: &Options, dropped: u64, what: &str) -> Option<String> {
    let kept = match options.clear {
        Clear::Never => "",
        _ if options.drop_attributes => "; their sources are deleted all the same, as asked",
        _ => "; their sources stay; hint: --drop-attributes deletes them too",
    };
    let said = format!("some copies lack attributes that the destination does not take, such as {what}{kept}");
    (dropped > 0).then_some(said)
}

/// The longer of what the bytes and what the files need at this rate.
fn left_ns(queued: Totals, (bytes_per_s, files_per_s): (u64, f64)) -> Option<u64> {
    if queued.files == 0 {
        return Some(0);
    }
    let by_bytes = (bytes_per_s > 0).then(|| queued.bytes as f64 / bytes_per_s as f64);
    let by_files = (files_per_s > 0.0 && queued.bytes == 0).then(|| queued.files as f64 / files_per_s);
    by_bytes.into_iter().chain(by_files).reduce(f64::max).map(|seconds| (seconds * 1e9) as u64)
}
