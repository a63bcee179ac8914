//! What must hold whatever happens to the process, the storage and the file.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::tests::{begin, file, find, identity, look, open, path, placed, put, recount};
use super::*;
use crate::journal_entry::State;
use crate::testing;

/// Opens what cannot be used, and looks at what becomes of it.
fn rebuilt(state: &Path) -> (Journal, PathBuf, String) {
    let before = fs::read(state.join(DATABASE)).unwrap();
    let (journal, opened) = Journal::open(state, &identity()).unwrap();
    let Opened::Rebuilt { backup, why } = opened else { panic!("taken as it was: {opened:?}") };
    assert!(fs::read(&backup).unwrap() == before, "what was there is kept as it was");
    assert_eq!(journal.totals(), PerState::default());
    (journal, backup, why)
}

/// A journal of some pages, all of it in the database.
fn settled(state: &Path) -> (String, i64) {
    let journal = open(state);
    let seen: Vec<_> = (0..2000).map(|number| (path(&format!("d/{number}")), file(number, 1))).collect();
    let last = journal.found(&seen).unwrap().last().unwrap().id;
    (journal.id().to_owned(), last)
}

#[test]
fn a_damaged_journal_is_set_aside_and_the_new_one_gives_no_number_again() {
    type Damage = fn(&fs::File);
    let damages: [(&str, Damage); 5] = [
        ("no database", |file| file.write_all_at(b"something else altogether", 0).unwrap()),
        ("pages of nothing", |file| file.write_all_at(&[0; 8192], 8192).unwrap()),
        ("pages of noise", |file| file.write_all_at(&vec![0xa5; 40_000], 4096).unwrap()),
        ("cut short", |file| file.set_len(20_000).unwrap()),
        ("cut in a page", |file| file.set_len(file.metadata().unwrap().len() - 100).unwrap()),
    ];
    for (what, damage) in damages {
        let state = tempfile::tempdir().unwrap();
        let (id, last) = settled(state.path());
        damage(&OpenOptions::new().write(true).open(state.path().join(DATABASE)).unwrap());
        let said = Journal::read_only(state.path()).map(|_| ()).map_err(|error| error.to_string());
        assert!(said.as_ref().err().is_none_or(|said| said.contains("; hint: resume")), "{what}: {said:?}");
        let (journal, _, why) = rebuilt(state.path());
        assert!(why.starts_with("it is damaged"), "{what}: {why}");
        assert_eq!(journal.id(), id, "{what}: the temporaries of before are known");
        assert!(find(&journal, "d/1", file(1, 1)).id > last, "{what}: a number was given again");
        drop(journal);
        assert_eq!(Journal::open(state.path(), &identity()).unwrap().1, Opened::Again);
    }
}

#[test]
fn a_journal_of_another_version_or_program_is_set_aside_with_its_log() {
    for (pragma, value, expected) in [("user_version", 99, "it is of version 99"), ("application_id", 7, "another program")] {
        let state = tempfile::tempdir().unwrap();
        settled(state.path());
        let other = Connection::open(state.path().join(DATABASE)).unwrap();
        other.pragma_update(None, pragma, value).unwrap();
        let said = Journal::read_only(state.path()).unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains("; hint: resume"), "{said}");
        // A log that was never put into the database: as a kill leaves it.
        let log = fs::read(state.path().join("journal.sqlite-wal")).unwrap();
        let (_journal, backup, why) = rebuilt(state.path());
        assert!(why.contains(expected), "{why}");
        let kept = backup.with_file_name(format!("{}-wal", backup.file_name().unwrap().display()));
        assert!(fs::read(kept).unwrap() == log, "its log is kept beside it");
    }
}

#[test]
fn a_journal_of_other_trees_is_refused_while_it_has_work_and_set_aside_when_it_has_none() {
    let (state, journal) = begin();
    let id = find(&journal, "a", file(1, 1)).id;
    drop(journal);
    let other = Identity { to: "/other".into(), ..identity() };
    let said = Journal::open(state.path(), &other).unwrap_err();
    assert!(matches!(&said, MoverError::Request(said) if said.contains("/from to /to, which is not finished; hint: ")), "{said}");
    let journal = open(state.path());
    journal.failed(id, "another file has the name").unwrap();
    drop(journal);
    assert!(Journal::open(state.path(), &other).is_err(), "what failed is not safe");
    let journal = open(state.path());
    journal.placing(&[(id, file(1, 1), placed(9))]).unwrap();
    journal.done(&[id]).unwrap();
    drop(journal);
    let (journal, opened) = Journal::open(state.path(), &other).unwrap();
    assert!(matches!(opened, Opened::Rebuilt { why, .. } if why.contains("nothing is left to do")));
    assert_eq!(journal.identity().unwrap(), other);
}

#[test]
fn a_log_whose_database_is_gone_is_not_taken_for_another_s() {
    let state = tempfile::tempdir().unwrap();
    let journal = open(state.path());
    find(&journal, "a", file(1, 1));
    let wal = fs::read(state.path().join("journal.sqlite-wal")).unwrap();
    drop(journal);
    rustix::fs::rename(state.path().join(DATABASE), state.path().join("lost")).unwrap();
    fs::File::create_new(state.path().join("journal.sqlite-wal")).unwrap().write_all(&wal).unwrap();
    let (journal, opened) = Journal::open(state.path(), &identity()).unwrap();
    assert_eq!((opened, journal.totals()), (Opened::New, PerState::default()));
}

