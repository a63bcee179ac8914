//! Real trees, scanned and watched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self as files, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, rename};

use super::*;
use crate::journal::Identity;
use crate::journal_entry::Placed;
use crate::names;
use crate::options::Options;
use crate::testing::options;
use crate::watch::Hint;

struct Fixture {
    directory: tempfile::TempDir,
    _state: tempfile::TempDir,
    tree: Tree,
    rules: Rules,
    journal: Journal,
    watch: Watch,
    halt: AtomicBool,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Options)) -> Self {
        // In memory where that can be had: hundreds of journals are synced.
        let state = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(directory.path(), Path::new("/to"));
        change(&mut options);
        let identity = Identity { from: directory.path().into(), to: "/to".into() };
        Self {
            tree: Tree::open(directory.path()).unwrap(),
            rules: Rules::new(&options).unwrap(),
            journal: Journal::open(state.path(), &identity).unwrap().0,
            watch: Watch::start(),
            halt: AtomicBool::new(false),
            directory,
            _state: state,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make(&self, name: &str) {
        files::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        File::create(self.at(name)).unwrap();
    }

    fn scanner(&self) -> Scanner<'_> {
        let Self { tree, rules, journal, watch, halt, .. } = self;
        Scanner { from: tree, rules, journal, watch: Some(watch), halt }
    }

    /// Scans everything; the names that were queued, in order.
    fn scan(&self) -> (Scanned, Vec<String>) {
        let mut queued = Vec::new();
        let scanned = self.scanner().scan(&TreePath::root(), &mut |fresh| queued.extend(fresh)).unwrap();
        assert_eq!(scanned.queued, queued.len() as u64);
        let mut names: Vec<_> = queued.iter().map(|entry| entry.path.to_string()).collect();
        names.sort();
        (scanned, names)
    }

    fn queued(&self) -> Vec<String> {
        self.scan().1
    }

    fn scanned(&self) {
        self.scan();
    }

    fn hinted(&self) {
        self.follow(Duration::ZERO);
    }

    /// Follows hints until there are none for `quiet`.
    fn follow(&self, quiet: Duration) {
        loop {
            let hints = self.watch.next(quiet);
            if hints.is_empty() {
                return;
            }
            for hint in hints {
                match hint {
                    Hint::Name(name) | Hint::Written(name) => self.scanner().look(&[name], &mut |_| {}).unwrap(),
                    Hint::Directory(below) => self.scanner().scan(&below, &mut |_| {}).unwrap(),
                    Hint::Overflow => self.scanner().scan(&TreePath::root(), &mut |_| {}).unwrap(),
                };
            }
        }
    }

    fn state(&self, name: &str) -> Option<State> {
        self.journal.by_path(&path(name)).unwrap().map(|entry| entry.state)
    }

    /// The journal's queue is the tree: every name, no other, each as it is.
    fn check(&self) {
        let mut tree = BTreeMap::new();
        walk(self.directory.path(), &TreePath::root(), &mut tree);
        let queue = self.journal.queued(0, u32::MAX).unwrap();
        let known: BTreeMap<_, _> = queue.iter().map(|entry| (entry.path.clone(), what(&entry.version))).collect();
        assert_eq!(known, tree);
    }
}

fn path(text: &str) -> TreePath {
    TreePath::new(text.as_bytes()).unwrap()
}

/// What must be right of a name; a directory's times may lag.
fn what(version: &Version) -> (Kind, u64, u64, i64) {
    let Version { kind, ino, size, mtime_ns, .. } = *version;
    if kind == Kind::Directory { (kind, ino, 0, 0) } else { (kind, ino, size, mtime_ns) }
}

fn walk(directory: &Path, at: &TreePath, into: &mut BTreeMap<TreePath, (Kind, u64, u64, i64)>) {
    for name in files::read_dir(directory).unwrap() {
        let name = name.unwrap().file_name();
        let version = Version::at(File::open(directory).unwrap(), name.as_bytes()).unwrap();
        into.insert(at.join(name.as_bytes()), what(&version));
        if version.kind == Kind::Directory {
            walk(&directory.join(&name), &at.join(name.as_bytes()), into);
        }
    }
}

#[test]
fn a_scan_queues_what_is_new_or_changed_and_nothing_twice() {
    let place = Fixture::new();
    place.make("a/f");
    place.make("g");
    assert_eq!(place.queued(), ["a", "a/f", "g"]);
    assert_eq!(place.queued(), [""; 0]);
    files::File::options().append(true).open(place.at("g")).unwrap().set_len(3).unwrap();
    place.make("a/h");
    let (scanned, queued) = place.scan();
    assert_eq!((scanned.entries, queued), (4, vec!["a/h".to_owned(), "g".to_owned()]));
    place.check();
}

