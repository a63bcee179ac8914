//! Removes a tree that Tonnage made: exactly the files and directories that are spelled like its names.
//!
//! Where the caller knows when the tree was left, files that were changed since then are not ours either, whatever they
//! are called. Every step is relative to a handle that is held, follows no link and crosses no mount. What is not ours stays, with
//! all directories on the way to it.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, DirEntry, FileType};
use rustix::io::Errno;
use tonnage_workload::MAX_DEPTH;

use crate::error::Result;
use crate::fs::held_directories::{failed, is_regular, open_below};
use crate::names::{Spelled, spelled};
use crate::scratch::changes::{Until, is_of_then};

/// How often a directory is listed at most; what is still in it then is told as what stays.
const PASSES: u32 = 100;

/// Removes the tree with the root `name` in `parent`, which is at `path`. Gives the first
/// thing in it that is not ours.
pub(crate) fn remove_tree(parent: impl AsFd, name: &CStr, path: &Path, tree: Tree) -> Result<Option<PathBuf>> {
    remove_directory(parent, name, &path.join(text(name)), tree, MAX_DEPTH)
}

/// What is the same in every directory of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    /// The file system that holds it.
    pub(crate) device: u64,
    pub(crate) until: Until,
}

/// Removes a directory of a tree and what is in it; `levels` more may be below.
fn remove_directory(parent: impl AsFd, name: &CStr, path: &Path, tree: Tree, levels: u32) -> Result<Option<PathBuf>> {
    let stays = || Ok(Some(path.to_owned()));
    let held = match open_below(&parent, name) {
        Ok(held) => held,
        // Another process of the same run clears as well.
        Err(Errno::NOENT) => return Ok(None),
        // A link, a file, or another file system in its place.
        Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return stays(),
        Err(errno) => return Err(failed("open the directory", path, errno)),
    };
    let stat = fs::fstat(&held).map_err(|errno| failed("measure", path, errno))?;
    if stat.st_dev != tree.device {
        return stays();
    }
    if let Some(foreign) = empty(&held, path, tree, levels)? {
        return Ok(Some(foreign));
    }
    match fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) if (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino) => remove_empty(parent, name, path),
        Err(Errno::NOENT) => Ok(None),
        // Renamed meanwhile, with another one in its place.
        Ok(_) => stays(),
        Err(errno) => Err(failed("measure", path, errno)),
    }
}

/// Removes all that is ours in a directory; the first thing that is not.
fn empty(held: &OwnedFd, path: &Path, tree: Tree, levels: u32) -> Result<Option<PathBuf>> {
    let mut foreign = None;
    for _ in 0..PASSES {
        let mut removed = false;
        foreign = None;
        for entry in Dir::read_from(held).map_err(|errno| failed("list", path, errno))? {
            let entry = entry.map_err(|errno| failed("list", path, errno))?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            match remove_entry(held, &entry, path, tree, levels)? {
                Some(stays) => {
                    foreign.get_or_insert(stays);
                }
                None => removed = true,
            }
        }
        // Some file systems skip names of a directory that shrinks while it is listed: look again.
        if !removed {
            break;
        }
    }
    Ok(foreign)
}

fn remove_entry(held: &OwnedFd, entry: &DirEntry, path: &Path, tree: Tree, levels: u32) -> Result<Option<PathBuf>> {
    let name = entry.file_name();
    let path = path.join(text(name));
    match spelled(name.to_bytes()) {
        Some(Spelled::ItemFile) if is_file(held, entry, &path)? && is_of_then(held, name, &path, tree.until)? => {
            match fs::unlinkat(held, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => Ok(None),
                // Something is mounted on it.
                Err(Errno::BUSY) => Ok(Some(path)),
                Err(errno) => Err(failed("remove", &path, errno)),
            }
        }
        Some(Spelled::ItemDirectory) => remove_empty(held, name, &path),
        Some(Spelled::TreeDirectory) if levels > 0 => remove_directory(held, name, &path, tree, levels - 1),
        _ => Ok(Some(path)),
    }
}

/// Removes an empty directory; anything else of that name stays and is given back.
fn remove_empty(parent: impl AsFd, name: &CStr, path: &Path) -> Result<Option<PathBuf>> {
    match fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(None),
        // Something is in it, it is a mount, or it is no directory.
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY | Errno::NOTDIR) => Ok(Some(path.to_owned())),
        Err(errno) => Err(failed("remove the directory", path, errno)),
    }
}

fn is_file(held: &OwnedFd, entry: &DirEntry, path: &Path) -> Result<bool> {
    match entry.file_type() {
        FileType::RegularFile => Ok(true),
        // The file system does not say with the name.
        FileType::Unknown => match fs::statat(held, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(is_regular(&stat)),
            Err(Errno::NOENT) => Ok(true),
            Err(errno) => Err(failed("measure", path, errno)),
        },
        _ => Ok(false),
    }
}

fn text(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}
