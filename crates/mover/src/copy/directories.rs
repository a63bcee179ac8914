//! The directories that this mover made: owner, mode and attributes as long as it works, exact modes and times in the end.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};
use rustix::process::geteuid;

use super::attempt_error::{self, Attempt, split};
use super::attributes::{self, Dropped};
use super::source;
use super::{Carrier, Shared};
use crate::bytes::stream::Sync;
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::in_threads::in_threads;
use crate::journal_entry::{Entry, Outcome, Placed, State};
use crate::path::TreePath;

/// Entries that are looked at together.
const PAGE: usize = 1000;
/// What the owner may do in a directory until the end, whatever the source says: files are still put into it.
const UNTIL_THE_END: u32 = 0o700;

/// What a look at directories found.
#[derive(Debug, Default)]
pub struct Renewed {
    /// Numbers of those that could not be brought up to date.
    pub failed: Vec<i64>,
    /// Numbers of those to be looked at again, because they are on their way, or changed so lately that the next change may not show.
    pub later: Vec<i64>,
}

impl Carrier {
    /// Gives the directories of these numbers that this mover made, and are done, what their sources have now.
    pub fn renew_directories(&self, ids: &[i64]) -> Result<Renewed> {
        let (shared, mut renewed) = (&self.shared, Renewed::default());
        for page in ids.chunks(PAGE) {
            let entries = shared.parts.journal.entries(page)?;
            for part in in_threads(&entries, |part| part.iter().map(|entry| (entry.id, shared.renew(entry))).collect::<Vec<_>>())?
            {
                for (id, attempt) in part {
                    match split(attempt)? {
                        Ok(true) => renewed.later.push(id),
                        Ok(false) => {}
                        Err(_) => renewed.failed.push(id),
                    }
                }
            }
        }
        Ok(renewed)
    }

    /// Gives the directories that this mover made their modes and times, and once more all else, once nothing more is put into them.
    /// Returns why it could not, for each where so.
    pub fn finish_directories(&self) -> Result<Vec<(i64, String)>> {
        let (shared, mut failures) = (&self.shared, Vec::new());
        let together = Sync::handle(&shared.parts.to).ok();
        let directories = shared.parts.journal.directories()?;
        for ids in directories.chunks(PAGE) {
            for entry in shared.parts.journal.entries(ids)? {
                if let Err(Outcome::Failed { reason, .. }) = split(shared.finish_directory(&entry))? {
                    failures.push((entry.id, reason));
                }
            }
        }
        if !directories.is_empty() && together.is_none_or(|handle| fs::syncfs(handle).is_err()) {
            failures.push((0, format!("the times of directories of {} may not be durable", shared.parts.to.path().display())));
        }
        Ok(failures)
    }
}

