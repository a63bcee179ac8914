//! What may be made, taken over and removed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tonnage_storage::{Lane, Scratch, State, StorageError, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, Op};

fn posix(directory: &Path) -> tonnage_storage::Result<std::sync::Arc<dyn tonnage_storage::Storage>> {
    open(&TargetSpec { directories: vec![directory.to_owned()], ..TargetSpec::new(StorageKind::Posix) })
}

/// A directory as a dead process of this host would have left it.
fn abandoned(parent: &Path, run_id: &str) -> std::path::PathBuf {
    let scratch = Scratch::create(parent, run_id).unwrap();
    let path = scratch.path().to_owned();
    let marker = path.join("TONNAGE-SCRATCH");
    let own = format!("\"pid\":{}", std::process::id());
    let text = fs::read_to_string(&marker).unwrap();
    assert!(text.contains(&own), "{text}");
    // No process of that number can be: the kernel's largest is 2^22.
    let mut file = File::options().write(true).truncate(true).open(&marker).unwrap();
    file.write_all(text.replace(&own, "\"pid\":999999999").as_bytes()).unwrap();
    path
}

/// Changes the marker as another process would have written it.
fn change(marker: &Path, changes: &[(&str, serde_json::Value)]) {
    let mut fields: serde_json::Value = serde_json::from_str(&fs::read_to_string(marker).unwrap()).unwrap();
    for (key, value) in changes {
        fields[*key] = value.clone();
    }
    let mut file = File::options().write(true).truncate(true).open(marker).unwrap();
    file.write_all(fields.to_string().as_bytes()).unwrap();
}

/// Changes the marker as if a process of another host had made it.
fn give_to_host(marker: &Path, host: &str) {
    change(marker, &[("host", host.into()), ("boot", "00000000-0000-0000-0000-000000000000".into())]);
}

/// Changes the marker as if the living process `pid` had made it.
fn give_to(marker: &Path, pid: u32) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let ticks: u64 = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(19).unwrap().parse().unwrap();
    change(marker, &[("pid", pid.into()), ("pid_start_ticks", ticks.into())]);
}

#[test]
fn it_is_private_marked_and_gone_after_remove() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    let path = home.path().join(".tonnage-a1");
    assert_eq!(scratch.path(), path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    File::create_new(path.join("data.00000003")).unwrap();
    scratch.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_second_one_of_the_same_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let _first = Scratch::create(home.path(), "a1").unwrap();
    let error = Scratch::create(home.path(), "a1").unwrap_err();
    assert_eq!(error.io().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists));
}

/// The names that are seen in a directory while `act` goes on, sorted and each once.
fn names_during(home: &Path, act: impl FnOnce()) -> Vec<String> {
    use std::sync::atomic::{AtomicBool, Ordering};
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !done.load(Ordering::Relaxed) {
                seen.extend(fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()));
            }
            seen
        });
        act();
        done.store(true, Ordering::Relaxed);
        seen.join().unwrap().into_iter().collect()
    })
}

/// The name that a process which is over gave a directory while it made it.
fn name_before_its_mark(run_id: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let seen = names_during(home.path(), || {
        for _ in 0..2000 {
            Scratch::create(home.path(), run_id).unwrap().remove().unwrap();
        }
    });
    let own = format!(".tonnage-{run_id}+{}-", std::process::id());
    let name = seen.iter().find(|name| name.starts_with(&own)).expect("it has another name before it is marked");
    name.replace(&own, &format!(".tonnage-{run_id}+999999999-"))
}

