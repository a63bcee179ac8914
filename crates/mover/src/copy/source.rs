//! A file of the source, opened without disturbing whoever uses it, and whether it is still the version that was opened.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rustix::fs::{self, Mode, OFlags, StatxFlags, Timespec};
use rustix::io::Errno;

use super::Shared;
use super::attempt_error::{self, Attempt};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Outcome};
use crate::mapped_stores::Stores;
use crate::path::TreePath;
use crate::tree::Tree;

/// A file system may stamp two changes this close to each other with one time; a version that young cannot be told from the next.
const STAMP_NS: u64 = 10_000_000;
/// The same for file systems that keep whole seconds (ext3, ext4 with inodes of 128 bytes), or every other one (FAT).
const WHOLE_STAMP_NS: u64 = 2_000_000_000;

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file.
    pub(crate) file: OwnedFd,
    /// What it was before the first byte was read.
    pub(crate) version: Version,
    /// When it was last read by others.
    pub(crate) accessed: Timespec,
    /// Whether it may have holes.
    pub(crate) sparse: bool,
}

/// How a file is going to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// In a moment: where every writer is told of when it closes, it is enough to ask for writers [afterwards](Shared::require_unchanged),
    /// and a lease less is taken.
    AtOnce,
    /// In [chunks](super::SMALL_BYTES), over some time.
    InChunks,
}

impl Shared {
    /// Opens the regular file of `entry`, which lies in `dir`. Nothing else is ever opened, and a file that somebody writes is `Busy`.
    pub(crate) fn open_source(&self, dir: BorrowedFd, entry: &Entry, reading: Reading) -> Attempt<Source> {
        let source = open_unasked(&self.parts.from, dir, &entry.path)?;
        // In this order: a writer that comes after the version was taken moves its times, one that was there before is seen here.
        if reading == Reading::InChunks || self.parts.quiescence.stores() != Stores::Closed {
            self.require_no_writer(&source, &entry.path)?;
        }
        if reading == Reading::InChunks && source.version.size <= super::SMALL_BYTES {
            // It shrank, perhaps by another name, of which this one hears nothing: the journal must know, so that a batch carries it.
            self.parts.journal.requeue(entry.id, source.version)?;
            return Err(Outcome::Changed.into());
        }
        Ok(source)
    }

    /// Whether what was read since it was opened is one version, still under its name. `Changed` if not.
    pub(crate) fn require_unchanged(&self, source: &Source, dir: BorrowedFd, path: &TreePath) -> Attempt<()> {
        // The inode is held open, so its number cannot have been given to another: the name's own state is the file's.
        let now =
            Version::at(dir, path.name()).map_err(|errno| attempt_error::source("look at", &self.parts.from, path, errno))?;
        if now != source.version {
            return Err(Outcome::Changed.into());
        }
        // Stores through a mapping move no times on every file system.
        self.require_no_writer(source, path)
    }

    fn require_no_writer(&self, source: &Source, path: &TreePath) -> Attempt<()> {
        match self.parts.quiescence.writer(&source.file, &source.version) {
            Ok(None) => Ok(()),
            Ok(Some(who)) => Err(Outcome::Busy(who).into()),
            Err(errno) => Err(attempt_error::source("look at", &self.parts.from, path, errno)),
        }
    }
}

fn open_unasked(tree: &Tree, dir: BorrowedFd, path: &TreePath) -> Attempt<Source> {
    let failed = |errno| attempt_error::source("open", tree, path, errno);
    // Opening a FIFO or a device for reading would already do something to it.
    if Version::at(dir, path.name()).map_err(failed)?.kind != Kind::File {
        return Err(Outcome::Changed.into());
    }
    let file = open(dir, path.name()).map_err(failed)?;
    let found = fs::statx(&file, "", fs::AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map_err(failed)?;
    let version = Version::from_statx(&found);
    if version.kind != Kind::File {
        return Err(Outcome::Changed.into());
    }
    let accessed = Timespec { tv_sec: found.stx_atime.tv_sec, tv_nsec: found.stx_atime.tv_nsec.into() };
    wait_for_the_next_stamp(&version);
    Ok(Source { file, version, accessed, sparse: found.stx_blocks.saturating_mul(512) < found.stx_size })
}

fn open(dir: BorrowedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match fs::openat(dir, name, flags | OFlags::NOATIME, Mode::empty()) {
        // Only the owner may leave the time of access as it is.
        Err(Errno::PERM) => fs::openat(dir, name, flags, Mode::empty()),
        other => other,
    }
}

fn wait_for_the_next_stamp(version: &Version) {
    sleep(until_next_stamp(version.ctime_ns, now_ns()));
}

/// Whether it is so young that the next change may have the same time.
pub(super) fn is_young(version: &Version) -> bool {
    !until_next_stamp(version.ctime_ns, now_ns()).is_zero()
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// How long after `now_ns` a change may still have the time `ctime_ns`.
fn until_next_stamp(ctime_ns: i64, now_ns: i64) -> Duration {
    let stamp_ns = if ctime_ns % 1_000_000_000 == 0 { WHOLE_STAMP_NS } else { STAMP_NS };
    // A time in the future is another host's clock and tells no age.
    let age_ns = u64::try_from(now_ns.saturating_sub(ctime_ns)).unwrap_or(u64::MAX);
    Duration::from_nanos(stamp_ns.saturating_sub(age_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_in_the_moment_of_one_stamp_waits_for_the_next_also_where_stamps_are_whole_seconds() {
        let left = |ctime_ns, now_ns| until_next_stamp(ctime_ns, now_ns).as_millis();
        assert_eq!((left(5_000_000_001, 5_003_000_001), left(5_000_000_001, 6_000_000_000)), (7, 0));
        assert_eq!((left(5_000_000_000, 5_500_000_000), left(5_000_000_000, 7_000_000_000)), (1500, 0));
        assert_eq!(left(9_000_000_000, 5_000_000_000), 0, "another clock's future tells no age");
    }
}
