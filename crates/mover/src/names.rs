//! The only place of this crate that renames or unlinks. Names are single components, relative to a directory's handle.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, AtFlags, RenameFlags};
use rustix::io::{Errno, Result};

use crate::file_version::{Kind, Version};

/// What became of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new file has the name; what had it before is gone.
    Yes,
    /// Something unexpected has the name, and keeps it. The temporary is where it was.
    No(Version),
    /// Something else came under the name while it was being replaced, and keeps it; what had it before is beside it, under this name.
    Kept(Vec<u8>),
    /// This file system has no call that replaces a name and harms nothing that comes under it meanwhile. All is as it was.
    Refused,
}

/// The names of one entry in one directory.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    /// Its own.
    pub name: &'a [u8],
    /// What is put there lies under this one first. Nothing but this mover's own is ever under it.
    pub temporary: Vec<u8>,
    /// What is replaced lies under this one until it was looked at. It may be another's file.
    pub old: Vec<u8>,
    /// Whether any file that has the name may go, also one that nobody has looked at.
    pub any: bool,
}

impl<'a> Names<'a> {
    /// Those of the entry number `entry` of `mover`.
    #[must_use]
    pub fn of(mover: &str, entry: i64, name: &'a [u8], any: bool) -> Self {
        Self { name, temporary: temporary(mover, entry), old: old(mover, entry), any }
    }
}

/// A name in an open directory.
pub type At<'a> = (BorrowedFd<'a>, &'a [u8]);
/// Tells a file that is known from all others.
type Known<'a> = &'a dyn Fn(&Version) -> bool;

/// Longest name that file systems take, in bytes.
const NAME_BYTES: usize = 255;
/// Somebody who takes a name away and puts it back can be faster so many times.
const ATTEMPTS: usize = 16;
/// Names beside a taken one that are tried.
const BESIDE: u32 = 10_000;
/// A file system has no call that takes a free name and replaces nothing.
const NO_WAY: Errno = Errno::OPNOTSUPP;

/// What the entry's data is called until it is safe. Known from the journal alone, and short, so that it fits where any name fits.
#[must_use]
pub fn temporary(mover: &str, entry: i64) -> Vec<u8> {
    own(mover, entry, PART)
}

/// What has the entry's name is called so while it is replaced.
fn old(mover: &str, entry: i64) -> Vec<u8> {
    own(mover, entry, OLD)
}

const PART: &str = "part";
const OLD: &str = "old";

fn own(mover: &str, entry: i64, ending: &str) -> Vec<u8> {
    format!(".tonnage-{}-{entry}.{ending}", mover.get(..8).unwrap_or(mover)).into_bytes()
}

/// A name beside one that is taken: as much of that as there is room for.
fn kept(name: &[u8], number: u32) -> Vec<u8> {
    let ending = format!(".tonnage-kept-{number}");
    [&name[..name.len().min(NAME_BYTES - ending.len())], ending.as_bytes()].concat()
}

/// The number of the entry of `mover` whose [`temporary`] is called so.
#[must_use]
pub fn temporary_of(mover: &str, name: &[u8]) -> Option<i64> {
    own_number(mover, name, PART)
}

/// The number of the entry of `mover` that is replaced, where what it replaces is called so. What lies there need not be its own.
#[must_use]
pub fn old_of(mover: &str, name: &[u8]) -> Option<i64> {
    own_number(mover, name, OLD)
}

fn own_number(mover: &str, name: &[u8], ending: &str) -> Option<i64> {
    let stem = std::str::from_utf8(name).ok()?.strip_suffix(ending)?.strip_suffix('.')?;
    let entry = stem.rsplit_once('-')?.1.parse().ok()?;
    (own(mover, entry, ending) == name).then_some(entry)
}

