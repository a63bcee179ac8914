//! Files of the user: what may be made, overwritten, replaced and removed, and what never is.
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{disk, geometry, read_all, request, write_all};
use tempfile::TempDir;
use tonnage_storage::{Existing, Lane, Storage, StorageError, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, CachePolicy, Geometry, Op};

const PRECIOUS: &[u8] = b"the user's own results";

fn home() -> TempDir {
    tempfile::tempdir_in(disk()).unwrap()
}

/// As a user's shell does: creates the file, or cuts it and fills it anew.
fn user_writes(path: &Path, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    File::options().write(true).create(true).truncate(true).open(path)?.write_all(bytes.as_ref())
}

/// As the user does it: `mv`, `rm`, `cp`.
fn user_runs(program: &str, arguments: &[&Path]) {
    assert!(std::process::Command::new(program).args(arguments).status().unwrap().success(), "{program}");
}

fn four_kib() -> Geometry {
    geometry(4096, 4, Access::Sequential)
}

fn spec(run_id: &str, existing: Existing, names: &[PathBuf]) -> TargetSpec {
    TargetSpec { names: names.to_vec(), existing, run_id: run_id.to_owned(), ..TargetSpec::new(StorageKind::Posix) }
}

fn storage(run_id: &str, existing: Existing, name: &Path) -> Arc<dyn Storage> {
    open(&spec(run_id, existing, &[name.to_owned()])).unwrap()
}

/// A write phase on file 0.
fn write(storage: &dyn Storage) -> tonnage_storage::Result<()> {
    storage.prepare_write(&[0])?;
    let mut lane = storage.lane(&request(&four_kib(), Op::Write, 1))?;
    lane.open()?;
    lane.close().unwrap();
    write_all(storage, &four_kib(), 1);
    Ok(())
}

/// A run that wrote a file and kept it.
fn kept(name: &Path, run_id: &str) {
    let spec = TargetSpec { keep: true, ..spec(run_id, Existing::Ours, &[name.to_owned()]) };
    let storage = open(&spec).unwrap();
    write(&*storage).unwrap();
    assert_eq!(storage.finish().unwrap(), []);
}

fn inode(path: &Path) -> u64 {
    path.metadata().unwrap().ino()
}

