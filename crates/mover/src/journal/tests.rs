use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Chunk, Entry, Placed, State};
use crate::path::TreePath;
use crate::status::Totals;

pub(super) fn identity() -> Identity {
    Identity { from: "/from".into(), to: "/to".into() }
}

pub(super) fn open(state: &Path) -> Journal {
    Journal::open(state, &identity()).unwrap().0
}

pub(super) fn begin() -> (TempDir, Journal) {
    let state = tempfile::tempdir().unwrap();
    let journal = open(state.path());
    (state, journal)
}

pub(super) fn path(text: &str) -> TreePath {
    TreePath::new(text.as_bytes()).unwrap()
}

/// A file's version after its `change`th change.
pub(super) fn file(ino: u64, change: i64) -> Version {
    let mode = 0o640;
    Version { kind: Kind::File, ino, size: 10, mtime_ns: change, ctime_ns: change, mode, links: 1, uid: 1, gid: 2 }
}

pub(super) fn placed(ino: u64) -> Placed {
    Placed { ino, size: 10, mtime_ns: 1, checksum: Some([7; 32]) }
}

/// Finds one name, and expects that it is to be carried over.
pub(super) fn find(journal: &Journal, name: &str, version: Version) -> Entry {
    journal.found(&[(path(name), version)]).unwrap().pop().expect("queued")
}

pub(super) fn put(journal: &Journal, name: &str, version: Version, ino: u64) -> i64 {
    let id = find(journal, name, version).id;
    assert!(journal.placing(&[(id, version, placed(ino))]).unwrap().is_empty());
    assert!(journal.done(&[id]).unwrap().is_empty());
    id
}

pub(super) fn look(journal: &Journal, id: i64) -> Entry {
    journal.entries(&[id]).unwrap().pop().unwrap()
}

/// Totals in memory are those that a new count finds.
pub(super) fn recount(state: &Path, journal: &Journal) -> PerState {
    let kept = journal.totals();
    assert_eq!(Journal::read_only(state).unwrap().totals(), kept);
    kept
}

#[test]
fn what_is_new_or_changed_comes_back_and_the_rest_does_not() {
    let (_state, journal) = begin();
    let first = find(&journal, "a/b", file(1, 1));
    assert_eq!((first.path.clone(), first.version, first.state), (path("a/b"), file(1, 1), State::Queued));
    assert_eq!(journal.found(&[(path("a/b"), file(1, 1))]).unwrap(), []);
    let again = find(&journal, "a/b", file(1, 2));
    assert_eq!((again.id, again.version), (first.id, file(1, 2)));
    assert_eq!(look(&journal, first.id), again);
}

#[test]
fn a_done_file_that_changes_is_queued_and_what_was_placed_is_still_known() {
    let (_state, journal) = begin();
    let id = put(&journal, "a", file(1, 1), 50);
    assert_eq!(journal.found(&[(path("a"), file(1, 1))]).unwrap(), []);
    let again = find(&journal, "a", file(1, 2));
    assert_eq!((again.id, again.state, again.placed, again.before), (id, State::Queued, Some(placed(50)), vec![]));
}

#[test]
fn a_file_found_changed_while_it_is_copied_is_never_done_of_the_former_version() {
    let (state, journal) = begin();
    let entry = find(&journal, "a", file(1, 1));
    find(&journal, "a", file(1, 2));
    assert_eq!(journal.placing(&[(entry.id, file(1, 1), placed(50))]).unwrap(), [entry.id], "before it is placed");
    assert!(journal.placing(&[(entry.id, file(1, 2), placed(51))]).unwrap().is_empty());
    find(&journal, "a", file(1, 3));
    assert_eq!(journal.done(&[entry.id]).unwrap(), [entry.id], "between rename and done");
    let now = look(&journal, entry.id);
    assert_eq!((now.state, now.version, now.placed, now.before), (State::Queued, file(1, 3), Some(placed(51)), vec![]));
    assert_eq!(recount(state.path(), &journal).of(State::Queued), Totals { files: 1, bytes: 10 });
}

#[test]
fn whatever_may_lie_at_the_destination_is_known_until_it_is_sure() {
    let (state, journal) = begin();
    let id = put(&journal, "a", file(1, 1), 50);
    find(&journal, "a", file(1, 2));
    journal.placing(&[(id, file(1, 2), placed(51))]).unwrap();
    drop(journal);
    let journal = open(state.path());
    journal.attempt(id, "EIO").unwrap();
    journal.placing(&[(id, file(1, 2), placed(52))]).unwrap();
    let now = look(&journal, id);
    assert_eq!((now.placed, now.before), (Some(placed(52)), vec![placed(50), placed(51)]));
    journal.done(&[id]).unwrap();
    assert_eq!(look(&journal, id).before, vec![]);
}