impl Shared {
    /// Whether the directory `there`, which has the entry's name, was made by this mover. Where inodes have no lasting numbers, what
    /// the journal says of the name decides.
    pub(super) fn made_directory(&self, entry: &Entry, there: &Version) -> bool {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.path).copied();
        let mut numbers = made.into_iter().chain(entry.placed.map(|placed| placed.ino)).filter(|&ino| ino != Placed::OF_OTHERS);
        let renumbered = !self.parts.established.inodes_last;
        numbers.any(|ino| renumbered || ino == there.ino)
    }

    /// Opens a directory of the destination. One that this mover made, with a mode that keeps its owner out, is opened to the owner
    /// first: files are still put into it, and exact modes come in the end.
    pub(super) fn open_made(&self, path: &TreePath) -> SysResult<OwnedFd> {
        let to = &self.parts.to;
        match to.directory(path) {
            Err(Errno::ACCESS) if !path.is_root() => {}
            Err(errno) => return Err(errno),
            Ok(file) => {
                let there = Version::of(&file)?;
                if there.mode & UNTIL_THE_END != UNTIL_THE_END && self.is_own(path, &there) {
                    fs::fchmod(&file, Mode::from_raw_mode(there.mode | UNTIL_THE_END))?;
                }
                return Ok(file);
            }
        }
        self.open_made(&path.parent())?;
        let handle = to.open_beneath(path, OFlags::PATH | OFlags::DIRECTORY)?;
        let there = Version::of(&handle)?;
        if !self.is_own(path, &there) {
            return Err(Errno::ACCESS);
        }
        // The handle's own file, whatever has its name by now: such a handle cannot be changed itself.
        let itself = format!("/proc/self/fd/{}", handle.as_raw_fd());
        fs::chmod(itself, Mode::from_raw_mode(there.mode | UNTIL_THE_END))?;
        to.directory(path)
    }

    /// Whether what has the name is a directory of this user's that this mover made.
    fn is_own(&self, path: &TreePath, there: &Version) -> bool {
        let entry = self.parts.journal.by_path(path).ok().flatten();
        there.kind == Kind::Directory
            && there.uid == geteuid().as_raw()
            && entry.is_some_and(|entry| entry.version.kind == Kind::Directory && self.made_directory(&entry, there))
    }

    /// Gives the copy of a directory, one of this mover's, what the source has beside its times. Returns the state of the source, and
    /// what the copy does not take; `None` where it had all of it.
    pub(super) fn give_directory(&self, entry: &Entry, copy: BorrowedFd, more: u32) -> Attempt<(Version, Option<Dropped>)> {
        // Gone from the source: then what the journal knows is the last there was.
        let source = open_directory(self, &entry.path);
        let version = source.as_ref().and_then(|source| Version::of(source).ok()).unwrap_or(entry.version);
        let source = source.as_ref().map_or(copy, AsFd::as_fd);
        // Said before it is so: whoever makes a file there looks at this afterwards.
        if attributes::hands_down_lists(source) {
            self.lists.store(true, Ordering::SeqCst);
        }
        let failed = |errno| attempt_error::target("set the mode and attributes of", &self.parts.to, &entry.path, errno);
        if Version::of(copy).map_err(failed)?.gid != version.gid {
            self.groups.store(true, Ordering::SeqCst);
        }
        let dropped = attributes::give_directory(copy, source, &version, more).map_err(failed)?;
        Ok((version, dropped))
    }

    /// The same while files are still put into it, made durable by itself where `each`.
    pub(super) fn give_directory_early(&self, entry: &Entry, copy: BorrowedFd, each: bool) -> Attempt<Dropped> {
        let (_, dropped) = self.give_directory(entry, copy, UNTIL_THE_END)?;
        if each {
            self.sync_directory(copy, &entry.path)?;
        }
        Ok(dropped.unwrap_or_default())
    }

    fn sync_directory(&self, copy: BorrowedFd, path: &TreePath) -> Attempt<()> {
        match fs::fsync(copy) {
            // Where a directory cannot be synced, the user was told.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(attempt_error::target("sync", &self.parts.to, path, errno)),
        }
    }

    /// Brings a directory up to date; whether it must be looked at again.
    fn renew(&self, entry: &Entry) -> Attempt<bool> {
        if entry.state != State::Done {
            // Who carries it does this too; what changes right after that may have the time of before.
            return Ok(matches!(entry.state, State::Queued | State::Placing));
        }
        let (path, to) = (&entry.path, &self.parts.to);
        let failed = |errno| attempt_error::target("look at", to, path, errno);
        let copy = self.open_made(path).map_err(failed)?;
        if !self.made_directory(entry, &Version::of(&copy).map_err(failed)?) {
            return Ok(false);
        }
        let (version, dropped) = self.give_directory(entry, copy.as_fd(), UNTIL_THE_END)?;
        if let Some(dropped) = dropped {
            self.sync_directory(copy.as_fd(), path)?;
            self.say_directory_lacks(entry, &dropped)?;
        }
        Ok(source::is_young(&version))
    }

    fn say_directory_lacks(&self, entry: &Entry, dropped: &Dropped) -> Result<()> {
        let journal = &self.parts.journal;
        let said = dropped.join(", ");
        if journal.dropped(entry.id)?.unwrap_or_default() == said { Ok(()) } else { journal.say_dropped(&[(entry.id, said)]) }
    }

    fn finish_directory(&self, entry: &Entry) -> Attempt<()> {
        let (path, to) = (&entry.path, &self.parts.to);
        let failed = |errno| attempt_error::target("set the mode and times of", to, path, errno);
        let copy = self.open_made(path).map_err(failed)?;
        if !self.made_directory(entry, &Version::of(&copy).map_err(failed)?) {
            return Ok(());
        }
        let (version, dropped) = self.give_directory(entry, copy.as_fd(), 0)?;
        let had = Version::of(&copy).map_err(failed)?.mtime_ns;
        if had != version.mtime_ns {
            attributes::give_directory_time(copy.as_fd(), &version).map_err(failed)?;
        } else if dropped.is_none() {
            return Ok(());
        }
        let mut lacks = dropped.unwrap_or_default();
        attributes::compare_times(&version, &Version::of(&copy).map_err(failed)?, &mut lacks);
        if !lacks.is_empty() {
            self.parts.journal.say_dropped(&[(entry.id, lacks.join(", "))])?;
        }
        Ok(())
    }
}

fn open_directory(shared: &Shared, path: &TreePath) -> Option<OwnedFd> {
    shared.parts.from.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY).ok()
}