fn codes(notes: &[(&'static str, String)]) -> Vec<&'static str> {
    notes.iter().map(|(code, _)| *code).collect()
}

#[test]
fn what_is_kept_may_be_decided_while_the_run_goes_on() {
    for (first, last) in [(false, true), (true, false)] {
        let home = home();
        let name = home.path().join("testFile");
        let spec = TargetSpec { keep: first, ..spec("a-run", Existing::Ours, std::slice::from_ref(&name)) };
        let storage = open(&spec).unwrap();
        write(&*storage).unwrap();
        storage.keep_named(last);
        storage.finish().unwrap();
        assert_eq!(name.exists(), last);
    }
}

#[test]
fn a_named_file_that_begins_in_a_nursery_is_ours_like_any_other() {
    let home = home();
    let scratch = tonnage_storage::Scratch::create(home.path(), "nursery").unwrap();
    let name = home.path().join("testFile");
    let nurseries = vec![scratch.path().to_owned()];
    let spec = TargetSpec { nurseries: nurseries.clone(), ..spec("a-run", Existing::Ours, std::slice::from_ref(&name)) };
    let storage = open(&spec).unwrap();
    write(&*storage).unwrap();
    assert_eq!(name.metadata().unwrap().mode() & 0o600, 0o600);
    read_all(&*storage, &four_kib(), 1);
    storage.clear().unwrap();
    assert!(!name.exists());
    user_writes(&name, PRECIOUS).unwrap();
    assert!(write(&*storage).is_err(), "another's file");
    assert_eq!(fs::read(&name).unwrap(), PRECIOUS);
    let two = TargetSpec { nurseries: [nurseries.clone(), nurseries].concat(), ..spec };
    assert!(open(&two).is_err(), "one for each directory");
}

#[test]
fn a_missing_file_is_made_and_gone_at_the_end_and_its_neighbour_stays() {
    let home = home();
    let (name, neighbour) = (home.path().join("testFile"), home.path().join("testFile.txt"));
    user_writes(&neighbour, PRECIOUS).unwrap();
    for existing in [Existing::Refuse, Existing::Overwrite, Existing::Ours] {
        let storage = storage("a1", existing, &name);
        write(&*storage).unwrap();
        read_all(&*storage, &four_kib(), 1);
        write(&*storage).unwrap();
        assert_eq!(storage.finish().unwrap(), []);
        assert!(!name.exists());
    }
    assert_eq!(fs::read(&neighbour).unwrap(), PRECIOUS);
}

#[test]
fn another_s_file_is_refused_before_anything_is_touched() {
    let home = home();
    let names = ["0", "1", "2"].map(|name| home.path().join(name));
    kept(&names[0], "old");
    let before = inode(&names[0]);
    user_writes(&names[2], PRECIOUS).unwrap();
    for existing in [Existing::Refuse, Existing::Ours] {
        let storage = open(&spec("a1", existing, &names)).unwrap();
        let files: &[u32] = if existing == Existing::Ours { &[0, 1, 2] } else { &[1, 2] };
        let error = storage.prepare_write(files).unwrap_err().to_string();
        let hint = "remove it yourself, or give -E to overwrite its contents (existing = \"overwrite\")";
        assert_eq!(error, format!("{} exists and Tonnage did not make it; {hint}", names[2].display()));
        assert_eq!(inode(&names[0]), before, "the kept one was not removed");
        assert!(!names[1].exists());
        storage.clear().unwrap();
        assert_eq!(fs::read(&names[2]).unwrap(), PRECIOUS);
    }
}

#[test]
fn a_file_that_appears_after_the_look_is_refused_at_the_open() {
    let home = home();
    let name = home.path().join("testFile");
    let storage = storage("a1", Existing::Ours, &name);
    storage.prepare_write(&[0]).unwrap();
    user_writes(&name, PRECIOUS).unwrap();
    let mut lane = storage.lane(&request(&four_kib(), Op::Write, 1)).unwrap();
    assert!(matches!(lane.open(), Err(StorageError::Name { .. })));
    storage.clear().unwrap();
    assert_eq!(fs::read(&name).unwrap(), PRECIOUS);
}

#[test]
fn overwriting_keeps_another_s_file_its_length_and_its_tail() {
    let home = home();
    let name = home.path().join("testFile");
    user_writes(&name, vec![9; 20_000]).unwrap();
    let before = inode(&name);
    let storage = storage("a1", Existing::Overwrite, &name);
    write(&*storage).unwrap();
    read_all(&*storage, &four_kib(), 1);
    assert!(storage.watch(0).is_some());
    storage.clear().unwrap();
    let notes = storage.finish().unwrap();
    assert_eq!(notes, [("kept-foreign", format!("{} stays: Tonnage did not make it", name.display()))]);
    assert_eq!(inode(&name), before);
    let now = fs::read(&name).unwrap();
    assert_eq!(now.len(), 20_000);
    assert!(now[16_384..].iter().all(|&byte| byte == 9) && now[..16_384].iter().any(|&byte| byte != 9));
}

#[test]
fn a_kept_file_is_replaced_overwritten_or_refused_as_asked() {
    let home = home();
    let name = home.path().join("testFile");
    kept(&name, "old");
    // Held open: its inode number cannot come again.
    let held = File::open(&name).unwrap();
    let error = write(&*storage("new", Existing::Refuse, &name)).unwrap_err().to_string();
    assert!(error.contains("exists, from an earlier run; remove it yourself"), "{error}");
    let overwriting = storage("new", Existing::Overwrite, &name);
    write(&*overwriting).unwrap();
    assert_eq!(inode(&name), held.metadata().unwrap().ino());
    assert_eq!(overwriting.finish().unwrap(), []);
    assert!(!name.exists(), "it was ours and nobody asked to keep it");

    kept(&name, "old");
    let held = File::open(&name).unwrap();
    kept(&name, "new");
    assert_ne!(inode(&name), held.metadata().unwrap().ino(), "made anew");
    // A mix reads and writes what is there: its phase makes way for nothing.
    let mixing = storage("newer", Existing::Ours, &name);
    let before = inode(&name);
    mixing.settle(&[0], CachePolicy::Keep).unwrap();
    write_all(&*mixing, &four_kib(), 1);
    assert_eq!(inode(&name), before, "in place");

    let reading = storage("newest", Existing::Ours, &name);
    read_all(&*reading, &four_kib(), 1);
    reading.finish().unwrap();
    assert!(!name.exists(), "as IOR removes what it only read, without -k");
}

#[test]
fn a_file_that_a_dead_run_left_is_replaced() {
    let home = home();
    let name = home.path().join("testFile");
    // This process stands for the dead one: no end of the run was called.
    write(&*storage("dead", Existing::Ours, &name)).unwrap();
    let storage = storage("new", Existing::Ours, &name);
    write(&*storage).unwrap();
    storage.finish().unwrap();
    assert!(!name.exists());
}

#[test]
fn a_kept_file_that_somebody_changed_or_copied_is_no_longer_ours() {
    let home = home();
    let (name, copy) = (home.path().join("testFile"), home.path().join("copy"));
    kept(&name, "old");
    user_runs("cp", &[Path::new("-a"), &name, &copy]);
    // Written over in place, as cp does: inode and attributes stay.
    user_writes(&name, PRECIOUS).unwrap();
    for (path, why) in [(&name, "somebody changed it after Tonnage made it"), (&copy, "Tonnage did not make it")] {
        let storage = storage("new", Existing::Ours, path);
        let error = write(&*storage).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{} exists and {why}; remove it yourself", path.display())), "{error}");
        assert_eq!(codes(&storage.finish().unwrap()), ["kept-foreign"]);
        assert!(path.exists());
    }
    assert_eq!(fs::read(&name).unwrap(), PRECIOUS);
}

#[test]
fn a_file_that_took_the_place_of_ours_stays() {
    let home = home();
    let (name, other) = (home.path().join("testFile"), home.path().join("other"));
    let mine = || user_writes(&other, PRECIOUS).unwrap();
    for swap in [
        &(|| {
            mine();
            user_runs("mv", &[&other, &name]);
        }) as &dyn Fn(),
        &|| {
            user_runs("mv", &[&name, &other]);
            user_writes(&name, PRECIOUS).unwrap();
        },
        &|| {
            mine();
            user_runs("rm", &[&name]);
            user_runs("ln", &[&other, &name]);
        },
    ] {
        let storage = storage("a1", Existing::Ours, &name);
        write(&*storage).unwrap();
        swap();
        assert!(write(&*storage).is_err());
        assert_eq!(codes(&storage.finish().unwrap()), ["kept-foreign"]);
        assert_eq!(fs::read(&name).unwrap(), PRECIOUS);
        user_runs("rm", &[Path::new("-f"), &name, &other]);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_stays() {
    let home = home();
    let name = home.path().join("testFile");
    let victim = home.path().join("victim");
    user_writes(&victim, PRECIOUS).unwrap();
    let make_fifo = |path: &Path| user_runs("mkfifo", &[path]);
    for (what, plant) in [
        ("a symbolic link", &(|path: &Path| symlink(&victim, path).unwrap()) as &dyn Fn(&Path)),
        ("a directory", &|path| fs::create_dir(path).unwrap()),
        ("a FIFO", &make_fifo),
    ] {
        plant(&name);
        for existing in [Existing::Refuse, Existing::Overwrite, Existing::Ours] {
            let storage = storage("a1", existing, &name);
            for error in [write(&*storage).unwrap_err(), storage.length(0).unwrap_err()] {
                assert!(error.to_string().starts_with(&format!("{} is {what}, which is never", name.display())), "{error}");
            }
            let Lane::Sync(mut read) = storage.lane(&request(&four_kib(), Op::Read, 1)).unwrap() else { unreachable!() };
            assert!(matches!(read.open(), Err(StorageError::Name { .. })));
            assert_eq!(codes(&storage.finish().unwrap()), ["kept-foreign"]);
            assert!(name.symlink_metadata().is_ok());
        }
        user_runs("rm", &[Path::new("-r"), &name]);
    }
    assert_eq!(fs::read(&victim).unwrap(), PRECIOUS);
}

#[test]
fn a_directory_that_vanishes_is_one_clear_line() {
    let home = home();
    let place = home.path().join("place");
    fs::create_dir(&place).unwrap();
    let name = place.join("testFile");
    let storage = storage("a1", Existing::Ours, &name);
    user_runs("rm", &[Path::new("-r"), &place]);
    storage.prepare_write(&[0]).unwrap();
    let mut lane = storage.lane(&request(&four_kib(), Op::Write, 1)).unwrap();
    let error = lane.open().unwrap_err().to_string();
    let path = name.display();
    assert_eq!(error, format!("cannot create (its directory was removed) {path}: No such file or directory (os error 2)"));
    assert_eq!(storage.finish().unwrap(), []);
}

#[test]
fn a_place_where_nothing_can_be_made_is_one_clear_line() {
    // Nobody can make a file there, root included.
    let name = PathBuf::from("/proc/self/tonnage");
    let error = write(&*storage("a1", Existing::Ours, &name)).unwrap_err().to_string();
    assert!(error.starts_with("cannot create") && error.contains("/proc/self/tonnage: "), "{error}");
    let missing = open(&spec("a1", Existing::Ours, &[PathBuf::from("/nowhere/testFile")])).err().unwrap().to_string();
    assert_eq!(missing, "cannot open the directory /nowhere: No such file or directory (os error 2)");
    for name in ["testFile", "/", "/tmp/.."] {
        let error = open(&spec("a1", Existing::Ours, &[PathBuf::from(name)])).err().unwrap().to_string();
        assert!(error.contains("does not name a file; give an absolute path"), "{error}");
    }
}

#[test]
fn more_tasks_than_names_and_both_kinds_of_places_are_refused() {
    let home = home();
    let target = spec("a1", Existing::Ours, &[home.path().join("testFile")]);
    let storage = open(&target).unwrap();
    assert!(storage.prepare_write(&[0, 1]).unwrap_err().to_string().contains("names 1 files and a task needs another"));
    let both = TargetSpec { directories: vec![home.path().to_owned()], ..target };
    assert!(open(&both).err().unwrap().to_string().contains("directories or names, not both"));
}

#[test]
fn two_storages_of_one_run_share_a_file() {
    let home = home();
    let name = home.path().join("testFile");
    let (one, two) = (storage("a1", Existing::Refuse, &name), storage("a1", Existing::Refuse, &name));
    write(&*one).unwrap();
    let before = inode(&name);
    write(&*two).unwrap();
    assert_eq!(inode(&name), before);
    two.finish().unwrap();
    one.finish().unwrap();
    assert!(!name.exists());
}