#[test]
fn what_was_killed_before_its_mark_or_after_it_was_taken_off_is_known_as_dead_and_goes() {
    let home = tempfile::tempdir().unwrap();
    let name = name_before_its_mark("a1");
    for has_marker in [false, true] {
        let path = home.path().join(&name);
        fs::create_dir(&path).unwrap();
        if has_marker {
            File::create_new(path.join("TONNAGE-SCRATCH")).unwrap();
        }
        let left = Scratch::leftovers(home.path()).unwrap();
        assert_eq!(left.iter().map(|one| (&*one.run_id, one.state)).collect::<Vec<_>>(), [("a1", State::Dead)]);
        Scratch::reopen(&path, false).unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

#[test]
fn such_a_name_gives_away_nothing_that_somebody_else_put_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(name_before_its_mark("a1"));
    fs::create_dir(&path).unwrap();
    File::create_new(path.join("notes.txt")).unwrap();
    assert_eq!(Scratch::leftovers(home.path()).unwrap(), []);
    assert!(Scratch::reopen(&path, true).is_err());
    assert!(path.join("notes.txt").exists());
}

#[test]
fn a_marker_without_text_in_the_last_place_needs_force_and_what_nobody_made_stays() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".tonnage-a1");
    for (text, names) in
        [(vec![], &["data.00000000"][..]), (vec![0; 1024], &["data.00000000"]), (vec![], &[]), (vec![], &["notes"])]
    {
        fs::create_dir(&path).unwrap();
        File::create_new(path.join("TONNAGE-SCRATCH")).unwrap().write_all(&text).unwrap();
        for name in names {
            File::create_new(path.join(name)).unwrap();
        }
        let left = Scratch::leftovers(home.path()).unwrap();
        assert_eq!((&*left[0].run_id, left[0].state), ("a1", State::Unknown), "{left:?}");
        assert!(Scratch::reopen(&path, false).is_err());
        let removed = Scratch::reopen(&path, true).unwrap().remove();
        assert_eq!(removed.is_ok(), !names.contains(&"notes"), "{removed:?}");
        assert_eq!(path.exists(), names.contains(&"notes"));
    }
}

#[test]
fn a_marker_that_stays_names_the_run_and_not_who_could_not_remove_what_it_left() {
    let home = tempfile::tempdir().unwrap();
    let path = abandoned(home.path(), "a1");
    File::create_new(path.join("notes.txt")).unwrap();
    let before = Scratch::leftovers(home.path()).unwrap();
    for _ in 0..2 {
        Scratch::reopen(&path, false).unwrap().remove().unwrap_err();
        assert_eq!(Scratch::leftovers(home.path()).unwrap(), before);
    }
}

#[test]
fn one_that_cannot_be_removed_has_its_name_and_its_mark_again() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    File::create_new(scratch.path().join("notes.txt")).unwrap();
    scratch.remove().unwrap_err();
    assert_eq!(Scratch::leftovers(home.path()).unwrap()[0].path, home.path().join(".tonnage-a1"));
}

#[test]
fn foreign_things_stay_and_are_named() {
    for plant in [
        (|path: &Path| drop(File::create_new(path).unwrap())) as fn(&Path),
        |path| symlink("/", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ] {
        for name in ["notes.txt", "data.1"] {
            let home = tempfile::tempdir().unwrap();
            let scratch = Scratch::create(home.path(), "a1").unwrap();
            let path = scratch.path().to_owned();
            plant(&path.join(name));
            File::create_new(path.join("data.00000000")).unwrap();
            let error = scratch.remove().unwrap_err();
            assert_eq!(error.io().and_then(std::io::Error::raw_os_error), Some(libc::ENOTEMPTY));
            assert!(error.to_string().contains(name), "{error}");
            assert!(path.join(name).symlink_metadata().is_ok());
            assert!(!path.join("data.00000000").exists(), "the space is given back");
            assert_eq!(Scratch::leftovers(home.path()).unwrap().len(), 1, "it can be found and removed later");
        }
    }
}

#[test]
fn a_stream_never_writes_to_what_a_second_name_shows() {
    for kind in [StorageKind::Posix, StorageKind::Mmap] {
        let home = tempfile::tempdir_in(crate::support::disk()).unwrap();
        let scratch = Scratch::create(home.path(), "a1").unwrap();
        let storage = open(&TargetSpec { directories: vec![scratch.path().to_owned()], ..TargetSpec::new(kind) }).unwrap();
        let geometry = crate::support::geometry(4096, 2, Access::Sequential);
        crate::support::write_all(&*storage, &geometry, 1);
        let backup = home.path().join("backup");
        fs::hard_link(scratch.path().join("data.00000000"), &backup).unwrap();
        let Lane::Sync(mut file) = storage.lane(&crate::support::request(&geometry, Op::Write, 1)).unwrap() else {
            panic!("a depth of one")
        };
        assert!(file.open().unwrap_err().to_string().contains("has another name (a hard link)"));
        crate::support::read_all(&*storage, &geometry, 1);
        assert!(std::process::Command::new("rm").arg(&backup).status().unwrap().success());
        crate::support::write_all(&*storage, &geometry, 1);
        scratch.remove().unwrap();
    }
}

#[test]
fn a_link_named_like_data_stays() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    let link = scratch.path().join("data.00000000");
    symlink(home.path(), &link).unwrap();
    let error = scratch.remove().unwrap_err();
    assert!(error.to_string().contains("data.00000000"), "{error}");
    assert!(link.symlink_metadata().is_ok());
}

