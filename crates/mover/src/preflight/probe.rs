//! What the destination's file system can do, seen with a file of the mover's own.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};

use super::refusal::refused;
use crate::bytes::checksum;
use crate::error::{Result, words};
use crate::file_version::{Kind, Version};
use crate::hex::hex;
use crate::names::{self, Replaces};
use crate::options::Overwrite;
use crate::tree::Tree;

/// What is asked of the file system; a test gives others.
pub(super) struct Calls {
    pub(super) sync: fn(BorrowedFd) -> SysResult<()>,
    /// Within one directory, to a name that is free.
    pub(super) rename: fn(BorrowedFd, &[u8], &[u8]) -> SysResult<()>,
    /// What replaces a name there.
    pub(super) replaces: fn(BorrowedFd, &[u8], &[u8]) -> SysResult<Replaces>,
}

/// The system's own.
pub(super) const CALLS: Calls = Calls { sync: |file| fs::fsync(file), rename: within, replaces: names::replaces };

fn within(dir: BorrowedFd, from: &[u8], to: &[u8]) -> SysResult<()> {
    names::move_to_own((dir, from), (dir, to))
}

/// Makes a file in `tree`, syncs, renames and removes it. Returns what the user must know; refuses where a file can get no name
/// without harm to what others put there, unless `overwrite` says that any file may go. `shown` is the destination as the user wrote it. The file's name is the same each time for one state directory on one
/// host, so that one that a kill left is found and removed.
pub(super) fn probe(tree: &Tree, shown: &Path, state: &Path, overwrite: Overwrite, calls: &Calls) -> Result<Vec<String>> {
    let mut whose = rustix::system::uname().nodename().to_bytes().to_vec();
    whose.extend_from_slice(state.as_os_str().as_bytes());
    let mark = hex(&checksum(&whose));
    let [first, second] = ["probe", "probed"].map(|what| format!(".tonnage-{}.{what}", &mark[..16]).into_bytes());
    let outcome = made(tree.root(), [&first, &second]).and_then(|file| {
        let outcome = attempt(tree.root(), file, (&first, &second), calls);
        let outcome =
            outcome.and_then(|()| (calls.replaces)(tree.root(), &second, &first).map_err(|error| ("rename a file", error)));
        let removed = [&first, &second].map(|name| names::remove(tree.root(), name));
        outcome.and_then(|found| {
            removed.into_iter().collect::<SysResult<()>>().map(|()| found).map_err(|error| ("remove a file", error))
        })
    });
    let shown = shown.display();
    let mut notes = match outcome {
        Ok(Replaces::AtOnce) => Vec::new(),
        Ok(Replaces::ByMovingOut) => {
            let said = "the destination's file system cannot exchange two names: one that is replaced is free for a moment";
            vec![said.to_owned()]
        }
        Ok(Replaces::Never) if overwrite == Overwrite::Always => {
            let said = "the destination's file system has neither links nor a rename that replaces nothing: a file that others put \
                under a name at the very moment it is taken is replaced unseen";
            vec![said.to_owned()]
        }
        Ok(Replaces::Never) => {
            let wrong = format!("the file system of destination {shown} has neither links nor a rename that replaces nothing");
            let hint = "a file that others put there meanwhile could be lost: stage to another file system, or let any file be \
                replaced with --overwrite always";
            return Err(refused(&wrong, hint));
        }
        Err((MAKE, error)) => {
            let hint = "name a directory that files can be made in";
            return Err(refused(&format!("cannot make a file in destination {shown}: {}", words(error)), hint));
        }
        Err((what, error)) => {
            let wrong = format!("the file system of destination {shown} cannot {what}: {}", words(error));
            return Err(refused(&wrong, "stage to a file system that has fsync and rename"));
        }
    };
    if let Err(error) = (calls.sync)(tree.root()) {
        let why = words(error);
        notes.push(format!("the destination's file system cannot sync a directory ({why}); a crash of it may lose names"));
    }
    Ok(notes)
}

/// What failed, and how.
type Step<T> = std::result::Result<T, (&'static str, Errno)>;

const MAKE: &str = "make a file";

/// Makes the first, with both names free of what an earlier probe left.
fn made(root: BorrowedFd, probes: [&[u8]; 2]) -> Step<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let free = probes.iter().try_for_each(|name| clear_leftover(root, name));
    let file = free.and_then(|()| fs::openat(root, probes[0], flags, Mode::from_raw_mode(0o600)));
    file.map(File::from).map_err(|error| (MAKE, error))
}

fn attempt(root: BorrowedFd, mut file: File, (first, second): (&[u8], &[u8]), calls: &Calls) -> Step<()> {
    let written = file.write_all(b"\n").map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    written.map_err(|error| (MAKE, error))?;
    (calls.sync)(file.as_fd()).map_err(|error| ("make a file durable (fsync)", error))?;
    (calls.rename)(root, first, second).map_err(|error| ("rename a file", error))?;
    let renamed = Version::at(root, second).and_then(|there| Ok(there.ino == Version::of(&file)?.ino));
    if renamed == Ok(true) { Ok(()) } else { Err(("rename a file", renamed.err().unwrap_or(Errno::IO))) }
}

/// A probe that a kill left. Anything that does not look like one keeps its name, and the probe fails.
fn clear_leftover(root: BorrowedFd, name: &[u8]) -> SysResult<()> {
    match Version::at(root, name) {
        Ok(left) if left.kind == Kind::File && left.size <= 1 => names::remove(root, name),
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}
