//! What was changed in a directory since a run left it on purpose: that is no longer what Tonnage made.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, Stat};
use rustix::io::Errno;

use crate::error::Result;
use crate::fs::held_directories::{failed, open_in_mount};
use crate::scratch::scratch_names::{is_clone_name, is_data_name};
use crate::snapshots::subvolumes::is_room_name;

/// Until when a file with a name of Tonnage's is what Tonnage made: nanoseconds since 1970, by the file system's clock.
pub(crate) type Until = Option<i128>;

const SECOND_NS: i128 = 1_000_000_000;
/// FAT rounds dates down to two seconds, so that a file made just before has a later time of change.
const COARSEST_NS: i128 = 2 * SECOND_NS;

/// When a directory was left whose marker is `marker`. A date of whole seconds is taken for the end of the two seconds
/// that it may stand for.
pub(crate) fn left_ns(marker: &Stat) -> i128 {
    let dated = i128::from(marker.st_mtime) * SECOND_NS + i128::from(marker.st_mtime_nsec);
    if dated % SECOND_NS == 0 { dated + COARSEST_NS - 1 } else { dated }
}

/// Whether the file `name` was last changed by then: the change time, for anybody may set the other ones.
pub(crate) fn is_of_then<P: rustix::path::Arg>(held: impl AsFd, name: P, path: &Path, until: Until) -> Result<bool> {
    let Some(until) = until else { return Ok(true) };
    match fs::statat(held, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(i128::from(stat.st_ctime) * SECOND_NS + i128::from(stat.st_ctime_nsec) <= until),
        Err(Errno::NOENT) => Ok(true),
        Err(errno) => Err(failed("measure", path, errno)),
    }
}

/// The first data file of a scratch directory, or of a room in it, that was changed later than `until`.
pub(crate) fn changed_data(of: impl AsFd, path: &Path, until: Until) -> Result<Option<PathBuf>> {
    for entry in Dir::read_from(&of).map_err(|errno| failed("list", path, errno))? {
        let entry = entry.map_err(|errno| failed("list", path, errno))?;
        let name = entry.file_name();
        let path = path.join(OsStr::from_bytes(name.to_bytes()));
        if is_data_name(name.to_bytes()) || is_clone_name(name.to_bytes()) {
            if !is_of_then(&of, name, &path, until)? {
                return Ok(Some(path));
            }
        } else if is_room_name(name.to_bytes())
            && let Ok(room) = open_in_mount(&of, name)
            && let Some(changed) = changed_data(room, &path, until)?
        {
            return Ok(Some(changed));
        }
    }
    Ok(None)
}