#[test]
fn chunks_of_one_version_are_not_told_for_another() {
    let (_state, journal) = begin();
    let chunk = |offset| Chunk { offset, length: 5, hash: [offset as u8; 32] };
    let id = find(&journal, "a", file(1, 1)).id;
    journal.add_chunks(id, &file(1, 1), &[chunk(5), chunk(0)]).unwrap();
    assert_eq!(journal.chunks(id, &file(1, 1)).unwrap(), [chunk(0), chunk(5)]);
    find(&journal, "a", file(1, 2));
    journal.add_chunks(id, &file(1, 1), &[chunk(0)]).unwrap();
    assert_eq!(journal.chunks(id, &file(1, 2)).unwrap(), []);
    journal.add_chunks(id, &file(1, 2), &[chunk(0)]).unwrap();
    assert_eq!(journal.chunks(id, &file(1, 2)).unwrap(), [chunk(0)]);
    journal.placing(&[(id, file(1, 2), placed(9))]).unwrap();
    journal.done(&[id]).unwrap();
    assert_eq!(journal.chunks(id, &file(1, 2)).unwrap(), []);
}

#[test]
fn attempts_are_of_one_version_and_given_up_stays_given_up_until_it_changes_or_is_asked_for() {
    let (state, journal) = begin();
    let id = find(&journal, "a", file(1, 1)).id;
    assert_eq!((journal.attempt(id, "ENOSPC").unwrap(), journal.attempt(id, "EIO").unwrap()), (1, 2));
    journal.failed(id, "EIO at /to; hint: look there").unwrap();
    assert_eq!(journal.found(&[(path("a"), file(1, 1))]).unwrap(), []);
    assert_eq!(journal.failures(0, 10).unwrap()[0].reason.as_deref(), Some("EIO at /to; hint: look there"));
    assert_eq!(journal.retry_failed().unwrap(), 1);
    assert_eq!(journal.queued(0, 10).unwrap(), [look(&journal, id)]);
    journal.failed(id, "again").unwrap();
    let changed = find(&journal, "a", file(1, 2));
    assert_eq!((changed.attempts, changed.reason), (0, None));
    assert_eq!(recount(state.path(), &journal).of(State::Failed).files, 0);
}

#[test]
fn a_name_that_leaves_is_gone_unless_it_was_safe() {
    let (state, journal) = begin();
    let safe = put(&journal, "safe", file(1, 1), 50);
    let lost = find(&journal, "lost", file(2, 1)).id;
    journal.gone(&[safe, lost]).unwrap();
    assert_eq!((look(&journal, safe).state, look(&journal, lost).state), (State::Done, State::Gone));
    assert_eq!(journal.children(&TreePath::root()).unwrap(), []);
    assert_eq!(journal.done_files(None, 10).unwrap(), []);
    assert_eq!(journal.placing(&[(lost, file(2, 1), placed(51))]).unwrap(), [lost]);
    assert_eq!(find(&journal, "lost", file(2, 1)).id, lost);
    recount(state.path(), &journal);
}

#[test]
fn only_what_is_done_is_cleared() {
    let (state, journal) = begin();
    let done = put(&journal, "done", file(1, 1), 50);
    let queued = find(&journal, "queued", file(2, 1)).id;
    journal.cleared(&[done, queued]).unwrap();
    assert_eq!((look(&journal, done).state, look(&journal, queued).state), (State::Cleared, State::Queued));
    let totals = recount(state.path(), &journal);
    assert_eq!((totals.of(State::Cleared).files, totals.of(State::Done).files), (1, 0));
    assert_eq!(find(&journal, "done", file(3, 1)).id, done, "written anew after it was cleared");
}

#[test]
fn children_are_those_at_the_source_in_order_and_in_parts() {
    let (_state, journal) = begin();
    for name in ["d/c", "d/a", "d/b", "d/b/x", "e"] {
        find(&journal, name, file(1, 1));
    }
    let names = |found: Vec<Entry>| found.iter().map(|entry| entry.path.to_string()).collect::<Vec<_>>();
    assert_eq!(names(journal.children(&path("d")).unwrap()), ["d/a", "d/b", "d/c"]);
    assert_eq!(names(journal.children_after(&path("d"), b"a", 1).unwrap()), ["d/b"]);
    assert_eq!(names(journal.children(&TreePath::root()).unwrap()), ["e"]);
    assert_eq!(journal.children(&path("nowhere")).unwrap(), []);
}

