use std::fs;

use super::*;
use crate::result::{
    CacheFacts, CopyResult, DamageAt, ErrorAt, Event, Note, OperationResult, Role, StopReason, TaskResult, VerifyResult,
};
use crate::{HeldResult, LatencySummary, PhaseFiles, PlacementResult, bucket_of, read_histograms, read_table};

/// A stream of numbers that is the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// What one task did: everything of a result that can be told task by task.
#[derive(Clone)]
struct Did {
    result: TaskResult,
    latencies: [LatencyRecorder; 2],
    rows: Vec<SeriesRow>,
    log: Vec<(u64, u64)>,
    damage: Vec<DamageAt>,
    error: Option<ErrorAt>,
    copy: CopyResult,
    stall: Option<Event>,
}

const INTERVALS: u64 = 20;
const INTERVAL_NS: u64 = 100_000_000;

fn did(task: u32, seed: u64) -> Did {
    let mut dice = Dice(seed.wrapping_mul(1_000_003) ^ u64::from(task));
    let mut latencies = <[LatencyRecorder; 2]>::default();
    let mut rows = Vec::new();
    for interval in 0..INTERVALS {
        let operations = dice.throw(30);
        let mut latency_sum_ns = 0;
        for _ in 0..operations {
            let octave = dice.throw(24);
            let latency_ns = 1000 + dice.throw(1 << octave);
            latencies[dice.throw(2) as usize].record(latency_ns);
            latency_sum_ns += latency_ns;
        }
        let (start_ns, end_ns) = (interval * INTERVAL_NS, (interval + 1) * INTERVAL_NS);
        rows.push(SeriesRow { start_ns, end_ns, task, bytes: operations << 20, operations, latency_sum_ns });
    }
    let mut all = latencies[0].clone();
    all.add(&latencies[1]);
    let operations: u64 = rows.iter().map(|row| row.operations).sum();
    let end_ns = INTERVALS * INTERVAL_NS - dice.throw(INTERVAL_NS);
    let fails = dice.throw(9) == 0;
    let message = format!("task {task} failed");
    Did {
        result: TaskResult {
            task,
            role: Role::Work,
            start_ns: dice.throw(50_000),
            end_ns,
            open_ns: dice.throw(9000),
            transfer_ns: end_ns,
            sync_ns: 0,
            close_ns: 3,
            open_wait_ns: 0,
            close_wait_ns: 0,
            bytes: operations << 20,
            operations,
            errors: u64::from(fails),
            retries: 3,
            damaged_operations: 2,
            wrapped: false,
            stonewall_operations: None,
            stonewall_bytes: None,
            startup_ns: (operations > 1).then(|| dice.throw(9000)),
            startup_bytes: (operations > 1).then_some(1 << 20),
            latency: all.summary(),
            max_lag_ns: None,
            max_lag_bytes: None,
            found: Some(5),
        },
        latencies,
        rows,
        log: (0..dice.throw(4)).map(|i| (i * 1000, dice.throw(5000))).collect(),
        damage: (0..2).map(|i| DamageAt { task, file: task, offset: i, what: "a stamp".to_owned() }).collect(),
        error: fails.then_some(ErrorAt { task, file: task, offset: 0, errno: 5, message }),
        copy: CopyResult { copy: 1000 - task, task, start_ns: 5, end_ns, cpu_user_ns: 7, ..CopyResult::default() },
        stall: (dice.throw(5) == 0).then(|| stall(task, dice.throw(end_ns))),
    }
}

fn stall(task: u32, time_ns: u64) -> Event {
    Event { time_ns, kind: "stall".to_owned(), task: Some(task), duration_ns: Some(2_000_000_000), ..Event::default() }
}

/// Each task has an object in the group of its number, modulo 3.
fn held_by(did: &[Did]) -> Vec<HeldResult> {
    let group = |group: u32| {
        let mine = did.iter().map(|did| did.result.task).filter(|task| task % 3 == group);
        let names: Vec<String> = mine.map(|task| format!("data.{task:08}.00000000")).collect();
        let (objects, osds) = (names.len() as u64, vec![group, 2 - group]);
        HeldResult { group, osds, objects, names, writes: objects, written_bytes: objects << 20, ..HeldResult::default() }
    };
    (0..3).map(group).filter(|held| held.objects > 0).collect()
}