#[test]
fn what_went_is_gone_and_what_was_safe_stays_done() {
    let place = Fixture::new();
    for name in ["a/safe", "a/b/waits", "a/b/c/waits", "stays"] {
        place.make(name);
    }
    place.queued();
    let safe = place.journal.by_path(&path("a/safe")).unwrap().unwrap();
    let placed = Placed { ino: 1, size: 0, mtime_ns: 0, checksum: None };
    place.journal.placing(&[(safe.id, safe.version, placed)]).unwrap();
    place.journal.done(&[safe.id]).unwrap();
    let outside = tempfile::tempdir().unwrap();
    rename(place.at("a"), outside.path().join("a")).unwrap();
    assert_eq!(place.scan().0.gone, 6);
    assert_eq!((place.state("a/safe"), place.state("a/b/c/waits")), (Some(State::Done), Some(State::Gone)));
    assert_eq!(place.scan().0.gone, 0);
    place.check();
    rename(outside.path().join("a"), place.at("a")).unwrap();
    let all = ["a", "a/b", "a/b/c", "a/b/c/waits", "a/b/waits", "a/safe"];
    assert_eq!(place.queued(), all, "back again, and nobody watched the one that was safe");
}

#[test]
fn a_directory_that_is_not_staged_itself_takes_all_below_with_it_when_it_goes() {
    let place = Fixture::with(|options| options.include = vec!["*.h5".to_owned()]);
    let outside = tempfile::tempdir().unwrap();
    for (number, how) in [Fixture::hinted, Fixture::scanned].into_iter().enumerate() {
        place.make("a/b/x.h5");
        place.make("a/b/x.txt");
        assert_eq!(place.queued(), ["a/b/x.h5"]);
        place.watch.next(Duration::ZERO);
        rename(place.at("a"), outside.path().join(number.to_string())).unwrap();
        how(&place);
        assert_eq!(place.state("a/b/x.h5"), Some(State::Gone));
    }
}

#[test]
fn nothing_is_entered_that_is_excluded_and_no_link_is_followed() {
    let place = Fixture::with(|options| options.exclude = vec!["scratch/".to_owned()]);
    place.make("scratch/f");
    place.make("d/f");
    place.make(".tonnage-stage/journal.sqlite");
    symlink("d", place.at("link")).unwrap();
    symlink("/", place.at("root")).unwrap();
    assert_eq!(place.queued(), ["d", "d/f", "link", "root"]);
    File::create(place.at("scratch/g")).unwrap();
    assert_eq!(place.watch.next(Duration::ZERO), [], "what is excluded is not watched either");
}

#[test]
fn names_of_any_bytes_are_found() {
    let place = Fixture::new();
    let names = [&b"new\nline"[..], b"\xff\xfe", b" ", b"-rf", &[b'x'; 255]];
    for name in names {
        File::create(place.directory.path().join(OsStr::from_bytes(name))).unwrap();
    }
    assert_eq!(place.queued().len(), names.len());
    place.check();
}