#[test]
fn a_directory_that_took_its_place_is_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    let path = scratch.path().to_owned();
    let moved = home.path().join("moved");
    assert!(std::process::Command::new("mv").arg(&path).arg(&moved).status().unwrap().success());
    fs::create_dir(&path).unwrap();
    File::create_new(moved.join("data.00000000")).unwrap();
    File::create_new(path.join("data.00000000")).unwrap();
    let error = scratch.remove().unwrap_err();
    assert!(matches!(error, StorageError::NotOurs { .. }), "{error}");
    assert!(path.join("data.00000000").exists() && moved.join("data.00000000").exists());
}

#[test]
fn without_its_marker_nothing_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    let (path, storage) = (scratch.path().to_owned(), posix(scratch.path()).unwrap());
    File::create_new(path.join("data.00000000")).unwrap();
    let mut marker = File::options().write(true).truncate(true).open(path.join("TONNAGE-SCRATCH")).unwrap();
    marker.write_all(br#"{"run_id":"b2","pid":1,"pid_start_ticks":0,"host":"elsewhere"}"#).unwrap();
    assert!(matches!(storage.clear(), Err(StorageError::NotOurs { .. })));
    assert!(matches!(scratch.remove(), Err(StorageError::NotOurs { .. })));
    assert!(path.join("data.00000000").exists());
}

#[test]
fn an_unmarked_directory_is_no_target() {
    let home = tempfile::tempdir().unwrap();
    assert!(matches!(posix(home.path()), Err(StorageError::NotOurs { .. })));
    let target = home.path().join("target");
    File::create_new(&target).unwrap();
    symlink(&target, home.path().join("TONNAGE-SCRATCH")).unwrap();
    assert!(matches!(posix(home.path()), Err(StorageError::NotOurs { .. })), "a link is no marker");
}

#[test]
fn leftovers_tell_the_dead_from_the_living() {
    let home = tempfile::tempdir().unwrap();
    let living = Scratch::create(home.path(), "living").unwrap();
    abandoned(home.path(), "dead");
    fs::create_dir(home.path().join(".tonnage-unmarked")).unwrap();
    symlink(living.path(), home.path().join(".tonnage-link")).unwrap();
    let found = Scratch::leftovers(home.path()).unwrap();
    let seen: Vec<_> = found.iter().map(|left| (left.run_id.as_str(), left.state)).collect();
    assert_eq!(seen, [("dead", State::Dead), ("living", State::Running)]);
    assert_eq!(found[1].pid, std::process::id());
}

#[test]
fn a_dead_run_is_taken_over_and_a_living_one_is_not() {
    let home = tempfile::tempdir().unwrap();
    let path = abandoned(home.path(), "dead");
    let scratch = Scratch::reopen(&path, false).unwrap();
    assert_eq!(Scratch::leftovers(home.path()).unwrap()[0].state, State::Running, "it is ours now");
    scratch.remove().unwrap();
    assert!(!path.exists());

    let path = abandoned(home.path(), "busy");
    let mut owner = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    give_to(&path.join("TONNAGE-SCRATCH"), owner.id());
    let refused = Scratch::reopen(&path, false);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(refused.unwrap_err().to_string().contains("still running"));
    Scratch::reopen(&path, false).unwrap().remove().unwrap();
}

#[test]
fn a_process_that_works_in_it_keeps_it_after_its_maker_died() {
    let home = tempfile::tempdir().unwrap();
    let path = abandoned(home.path(), "wide");
    // As a rank of the run does, which is another process.
    let storage = posix(&path).unwrap();
    assert_eq!(Scratch::leftovers(home.path()).unwrap()[0].state, State::Running);
    for force in [false, true] {
        assert!(Scratch::reopen(&path, force).unwrap_err().to_string().contains("holds the lock"));
    }
    drop(storage);
    assert_eq!(Scratch::leftovers(home.path()).unwrap()[0].state, State::Dead);
    Scratch::reopen(&path, false).unwrap().remove().unwrap();
}