/// What a process says whose tasks these are and whose line opened at `line_ns` of its clock.
fn result_of(did: &[Did], line_ns: u64) -> PhaseResult {
    let mut sums = <[LatencyRecorder; 2]>::default();
    for did in did {
        sums[0].add(&did.latencies[0]);
        sums[1].add(&did.latencies[1]);
    }
    let mut total = sums[0].clone();
    total.add(&sums[1]);
    let part = |op: &str, sum: &LatencyRecorder| {
        let latency = sum.summary();
        OperationResult { op: op.to_owned(), bytes: latency.count << 20, operations: latency.count, latency }
    };
    let errors = did.iter().filter(|did| did.error.is_some());
    let first_error = errors.min_by_key(|did| did.result.end_ns).and_then(|did| did.error.clone());
    let tasks = did.len() as u64;
    let mut result = PhaseResult {
        stop_reason: if first_error.is_some() { StopReason::Error } else { StopReason::Time },
        tasks: did.iter().map(|did| did.result.clone()).collect(),
        latency: total.summary(),
        cpu_user_ns: 7 * tasks,
        cpu_system_ns: 3 * tasks,
        direct: true,
        cache: Some(CacheFacts { examined_bytes: Some(tasks << 20), device_bytes: None, ..CacheFacts::default() }),
        verify: Some(VerifyResult {
            checked_bytes: tasks << 20,
            damaged_operations: 2 * tasks,
            first_damage: did.iter().flat_map(|did| did.damage.clone()).take(16).collect(),
        }),
        first_error,
        facts: [("fixed_buffers".to_owned(), true)].into(),
        hints: [("cb_nodes".to_owned(), "2".to_owned())].into(),
        notes: vec![Note { code: "no-direct".to_owned(), message: "through the cache".to_owned() }],
        events: did.iter().filter_map(|did| did.stall.clone()).collect(),
        parts: vec![part("write", &sums[0]), part("read", &sums[1])],
        follow: None,
        copies: did.iter().map(|did| did.copy.clone()).collect(),
        checkpoint: None,
        found: Some(5 * tasks),
        training: None,
        kv_cache: None,
        placement: Some(PlacementResult { groups: 32, held: held_by(did), ..PlacementResult::default() }),
    };
    result.events.sort_by_key(|event| (event.time_ns, event.task));
    result.copies.sort_by_key(|copy| copy.copy);
    process_share::shift(&mut result, |time_ns| time_ns + line_ns);
    result
}

fn keep(did: &[Did], files: &mut PhaseFiles) {
    for interval in 0..INTERVALS as usize {
        did.iter().try_for_each(|did| files.series(did.rows[interval])).expect("kept");
        let (start_ns, end_ns) = (did[0].rows[interval].start_ns, did[0].rows[interval].end_ns);
        files.heat(start_ns, end_ns, bucket_of(3000), did.len() as u64).expect("kept");
    }
    for did in did {
        for (end_ns, latency_ns) in &did.log {
            files.operation(did.result.task, *end_ns, *latency_ns).expect("kept");
        }
    }
}

fn finish(did: &[Did], files: PhaseFiles) {
    let recorders: Vec<LatencyRecorder> = did
        .iter()
        .map(|did| {
            let mut all = did.latencies[0].clone();
            all.add(&did.latencies[1]);
            all
        })
        .collect();
    let tagged: Vec<_> = did.iter().zip(&recorders).map(|(did, recorder)| (did.result.task, recorder)).collect();
    files.finish(&tagged).expect("finished");
}

fn share_of(did: &[Did], line_ns: u64) -> Vec<u8> {
    let (mut files, collected) = PhaseFiles::in_memory(true);
    keep(did, &mut files);
    for (op, index) in [("write", 0), ("read", 1)] {
        let mut sum = LatencyRecorder::new();
        for did in did {
            sum.add(&did.latencies[index]);
        }
        files.part(op, &sum);
    }
    finish(did, files);
    Share::new(result_of(did, line_ns), line_ns, &collected).expect("a share").to_bytes().expect("bytes")
}

fn merge(one: &[u8], other: &[u8]) -> Vec<u8> {
    let read = |bytes| Share::from_bytes(bytes).expect("a share");
    read(one).merge(read(other)).expect("of one phase").to_bytes().expect("bytes")
}

fn run_dir() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency", "operations"] {
        fs::create_dir(directory.path().join(name)).expect("made");
    }
    directory
}

const LINE_NS: u64 = 77_000_000_000;

#[test]
fn tasks_split_over_processes_and_merged_in_any_order_are_what_one_process_leaves_behind() {
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let all: Vec<_> = (0..24).map(|task| did(task, seed)).collect();
        let whole = result_of(&all, LINE_NS);
        let alone = run_dir();
        let mut files = PhaseFiles::create(alone.path(), "0000-mix", false).expect("files");
        files.keep_operations(alone.path(), "0000-mix").expect("files");
        keep(&all, &mut files);
        finish(&all, files);

        let mut shares = Vec::new();
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let (here, others) = rest.split_at(1 + dice.throw(rest.len() as u64) as usize);
            // Each on a clock of its own.
            shares.push(share_of(here, dice.throw(1 << 60)));
            rest = others;
        }
        while shares.len() > 1 {
            let one = shares.swap_remove(dice.throw(shares.len() as u64) as usize);
            let other = shares.swap_remove(dice.throw(shares.len() as u64) as usize);
            shares.push(merge(&one, &other));
        }
        let together = run_dir();
        let share = Share::from_bytes(&shares[0]).expect("a share");
        let result = share.write(Some(together.path()), "0000-mix", LINE_NS).expect("written");
        assert_eq!(result, whole, "seed {seed}");
        for name in ["series/0000-mix.parquet", "operations/0000-mix.parquet"] {
            let read = |home: &tempfile::TempDir| read_table(&home.path().join(name)).expect("reads");
            assert_eq!(read(&together), read(&alone), "{name}, seed {seed}");
        }
        let log = |home: &tempfile::TempDir| fs::read(home.path().join("latency/0000-mix.hlog")).expect("reads");
        assert_eq!(log(&together), log(&alone));
        assert_eq!(read_histograms(&together.path().join("latency/0000-mix.hlog")).expect("reads").len(), 24);
        let heat = read_table(&together.path().join("heat/0000-mix.parquet")).expect("reads");
        assert_eq!(heat[4].1.iter().sum::<i64>(), 24 * INTERVALS as i64, "each process has rows of its own");
    }
}

