//! Whatever is asked for, the engine and the simulator do the same operations of each task in the same order.
//!
//! Drawn are all kinds of work: streams (orders, layouts, sources, mixes, depths, paces, limits, wear-out), phases on names,
//! copies of a command, searches, tails, and checkpoints with their restart and removal. A limit of time ends each side at a time of
//! its own: what the one did is then the beginning of what the other did.

use std::collections::BTreeMap;

use crate::support::{Outcome, by_engine, by_simulator};
use proptest::prelude::*;
use tonnage_workload::{
    Access, CachePolicy, Checkpoint, CheckpointStep, Command, Coordination, Durability, FileOp, Files, Find, Geometry, Layout,
    Limit, Means, Op, PayloadKind, PhaseSpec, RateLimits, ReadShare, Source, Stream, Tail, TaskRange, Tree, Waiting, Work,
};

/// So long that nothing here is ended by it.
const HOUR: u64 = 3_600_000_000_000;

fn geometries() -> impl Strategy<Value = Geometry> {
    let layouts = prop_oneof![Just(Layout::FilePerTask), Just(Layout::Shared)];
    let accesses = prop_oneof![Just(Access::Sequential), Just(Access::Strided), Just(Access::Random), Just(Access::RandomBlocks)];
    (1..4_u64, 1..40_u64, 1..4_u64, layouts, accesses).prop_map(|(size, per_block, segments, layout, access)| Geometry {
        transfer_size: size * 512,
        block_size: size * 512 * per_block,
        segments,
        layout,
        access,
    })
}

fn sources() -> impl Strategy<Value = Source> {
    prop_oneof![
        Just(Source::Own),
        (0..6_u32).prop_map(|tasks| Source::Shift { tasks }),
        any::<u64>().prop_map(|seed| Source::Random { seed }),
    ]
}

/// Paces that end soon.
fn paces() -> impl Strategy<Value = RateLimits> {
    let rate = |operations_per_s| RateLimits { operations_per_s, ..RateLimits::default() };
    prop_oneof![
        4 => Just(RateLimits::default()),
        1 => (100_000..1_000_000_u64).prop_map(move |operations| rate(Some(operations))),
        1 => (500_000_000..1_000_000_000_u64).prop_map(|bytes| RateLimits { bytes_per_s: Some(bytes), ..RateLimits::default() }),
        1 => (1..20_000_u64).prop_map(|think_ns| RateLimits { think_ns, ..RateLimits::default() }),
    ]
}

