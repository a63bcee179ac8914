//! Files that go in chunks.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Stage;
use crate::copy::{Large, SMALL_BYTES, Started};
use crate::journal_entry::{Outcome, State};
use crate::names;
use crate::options::Check;

const SIZE: usize = (12 << 20) + 12_345;

fn bytes(seed: u8) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    for (index, piece) in bytes.chunks_mut(1000).enumerate() {
        piece.fill((index % 251) as u8 ^ seed);
    }
    bytes
}

fn begin(stage: &Stage, name: &str) -> Arc<Large> {
    stage.scan();
    match stage.carrier.large(stage.entry(name)).unwrap() {
        Started::Large(large) => large,
        Started::Ended(_, outcome) => panic!("{outcome:?}"),
    }
}

fn carry(stage: &Stage, name: &str, workers: u32) -> Outcome {
    stage.scan();
    match stage.carrier.large(stage.entry(name)).unwrap() {
        Started::Large(large) => work(&large, workers),
        Started::Ended(_, outcome) => outcome,
    }
}

/// All workers at once; exactly one of them finishes.
fn work(large: &Arc<Large>, workers: u32) -> Outcome {
    let mut last = 0;
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..workers).map(|_| scope.spawn(move || large.help(|| true).unwrap())).collect();
        last = helpers.into_iter().map(|helper| usize::from(helper.join().unwrap())).sum();
    });
    assert_eq!(last, 1, "one worker finishes it");
    assert!(!large.has_work() && !large.help(|| true).unwrap());
    large.finish().unwrap().1
}

#[test]
fn several_workers_carry_one_file_with_the_checksum_of_the_whole() {
    for (check, workers) in [(Check::None, 1), (Check::Written, 1), (Check::Written, 3), (Check::ReadBack, 2)] {
        let stage = Stage::with(|options| options.check = check);
        stage.put("directory/file", &bytes(1));
        assert_eq!(carry(&stage, "directory/file", workers), Outcome::Done);
        stage.assert_same();
        let expected = (check != Check::None).then(|| *blake3::hash(&bytes(1)).as_bytes());
        assert_eq!(
            (stage.state("directory/file"), stage.entry("directory/file").placed.unwrap().checksum),
            (State::Done, expected)
        );
    }
}

/// A file of 24 MiB with some bytes in its middle and nothing else.
fn put_with_holes(stage: &Stage) -> PathBuf {
    let path = stage.put("file", b"");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(24 << 20).unwrap();
    file.write_all_at(b"in the middle", (10 << 20) + 77).unwrap();
    path
}

#[test]
fn holes_of_a_large_file_stay_holes() {
    let stage = Stage::new();
    let path = put_with_holes(&stage);
    assert_eq!(carry(&stage, "file", 2), Outcome::Done);
    stage.assert_same();
    assert_eq!(stage.entry("file").placed.unwrap().checksum, Some(*blake3::hash(&fs::read(&path).unwrap()).as_bytes()));
    let blocks = fs::metadata(stage.to.join("file")).unwrap().blocks();
    assert!(blocks * 512 <= 1 << 20, "{} bytes are allocated", blocks * 512);
}

#[test]
fn a_halted_file_goes_on_with_the_chunks_it_has() {
    let mut stage = Stage::new();
    stage.put("file", &bytes(1));
    let large = begin(&stage, "file");
    // The crew is one worker, which leaves after the chunk that the limiter's last piece was of.
    let halt = Arc::clone(&stage.halt);
    let counters = Arc::clone(&stage.carrier.shared.parts.counters);
    std::thread::scope(|scope| {
        let helper = scope.spawn(|| large.help(|| true).unwrap());
        while counters.copied_bytes.load(Ordering::Relaxed) < 5 << 20 {
            std::hint::spin_loop();
        }
        halt.store(true, Ordering::Relaxed);
        assert!(helper.join().unwrap());
    });
    let outcome = large.finish().unwrap().1;
    drop(large);
    if outcome == Outcome::Done {
        return; // It was faster than the halt.
    }
    assert_eq!(outcome, Outcome::Halted);
    stage.again();
    let entry = stage.entry("file");
    let known: u64 = stage.journal.chunks(entry.id, &entry.version).unwrap().iter().map(|chunk| chunk.length).sum();
    assert!(known >= 4 << 20, "{known} bytes are known");
    assert_eq!(carry(&stage, "file", 2), Outcome::Done);
    stage.assert_same();
    let copied = stage.carrier.shared.parts.counters.copied_bytes.load(Ordering::Relaxed);
    assert_eq!(copied, SIZE as u64 - known, "only what was missing was copied");
}

/// Copies all chunks and is killed before the end.
fn half(stage: &Stage) -> std::path::PathBuf {
    let large = begin(stage, "file");
    assert!(large.help(|| true).unwrap());
    let temporary = names::temporary(stage.journal.id(), stage.entry("file").id);
    stage.to.join(String::from_utf8(temporary).unwrap())
}

#[test]
fn a_damaged_chunk_is_copied_again_and_the_others_are_not() {
    let mut stage = Stage::new();
    stage.put("file", &bytes(1));
    let temporary = half(&stage);
    fs::OpenOptions::new().write(true).open(temporary).unwrap().write_all_at(b"rotten", 5 << 20).unwrap();
    stage.again();
    assert_eq!(carry(&stage, "file", 1), Outcome::Done);
    stage.assert_same();
    assert_eq!(stage.carrier.shared.parts.counters.copied_bytes.load(Ordering::Relaxed), 4 << 20);
}