#[test]
fn two_that_clean_at_once_do_not_both_have_it() {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..50 {
        let path = abandoned(home.path(), "dead");
        let had: Vec<_> = std::thread::scope(|scope| {
            let both: Vec<_> = (0..2).map(|_| scope.spawn(|| Scratch::reopen(&path, false))).collect();
            both.into_iter().filter_map(|one| one.join().unwrap().ok()).collect()
        });
        assert_eq!(had.len(), 1);
        for scratch in had {
            scratch.remove().unwrap();
        }
    }
}

#[test]
fn what_a_hostile_marker_says_is_not_believed_and_harms_nobody() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".tonnage-a1");
    fs::create_dir(&path).unwrap();
    File::create_new(path.join("data.00000000")).unwrap();
    let marker = path.join("TONNAGE-SCRATCH");
    let with = |text: String| {
        File::options().create(true).write(true).truncate(true).open(&marker).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for text in [
        "null".to_owned(),
        deep.clone(),
        format!(r#"{{"run_id":"a1","pid":1,"pid_start_ticks":0,"host":"h","more":{deep}}}"#),
        r#"{"run_id":"a1","pid":1e99,"pid_start_ticks":0,"host":"h"}"#.to_owned(),
        r#"{"run_id":"a1","pid":-1,"pid_start_ticks":0,"host":"h"}"#.to_owned(),
        r#"{"run_id":"a1","pid":1,"pid_start_ticks":0,"host":"[2J"}"#.to_owned(),
        r#"{"run_id":"b2","pid":999999999,"pid_start_ticks":0,"host":"h"}"#.to_owned(),
        r#"{"run_id":"a1","pid":1,"pid_start_ticks":0,"host":"h","directory":{"inode":99999999999999999999}}"#.to_owned(),
        format!(r#"{{"run_id":"a1","pid":1,"host":"{}"}}"#, "h".repeat(1 << 20)),
    ] {
        with(text.clone());
        assert!(Scratch::leftovers(home.path()).unwrap().is_empty(), "{text:.99}");
        assert!(Scratch::reopen(&path, true).is_err(), "{text:.99}");
    }
    for (plant, arguments) in [("mkfifo", vec![]), ("mkdir", vec![]), ("ln", vec!["-s", "/etc/hostname"])] {
        assert!(std::process::Command::new("rm").arg("-rf").arg(&marker).status().unwrap().success());
        assert!(std::process::Command::new(plant).args(arguments).arg(&marker).status().unwrap().success());
        assert!(Scratch::leftovers(home.path()).unwrap().is_empty(), "{plant}");
        assert!(Scratch::reopen(&path, true).is_err(), "{plant}");
    }
    assert!(path.join("data.00000000").exists());
}

#[test]
fn a_marker_that_was_exchanged_while_it_was_held_marks_nothing() {
    let home = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(home.path(), "a1").unwrap();
    let (path, marker) = (scratch.path().to_owned(), scratch.path().join("TONNAGE-SCRATCH"));
    File::create_new(path.join("data.00000000")).unwrap();
    let copy = home.path().join("copy");
    for (program, from, to) in [("cp", &marker, &copy), ("mv", &copy, &marker)] {
        assert!(std::process::Command::new(program).args([from, to]).status().unwrap().success());
    }
    let error = scratch.remove().unwrap_err();
    assert!(error.to_string().contains("another file took the place of its marker"), "{error}");
    assert!(path.join("data.00000000").exists());
}

#[test]
fn a_named_one_that_was_kept_is_taken_over_with_what_is_in_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("test-dir");
    let first = Scratch::create_named(home.path(), "test-dir", "a1").unwrap();
    assert_eq!(first.path(), path);
    File::create_new(path.join("data.00000000")).unwrap();
    first.keep(false).unwrap();
    let text = fs::read_to_string(path.join("TONNAGE-SCRATCH")).unwrap();
    assert!(text.contains("\"kept\":true"), "{text}");
    assert_eq!(Scratch::leftovers(home.path()).unwrap()[0].state, State::Kept);
    assert!(matches!(Scratch::reopen(&path, true), Err(StorageError::NotOurs { .. })), "it was left on purpose");
    let second = Scratch::reopen_named(home.path(), "test-dir", false).unwrap();
    assert!(!fs::read_to_string(path.join("TONNAGE-SCRATCH")).unwrap().contains("kept"), "it is in use again");
    assert!(path.join("data.00000000").exists());
    second.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_kept_one_whose_data_was_changed_is_not_worked_in_and_loses_only_the_rest() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("test-dir");
    let first = Scratch::create_named(home.path(), "test-dir", "a1").unwrap();
    for name in ["data.00000000", "data.00000001"] {
        File::create_new(path.join(name)).unwrap();
    }
    first.keep(false).unwrap();
    let left = Scratch::left_ns(&path).unwrap();
    // The clock of a file system has steps, and another file may be made within one.
    let changed_ns = |found: fs::Metadata| i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
    while changed_ns(fs::metadata(path.join("data.00000001")).unwrap()) <= left {
        File::options().write(true).open(path.join("data.00000001")).unwrap().write_all(b"mine").unwrap();
    }
    let refused = Scratch::reopen_named(home.path(), "test-dir", true).unwrap_err().to_string();
    assert!(refused.contains("data.00000001 is not as the run before left it"), "{refused}");
    assert_eq!(Scratch::left_ns(&path).unwrap(), left, "the run that was refused changed nothing");
    for _ in 0..2 {
        let stays = Scratch::reopen_kept(home.path(), "test-dir").unwrap().remove_until(Some(left)).unwrap_err();
        assert!(stays.to_string().contains("data.00000001"), "{stays}");
        assert_eq!(fs::read(path.join("data.00000001")).unwrap(), b"mine");
        assert!(!path.join("data.00000000").exists());
    }
}

#[test]
fn a_named_one_is_never_taken_from_the_user_or_from_a_living_run() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("results")).unwrap();
    File::create_new(home.path().join("results/data.00000000")).unwrap();
    assert!(matches!(Scratch::reopen_named(home.path(), "results", false), Err(StorageError::NotOurs { .. })));
    let taken = Scratch::create_named(home.path(), "results", "a1").unwrap_err();
    assert_eq!(taken.io().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists));
    symlink(home.path().join("results"), home.path().join("link")).unwrap();
    assert!(Scratch::reopen_named(home.path(), "link", false).is_err());
    assert!(home.path().join("results/data.00000000").exists());

    let scratch = Scratch::create_named(home.path(), "busy", "a1").unwrap();
    let mut owner = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    give_to(&scratch.path().join("TONNAGE-SCRATCH"), owner.id());
    let refused = Scratch::reopen_named(home.path(), "busy", false);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(refused.unwrap_err().to_string().contains("still running"));
    assert!(Scratch::reopen_named(home.path(), "busy", false).is_err(), "this process has it as well");
    drop(scratch);
    Scratch::reopen_named(home.path(), "busy", false).unwrap().remove().unwrap();

    for name in ["", "a/b", "..", ".hidden", "new\nline", &"x".repeat(256)] {
        for result in [Scratch::create_named(home.path(), name, "a1"), Scratch::reopen_named(home.path(), name, false)] {
            assert!(result.unwrap_err().to_string().contains("cannot name a scratch directory"), "{name}");
        }
    }
}

