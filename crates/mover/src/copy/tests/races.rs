//! Names that are taken, files that change or vanish, and movers that were killed.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Stage, all_done, make};
use crate::file_version::Version;
use crate::journal_entry::{Outcome, State};
use crate::names;
use crate::options::Overwrite;
use crate::path::TreePath;

fn only(outcomes: Vec<(String, Outcome)>) -> Outcome {
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.into_iter().next().unwrap().1
}

fn refused(outcome: &Outcome, because: &str) {
    assert!(matches!(outcome, Outcome::Failed { reason, again: false } if reason.contains(because)), "{outcome:?}");
}

#[test]
fn a_foreign_file_keeps_its_name_and_its_bytes() {
    for bytes in [&b"theirs!"[..], b"their longer ones"] {
        let stage = Stage::new();
        stage.put("file", b"ours...");
        make(&stage.to.join("file"), bytes);
        refused(&only(stage.carry()), "has the name");
        assert_eq!((stage.bytes("file"), stage.names()), (bytes.to_vec(), vec!["file".to_owned()]));
    }
}

#[test]
fn a_foreign_file_of_the_same_bytes_counts_as_staged() {
    let stage = Stage::new();
    stage.put("file", b"the same");
    make(&stage.to.join("file"), b"the same");
    fs::set_permissions(stage.to.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(only(stage.carry()), Outcome::Done);
    let placed = stage.entry("file").placed.unwrap();
    assert_eq!((placed.checksum, stage.names().len()), (Some(*blake3::hash(b"the same").as_bytes()), 1));
}

#[test]
fn older_ones_make_way_where_that_was_asked_and_newer_ones_do_not() {
    let stage = Stage::with(|options| options.overwrite = Overwrite::Older);
    for name in ["older", "newer"] {
        stage.put(name, b"ours");
        make(&stage.to.join(name), b"theirs");
    }
    let (old, new) = (SystemTime::UNIX_EPOCH, SystemTime::now() + std::time::Duration::from_secs(60));
    fs::File::open(stage.to.join("older")).unwrap().set_modified(old).unwrap();
    fs::File::open(stage.to.join("newer")).unwrap().set_modified(new).unwrap();
    let outcomes = stage.carry();
    refused(&outcomes[0].1, "newer than the source's");
    assert_eq!(outcomes[1].1, Outcome::Done);
    assert_eq!((stage.bytes("older"), stage.bytes("newer")), (b"ours".to_vec(), b"theirs".to_vec()));
}

#[test]
fn whatever_has_the_name_makes_way_where_that_was_asked_but_a_directory() {
    let stage = Stage::with(|options| options.overwrite = Overwrite::Always);
    stage.put("file", b"ours");
    stage.put("directory", b"ours");
    symlink("elsewhere", stage.to.join("file")).unwrap();
    fs::create_dir(stage.to.join("directory")).unwrap();
    let outcomes = stage.carry();
    refused(&outcomes[0].1, "a directory has the name");
    assert_eq!((outcomes[1].1.clone(), stage.bytes("file")), (Outcome::Done, b"ours".to_vec()));
}

#[test]
fn a_link_at_the_destination_is_neither_followed_nor_written_through() {
    let stage = Stage::new();
    let outside = tempfile::tempdir().unwrap();
    make(&outside.path().join("victim"), b"victim");
    stage.put("file", b"evil!!");
    stage.put("directory/file", b"evil!!");
    symlink(outside.path().join("victim"), stage.to.join("file")).unwrap();
    symlink(outside.path(), stage.to.join("directory")).unwrap();
    for (name, outcome) in stage.carry() {
        assert!(matches!(outcome, Outcome::Failed { again: false, .. }), "{name}: {outcome:?}");
    }
    assert_eq!(fs::read(outside.path().join("victim")).unwrap(), b"victim");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn what_this_mover_placed_and_somebody_changed_since_is_foreign() {
    let stage = Stage::new();
    let path = stage.put("file", b"first");
    assert_eq!(only(stage.carry()), Outcome::Done);
    make(&stage.to.join("file"), b"edited there");
    make(&path, b"second");
    refused(&only(stage.carry()), "has the name");
    assert_eq!(stage.bytes("file"), b"edited there");
}

/// Gives a copy another inode, with everything else as it was: so it looks where numbers are new with each mount.
fn renumber(stage: &Stage, name: &str, bytes: &[u8]) {
    let at = stage.to.join(name);
    let time = fs::metadata(&at).unwrap().modified().unwrap();
    let new = stage.to.join("new");
    make(&new, bytes);
    fs::File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
    rustix::fs::rename(new, at).unwrap();
}

/// A second version of the source replaces what has the name where that is `known` as the mover's own; it is refused otherwise.
fn assert_replaced_where_known(stage: &Stage, source: &std::path::Path, there: &[u8], known: bool) {
    make(source, b"second version");
    let outcome = only(stage.carry());
    if known {
        assert_eq!((outcome, stage.bytes("file")), (Outcome::Done, b"second version".to_vec()));
    } else {
        refused(&outcome, "has the name");
        assert_eq!(stage.bytes("file"), there);
    }
}

#[test]
fn a_copy_whose_inode_has_another_number_is_known_by_its_bytes_and_one_of_other_bytes_is_foreign() {
    for (there, known) in [(b"first", true), (b"other", false)] {
        let stage = Stage::new();
        let path = stage.put("file", b"first");
        assert_eq!(only(stage.carry()), Outcome::Done);
        renumber(&stage, "file", there);
        assert_replaced_where_known(&stage, &path, there, known);
    }
}

#[test]
fn a_copy_whose_time_moved_is_known_by_its_bytes_and_one_of_other_bytes_is_foreign() {
    for (there, known) in [(b"first", true), (b"other", false)] {
        let stage = Stage::new();
        let path = stage.put("file", b"first");
        assert_eq!(only(stage.carry()), Outcome::Done);
        // In place, as attributes given to another name of the file do: the inode stays.
        let copy = fs::File::options().write(true).open(stage.to.join("file")).unwrap();
        copy.write_all_at(there, 0).unwrap();
        copy.set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        assert_replaced_where_known(&stage, &path, there, known);
    }
}

#[test]
fn a_further_name_of_a_copy_whose_inode_has_another_number_becomes_a_link_to_it() {
    let stage = Stage::new();
    let path = stage.put("one", b"bytes");
    assert_eq!(only(stage.carry()), Outcome::Done);
    renumber(&stage, "one", b"bytes");
    fs::hard_link(&path, stage.from.join("two")).unwrap();
    all_done(&stage.carry());
    let [one, two] = ["one", "two"].map(|name| fs::metadata(stage.to.join(name)).unwrap().ino());
    assert_eq!(one, two);
}

#[test]
fn a_time_that_is_set_on_a_file_of_two_names_reaches_its_copy() {
    for (first_s, then_s) in [(5, 1_000_001), (1000, 1001)] {
        let stage = Stage::new();
        let path = stage.put("one", b"bytes");
        fs::hard_link(&path, stage.from.join("two")).unwrap();
        for seconds in [first_s, then_s] {
            fs::File::open(&path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
            all_done(&stage.carry());
            let copy = fs::metadata(stage.to.join("two")).unwrap();
            assert_eq!((copy.mtime(), copy.nlink()), (i64::try_from(seconds).unwrap(), 2));
        }
    }
}

#[test]
fn a_name_that_was_given_to_another_file_of_the_same_bytes_becomes_its_link() {
    let stage = Stage::new();
    let old = stage.put("old", b"bytes");
    all_done(&stage.carry());
    let new = stage.from.join("new");
    rustix::fs::rename(&old, &new).unwrap();
    // The new name alone, as a look finds it between the rename and the link.
    let version = Version::at(fs::File::open(&stage.from).unwrap(), b"new").unwrap();
    stage.carry_these(stage.journal.found(&[(TreePath::new(b"new").unwrap(), version)]).unwrap());
    fs::hard_link(&new, &old).unwrap();
    all_done(&stage.carry());
    let [old, new] = ["old", "new"].map(|name| fs::metadata(stage.to.join(name)).unwrap().ino());
    assert_eq!(old, new);
}

#[test]
fn a_file_that_somebody_writes_is_not_taken() {
    let stage = Stage::new();
    let path = stage.put("file", b"half");
    let writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert!(matches!(only(stage.carry()), Outcome::Busy(_)));
    drop(writer);
    assert_eq!(only(stage.carry_these(stage.journal.queued(0, 10).unwrap())), Outcome::Done);
    stage.assert_same();
}

#[test]
fn what_vanished_is_gone_and_what_became_something_else_has_changed() {
    let stage = Stage::new();
    for name in ["gone", "fifo", "directory/file"] {
        stage.put(name, b"bytes");
    }
    let entries = stage.scan();
    for name in ["gone", "fifo", "directory/file"] {
        stage.take_away(name);
    }
    stage.take_away("directory");
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.from.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let outcomes: Vec<Outcome> = stage.carry_these(entries).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(outcomes, [Outcome::Gone, Outcome::Gone, Outcome::Changed, Outcome::Gone]);
    assert!(stage.names().is_empty());
}

#[test]
fn a_version_found_while_it_is_copied_is_not_called_done() {
    let stage = Stage::new();
    let path = stage.put("file", b"first");
    let entries = stage.scan();
    make(&path, b"second");
    stage.scan();
    let outcome = only(stage.carry_these(entries));
    assert!(matches!(outcome, Outcome::Changed | Outcome::Done), "{outcome:?}");
    stage.carry_these(stage.journal.queued(0, 10).unwrap());
    assert_eq!(stage.state("file"), State::Done);
    stage.assert_same();
}

/// As far as *placing*, with the temporary whole: what a kill at that moment leaves.
fn placing(stage: &Stage, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let entry = stage.scan().into_iter().find(|entry| entry.path.to_string() == name).unwrap();
    let temporary = names::temporary(stage.journal.id(), entry.id);
    let temporary = stage.to.join(String::from_utf8(temporary).unwrap());
    make(&temporary, bytes);
    let modified = fs::metadata(stage.from.join(name)).unwrap().modified().unwrap();
    fs::File::open(&temporary).unwrap().set_modified(modified).unwrap();
    let made = crate::Version::of(fs::File::open(&temporary).unwrap()).unwrap();
    let checksum = Some(*blake3::hash(&fs::read(stage.from.join(name)).unwrap()).as_bytes());
    let placed = crate::Placed { ino: made.ino, size: made.size, mtime_ns: made.mtime_ns, checksum };
    assert!(stage.journal.placing(&[(entry.id, entry.version, placed)]).unwrap().is_empty());
    temporary
}

fn resume(stage: &mut Stage) {
    stage.again();
    stage.carry_these(stage.journal.queued(0, 10).unwrap());
}

#[test]
fn killed_before_the_rename_the_temporary_gets_its_name() {
    let mut stage = Stage::new();
    stage.put("file", b"bytes");
    placing(&stage, "file", b"bytes");
    resume(&mut stage);
    assert_eq!(
        (stage.state("file"), stage.names(), stage.bytes("file")),
        (State::Done, vec!["file".to_owned()], b"bytes".to_vec())
    );
}

#[test]
fn killed_before_the_rename_the_copy_of_an_earlier_state_does_not_count_though_bytes_and_time_are_the_same() {
    let mut stage = Stage::new();
    let source = stage.put("file", b"bytes");
    all_done(&stage.carry());
    // Nothing but attributes changes: the new temporary has them, and else is what lies there.
    fs::set_permissions(&source, fs::Permissions::from_mode(0o600)).unwrap();
    let temporary = placing(&stage, "file", b"bytes");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o600)).unwrap();
    resume(&mut stage);
    assert_eq!((stage.state("file"), stage.names()), (State::Done, vec!["file".to_owned()]));
    stage.assert_same();
}

#[test]
fn killed_while_it_copied_a_state_that_is_gone_again_it_leaves_no_temporary() {
    let mut stage = Stage::new();
    for name in ["file", "one"] {
        stage.put(name, name.as_bytes());
    }
    fs::hard_link(stage.from.join("one"), stage.from.join("two")).unwrap();
    all_done(&stage.carry());
    for name in ["file", "one", "two"] {
        let temporary = names::temporary(stage.journal.id(), stage.entry(name).id);
        make(&stage.to.join(String::from_utf8(temporary).unwrap()), b"half");
        // As it was, by a time that moved twice.
        let file = fs::File::open(stage.from.join(name)).unwrap();
        file.set_modified(file.metadata().unwrap().modified().unwrap()).unwrap();
    }
    stage.again();
    all_done(&stage.carry());
    assert_eq!(stage.names(), ["file", "one", "two"]);
    stage.assert_same();
}

#[test]
fn killed_before_the_rename_a_damaged_temporary_is_copied_again() {
    let mut stage = Stage::new();
    stage.put("file", b"bytes");
    placing(&stage, "file", b"BYTES");
    resume(&mut stage);
    assert_eq!(
        (stage.state("file"), stage.names(), stage.bytes("file")),
        (State::Done, vec!["file".to_owned()], b"bytes".to_vec())
    );
}

#[test]
fn killed_after_the_rename_it_is_only_said() {
    let mut stage = Stage::new();
    stage.put("file", b"bytes");
    let temporary = placing(&stage, "file", b"bytes");
    rustix::fs::rename(temporary, stage.to.join("file")).unwrap();
    resume(&mut stage);
    assert_eq!(
        (stage.state("file"), stage.names(), stage.bytes("file")),
        (State::Done, vec!["file".to_owned()], b"bytes".to_vec())
    );
}

/// What a replacement does first; `.part`: what movers before this one did.
fn exchange(stage: &Stage, temporary: &std::path::Path, ending: &str) {
    let old = temporary.with_extension(ending);
    rustix::fs::rename(temporary, &old).unwrap();
    let (here, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
    rustix::fs::renameat_with(here, old, here, stage.to.join("file"), flags).unwrap();
}

#[test]
fn killed_after_an_exchange_the_former_version_is_removed() {
    for ending in ["old", "part"] {
        let mut stage = Stage::new();
        let path = stage.put("file", b"first");
        assert_eq!(only(stage.carry()), Outcome::Done);
        make(&path, b"second");
        let temporary = placing(&stage, "file", b"second");
        exchange(&stage, &temporary, ending);
        resume(&mut stage);
        assert_eq!(
            (stage.state("file"), stage.names(), stage.bytes("file")),
            (State::Done, vec!["file".to_owned()], b"second".to_vec())
        );
    }
}

#[test]
fn killed_after_an_exchange_with_something_foreign_that_gets_its_name_back() {
    for ending in ["old", "part"] {
        let mut stage = Stage::new();
        stage.put("file", b"ours");
        let temporary = placing(&stage, "file", b"ours");
        make(&stage.to.join("file"), b"theirs, placed at the last moment");
        exchange(&stage, &temporary, ending);
        resume(&mut stage);
        // The mover's own copy waits under its temporary name for the next attempt, or for the entry's end.
        let _ = stage.carrier.abandon(&stage.entry("file"));
        let theirs = b"theirs, placed at the last moment".to_vec();
        assert_eq!((stage.names(), stage.bytes("file")), (vec!["file".to_owned()], theirs));
        assert_ne!(stage.state("file"), State::Done);
    }
}

#[test]
fn given_up_between_moving_out_and_looking_what_was_there_has_its_name_again() {
    let mut stage = Stage::new();
    stage.put("file", b"ours");
    let temporary = placing(&stage, "file", b"ours");
    make(&temporary.with_extension("old"), b"theirs");
    stage.again();
    stage.carrier.abandon(&stage.entry("file")).unwrap();
    assert_eq!((stage.names(), stage.bytes("file")), (vec!["file".to_owned()], b"theirs".to_vec()));
}

#[test]
fn killed_while_copying_the_half_temporary_is_made_anew() {
    let mut stage = Stage::new();
    stage.put("file", b"bytes");
    let entry = stage.scan().remove(0);
    let temporary = String::from_utf8(names::temporary(stage.journal.id(), entry.id)).unwrap();
    make(&stage.to.join(temporary), b"by");
    resume(&mut stage);
    stage.assert_same();
}

#[test]
fn a_directory_that_several_workers_want_at_once_is_known_to_be_this_movers() {
    const WORKERS: usize = 3;
    let stage = Stage::new();
    for round in 0..50 {
        let directory = format!("d{round}");
        for file in 1..WORKERS {
            stage.put(&format!("{directory}/{file}"), b"bytes");
        }
        let entries = stage.scan();
        assert_eq!(entries.len(), WORKERS);
        let together = Barrier::new(WORKERS);
        let carry = |entry| {
            together.wait();
            all_done(&stage.carry_these(vec![entry]));
        };
        thread::scope(|scope| {
            for entry in entries {
                scope.spawn(|| carry(entry));
            }
        });
        let inode = fs::metadata(stage.to.join(&directory)).unwrap().ino();
        let known = stage.entry(&directory).placed.map(|placed| placed.ino);
        assert_eq!((known, stage.state(&directory)), (Some(inode), State::Done), "round {round}");
    }
}
