//! Whatever is done to the source, and whenever it is carried: in the end the destination holds what the source holds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::{Stage, describe};

const NAMES: [&str; 5] = ["a", "b", "directory/c", "directory/d", "other/e"];

#[derive(Clone, Debug)]
enum Step {
    Write(usize, Vec<u8>),
    Append(usize, Vec<u8>),
    Cut(usize, u64),
    Rename(usize, usize),
    Link(usize, usize),
    Symlink(usize, u8),
    Remove(usize),
    Carry,
    /// A part of what is queued is carried, and the mover is killed.
    Kill(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (name, bytes) = (0..NAMES.len(), prop::collection::vec(any::<u8>(), 0..40));
    prop_oneof![
        3 => (name.clone(), bytes.clone()).prop_map(|(name, bytes)| Step::Write(name, bytes)),
        2 => (name.clone(), bytes).prop_map(|(name, bytes)| Step::Append(name, bytes)),
        1 => (name.clone(), 0_u64..50).prop_map(|(name, length)| Step::Cut(name, length)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Link(from, to)),
        1 => (name.clone(), any::<u8>()).prop_map(|(name, text)| Step::Symlink(name, text)),
        1 => name.clone().prop_map(Step::Remove),
        3 => Just(Step::Carry),
        1 => name.prop_map(Step::Kill),
    ]
}

/// Steps that make no sense at their moment, such as a link to nothing, do nothing.
fn take(stage: &mut Stage, step: &Step, number: usize) {
    let path = |name: &usize| stage.from.join(NAMES[*name]);
    let free = |name: &usize| {
        if path(name).symlink_metadata().is_ok() {
            rustix::fs::rename(path(name), stage.root.path().join(format!("taken away {number}"))).unwrap();
        }
    };
    let is_file = |name: &usize| path(name).symlink_metadata().is_ok_and(|found| found.is_file());
    match step {
        Step::Write(name, bytes) if !path(name).is_symlink() => super::make(&path(name), bytes),
        Step::Append(name, bytes) if is_file(name) => {
            std::io::Write::write_all(&mut fs::File::options().append(true).open(path(name)).unwrap(), bytes).unwrap();
        }
        Step::Cut(name, length) if is_file(name) => {
            fs::File::options().write(true).open(path(name)).unwrap().set_len(*length).unwrap();
        }
        Step::Rename(from, to) if from != to && path(from).symlink_metadata().is_ok() => {
            rustix::fs::rename(path(from), path(to)).unwrap();
        }
        Step::Link(from, to) if from != to && is_file(from) => {
            free(to);
            fs::hard_link(path(from), path(to)).unwrap();
        }
        Step::Symlink(name, text) => {
            free(name);
            symlink(format!("to {text}"), path(name)).unwrap();
        }
        Step::Remove(name) => free(name),
        Step::Carry => drop(stage.carry()),
        Step::Kill(count) => {
            let mut entries = stage.scan();
            entries.truncate(*count);
            stage.carry_these(entries);
            stage.again();
            stage.carrier.recover().unwrap();
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_both_sides_hold_the_same(steps in prop::collection::vec(step(), 1..25)) {
        let mut stage = Stage::new();
        for directory in ["directory", "other"] {
            fs::create_dir(stage.from.join(directory)).unwrap();
        }
        for (number, step) in steps.iter().enumerate() {
            take(&mut stage, step, number);
        }
        stage.scan();
        for _ in 0..3 {
            let queued = stage.journal.queued(0, 100).unwrap();
            stage.carry_these(queued);
        }
        let there: BTreeMap<String, _> = describe(&stage.to).into_iter().map(|found| (found.name.clone(), found)).collect();
        for found in describe(&stage.from) {
            prop_assert_eq!(there.get(&found.name), Some(&found));
        }
        // Names that were taken away after they were safe may stay; a temporary may not.
        prop_assert!(there.keys().all(|name| NAMES.contains(&name.as_str()) || ["directory", "other"].contains(&name.as_str())));
    }
}
