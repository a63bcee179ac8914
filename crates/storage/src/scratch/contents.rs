//! Removes what a scratch directory holds: all that is spelled like something that a run makes there, and nothing else.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{self, AtFlags, Dir};
use rustix::io::Errno;

use crate::error::Result;
use crate::fs::held_directories::{failed, is_regular, open_in_mount};
use crate::names::is_tree_name;
use crate::scratch::changes::{Until, changed_data, is_of_then};
use crate::scratch::clearing::{Tree, remove_tree};
use crate::scratch::directory::Directory;
use crate::scratch::marker::MARKER_NAME;
use crate::scratch::mover_leftovers::{STATE_DIRECTORY, is_temporary, remove_state};
use crate::scratch::scratch_names::{is_clone_name, is_data_name};
use crate::snapshots::subvolumes::{is_room_name, remove_room};

/// Removes the data files, which are the regular files named like one, the trees, and what a mover left between two
/// scratch directories. Gives the first thing that is none of them nor the marker; it stays.
pub(crate) fn remove_data(of: &Directory) -> Result<Option<PathBuf>> {
    remove_data_until(of, None)
}

/// The same; files that were changed later than `until` stay.
pub(crate) fn remove_data_until(of: &Directory, until: Until) -> Result<Option<PathBuf>> {
    of.require_ours()?;
    let device = fs::fstat(of).map_err(|errno| failed("measure", of.path(), errno))?.st_dev;
    let mut foreign = None;
    for entry in Dir::read_from(of).map_err(|errno| failed("list", of.path(), errno))? {
        let entry = entry.map_err(|errno| failed("list", of.path(), errno))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || name.to_bytes() == MARKER_NAME.as_bytes() {
            continue;
        }
        if is_tree_name(name.to_bytes()) {
            foreign = foreign.or(remove_tree(of, name, of.path(), Tree { device, until })?);
        } else if name == STATE_DIRECTORY {
            foreign = foreign.or(remove_state(of, of.path(), device)?);
        } else if is_room_name(name.to_bytes()) {
            foreign = foreign.or(remove_room_until(of, name, until)?);
        } else if !remove_if_data(of, name, until)? {
            foreign.get_or_insert_with(|| entry_path(of, name));
        }
    }
    Ok(foreign)
}

/// Removes a room whose data files were all last changed by then. Gives the first thing that stays.
fn remove_room_until(of: &Directory, name: &CStr, until: Until) -> Result<Option<PathBuf>> {
    let path = entry_path(of, name);
    let changed = match open_in_mount(of, name) {
        Ok(room) if until.is_some() => changed_data(room, &path, until)?,
        _ => None,
    };
    if changed.is_some() { Ok(changed) } else { remove_room(of, name, &path) }
}

/// Whether `name` was a data file that was last changed by then (and is gone now).
fn remove_if_data(of: &Directory, name: &CStr, until: Until) -> Result<bool> {
    let path = || entry_path(of, name);
    if !is_data_name(name.to_bytes()) && !is_clone_name(name.to_bytes()) && !is_temporary(name.to_bytes()) {
        return Ok(false);
    }
    match fs::statat(of, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if !is_regular(&stat) => return Ok(false),
        Ok(_) => {}
        // Another rank of the same run clears as well.
        Err(Errno::NOENT) => return Ok(true),
        Err(errno) => return Err(failed("measure", &path(), errno)),
    }
    if !is_of_then(of, name, &path(), until)? {
        return Ok(false);
    }
    match fs::unlinkat(of, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        // Something is mounted on it.
        Err(Errno::BUSY) => Ok(false),
        Err(errno) => Err(failed("remove", &path(), errno)),
    }
}

fn entry_path(of: &Directory, name: &CStr) -> PathBuf {
    of.path().join(std::ffi::OsStr::from_bytes(name.to_bytes()))
}
