use super::*;

use std::fs::File;
use std::io::{Read, Write};

use tempfile::TempDir;

use crate::target::StorageKind;

const PRECIOUS: &[u8] = b"the user's own results";

/// As the user does it: `mv`, `rm` or `ln`.
fn user_runs(program: &str, arguments: &[&Path]) {
    assert!(std::process::Command::new(program).args(arguments).status().unwrap().success(), "{program}");
}

/// A run of its own on `name`.
fn named(run_id: &str, name: &Path) -> Named {
    let names = vec![name.to_owned()];
    let spec = TargetSpec { names, existing: Existing::Ours, run_id: run_id.to_owned(), ..TargetSpec::new(StorageKind::Posix) };
    Named::open(&spec).unwrap()
}

fn make(place: &Named) {
    place.prepare_write(&[0]).unwrap();
    place.open(0, OFlags::RDWR | OFlags::CREATE).unwrap();
}

/// Changes the mark as another process would have set it, and forgets that this one did.
fn change_mark(name: &Path, changes: &[(&str, serde_json::Value)]) {
    let mut text = [0; 1024];
    let file = File::options().write(true).open(name).unwrap();
    let length = fs::fgetxattr(&file, ATTRIBUTE, &mut text).unwrap();
    let mut mark: serde_json::Value = serde_json::from_slice(&text[..length]).unwrap();
    for (key, value) in changes {
        mark[*key] = value.clone();
    }
    fs::fsetxattr(&file, ATTRIBUTE, mark.to_string().as_bytes(), fs::XattrFlags::REPLACE).unwrap();
    Marks::forget(Look::at(&file).unwrap().identity);
}

fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let name = home.path().join("testFile");
    (home, name)
}

#[test]
fn a_file_that_is_exchanged_between_the_check_and_the_unlink_stays() {
    let (home, name) = home();
    let other = home.path().join("other");
    for exchange in [
        (|name, other| user_runs("mv", &[other, name])) as fn(&Path, &Path),
        |name, other| {
            user_runs("mv", &[name, &name.with_file_name("aside")]);
            user_runs("mv", &[other, name]);
        },
        |name, other| {
            user_runs("rm", &[name]);
            user_runs("ln", &[other, name]);
        },
    ] {
        let place = named("a1", &name);
        make(&place);
        File::create_new(&other).unwrap().write_all(PRECIOUS).unwrap();
        let error = place
            .each_of_ours(|file, found| {
                exchange(&name, &other);
                place.take_away(file, found.identity)
            })
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("was exchanged for another file just now; nothing was removed"), "{error}");
        assert_eq!(std::fs::read(&name).unwrap(), PRECIOUS);
        user_runs("rm", &[Path::new("-f"), &name, &other]);
    }
}

#[test]
fn a_file_of_this_run_that_has_a_second_name_is_not_written_to_unless_its_contents_are_to_be_overwritten() {
    let (home, name) = home();
    let place = named("a1", &name);
    make(&place);
    user_runs("ln", &[&name, &home.path().join("backup")]);
    let error = place.open(0, OFlags::RDWR | OFlags::CREATE).unwrap_err().to_string();
    assert!(error.contains("has another name (a hard link)"), "{error}");
    let asked = Named { existing: Existing::Overwrite, ..named("a1", &name) };
    asked.open(0, OFlags::RDWR | OFlags::CREATE).unwrap();
}

#[test]
fn without_attributes_this_process_knows_its_own_and_no_later_run_does() {
    let (_home, name) = home();
    // No file system takes an attribute outside the kernel's name spaces.
    let unmarked =
        |run_id| Named { marks: Marks { run_id: String::from(run_id), attribute: c"nobody.takes.this" }, ..named("", &name) };
    let place = unmarked("a1");
    make(&place);
    assert_eq!(place.notes()[0].0, "no-file-mark");
    make(&place);
    place.clear().unwrap();
    assert!(!name.exists());

    make(&place);
    assert!(matches!(File::open(&name).unwrap().read(&mut [0; 8]), Ok(0)), "it is there");
    // What this process remembers is what another one would not.
    Marks::forget(Look::at_name(fs::CWD, &name).unwrap().identity);
    let later = unmarked("b2");
    assert!(later.prepare_write(&[0]).unwrap_err().to_string().contains("exists and Tonnage did not make it"));
    later.clear().unwrap();
    assert!(name.exists());
}

#[test]
fn the_file_that_a_run_works_on_is_refused_and_so_is_what_is_left_of_it_when_that_is_killed() {
    let (_home, name) = home();
    make(&named("busy", &name));
    // The mark as another process, one that lives, would have set it.
    let mut owner = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", owner.id())).unwrap();
    let ticks: u64 = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(19).unwrap().parse().unwrap();
    change_mark(&name, &[("pid", owner.id().into()), ("pid_start_ticks", ticks.into())]);

    let later = named("b2", &name);
    let refused = later.prepare_write(&[0]);
    later.clear().unwrap();
    let still_there = name.exists();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(&format!("process {} of run busy still works on it", owner.id())), "{refused}");
    assert!(still_there);
    let refused = later.prepare_write(&[0]).unwrap_err().to_string();
    assert!(refused.contains("run busy was killed while it wrote it"), "{refused}");
    later.clear().unwrap();
    assert!(name.exists(), "nobody knows what was written to it since");
}

