//! Names, against the laws of the model and against what a storage would refuse.

use tonnage_records::{PhaseResult, StopReason};
use tonnage_workload::{CachePolicy, FileOp, Files, Limit, Op, PayloadKind, PhaseSpec, RateLimits, Tree, Work};

use super::{elapsed_ns, near, run, simulator, working};
use crate::{ModelSpec, Shape, Simulator};

/// 13 directories; 100 items of each task in each.
const TREE: Tree = Tree { depth: 2, branch: 3, items_per_directory: 100, leaves_only: false, shared: false };
const ITEMS: u64 = 1300;

fn files(op: FileOp) -> Files {
    Files {
        op,
        tree: TREE,
        operations: 50,
        counts: Vec::new(),
        renamed: false,
        file_bytes: 0,
        fsync: false,
        shift: 0,
        random: false,
        cache: CachePolicy::Keep,
        payload: PayloadKind::Unique,
        verify: false,
        check_written: false,
        syncfs: false,
        mknod: false,
        collective: false,
        shared_files: false,
    }
}

fn work(files: Files, tasks: u32) -> PhaseSpec {
    working(Work::Files(files), tasks)
}

/// Files that come and go for so long, in a tree that is there.
pub fn churn(tasks: u32, seconds: u64) -> PhaseSpec {
    let limit = Limit { time_ns: Some(seconds * 1_000_000_000), ..Limit::default() };
    let files = Files { operations: 1 << 40, tree: Tree { shared: true, depth: 0, ..TREE }, ..files(FileOp::Churn) };
    PhaseSpec { limit, ..work(files, tasks) }
}

/// Makes the tree of those.
pub fn make_tree_of_churn(simulator: &mut Simulator) {
    let tree = Tree { shared: true, depth: 0, ..TREE };
    does(simulator, Files { tree, ..files(FileOp::MakeTree) }, 1);
}

fn steady() -> ModelSpec {
    ModelSpec { jitter: 0.0, ..ModelSpec::default() }
}

fn does(simulator: &mut Simulator, files: Files, tasks: u32) -> PhaseResult {
    simulator.run(&work(files, tasks), None).expect("the phase runs")
}

fn operations(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.operations).sum()
}

fn rate(result: &PhaseResult) -> f64 {
    operations(result) as f64 * 1e9 / elapsed_ns(result) as f64
}

/// What made a phase fail: the error number and the message.
fn complaint(result: &PhaseResult) -> (i32, &str) {
    assert_eq!(result.stop_reason, StopReason::Error);
    result.first_error.as_ref().map(|error| (error.errno, error.message.as_str())).expect("it failed")
}

#[test]
fn the_load_line_of_operations_follows_the_law_at_every_number_of_tasks() {
    for shape in [Shape::Hinge, Shape::Smooth, Shape::Linear] {
        for tasks in [1, 2, 4, 7, 8, 12] {
            let model = ModelSpec { shape, ..steady() };
            let mut simulator = simulator(model.clone());
            for (op, weight) in
                [(FileOp::MakeTree, 1.0), (FileOp::Create, 1.0), (FileOp::Stat, 0.4), (FileOp::Read, 0.6), (FileOp::Remove, 1.2)]
            {
                let law = model.share(u64::from(tasks)) * 20_000.0 / weight;
                let measured = rate(&does(&mut simulator, files(op), tasks));
                assert!(near(measured, law, 0.001), "{shape:?} {tasks} {op:?}: {measured} against {law}");
            }
        }
    }
}

#[test]
fn shared_files_and_the_first_task_alone_are_what_they_are_on_a_disk() {
    let mut simulator = simulator(steady());
    let tree = Tree { shared: true, ..TREE };
    let shared = |op| Files { tree, shared_files: true, syncfs: true, ..files(op) };
    does(&mut simulator, shared(FileOp::MakeTree), 2);
    let created = does(&mut simulator, shared(FileOp::Create), 2);
    assert_eq!((operations(&created), created.first_error), (2 * ITEMS, None));
    assert!(created.tasks.iter().all(|task| task.sync_ns > 0));
    assert_eq!(operations(&does(&mut simulator, shared(FileOp::Remove), 2)), ITEMS);
    let alone = |op| Files { tree, collective: true, ..files(op) };
    let by_task = |result: PhaseResult| result.tasks.iter().map(|task| task.operations).collect::<Vec<_>>();
    assert_eq!(by_task(does(&mut simulator, alone(FileOp::Create), 2)), [2 * ITEMS, 0]);
    assert_eq!(by_task(does(&mut simulator, alone(FileOp::Stat), 2)), [ITEMS; 2]);
    assert_eq!(by_task(does(&mut simulator, alone(FileOp::Remove), 2)), [2 * ITEMS, 0]);
    assert_eq!(does(&mut simulator, alone(FileOp::RemoveTree), 2).first_error, None);
}

