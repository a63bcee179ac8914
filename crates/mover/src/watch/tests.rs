//! Real directories under a real watch.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::rename;

use super::*;
use crate::names;
use crate::tree::Tree;

/// How long a test waits for what must come.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

struct Fixture {
    directory: tempfile::TempDir,
    tree: Tree,
    watch: Watch,
}

impl Fixture {
    /// A tree with these directories, all watched.
    fn new(directories: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { tree: Tree::open(directory.path()).unwrap(), directory, watch: Watch::start() };
        place.cover("");
        for at in directories {
            fs::create_dir(place.at(at)).unwrap();
            place.cover(at);
        }
        place.hints();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join("./").join(name)
    }

    fn cover(&self, at: &str) {
        self.watch.cover(&path(at), self.tree.directory(&path(at)).unwrap());
    }

    /// Those that are there now.
    fn hints(&self) -> Vec<Hint> {
        self.watch.next(Duration::ZERO)
    }

    fn watches(&self) -> usize {
        self.watch.known().map.len()
    }
}

fn path(text: &str) -> TreePath {
    TreePath::new(text.as_bytes()).unwrap()
}

fn name(text: &str) -> Hint {
    Hint::Name(path(text))
}

fn written(text: &str) -> Hint {
    Hint::Written(path(text))
}

fn directory_at(text: &str) -> Hint {
    Hint::Directory(path(text))
}

#[test]
fn every_way_to_make_change_or_end_a_name_is_hinted_at_once() {
    let place = Fixture::new(&[]);
    let directory = tempfile::Builder::new().prefix("d").rand_bytes(0).tempdir_in(place.at("")).unwrap();
    place.cover("d");
    assert_eq!(place.hints(), [directory_at("d")]);
    let f = place.at("d/f");
    drop(File::create(&f).unwrap());
    assert_eq!(place.hints(), [written("d/f")], "made and closed: one name, one hint");
    let steps: [(&dyn Fn(), Vec<Hint>); 6] = [
        (&|| drop(File::options().append(true).open(&f).unwrap()), vec![written("d/f")]),
        (&|| fs::set_permissions(&f, Permissions::from_mode(0o600)).unwrap(), vec![name("d/f")]),
        (&|| symlink("f", place.at("l")).unwrap(), vec![name("l")]),
        (&|| fs::hard_link(&f, place.at("h")).unwrap(), vec![name("h")]),
        (&|| rename(&f, place.at("g")).unwrap(), vec![name("d/f"), name("g")]),
        (&|| names::remove(place.tree.root(), b"g").unwrap(), vec![name("g")]),
    ];
    for (step, expected) in steps {
        step();
        assert_eq!(place.hints(), expected);
    }
    directory.close().unwrap();
    assert_eq!(place.hints(), [directory_at("d")]);
    assert_eq!(place.watches(), 1, "a removed directory's watch is forgotten");
}

#[test]
fn a_new_directory_is_hinted_at_and_covered_by_whoever_scans_it() {
    let place = Fixture::new(&[]);
    fs::create_dir(place.at("new")).unwrap();
    assert_eq!(place.hints(), [directory_at("new")]);
    place.cover("new");
    drop(File::create(place.at("new/f")).unwrap());
    assert_eq!(place.hints(), [written("new/f")]);
}

#[test]
fn after_a_rename_names_deep_below_are_hinted_at_where_they_are() {
    let place = Fixture::new(&["a", "a/b", "a/b/c"]);
    rename(place.at("a/b"), place.at("z")).unwrap();
    drop(File::create(place.at("z/c/f")).unwrap());
    assert_eq!(place.hints(), [directory_at("a/b"), directory_at("z"), written("z/c/f")]);
}

#[test]
fn events_older_than_a_scan_may_confuse_the_names_but_their_hints_lead_to_a_scan_that_mends_them() {
    let place = Fixture::new(&["a", "a/b"]);
    rename(place.at("a"), place.at("y")).unwrap();
    rename(place.at("y"), place.at("z")).unwrap();
    place.cover("z");
    fs::create_dir(place.at("a")).unwrap();
    place.cover("a");
    let hints = place.hints();
    assert!(hints.contains(&directory_at("a")) && hints.contains(&directory_at("z")), "{hints:?}");
    place.cover("a");
    place.cover("z");
    drop(File::create(place.at("z/b/f")).unwrap());
    drop(File::create(place.at("a/f")).unwrap());
    assert_eq!(place.hints(), [written("z/b/f"), written("a/f")]);
}

#[test]
fn a_directory_that_left_the_tree_is_no_longer_watched() {
    let outside = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    let place = Fixture::new(&["a", "a/b"]);
    rename(place.at("a"), outside.path().join("a")).unwrap();
    drop(File::create(outside.path().join("a/b/f")).unwrap());
    assert_eq!(place.hints(), [directory_at("a")]);
    let begin = Instant::now();
    while place.watches() > 1 && begin.elapsed() < LONGEST_WAIT {
        assert_eq!(place.watch.next(Duration::from_millis(50)), []);
    }
    assert_eq!(place.watches(), 1);
}

#[test]
fn a_queue_that_ran_over_asks_for_a_scan_of_everything() {
    let place = Fixture::new(&[]);
    let files = [place.at("a"), place.at("b")];
    for file in &files {
        drop(File::create(file).unwrap());
    }
    let limit: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    for turn in 0..=limit {
        // Two in turns: equal events one after the other would be one.
        fs::set_permissions(&files[turn % 2], Permissions::from_mode(0o600)).unwrap();
    }
    assert_eq!(place.hints(), [Hint::Overflow]);
    drop(File::create(place.at("c")).unwrap());
    assert_eq!(place.hints(), [written("c")], "and goes on after it");
}

#[test]
fn the_end_of_the_root_asks_for_a_scan() {
    let Fixture { directory, watch, .. } = Fixture::new(&[]);
    directory.close().unwrap();
    assert_eq!(watch.next(Duration::ZERO), [Hint::Overflow]);
}

#[test]
fn a_directory_without_a_watch_is_said_until_all_have_one() {
    let place = Fixture::new(&["a"]);
    assert_eq!(place.watch.said(), "inotify");
    let no_directory = tempfile::tempfile().unwrap();
    place.watch.cover(&path("a"), &no_directory);
    assert!(
        place.watch.said().starts_with("inotify, not on all directories: ") && place.watch.said().ends_with("; scans stand in")
    );
    place.cover("");
    assert_eq!(place.watch.said(), "inotify");
}

#[test]
fn without_events_the_wait_ends_with_its_time_and_with_one_at_once() {
    let place = Fixture::new(&[]);
    let begin = Instant::now();
    assert_eq!(place.watch.next(Duration::from_millis(30)), []);
    assert!(begin.elapsed() >= Duration::from_millis(30));
    drop(File::create(place.at("f")).unwrap());
    assert_eq!(place.watch.next(LONGEST_WAIT), [written("f")]);
    assert!(begin.elapsed() < LONGEST_WAIT);
}
