//! Figures of a million entries, for whoever changes the tables: `cargo test --release -p tonnage-mover journal::speed -- --ignored
//! --nocapture`. The state directory is below `TMPDIR`.

use std::time::Instant;

use super::tests::{file, open, path, placed};
use super::*;
use crate::file_version::Version;
use crate::journal_entry::State;

const ENTRIES: u64 = 1_000_000;
const BATCH: u64 = 16_384;

/// Most memory this process ever had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Processor time of this process, which a busy machine does not lengthen as it does the clock's.
fn cpu_s() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// Runs one step and says what it took; returns its processor time in seconds.
fn timed(what: &str, entries: u64, step: impl FnOnce()) -> f64 {
    let (began, cpu) = (Instant::now(), cpu_s());
    step();
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_s() - cpu);
    let rate = entries as f64 / seconds;
    println!("{what:28} {seconds:7.3} s, {cpu:7.3} s of a processor, {rate:9.0} /s, {} MiB at most", peak_mib());
    cpu
}

fn find_all(journal: &Journal, name: impl Fn(u64) -> String) {
    let now = 1_790_000_000_000_000_000;
    let version = |number| Version { size: 0, mtime_ns: now, ctime_ns: now, ..file(number + 5_000_000, 1) };
    for first in (0..ENTRIES).step_by(BATCH as usize) {
        let numbers = first..(first + BATCH).min(ENTRIES);
        let seen: Vec<_> = numbers.map(|number| (path(&name(number)), version(number))).collect();
        assert_eq!(journal.found(&seen).unwrap().len(), seen.len());
    }
}

fn place_some(journal: &Journal) {
    for first in (1..=100_000).step_by(256) {
        let ids: Vec<i64> = (first..first + 256).collect();
        let ready: Vec<_> = journal.entries(&ids).unwrap().iter().map(|entry| (entry.id, entry.version, placed(9))).collect();
        journal.placing(&ready).unwrap();
        journal.done(&ids).unwrap();
    }
}

fn a_million(name: impl Fn(u64) -> String) {
    let state = tempfile::tempdir().unwrap();
    let journal = open(state.path());
    let found = timed("found", ENTRIES, || find_all(&journal, name));
    timed("queued, in parts", ENTRIES, || {
        let mut after = 0;
        while let Some(last) = journal.queued(after, BATCH as u32).unwrap().last() {
            after = last.id;
        }
        assert_eq!(after as u64, ENTRIES);
    });
    timed("placing and done, by 256", 100_000, || place_some(&journal));
    let read = timed("opened by a reader", ENTRIES, || {
        assert!(Journal::read_only(state.path()).unwrap().totals().of(State::Done).files >= 100_000);
    });
    drop(journal);
    timed("opened again", ENTRIES, || drop(open(state.path())));
    println!("{:28} {:7} MiB", "database", state.path().join(DATABASE).metadata().unwrap().len() >> 20);
    assert!(found < ENTRIES as f64 / 300_000.0, "below 300,000 entries a second of a processor");
    assert!(read < 1.0, "a status takes too long");
    assert!(peak_mib() < 300, "above 300 MiB");
}

#[test]
#[ignore = "a measurement"]
fn a_million_entries_in_many_directories() {
    a_million(|number| format!("run/step-{:04}/output.{:08}", number / 1000, number.wrapping_mul(0x9e37_79b9) % 100_000_000));
}

/// In the order of names, as a scan says them.
#[test]
#[ignore = "a measurement"]
fn a_million_entries_in_one_directory() {
    a_million(|number| format!("run/output.{number:010}"));
}
