//! Storage that fails. Each test mounts small file systems of its own, in a mount namespace that ends with its thread; without the
//! right to mount, there is nothing to see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Stage, make};
use crate::copy::Started;
use crate::error::MoverError;
use crate::journal_entry::{Outcome, State};
use crate::options::Check;

/// Runs `test` where mounts concern nobody else.
fn apart(test: impl FnOnce(&Path) + Send) {
    // It is removed out here, where nothing is mounted: a directory that something is mounted on cannot be.
    let root = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the call takes a number, and concerns this thread, which has no other use.
            if unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) } == -1 {
                println!("not shown here: this user may not mount");
                return;
            }
            run("mount", &["--make-rprivate", "/"]);
            test(root.path());
        });
    });
    root.close().unwrap();
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
        // Copies that are written at the same time take each other's space: how many fit depends on who is on a processor.
        assert!(done < 12, "{done} are done");
        assert_eq!(stage.carrier.shared.parts.counters.kept_bytes(), done as u64 * 1_000_000, "what met the end is not copied");
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
            let attempt = || match stage.carrier.large(stage.entry(name)).unwrap() {
                Started::Ended(_, outcome) => outcome,
                Started::Large(large) => {
                    assert!(large.help(|| true).unwrap());
                    large.finish().unwrap().1
                }
            };
            // A child that another test has just begun holds, until its exec, what was open for writing here.
            let busy = |outcome: &Outcome| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                matches!(outcome, Outcome::Busy(_))
            };
            let outcome = std::iter::repeat_with(attempt).take(600).find(|outcome| !busy(outcome)).expect("it stays busy");
            check(&stage, &[(name.to_owned(), outcome)], "No space left");
            assert!(stage.names().is_empty(), "{:?}", stage.names());
            assert_eq!(stage.carrier.shared.parts.counters.kept_bytes(), 0, "nothing of it is there");
        }
    });
}

#[test]
fn a_destination_that_stays_in_memory_is_refused_however_often_it_is_tried() {
    apart(|root| {
        let (memory, to) = (tmpfs(&root.join("memory"), "16m"), root.join("to"));
        let layers = ["lower", "upper", "work"].map(|name| memory.join(name));
        layers.iter().chain([&to]).for_each(|made| fs::create_dir(made).unwrap());
        let [lower, upper, work] = layers.map(|layer| layer.display().to_string());
        let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        run("mount", &["-t", "overlay", "overlay", "-o", &layers, to.to_str().unwrap()]);
        let from = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let refused = crate::Mover::prepare(crate::testing::options(from.path(), &to)).unwrap_err();
            assert!(matches!(&refused, MoverError::Request(said) if said.contains("its mark cannot be read back")), "{refused}");
        }
    });
}

/// A loop device, detached when it ends; and how large its requests may be, which stays with its number.
struct Loop(String, PathBuf, String);

impl Drop for Loop {
    fn drop(&mut self) {
        make(&self.1, self.2.as_bytes());
        let _ = Command::new("losetup").args(["-d", &self.0]).output();
    }
}

/// A process that another test starts holds what this one has open until it runs its program.
fn unmount(at: &Path) {
    let busy = || !Command::new("umount").arg(at).output().unwrap().status.success();
    assert!(
        (0..600).any(|_| !busy() || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            false
        }),
        "it stays busy"
    );
}

/// What a device that has no room for a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    /// An error.
    Tells,
    /// Nothing: the kernel's loop device takes a request for done of which its file took the beginning.
    Lies,
}

/// A file system whose device has fewer blocks than it says: what is written is taken, and lost when it is written back.
fn thin(root: &Path, says: Device, space: &str) -> (Loop, PathBuf) {
    let (backing, to) = (tmpfs(&root.join("store"), space), root.join("to"));
    let disk = backing.join("disk");
    fs::File::create(&disk).unwrap().set_len(256 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=1", "-O", "^has_journal", disk.to_str().unwrap()]);
    let made = Command::new("losetup").args(["-f", "--show", disk.to_str().unwrap()]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let name = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let most = Path::new("/sys/block").join(name.trim_start_matches("/dev/")).join("queue/max_sectors_kb");
    let before = fs::read_to_string(&most).unwrap();
    let device = Loop(name, most, before);
    // A request of one page is stored or refused, never cut.
    make(&device.1, if says == Device::Tells { b"4" } else { b"1024" });
    fs::create_dir(&to).unwrap();
    run("mount", &["-t", "ext4", &device.0, to.to_str().unwrap()]);
    (device, to)
}

/// Stages more than the device of `room` MiB has room for; what is called done must be there whole after another mount.
fn only_what_is_stored_is_done(says: Device, room: u32, check: Check) {
    apart(move |root| {
        let (device, to) = thin(root, says, &format!("{room}m"));
        let stage = Stage::to_with(to.clone(), |options| options.check = check);
        for number in 0..24 {
            stage.put(&format!("file{number:02}"), &vec![number + 1; 1_000_000]);
        }
        let outcomes = stage.carry();
        let done: Vec<&str> =
            outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Done).map(|(name, _)| name.as_str()).collect();
        assert!(done.len() < 24, "the device has no room for all of them");
        for (name, outcome) in &outcomes {
            // Busy: a child that another test has just begun holds, until its exec, what was open for writing here.
            let again = matches!(outcome, Outcome::Failed { again: true, .. } | Outcome::Busy(_));
            assert!(again || *outcome == Outcome::Done, "{name}: {outcome:?}");
        }
        let whole: Vec<(&str, Vec<u8>)> = done.iter().map(|name| (*name, fs::read(stage.from.join(name)).unwrap())).collect();
        drop(stage);
        // From the device, not from memory, which may still hold what was lost.
        unmount(&to);
        run("mount", &["-t", "ext4", &device.0, to.to_str().unwrap()]);
        for (name, bytes) in whole {
            let stored = fs::read(to.join(name));
            assert!(stored.is_ok_and(|stored| stored == bytes), "{says:?}, {room} MiB, {check:?}: {name} is done and not whole");
        }
        unmount(&to);
    });
}

#[test]
fn what_is_lost_when_it_is_written_back_is_not_called_done() {
    for room in 9..=16 {
        only_what_is_stored_is_done(Device::Tells, room, Check::Written);
    }
}

#[test]
fn what_a_device_takes_and_cuts_short_is_not_called_done_where_it_is_read_back_or_another_sync_fails() {
    for room in 9..=16 {
        for check in [Check::ReadBack, Check::Written] {
            only_what_is_stored_is_done(Device::Lies, room, check);
        }
    }
}
