use std::fs::{self, File};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::io::Errno;
use tempfile::TempDir;

use super::probe::{CALLS, Calls, probe};
use super::*;
use crate::file_version::{Kind, Version};
use crate::names::Replaces;
use crate::options::Overwrite;
use crate::testing;

/// A directory with a source `from`, beside which a destination can be.
fn site() -> TempDir {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("from")).unwrap();
    site
}

fn options(site: &Path, from: &str, to: &str) -> Options {
    testing::options(&site.join(from), &site.join(to))
}

/// Every name below `at`, to see that nothing was touched.
fn names_below(at: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at).unwrap().flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            found.extend(names_below(&entry.path()));
        }
    }
    found.sort();
    found
}

/// What is said of `options`: one line with a hint, and nothing touched.
fn refusal(site: &Path, options: &Options) -> String {
    let before = names_below(site);
    let said = match Preflight::check(options) {
        Err(MoverError::Request(said)) => said,
        other => panic!("not refused: {other:?}"),
    };
    assert!(said.contains("; hint: ") && !said.contains('\n'), "{said}");
    assert_eq!(names_below(site), before, "{said}");
    said
}

#[test]
fn two_directories_side_by_side_are_ground_and_the_destination_is_made() {
    let site = site();
    let ground = Preflight::check(&options(site.path(), "from", "to")).unwrap();
    assert_eq!(fs::read_dir(site.path().join("to")).unwrap().count(), 0, "no probe is left");
    assert!(ground.notes().is_empty());
    let real = site.path().canonicalize().unwrap();
    assert_eq!(*ground.identity(), Identity { from: real.join("from"), to: real.join("to") });
}

#[test]
fn what_is_not_there_or_not_a_directory_is_refused() {
    let site = site();
    File::create(site.path().join("file")).unwrap();
    let _socket = UnixListener::bind(site.path().join("socket")).unwrap();
    for (from, to, expected) in [
        ("nowhere", "to", "nowhere does not exist; "),
        ("file", "to", "file is not a directory; "),
        ("socket", "to", "socket is not a directory; "),
        ("from", "file", "file is not a directory; "),
        ("from", "nowhere/to", "nor does the directory it would be made in; "),
        ("from", "file/to", "file/to "),
    ] {
        let said = refusal(site.path(), &options(site.path(), from, to));
        assert!(said.contains(expected), "{from} {to}: {said}");
    }
}

#[test]
fn the_same_directory_is_refused_by_whatever_name() {
    let site = site();
    symlink("from", site.path().join("link")).unwrap();
    for to in ["from", "link", "from/../from", "from/."] {
        let said = refusal(site.path(), &options(site.path(), "from", to));
        assert!(said.starts_with("source and destination are the same directory, "), "{to}: {said}");
    }
}

#[test]
fn a_tree_inside_the_other_is_refused_also_through_links_and_when_it_is_yet_to_be_made() {
    let site = site();
    fs::create_dir_all(site.path().join("from/in/deep")).unwrap();
    symlink("from/in", site.path().join("link")).unwrap();
    for to in ["from/in", "from/in/deep", "from/new", "link", "link/deep", "link/new"] {
        let said = refusal(site.path(), &options(site.path(), "from", to));
        assert!(said.contains(" is inside the source "), "{to}: {said}");
    }
    for from in ["from/in", "link/deep"] {
        let said = refusal(site.path(), &options(site.path(), from, "from"));
        assert!(said.contains(" is inside the destination "), "{from}: {said}");
    }
}

#[test]
fn a_second_mover_is_told_who_the_first_is_and_the_end_of_the_first_makes_room() {
    let site = site();
    let one = options(site.path(), "from", "to");
    let first = Preflight::check(&one).unwrap();
    let said = refusal(site.path(), &one);
    let process = format!("another mover works here: mover test, process {}, host ", std::process::id());
    assert!(said.starts_with(&process), "{said}");
    drop(first);
    Preflight::check(&one).unwrap();
}

#[test]
fn two_sources_into_one_destination_are_fine() {
    let site = site();
    fs::create_dir(site.path().join("other")).unwrap();
    let _first = Preflight::check(&options(site.path(), "from", "to")).unwrap();
    Preflight::check(&options(site.path(), "other", "to")).unwrap();
}