/// Whether `name` is one that any mover gives to a file it has not finished: `.tonnage-<8 hex>-<decimal>.part`, or `.old`.
#[must_use]
pub fn is_temporary(name: &[u8]) -> bool {
    let ended = name.strip_suffix(b".part").or_else(|| name.strip_suffix(b".old"));
    let middle = ended.and_then(|rest| rest.strip_prefix(b".tonnage-"));
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

/// Removes the directory `name`, which this mover made, if it is empty.
pub fn remove_directory(dir: BorrowedFd, name: &[u8]) -> Result<()> {
    fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// Removes `name` where it is still the file `ino`; whatever else has it keeps it.
pub fn remove_if(dir: BorrowedFd, name: &[u8], ino: u64) -> Result<()> {
    remove_known((dir, name), &|there| there.ino == ino)
}

fn remove_known(at: At, known: Known) -> Result<()> {
    match look(at)? {
        Some(there) if there.kind != Kind::Directory && known(&there) => remove(at.0, at.1),
        _ => Ok(()),
    }
}

/// Gives the file `new` of the mover's own state the name of the one that it replaces.
pub fn renew(dir: BorrowedFd, new: &[u8], name: &[u8]) -> Result<()> {
    fs::renameat(dir, new, dir, name)
}

/// Renames `from`, whatever has that name, to `to`, which must be free and nobody's but the mover's: without `RENAME_NOREPLACE` it looks
/// first.
pub fn move_to_own(from: At, to: At) -> Result<()> {
    match fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        Err(error) if unknown(error) => {
            if look(to)?.is_some() {
                return Err(Errno::EXIST);
            }
            // What is there after an error came by this very call: only its answer was lost.
            fs::renameat(from.0, from.1, to.0, to.1).or_else(|error| if taken(to) { Ok(()) } else { Err(error) })
        }
        Err(error @ (Errno::EXIST | Errno::NOENT)) => Err(error),
        Err(_) if taken(to) => Ok(()),
        other => other,
    }
}

/// Renames `from`, a name of the mover's own, to `to`, which must be free: `EEXIST` where it is not, also where somebody takes it at the
/// last moment; `EOPNOTSUPP` where this file system has no call that replaces nothing.
pub fn move_to_free(from: At, to: At) -> Result<()> {
    let ino = Version::at(from.0, from.1)?.ino;
    move_known(from, to, &|there| there.ino == ino)
}

/// The same for a file that is `known`.
fn move_known(from: At, to: At, known: Known) -> Result<()> {
    match fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(error) if unknown(error) => link_and_remove(from, to, known),
        Err(error) => arrived(from, to, known, error),
    }
}

/// For file systems that do not know `RENAME_NOREPLACE`: a link never replaces anything either.
fn link_and_remove(from: At, to: At, known: Known) -> Result<()> {
    match fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
        // Each of the two names may have a number of its own (FUSE), so that none is compared.
        Ok(()) => remove(from.0, from.1),
        Err(error) if has_no_links(error) => Err(NO_WAY),
        Err(error) => arrived(from, to, known, error),
    }
}

/// A call that was to bring a file from one name to another failed, which does not say that it did nothing: the names do.
fn arrived(from: At, to: At, known: Known, error: Errno) -> Result<()> {
    if is(to, known) { remove_known(from, known) } else { Err(error) }
}

/// Exchanges two names of which the first is that of a file which is `known`, and the second is not.
fn exchange(dir: BorrowedFd, first: &[u8], second: &[u8], known: Known) -> Result<()> {
    match fs::renameat_with(dir, first, dir, second, RenameFlags::EXCHANGE) {
        Err(_) if is((dir, second), known) => Ok(()),
        other => other,
    }
}

/// Gives `from`, a name of the mover's own, a free name beside `name` in the directory `to`, and says which.
pub fn keep_beside(from: At, to: BorrowedFd, name: &[u8]) -> Result<Vec<u8>> {
    for number in 1..=BESIDE {
        let kept = kept(name, number);
        let moved = match move_to_free(from, (to, &kept)) {
            Err(NO_WAY) => move_to_own(from, (to, &kept)),
            other => other,
        };
        match moved {
            Err(Errno::EXIST) => {}
            other => return other.map(|()| kept),
        }
    }
    Err(Errno::EXIST)
}

/// Gives the temporary, which is `new`, its name, whether that is free or taken by what is `expected`. Whatever else has the name keeps
/// it. A directory is never replaced. Nothing may be under `names.old`: [`end_replacement`] sees to that.
///
/// What is replaced goes to `names.old`, in exchange for the new file where the file system can do that, and is looked at there: no call
/// removes what was looked at under a name that others use. Where a call fails in between, or the process ends, it stays there, and
/// [`end_replacement`] goes on. What a call did is never told from its error alone.
pub fn replace(dir: BorrowedFd, names: &Names, new: Known, expected: &mut dyn FnMut(&Version) -> bool) -> Result<Replaced> {
    for _ in 0..ATTEMPTS {
        match move_known((dir, &names.temporary), (dir, names.name), new) {
            // Most often it is free.
            Ok(()) => return Ok(Replaced::Yes),
            Err(Errno::EXIST) => {}
            Err(NO_WAY) => return rename_over(dir, names, new, expected),
            Err(error) => return Err(error),
        }
        let Some(there) = look((dir, names.name))? else { continue };
        if there.kind == Kind::Directory || !expected(&there) {
            return Ok(Replaced::No(there));
        }
        if let Some(replaced) = swap(dir, names, new, expected)? {
            return Ok(replaced);
        }
    }
    Err(Errno::BUSY)
}

