//! Figures of a million entries, for whoever changes the tables: `cargo test --release -p tonnage-mover journal::speed -- --ignored
//! --nocapture`. The state directory is below `TMPDIR`.

use std::time::Instant;

use super::tests::{file, open, path, placed};
use super::*;
use crate::entry::State;
use crate::version::Version;

const ENTRIES: u64 = 1_000_000;
const BATCH: u64 = 16_384;

/// Most memory this process ever had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn say(what: &str, entries: u64, since: Instant) -> f64 {
    let seconds = since.elapsed().as_secs_f64();
    println!("{what:32} {seconds:7.3} s {:10.0} /s {:5} MiB at most", entries as f64 / seconds, peak_mib());
    seconds
}

fn a_million(name: impl Fn(u64) -> String) {
    let state = tempfile::tempdir().unwrap();
    let journal = open(state.path());
    let began = Instant::now();
    for first in (0..ENTRIES).step_by(BATCH as usize) {
        let now = 1_790_000_000_000_000_000;
        let seen: Vec<_> = (first..(first + BATCH).min(ENTRIES))
            .map(|number| (path(&name(number)), Version { size: 0, mtime_ns: now, ctime_ns: now, ..file(number + 5_000_000, 1) }))
            .collect();
        assert_eq!(journal.found(&seen).unwrap().len(), seen.len());
    }
    let seconds = say("found", ENTRIES, began);
    assert!(cfg!(debug_assertions) || seconds < ENTRIES as f64 / 300_000.0, "below 300,000 entries a second");
    let began = Instant::now();
    let (mut after, mut counted) = (0, 0);
    while let Some(last) = journal.queued(after, BATCH as u32).unwrap().last() {
        counted += last.id - after;
        after = last.id;
    }
    assert_eq!(counted as u64, ENTRIES);
    say("queued, in parts", ENTRIES, began);
    let began = Instant::now();
    for first in (1..=100_000).step_by(256) {
        let ids: Vec<i64> = (first..first + 256).collect();
        let ready: Vec<_> = journal.entries(&ids).unwrap().iter().map(|entry| (entry.id, entry.version, placed(9))).collect();
        journal.placing(&ready).unwrap();
        journal.done(&ids).unwrap();
    }
    say("placing and done, 256 at once", 100_000, began);
    let began = Instant::now();
    assert!(Journal::read_only(state.path()).unwrap().totals().of(State::Done).files >= 100_000);
    assert!(say("opened by a reader", ENTRIES, began) < 1.0);
    drop(journal);
    let began = Instant::now();
    drop(open(state.path()));
    say("opened again", ENTRIES, began);
    println!("{:32} {:7} MiB", "database", state.path().join(DATABASE).metadata().unwrap().len() >> 20);
    assert!(peak_mib() < 300, "above 300 MiB");
}

#[test]
#[ignore = "a measurement"]
fn a_million_entries_in_many_directories() {
    a_million(|number| format!("run/step-{:04}/output.{:08}", number / 1000, number.wrapping_mul(0x9e37_79b9) % 100_000_000));
}

#[test]
#[ignore = "a measurement"]
fn a_million_entries_in_one_directory_in_no_order() {
    a_million(|number| format!("run/output.{:010}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff));
}