#[test]
fn a_directory_that_cannot_be_opened_is_said_and_nothing_below_it_is_gone() {
    let place = Fixture::new();
    let name = "n".repeat(250);
    let mut here = openat(CWD, place.directory.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let mut deep = TreePath::root();
    // Deeper than a path can say: the system refuses the name, whoever asks.
    for _ in 0..17 {
        mkdirat(&here, &*name, Mode::RWXU).unwrap();
        here = openat(&here, &*name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        deep = deep.join(name.as_bytes());
    }
    let below = deep.join(b"known");
    let version = Version::of(&here).unwrap();
    let known = place.journal.found(&[(below, Version { kind: Kind::File, ..version })]).unwrap();
    let (scanned, queued) = place.scan();
    assert_eq!((scanned.gone, queued.len(), scanned.unreadable.len()), (0, 17, 1));
    let (at, why) = &scanned.unreadable[0];
    assert!(*at == deep && why.starts_with("cannot open directory n"), "{why}");
    assert_eq!(place.journal.entries(&[known[0].id]).unwrap()[0].state, State::Queued);
}

#[test]
fn a_tree_that_is_gone_altogether_ends_the_scan_and_takes_no_file_with_it() {
    let mut place = Fixture::new();
    place.make("f");
    place.queued();
    let directory = std::mem::replace(&mut place.directory, tempfile::tempdir().unwrap());
    directory.close().unwrap();
    let error = place.scanner().scan(&TreePath::root(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the source ") && error.contains("No such file"), "{error}");
    assert_eq!(place.state("f"), Some(State::Queued));
}

#[test]
fn other_file_systems_are_said_and_not_entered_and_devices_are_skipped() {
    let place = Fixture::new();
    let dev = Tree::open(Path::new("/dev")).unwrap();
    let device = files::metadata("/dev").unwrap().dev();
    let mut mounts: Vec<_> = files::read_dir("/dev").unwrap().map(|entry| entry.unwrap()).collect();
    mounts.retain(|entry| entry.file_type().unwrap().is_dir() && files::metadata(entry.path()).unwrap().dev() != device);
    let mut scanned = Scanner { from: &dev, watch: None, ..place.scanner() }.scan(&TreePath::root(), &mut |_| {}).unwrap();
    scanned.mounts.retain(|mount| mount.parent().is_root());
    assert_eq!(scanned.mounts.len(), mounts.len(), "{:?}", scanned.mounts);
    assert!(mounts.iter().all(|mount| scanned.mounts.contains(&TreePath::root().join(mount.file_name().as_bytes()))));
    assert_eq!(place.state("null"), Some(State::Skipped));
}

#[test]
fn a_halted_scan_says_so_and_takes_nothing_for_gone() {
    let place = Fixture::new();
    place.make("a/f");
    place.queued();
    place.halt.store(true, Ordering::Relaxed);
    place.make("b/f");
    let (scanned, _) = place.scan();
    assert!(scanned.halted && scanned.gone == 0);
    place.halt.store(false, Ordering::Relaxed);
    assert_eq!(place.queued(), ["b", "b/f"]);
}

#[test]
fn directories_made_in_a_hurry_are_found_by_hints_alone() {
    let place = Fixture::new();
    place.queued();
    let root = place.directory.path().to_owned();
    let maker = std::thread::spawn(move || {
        for number in 0..300 {
            let below = root.join(format!("{number}/x/y/z"));
            files::create_dir_all(&below).unwrap();
            for file in ["../../f", "f", "g"] {
                File::create(below.join(file)).unwrap();
            }
            if number % 3 == 0 {
                rename(root.join(number.to_string()), root.join(format!("moved-{number}"))).unwrap();
            }
        }
    });
    while !maker.is_finished() {
        place.follow(Duration::from_millis(1));
    }
    maker.join().unwrap();
    place.follow(Duration::ZERO);
    place.check();
}

/// One thing that a user does, among few names, so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<u8>, u16),
    Make(Vec<u8>),
    Link(Vec<u8>),
    HardLink(Vec<u8>, Vec<u8>),
    Rename(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Follow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || prop::collection::vec(0_u8..3, 1..4);
    let step = prop_oneof![
        4 => (place(), any::<u16>()).prop_map(|(at, size)| Step::Write(at, size)),
        4 => place().prop_map(Step::Make),
        1 => place().prop_map(Step::Link),
        1 => (place(), place()).prop_map(|(from, to)| Step::HardLink(from, to)),
        4 => (place(), place()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => place().prop_map(Step::Remove),
        2 => Just(Step::Follow),
    ];
    prop::collection::vec(step, 1..60)
}

/// Does it, or does not where it cannot be done.
fn take(place: &Fixture, outside: &Path, number: usize, step: &Step) {
    let at = |parts: &[u8]| parts.iter().fold(place.directory.path().to_owned(), |path, part| path.join(part.to_string()));
    match step {
        Step::Write(file, size) => _ = File::create(at(file)).and_then(|file| file.set_len((*size).into())),
        Step::Make(directory) => _ = files::create_dir(at(directory)),
        Step::Link(link) => _ = symlink("anywhere", at(link)),
        Step::HardLink(from, to) => _ = files::hard_link(at(from), at(to)),
        Step::Rename(from, to) => _ = rename(at(from), at(to)),
        Step::Remove(what) if at(what).is_dir() => _ = rename(at(what), outside.join(number.to_string())),
        Step::Remove(what) => {
            if let Ok(directory) = File::open(at(what).parent().unwrap()) {
                _ = names::remove(directory.as_fd(), what[what.len() - 1].to_string().as_bytes());
            }
        }
        Step::Follow => place.follow(Duration::ZERO),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn after_any_steps_hints_alone_tell_the_truth_but_for_second_names(steps in steps()) {
        let (place, outside) = (Fixture::new(), tempfile::tempdir().unwrap());
        place.queued();
        for (number, step) in steps.iter().enumerate() {
            // A write through one name makes no event for another: only a scan sees that.
            if !matches!(step, Step::HardLink(..)) {
                take(&place, outside.path(), number, step);
            }
        }
        place.follow(Duration::ZERO);
        place.check();
    }

    #[test]
    fn after_any_steps_a_scan_tells_the_truth(steps in steps()) {
        let (place, outside) = (Fixture::new(), tempfile::tempdir().unwrap());
        for (number, step) in steps.iter().enumerate() {
            take(&place, outside.path(), number, step);
            if matches!(step, Step::Follow) {
                place.queued();
            }
        }
        place.queued();
        place.check();
    }
}
