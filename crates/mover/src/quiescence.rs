//! Whether a file can be taken now: its last change is old enough, and nobody has it open for writing.
//!
//! Who still writes is asked of the kernel: a read lease is granted only where no descriptor and no mapping can write; it is given
//! back at once, or kept while a file is taken off the source. Where there are no leases (another user's file, network file systems),
//! or a lease does not see mappings (overlay), `/proc` is searched as far as it can be read, and beyond that only the times count. Nothing of this makes a torn copy right: the version is compared after reading.

mod holders;
mod lease;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};
use rustix::time::{ClockId, clock_gettime};

use crate::file_version::{Kind, Version};
use crate::mapped_stores::Stores;
use crate::path::TreePath;
use crate::tree::Tree;
use holders::{FileId, Holders};
use lease::{HeldLease, Lease};

/// A list of who writes what is taken anew when it is older than this.
const HOLDERS_NS: i64 = 1_000_000_000;

/// What a look at one name found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quiescence {
    /// It can be taken, as this version.
    Now(Version),
    /// It was changed too short a time ago: look again in so many nanoseconds.
    Later {
        /// Until then.
        after_ns: u64,
    },
    /// Somebody has it open for writing: who, as far as can be seen.
    Open(String),
    /// There is nothing under that name.
    Gone,
}

/// Looks at names.
#[derive(Debug)]
pub struct QuiescenceCheck {
    settle_ns: u64,
    stores: Stores,
    holders: Mutex<Option<Holders>>,
}

/// What is known of who writes a file, from one moment on.
#[derive(Debug)]
pub struct Guard {
    lease: Option<HeldLease>,
    stores: Stores,
}

impl Guard {
    /// Whether the kernel would have told of everybody who began to write since.
    #[must_use]
    pub fn sees(&self) -> bool {
        self.lease.is_some() && self.stores != Stores::Unseen
    }

    /// Whether nobody was seen to begin.
    pub fn holds(&self) -> SysResult<bool> {
        self.lease.as_ref().map_or(Ok(true), HeldLease::is_whole)
    }
}

impl QuiescenceCheck {
    /// A file of a file system of this kind is taken when its last change is at least `settle_ns` old.
    #[must_use]
    pub fn new(settle_ns: u64, stores: Stores) -> Self {
        Self { settle_ns, stores, holders: Mutex::new(None) }
    }

    /// What kind of file system this is for.
    #[must_use]
    pub fn stores(&self) -> Stores {
        self.stores
    }