/// Limits that no clock decides: of operations, and wear-out and least times that the first pass ends.
fn limits(wraps: bool) -> impl Strategy<Value = Limit> {
    let operations = prop::option::of(1..200_u64);
    (operations, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(move |(operations, wrap, wear_out, again)| Limit {
        time_ns: wear_out.then_some(HOUR),
        wrap: wraps && wrap && !wear_out && operations.is_some(),
        operations,
        min_time_ns: u64::from(wraps && again),
        wear_out,
        watch_space: false,
    })
}

fn tasks() -> impl Strategy<Value = TaskRange> {
    (0..3_u32, 1..4_u32, 0..3_u32).prop_map(|(first, here, after)| TaskRange { first, here, total: first + here + after })
}

fn phase(tasks: TaskRange, limit: Limit, pace: RateLimits, seed: u64, work: Work) -> PhaseSpec {
    PhaseSpec {
        record: "0000-same".to_owned(),
        tasks,
        tasks_per_node: None,
        // Those who wear out in several processes wait for a launcher.
        limit: if tasks.here < tasks.total { Limit { wear_out: false, time_ns: None, ..limit } } else { limit },
        pace,
        hog_bytes: 0,
        operation_log: 0,
        seed,
        interval_ns: 10_000_000,
        work,
    }
}

prop_compose! {
    /// A stream, and before it, where it reads, the writes of what it reads, as far as a limit let them go.
    fn streams()(
        geometry in geometries(), source in sources(), tasks in tasks(), (limit, pace) in (limits(true), paces()),
        seed in any::<u64>(), (op, read_percent) in prop_oneof![
            Just((Op::Write, None)), Just((Op::Read, None)), (1..100_u8).prop_map(|percent| (Op::Write, Some(percent))),
        ],
        (queue_depth, order_seed, spread) in (1..5_u32, prop::option::of(any::<u64>()), prop::option::of(1..100_000_u64)),
        verify in any::<bool>(), preallocate in any::<bool>(), barriers in any::<bool>(), short in prop::option::of(1..100_u64),
    ) -> Vec<PhaseSpec> {
        let stream = Stream {
            read_percent,
            source,
            queue_depth,
            order_seed,
            spread_bytes: spread,
            verify: verify && (read_percent.is_some() || op == Op::Read),
            preallocate,
            barriers: barriers && tasks.here == tasks.total,
            ..Stream::new(op, geometry.clone())
        };
        let sequential = Geometry { access: Access::Sequential, ..geometry };
        let all = TaskRange { first: 0, here: tasks.total, total: tasks.total };
        let cut = Limit { operations: short, ..Limit::default() };
        let written = phase(all, cut, RateLimits::default(), seed, Work::Stream(Stream::new(Op::Write, sequential)));
        let before = stream.reads().then_some(written);
        before.into_iter().chain([phase(tasks, limit, pace, seed, Work::Stream(stream))]).collect()
    }
}

/// Phases in an order in which each finds its names, and a last one of any kind.
fn names() -> impl Strategy<Value = Vec<PhaseSpec>> {
    let trees = (0..3_u32, 1..4_u32, 1..5_u64, any::<[bool; 2]>()).prop_map(|(depth, branch, items, [leaves_only, shared])| {
        Tree { depth, branch, items_per_directory: items, leaves_only, shared }
    });
    let last = prop::sample::select(vec![
        FileOp::RemoveTree,
        FileOp::StatDirectory,
        FileOp::RenameDirectory,
        FileOp::RemoveDirectory,
        FileOp::Create,
        FileOp::Write,
        FileOp::Stat,
        FileOp::Read,
        FileOp::Rename,
        FileOp::ReadDirectory,
        FileOp::Remove,
        FileOp::MakeDirectory,
        FileOp::OpenWriteClose,
        FileOp::Churn,
        FileOp::MakeTree,
    ]);
    let more = (0..3000_u64, 0..5_u32, any::<[bool; 4]>(), 1..9_u64);
    (trees, last, more, 1..5_u32, limits(false), paces(), any::<u64>()).prop_map(|(tree, op, more, here, limit, pace, seed)| {
        let (file_bytes, shift, [random, collective, mknod, shared_files], operations) = more;
        let files = |op| Files {
            op,
            tree,
            operations,
            counts: Vec::new(),
            renamed: false,
            file_bytes,
            fsync: false,
            syncfs: false,
            mknod: mknod && file_bytes == 0,
            collective,
            // Only a file may be there when it is made.
            shared_files: shared_files && tree.shared && !op.is_on_directories(),
            shift: if matches!(op, FileOp::MakeTree | FileOp::RemoveTree) { 0 } else { shift },
            random,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            check_written: false,
        };
        let tasks = TaskRange { first: 0, here, total: here };
        let whole = |op| phase(tasks, Limit::default(), RateLimits::default(), seed, Work::Files(files(op)));
        let before: &[FileOp] = match op {
            FileOp::MakeTree => &[],
            _ if op.repeats() => &[FileOp::MakeTree],
            FileOp::Create | FileOp::MakeDirectory | FileOp::RemoveTree => &[FileOp::MakeTree],
            FileOp::StatDirectory | FileOp::RenameDirectory | FileOp::RemoveDirectory => {
                &[FileOp::MakeTree, FileOp::MakeDirectory]
            }
            _ => &[FileOp::MakeTree, FileOp::Create],
        };
        let last = phase(tasks, limit, pace, seed, Work::Files(files(op)));
        before.iter().map(|&op| whole(op)).chain([last]).collect()
    })
}

/// A writer and its readers.
fn tails() -> impl Strategy<Value = Vec<PhaseSpec>> {
    let follows = prop_oneof![Just(ReadShare::Whole), Just(ReadShare::Share)];
    let limits = prop::option::of(1..60_u64).prop_map(|operations| Limit { operations, ..Limit::default() });
    let shapes = (1..5_u64, 1..60_u64, follows, 50_000..1_000_000_u64);
    (shapes, 1..5_u32, limits, paces(), any::<u64>()).prop_map(|((size, transfers, follow, poll_ns), here, limit, pace, seed)| {
        let tail = Tail {
            transfer_size: size * 512,
            file_bytes: size * 512 * transfers,
            follow,
            waiting: Waiting::Poll,
            poll_ns,
            grace_ns: HOUR,
            durability: Durability::None,
            verify: false,
        };
        vec![phase(TaskRange { first: 0, here, total: here }, limit, pace, seed, Work::Tail(tail))]
    })
}

/// Copies of a program that does nothing.
fn copies() -> impl Strategy<Value = Vec<PhaseSpec>> {
    let limits = prop::option::of(1..5_u64).prop_map(|operations| Limit { operations, ..Limit::default() });
    (1..12_u32, tasks(), limits, paces()).prop_map(|(copies, tasks, limit, pace)| {
        let pace = RateLimits { bytes_per_s: None, ..pace };
        let (argv, directory) = (vec!["true".to_owned()], "/".to_owned());
        let command = Command { argv, copies, directory, environment: BTreeMap::new(), output: None };
        vec![phase(tasks, limit, pace, 1, Work::Command(command))]
    })
}

/// A search, and the files that are there.
fn searches() -> impl Strategy<Value = Vec<PhaseSpec>> {
    let limits = prop::option::of(1..60_u64).prop_map(|operations| Limit { operations, ..Limit::default() });
    let names = prop::option::of(prop::sample::select(vec!["*1*", "f.0.?", "*", "none"]));
    (0..120_u64, names, prop::option::of(Just(0)), tasks(), limits, paces()).prop_map(
        |(files, name, size_bytes, tasks, limit, pace)| {
            let pace = RateLimits { bytes_per_s: None, ..pace };
            let (name, root) = (name.map(str::to_owned), "/".to_owned());
            let find = Find { root, name, size_bytes, changed_since_ns: None, files };
            vec![phase(tasks, limit, pace, 1, Work::Find(find))]
        },
    )
}

prop_compose! {
    /// Rounds; and after them a restart, or the removal of what they left.
    fn checkpoints()(
        geometry in geometries(), here in 1..4_u32, rounds in 1..4_u32, queue_depth in 1..5_u32, together in any::<bool>(),
        snapshots in any::<bool>(), think_ns in 0..200_000_u64, of_round in 0..4_u32, seed in any::<u64>(),
        last in prop::sample::select(vec![CheckpointStep::Checkpoint, CheckpointStep::Restart, CheckpointStep::Drop]),
    ) -> Vec<PhaseSpec> {
        let tasks = TaskRange { first: 0, here, total: here };
        let own = geometry.layout == Layout::FilePerTask;
        // Drawn blocks leave holes, which no restart can read.
        let access = if geometry.access == Access::RandomBlocks { Access::Random } else { geometry.access };
        let step = |step| phase(tasks, Limit::default(), RateLimits::default(), seed, Work::Checkpoint(Checkpoint {
            step,
            rounds,
            think_ns,
            coordination: if together || !own { Coordination::Together } else { Coordination::Each },
            geometry: Geometry { access, ..geometry.clone() },
            queue_depth,
            durability: Durability::Fsync,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            retry_ns: None,
            snapshot: snapshots.then_some(Means::Model {}),
            of_round: (snapshots && step == CheckpointStep::Restart).then_some(of_round.min(rounds - 1)),
        }));
        let written = (last != CheckpointStep::Checkpoint).then(|| step(CheckpointStep::Checkpoint));
        written.into_iter().chain([step(last)]).collect()
    }
}

prop_compose! {
    /// The same streams and names, of which a time is the end, or a wall behind which they wear out.
    fn timed()(mut phases in prop_oneof![streams(), names()], time_ns in 200_000..3_000_000_u64, wears in any::<bool>()) -> Vec<PhaseSpec> {
        if let Some(last) = phases.last_mut() {
            let apart = last.tasks.here < last.tasks.total;
            let wrap = matches!(last.work, Work::Stream(_)) && !wears;
            last.limit = Limit { time_ns: Some(time_ns), wrap, wear_out: wears && !apart, min_time_ns: 0, ..last.limit };
            last.pace = if apart { RateLimits::default() } else { last.pace };
        }
        phases
    }
}

/// What both are to agree on: why not, or operations and bytes of each task, each operation in its order, and what became
/// of the rounds.
fn agree(phases: &[PhaseSpec]) -> Result<(), TestCaseError> {
    let says = |(told, seen): Outcome| {
        told.map(|result| {
            let counts: Vec<_> = result.tasks.iter().map(|task| (task.task, task.operations, task.bytes, task.wrapped)).collect();
            let snapshots: BTreeMap<_, _> = result.events.into_iter().filter(|event| event.kind.starts_with("snapshot")).fold(
                BTreeMap::new(),
                |mut of_task: BTreeMap<_, Vec<_>>, event| {
                    of_task.entry(event.task).or_default().push(event.kind);
                    of_task
                },
            );
            let rounds = result.checkpoint.map(|of| (of.step, of.rounds, of.windows.len(), of.leftovers_ns > 0));
            (result.first_error.map(|error| error.message), counts, seen, snapshots, rounds)
        })
    };
    prop_assert_eq!(says(by_engine(phases)), says(by_simulator(phases)));
    Ok(())
}

/// Copies are dealt to whoever is free: both run the same ones, each once, and no task more than it may.
fn agree_on_copies(phases: &[PhaseSpec]) -> Result<(), TestCaseError> {
    let says = |(told, _): Outcome| {
        told.map(|result| {
            let most = result.tasks.iter().map(|task| task.operations).max().unwrap_or(0);
            assert!(phases[0].limit.operations.is_none_or(|operations| most <= operations), "{most} of {phases:?}");
            result.copies.iter().map(|copy| (copy.copy, copy.exit_code)).collect::<Vec<_>>()
        })
    };
    prop_assert_eq!(says(by_engine(phases)), says(by_simulator(phases)));
    Ok(())
}

/// Each side was ended by its own clock: what a task did on the one is the beginning of what it did on the other. Behind
/// their wall, all tasks of a side that are not through with their part have done as much.
fn agree_until_the_time_is_up(phases: &[PhaseSpec]) -> Result<(), TestCaseError> {
    let last = phases.last().expect("a phase");
    let ((engine, here), (simulator, there)) = (by_engine(phases), by_simulator(phases));
    let (engine, simulator) = match (engine, simulator) {
        (Ok(engine), Ok(simulator)) => (engine, simulator),
        (engine, simulator) => {
            prop_assert_eq!(engine.err(), simulator.err());
            return Ok(());
        }
    };
    for task in last.tasks.first..last.tasks.first + last.tasks.here {
        let [here, there] = [&here, &there].map(|seen| seen.get(&task).map_or(&[][..], Vec::as_slice));
        let common = here.len().min(there.len());
        prop_assert_eq!(&here[..common], &there[..common], "task {}", task);
    }
    for result in [engine, simulator] {
        prop_assert_eq!(&result.first_error, &None);
        let done: Vec<u64> = result.tasks.iter().map(|task| task.operations).collect();
        if let (Work::Stream(_), true) = (&last.work, last.limit.wear_out) {
            prop_assert!(done.iter().all(|count| *count == done[0]), "{:?} of {:?}", done, last);
        }
        let most = last.limit.operations.unwrap_or(u64::MAX);
        prop_assert!(done.iter().all(|count| *count <= most), "{:?} of {:?}", done, last);
    }
    Ok(())
}

/// Files go to whoever is free: both look at as many of them, find the same number where nothing ends the search before, and
/// no task looks at more than it may.
fn agree_on_finds(phases: &[PhaseSpec]) -> Result<(), TestCaseError> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut there = phases.to_vec();
    let Work::Find(find) = &mut there[0].work else { unreachable!("these phases are searches") };
    for number in 0..find.files {
        let directory = place.path().join(format!("d.{}", number % 3));
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::File::create_new(directory.join(Find::modelled_name(number))).expect("a file");
    }
    place.path().to_str().expect("plain").clone_into(&mut find.root);
    let limit = phases[0].limit.operations;
    let says = |(told, _): Outcome| {
        told.map(|result| {
            let most = result.tasks.iter().map(|task| task.operations).max().unwrap_or(0);
            assert!(limit.is_none_or(|operations| most <= operations), "{most} of {phases:?}");
            (result.tasks.iter().map(|task| task.operations).sum::<u64>(), result.found.filter(|_| limit.is_none()))
        })
    };
    prop_assert_eq!(says(by_engine(&there)), says(by_simulator(phases)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_stream_is_the_same_operations_on_both_sides(phases in streams()) {
        agree(&phases)?;
    }

    #[test]
    fn phases_on_names_are_the_same_operations_on_both_sides(phases in names()) {
        agree(&phases)?;
    }
}

proptest! {
    // Each case waits by the clock as well.
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_checkpoint_its_restart_and_its_removal_are_the_same_operations_on_both_sides(phases in checkpoints()) {
        agree(&phases)?;
    }

    #[test]
    fn until_the_time_is_up_both_sides_do_the_same_operations(phases in timed()) {
        agree_until_the_time_is_up(&phases)?;
    }

    #[test]
    fn a_writer_and_its_readers_do_the_same_operations_on_both_sides(phases in tails()) {
        agree(&phases)?;
    }

    #[test]
    fn the_same_copies_of_a_command_run_on_both_sides(phases in copies()) {
        agree_on_copies(&phases)?;
    }

    #[test]
    fn a_search_looks_at_the_same_files_on_both_sides(phases in searches()) {
        agree_on_finds(&phases)?;
    }
}