#[test]
fn where_a_damaged_chunk_must_have_a_hole_nothing_of_the_damage_stays() {
    let stage = Stage::new();
    put_with_holes(&stage);
    let temporary = half(&stage);
    let damaged = fs::OpenOptions::new().write(true).open(temporary).unwrap();
    // Where the source has a hole, in a chunk that also has data and in one that has none.
    for offset in [9 << 20, 20 << 20] {
        damaged.write_all_at(b"garbage", offset).unwrap();
    }
    drop(damaged);
    assert_eq!(carry(&stage, "file", 2), Outcome::Done);
    stage.assert_same();
    let blocks = fs::metadata(stage.to.join("file")).unwrap().blocks();
    assert!(blocks * 512 <= 1 << 20, "{} bytes are allocated", blocks * 512);
}

#[test]
fn chunks_of_another_version_are_not_used() {
    let mut stage = Stage::new();
    let path = stage.put("file", &bytes(1));
    half(&stage);
    super::make(&path, &bytes(2));
    stage.again();
    assert_eq!(carry(&stage, "file", 1), Outcome::Done);
    stage.assert_same();
    assert_eq!(stage.carrier.shared.parts.counters.copied_bytes.load(Ordering::Relaxed), SIZE as u64);
}

#[test]
fn a_temporary_that_vanished_or_was_cut_is_made_anew() {
    for cut in [false, true] {
        let mut stage = Stage::new();
        stage.put("file", &bytes(1));
        let temporary = half(&stage);
        if cut {
            fs::OpenOptions::new().write(true).open(temporary).unwrap().set_len(9 << 20).unwrap();
        } else {
            rustix::fs::rename(temporary, stage.root.path().join("elsewhere")).unwrap();
        }
        stage.again();
        assert_eq!(carry(&stage, "file", 1), Outcome::Done);
        stage.assert_same();
    }
}

#[test]
fn a_file_that_changes_on_the_way_is_not_placed_and_leaves_nothing() {
    let stage = Stage::new();
    let path = stage.put("file", &bytes(1));
    let large = begin(&stage, "file");
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(b"changed", 7 << 20).unwrap();
    assert_eq!(work(&large, 2), Outcome::Changed);
    assert!(stage.names().is_empty(), "{:?}", stage.names());
    let entry = stage.entry("file");
    assert!(entry.state != State::Done && stage.journal.chunks(entry.id, &entry.version).unwrap().is_empty());
}

#[test]
fn a_file_that_is_cut_or_removed_on_the_way_is_neither_placed_nor_an_error() {
    for expected in [Outcome::Changed, Outcome::Gone] {
        let stage = Stage::new();
        let path = stage.put("file", &bytes(1));
        let large = begin(&stage, "file");
        if expected == Outcome::Gone {
            stage.take_away("file");
        } else {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(SMALL_BYTES + 1).unwrap();
        }
        assert_eq!(work(&large, 1), expected);
        assert!(stage.names().is_empty());
    }
}

#[test]
fn a_foreign_file_is_taken_for_the_copy_only_if_it_holds_the_same() {
    for (seed, done) in [(1, true), (2, false)] {
        let stage = Stage::new();
        stage.put("file", &bytes(1));
        super::make(&stage.to.join("file"), &bytes(seed));
        let outcome = carry(&stage, "file", 1);
        assert!(
            if done { outcome == Outcome::Done } else { matches!(outcome, Outcome::Failed { again: false, .. }) },
            "{outcome:?}"
        );
        assert_eq!((stage.bytes("file") == bytes(seed), stage.names().len()), (true, 1));
    }
}

#[test]
fn another_name_of_a_large_file_waits_and_becomes_a_link() {
    let stage = Stage::new();
    let path = stage.put("file", &bytes(1));
    fs::hard_link(path, stage.from.join("other")).unwrap();
    let large = begin(&stage, "file");
    assert!(matches!(carry(&stage, "other", 1), Outcome::Later(_)));
    assert_eq!(work(&large, 1), Outcome::Done);
    drop(large);
    assert_eq!(carry(&stage, "other", 1), Outcome::Done);
    let inode = |name: &str| fs::metadata(stage.to.join(name)).unwrap().ino();
    assert_eq!(inode("file"), inode("other"));
}

#[test]
fn a_worker_that_does_not_stay_leaves_and_the_file_is_open_for_others() {
    let stage = Stage::new();
    stage.put("file", &bytes(1));
    let large = begin(&stage, "file");
    assert!(!large.help(|| false).unwrap() && large.has_work());
    assert_eq!(work(&large, 1), Outcome::Done);
    stage.assert_same();
}

#[test]
fn a_file_that_is_given_up_leaves_neither_a_temporary_nor_chunks() {
    let stage = Stage::new();
    stage.put("file", &bytes(1));
    assert!(half(&stage).exists());
    let entry = stage.entry("file");
    stage.carrier.abandon(&entry).unwrap();
    assert!(stage.names().is_empty() && stage.journal.chunks(entry.id, &entry.version).unwrap().is_empty());
}
