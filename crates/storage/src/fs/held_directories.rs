//! Directories that are held open, and what is opened and looked at from their handles: through no link, and no mount.

use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags};
use rustix::io::Errno;

use crate::error::StorageError;

/// Opens a directory, not through a symbolic link in the last component.
pub(crate) fn open_directory<P: rustix::path::Arg>(at: impl AsFd, path: P) -> rustix::io::Result<OwnedFd> {
    fs::openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// The same, not what is mounted there; a subvolume of Btrfs is no mount.
pub(crate) fn open_in_mount<P: rustix::path::Arg + Copy>(at: impl AsFd, path: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match fs::openat2(&at, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => open_directory(at, path),
        other => other,
    }
}

/// Opens the directory at a relative `path` below `at`, through no symbolic link and no mount point.
pub(crate) fn open_below<P: rustix::path::Arg + Copy>(at: impl AsFd, path: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match fs::openat2(&at, path, flags, Mode::empty(), resolve) {
        // Linux before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(at, path),
        other => other,
    }
}

/// The same, one directory after the other. It tells mounts of other file systems only.
fn open_by_steps<P: rustix::path::Arg>(at: impl AsFd, path: P) -> rustix::io::Result<OwnedFd> {
    let path = path.into_c_str()?;
    let device = fs::fstat(&at)?.st_dev;
    let mut held: Option<OwnedFd> = None;
    for step in path.to_bytes().split(|&byte| byte == b'/') {
        let next = open_directory(held.as_ref().map_or(at.as_fd(), AsFd::as_fd), step)?;
        if fs::fstat(&next)?.st_dev != device {
            return Err(Errno::XDEV);
        }
        held = Some(next);
    }
    held.ok_or(Errno::NOENT)
}

/// An error of the system about a path.
pub(crate) fn failed(action: &'static str, path: &Path, errno: Errno) -> StorageError {
    StorageError::Path { action, path: path.to_owned(), source: errno.into() }
}

pub(crate) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// `MLINK` where a file that was opened to be written to has a second name: what that shows would change too. No server
/// is asked: the open has just been answered.
#[inline]
pub(crate) fn require_one_name(handle: impl AsFd) -> rustix::io::Result<()> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let names = fs::statx(handle, c"", flags, StatxFlags::NLINK)?.stx_nlink;
    if names > 1 { Err(Errno::MLINK) } else { Ok(()) }
}

/// Closes `handle` and says what the file system said: NFS and quota report late writes here.
pub(crate) fn close(handle: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned and is not used again, whatever the call returns.
    match unsafe { libc::close(handle.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_where_one_call_does_and_through_no_link() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("d.1/d.4/d.9")).unwrap();
        std::os::unix::fs::symlink("d.1", home.path().join("d.2")).unwrap();
        let root = open_directory(fs::CWD, home.path()).unwrap();
        let inode = |handle: &OwnedFd| fs::fstat(handle).unwrap().st_ino;
        let (one, steps) = (open_below(&root, "d.1/d.4/d.9").unwrap(), open_by_steps(&root, "d.1/d.4/d.9").unwrap());
        assert_eq!(inode(&one), inode(&steps));
        for path in ["d.2/d.4", "d.2"] {
            assert!(matches!(open_below(&root, path), Err(Errno::LOOP | Errno::NOTDIR)), "{path}");
            assert!(matches!(open_by_steps(&root, path), Err(Errno::LOOP | Errno::NOTDIR)), "{path}");
        }
    }
}