    /// Whether `path` of `from` can be taken. Fails where it cannot be read.
    pub fn look(&self, from: &Tree, path: &TreePath) -> SysResult<Quiescence> {
        // A path handle opens nothing: no FIFO is disturbed and no device wakes up.
        let handle = match from.open_beneath(path, OFlags::PATH) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Quiescence::Gone),
            other => other?,
        };
        let version = Version::of(&handle)?;
        if version.kind != Kind::File {
            return Ok(Quiescence::Now(version));
        }
        let after_ns = left_ns(now_ns(), version.ctime_ns, self.settle_ns);
        if after_ns > 0 {
            return Ok(Quiescence::Later { after_ns });
        }
        Ok(self.writer(reopen(&handle)?, &version)?.map_or(Quiescence::Now(version), Quiescence::Open))
    }

    /// Whether `name` of `directory` is a regular file that can be taken and that a lease shows to be free. Where it says no, that
    /// need not be so: [`QuiescenceCheck::look`] knows more.
    pub fn is_free(&self, directory: impl AsFd, name: &[u8]) -> bool {
        let (directory, flags) = (directory.as_fd(), OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC);
        // What is no file is not opened: that would already do something to a FIFO or a device.
        let takes = |found: Version| found.kind == Kind::File && left_ns(now_ns(), found.ctime_ns, self.settle_ns) == 0;
        self.stores != Stores::Unseen
            && Version::at(directory, name).is_ok_and(takes)
            && fs::openat(directory, name, flags | OFlags::NOATIME, Mode::empty())
                .and_then(HeldLease::take)
                .is_ok_and(|(word, _)| word == Lease::Free)
    }

    /// Who has the regular file `file`, opened for reading, open for writing; `version` is what it is now.
    pub fn writer(&self, file: impl AsFd, version: &Version) -> SysResult<Option<String>> {
        self.of_lease(lease::of(&file)?, file, version)
    }

    /// The same, and who begins to write from now on, as long as the guard is kept; `None` where somebody does already.
    pub fn guard(&self, file: impl AsFd, version: &Version) -> SysResult<Option<Guard>> {
        let (word, lease) = HeldLease::take(reopen(&file)?)?;
        let writer = self.of_lease(word, file, version)?;
        Ok(writer.is_none().then_some(Guard { lease, stores: self.stores }))
    }

    fn of_lease(&self, word: Lease, file: impl AsFd, version: &Version) -> SysResult<Option<String>> {
        match word {
            Lease::Free if self.stores != Stores::Unseen => Ok(None),
            Lease::Writer => {
                let who = self.holder(FileId::of(&file)?, i64::MIN);
                Ok(Some(who.unwrap_or_else(|| "open for writing, by whom cannot be seen".to_owned())))
            }
            Lease::Free | Lease::Unknown => Ok(self.holder(FileId::of(&file)?, version.ctime_ns)),
        }
    }

    /// Who has it open for writing. A list that was made after the last change, `ctime_ns`, holds whoever may go on changing it.
    fn holder(&self, file: FileId, ctime_ns: i64) -> Option<String> {
        let mut kept = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = now_ns();
        let good = |known: &&mut Holders| known.taken_ns > ctime_ns && (0..HOLDERS_NS).contains(&(now_ns - known.taken_ns));
        let list = match kept.as_mut().filter(good) {
            Some(list) => list,
            None => kept.insert(Holders::look(now_ns)),
        };
        list.of(file).map(|who| format!("open for writing by {who}"))
    }
}

/// How long a file must still be left alone. A time of change that is further ahead than the wait is another clock's: no wait
/// would end, and the version is compared after reading in any case.
fn left_ns(now_ns: i64, changed_ns: i64, settle_ns: u64) -> u64 {
    let age_ns = i128::from(now_ns) - i128::from(changed_ns);
    let left_ns = i128::from(settle_ns) - age_ns;
    if left_ns > 2 * i128::from(settle_ns) { 0 } else { u64::try_from(left_ns).unwrap_or(0) }
}

/// The file behind a handle, open for reading: the very same, whatever has its name now.
fn reopen(handle: impl AsFd) -> SysResult<OwnedFd> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    fs::open(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()), flags, Mode::empty())
}

