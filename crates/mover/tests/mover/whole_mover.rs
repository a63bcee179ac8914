//! A whole mover between two real directories.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tempfile::TempDir;
use tonnage_mover::{Clear, Gentle, Mover, Options, Progress, STATE_DIRECTORY};

/// Longer than anything here takes, on a machine that does other things as well.
const LIMIT: Duration = Duration::from_secs(60);

fn started(options: Options) -> Mover {
    let mover = Mover::prepare(options).unwrap();
    mover.start().unwrap();
    mover
}

/// As an application does: the name stays, its bytes are new.
fn write(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

struct Preflight {
    from: TempDir,
    to: TempDir,
}

impl Preflight {
    fn new() -> Self {
        Self { from: TempDir::new().unwrap(), to: TempDir::new().unwrap() }
    }

    fn options(&self) -> Options {
        let plain = crate::common::options(self.from.path(), self.to.path());
        let (settle_ns, rescan_ns, open_grace_ns) = (20_000_000, 60_000_000_000, 1_000_000_000);
        Options { workers: Some(3), settle_ns, rescan_ns, open_grace_ns, ..plain }
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.from.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, bytes);
    }

    /// Everything staged by a mover that ends when it is done.
    fn drained(options: Options) -> Mover {
        let mover = started(options);
        mover.drain();
        assert!(mover.wait(LIMIT).unwrap(), "{:?}", mover.status());
        mover
    }
}