#[test]
fn a_state_directory_or_log_that_would_be_staged_itself_is_refused() {
    let site = site();
    let from = site.path().join("from");
    let fine = options(site.path(), "from", "to");
    for (state, log) in [
        (from.clone(), None),
        (from.join("state"), None),
        (fine.state.clone(), Some(from.join("spectral.log"))),
        (fine.state.clone(), Some(from.join("sub/../spectral.log"))),
    ] {
        let said = refusal(site.path(), &Options { state, log, ..fine.clone() });
        assert!(said.contains(" is inside the source, and would be staged itself"), "{said}");
    }
    Preflight::check(&Options { log: Some(site.path().join("spectral.log")), ..fine }).unwrap();
}

#[test]
fn a_state_directory_among_the_copies_is_refused() {
    let site = site();
    let to = site.path().join("to");
    let fine = options(site.path(), "from", "to");
    for state in [to.clone(), to.join("state")] {
        let said = refusal(site.path(), &Options { state, ..fine.clone() });
        assert!(said.contains(" is inside the destination, among the copies; hint: "), "{said}");
    }
    Preflight::check(&Options { log: Some(to.join("spectral.log")), ..fine }).unwrap();
}

#[test]
fn a_state_directory_that_cannot_be_made_is_refused_before_the_destination_is() {
    let site = site();
    let fine = options(site.path(), "from", "to");
    File::create(site.path().join("file")).unwrap();
    for (state, why) in [
        ("nowhere/state", "the directory it would be made in does not exist"),
        ("file", "it is not a directory"),
        ("file/state", "the directory it would be made in does not exist"),
    ] {
        let said = refusal(site.path(), &Options { state: site.path().join(state), ..fine.clone() });
        assert!(said.starts_with("cannot use state directory ") && said.contains(why), "{said}");
    }
    // Staging in keeps it in the destination.
    Preflight::check(&Options { state: fine.to.join(STATE_DIRECTORY), ..fine }).unwrap();
}

#[test]
fn a_file_system_without_fsync_or_rename_is_refused_and_one_that_cannot_sync_a_directory_is_said() {
    let site = site();
    let tree = Tree::open(site.path()).unwrap();
    let look = |calls: &Calls| {
        let outcome = probe(&tree, Path::new("/slow"), &site.path().join("state"), Overwrite::Never, calls);
        assert_eq!(names_below(site.path()).len(), 1, "nothing but the source is left");
        outcome.map_err(|error| error.to_string())
    };
    let no_sync = look(&Calls { sync: |_| Err(Errno::INVAL), ..CALLS }).unwrap_err();
    assert!(no_sync.starts_with("the file system of destination /slow cannot make a file durable (fsync): Invalid"), "{no_sync}");
    let no_rename = look(&Calls { rename: |_, _, _| Err(Errno::NOSYS), ..CALLS }).unwrap_err();
    assert!(no_rename.starts_with("the file system of destination /slow cannot rename a file: "), "{no_rename}");
    let idle = look(&Calls { rename: |_, _, _| Ok(()), ..CALLS }).unwrap_err();
    assert!(idle.contains("cannot rename a file"), "a rename that does nothing: {idle}");
    let no_directory_sync: fn(BorrowedFd) -> rustix::io::Result<()> = |file| match Version::of(file)?.kind {
        Kind::Directory => Err(Errno::INVAL),
        _ => Ok(()),
    };
    let notes = look(&Calls { sync: no_directory_sync, ..CALLS }).unwrap();
    assert!(notes[0].starts_with("the destination's file system cannot sync a directory"), "{notes:?}");
}

#[test]
fn a_destination_that_takes_no_files_is_refused() {
    let site = site();
    let said = refusal(site.path(), &Options { to: "/proc".into(), ..options(site.path(), "from", "to") });
    assert!(said.starts_with("cannot make a file in destination /proc: "), "{said}");
}

