//! Removes a tree that Tonnage made: exactly the files and directories that are spelled like its names.
//!
//! Every step is relative to a handle that is held, follows no link and crosses no mount. What is not ours stays, with
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

/// How often a directory is listed at most; what is still in it then is told as what stays.
const PASSES: u32 = 100;

/// Removes the tree with the root `name` in `parent`, which is at `path` and on file system `device`. Gives the first
/// thing in it that is not ours.
pub(crate) fn remove_tree(parent: impl AsFd, name: &CStr, path: &Path, device: u64) -> Result<Option<PathBuf>> {
    remove_directory(parent, name, &path.join(text(name)), device, MAX_DEPTH)
}

/// Removes a directory of a tree and what is in it; `levels` more may be below.
fn remove_directory(parent: impl AsFd, name: &CStr, path: &Path, device: u64, levels: u32) -> Result<Option<PathBuf>> {
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
    if stat.st_dev != device {
        return stays();
    }
    if let Some(foreign) = empty(&held, path, device, levels)? {
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
fn empty(held: &OwnedFd, path: &Path, device: u64, levels: u32) -> Result<Option<PathBuf>> {
    let mut foreign = None;
    for _ in 0..PASSES {
        let mut removed = false;
        foreign = None;
        for entry in Dir::read_from(held).map_err(|errno| failed("list", path, errno))? {
            let entry = entry.map_err(|errno| failed("list", path, errno))?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            match remove_entry(held, &entry, path, device, levels)? {
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

fn remove_entry(held: &OwnedFd, entry: &DirEntry, path: &Path, device: u64, levels: u32) -> Result<Option<PathBuf>> {
    let name = entry.file_name();
    let path = path.join(text(name));
    match spelled(name.to_bytes()) {
        Some(Spelled::ItemFile) if is_file(held, entry, &path)? => match fs::unlinkat(held, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(None),
            // Something is mounted on it.
            Err(Errno::BUSY) => Ok(Some(path)),
            Err(errno) => Err(failed("remove", &path, errno)),
        },
        Some(Spelled::ItemDirectory) => remove_empty(held, name, &path),
        Some(Spelled::TreeDirectory) if levels > 0 => remove_directory(held, name, &path, device, levels - 1),
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
