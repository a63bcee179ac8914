//! What the engine honours the simulator honours, and what one refuses the other refuses in the same words.

use crate::support::{by_engine, by_simulator};
use serde_json::{Value, json};
use tonnage_records::PhaseResult;
use tonnage_workload::{PhaseSpec, Work};

const HOUR: u64 = 3_600_000_000_000;

/// A phase of `tasks` tasks that do `work`, with more keys of the phase.
fn phase(tasks: u32, work: &Value, more: &Value) -> PhaseSpec {
    let tasks = json!({"here": tasks, "total": tasks});
    let mut spec = json!({"record": "0000-same", "tasks": tasks, "seed": 3, "interval_ns": 1_000_000, "work": work});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    serde_json::from_value(spec).expect("a phase")
}

fn stream(op: &str, more: &Value) -> Value {
    let geometry = json!({
        "transfer_size": 512, "block_size": 4096, "segments": 2, "layout": "file-per-task", "access": "sequential",
    });
    let mut work = json!({"kind": "stream", "op": op, "geometry": geometry, "durability": "none", "cache": "keep"});
    for (key, value) in more.as_object().into_iter().flatten() {
        work[key] = value.clone();
    }
    work
}

fn files(op: &str, more: &Value) -> Value {
    let tree = json!({"depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": false, "shared": false});
    let mut work = json!({"kind": "files", "op": op, "tree": tree, "operations": 4, "file_bytes": 100, "cache": "keep"});
    for (key, value) in more.as_object().into_iter().flatten() {
        work[key] = value.clone();
    }
    work
}

fn command() -> Value {
    json!({"kind": "command", "argv": ["true"], "copies": 6, "directory": "/"})
}

fn tail() -> Value {
    json!({"kind": "tail", "transfer_size": 512, "file_bytes": 512 * 9, "follow": "whole", "waiting": "poll",
        "poll_ns": 100_000, "durability": "none"})
}

/// What is done of a phase: operations and bytes of each task; of all together where copies are dealt to whoever is
/// free, and what they move is known afterwards.
fn done(spec: &PhaseSpec, result: &PhaseResult) -> Vec<(u64, u64)> {
    assert_eq!(result.first_error, None, "{:?}", spec.work);
    if matches!(spec.work, Work::Command(_)) {
        return vec![(result.tasks.iter().map(|task| task.operations).sum(), 0)];
    }
    result.tasks.iter().map(|task| (task.operations, task.bytes)).collect()
}

/// The shortest time in which so many operations can be done at the pace of `spec`.
fn least_ns(spec: &PhaseSpec, operations: u64) -> u64 {
    let moved = if let Work::Files(files) = &spec.work { files.moved_bytes() } else { 512 };
    match spec.pace.schedule(moved, 0, 1) {
        Some(schedule) => schedule.due_ns(operations.saturating_sub(1)),
        None => operations.div_ceil(u64::from(spec.tasks.here)).saturating_sub(1) * spec.pace.think_ns,
    }
}

/// What is done of a phase, at the pace that was asked for.
fn kept(spec: &PhaseSpec, result: &PhaseResult) -> Vec<(u64, u64)> {
    let operations = result.tasks.iter().map(|task| task.operations).sum();
    let (start, end) = (result.tasks.iter().map(|task| task.start_ns).min(), result.tasks.iter().map(|task| task.end_ns).max());
    let took = end.unwrap_or(0) - start.unwrap_or(0);
    assert!(took >= least_ns(spec, operations), "{took} ns of {spec:?}");
    done(spec, result)
}

/// Phases that follow each other on one storage, of which the last one is judged, under a name; and what both say: the
/// operations of each task, or why not.
type Case = (&'static str, Vec<PhaseSpec>, Result<Vec<u64>, &'static str>);

fn streams() -> Vec<Case> {
    let none = json!({});
    let few = json!({"limit": {"operations": 5}});
    let write = |more: &Value| phase(2, &stream("write", &none), more);
    let read = |more: &Value| phase(2, &stream("read", &none), more);
    let mixed = stream("write", &json!({"read_percent": 50, "verify": true, "queue_depth": 4}));
    vec![
        ("a plain write", vec![write(&none)], Ok(vec![16, 16])),
        ("reads limited by operations of a file as long as they reach", vec![write(&few), read(&few)], Ok(vec![5, 5])),
        (
            "reads that reach further than the file",
            vec![write(&few), read(&json!({"limit": {"operations": 6}}))],
            Err("file 0 has 2560 bytes and the read needs 3072; write it first"),
        ),
        (
            "reads of a whole file that is not there",
            vec![read(&none)],
            Err("file 0 has 0 bytes and the read needs 8192; write it first"),
        ),
        (
            "reads of what two other tasks have not written",
            vec![phase(2, &stream("read", &json!({"source": {"kind": "shift", "tasks": 1}})), &none)],
            Err("file 0 has 0 bytes and the read needs 8192; write it first"),
        ),
        (
            "a least time that is over when a pass has ended, and was not when its last operation began",
            vec![phase(2, &stream("write", &json!({"queue_depth": 4})), &json!({"limit": {"min_time_ns": 1}}))],
            Ok(vec![16, 16]),
        ),
        (
            "a verified mix of two passes and a half",
            vec![write(&none), phase(2, &mixed, &json!({"limit": {"operations": 40, "wrap": true}}))],
            Ok(vec![40, 40]),
        ),
        ("a pace", vec![write(&json!({"pace": {"operations_per_s": 1000}}))], Ok(vec![16, 16])),
        (
            "operations before the least time, worn out",
            vec![write(&json!({"limit": {"operations": 5, "min_time_ns": 1_000_000, "wear_out": true, "time_ns": HOUR}}))],
            Ok(vec![5, 5]),
        ),
        (
            "wrapping without an end",
            vec![write(&json!({"limit": {"wrap": true}}))],
            Err("limit.wrap needs limit.time_ns or limit.operations, or the phase would never end"),
        ),
    ]
}

