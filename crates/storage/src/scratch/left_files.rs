//! Files of the user's naming that killed runs left: they carry a mark, and no seal that says what they were at the end.
//! Nobody can tell what was written to one since, so none is removed unless that is asked for.

use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Result, StorageError};
use crate::fs::held_directories::failed;
use crate::fs::ownership_mark::{ATTRIBUTE, Identity, Look, unsealed};
use crate::scratch::Leftover;
use crate::scratch::marker::{Marker, State};

/// Those in `parent`, by name.
pub fn file_leftovers(parent: &Path) -> Result<Vec<Leftover>> {
    let listed = |errno| failed("list", parent, errno);
    let handle = fs::open(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(listed)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&handle).map_err(listed)? {
        let entry = entry.map_err(listed)?;
        let Some(name) = entry.file_name().to_str().ok() else { continue };
        let path = parent.join(name);
        // A file without a mark is not opened: that alone may call it back from an archive.
        let has_mark = entry.file_type() != FileType::Directory && fs::lgetxattr(&path, ATTRIBUTE, &mut [0_u8; 0]).is_ok();
        let Some((marker, _)) = has_mark.then(|| look(&handle, name)).and_then(|seen| seen.ok().flatten()) else { continue };
        let (state, why) = standing(&marker);
        let Marker { run_id, pid, host, .. } = marker;
        found.push(Leftover { path, run_id, pid, host, state, why });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Removes one of them; an error where its run goes on, or it is none, or another file has the name by now.
pub fn remove_left_file(path: &Path) -> Result<()> {
    let not_ours = |why: &str| StorageError::Name { path: path.to_owned(), why: why.to_owned() };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(not_ours("does not name a file")) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = fs::open(parent, flags, Mode::empty()).map_err(|errno| failed("open the directory", parent, errno))?;
    let found = look(&handle, name).map_err(|errno| failed("look at", path, errno))?;
    let (marker, identity) = found.ok_or_else(|| not_ours("is not a file that a killed run left; it stays"))?;
    if let (State::Running, why) = standing(&marker) {
        return Err(not_ours(&format!("stays: its run is {why}")));
    }
    match Look::at_name(&handle, name) {
        Err(Errno::NOENT) => Ok(()),
        Ok(now) if now.identity == identity => {
            fs::unlinkat(&handle, name, AtFlags::empty()).map_err(|errno| failed("remove", path, errno))
        }
        Ok(_) => Err(not_ours("was exchanged for another file just now; nothing was removed")),
        Err(errno) => Err(failed("look at", path, errno)),
    }
}

fn standing(marker: &Marker) -> (State, String) {
    match marker.standing_alone() {
        (State::Dead | State::Kept, _) => {
            (State::Unknown, "a file: its run was killed while it wrote it, and it may hold other data since".to_owned())
        }
        other => other,
    }
}

/// The mark of the regular file `name`; `None` where that is something else, or carries no mark of its own.
fn look<P: rustix::path::Arg + Copy>(parent: impl std::os::fd::AsFd, name: P) -> rustix::io::Result<Option<(Marker, Identity)>> {
    // FIFOs and devices are not opened: that alone would do something.
    if Look::at_name(&parent, name)?.kind != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(&parent, name, flags, Mode::empty())?;
    let found = unsealed(file)?;
    Ok(found.map(|found| (found.marker, found.identity)))
}