#[test]
fn a_full_file_system_takes_the_reserve_then_says_so_and_goes_on_once_there_is_room() {
    let at = tempfile::tempdir().unwrap();
    let state = at.path().to_owned();
    testing::on_a_small_file_system(&at, 24 << 20, move || {
        let journal = open(&state);
        assert_eq!(journal.notes(), Vec::<String>::new());
        let filler = fs::File::create_new(state.join("filler")).unwrap();
        while (&filler).write(&[1; 4096]).is_ok() {}
        let add = |batch: u64| {
            let names = (0..500).map(|number| (path(&format!("{batch}/{number}")), file(number, 1)));
            journal.found(&names.collect::<Vec<_>>())
        };
        add(0).expect("the reserve is there for this");
        assert!(journal.notes()[0].contains("its reserve is in use; hint: "), "{:?}", journal.notes());
        let refused = (1..10_000).find_map(|batch| add(batch).err().map(|error| (batch, error.to_string())));
        let (batch, said) = refused.expect("it is full");
        assert!(said.contains("no space left on its file system") && said.contains("; hint: free some space"), "{said}");
        assert_eq!(recount(&state, &journal).of(State::Queued).files, batch * 500, "what was refused is not half there");
        filler.set_len(0).unwrap();
        add(batch).unwrap();
        assert_eq!(recount(&state, &journal).of(State::Queued).files, (batch + 1) * 500);
    });
}

#[test]
fn readers_see_whole_batches_while_a_mover_works() {
    let (state, journal) = begin();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !over.load(Ordering::Relaxed) || looks == 0 {
                let totals = Journal::read_only(state.path()).unwrap().totals();
                assert_eq!((totals.of(State::Queued).files + totals.of(State::Done).files) % 100, 0);
                looks += 1;
            }
        });
        for batch in 0..40 {
            let seen: Vec<_> = (0..100).map(|number| (path(&format!("{batch}/{number}")), file(number, 1))).collect();
            let ids: Vec<i64> = journal.found(&seen).unwrap().iter().map(|entry| entry.id).collect();
            let ready: Vec<_> = ids.iter().map(|&id| (id, file(1, 1), placed(9))).collect();
            journal.placing(&ready).unwrap();
            journal.done(&ids).unwrap();
        }
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn a_status_needs_no_right_to_write() {
    let state = tempfile::tempdir().unwrap();
    settled(state.path());
    fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let at = state.path().to_owned();
    testing::as_nobody(move || assert_eq!(Journal::read_only(&at).unwrap().totals().of(State::Queued).files, 2000));
    let missing = Journal::read_only(&state.path().join("nowhere")).unwrap_err().to_string();
    assert!(missing.starts_with("no journal in ") && missing.contains("; hint: "), "{missing}");
}

#[test]
fn what_the_manifest_says_of_this_mover_is_its_own_again_after_a_rebuild() {
    let (_state, journal) = begin();
    journal.adopt(&[(path("d/a"), Kind::File, placed(50))]).unwrap();
    assert_eq!(journal.by_path(&path("d/a")).unwrap().map(|entry| entry.state), Some(State::Cleared));
    let found = find(&journal, "d/a", file(1, 1));
    assert_eq!((found.state, found.placed), (State::Queued, Some(placed(50))));
    let id = put(&journal, "b", file(2, 1), 51);
    journal.adopt(&[(path("b"), Kind::File, placed(52))]).unwrap();
    assert_eq!((look(&journal, id).placed, look(&journal, id).state), (Some(placed(51)), State::Done), "what is known stays");
}

const STATE: &str = "TONNAGE_TEST_JOURNAL";

/// The process that is killed: says each step once it is durable.
#[test]
#[ignore = "run by the test below, to be killed"]
fn steps_until_killed() {
    let state = PathBuf::from(std::env::var_os(STATE).expect("the state directory"));
    let journal = open(&state);
    let from = journal.totals().of(State::Done).files;
    for number in from.. {
        let (name, version) = (format!("d{}/{number}", number % 7), file(number, 1));
        let id = journal.found(&[(path(&name), version)]).unwrap().pop().map(|entry| entry.id);
        let id = id.unwrap_or_else(|| journal.by_path(&path(&name)).unwrap().unwrap().id);
        println!("step {name} 0");
        journal.placing(&[(id, version, placed(number))]).unwrap();
        println!("step {name} 1");
        journal.done(&[id]).unwrap();
        println!("step {name} 2");
    }
}

#[test]
fn every_step_that_was_said_holds_after_a_kill_wherever_it_falls() {
    let state = tempfile::tempdir().unwrap();
    drop(open(state.path()));
    let mut said = HashMap::new();
    for round in 0..12_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "journal::guarantees::steps_until_killed", "--ignored", "--nocapture"])
            .env(STATE, state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(std::io::Result::ok);
        let mut steps = lines.filter(|line| line.starts_with("step "));
        let until = 1 + round * 29 % 83;
        let mut note = |line: String| {
            let parts: Vec<&str> = line.split(' ').collect();
            said.insert(parts[1].to_owned(), parts[2].parse::<u8>().unwrap());
        };
        steps.by_ref().take(until).for_each(&mut note);
        child.kill().unwrap();
        steps.for_each(&mut note);
        child.wait().unwrap();
        let (journal, opened) = Journal::open(state.path(), &identity()).unwrap();
        assert_eq!(opened, Opened::Again);
        recount(state.path(), &journal);
        for (name, &step) in &said {
            let entry = journal.by_path(&path(name)).unwrap().unwrap_or_else(|| panic!("{name} was found, durably"));
            assert!(entry.state as u8 >= step, "{name} was said to be at {step} and is {:?}", entry.state);
        }
        assert!(journal.totals().pending().files <= 1, "only the step under way may be open");
    }
    assert!(said.values().filter(|&&step| step == 2).count() > 50);
}
