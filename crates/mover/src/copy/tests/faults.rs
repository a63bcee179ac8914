//! Storage that fails. Each test mounts small file systems of its own, in a mount namespace that ends with its thread; without the
//! right to mount, there is nothing to see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Stage, make};
use crate::copy::Started;
use crate::entry::{Outcome, State};

/// Runs `test` where mounts concern nobody else.
fn apart(test: impl FnOnce(&Path) + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the call takes a number, and concerns this thread, which has no other use.
            if unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) } == -1 {
                println!("not shown here: this user may not mount");
                return;
            }
            run("mount", &["--make-rprivate", "/"]);
            let root = tempfile::tempdir().unwrap();
            test(root.path());
        });
    });
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn tmpfs(at: &Path, bytes: &str) -> PathBuf {
    fs::create_dir_all(at).unwrap();
    run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs", at.to_str().unwrap()]);
    at.to_owned()
}

/// What failed must be worth another attempt, and say why; what is done must be whole.
fn check(stage: &Stage, outcomes: &[(String, Outcome)], why: &str) -> usize {
    let mut done = 0;
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Done => {
                done += 1;
                assert_eq!(
                    (stage.state(name), stage.bytes(name)),
                    (State::Done, fs::read(stage.from.join(name)).unwrap()),
                    "{name}"
                );
            }
            Outcome::Failed { reason, again: true } => assert!(reason.contains(why), "{name}: {reason}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(stage.names().iter().all(|name| !name.contains(".part")), "{:?}", stage.names());
    done
}

#[test]
fn a_full_destination_takes_what_fits_and_the_rest_once_there_is_space() {
    apart(|root| {
        let stage = Stage::to(tmpfs(&root.join("to"), "16m"));
        make(&stage.to.join("in the way"), &vec![1; 8 << 20]);
        for number in 0..12 {
            stage.put(&format!("file{number:02}"), &vec![number; 1_000_000]);
        }
        let outcomes = stage.carry();
        let done = check(&stage, &outcomes, "No space left");
        assert!((5..12).contains(&done), "{done} are done");
        crate::names::remove(std::os::fd::AsFd::as_fd(&fs::File::open(&stage.to).unwrap()), b"in the way").unwrap();
        let rest = stage.carry_these(stage.journal.queued(0, 100).unwrap());
        assert_eq!((rest.len(), check(&stage, &rest, "")), (12 - done, 12 - done));
        stage.assert_same();
    });
}

#[test]
fn a_large_file_that_does_not_fit_leaves_the_space_to_others() {
    apart(|root| {
        let stage = Stage::to(tmpfs(&root.join("to"), "16m"));
        stage.put("dense", &vec![1; 24 << 20]);
        let holes = fs::File::create(stage.from.join("holes")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&holes, &vec![1; 20 << 20], 16 << 20).unwrap();
        drop(holes);
        stage.scan();
        for name in ["dense", "holes"] {
            let outcome = match stage.carrier.large(stage.entry(name)).unwrap() {
                Started::Ended(_, outcome) => outcome,
                Started::Large(large) => {
                    assert!(large.help(0).unwrap());
                    large.finish().unwrap().1
                }
            };
            check(&stage, &[(name.to_owned(), outcome)], "No space left");
            assert!(stage.names().is_empty(), "{:?}", stage.names());
        }
    });
}

/// A file system whose device has fewer blocks than it says: what is written is taken, and lost when it is written back.
fn lying(root: &Path) -> PathBuf {
    let (store, to) = (tmpfs(&root.join("store"), "12m"), root.join("to"));
    let disk = store.join("disk");
    fs::File::create(&disk).unwrap().set_len(256 << 20).unwrap();
    let disk = disk.to_str().unwrap();
    run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=1", "-O", "^has_journal", disk]);
    fs::create_dir(&to).unwrap();
    run("mount", &["-t", "ext4", "-o", "loop", disk, to.to_str().unwrap()]);
    to
}

#[test]
fn what_is_lost_when_it_is_written_back_is_not_called_done() {
    apart(|root| {
        let stage = Stage::to(lying(root));
        for number in 0..24 {
            stage.put(&format!("file{number:02}"), &vec![number + 1; 1_000_000]);
        }
        let outcomes = stage.carry();
        let done: Vec<&str> =
            outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Done).map(|(name, _)| name.as_str()).collect();
        assert!(done.len() < 24, "the device has no room for all of them");
        for (name, outcome) in &outcomes {
            let again = matches!(outcome, Outcome::Failed { again: true, .. });
            assert!(again || *outcome == Outcome::Done, "{name}: {outcome:?}");
        }
        for name in done {
            // From the device, not from the page cache, which still holds what was lost.
            rustix::fs::fadvise(fs::File::open(stage.to.join(name)).unwrap(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
            assert!(stage.bytes(name) == fs::read(stage.from.join(name)).unwrap(), "{name} is done and not whole");
        }
    });
}
