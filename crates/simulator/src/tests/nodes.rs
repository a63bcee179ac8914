//! Streams of many nodes: their ceilings, one by one and as whole nodes.

use tonnage_records::{PhaseFiles, PhaseResult, StopReason, read_histograms, read_table};
use tonnage_workload::{Op, PhaseSpec};

use super::{MIB, bytes, near, phase, rate, run, simulator, streaming};
use crate::ModelSpec;
use crate::fluid_model::MOST_TASKS;

/// Nodes of 2 GB/s (reads 5) behind 100 GB/s for all.
fn shared() -> ModelSpec {
    ModelSpec {
        plateau_bytes_per_s: Some(100_000_000_000),
        node_plateau_bytes_per_s: Some(2_000_000_000),
        read_node_plateau_bytes_per_s: Some(5_000_000_000),
        ..ModelSpec::default()
    }
}

fn on_nodes(op: Op, nodes: u32, record: &str) -> PhaseSpec {
    PhaseSpec { tasks_per_node: Some(16), ..phase(op, 16 * nodes, 0, record) }
}

/// The same, but task by task however many they are.
fn one_by_one(op: Op, nodes: u32) -> PhaseSpec {
    streaming(on_nodes(op, nodes, "0000-write"), |stream| stream.preallocate = true)
}

fn is_by_node(result: &PhaseResult) -> bool {
    result.facts.contains_key("by_node")
}

#[test]
fn nodes_add_up_until_they_reach_what_they_share() {
    for nodes in [1, 2, 20, 50, 60, 200] {
        let result = run(shared(), &on_nodes(Op::Write, nodes, "0000-write"));
        let law = (2e9 * f64::from(nodes)).min(1e11);
        assert!(near(rate(&result), law, 0.05), "{nodes}: {} against {law}", rate(&result));
        assert_eq!((bytes(&result), is_by_node(&result)), (u64::from(nodes) * 16 * 64 * MIB, 16 * nodes > MOST_TASKS));
    }
}

#[test]
fn nodes_that_share_nothing_grow_without_end() {
    let local = ModelSpec { plateau_bytes_per_s: None, ..shared() };
    for nodes in [2, 100, 600] {
        let result = run(local.clone(), &on_nodes(Op::Write, nodes, "0000-write"));
        assert!(near(rate(&result), 2e9 * f64::from(nodes), 0.05), "{nodes}: {}", rate(&result));
    }
}

#[test]
fn reads_of_whole_nodes_find_what_whole_nodes_wrote_and_have_plateaus_of_their_own() {
    let mut simulator = simulator(ModelSpec { plateau_bytes_per_s: None, ..shared() });
    let spec = on_nodes(Op::Read, 100, "0001-read");
    assert!(simulator.run(&spec, None).expect_err("nothing there").to_string().contains("file 0 has 0 bytes"));
    simulator.run(&on_nodes(Op::Write, 100, "0000-write"), None).expect("writes");
    let read = simulator.run(&spec, None).expect("reads");
    assert!(near(rate(&read), 5e11, 0.05), "{}", rate(&read));
    assert_eq!(read.cache.expect("a read says").device_bytes, Some(bytes(&read)));
}

#[test]
fn whole_nodes_say_the_same_as_their_tasks_one_by_one() {
    let model = ModelSpec { plateau_bytes_per_s: Some(120_000_000_000), noise: 0.2, ..shared() };
    let longer = |spec| streaming(spec, |stream| stream.geometry.block_size = 512 * MIB);
    let exact = run(model.clone(), &longer(one_by_one(Op::Write, 80)));
    let whole = run(model, &longer(on_nodes(Op::Write, 80, "0000-write")));
    assert!(is_by_node(&whole) && !is_by_node(&exact));
    assert!(near(rate(&whole), rate(&exact), 0.02), "{} against {}", rate(&whole), rate(&exact));
    let (a, b) = (whole.latency, exact.latency);
    assert_eq!(a.count, b.count);
    for (ours, theirs) in [(a.mean_ns, b.mean_ns), (a.p50_ns, b.p50_ns), (a.p90_ns, b.p90_ns), (a.p99_ns, b.p99_ns)] {
        assert!(near(ours as f64, theirs as f64, 0.02), "{a:?} against {b:?}");
    }
}

#[test]
fn the_slow_node_ends_last() {
    for nodes in [10, 200] {
        let model = ModelSpec { straggler_node: 2.0, plateau_bytes_per_s: None, ..shared() };
        let result = run(model, &on_nodes(Op::Write, nodes, "0000-write"));
        let tasks = &result.tasks;
        let (last, first) = (tasks[tasks.len() - 1].transfer_ns, tasks[0].transfer_ns);
        assert!((1.5..2.3).contains(&(last as f64 / first as f64)), "{nodes}: {last} {first}");
    }
}

#[test]
fn a_time_limit_ends_whole_nodes_and_what_is_in_flight_counts() {
    let spec = on_nodes(Op::Write, 100, "0000-write");
    let limit = tonnage_workload::Limit { time_ns: Some(2_000_000_000), wrap: true, ..Default::default() };
    let result = run(shared(), &PhaseSpec { limit, ..spec });
    assert_eq!(result.stop_reason, StopReason::Time);
    assert!(is_by_node(&result) && result.tasks.iter().all(|task| task.end_ns >= 2_000_000_000 && task.wrapped));
    assert!(near(rate(&result), 1e11, 0.02), "{}", rate(&result));
}

#[test]
fn series_heat_and_histograms_of_whole_nodes_add_up_and_stay_small() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        std::fs::create_dir(directory.path().join(name)).expect("made");
    }
    let files = PhaseFiles::create(directory.path(), "0000-write", false).expect("created");
    let spec = streaming(on_nodes(Op::Write, 300, "0000-write"), |stream| stream.geometry.block_size = 4096 * MIB);
    let result = simulator(shared()).run(&spec, Some(files)).expect("runs");
    assert_eq!(result.tasks.len(), 300);
    assert!(result.tasks.iter().enumerate().all(|(node, task)| task.task == 16 * node as u32));
    let operations: u64 = result.tasks.iter().map(|task| task.operations).sum();
    assert_eq!(operations, 300 * 16 * 4096);
    let series = read_table(&directory.path().join("series/0000-write.parquet")).expect("reads");
    let sum = |table: &[(String, Vec<i64>)], column: usize| table[column].1.iter().sum::<i64>() as u64;
    assert_eq!((sum(&series, 3), sum(&series, 4)), (bytes(&result), operations));
    assert!(series[0].1.len() < 1 << 17, "{}", series[0].1.len());
    let heat = read_table(&directory.path().join("heat/0000-write.parquet")).expect("reads");
    assert_eq!(sum(&heat, 4), operations);
    let histograms = read_histograms(&directory.path().join("latency/0000-write.hlog")).expect("reads");
    let counts: Vec<u64> = histograms.iter().map(|(_, values)| values.iter().map(|(_, count)| count).sum()).collect();
    assert_eq!(counts, result.tasks.iter().map(|task| task.operations).collect::<Vec<_>>());
}

#[test]
fn a_model_without_nodes_and_without_a_plateau_is_refused() {
    let none = ModelSpec { plateau_bytes_per_s: None, ..ModelSpec::default() };
    assert!(none.check().expect_err("no ceiling").to_string().contains("node_plateau_bytes_per_s beside it"));
    let reads = ModelSpec { read_node_plateau_bytes_per_s: Some(1), ..ModelSpec::default() };
    assert!(reads.check().is_err());
}