/// Nanoseconds since 1970, as file systems stamp them.
fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::{OpenOptionsExt, symlink};
    use std::ptr;

    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

    use super::*;

    struct Fixture {
        directory: tempfile::TempDir,
        tree: Tree,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let tree = Tree::open(directory.path()).unwrap();
            Self { directory, tree }
        }

        fn file(&self) -> File {
            let path = self.directory.path().join("f");
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
        }

        /// The version, once nobody can write it: a process that another test has just begun holds this one's descriptors for a
        /// moment.
        fn settled(&self) -> Version {
            let begin = std::time::Instant::now();
            loop {
                match self.look(0) {
                    Quiescence::Now(version) => return version,
                    other => assert!(begin.elapsed().as_secs() < 10, "{other:?}"),
                }
            }
        }

        fn look(&self, settle_ns: u64) -> Quiescence {
            QuiescenceCheck::new(settle_ns, Stores::Timed).look(&self.tree, &TreePath::new(b"f").unwrap()).unwrap()
        }
    }

    #[test]
    fn a_file_is_not_taken_while_somebody_can_write_it_and_the_reason_names_the_process() {
        let place = Fixture::new();
        let file = place.file();
        let Quiescence::Open(who) = place.look(0) else { panic!("it is open for writing") };
        assert!(who.contains(&format!("process {} (", std::process::id())), "{who}");
        drop(file);
        let _reader = File::open(place.directory.path().join("f")).unwrap();
        // A reader harms nobody.
        place.settled();
    }

    #[test]
    fn a_file_is_not_taken_while_it_is_mapped_for_writing_though_it_was_closed() {
        let place = Fixture::new();
        let file = place.file();
        file.set_len(4096).unwrap();
        // SAFETY: a new mapping at an address of the kernel's choice; unmapped below and used by nobody.
        let mapping =
            unsafe { mmap(ptr::null_mut(), 4096, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0) }.unwrap();
        drop(file);
        let Quiescence::Open(who) = place.look(0) else { panic!("it is mapped for writing") };
        assert!(who.contains(&format!("process {} (", std::process::id())), "{who}");
        // SAFETY: the mapping made above.
        unsafe { munmap(mapping, 4096) }.unwrap();
        assert_eq!(place.settled().size, 4096);
    }

    #[test]
    fn a_file_is_free_while_nobody_can_write_it_and_nothing_but_a_file_is() {
        let place = Fixture::new();
        let (file, quiescence) = (place.file(), QuiescenceCheck::new(0, Stores::Closed));
        let directory = File::open(place.directory.path()).unwrap();
        let is_free = |name: &str| quiescence.is_free(&directory, name.as_bytes());
        fs::mknodat(&directory, "fifo", fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        symlink("f", place.directory.path().join("link")).unwrap();
        assert!(!is_free("f") && !is_free("fifo") && !is_free("link") && !is_free("none"));
        drop(file);
        place.settled();
        assert!(is_free("f"));
        assert!(!QuiescenceCheck::new(60_000_000_000, Stores::Closed).is_free(&directory, b"f"), "it was just changed");
        assert!(!QuiescenceCheck::new(0, Stores::Unseen).is_free(&directory, b"f"));
        // The lease is back.
        drop(OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(place.directory.path().join("f")).unwrap());
    }

    #[test]
    fn where_there_are_no_leases_the_open_files_that_can_be_seen_count() {
        let place = Fixture::new();
        let quiescence = QuiescenceCheck::new(0, Stores::Timed);
        let file = place.file();
        let id = FileId::of(&file).unwrap();
        assert!(quiescence.holder(id, i64::MIN).is_some());
        drop(file);
        assert!(quiescence.holder(id, i64::MIN).is_some(), "an old list may stand while the file does not change");
        assert_eq!(quiescence.holder(id, now_ns()), None, "a change after the list makes it useless");
    }

    #[test]
    fn a_file_that_was_just_changed_is_left_alone_for_the_rest_of_the_time() {
        let place = Fixture::new();
        place.file();
        let settle_ns = 60_000_000_000;
        assert!(
            matches!(place.look(settle_ns), Quiescence::Later { after_ns } if after_ns > settle_ns / 2 && after_ns <= settle_ns)
        );
    }

    #[test]
    fn the_wait_ends_with_the_time_and_another_clocks_future_does_not_hold_it_for_ever() {
        assert_eq!((left_ns(100, 90, 10), left_ns(100, 91, 10), left_ns(100, 105, 10)), (0, 1, 15));
        assert_eq!((left_ns(100, 1_000_000, 10), left_ns(i64::MAX, i64::MIN, u64::MAX)), (0, 0));
    }

    #[test]
    fn what_is_no_file_is_taken_at_once_and_a_link_is_not_followed() {
        let place = Fixture::new();
        let at = |name: &str| place.directory.path().join(name);
        symlink("nowhere", at("link")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        symlink("directory", at("way")).unwrap();
        File::create(at("directory/f")).unwrap();
        fs::mknodat(fs::CWD, at("fifo"), fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        let quiescence = QuiescenceCheck::new(1_000_000_000, Stores::Timed);
        let look = |name: &[u8]| quiescence.look(&place.tree, &TreePath::new(name).unwrap()).unwrap();
        for (name, kind) in [(&b"link"[..], Kind::Link), (b"directory", Kind::Directory), (b"fifo", Kind::Fifo)] {
            assert!(matches!(look(name), Quiescence::Now(version) if version.kind == kind), "{kind:?}");
        }
        for name in [&b"none"[..], b"way/f", b"directory/f/below"] {
            assert_eq!(look(name), Quiescence::Gone);
        }
    }
}
