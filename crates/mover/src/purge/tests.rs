//! Real files, done by a journal, beside real copies.

use std::fs::{self as files, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::journal::Identity;
use crate::journal_entry::Placed;
use crate::mapped_stores::Stores;
use crate::names;
use crate::path::TreePath;
use crate::testing::options;

mod marks;

struct Fixture {
    _directory: tempfile::TempDir,
    from_path: PathBuf,
    to_path: PathBuf,
    from: Tree,
    to: Tree,
    journal: Journal,
    quiescence: QuiescenceCheck,
    options: Options,
    halt: AtomicBool,
    established: Established,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [from_path, to_path, state] = ["from", "to", "state"].map(|name| directory.path().join(name));
        for path in [&from_path, &to_path, &state] {
            files::create_dir(path).unwrap();
        }
        let identity = Identity { from: from_path.clone(), to: to_path.clone() };
        Self {
            from: Tree::open(&from_path).unwrap(),
            to: Tree::open(&to_path).unwrap(),
            journal: Journal::open(&state, &identity).unwrap().0,
            quiescence: QuiescenceCheck::new(0, Stores::Timed),
            options: Options { clear: Clear::Done, ..options(&from_path, &to_path) },
            halt: AtomicBool::new(false),
            established: Established::lasting(),
            _directory: directory,
            from_path,
            to_path,
        }
    }

    fn purger(&self) -> Purger<'_> {
        Purger::new(&self.from, &self.to, &self.journal, &self.quiescence, &self.options, &self.halt, &self.established)
    }

    /// Clears until there is no more; what the user was told.
    fn clear(&self) -> Vec<String> {
        let mut purger = self.purger();
        purger.recover().unwrap();
        while purger.step().unwrap() {}
        purger.notes()
    }

    /// What the user was told when a mover began.
    fn recovered(&self) -> Vec<String> {
        let mut purger = self.purger();
        purger.recover().unwrap();
        purger.notes()
    }

    /// Makes a file that is done: `text` in both trees, and an entry.
    fn done(&self, name: &str, text: &str) -> Entry {
        self.done_with(name, text, Some([1; 32]))
    }

    fn done_with(&self, name: &str, text: &str, checksum: Option<[u8; 32]>) -> Entry {
        for tree in [&self.from_path, &self.to_path] {
            files::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
            File::create(tree.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        self.closed(name);
        let path = TreePath::new(name.as_bytes()).unwrap();
        let version = Version::of(File::open(self.from_path.join(name)).unwrap()).unwrap();
        let there = Version::of(File::open(self.to_path.join(name)).unwrap()).unwrap();
        let id = self.journal.found(&[(path, version)]).unwrap()[0].id;
        let placed = Placed { ino: there.ino, size: there.size, mtime_ns: there.mtime_ns, checksum };
        self.journal.placing(&[(id, version, placed)]).unwrap();
        self.journal.done(&[id]).unwrap();
        self.entry(id)
    }

    fn entry(&self, id: i64) -> Entry {
        self.journal.entries(&[id]).unwrap().pop().unwrap()
    }

    /// Waits until nobody can write it: a process that another test has just begun holds this one's descriptors for a moment.
    fn closed(&self, name: &str) {
        let (file, begin) = (File::open(self.from_path.join(name)).unwrap(), Instant::now());
        while self.quiescence.writer(&file, &Version::of(&file).unwrap()).unwrap().is_some() {
            assert!(begin.elapsed() < Duration::from_secs(10), "{name} is still open for writing");
            std::thread::yield_now();
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        files::read_to_string(self.from_path.join(name)).ok()
    }

    fn aside(&self, entry: &Entry) -> PathBuf {
        self.from_path.join(".tonnage-stage/cleared").join(self.journal.id()).join(entry.path.as_path())
    }

    /// As a crash leaves it after the rename.
    fn set_aside(&self, entry: &Entry) {
        files::create_dir_all(self.aside(entry).parent().unwrap()).unwrap();
        rustix::fs::rename(self.from_path.join(entry.path.as_path()), self.aside(entry)).unwrap();
    }

    fn append(&self, name: &str) {
        OpenOptions::new().append(true).open(self.from_path.join(name)).unwrap().write_all(b"+").unwrap();
    }
}

fn nothing_aside(place: &Fixture) -> bool {
    let left = place.purger().aside.left().unwrap();
    left.foreign.is_empty() && left.movers.iter().all(|(_, _, files)| files.is_empty())
}

#[test]
fn what_is_done_goes_and_what_is_not_stays() {
    let place = Fixture::new();
    let done = place.done("a/done", "x");
    File::create(place.from_path.join("a/queued")).unwrap();
    let version = Version::of(File::open(place.from_path.join("a/queued")).unwrap()).unwrap();
    place.journal.found(&[(TreePath::new(b"a/queued").unwrap(), version)]).unwrap();
    assert_eq!(place.clear(), [""; 0]);
    assert_eq!((place.text("a/done"), place.text("a/queued")), (None, Some(String::new())));
    assert_eq!(place.entry(done.id).state, State::Cleared);
    assert!(nothing_aside(&place));
}

#[test]
fn a_file_that_changed_after_it_was_done_stays() {
    let place = Fixture::new();
    place.done("grown", "x");
    place.append("grown");
    let forged = place.done("forged", "x");
    let kept = File::open(place.from_path.join("forged")).unwrap();
    files::File::options().write(true).open(place.from_path.join("forged")).unwrap().write_all(b"y").unwrap();
    let mtime = std::time::UNIX_EPOCH + Duration::from_nanos(forged.version.mtime_ns as u64);
    kept.set_modified(mtime).unwrap();
    place.clear();
    assert_eq!((place.text("grown"), place.text("forged")), (Some("x+".to_owned()), Some("y".to_owned())));
}

#[test]
fn a_file_that_somebody_has_open_for_writing_stays_until_it_is_closed() {
    let place = Fixture::new();
    place.done("f", "x");
    let writer = OpenOptions::new().append(true).open(place.from_path.join("f")).unwrap();
    place.clear();
    assert_eq!(place.text("f"), Some("x".to_owned()));
    drop(writer);
    place.closed("f");
    place.clear();
    assert_eq!(place.text("f"), None);
}

#[test]
fn without_a_checksum_a_file_goes_only_where_none_was_asked_for() {
    let mut place = Fixture::new();
    place.done_with("f", "x", None);
    place.clear();
    assert!(place.text("f").is_some());
    place.options.check = Check::None;
    place.clear();
    assert!(place.text("f").is_none());
}

#[test]
fn a_file_whose_copy_is_not_as_it_was_put_there_stays_and_that_is_said() {
    let place = Fixture::new();
    place.done("changed", "x");
    place.done("removed", "x");
    OpenOptions::new().append(true).open(place.to_path.join("changed")).unwrap().write_all(b"+").unwrap();
    names::remove(place.to.root(), b"removed").unwrap();
    let notes = place.clear();
    assert!(place.text("changed").is_some() && place.text("removed").is_some());
    assert!(notes.len() == 2 && notes.iter().all(|note| note.ends_with("its copy at the destination was changed or removed")));
}

#[test]
fn what_a_crash_left_aside_goes_back_whatever_was_written_to_it_and_whatever_is_known_of_it() {
    let place = Fixture::new();
    let (entry, changed) = (place.done("a/f", "x"), place.done("a/g", "x"));
    place.set_aside(&entry);
    place.set_aside(&changed);
    OpenOptions::new().append(true).open(place.aside(&changed)).unwrap().write_all(b"+").unwrap();
    let unknown = place.aside(&entry).with_file_name("unknown");
    File::create(&unknown).unwrap().write_all(b"of no journal").unwrap();
    let other = place.from_path.join(".tonnage-stage/cleared").join("0123456789abcdef".repeat(2)).join("of/another");
    files::create_dir_all(other.parent().unwrap()).unwrap();
    files::create_dir(place.from_path.join("of")).unwrap();
    File::create(&other).unwrap().write_all(b"mover").unwrap();
    let notes = place.recovered();
    assert_eq!(notes, ["4 files that were set aside when a mover was killed have their names again"]);
    let texts = ["a/f", "a/g", "a/unknown", "of/another"].map(|name| place.text(name).unwrap());
    assert_eq!(texts, ["x", "x+", "of no journal", "mover"]);
    assert!(!place.from_path.join(".tonnage-stage/cleared").join("0123456789abcdef".repeat(2)).exists());
    assert!(nothing_aside(&place));
}

/// No scan has seen it under its name: without another one it would stay there, and nobody would be told.
#[test]
fn what_came_home_by_a_later_try_is_for_another_scan() {
    let place = Fixture::new();
    let entry = place.done("f", "text");
    let mut purger = place.purger();
    purger.recover().unwrap();
    place.set_aside(&entry);
    // As where it could not be put back when the mover began.
    (purger.unsettled, purger.settled) = (true, None);
    purger.give_back_again();
    assert_eq!(place.text("f").as_deref(), Some("text"));
    assert!(purger.give_back_rest().unwrap(), "a scan must look at it");
    assert!(!purger.give_back_rest().unwrap());
}

#[test]
fn what_a_mover_that_runs_has_set_aside_is_left_to_it_and_what_is_no_movers_is_left_alone() {
    let place = Fixture::new();
    let cleared = place.from_path.join(".tonnage-stage/cleared");
    let running = cleared.join("0123456789abcdef".repeat(2));
    files::create_dir_all(&running).unwrap();
    File::create(running.join("f")).unwrap();
    File::create(cleared.join("letter")).unwrap();
    symlink("/etc/hostname", cleared.join("f".repeat(32))).unwrap();
    let lock = File::open(&running).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let notes = place.recovered();
    assert!(notes.len() == 2 && notes.iter().all(|note| note.ends_with("is left alone")), "{notes:?}");
    assert!(running.join("f").exists() && cleared.join("letter").exists() && place.text("f").is_none());
}

#[test]
fn who_opens_a_file_while_it_is_set_aside_finds_his_bytes_under_the_name() {
    let place = Fixture::new();
    let entry = place.done("f", "x");
    let mut purger = place.purger();
    purger.times.keep(&place.from, &place.journal, std::iter::once(TreePath::root())).unwrap();
    let waiting = purger.set_aside(&entry).unwrap().unwrap();
    assert!(place.text("f").is_none() && waiting.guard.sees());
    let path = place.aside(&entry);
    std::thread::scope(|threads| {
        // Waits in the kernel until the lease is gone.
        let writer = threads.spawn(move || OpenOptions::new().append(true).open(path).unwrap().write_all(b"+").unwrap());
        let begin = Instant::now();
        while waiting.guard.holds().unwrap() {
            assert!(begin.elapsed() < Duration::from_secs(10), "nobody opens it");
            std::thread::yield_now();
        }
        assert!(!purger.purge_file(&waiting));
        drop(waiting);
        writer.join().unwrap();
    });
    assert_eq!(place.text("f"), Some("x+".to_owned()));
    assert!(nothing_aside(&place));
}

#[test]
fn where_times_tell_nothing_the_bytes_do() {
    for stores in [Stores::Closed, Stores::Unseen] {
        let mut place = Fixture::new();
        place.quiescence = QuiescenceCheck::new(0, stores);
        let good = place.done_with("good", "x", Some(*blake3::hash(b"x").as_bytes()));
        let bad = place.done("bad", "x");
        let mut purger = place.purger();
        while purger.step().unwrap() {}
        assert_eq!((place.text("good"), place.text("bad")), (None, Some("x".to_owned())), "{stores:?}");
        assert_eq!(purger.fresh().unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>(), [bad.id]);
        assert_eq!((place.entry(good.id).state, place.entry(bad.id).state), (State::Cleared, State::Queued));
    }
}

#[test]
fn what_was_not_read_back_by_this_process_goes_again_before_it_can_go() {
    let mut place = Fixture::new();
    place.done("f", "x");
    place.options.check = Check::ReadBack;
    let mut purger = place.purger();
    while purger.step().unwrap() {}
    let fresh = purger.fresh().unwrap();
    assert_eq!((fresh.len(), place.text("f")), (1, Some("x".to_owned())));
    let entry = &fresh[0];
    place.journal.placing(&[(entry.id, entry.version, entry.placed.unwrap())]).unwrap();
    place.journal.done(&[entry.id]).unwrap();
    purger.begin_anew();
    while purger.step().unwrap() {}
    assert_eq!(place.text("f"), None);
}

#[test]
fn a_copy_that_has_other_bytes_also_when_it_was_made_anew_is_given_up() {
    let mut place = Fixture::new();
    place.quiescence = QuiescenceCheck::new(0, Stores::Closed);
    place.options.check = Check::None;
    let entry = place.done_with("f", "x", None);
    let copy = place.to_path.join("f");
    OpenOptions::new().write(true).open(&copy).unwrap().write_all(b"y").unwrap();
    let time = std::time::UNIX_EPOCH + Duration::from_nanos(entry.placed.unwrap().mtime_ns as u64);
    File::open(&copy).unwrap().set_modified(time).unwrap();
    let mut purger = place.purger();
    while purger.step().unwrap() {}
    let fresh = purger.fresh().unwrap();
    assert_eq!(fresh.len(), 1, "it goes again");
    place.journal.placing(&[(entry.id, fresh[0].version, entry.placed.unwrap())]).unwrap();
    place.journal.done(&[entry.id]).unwrap();
    purger.begin_anew();
    while purger.step().unwrap() {}
    assert!(purger.fresh().unwrap().is_empty());
    assert_eq!((place.entry(entry.id).state, place.text("f")), (State::Failed, Some("x".to_owned())));
}

/// Two names of one file, both of which are done.
fn linked(place: &Fixture) -> [Entry; 2] {
    let first = place.done("a/f", "x");
    for tree in [&place.from_path, &place.to_path] {
        files::hard_link(tree.join("a/f"), tree.join("g")).unwrap();
    }
    let version = Version::of(File::open(place.from_path.join("g")).unwrap()).unwrap();
    let (placed, paths) = (first.placed.unwrap(), ["a/f", "g"].map(|name| TreePath::new(name.as_bytes()).unwrap()));
    place.journal.found(&paths.clone().map(|path| (path, version))).unwrap();
    let ids = paths.map(|path| place.journal.by_path(&path).unwrap().unwrap().id);
    place.journal.placing(&ids.map(|id| (id, version, placed))).unwrap();
    place.journal.done(&ids).unwrap();
    ids.map(|id| place.entry(id))
}

#[test]
fn all_names_of_a_file_go_together_and_none_where_one_is_not_safe() {
    let place = Fixture::new();
    let names = linked(&place);
    place.journal.strand(names[1].id, "as if").unwrap();
    let notes = place.clear();
    assert!(place.text("a/f").is_some() && place.text("g").is_some());
    assert!(notes.iter().any(|note| note.contains("its other name g is not safe")), "{notes:?}");
    let place = Fixture::new();
    let names = linked(&place);
    assert_eq!(place.clear(), [""; 0]);
    assert_eq!((place.text("a/f"), place.text("g")), (None, None));
    assert!(names.iter().all(|entry| place.entry(entry.id).state == State::Cleared) && nothing_aside(&place));
}

#[test]
fn directories_that_a_killed_mover_took_files_from_get_their_times_back() {
    let place = Fixture::new();
    let entry = place.done("a/f", "x");
    let directory = File::open(place.from_path.join("a")).unwrap();
    directory.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(9)).unwrap();
    let mut purger = place.purger();
    purger.times.keep(&place.from, &place.journal, std::iter::once(entry.path.parent())).unwrap();
    drop(purger);
    place.set_aside(&entry);
    names::remove(File::open(place.aside(&entry).parent().unwrap()).unwrap().as_fd(), b"f").unwrap();
    let now = || Version::of(&directory).unwrap().mtime_ns;
    assert_ne!(now(), 9_000_000_000);
    place.recovered();
    assert_eq!((now(), place.journal.kept_times().unwrap().len()), (9_000_000_000, 0));
}

#[test]
fn a_state_that_is_not_the_one_that_is_done_is_queued() {
    let place = Fixture::new();
    let entry = place.done("f", "x");
    files::hard_link(place.from_path.join("f"), place.from_path.join("g")).unwrap();
    let mut purger = place.purger();
    while purger.step().unwrap() {}
    assert_eq!(purger.fresh().unwrap().iter().map(|fresh| fresh.id).collect::<Vec<_>>(), [entry.id]);
    assert_eq!(place.text("f"), Some("x".to_owned()));
}

#[test]
fn a_name_that_was_taken_meanwhile_keeps_what_it_has_and_the_other_stays_beside_it() {
    let place = Fixture::new();
    let name = "n".repeat(255);
    let entries = [place.done("a/f", "x"), place.done(&name, "x"), place.done("b/f", "x")];
    for entry in &entries {
        place.set_aside(entry);
    }
    for taken in ["a/f", "a/f.tonnage-kept-1", &name] {
        File::create(place.from_path.join(taken)).unwrap().write_all(b"new").unwrap();
    }
    rustix::fs::rename(place.from_path.join("b"), place.from_path.join("c")).unwrap();
    let notes = place.recovered();
    assert_eq!((place.text("a/f"), place.text("a/f.tonnage-kept-2")), (Some("new".to_owned()), Some("x".to_owned())));
    assert_eq!(place.text(&format!("{}.tonnage-kept-1", "n".repeat(240))), Some("x".to_owned()));
    assert_eq!(place.text("f.tonnage-kept-1"), Some("x".to_owned()), "its directory is gone: it lies in the root");
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(nothing_aside(&place));
}

#[test]
fn a_file_that_has_both_names_after_a_crash_never_left() {
    let place = Fixture::new();
    let entry = place.done("f", "x");
    place.append("f");
    files::create_dir_all(place.aside(&entry).parent().unwrap()).unwrap();
    files::hard_link(place.from_path.join("f"), place.aside(&entry)).unwrap();
    assert_eq!(place.recovered().len(), 1);
    assert_eq!(place.text("f"), Some("x+".to_owned()));
    assert!(nothing_aside(&place));
}

#[test]
fn a_link_in_place_of_the_file_or_of_its_directory_is_not_followed() {
    let place = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    for name in ["a/f", "g"] {
        place.done(name, "x");
    }
    rustix::fs::rename(place.from_path.join("a"), outside.path().join("a")).unwrap();
    rustix::fs::rename(place.from_path.join("g"), outside.path().join("g")).unwrap();
    symlink(outside.path().join("a"), place.from_path.join("a")).unwrap();
    symlink(outside.path().join("g"), place.from_path.join("g")).unwrap();
    place.clear();
    assert!(outside.path().join("a/f").exists() && outside.path().join("g").exists());
    assert!(place.from_path.join("g").is_symlink());
}

#[test]
fn a_write_that_races_with_clearing_is_never_lost() {
    const FILES: usize = 400;
    let place = Fixture::new();
    let name = |number: usize| format!("f{number:03}");
    for number in 0..FILES {
        place.done(&name(number), "x");
    }
    let turn = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            // As an application appends: by name, made anew where it is gone.
            while let number = turn.fetch_add(1, Ordering::Relaxed)
                && number < FILES
            {
                let path = place.from_path.join(name(number));
                OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(b"+").unwrap();
            }
        });
        place.clear();
    });
    place.clear();
    for number in 0..FILES {
        let found = [name(number), format!("{}.tonnage-kept-1", name(number))].map(|name| place.text(&name));
        let all = found.iter().flatten().fold(String::new(), |all, text| all + text);
        assert!(all.contains('+'), "{}: {found:?}", name(number));
    }
    assert!(nothing_aside(&place));
}

/// The state directory itself, when it is in the way.
#[test]
fn a_state_directory_that_is_a_link_is_not_followed() {
    let place = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    place.done("f", "x");
    symlink(outside.path(), place.from_path.join(".tonnage-stage")).unwrap();
    let notes = place.clear();
    assert!(place.text("f").is_some() && !notes.is_empty());
    assert!(Path::read_dir(outside.path()).unwrap().next().is_none());
}
