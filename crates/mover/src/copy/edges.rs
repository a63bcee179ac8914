//! The beginning and the end: what a mover before this one left half done, and the directories' own modes and times.

use std::os::fd::AsFd;

use rustix::fs::{self, FileType, OFlags, RawDir};

use super::ended::{self, Attempt, split};
use super::stream::Sync;
use super::{Carrier, Shared, attributes};
use crate::entry::{Entry, State};
use crate::error::Result;
use crate::names;
use crate::path::TreePath;
use crate::tree::Tree;
use crate::version::{Kind, Version};

/// Entries that are looked at together.
const PAGE: u32 = 1000;

impl Carrier {
    /// Settles what an earlier mover was about to place, and removes temporaries of what will not be copied any more. Before the first
    /// scan, so that what is whole is placed even if its source is gone. What cannot be settled stays queued and is carried again.
    pub fn recover(&self) -> Result<()> {
        self.pages(|journal, after| journal.in_state(State::Placing, after, PAGE), |entries| self.carry(entries).map(|_| ()))?;
        for given_up in [State::Failed, State::Gone] {
            let abandon = |page: Vec<Entry>| page.iter().try_for_each(|entry| self.abandon(entry));
            self.pages(|journal, after| journal.in_state(given_up, after, PAGE), abandon)?;
        }
        Ok(())
    }

    /// Removes every temporary of this mover in the destination. For a journal that begins anew: nothing it knows has one yet, and
    /// those that the former one knew would stay for ever. What cannot be read is passed over.
    pub fn sweep(&self) -> Result<()> {
        let parts = &self.shared.parts;
        let mut directories = vec![TreePath::root()];
        while let Some(at) = directories.pop() {
            if self.shared.halted() {
                break;
            }
            let Ok(directory) = parts.to.directory(&at) else { continue };
            let mut buffer = Box::new_uninit_slice(32 << 10);
            let mut listed = RawDir::new(&directory, &mut buffer);
            let mut left = Vec::new();
            while let Some(Ok(entry)) = listed.next() {
                let name = entry.file_name().to_bytes();
                match entry.file_type() {
                    _ if matches!(name, b"." | b"..") => {}
                    FileType::Directory => directories.push(at.join(name)),
                    _ if names::is_temporary_of(parts.journal.id(), name) => left.push(name.to_vec()),
                    FileType::Unknown => directories.push(at.join(name)),
                    _ => {}
                }
            }
            for name in left {
                let _ = names::remove(directory.as_fd(), &name);
            }
        }
        Ok(())
    }

    fn pages(
        &self,
        read: impl Fn(&crate::journal::Journal, i64) -> Result<Vec<Entry>>,
        mut work: impl FnMut(Vec<Entry>) -> Result<()>,
    ) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            let found = read(&self.shared.parts.journal, after)?;
            let Some(last) = found.last() else { return Ok(()) };
            after = last.id;
            work(found)?;
        }
    }

    /// Removes the temporary of an entry that will not be copied any more, and forgets its chunks. One that cannot be reached now is
    /// removed when a mover starts.
    pub fn abandon(&self, entry: &Entry) -> Result<()> {
        let shared = &self.shared;
        if let Ok(target) = shared.parts.to.directory(&entry.path.parent()) {
            let _ = names::remove(target.as_fd(), &shared.temporary(entry));
        }
        if entry.version.kind == Kind::File { shared.parts.journal.forget_chunks(entry.id) } else { Ok(()) }
    }

    /// Gives the directories that this mover made their modes, owners, attributes and times, once nothing more is put into them.
    /// Returns why it could not, for each where so.
    pub fn finish_directories(&self) -> Result<Vec<(i64, String)>> {
        let (shared, mut failures) = (&self.shared, Vec::new());
        let together = Sync::handle(&shared.parts.to).ok();
        let directories = shared.parts.journal.directories()?;
        for ids in directories.chunks(PAGE as usize) {
            for entry in shared.parts.journal.entries(ids)? {
                if let Err(crate::Outcome::Failed { reason, .. }) = split(shared.finish_directory(&entry))? {
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
    fn finish_directory(&self, entry: &Entry) -> Attempt<()> {
        let (path, to) = (&entry.path, &self.parts.to);
        let failed = |errno| ended::target("set the mode and times of", to, path, errno);
        let target = to.directory(path).map_err(failed)?;
        let there = Version::of(&target).map_err(failed)?;
        if entry.placed.is_none_or(|placed| placed.ino != there.ino) {
            return Ok(());
        }
        // Gone from the source: then what the journal knows is the last there was.
        let source = open_directory(&self.parts.from, entry);
        let version = source.as_ref().and_then(|source| Version::of(source).ok()).unwrap_or(entry.version);
        if (there.mode, there.mtime_ns, there.uid, there.gid) == (version.mode, version.mtime_ns, version.uid, version.gid) {
            return Ok(());
        }
        let source = source.as_ref().map_or(target.as_fd(), AsFd::as_fd);
        attributes::give_directory(target.as_fd(), source, &version).map_err(failed)
    }
}

fn open_directory(from: &Tree, entry: &Entry) -> Option<std::os::fd::OwnedFd> {
    from.open_beneath(&entry.path, OFlags::RDONLY | OFlags::DIRECTORY).ok()
}