#[test]
fn below_a_directory_means_components_not_letters() {
    let (_state, journal) = begin();
    for name in ["set/a", "set/deep/b", "set2/c", "set", "set.d/e"] {
        find(&journal, name, file(1, 1));
    }
    put(&journal, "set/safe", file(9, 1), 50);
    assert_eq!(journal.pending_below(&path("set")).unwrap(), Totals { files: 2, bytes: 20 });
    assert_eq!(journal.below(&path("set")).unwrap().of(State::Done).files, 1);
    assert_eq!(journal.pending_below(&TreePath::root()).unwrap().files, 5);
}

#[test]
fn another_link_is_the_same_inode_of_the_same_size_and_time() {
    let (_state, journal) = begin();
    let two = |change| Version { links: 2, ..file(1, change) };
    let id = put(&journal, "a", two(1), 50);
    let linked = |version| journal.linked(&version).unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(linked(two(1)), [id]);
    assert_eq!(linked(Version { ctime_ns: 2, ..two(1) }), [id], "what else may have changed, its bytes tell");
    assert_eq!(linked(Version { mtime_ns: 2, ..two(1) }).len(), 0);
    journal.doubt(&Doubt { before_id: i64::MAX, all: true, not_of: None }).unwrap();
    assert_eq!((look(&journal, id).state, linked(two(1))), (State::Queued, vec![id]), "it is compared, and its copy lies there");
    assert_eq!(linked(Version { ino: 2, ..two(1) }).len(), 0);
}

#[test]
fn a_directory_s_times_are_kept_and_do_not_queue_it() {
    let (_state, journal) = begin();
    let directory = |change| Version { kind: Kind::Directory, mode: 0o750, ..file(1, change) };
    let id = put(&journal, "d", directory(1), 50);
    assert_eq!(journal.found(&[(path("d"), directory(2))]).unwrap(), []);
    assert_eq!((look(&journal, id).state, look(&journal, id).version), (State::Done, directory(2)));
    put(&journal, "d/e", directory(1), 51);
    let order: Vec<_> =
        journal.entries(&journal.directories().unwrap()).unwrap().iter().map(|entry| entry.path.clone()).collect();
    assert_eq!(order, [path("d/e"), path("d")]);
    assert_eq!(find(&journal, "d", Version { mode: 0o700, ..directory(3) }).id, id);
}

#[test]
fn sockets_are_skipped_and_said_and_never_come_back() {
    let (state, journal) = begin();
    let socket = Version { kind: Kind::Special, ..file(1, 1) };
    assert_eq!(journal.found(&[(path("s"), socket)]).unwrap(), []);
    assert_eq!(
        journal.in_state(State::Skipped, 0, 9).unwrap()[0].reason.as_deref(),
        Some("a socket or a device, which is never staged")
    );
    assert_eq!(find(&journal, "s", file(2, 2)).state, State::Queued, "a file in its place");
    recount(state.path(), &journal);
}

#[test]
fn what_may_be_cleared_comes_oldest_first_and_in_parts() {
    let (_state, journal) = begin();
    for (name, change) in [("c", 3), ("a", 1), ("b", 2), ("b2", 2)] {
        put(&journal, name, file(change as u64, change), 50);
    }
    let first = journal.done_files(None, 2).unwrap();
    let rest = journal.done_files(first.last(), 9).unwrap();
    let names: Vec<_> = first.iter().chain(&rest).map(|entry| entry.path.to_string()).collect();
    assert_eq!(names, ["a", "b", "b2", "c"]);
}

#[test]
fn names_of_any_bytes_and_numbers_of_any_size_come_back_as_they_went() {
    let (_state, journal) = begin();
    let version = Version { ino: u64::MAX, size: u64::MAX, mtime_ns: i64::MIN, ..file(1, 1) };
    let name = TreePath::new(b"d\xff/\n\\\xfe").unwrap();
    journal.found(&[(name.clone(), version)]).unwrap();
    let found = journal.by_path(&name).unwrap().unwrap();
    assert_eq!((found.path, found.version), (name, version));
}