#[test]
fn the_bytes_of_a_file_come_on_top_of_its_name() {
    let mut simulator = simulator(steady());
    does(&mut simulator, files(FileOp::MakeTree), 8);
    let created = does(&mut simulator, Files { file_bytes: 100_000, ..files(FileOp::Create) }, 8);
    // 50 µs for the name and 50 µs for the bytes: 10 000 a second.
    assert!(near(rate(&created), 10_000.0, 0.001), "{}", rate(&created));
    assert_eq!(created.tasks[3].bytes, ITEMS * 100_000);
    let durable = Files { fsync: true, file_bytes: 100_000, ..files(FileOp::Write) };
    let written = does(&mut simulator, durable, 8);
    let law = 8.0 / (8.0 * 80e-6 + 200e-6);
    assert!(near(rate(&written), law, 0.001), "{} against {law}", rate(&written));
}

#[test]
fn what_was_never_created_is_refused_as_a_storage_would() {
    let mut simulator = simulator(steady());
    let missing = "file 0 of task 0 in directory 0 of tree 0 is not there; create it first, with the same tree";
    for op in [FileOp::Stat, FileOp::Read, FileOp::Remove, FileOp::Rename, FileOp::Write, FileOp::Create] {
        assert_eq!(complaint(&does(&mut simulator, files(op), 1)), (2, missing), "{op:?}");
    }
    let failed = does(&mut simulator, files(FileOp::Stat), 4);
    assert_eq!((operations(&failed), failed.latency.count), (0, 0), "nothing was done, and nothing is counted");
    does(&mut simulator, files(FileOp::MakeTree), 1);
    does(&mut simulator, files(FileOp::Create), 1);
    for op in [FileOp::Stat, FileOp::Read, FileOp::ReadDirectory] {
        assert_eq!(does(&mut simulator, files(op), 1).stop_reason, StopReason::Size, "{op:?}");
    }
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::Stat), 2)).0, 2, "task 1 has made nothing");
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::StatDirectory), 1)).0, 2, "files are no directories");
    simulator.clear();
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::ReadDirectory), 1)).0, 2);
}

#[test]
fn what_is_there_cannot_be_made_again_and_what_is_full_cannot_be_removed() {
    let mut simulator = simulator(steady());
    does(&mut simulator, files(FileOp::MakeTree), 1);
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::MakeTree), 1)).0, 17);
    does(&mut simulator, files(FileOp::Create), 1);
    let (errno, message) = (17, "file 0 of task 0 in directory 0 of tree 0 is there already; remove it first");
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::Create), 1)), (errno, message));
    let message = "directory 12 of tree 0 is not empty; remove what is in it first";
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::RemoveTree), 1)), (39, message));
    does(&mut simulator, files(FileOp::Remove), 1);
    assert_eq!(does(&mut simulator, files(FileOp::RemoveTree), 1).stop_reason, StopReason::Size);
}

#[test]
fn a_renamed_item_is_found_under_its_other_name_only() {
    for (make, rename, stat) in
        [(FileOp::Create, FileOp::Rename, FileOp::Stat), (FileOp::MakeDirectory, FileOp::RenameDirectory, FileOp::StatDirectory)]
    {
        let mut simulator = simulator(steady());
        does(&mut simulator, files(FileOp::MakeTree), 2);
        does(&mut simulator, files(make), 2);
        does(&mut simulator, files(rename), 2);
        assert_eq!(complaint(&does(&mut simulator, files(stat), 2)).0, 2);
        assert_eq!(operations(&does(&mut simulator, Files { renamed: true, ..files(stat) }, 2)), 2 * ITEMS);
        does(&mut simulator, Files { renamed: true, ..files(rename) }, 2);
        assert_eq!(operations(&does(&mut simulator, files(stat), 2)), 2 * ITEMS);
    }
}

#[test]
fn a_shared_tree_is_made_once_and_a_shift_visits_the_items_of_others() {
    let shared = |op| Files { tree: Tree { shared: true, ..TREE }, ..files(op) };
    let mut simulator = simulator(steady());
    assert_eq!(operations(&does(&mut simulator, shared(FileOp::MakeTree), 4)), 13);
    assert_eq!(operations(&does(&mut simulator, shared(FileOp::Create), 4)), 4 * ITEMS);
    assert_eq!(operations(&does(&mut simulator, Files { shift: 3, random: true, ..shared(FileOp::Remove) }, 4)), 4 * ITEMS);
    assert_eq!(operations(&does(&mut simulator, shared(FileOp::RemoveTree), 4)), 13);
}

