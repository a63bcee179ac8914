//! The only place of this crate that renames or unlinks. Names are single components, relative to a directory's handle.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, AtFlags, RenameFlags};
use rustix::io::{Errno, Result};

/// Removes `name`, which this mover made. Nothing is wrong where it is gone already.
pub fn remove(dir: BorrowedFd, name: &[u8]) -> Result<()> {
    match fs::unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Renames `name` to `new`, which must be free, within `dir`. For the mover's own state only: without `RENAME_NOREPLACE`
/// it looks first, which is enough where the lock keeps others out.
pub fn set_aside(dir: BorrowedFd, name: &[u8], new: &[u8]) -> Result<()> {
    match fs::renameat_with(dir, name, dir, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match fs::statat(dir, new, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => fs::renameat(dir, name, dir, new),
            Err(error) => Err(error),
            Ok(_) => Err(Errno::EXIST),
        },
        other => other,
    }
}
