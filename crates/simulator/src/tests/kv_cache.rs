//! Users of a key–value cache, against closed forms: what a turn moves takes a known time.

use tonnage_records::{KvCacheResult, PhaseResult};
use tonnage_workload::{CachePolicy, KvCache, KvCacheStep, Limit, PhaseSpec, Work};

use super::{near, run, working};
use crate::ModelSpec;

const MS: u64 = 1_000_000;

/// Conversations of four turns of 10 MB each: on a device of 1 GB/s a turn that is alone takes 10 to 40 ms.
fn kv_cache(slots: u32) -> KvCache {
    KvCache {
        step: KvCacheStep::Serve,
        turn_bytes: 10_000_000,
        turns: 4,
        slots,
        laid_out: 0,
        think_ns: 300 * MS,
        serve_ns: 60_000 * MS,
        transfer_size: 1 << 20,
        cache: CachePolicy::Drop,
    }
}

fn model() -> ModelSpec {
    ModelSpec { knee: Some(1), plateau_bytes_per_s: Some(1_000_000_000), jitter: 0.0, ..ModelSpec::default() }
}

fn spec(kv_cache: KvCache, users: u32, time_ns: Option<u64>) -> PhaseSpec {
    PhaseSpec { limit: Limit { time_ns, ..Limit::default() }, ..working(Work::KvCache(kv_cache), users) }
}

fn of(result: &PhaseResult) -> &KvCacheResult {
    result.kv_cache.as_ref().expect("a key-value cache")
}

#[test]
fn a_turn_of_one_user_takes_what_the_device_takes_for_what_it_moves() {
    let result = run(model(), &spec(kv_cache(1), 1, None));
    let found = of(&result);
    assert!(near(found.turns as f64, 200.0, 0.05), "{found:?}");
    assert_eq!((found.unserved, found.found), (0, found.returning));
    // Conversations of four turns: a quarter begin anew, and each reads what was written before it.
    assert!(near(found.read_bytes as f64, 1.5 * found.write_bytes as f64, 0.02));
    assert_eq!((found.p50_ns / MS, found.p95_ns / MS, found.p99_ns / MS), (20, 40, 40));
    assert_eq!(found.read_ns / MS, found.read_bytes / 1_000_000);
    assert_eq!(result.tasks[0].bytes, found.read_bytes + found.write_bytes);
    assert_eq!(result.latency.count, found.turns);
}

#[test]
fn what_was_evicted_is_written_and_not_read() {
    let found = run(model(), &spec(kv_cache(1), 4, None)).kv_cache.expect("a cache");
    assert!(found.found * 5 < found.returning, "{found:?}");
    let held = run(model(), &spec(kv_cache(4), 4, None)).kv_cache.expect("a cache");
    assert_eq!((held.found, held.turns), (held.returning, found.turns));
    assert!(found.write_bytes > 2 * held.write_bytes && found.read_bytes < held.read_bytes / 2);
    assert_eq!(found.read_bytes + found.write_bytes, held.read_bytes + held.write_bytes);
}

#[test]
fn turns_wait_behind_each_other_from_their_intended_start_and_end_with_the_time() {
    // Twenty users ask for 1.67 GB/s of 1: the queue grows by 0.4 s a second.
    let busy = spec(KvCache { serve_ns: 10_000 * MS, ..kv_cache(20) }, 20, Some(12_000 * MS));
    let result = run(model(), &busy);
    let found = of(&result);
    assert!(near(found.turns as f64, 667.0, 0.05), "{found:?}");
    assert!(near((found.turns - found.unserved) as f64, 480.0, 0.1), "{found:?}");
    assert!(found.p95_ns > 3000 * MS && found.p95_ns < 7000 * MS, "{found:?}");
    assert!(result.tasks.iter().all(|task| task.end_ns - result.tasks[0].start_ns < 14_000 * MS));
}

#[test]
fn a_failed_operation_ends_the_phase() {
    let result = run(ModelSpec { fault_every: 50, ..model() }, &spec(kv_cache(2), 2, None));
    assert!(result.first_error.is_some());
    assert!(of(&result).turns < 50);
}