/// Puts the temporary in place of what has the name; `None` where nothing has it any more.
fn swap(dir: BorrowedFd, names: &Names, new: Known, expected: &mut dyn FnMut(&Version) -> bool) -> Result<Option<Replaced>> {
    let (temporary, old) = ((dir, &*names.temporary), (dir, &*names.old));
    match fs::renameat_with(dir, temporary.1, dir, old.1, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(error) if unknown(error) => {
            return if can_link(dir, names)? { move_out(dir, names, new, expected) } else { Ok(Some(Replaced::Refused)) };
        }
        Err(error) => arrived(temporary, old, new, error)?,
    }
    if let Err(error) = exchange(dir, old.1, names.name, new) {
        if !is(old, new) {
            return Err(error);
        }
        move_known(old, temporary, new)?;
        return match error {
            Errno::NOENT => Ok(None),
            error if unknown(error) => move_out(dir, names, new, expected),
            error => Err(error),
        };
    }
    let out = Version::at(dir, old.1)?;
    if out.kind != Kind::Directory && expected(&out) {
        return remove_if(dir, old.1, out.ino).map(|()| Some(Replaced::Yes));
    }
    Ok(Some(give_back(dir, names, new)?.map_or(Replaced::No(out), Replaced::Kept)))
}

/// For file systems that cannot exchange two names: the name is free for a moment, and a link, or a rename that replaces nothing, takes
/// it.
fn move_out(dir: BorrowedFd, names: &Names, new: Known, expected: &mut dyn FnMut(&Version) -> bool) -> Result<Option<Replaced>> {
    let (temporary, name) = ((dir, &*names.temporary), (dir, names.name));
    match move_to_own(name, (dir, &names.old)) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    }
    let out = Version::at(dir, &names.old)?;
    if out.kind == Kind::Directory || !expected(&out) {
        return Ok(Some(go_back(dir, names)?.map_or(Replaced::No(out), Replaced::Kept)));
    }
    match move_known(temporary, name, new) {
        Ok(()) => {}
        Err(Errno::EXIST) => return keep(dir, names).map(|kept| Some(Replaced::Kept(kept))),
        // It has its name, and another one still.
        Err(_) if is(name, new) => {}
        // The name belongs to what had it; where that fails too, `end_replacement` does it.
        Err(error) => return go_back(dir, names).ok().flatten().map_or(Err(error), |kept| Ok(Some(Replaced::Kept(kept)))),
    }
    remove_if(dir, &names.old, out.ino)?;
    remove_known(temporary, new).map(|()| Some(Replaced::Yes))
}

/// For file systems that have no call which takes a name and replaces nothing: what comes under the name in between is lost, so that it
/// is done only where any file may go.
fn rename_over(dir: BorrowedFd, names: &Names, new: Known, expected: &mut dyn FnMut(&Version) -> bool) -> Result<Replaced> {
    match look((dir, names.name))? {
        Some(there) if there.kind == Kind::Directory || !expected(&there) => return Ok(Replaced::No(there)),
        _ if !names.any => return Ok(Replaced::Refused),
        _ => {}
    }
    match fs::renameat(dir, &*names.temporary, dir, names.name) {
        Err(error) => arrived((dir, &names.temporary), (dir, names.name), new, error),
        Ok(()) => Ok(()),
    }
    .map(|()| Replaced::Yes)
}

/// Undoes an exchange. Where a third party has put yet another file under the name meanwhile, that one keeps it, and the one that came
/// out is kept beside it: under which name.
fn give_back(dir: BorrowedFd, names: &Names, new: Known) -> Result<Option<Vec<u8>>> {
    let swapped = || {
        let out = Version::at(dir, &names.old)?.ino;
        exchange(dir, &names.old, names.name, &|there| there.ino == out)
    };
    match swapped() {
        Ok(()) => {}
        // Somebody took the new file away: the name is free.
        Err(Errno::NOENT) => return go_back(dir, names),
        Err(error) => return Err(error),
    }
    // A look that fails says nothing: `end_replacement` goes on from here.
    if look((dir, &names.old))?.is_none_or(|back| new(&back)) {
        return move_known((dir, &names.old), (dir, &names.temporary), new).map(|()| None);
    }
    swapped()?;
    keep(dir, names).map(Some)
}