/// Path, mode and bytes of all that is in a tree but for the mover's own directory.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, data) = (entry.path(), entry.metadata().unwrap());
            if entry.file_name() == STATE_DIRECTORY {
                continue;
            }
            let bytes = data.is_file().then(|| fs::read(&path).unwrap());
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (data.mode(), bytes));
            if data.is_dir() {
                directories.push(path);
            }
        }
    }
    found
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn noise(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

#[test]
fn a_drained_tree_is_the_same_at_the_destination_and_nothing_else_is_there() {
    let ground = Preflight::new();
    for number in 0..200 {
        ground.put(&format!("d{}/e/f{number}", number % 7), &noise(number * 97));
    }
    ground.put("large", &noise(40 << 20));
    fs::create_dir(ground.from.path().join("empty")).unwrap();
    let mover = Preflight::drained(ground.options());
    let status = mover.status();
    assert_eq!((status.progress, status.queued.files, status.failed.files), (Progress::Finished, 0, 0), "{status:?}");
    assert_eq!(tree(ground.from.path()), tree(ground.to.path()));
}

#[test]
fn what_is_written_while_the_mover_watches_arrives_by_itself() {
    let ground = Preflight::new();
    let mover = started(ground.options());
    until("the first scan", || mover.status().progress == Progress::Watching);
    ground.put("new/deep/file", b"later");
    until("the file", || fs::read(ground.to.path().join("new/deep/file")).is_ok_and(|bytes| bytes == b"later"));
    until("its done", || mover.status().done.files == 3);
}

#[test]
fn a_second_name_waits_for_the_first_as_long_as_that_takes() {
    let ground = Preflight::new();
    ground.put("file", b"one file");
    fs::hard_link(ground.from.path().join("file"), ground.from.path().join("latest")).unwrap();
    let options = Options { limit_bytes_per_s: Some(0), open_grace_ns: 0, workers: Some(2), ..ground.options() };
    let mover = started(options);
    mover.drain();
    until("one waits", || mover.status().waiting.iter().any(|waits| waits.reason.contains("another name")));
    std::thread::sleep(Duration::from_millis(250));
    mover.set_limit(None, None);
    assert!(mover.wait(LIMIT).unwrap(), "{:?}", mover.status());
    let status = mover.status();
    assert_eq!((status.done.files, status.failed.files), (2, 0), "{status:?}");
    let inode = |name: &str| fs::metadata(ground.to.path().join(name)).unwrap().ino();
    assert_eq!(inode("file"), inode("latest"));
}

#[test]
fn a_file_that_changes_after_it_was_done_goes_again() {
    let ground = Preflight::new();
    ground.put("file", b"one");
    let mover = started(ground.options());
    until("the first version", || fs::read(ground.to.path().join("file")).is_ok_and(|bytes| bytes == b"one"));
    ground.put("file", b"second");
    until("the second version", || fs::read(ground.to.path().join("file")).is_ok_and(|bytes| bytes == b"second"));
    mover.drain();
    assert!(mover.wait(LIMIT).unwrap());
    assert_eq!(mover.status().failed.files, 0, "{:?}", mover.status());
}

#[test]
fn a_foreign_file_is_never_replaced_and_the_others_go_on() {
    let ground = Preflight::new();
    ground.put("mine", b"mine");
    ground.put("taken", b"ours");
    write(&ground.to.path().join("taken"), b"somebody else's");
    let mover = Preflight::drained(ground.options());
    let status = mover.status();
    assert_eq!(status.failed.files, 1, "{status:?}");
    assert_eq!(status.failures[0].path, "taken");
    assert_eq!(fs::read(ground.to.path().join("taken")).unwrap(), b"somebody else's");
    assert_eq!(fs::read(ground.to.path().join("mine")).unwrap(), b"mine");
}

#[test]
fn a_marker_appears_only_after_its_set() {
    let ground = Preflight::new();
    for number in 0..50 {
        ground.put(&format!("set/part{number}"), &noise(100_000));
    }
    ground.put("set/COMPLETE", b"");
    let mut options = ground.options();
    options.markers = vec!["COMPLETE".to_owned()];
    options.limit_files_per_s = Some(200);
    let mover = started(options);
    mover.drain();
    until("the marker", || {
        let marked = ground.to.path().join("set/COMPLETE").exists();
        let parts = (0..50).filter(|number| ground.to.path().join(format!("set/part{number}")).exists()).count();
        assert!(!marked || parts == 50, "the marker is there with {parts} of 50 parts");
        marked
    });
    assert!(mover.wait(LIMIT).unwrap());
}

#[test]
fn a_marker_of_a_set_with_a_failure_never_appears() {
    let ground = Preflight::new();
    ground.put("set/part", b"ours");
    ground.put("set/COMPLETE", b"");
    fs::create_dir(ground.to.path().join("set")).unwrap();
    write(&ground.to.path().join("set/part"), b"somebody else's");
    let mut options = ground.options();
    options.markers = vec!["COMPLETE".to_owned()];
    let mover = Preflight::drained(options);
    assert!(!ground.to.path().join("set/COMPLETE").exists());
    assert_eq!(mover.status().failed.files, 2, "{:?}", mover.status());
}

#[test]
fn a_mover_that_was_stopped_is_finished_by_the_next_one() {
    let ground = Preflight::new();
    for number in 0..300 {
        ground.put(&format!("f{number}"), &noise(1000));
    }
    ground.put("large", &noise(64 << 20));
    let mut options = ground.options();
    options.limit_bytes_per_s = Some(20_000_000);
    let mover = started(options);
    until("a beginning", || mover.status().copied_bytes > 1_000_000);
    mover.stop(0);
    assert!(mover.wait(LIMIT).unwrap());
    let status = mover.status();
    assert_eq!(status.progress, Progress::Stopped);
    assert!(status.queued.files > 0, "{status:?}");
    drop(mover);
    let offline = tonnage_mover::status_of(&ground.options().state).unwrap();
    assert_eq!((offline.progress, offline.queued), (Progress::Stopped, status.queued));
    Preflight::drained(ground.options());
    assert_eq!(tree(ground.from.path()), tree(ground.to.path()));
}

#[test]
fn after_its_journal_was_damaged_a_mover_still_knows_which_files_are_its_own() {
    let ground = Preflight::new();
    for name in ["d/same", "d/changed"] {
        ground.put(name, b"one");
    }
    drop(Preflight::drained(ground.options()));
    let id = fs::read_to_string(ground.options().state.join("id")).unwrap();
    write(&ground.to.path().join(format!("d/.tonnage-{}-77.part", &id[..8])), b"half a file of the lost journal");
    write(&ground.options().state.join("journal.sqlite"), &vec![0xa5; 50_000]);
    ground.put("d/changed", b"second");
    let status = Preflight::drained(ground.options()).status();
    assert_eq!((status.failed.files, status.done.files), (0, 3), "{status:?}");
    assert!(status.notes.iter().any(|note| note.contains("it is damaged")), "{:?}", status.notes);
    assert_eq!(tree(ground.from.path()), tree(ground.to.path()));
}

#[test]
fn a_paused_mover_moves_nothing_and_goes_on_at_once() {
    let ground = Preflight::new();
    ground.put("file", &noise(10_000));
    let mut options = ground.options();
    options.limit_bytes_per_s = Some(0);
    let mover = started(options);
    until("the scan", || mover.status().progress == Progress::Watching);
    assert_eq!(mover.status().done.files, 0);
    mover.set_limit(None, None);
    until("the file", || mover.status().done.files == 1);
}

#[test]
fn a_second_mover_of_the_same_source_is_refused() {
    let ground = Preflight::new();
    let first = started(ground.options());
    let refused = Mover::prepare(ground.options()).unwrap_err().to_string();
    assert!(refused.contains("hint:"), "{refused}");
    drop(first);
    Mover::prepare(ground.options()).unwrap();
}

#[test]
fn a_cleared_source_keeps_what_is_no_file_and_the_destination_has_everything() {
    let ground = Preflight::new();
    ground.put("d0/one", &noise(5000));
    fs::hard_link(ground.from.path().join("d0/one"), ground.from.path().join("d0/two")).unwrap();
    for number in 0..100 {
        ground.put(&format!("d{}/f{number}", number % 3), &noise(number * 31));
    }
    let before = tree(ground.from.path());
    let mover = Preflight::drained(Options { clear: Clear::Done, ..ground.options() });
    let status = mover.status();
    assert_eq!((status.cleared.files, status.failed.files), (102, 0), "{status:?}");
    assert_eq!(tree(ground.to.path()), before);
    let left: Vec<_> = tree(ground.from.path()).into_iter().filter(|(_, (_, bytes))| bytes.is_some()).collect();
    assert!(left.is_empty(), "{left:?}");
    let [one, two] = ["d0/one", "d0/two"].map(|name| fs::metadata(ground.to.path().join(name)).unwrap().ino());
    assert_eq!(one, two, "the two names are one file there too");
}

#[test]
fn in_the_log_a_file_is_found_taken_and_safe_as_often_as_it_went_over() {
    let ground = Preflight::new();
    let logs = TempDir::new().unwrap();
    let log = logs.path().join("spectral.log");
    ground.put("a/file", b"one");
    ground.put("a/large", &noise(20 << 20));
    ground.put("set/COMPLETE", b"");
    let mut options = ground.options();
    (options.log, options.markers) = (Some(log.clone()), vec!["COMPLETE".to_owned()]);
    options.limit_bytes_per_s = Some(40_000_000);
    let mover = started(options);
    until("a beginning", || mover.status().copied_bytes > 0);
    ground.put("a/large", &noise(21 << 20));
    mover.drain();
    assert!(mover.wait(LIMIT).unwrap());
    let text = fs::read_to_string(log).unwrap();
    assert!(text.lines().all(|line| !line.ends_with("/a") && !line.ends_with("/set")), "directories are no files: {text}");
    for name in ["a/file", "a/large", "set/COMPLETE"] {
        let lines: Vec<&str> = text.lines().filter(|line| line.ends_with(name)).collect();
        let words: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert!(!words.is_empty() && words.chunks(3).all(|turn| turn == ["ENQUEUE", "DEQUEUE", "DONE"]), "{text}");
    }
}

#[test]
fn a_large_file_that_shrinks_by_another_of_its_names_does_not_hold_up_the_drain() {
    let ground = Preflight::new();
    ground.put("f", &noise(20 << 20));
    fs::hard_link(ground.from.path().join("f"), ground.from.path().join("g")).unwrap();
    let mut options = ground.options();
    // No scan comes to help: a write by one name makes no event for the other.
    (options.limit_bytes_per_s, options.rescan_ns) = (Some(0), u64::MAX / 2);
    let mover = started(options);
    until("the scan", || mover.status().progress == Progress::Watching);
    ground.put("f", &noise(1 << 20));
    mover.set_limit(None, None);
    mover.drain();
    assert!(mover.wait(LIMIT).unwrap(), "{:?}", mover.status());
    assert_eq!(tree(ground.from.path()), tree(ground.to.path()));
}

/// A process that does not outlive its test.
struct Application(Child);

impl Drop for Application {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Threads of this process that run when nobody else wants to.
fn stepped_back() -> usize {
    let policy = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(38)?.parse::<libc::c_int>().ok()
    };
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(Result::unwrap);
    tasks.filter_map(policy).filter(|&policy| policy == libc::SCHED_IDLE).count()
}

#[test]
fn workers_that_let_the_application_go_first_are_replaced_once_it_has_ended_without_privileges_too() {
    let mut rights = capabilities(None).unwrap();
    rights.effective.remove(CapabilitySet::SYS_NICE);
    // Of this thread and those that it starts.
    set_capabilities(None, rights).unwrap();
    let application = Application(Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap());
    let ground = Preflight::new();
    let mover = started(Options { gentle: Gentle::Auto, ..ground.options() });
    mover.give_way_to(Some(application.0.id())).unwrap();
    until("all of them", || stepped_back() == 3);
    ground.put("beside", b"it");
    until("the first file", || mover.status().done.files == 1);
    assert_eq!(stepped_back(), 3);
    drop(application);
    until("the others", || stepped_back() == 0);
    ground.put("after", &noise(40 << 20));
    mover.drain();
    assert!(mover.wait(LIMIT).unwrap(), "{:?}", mover.status());
    assert_eq!(tree(ground.from.path()), tree(ground.to.path()));
}
