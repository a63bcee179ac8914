//! How fast batches and chunks are, beside what the machine gives. Run one at a time, with `--release --ignored --nocapture`.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::Stage;
use crate::copy::Started;
use crate::journal_entry::{Entry, Outcome};
use crate::options::Check;

fn cpu_s() -> f64 {
    let usage = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = usage.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn small(check: Check, workers: usize) -> f64 {
    let stage = Stage::with(|options| options.check = check);
    let bytes = vec![0x5a; 16 << 10];
    for number in 0..10_000 {
        stage.put(&format!("d{}/file{number}", number % 100), &bytes);
    }
    rustix::fs::sync();
    let entries = stage.scan();
    let batches: Vec<Vec<Entry>> = entries.chunks(2000).map(<[Entry]>::to_vec).collect();
    let (next, cpu, start) = (AtomicUsize::new(0), cpu_s(), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcomes = stage.carrier.carry(batch.clone()).unwrap();
                    assert!(outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{outcomes:?}");
                }
            });
        }
    });
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "10,000 x 16 KiB, {check:?}, {workers} workers: {elapsed:.2} s, {:.0} us of processor a file",
        (cpu_s() - cpu) * 100.0
    );
    elapsed
}

fn cp(from: &Path, to: &Path) -> f64 {
    let start = Instant::now();
    assert!(std::process::Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
    rustix::fs::sync();
    start.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement, not a check"]
fn small_files_beside_cp() {
    let stage = Stage::new();
    let bytes = vec![0x5a; 16 << 10];
    for number in 0..10_000 {
        stage.put(&format!("d{}/file{number}", number % 100), &bytes);
    }
    rustix::fs::sync();
    println!("cp -r + sync: {:.2} s", cp(&stage.from, &stage.to.join("copy")));
    drop(stage);
    for workers in [1, 2] {
        small(Check::Written, workers);
    }
}

#[test]
#[ignore = "a measurement, not a check"]
fn large_files_beside_dd() {
    let size = 1_u64 << 30;
    for (check, workers) in [(Check::None, 1), (Check::None, 2), (Check::Written, 1), (Check::Written, 2), (Check::Written, 4)] {
        let stage = Stage::with(|options| options.check = check);
        let path = stage.put("file", b"");
        let filled = format!("if=/dev/zero of={} bs=1M count=1024", path.display());
        assert!(std::process::Command::new("dd").args(filled.split(' ')).arg("status=none").status().unwrap().success());
        rustix::fs::sync();
        stage.scan();
        let (cpu, start) = (cpu_s(), Instant::now());
        let Started::Large(large) = stage.carrier.large(stage.entry("file")).unwrap() else { panic!("it is large") };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let large = &large;
                scope.spawn(move || {
                    if large.help(|| true).unwrap() {
                        assert_eq!(large.finish().unwrap().1, Outcome::Done);
                    }
                });
            }
        });
        let elapsed = start.elapsed().as_secs_f64();
        println!(
            "1 GiB, {check:?}, {workers} workers: {:.0} MiB/s, {:.2} s of processor",
            size as f64 / elapsed / 1_048_576.0,
            cpu_s() - cpu
        );
    }
}
