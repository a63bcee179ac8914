//! Several processes' results as one.

use std::collections::BTreeMap;

use super::TOTAL;
use super::process_share::shift;
use crate::histogram_tag::SNAPSHOTS;
use crate::result::{CacheFacts, CheckpointResult, LatencySummary, PhaseResult, StopReason, VerifyResult};

/// Damaged places that a result names; more are counted only.
const DAMAGE_KEPT: usize = 16;
/// The coordination of rounds that all tasks begin and end together.
const TOGETHER: &str = "together";

/// The result of all tasks; `results` are in their order, and their instants count from the start line, which was at
/// `line_ns`. `None` of no results.
pub(super) fn combine(results: Vec<PhaseResult>, totals: &BTreeMap<String, LatencySummary>, line_ns: u64) -> Option<PhaseResult> {
    let first_error = earliest_error(&results);
    let mut sum = results.into_iter().reduce(add)?;
    sum.first_error = first_error;
    sum.latency = totals.get(TOTAL).copied().unwrap_or_default();
    for part in &mut sum.parts {
        part.latency = totals.get(&part.op).copied().unwrap_or_default();
    }
    if let Some(checkpoint) = &mut sum.checkpoint {
        checkpoint.snapshot = totals.get(SNAPSHOTS).copied().unwrap_or_default();
    }
    sum.events.sort_by_key(|event| (event.time_ns, event.task));
    sum.copies.sort_by_key(|copy| copy.copy);
    shift(&mut sum, |time_ns| time_ns + line_ns);
    Some(sum)
}

/// Which error came first: a task ends with its error. Only what happened on the same host's clock is told apart
/// exactly; the lines of several opened within the barrier's skew.
fn earliest_error(results: &[PhaseResult]) -> Option<crate::ErrorAt> {
    let ended = |result: &PhaseResult, number: u32| {
        result.tasks.iter().find(|task| task.task == number).map_or(u64::MAX, |task| task.end_ns)
    };
    let errors = results.iter().filter_map(|result| result.first_error.as_ref().map(|error| (result, error)));
    errors.min_by_key(|(result, error)| (ended(result, error.task), error.task)).map(|(_, error)| error.clone())
}

fn add(mut sum: PhaseResult, other: PhaseResult) -> PhaseResult {
    sum.stop_reason = graver(sum.stop_reason, other.stop_reason);
    sum.tasks.extend(other.tasks);
    sum.cpu_user_ns += other.cpu_user_ns;
    sum.cpu_system_ns += other.cpu_system_ns;
    sum.direct &= other.direct;
    sum.cache = sum.cache.zip(other.cache).map(|(ours, theirs)| add_cache(ours, theirs));
    sum.verify = sum.verify.zip(other.verify).map(|(ours, theirs)| add_verify(ours, theirs));
    for (fact, is) in other.facts {
        sum.facts.entry(fact).and_modify(|known| *known &= is).or_insert(is);
    }
    sum.hints.extend(other.hints);
    for note in other.notes {
        if !sum.notes.contains(&note) {
            sum.notes.push(note);
        }
    }
    sum.events.extend(other.events);
    for (ours, theirs) in sum.parts.iter_mut().zip(other.parts) {
        ours.bytes += theirs.bytes;
        ours.operations += theirs.operations;
    }
    // The writer of a tail and its readers run in one process.
    sum.follow = sum.follow.or(other.follow);
    // So do the readers of accelerators.
    sum.training = sum.training.or(other.training);
    // And the users of a cache.
    sum.kv_cache = sum.kv_cache.or(other.kv_cache);
    sum.copies.extend(other.copies);
    sum.checkpoint = sum.checkpoint.zip(other.checkpoint).map(|(ours, theirs)| add_checkpoint(ours, &theirs));
    sum.found = sum.found.zip(other.found).map(|(ours, theirs)| ours + theirs);
    sum.placement = match (sum.placement, other.placement) {
        (Some(ours), Some(theirs)) => Some(ours.with(theirs)),
        (ours, theirs) => ours.or(theirs),
    };
    sum
}

fn add_checkpoint(mut ours: CheckpointResult, theirs: &CheckpointResult) -> CheckpointResult {
    ours.rounds = ours.rounds.min(theirs.rounds);
    ours.windows = ours.windows.iter().zip(&theirs.windows).map(|(one, other)| one.with(*other)).collect();
    ours.checkpoint_ns =
        if ours.coordination == TOGETHER { ours.windows_ns() } else { ours.checkpoint_ns.max(theirs.checkpoint_ns) };
    ours.think_ns = ours.think_ns.max(theirs.think_ns);
    ours.snapshot_ns += theirs.snapshot_ns;
    ours.leftovers_ns += theirs.leftovers_ns;
    ours
}

const fn graver(one: StopReason, other: StopReason) -> StopReason {
    const fn gravity(reason: StopReason) -> u8 {
        match reason {
            StopReason::Size => 0,
            StopReason::Time => 1,
            StopReason::Interrupted => 2,
            StopReason::Error => 3,
        }
    }
    if gravity(one) < gravity(other) { other } else { one }
}

/// A file that tasks of several processes read is looked at by each of them, and counts so often.
fn add_cache(ours: CacheFacts, theirs: CacheFacts) -> CacheFacts {
    let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one + other);
    CacheFacts {
        cached_before_bytes: sum(ours.cached_before_bytes, theirs.cached_before_bytes),
        examined_bytes: sum(ours.examined_bytes, theirs.examined_bytes),
        device_bytes: sum(ours.device_bytes, theirs.device_bytes),
        hole_bytes: sum(ours.hole_bytes, theirs.hole_bytes),
    }
}

fn add_verify(mut ours: VerifyResult, theirs: VerifyResult) -> VerifyResult {
    ours.checked_bytes += theirs.checked_bytes;
    ours.damaged_operations += theirs.damaged_operations;
    ours.first_damage.extend(theirs.first_damage);
    ours.first_damage.truncate(DAMAGE_KEPT);
    ours
}