/// Gives what was moved out its name again; where that was taken meanwhile it is kept beside it: under which name.
fn go_back(dir: BorrowedFd, names: &Names) -> Result<Option<Vec<u8>>> {
    match move_to_free((dir, &names.old), (dir, names.name)) {
        Ok(()) => Ok(None),
        Err(Errno::EXIST) => keep(dir, names).map(Some),
        Err(error) => Err(error),
    }
}

fn keep(dir: BorrowedFd, names: &Names) -> Result<Vec<u8>> {
    keep_beside((dir, &names.old), dir, names.name)
}

/// Ends what a [`replace`] by what is `new` left half done. Returns the name of what had to be kept beside the entry's.
pub fn end_replacement(dir: BorrowedFd, names: &Names, new: Known, expected: Known) -> Result<Option<Vec<u8>>> {
    let (temporary, old) = ((dir, &*names.temporary), (dir, &*names.old));
    let Some(out) = look(old)? else { return Ok(None) };
    let there = look((dir, names.name))?;
    if new(&out) {
        // It came no further than this name, or is only another name of what has its own.
        let free = there.is_none_or(|there| there.ino != out.ino) && look(temporary)?.is_none();
        let done = if free { move_known(old, temporary, new) } else { remove_known(old, new) };
        return done.map(|()| None);
    }
    match there {
        None => go_back(dir, names),
        Some(_) if out.kind != Kind::Directory && expected(&out) => remove_if(dir, old.1, out.ino).map(|()| None),
        Some(there) if new(&there) => match give_back(dir, names, new) {
            Err(error) if unknown(error) => keep(dir, names).map(Some),
            other => other,
        },
        Some(_) => keep(dir, names).map(Some),
    }
}

/// How a file system lets a name be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// By an exchange of two names.
    AtOnce,
    /// What has the name is moved out first.
    ByMovingOut,
    /// There is no way that harms nothing of others.
    Never,
}

/// Finds out with the file `name` of the mover's own how names are replaced in `dir`; `free` is a name of its own, too.
pub fn replaces(dir: BorrowedFd, name: &[u8], free: &[u8]) -> Result<Replaces> {
    let linked = match fs::linkat(dir, name, dir, free, AtFlags::empty()) {
        Ok(()) => true,
        Err(error) if has_no_links(error) => false,
        Err(error) => return Err(error),
    };
    let noreplace = |from: &[u8], to: &[u8]| fs::renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE);
    if linked {
        remove(dir, free)?;
    }
    match noreplace(name, free) {
        Ok(()) => noreplace(free, name)?,
        Err(error) if unknown(error) => return Ok(if linked { Replaces::ByMovingOut } else { Replaces::Never }),
        Err(error) => return Err(error),
    }
    // Two different files are needed: the exchange of two links of one does nothing, and says so of no file system.
    let flags = fs::OFlags::WRONLY | fs::OFlags::CREATE | fs::OFlags::EXCL | fs::OFlags::NOFOLLOW | fs::OFlags::CLOEXEC;
    fs::openat(dir, free, flags, fs::Mode::RUSR | fs::Mode::WUSR)?;
    let exchanged = fs::renameat_with(dir, name, dir, free, RenameFlags::EXCHANGE);
    remove(dir, free)?;
    match exchanged {
        Ok(()) => Ok(Replaces::AtOnce),
        Err(error) if unknown(error) => Ok(Replaces::ByMovingOut),
        Err(error) => Err(error),
    }
}

/// Whether files have links here. That a link to a taken name is refused says nothing: the name is looked at first.
fn can_link(dir: BorrowedFd, names: &Names) -> Result<bool> {
    match fs::linkat(dir, &*names.temporary, dir, &*names.old, AtFlags::empty()) {
        Ok(()) => remove(dir, &names.old).map(|()| true),
        Err(error) if has_no_links(error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What has the name; `None` where it is free.
fn look(at: At) -> Result<Option<Version>> {
    match Version::at(at.0, at.1) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the name is seen to be that of a file which is `known`.
fn is(at: At, known: Known) -> bool {
    look(at).is_ok_and(|there| there.is_some_and(|there| known(&there)))
}

/// Whether something is seen to have the name.
fn taken(at: At) -> bool {
    is(at, &|_| true)
}

/// Whether a file system answers a link so that none of this file will ever be made there.
#[must_use]
pub fn has_no_links(error: Errno) -> bool {
    unknown(error) || matches!(error, Errno::PERM | Errno::MLINK | Errno::XDEV)
}

/// Whether a file system answers so to a call or a flag that it does not know.
fn unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
