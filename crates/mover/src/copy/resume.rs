//! What an attempt that was ended by a crash left behind: whether it is whole, and where it stands.

use std::os::fd::AsFd;

use super::attempt_error::{self, Attempt};
use super::batch::{Batch, Item, Shape};
use super::destination_name;
use super::handles;
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Entry, Placed, State};
use crate::names;

impl Batch<'_> {
    /// What a killed mover had made whole of an entry; `None`: it must be copied.
    pub(super) fn left_whole(&mut self, entry: &Entry) -> Attempt<Option<Item>> {
        if entry.state == State::Placing { self.resume(entry) } else { Ok(None) }
    }

    /// An entry of which the journal says that its temporary was whole and synced: where it stands. `None`: it must be copied again.
    fn resume(&mut self, entry: &Entry) -> Attempt<Option<Item>> {
        let (shared, path) = (self.shared, &entry.path);
        let own = |placed: &Placed| entry.version.kind != Kind::Directory && !placed.is_of_others();
        let Some(placed) = entry.placed.filter(own) else { return Ok(None) };
        let failed = |errno| attempt_error::target("look at", &shared.parts.to, path, errno);
        let target = self.handles.target(path)?;
        let temporary = shared.temporary(entry);
        shared.end_replacement(target.as_fd(), entry)?;
        let there = handles::at(target.as_fd(), path.name()).map_err(failed)?;
        let left = handles::at(target.as_fd(), &temporary).map_err(failed)?;
        let waits = left.is_some_and(|left| destination_name::is(&placed, &left));
        let mut is = |name: &[u8], found: Option<Version>, by_content: bool| -> Attempt<bool> {
            match (found, placed.checksum) {
                (Some(found), Some(checksum)) if entry.version.kind == Kind::File => {
                    let alike = (found.kind, found.size, found.mtime_ns) == (Kind::File, placed.size, placed.mtime_ns);
                    let known = found.ino == placed.ino && !by_content;
                    // Its number is another after a mount, on some file systems.
                    let mut stored = || shared.on_device(target.as_fd(), name, placed.size, path, &mut self.buffer);
                    Ok(alike && (known || stored()? == Some(checksum)))
                }
                (found, _) => Ok(found.is_some_and(|found| destination_name::placed(&found, placed.checksum) == placed)),
            }
        };
        let item = |found: Version, shape| {
            let placed = Placed { ino: found.ino, ..placed };
            Some(Item { entry: entry.clone(), version: entry.version, placed, shape, read_back: false, dropped: None })
        };
        // A copy of an earlier state may have the same bytes and time, and other attributes: where no inode tells which is which, both are
        // of no use.
        if let (Some(found), Some(other)) = (there, left)
            && !shared.parts.established.inodes_last
            && found.same_but_for_its_inode(&other)
        {
            return Ok(None);
        }
        if let Some(found) = there
            && !waits
            && is(path.name(), there, false)?
        {
            match left {
                // A mover before this one exchanged its temporary itself with what had the name.
                Some(left) if left.ino != found.ino && !shared.may_replace(entry, &entry.version, &left) => {
                    names::move_to_own((target.as_fd(), &temporary), (target.as_fd(), &shared.names(entry).old))
                        .map_err(failed)?;
                    shared.end_replacement(target.as_fd(), entry)?;
                    return Err(shared.taken(path, &entry.version, &left));
                }
                Some(left) => names::remove_if(target.as_fd(), &temporary, left.ino).map_err(failed)?,
                None => {}
            }
            return Ok(item(found, Shape::There));
        }
        // What has not got its name yet is read again: only then is it known to be whole.
        Ok(match left {
            Some(found) if is(&temporary, left, true)? => item(found, Shape::Temporary),
            _ => None,
        })
    }
}