#[test]
fn what_another_host_may_work_in_is_taken_only_where_it_was_kept() {
    let home = tempfile::tempdir().unwrap();
    let marker = home.path().join("shared/TONNAGE-SCRATCH");
    drop(Scratch::create_named(home.path(), "shared", "a1").unwrap());
    give_to_host(&marker, "elsewhere");
    let other = abandoned(home.path(), "b2");
    give_to_host(&other.join("TONNAGE-SCRATCH"), "elsewhere");
    for refused in [Scratch::reopen_named(home.path(), "shared", false), Scratch::reopen(&other, false)] {
        assert!(refused.unwrap_err().to_string().contains("on elsewhere: of another host"));
    }
    change(&marker, &[("kept", true.into())]);
    give_to_host(&marker, "elsewhere");
    Scratch::reopen_named(home.path(), "shared", false).unwrap().remove().unwrap();
}

#[test]
fn bad_parents_and_names_get_one_clear_line() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    File::create_new(&file).unwrap();
    let text = |parent: &Path, run_id: &str| Scratch::create(parent, run_id).unwrap_err().to_string();
    let missing = home.path().join("missing");
    assert_eq!(
        text(&missing, "a1"),
        format!("cannot open the directory {}: No such file or directory (os error 2)", missing.display())
    );
    assert_eq!(text(&file, "a1"), format!("cannot open the directory {}: Not a directory (os error 20)", file.display()));
    for name in ["", "a/b", "..\n", &"x".repeat(300)] {
        assert!(text(home.path(), name).contains("run id"));
    }
    assert!(text(Path::new("/proc"), "a1").starts_with("cannot create the directory /proc/.tonnage-a1: "));
}