#[test]
fn the_file_of_a_run_on_another_host_is_refused_until_it_is_sealed() {
    let (_home, name) = home();
    let first = named("busy", &name);
    make(&first);
    let elsewhere = [("host", "elsewhere".into()), ("boot", "00000000-0000-0000-0000-000000000000".into())];
    change_mark(&name, &elsewhere);
    let later = named("b2", &name);
    let refused = later.prepare_write(&[0]).unwrap_err().to_string();
    assert!(refused.contains("of run busy on host elsewhere may still work on it"), "{refused}");
    later.clear().unwrap();
    assert!(name.exists());

    first.marks.seal(File::open(&name).unwrap()).unwrap();
    // As a process of that host would have sealed it: at any time.
    let look = Look::at_name(fs::CWD, &name).unwrap();
    let sealed = serde_json::json!({"bytes": look.bytes, "changed_ns": look.changed_ns(), "touched_ns": [0, i64::MAX]});
    change_mark(&name, &[("sealed", sealed)]);
    change_mark(&name, &elsewhere);
    make(&later);
    later.clear().unwrap();
    assert!(!name.exists());
}

#[test]
fn a_copy_on_another_file_system_with_the_same_inode_number_is_not_ours() {
    let (_home, name) = home();
    make(&named("a1", &name));
    change_mark(&name, &[("born_ns", 1.into())]);
    let later = named("b2", &name);
    assert!(later.prepare_write(&[0]).unwrap_err().to_string().contains("exists and Tonnage did not make it"));
    later.clear().unwrap();
    assert!(name.exists());
}

#[test]
fn tasks_that_open_a_shared_file_at_once_make_it_once() {
    let (_home, name) = home();
    let place = named("a1", &name);
    place.prepare_write(&[0]).unwrap();
    let inodes: Vec<_> = std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..8).map(|_| scope.spawn(|| place.open(0, OFlags::RDWR | OFlags::CREATE).unwrap())).collect();
        tasks.into_iter().map(|task| fs::fstat(task.join().unwrap()).unwrap().st_ino).collect()
    });
    assert!(inodes.iter().all(|&inode| inode == inodes[0]), "{inodes:?}");
    place.clear().unwrap();
    assert!(!name.exists());
}

#[test]
fn a_file_whose_mark_was_taken_away_is_no_longer_ours() {
    let (_home, name) = home();
    let place = named("a1", &name);
    make(&place);
    fs::removexattr(&name, ATTRIBUTE).unwrap();
    place.clear().unwrap();
    assert!(name.exists() && place.notes()[0].0 == "kept-foreign");
}

/// What a process of a run on several hosts has of `name`.
fn of_process(process: Process, name: &Path) -> Named {
    let spec =
        TargetSpec { names: vec![name.to_owned()], run_id: "wide".to_owned(), process, ..TargetSpec::new(StorageKind::Posix) };
    Named::open(&spec).unwrap()
}

/// A file as another process has just made it: this one does not remember it.
fn made_elsewhere(name: &Path) -> File {
    File::options().read(true).write(true).create_new(true).open(name).unwrap()
}

#[test]
fn a_file_that_another_process_of_the_run_makes_at_the_same_moment_is_waited_for_until_it_is_marked() {
    for process in [Process::First, Process::Other] {
        let (_home, name) = home();
        let place = of_process(process, &name);
        place.prepare_write(&[0]).unwrap();
        let file = made_elsewhere(&name);
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| place.open(0, OFlags::RDWR | OFlags::CREATE));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!opened.is_finished(), "nobody knows yet whose it is");
            let (identity, _) = place.marks.adopt(&file).unwrap();
            Marks::forget(identity);
            opened.join().unwrap().expect("the mark says whose it is");
        });
    }
}

#[test]
fn a_file_that_nobody_marks_or_that_was_there_before_is_anothers_for_all_processes() {
    let (_home, name) = home();
    let place = of_process(Process::Other, &name);
    place.prepare_write(&[0]).unwrap();
    made_elsewhere(&name);
    let came = Instant::now();
    let refused = place.open(0, OFlags::RDWR | OFlags::CREATE).unwrap_err().to_string();
    assert!(refused.contains("exists and Tonnage did not make it"), "{refused}");
    assert!(came.elapsed() >= LONGEST_WAIT);
    let came = Instant::now();
    assert!(place.prepare_write(&[0]).is_err());
    assert!(came.elapsed() < LONGEST_WAIT, "it was there before the phase");
}

#[test]
fn where_no_marks_are_kept_a_file_that_was_not_there_before_the_phase_is_the_runs_and_its_makers_to_remove() {
    let (_home, name) = home();
    let unmarked = |process| Named {
        marks: Marks { run_id: "wide".to_owned(), attribute: c"nobody.takes.this" },
        ..of_process(process, &name)
    };
    let other = unmarked(Process::Other);
    other.prepare_write(&[0]).unwrap();
    made_elsewhere(&name);
    other.open(0, OFlags::RDWR | OFlags::CREATE).expect("a sibling made it");
    other.prepare_write(&[0]).expect("it wrote to it before");
    other.finish().unwrap();
    assert!(name.exists(), "whoever made it removes it");
    assert!(unmarked(Process::Other).prepare_write(&[0]).is_err(), "nobody else can know");
    user_runs("rm", &[&name]);
    make(&other);
    other.clear().unwrap();
    assert!(!name.exists(), "nobody else could");
}

#[test]
fn other_processes_leave_marked_files_to_the_first() {
    for keep in [false, true] {
        let (_home, name) = home();
        let (first, other) = (of_process(Process::First, &name), of_process(Process::Other, &name));
        make(&other);
        Marks::forget(Look::at_name(fs::CWD, &name).unwrap().identity);
        make(&first);
        other.clear().unwrap();
        assert!(other.finish().unwrap().is_empty() && name.exists());
        first.keep_named(keep);
        first.finish().unwrap();
        assert_eq!(name.exists(), keep);
    }
}