#[test]
fn a_probe_that_a_kill_left_is_removed_and_a_file_of_that_name_that_is_none_is_kept() {
    let site = site();
    let (tree, state) = (Tree::open(site.path()).unwrap(), site.path().join("state"));
    // Each run says in a link what it called its file, and keeps the file from being removed by another name.
    let killed: fn(BorrowedFd, &[u8], &[u8]) -> rustix::io::Result<()> = |dir, name, _| {
        rustix::fs::renameat(dir, name, dir, "seen")?;
        rustix::fs::symlinkat(name, dir, "name").and(Err(Errno::IO))
    };
    probe(&tree, site.path(), &state, Overwrite::Never, &Calls { rename: killed, ..CALLS }).unwrap_err();
    let probed = site.path().join(fs::read_link(site.path().join("name")).unwrap());
    rustix::fs::rename(site.path().join("seen"), &probed).unwrap();
    assert_eq!(probe(&tree, site.path(), &state, Overwrite::Never, &CALLS).unwrap(), Vec::<String>::new());
    assert!(!probed.exists());
    File::create(&probed).unwrap().set_len(100).unwrap();
    assert!(probe(&tree, site.path(), &state, Overwrite::Never, &CALLS).is_err());
    assert_eq!(probed.metadata().unwrap().len(), 100);
}

#[test]
fn a_destination_where_a_taken_name_might_be_replaced_unseen_is_refused_unless_any_file_may_be() {
    let site = site();
    let tree = Tree::open(site.path()).unwrap();
    let calls = Calls { replaces: |_, _, _| Ok(Replaces::Never), ..CALLS };
    let look = |overwrite| probe(&tree, Path::new("/slow"), &site.path().join("state"), overwrite, &calls);
    for overwrite in [Overwrite::Never, Overwrite::Older] {
        let said = look(overwrite).unwrap_err().to_string();
        assert!(said.starts_with("the file system of destination /slow has neither links nor a rename that"), "{said}");
    }
    assert_eq!(look(Overwrite::Always).unwrap().len(), 1, "a note says so");
    assert_eq!(names_below(site.path()).len(), 1, "nothing but the source is left");
}

#[test]
fn what_this_user_may_not_read_write_or_clear_is_refused() {
    let site = site();
    let mode = |name: &str, mode| {
        let at = site.path().join(name);
        fs::create_dir_all(&at).unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
    };
    for (name, bits) in [("", 0o755), ("from", 0o555), ("closed", 0o000), ("unwritten", 0o555), ("to", 0o777)] {
        mode(name, bits);
    }
    let fine = options(site.path(), "from", "to");
    let clearing = Options { clear: Clear::Done, ..fine.clone() };
    let (closed, unwritten) = (options(site.path(), "closed", "to"), options(site.path(), "from", "unwritten"));
    let new = options(site.path(), "from", "unwritten/new");
    testing::as_nobody(move || {
        let said = |options: &Options| Preflight::check(options).unwrap_err().to_string();
        assert!(said(&closed).contains("closed cannot be opened: Permission denied; hint: "), "{}", said(&closed));
        for options in [&unwritten, &new] {
            assert!(
                said(options).contains(": Permission denied; hint: name a directory that this user may write"),
                "{}",
                said(options)
            );
        }
        assert!(said(&clearing).starts_with("cannot clear source "), "{}", said(&clearing));
        assert!(said(&fine).starts_with("cannot use state directory "), "{}", said(&fine));
    });
    mode("closed", 0o755);
}

#[test]
fn a_lock_that_was_removed_or_replaced_is_missed_and_one_that_stands_is_not() {
    let site = site();
    let state = site.path().join("state");
    let lock = Lock::take(&state).unwrap();
    let seat = lock.seat().unwrap();
    seat.check().unwrap();
    rustix::fs::rename(state.join("lock"), state.join("other")).unwrap();
    let said = seat.check().unwrap_err();
    assert!(matches!(said, MoverError::Moved(_)) && said.to_string().contains("; hint: "), "{said}");
    let _second = Lock::take(&state).expect("nobody holds this one");
    seat.check().expect_err("it is another's");
    rustix::fs::rename(&state, site.path().join("away")).unwrap();
    seat.check().unwrap_err();
}