#[test]
fn directories_that_hold_what_is_at_the_source_are_told_whether_they_are_entries_or_not() {
    let (_state, journal) = begin();
    for name in ["f", "a/b/x", "a/c/x", "a-c/x", "\u{10ffff}/x"] {
        find(&journal, name, file(1, 1));
    }
    let below = |name| journal.directories_below(&path(name)).unwrap();
    assert_eq!(below("a"), [path("a/b"), path("a/c")]);
    assert_eq!(below(""), [path(""), path("a-c"), path("a/b"), path("a/c"), path("\u{10ffff}")]);
    let gone = journal.by_path(&path("a/b/x")).unwrap().unwrap();
    journal.gone(&[gone.id]).unwrap();
    assert_eq!((below("a"), below("a/c")), (vec![path("a/c")], vec![path("a/c")]));
}

#[test]
fn what_is_in_doubt_is_queued_and_what_was_written_on_its_way_goes_again_once_it_is_done() {
    let (state, journal) = begin();
    let plain = put(&journal, "plain", file(1, 1), 50);
    let linked = put(&journal, "linked", Version { links: 2, ..file(2, 1) }, 51);
    let others = put(&journal, "others", Version { uid: 77, ..file(3, 1) }, 52);
    let of = |id| look(&journal, id).state;
    let doubt = |not_of| Doubt { before_id: i64::MAX, all: false, not_of };
    let links: Vec<_> = journal.copies(plain, 10).unwrap().iter().map(|copy| (copy.id, copy.at_source, copy.links)).collect();
    assert_eq!((journal.doubt(&doubt(None)).unwrap(), links), (0, vec![(linked, true, 2), (others, true, 1)]));
    let uid = look(&journal, plain).version.uid;
    assert_eq!((journal.doubt(&doubt(Some(uid))).unwrap(), of(others), of(plain)), (1, State::Queued, State::Done));
    assert_eq!(journal.written(&[path("plain"), path("none")], |_| false).unwrap()[0].id, plain);
    recount(state.path(), &journal);
    let entry = look(&journal, plain);
    let ready = [(plain, entry.version, entry.placed.unwrap())];
    journal.written(&[path("plain")], |_| true).unwrap();
    journal.placing(&ready).unwrap();
    assert_eq!((journal.done(&[plain]).unwrap(), of(plain)), (vec![plain], State::Queued));
    journal.placing(&ready).unwrap();
    assert_eq!((journal.done(&[plain]).unwrap(), of(plain)), (vec![], State::Done));
    recount(state.path(), &journal);
}

#[test]
fn other_contents_under_a_cleared_name_are_counted_once_a_name_and_equal_ones_never() {
    let (state, journal) = begin();
    let other = |id, change, checksum| {
        let placed = Placed { checksum: Some(checksum), ..placed(9) };
        journal.placing(&[(id, file(1, change), placed)]).unwrap();
        journal.done(&[id]).unwrap();
    };
    let ids = ["equal", "log"].map(|name| put(&journal, name, file(1, 1), 9));
    journal.cleared(&ids).unwrap();
    for name in ["equal", "log"] {
        find(&journal, name, file(1, 2));
    }
    assert_eq!(journal.replaced_after_clearing().unwrap(), (0, None), "nothing is replaced yet");
    other(ids[0], 2, [7; 32]);
    other(ids[1], 2, [8; 32]);
    assert_eq!(journal.replaced_after_clearing().unwrap(), (1, Some(path("log"))));
    // A change of what was not cleared replaces nothing that was.
    find(&journal, "equal", file(1, 3));
    other(ids[0], 3, [9; 32]);
    journal.cleared(&ids[1..]).unwrap();
    find(&journal, "log", file(1, 3));
    other(ids[1], 3, [9; 32]);
    assert_eq!(Journal::read_only(state.path()).unwrap().replaced_after_clearing().unwrap().0, 1);
}

#[test]
fn a_directory_is_touched_by_whatever_moves_its_time_until_that_was_asked_for() {
    let (_state, journal) = begin();
    let directory = |change| Version { kind: Kind::Directory, ..file(1, change) };
    let id = find(&journal, "d", directory(1)).id;
    put(&journal, "d/f", file(2, 1), 9);
    assert_eq!(journal.directories_touched(), [id]);
    assert_eq!(journal.found(&[(path("d"), directory(1))]).unwrap(), []);
    assert!(journal.directories_touched().is_empty());
    assert_eq!(journal.found(&[(path("d"), directory(2))]).unwrap(), [], "no reason to queue it");
    assert_eq!(journal.directories_touched(), [id]);
}
