//! A million empty entries: the time that a scan takes, and the memory of the whole process. On two cores of a busy host, files
//! and journal on ext4: 3.6 s for the first scan, 2.2 s for one that finds nothing new, 96 MiB.

use std::fs::{File, create_dir, read_to_string};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tonnage_mover::journal::{Identity, Journal};
use tonnage_mover::rules::Rules;
use tonnage_mover::scan::Scanner;
use tonnage_mover::watch::Watch;
use tonnage_mover::{Tree, TreePath};

/// Files, in directories of this many.
const FILES: u64 = 1_000_000;
const IN_ONE: u64 = 1000;

#[test]
#[ignore = "a million files: cargo test --release -p tonnage-mover --test million -- --ignored --nocapture"]
fn a_million_entries_are_scanned_within_ten_seconds_and_300_mib() {
    let (from, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make(from.path());
    let identity = Identity { from: from.path().into(), to: "/to".into() };
    let (journal, _) = Journal::open(state.path(), &identity).unwrap();
    let (tree, watch) = (Tree::open(from.path()).unwrap(), Watch::start());
    let (rules, halt) = (Rules::new(&crate::common::options(from.path(), Path::new("/to"))).unwrap(), AtomicBool::new(false));
    let scanner = Scanner { from: &tree, rules: &rules, journal: &journal, watch: Some(&watch), halt: &halt };
    let entries = FILES + FILES / IN_ONE;
    for (what, queued) in [("first scan", entries), ("second scan, nothing new", 0)] {
        let begin = Instant::now();
        let found = scanner.scan(&TreePath::root(), &mut |_| {}).unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        println!("{what}: {} entries in {seconds:.2} s, {} MiB at most", found.entries, peak_kib() >> 10);
        assert_eq!((found.entries, found.queued, found.gone), (entries, queued, 0));
        assert!(seconds < 10.0 && peak_kib() < 300 << 10);
    }
}

fn make(from: &Path) {
    for directory in 0..FILES / IN_ONE {
        let below = from.join(format!("directory-{directory:04}"));
        create_dir(&below).unwrap();
        for file in 0..IN_ONE {
            File::create(below.join(format!("checkpoint-{file:04}.h5"))).unwrap();
        }
    }
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