#[test]
fn a_phase_that_ran_out_of_time_leaves_what_it_made() {
    let mut simulator = simulator(steady());
    does(&mut simulator, files(FileOp::MakeTree), 2);
    let limit = Limit { time_ns: Some(50_000_000), ..Limit::default() };
    let made = simulator.run(&PhaseSpec { limit, ..work(files(FileOp::Create), 2) }, None).expect("runs");
    assert_eq!(made.stop_reason, StopReason::Time);
    let counts: Vec<u64> = made.tasks.iter().map(|task| task.operations).collect();
    assert!(counts[0] > 10 && counts[0] < ITEMS, "{counts:?}");
    assert_eq!(complaint(&does(&mut simulator, files(FileOp::Stat), 2)).0, 2, "not all are there");
    let counted = Files { counts: counts.clone(), ..files(FileOp::Stat) };
    assert_eq!(operations(&does(&mut simulator, counted, 2)), counts.iter().sum::<u64>());
    let worn = Limit { wear_out: true, ..limit };
    does(&mut simulator, Files { counts, ..files(FileOp::Remove) }, 2);
    let made = simulator.run(&PhaseSpec { limit: worn, ..work(files(FileOp::Create), 2) }, None).expect("runs");
    assert_eq!(made.tasks[0].operations, made.tasks[1].operations);
    assert!(made.tasks[0].stonewall_operations.is_some());
}

#[test]
fn one_file_is_opened_and_written_again_and_again() {
    let mut simulator = simulator(steady());
    does(&mut simulator, files(FileOp::MakeTree), 4);
    let result = does(&mut simulator, Files { file_bytes: 8, ..files(FileOp::OpenWriteClose) }, 4);
    assert_eq!((operations(&result), result.tasks[0].bytes), (200, 400));
    assert!(near(rate(&result), ModelSpec::default().share(4) * 20_000.0 / 0.8, 0.001), "{}", rate(&result));
}

#[test]
fn small_files_take_space_and_cache_like_large_ones() {
    let size = Files { file_bytes: 10_000, ..files(FileOp::Create) };
    let read = Files { op: FileOp::Read, ..size.clone() };
    let mut small = simulator(ModelSpec { full_after_bytes: Some(5_000_000), cache_bytes: 1 << 40, ..steady() });
    does(&mut small, files(FileOp::MakeTree), 1);
    let full = does(&mut small, size.clone(), 1);
    assert_eq!((complaint(&full).0, operations(&full)), (28, 500));
    let mut large = simulator(ModelSpec { cache_bytes: 1 << 40, ..steady() });
    does(&mut large, files(FileOp::MakeTree), 1);
    does(&mut large, size, 1);
    assert_eq!(complaint(&does(&mut large, Files { file_bytes: 20_000, ..read.clone() }, 1)).0, 0, "they are shorter");
    let warm = does(&mut large, read.clone(), 1).cache.expect("it reads");
    assert_eq!((warm.cached_before_bytes, warm.device_bytes), (Some(13_000_000), Some(0)));
    let cold = does(&mut large, Files { cache: CachePolicy::Drop, ..read }, 1).cache.expect("it reads");
    assert_eq!((cold.cached_before_bytes, cold.device_bytes), (Some(0), Some(13_000_000)));
}

#[test]
fn faults_damage_stalls_and_pace_are_those_of_streams() {
    let made = |model: ModelSpec| {
        let mut simulator = simulator(model);
        does(&mut simulator, files(FileOp::MakeTree), 2);
        simulator
    };
    let mut faulty = made(ModelSpec { fault_every: 100, ..steady() });
    assert_eq!(complaint(&does(&mut faulty, files(FileOp::Create), 2)).0, 5);
    let mut damaged = made(ModelSpec { damage_every: 100, ..steady() });
    does(&mut damaged, Files { file_bytes: 10, ..files(FileOp::Create) }, 2);
    let found = does(&mut damaged, Files { file_bytes: 10, verify: true, ..files(FileOp::Read) }, 2).verify.expect("checks");
    assert_eq!((found.damaged_operations, found.first_damage.len()), (26, 16));
    let mut stalled = made(ModelSpec { stall_every_ns: 50_000_000, stall_ns: 2_000_000_000, ..steady() });
    assert!(!does(&mut stalled, files(FileOp::Create), 2).events.is_empty());
    let pace = RateLimits { operations_per_s: Some(1000), ..RateLimits::default() };
    let paced = made(steady()).run(&PhaseSpec { pace, ..work(files(FileOp::Create), 2) }, None).expect("runs");
    assert!(near(rate(&paced), 1000.0, 0.01), "{}", rate(&paced));
}

#[test]
fn the_same_seed_gives_the_same_result_whatever_the_order_of_visits() {
    let model = ModelSpec { noise: 0.2, ..ModelSpec::default() };
    let all = |model: &ModelSpec| {
        let mut simulator = simulator(model.clone());
        [FileOp::MakeTree, FileOp::Create, FileOp::Stat, FileOp::Remove]
            .map(|op| does(&mut simulator, Files { random: true, ..files(op) }, 3))
    };
    assert_eq!(all(&model), all(&model));
    assert_ne!(all(&model), all(&ModelSpec { seed: 1, ..model }));
    assert_eq!(run(steady(), &super::phase(Op::Write, 1, 0, "a")).cache, None);
}
