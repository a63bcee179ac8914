//! Searches of real trees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{null, run};
use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, StopReason};
use tonnage_workload::{Find, Limit, PhaseSpec, TaskRange, Work};

fn any(root: &Path) -> Find {
    let root = root.to_str().expect("plain").to_owned();
    Find { root, name: None, size_bytes: None, changed_since_ns: None, files: 0 }
}

fn spec(find: Find, tasks: u32) -> PhaseSpec {
    PhaseSpec { work: Work::Find(find), ..crate::support::spec(tonnage_workload::Op::Read, tasks) }
}

fn look(find: Find, tasks: u32) -> PhaseResult {
    run(&null(), spec(find, tasks), None)
}

fn examined(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.operations).sum()
}

/// 3 directories in each other with 120 files each, every tenth of 3901 bytes, and a link to a directory, which is a file.
fn tree() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut directory = place.path().to_owned();
    for level in 0..3 {
        for number in 0..120 {
            let bytes = if number % 10 == 0 { 3901 } else { 0 };
            let file = fs::File::create_new(directory.join(format!("f.{level}.{number}"))).expect("a file");
            file.set_len(bytes).expect("its size");
        }
        directory.push(format!("d.{level}"));
        fs::create_dir(&directory).expect("a directory");
    }
    std::os::unix::fs::symlink(place.path(), place.path().join("round")).expect("a link");
    place
}

#[test]
fn every_file_is_looked_at_once_by_any_number_of_tasks() {
    let place = tree();
    for tasks in [1, 2, 7] {
        let result = look(any(place.path()), tasks);
        assert_eq!((examined(&result), result.found, result.stop_reason), (361, Some(361), StopReason::Size), "{tasks}");
        assert_eq!(result.latency.count, 361);
        let found: Vec<u64> = result.tasks.iter().map(|task| task.found.expect("each task tells")).collect();
        assert_eq!(found, result.tasks.iter().map(|task| task.operations).collect::<Vec<_>>(), "every name matches");
    }
}

#[test]
fn name_size_and_time_are_asked_for_together() {
    let place = tree();
    for tasks in [1, 3] {
        let named = look(Find { name: Some("*0".into()), ..any(place.path()) }, tasks);
        assert_eq!((examined(&named), named.found), (361, Some(36)));
        let sized = look(Find { name: Some("*1*".into()), size_bytes: Some(3901), ..any(place.path()) }, tasks);
        // 10, 100 and 110 of each level, and of level 1 all twelve.
        assert_eq!((examined(&sized), sized.found), (361, Some(3 + 12 + 3)));
    }
}

#[test]
fn what_changed_before_is_left_out() {
    let place = tree();
    let new = place.path().join("d.0/new");
    let facts = |path: &Path| {
        let facts = fs::symlink_metadata(path).expect("it is there");
        (facts.ctime() * 1_000_000_000 + facts.ctime_nsec()) as u64
    };
    // What was made last.
    let last = facts(&place.path().join("round"));
    // File systems stamp times in ticks of their own.
    let file = fs::File::create_new(&new).expect("a file");
    let mut bytes = 0;
    while facts(&new) == last {
        bytes += 1;
        file.set_len(bytes).expect("its size");
    }
    let since = |ns| look(Find { changed_since_ns: Some(ns), ..any(place.path()) }, 2).found;
    assert_eq!(since(facts(&new)), Some(1));
    assert_eq!(since(0), Some(362));
}

#[test]
fn several_processes_look_at_each_file_once_together() {
    let place = tree();
    let of = |first, here| {
        let tasks = TaskRange { first, here, total: 3 };
        let result = run(&null(), PhaseSpec { tasks, ..spec(any(place.path()), 1) }, None);
        (examined(&result), result.found.expect("it is told"))
    };
    let parts = [of(0, 1), of(1, 2)];
    assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), 361);
    assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), 361);
    assert!(parts.iter().all(|part| part.0 > 0), "{parts:?}");
}

#[test]
fn a_limit_of_operations_leaves_the_rest_to_other_tasks() {
    let place = tree();
    let limited = |operations, tasks| {
        let limit = Limit { operations: Some(operations), ..Limit::default() };
        run(&null(), PhaseSpec { limit, ..spec(any(place.path()), tasks) }, None)
    };
    assert_eq!(examined(&limited(40, 2)), 80);
    let all = limited(200, 2);
    assert!(examined(&all) == 361 && all.tasks.iter().all(|task| task.operations <= 200), "{:?}", all.tasks);
}

#[test]
fn a_directory_without_files_has_none() {
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(place.path().join("empty")).expect("a directory");
    let result = look(any(place.path()), 3);
    assert_eq!((examined(&result), result.found, result.first_error), (0, Some(0), None));
}

#[test]
fn what_cannot_be_searched_is_told() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let missing = place.path().join("missing");
    let refused = Phase::prepare(null(), spec(any(&missing), 1), None).err().expect("refused").to_string();
    assert!(refused.contains("missing") && refused.contains("search"), "{refused}");
}
