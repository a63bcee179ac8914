//! What a mover before this one left half done at the destination, in the order in which that is ended: the [sweep](Carrier::sweep) of
//! temporaries whose journal is lost, [what was being placed](Carrier::recover), and after the first scan, which says what the source
//! still has, [what is given up](Carrier::abandon_given_up).

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, RawDir};
use rustix::io::{Errno, Result as SysResult};

use super::attempt_error::split;
use super::{Carrier, Shared};
use crate::bytes::stream::Buffer;
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal::Owed;
use crate::journal_entry::{Entry, Outcome, State};
use crate::names;
use crate::path::TreePath;

/// Entries that are looked at together.
const PAGE: u32 = 1000;

impl Carrier {
    /// Settles what an earlier mover was about to place. Before the first scan, so that what is whole is placed even if its source is
    /// gone. What cannot be settled stays queued and is carried again.
    pub fn recover(&self) -> Result<()> {
        self.pages(|journal, after| journal.in_state(State::Placing, after, PAGE), |entries| self.carry(entries).map(|_| ()))
    }

    /// Removes temporaries that an earlier mover left of what will not be copied any more. After the first scan, which says what that
    /// is; not of what is `queued`, which a worker may have in hand.
    pub fn abandon_given_up(&self, queued: impl Fn(i64) -> bool) -> Result<()> {
        for given_up in [State::Failed, State::Gone] {
            let abandon =
                |page: Vec<Entry>| page.iter().filter(|entry| !queued(entry.id)).try_for_each(|entry| self.abandon(entry));
            self.pages(|journal, after| journal.in_state(given_up, after, PAGE), abandon)?;
        }
        Ok(())
    }

    /// Removes the temporaries in the destination that a former journal of this mover knew: those that this one knows are settled one by
    /// one. A sweep that is ended, or cannot look everywhere, is owed still: false.
    pub fn sweep(&self) -> Result<bool> {
        let (parts, mut all) = (&self.shared.parts, true);
        if parts.journal.owed()? != Owed::Sweep {
            return Ok(true);
        }
        let before = parts.journal.first_id()?;
        let mut directories = vec![TreePath::root()];
        while let Some(at) = directories.pop() {
            if self.shared.halted() {
                return Ok(false);
            }
            let swept = parts.to.directory(&at).and_then(|directory| {
                let replaced = self.sweep_directory(&at, directory.as_fd(), before, &mut directories)?;
                Ok((directory, replaced))
            });
            match swept {
                Ok((directory, replaced)) => {
                    for name in replaced {
                        self.shared.give_name_back(&at, directory.as_fd(), &name)?;
                    }
                }
                // What others keep to themselves holds nothing of this mover's.
                Err(Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => all = false,
            }
        }
        if all {
            parts.journal.owe(Owed::Nothing)?;
        }
        Ok(all)
    }

    /// The same for one directory; those in it are added to `directories`. Returns what was being replaced.
    fn sweep_directory(
        &self,
        at: &TreePath,
        directory: BorrowedFd,
        before: i64,
        directories: &mut Vec<TreePath>,
    ) -> SysResult<Vec<Vec<u8>>> {
        let id = self.shared.parts.journal.id();
        let former = |number: Option<i64>| number.is_some_and(|number| number < before);
        let mut buffer = Box::new_uninit_slice(32 << 10);
        let mut listed = RawDir::new(directory, &mut buffer);
        let (mut left, mut replaced) = (Vec::new(), Vec::new());
        while let Some(entry) = listed.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            match entry.file_type() {
                _ if matches!(name, b"." | b"..") => {}
                FileType::Directory => directories.push(at.join(name)),
                _ if former(names::temporary_of(id, name)) => left.push(name.to_vec()),
                _ if former(names::old_of(id, name)) => replaced.push(name.to_vec()),
                FileType::Unknown => directories.push(at.join(name)),
                _ => {}
            }
        }
        left.iter().try_for_each(|name| names::remove(directory, name))?;
        Ok(replaced)
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
            if let Err(Outcome::Failed { reason, .. }) = split(shared.end_replacement(target.as_fd(), entry))? {
                shared.note(reason);
            }
            let _ = names::remove(target.as_fd(), &shared.temporary(entry));
        }
        if entry.version.kind == Kind::File { shared.parts.journal.forget_chunks(entry.id) } else { Ok(()) }
    }
}

impl Shared {
    /// What was being replaced when a mover was ended whose journal is lost: the number in its name says nothing any more. What the
    /// manifest knows gets its name back, or goes where that is taken; anything else may be another's, and stays.
    fn give_name_back(&self, at: &TreePath, directory: BorrowedFd, name: &[u8]) -> Result<()> {
        let Ok(out) = Version::at(directory, name) else { return Ok(()) };
        let mut buffer = Buffer::new();
        for known in self.parts.journal.placed_like(at, out.size, out.mtime_ns)? {
            let checksum = known.placed.and_then(|placed| placed.checksum);
            let same = out.kind == Kind::File && checksum.is_some();
            if same && split(self.hash_name(directory, name, at, &out, &mut buffer))?.is_ok_and(|found| found == checksum) {
                match names::move_to_free((directory, name), (directory, known.path.name())) {
                    Ok(()) => return Ok(()),
                    Err(Errno::EXIST) if names::remove(directory, name).is_ok() => return Ok(()),
                    Err(_) => break,
                }
            }
        }
        let place = at.join(name);
        self.note(format!(
            "{place} at the destination had a name that was being replaced when a mover was ended; hint: look whose it is"
        ));
        Ok(())
    }
}
