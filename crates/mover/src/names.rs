//! The only place of this crate that renames or unlinks. Names are single components, relative to a directory's handle.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, AtFlags, RenameFlags};
use rustix::io::{Errno, Result};

use crate::version::{Kind, Version};

/// What became of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new file has the name; what had it before is gone.
    Yes,
    /// Something unexpected has the name, and keeps it. The temporary is where it was.
    No(Version),
}

/// What the entry's data is called until it is safe. Known from the journal alone, and short, so that it fits where any name fits.
#[must_use]
pub fn temporary(mover: &str, entry: i64) -> Vec<u8> {
    format!(".tonnage-{}-{entry}.part", mover.get(..8).unwrap_or(mover)).into_bytes()
}

/// Whether `name` is one that [`temporary`] gives to an entry of `mover`.
#[must_use]
pub fn is_temporary_of(mover: &str, name: &[u8]) -> bool {
    let number = std::str::from_utf8(name).ok().and_then(|name| name.strip_suffix(".part")?.rsplit_once('-')?.1.parse().ok());
    number.is_some_and(|entry| temporary(mover, entry) == name)
}

/// Whether `name` is one that any mover gives to a file it has not finished: `.tonnage-<8 hex>-<decimal>.part`.
#[must_use]
pub fn is_temporary(name: &[u8]) -> bool {
    let middle = name.strip_prefix(b".tonnage-").and_then(|rest| rest.strip_suffix(b".part"));
    middle.and_then(|middle| middle.split_at_checked(8)).is_some_and(|(mover, rest)| {
        let digits = rest.strip_prefix(b"-").unwrap_or_default();
        mover.iter().all(u8::is_ascii_hexdigit) && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    })
}

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
        Err(error) if unknown(error) => look_and_rename((dir, name), (dir, new)),
        other => other,
    }
}

/// Renames `from` to `to`, which must be free: `EEXIST` where it is not, also where somebody takes it at the last moment.
pub fn move_to_free(from: (BorrowedFd, &[u8]), to: (BorrowedFd, &[u8])) -> Result<()> {
    match fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        Err(error) if unknown(error) => link_and_remove(from, to),
        other => other,
    }
}

/// For file systems that do not know `RENAME_NOREPLACE`: a link never replaces anything either.
fn link_and_remove(from: (BorrowedFd, &[u8]), to: (BorrowedFd, &[u8])) -> Result<()> {
    match fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
        Ok(()) => remove(from.0, from.1),
        // No hard links either: nothing better is left than to look first.
        Err(error) if unknown(error) || matches!(error, Errno::PERM | Errno::MLINK | Errno::XDEV) => look_and_rename(from, to),
        Err(error) => Err(error),
    }
}

fn look_and_rename(from: (BorrowedFd, &[u8]), to: (BorrowedFd, &[u8])) -> Result<()> {
    match Version::at(to.0, to.1) {
        Err(Errno::NOENT) => fs::renameat(from.0, from.1, to.0, to.1),
        Err(error) => Err(error),
        Ok(_) => Err(Errno::EXIST),
    }
}

/// Gives the temporary the name `name`, whether that is free or taken by what is `expected`. Whatever else has the name keeps it:
/// the two are exchanged, what came out is looked at, and the unexpected is put back. A directory is never replaced.
pub fn replace(dir: BorrowedFd, temporary: &[u8], name: &[u8], expected: &mut dyn FnMut(&Version) -> bool) -> Result<Replaced> {
    // Most often it is free.
    let Replaced::No(there) = take_free(dir, temporary, name)? else { return Ok(Replaced::Yes) };
    if there.kind == Kind::Directory || !expected(&there) {
        return Ok(Replaced::No(there));
    }
    let ours = Version::at(dir, temporary)?;
    match fs::renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return take_free(dir, temporary, name),
        Err(error) if unknown(error) => {
            fs::renameat(dir, temporary, dir, name)?;
            // Two links of one inode: the rename did nothing, and the temporary is still there.
            return remove(dir, temporary).map(|()| Replaced::Yes);
        }
        Err(error) => return Err(error),
    }
    let out = Version::at(dir, temporary)?;
    if out.kind != Kind::Directory && expected(&out) {
        return remove(dir, temporary).map(|()| Replaced::Yes);
    }
    give_back(dir, temporary, name, &ours)?;
    Ok(Replaced::No(out))
}

fn take_free(dir: BorrowedFd, temporary: &[u8], name: &[u8]) -> Result<Replaced> {
    match move_to_free((dir, temporary), (dir, name)) {
        Ok(()) => Ok(Replaced::Yes),
        Err(Errno::EXIST) => Version::at(dir, name).map(Replaced::No),
        Err(error) => Err(error),
    }
}

/// Undoes an exchange. Where a third party has put yet another file under the name meanwhile, that one keeps it, and the one it would
/// have replaced stays beside the temporary, because it is not this mover's to remove.
pub fn give_back(dir: BorrowedFd, temporary: &[u8], name: &[u8], ours: &Version) -> Result<()> {
    fs::renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE)?;
    if Version::at(dir, temporary)?.ino == ours.ino {
        return Ok(());
    }
    fs::renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE)?;
    move_to_free((dir, temporary), (dir, &[temporary, b".kept"].concat()))
}

/// Whether a file system answers so to a call or a flag that it does not know.
fn unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
