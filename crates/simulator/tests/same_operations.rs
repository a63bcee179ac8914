//! Whatever is asked for, the engine and the simulator do the same operations of each task in the same order.
//!
//! Drawn are streams (all orders, layouts, sources, mixes, depths, paces, limits, wear-out) and sequences of phases on
//! names. Not drawn: limits of time, which end each side at times of its own, and copies, tails and checkpoints.

mod support;

use proptest::prelude::*;
use support::{Told, by_engine, by_simulator};
use tonnage_workload::{
    Access, CachePolicy, FileOp, Files, Geometry, Layout, Limit, Op, Pace, PayloadKind, PhaseSpec, Source, Stream, TaskRange,
    Tree, Work,
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
fn paces() -> impl Strategy<Value = Pace> {
    let rate = |operations_per_s| Pace { operations_per_s, ..Pace::default() };
    prop_oneof![
        4 => Just(Pace::default()),
        1 => (100_000..1_000_000_u64).prop_map(move |operations| rate(Some(operations))),
        1 => (500_000_000..1_000_000_000_u64).prop_map(|bytes| Pace { bytes_per_s: Some(bytes), ..Pace::default() }),
        1 => (1..20_000_u64).prop_map(|think_ns| Pace { think_ns, ..Pace::default() }),
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
    })
}

fn tasks() -> impl Strategy<Value = TaskRange> {
    (0..3_u32, 1..4_u32, 0..3_u32).prop_map(|(first, here, after)| TaskRange { first, here, total: first + here + after })
}

fn phase(tasks: TaskRange, limit: Limit, pace: Pace, seed: u64, work: Work) -> PhaseSpec {
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
        let written = phase(all, cut, Pace::default(), seed, Work::Stream(Stream::new(Op::Write, sequential)));
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
        FileOp::Create,
        FileOp::Write,
        FileOp::Stat,
        FileOp::Read,
        FileOp::Rename,
        FileOp::ReadDirectory,
        FileOp::Remove,
        FileOp::MakeDirectory,
        FileOp::OpenWriteClose,
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
            shared_files: shared_files && tree.shared && op != FileOp::MakeDirectory,
            shift: if op == FileOp::MakeTree { 0 } else { shift },
            random,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            check_written: false,
        };
        let tasks = TaskRange { first: 0, here, total: here };
        let whole = |op| phase(tasks, Limit::default(), Pace::default(), seed, Work::Files(files(op)));
        let before: &[FileOp] = match op {
            FileOp::MakeTree => &[],
            FileOp::Create | FileOp::MakeDirectory | FileOp::OpenWriteClose => &[FileOp::MakeTree],
            _ => &[FileOp::MakeTree, FileOp::Create],
        };
        let last = phase(tasks, limit, pace, seed, Work::Files(files(op)));
        before.iter().map(|&op| whole(op)).chain([last]).collect()
    })
}

/// What both are to agree on: why not, or operations and bytes of each task and each operation in its order.
fn agree(phases: &[PhaseSpec]) -> Result<(), TestCaseError> {
    let says = |(told, seen): Told| {
        told.map(|result| {
            let counts: Vec<_> = result.tasks.iter().map(|task| (task.task, task.operations, task.bytes, task.wrapped)).collect();
            (result.first_error.map(|error| error.message), counts, seen)
        })
    };
    prop_assert_eq!(says(by_engine(phases)), says(by_simulator(phases)));
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
