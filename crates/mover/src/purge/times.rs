//! The times of the source's directories, which clearing must leave as the application did: their copies get them in the end.
//!
//! The journal keeps them before the first file is taken out of a directory, for the mover that comes after a kill.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, Timespec, Timestamps};
use rustix::io::{Errno, Result as SysResult};

use crate::error::Result;
use crate::file_version::Version;
use crate::journal::Journal;
use crate::path::TreePath;
use crate::tree::Tree;

const NS_PER_S: i64 = 1_000_000_000;
/// One rename may stamp its two directories so far apart.
const STAMP_NS: i64 = 20_000_000;

/// Directories out of which files were taken.
#[derive(Debug, Default)]
pub(super) struct Times {
    touched: HashMap<TreePath, Touched>,
    /// What the journal keeps.
    kept: HashMap<TreePath, i64>,
}

#[derive(Debug)]
struct Touched {
    directory: OwnedFd,
    /// The application's.
    wanted_ns: i64,
    /// As this mover left it: another one is the application's. `None` where that could not be seen.
    after_ns: Option<i64>,
}

impl Times {
    /// Keeps the times of these directories in the journal. One that cannot be looked at is left out, and nothing is taken from it.
    pub(super) fn keep(&mut self, from: &Tree, journal: &Journal, directories: impl Iterator<Item = TreePath>) -> Result<()> {
        let mut fresh = Vec::new();
        for path in directories.collect::<BTreeSet<_>>() {
            if self.touched.contains_key(&path) {
                continue;
            }
            match from.directory(&path).and_then(Version::of) {
                Ok(now) if self.kept.get(&path) == Some(&now.mtime_ns) => {}
                Ok(now) => fresh.push((path, now.mtime_ns)),
                Err(_) => _ = self.kept.remove(&path),
            }
        }
        if !fresh.is_empty() {
            journal.keep_times(&fresh)?;
            self.kept.extend(fresh);
        }
        Ok(())
    }

    /// Takes up what a mover before this one had kept. A directory that changed after the last file came to or left its counterpart
    /// among what is set aside, which `aside` opens, was changed by the application. Whether all of them could be looked at.
    pub(super) fn recall(
        &mut self,
        from: &Tree,
        journal: &Journal,
        aside: impl Fn(&TreePath) -> SysResult<OwnedFd>,
    ) -> Result<bool> {
        let mut all = true;
        for (path, wanted_ns) in journal.kept_times()? {
            if self.touched.contains_key(&path) {
                continue;
            }
            match look(from.directory(&path), aside(&path)) {
                Ok((directory, now_ns, aside_ns)) if now_ns != wanted_ns && now_ns <= aside_ns + STAMP_NS => {
                    self.touched.insert(path.clone(), Touched { directory, wanted_ns, after_ns: Some(now_ns) });
                }
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => all = false,
            }
            self.kept.insert(path, wanted_ns);
        }
        Ok(all)
    }

    /// Does `work`, which takes a name out of, or puts one into, the directory at `path`.
    pub(super) fn around(
        &mut self,
        path: &TreePath,
        directory: BorrowedFd<'_>,
        work: impl FnOnce() -> SysResult<()>,
    ) -> SysResult<()> {
        let before_ns = Version::of(directory)?.mtime_ns;
        if let Some(known) = self.touched.get_mut(path) {
            if known.after_ns.is_some_and(|after_ns| after_ns != before_ns) {
                known.wanted_ns = before_ns;
            }
        } else {
            let directory = rustix::io::fcntl_dupfd_cloexec(directory, 0)?;
            self.touched.insert(path.clone(), Touched { directory, wanted_ns: before_ns, after_ns: Some(before_ns) });
        }
        let done = work();
        if let Some(known) = self.touched.get_mut(path) {
            // Also where it failed: a file system may have done it all the same.
            known.after_ns = Version::of(directory).ok().map(|now| now.mtime_ns);
        }
        done
    }

    /// Whether files may be taken out of the directory: what time it must have is known, whatever happens.
    pub(super) fn is_kept(&self, path: &TreePath) -> bool {
        self.kept.contains_key(path)
    }

    /// Sets them back; those where that failed, to be tried again.
    pub(super) fn restore(&mut self) -> Vec<TreePath> {
        self.touched.retain(|_, known| known.restore().is_err());
        self.touched.keys().cloned().collect()
    }

    /// Nothing more is taken out: the journal need not keep anything.
    pub(super) fn end(&mut self, journal: &Journal) -> Result<()> {
        if self.touched.is_empty() && !self.kept.is_empty() {
            journal.forget_times()?;
            self.kept.clear();
        }
        Ok(())
    }
}

impl Touched {
    fn restore(&self) -> SysResult<()> {
        let now_ns = Version::of(&self.directory)?.mtime_ns;
        if now_ns == self.wanted_ns || self.after_ns.is_some_and(|after_ns| after_ns != now_ns) {
            return Ok(());
        }
        let time = |ns: i64| Timespec { tv_sec: ns.div_euclid(NS_PER_S), tv_nsec: ns.rem_euclid(NS_PER_S) as _ };
        let kept = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
        fs::futimens(self.directory.as_fd(), &Timestamps { last_access: kept, last_modification: time(self.wanted_ns) })
    }
}

/// A directory, its time of change, and that of its counterpart.
fn look(directory: SysResult<OwnedFd>, aside: SysResult<OwnedFd>) -> SysResult<(OwnedFd, i64, i64)> {
    let directory = directory?;
    let (now_ns, aside_ns) = (Version::of(&directory)?.mtime_ns, Version::of(aside?)?.mtime_ns);
    Ok((directory, now_ns, aside_ns))
}
