//! Users of a key–value cache on real storages: what turns move, what fails, and how a phase ends.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{in_memory, on_disk, run, spec};
use tonnage_engine::Phase;
use tonnage_records::{KvCacheResult, PhaseResult, StopReason};
use tonnage_storage::{Storage, StorageKind};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{CachePolicy, KvCache, KvCacheStep, Limit, Op, PhaseSpec, TaskRange, Work};

const MS: u64 = 1_000_000;
const EIO: i32 = 5;

fn kv_cache() -> KvCache {
    KvCache {
        step: KvCacheStep::Serve,
        turn_bytes: 40_960,
        turns: 4,
        slots: 3,
        laid_out: 0,
        think_ns: 5 * MS,
        serve_ns: 100 * MS,
        transfer_size: 16 << 10,
        cache: CachePolicy::Drop,
    }
}

fn of(kv_cache: KvCache, tasks: u32) -> PhaseSpec {
    let tasks = TaskRange { first: 0, here: tasks, total: tasks };
    PhaseSpec { record: "0000-serve".to_owned(), tasks, work: Work::KvCache(kv_cache), ..spec(Op::Read, 1) }
}

fn lay_out(storage: &Arc<dyn Storage>, kv_cache: &KvCache) -> PhaseResult {
    run(storage, of(KvCache { step: KvCacheStep::LayOut, ..kv_cache.clone() }, 2), None)
}

fn served(result: &PhaseResult) -> &KvCacheResult {
    result.kv_cache.as_ref().expect("a key-value cache")
}

#[test]
fn turns_read_and_write_what_was_dealt_to_them_whatever_the_storage() {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Memory] {
        let on = (kind != StorageKind::Memory).then(|| on_disk(kind));
        let storage = on.as_ref().map_or_else(in_memory, |(_, _, storage)| Arc::clone(storage));
        let written = lay_out(&storage, &kv_cache());
        assert_eq!((written.stop_reason, &written.first_error), (StopReason::Size, &None), "{kind:?}");
        assert_eq!(written.tasks.iter().map(|task| task.bytes).sum::<u64>(), 12 * 40_960);
        let result = run(&storage, of(kv_cache(), 5), None);
        assert_eq!((result.stop_reason, &result.first_error), (StopReason::Size, &None), "{kind:?}");
        let dealt: Vec<_> = kv_cache().turns_of(5, spec(Op::Read, 1).seed).into_iter().flatten().collect();
        let found = served(&result);
        let sum = |of: fn(&tonnage_workload::Turn) -> u32| dealt.iter().map(|turn| u64::from(of(turn))).sum::<u64>() * 40_960;
        assert_eq!((found.users, found.turns, found.unserved), (5, dealt.len() as u64, 0));
        assert_eq!((found.read_bytes, found.write_bytes), (sum(|turn| turn.read), sum(|turn| turn.written)));
        assert_eq!(result.latency.count, found.turns);
        assert!(found.found < found.returning && found.p50_ns > 0 && found.p50_ns <= found.p95_ns);
    }
}

#[test]
fn only_slots_that_are_not_there_are_laid_out() {
    let storage = in_memory();
    let more = KvCache { slots: 5, laid_out: 3, ..kv_cache() };
    lay_out(&storage, &kv_cache());
    let written = lay_out(&storage, &more);
    assert_eq!(written.tasks.iter().map(|task| task.bytes).sum::<u64>(), 8 * 40_960);
    assert_eq!(run(&storage, of(KvCache { laid_out: 0, ..more }, 5), None).first_error, None);
}

#[test]
fn what_is_not_laid_out_is_refused_before_anyone_begins() {
    let told = Phase::prepare(in_memory(), of(kv_cache(), 2), None).err().expect("refused").to_string();
    assert!(told.starts_with("cannot find memory file 0"), "{told}");
}

#[test]
fn a_read_that_fails_ends_all_users() {
    let memory = in_memory();
    lay_out(&memory, &kv_cache());
    let fault = Fault::FailAt { op: Op::Read, offset: 16 << 10, errno: EIO };
    let faulty: Arc<dyn Storage> = Arc::new(Faulty::storage(memory, vec![fault]));
    let result = run(&faulty, of(KvCache { serve_ns: 3_600_000 * MS, ..kv_cache() }, 2), None);
    assert_eq!(result.stop_reason, StopReason::Error);
    assert_eq!(result.first_error.as_ref().map(|error| error.errno), Some(EIO));
}

#[test]
fn users_that_think_end_when_they_are_told_and_no_turn_begins_after_the_time() {
    let storage = in_memory();
    lay_out(&storage, &kv_cache());
    let long = KvCache { think_ns: 3_600_000 * MS, serve_ns: 7_200_000 * MS, ..kv_cache() };
    let mut phase = Phase::prepare(Arc::clone(&storage), of(long, 2), None).expect("prepared");
    phase.go();
    phase.stop();
    while !phase.wait(Duration::from_millis(100)) {}
    assert_eq!(phase.take_result().expect("ended").expect("a result").stop_reason, StopReason::Interrupted);
    let limited = PhaseSpec { limit: Limit { time_ns: Some(50 * MS), ..Limit::default() }, ..of(kv_cache(), 2) };
    let found = run(&storage, limited, None);
    let dealt = kv_cache().turns_of(2, spec(Op::Read, 1).seed);
    let due = dealt.iter().flatten().filter(|turn| turn.due_ns < 50 * MS).count();
    assert_eq!(served(&found).turns, due as u64);
}
