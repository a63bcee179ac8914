//! What the tests of several modules begin with.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, State};
use crate::options::{Check, Clear, Gentle, Options, Order, Overwrite};
use crate::path::TreePath;

/// Options of a mover from `from` to `to` that waits for nothing.
pub fn options(from: &Path, to: &Path) -> Options {
    Options {
        from: from.to_owned(),
        to: to.to_owned(),
        state: from.join(crate::STATE_DIRECTORY),
        name: "test".to_owned(),
        include: Vec::new(),
        exclude: Vec::new(),
        first: Vec::new(),
        markers: Vec::new(),
        order: Order::Oldest,
        check: Check::Written,
        overwrite: Overwrite::Never,
        clear: Clear::Never,
        marks: None,
        workers: None,
        limit_bytes_per_s: None,
        limit_files_per_s: None,
        gentle: Gentle::Off,
        settle_ns: 0,
        rescan_ns: 1_000_000_000,
        open_grace_ns: 0,
        attempts: 3,
        log: None,
        drop_attributes: false,
        trees_changed: false,
    }
}

/// A regular file that waits under `path`.
pub fn entry(id: i64, path: &str) -> Entry {
    let version = Version { kind: Kind::File, ino: 1, size: 0, mtime_ns: 0, ctime_ns: 0, mode: 0o644, links: 1, uid: 0, gid: 0 };
    let path = TreePath::new(path.as_bytes()).expect("a path below the root");
    Entry { id, path, version, state: State::Queued, attempts: 0, reason: None, placed: None, before: Vec::new() }
}

/// Returns when nobody has `path` open for writing. A process that another test forks has it open until its program begins:
/// a mover rightly calls the file busy so long.
pub fn await_no_writer(path: &Path) {
    let file = File::open(path).expect("a file that was made just now");
    let lease = |word: libc::c_int| unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, word) == 0 };
    let until = Instant::now() + Duration::from_secs(60);
    while !lease(libc::F_RDLCK) && std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN) {
        assert!(Instant::now() < until, "{} is still open for writing", path.display());
        std::thread::sleep(Duration::from_millis(1));
    }
    lease(libc::F_UNLCK);
}

/// Runs `look` as somebody to whom modes apply. The raw call changes the user of one thread only.
pub fn as_nobody(look: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) }, 0);
        }
        look();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `work` where `at` is an empty file system of `bytes` in memory, which this thread alone sees and which ends with it. Needs the
/// superuser; without, the test has nothing to run on and says so.
pub fn on_a_small_file_system(at: &tempfile::TempDir, bytes: u64, work: impl FnOnce() + Send + 'static) {
    let point = CString::new(at.path().as_os_str().as_bytes()).expect("a path without NUL");
    let thread = std::thread::spawn(move || {
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            println!("not run: {}", std::io::Error::last_os_error());
            return;
        }
        let (none, private) = (c"none".as_ptr(), libc::MS_REC | libc::MS_PRIVATE);
        let size = CString::new(format!("size={bytes}")).expect("digits");
        unsafe {
            assert_eq!(libc::mount(none, c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()), 0);
            assert_eq!(libc::mount(none, point.as_ptr(), c"tmpfs".as_ptr(), 0, size.as_ptr().cast()), 0);
        }
        work();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