fn names() -> Vec<Case> {
    let none = json!({});
    let of = |op: &str, more: &Value| phase(2, &files(op, &none), more);
    let made = |then: PhaseSpec| vec![of("make-tree", &none), of("create", &none), then];
    vec![
        ("creates", made(of("stat", &none)), Ok(vec![9, 9])),
        ("a limit of operations on names", made(of("read", &json!({"limit": {"operations": 4}}))), Ok(vec![4, 4])),
        ("a pace of names", made(of("stat", &json!({"pace": {"operations_per_s": 1000}}))), Ok(vec![9, 9])),
        ("a pace in bytes of files", made(of("read", &json!({"pace": {"bytes_per_s": 100_000}}))), Ok(vec![9, 9])),
        (
            "a pace in bytes of names",
            vec![of("stat", &json!({"pace": {"bytes_per_s": 1000}}))],
            Err("pace.bytes_per_s needs operations that move bytes; give pace.operations_per_s"),
        ),
        (
            "files without opening them",
            vec![of("make-tree", &none), phase(2, &files("create", &json!({"mknod": true})), &none)],
            Ok(vec![9, 9]),
        ),
        (
            "names for a least time",
            vec![of("make-tree", &json!({"limit": {"min_time_ns": 5, "time_ns": 10, "wear_out": true}}))],
            Err("a files phase makes one pass over its names; leave limit.min_time_ns out"),
        ),
        (
            "names again",
            vec![of("stat", &json!({"limit": {"wrap": true, "time_ns": HOUR}}))],
            Err("a files phase makes one pass over its names; leave limit.wrap out"),
        ),
    ]
}

fn copies_and_tails() -> Vec<Case> {
    let copies = |more: &Value| phase(2, &command(), more);
    let follow = |more: &Value| phase(3, &tail(), more);
    vec![
        ("copies", vec![copies(&json!({}))], Ok(vec![6])),
        ("a limit of each task's copies", vec![copies(&json!({"limit": {"operations": 2}}))], Ok(vec![4])),
        ("a limit above the copies", vec![copies(&json!({"limit": {"operations": 10}}))], Ok(vec![6])),
        ("a pace of copies", vec![copies(&json!({"pace": {"operations_per_s": 100}}))], Ok(vec![6])),
        (
            "pauses between names",
            vec![phase(2, &files("make-tree", &json!({})), &json!({"pace": {"think_ns": 1_000_000}}))],
            Ok(vec![3, 3]),
        ),
        ("pauses between copies", vec![copies(&json!({"pace": {"think_ns": 1_000_000}}))], Ok(vec![6])),
        (
            "copies again",
            vec![copies(&json!({"limit": {"wrap": true, "operations": 9}}))],
            Err("each copy of a command runs once; leave limit.wrap out"),
        ),
        (
            "a pace of copies in bytes",
            vec![copies(&json!({"pace": {"bytes_per_s": 5}}))],
            Err("pace.bytes_per_s needs operations that move bytes; give pace.operations_per_s"),
        ),
        ("a tail", vec![follow(&json!({}))], Ok(vec![9, 9, 9])),
        ("a tail of so many operations", vec![follow(&json!({"limit": {"operations": 4}}))], Ok(vec![4, 4, 4])),
        (
            "a tail that wears out",
            vec![follow(&json!({"limit": {"wear_out": true, "time_ns": 5}}))],
            Err("the writer of a tail never begins again; leave limit.wear_out out"),
        ),
    ]
}

#[test]
fn what_one_side_honours_or_refuses_the_other_does_in_the_same_words() {
    let mut wrong = Vec::new();
    for (name, phases, expected) in [streams(), names(), copies_and_tails()].concat() {
        let last = phases.last().expect("a phase");
        let says = |(told, _): crate::support::Outcome| told.map(|result| kept(last, &result));
        let (engine, simulator) = (says(by_engine(&phases)), says(by_simulator(&phases)));
        if engine != simulator {
            wrong.push(format!("{name}: the engine says {engine:?} and the simulator {simulator:?}"));
        }
        let counts = engine.map(|done| done.into_iter().map(|(operations, _)| operations).collect());
        if counts != expected.map_err(str::to_owned) {
            wrong.push(format!("{name}: both are to say what {counts:?} is not"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