#[test]
fn merging_is_associative_and_commutative() {
    let all: Vec<_> = (0..9).map(|task| did(task, 3)).collect();
    let [a, b, c] = [&all[..2], &all[2..7], &all[7..]].map(|tasks| share_of(tasks, 0));
    assert_eq!(merge(&a, &b), merge(&b, &a));
    assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
    assert_eq!(merge(&merge(&c, &a), &b), merge(&a, &merge(&b, &c)));
}

#[test]
fn what_differs_between_processes_becomes_one_by_the_graver_the_sum_or_the_agreement() {
    let share = |task: u32, change: &dyn Fn(&mut PhaseResult)| {
        let did = [Did { error: None, ..did(task, 1) }];
        let (mut files, collected) = PhaseFiles::in_memory(false);
        keep(&did, &mut files);
        finish(&did, files);
        let mut result = result_of(&did, 0);
        change(&mut result);
        Share::new(result, 0, &collected).expect("a share")
    };
    let one = share(0, &|result| {
        result.cache = Some(CacheFacts { cached_before_bytes: Some(5), ..CacheFacts::default() });
        result.notes.clear();
    });
    let other = share(1, &|result| {
        result.stop_reason = StopReason::Interrupted;
        result.direct = false;
        result.facts = [("fixed_buffers".to_owned(), false), ("preallocated".to_owned(), true)].into();
    });
    let result = other.merge(one).expect("merged").write(None, "0000-mix", 0).expect("combined");
    assert_eq!((result.stop_reason, result.direct), (StopReason::Interrupted, false));
    assert_eq!(result.facts, [("fixed_buffers".to_owned(), false), ("preallocated".to_owned(), true)].into());
    assert_eq!(result.cache.map(|cache| cache.cached_before_bytes), Some(None), "one process could not say");
    assert_eq!(result.notes.len(), 1);
    assert_eq!(result.tasks.len(), 2);
}

#[test]
fn what_is_no_share_or_of_the_same_tasks_is_refused() {
    let one = share_of(&[did(0, 1)], 0);
    assert!(matches!(Share::from_bytes(&one[..one.len() / 2]), Err(ShareError::Damaged(_))));
    assert!(matches!(Share::from_bytes(b"hello"), Err(ShareError::Damaged(_))));
    let read = |bytes| Share::from_bytes(bytes).expect("a share");
    assert!(matches!(read(&one).merge(read(&one)), Err(ShareError::Twice(0))));
    let both = share_of(&[did(0, 1), did(1, 1)], 0);
    let second = share_of(&[did(1, 1)], 0);
    let overlap = read(&both).merge(read(&second)).expect("their first tasks differ");
    assert!(matches!(overlap.write(None, "0000-mix", 0), Err(ShareError::Twice(1))));
    let (files, collected) = PhaseFiles::in_memory(false);
    drop(files);
    assert!(matches!(Share::new(result_of(&[did(0, 1)], 0), 0, &collected), Err(ShareError::NotKept)));
}

#[test]
fn a_flipped_bit_never_makes_a_share_panic() {
    let good = share_of(&[did(0, 2), did(1, 2)], 0);
    for place in (0..good.len()).step_by(41) {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        let Ok(share) = Share::from_bytes(&bad) else { continue };
        if let Ok(other) = Share::from_bytes(&good) {
            let _ = share.clone().merge(other);
        }
        let _ = share.write(None, "0000-mix", 0);
    }
}

#[test]
fn latencies_of_no_operation_are_no_figure() {
    let (files, collected) = PhaseFiles::in_memory(false);
    files.finish(&[(0, &LatencyRecorder::new())]).expect("finished");
    let quiet = Did { rows: Vec::new(), latencies: <[LatencyRecorder; 2]>::default(), ..did(0, 1) };
    let share = Share::new(result_of(&[quiet], 0), 0, &collected).expect("a share");
    assert_eq!(share.write(None, "0000-mix", 0).expect("combined").latency, LatencySummary::default());
}
