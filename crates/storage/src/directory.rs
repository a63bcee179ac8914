//! A directory that Tonnage marked as its own, held open: every name below it is resolved from the handle, so nobody
//! can redirect a write or an unlink by moving the directory or planting a link.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags};
use rustix::io::Errno;

use crate::clearing::remove_tree;
use crate::error::{Result, StorageError};
use crate::marker::{End, MARKER_NAME, Marker};
use crate::marker_file::MarkerFile;
use crate::names::is_tree_name;
use crate::snapshots::{is_room_name, is_round_name, remove_room, round_name};
use crate::staged::{STATE_DIRECTORY, is_temporary, remove_state};

/// A held directory whose marker was read.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
    marker: MarkerFile,
    run_id: String,
    mark: String,
}

impl Directory {
    /// Opens the marked directory at `path`; the last component may not be a symbolic link.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_at(fs::CWD, path, path)
    }

    /// The same relative to a handle; `path` is where that is, for messages.
    pub(crate) fn open_at<P: rustix::path::Arg>(at: impl AsFd, name: P, path: &Path) -> Result<Self> {
        let handle = open_directory(at, name).map_err(|errno| failed("open the directory", path, errno))?;
        let (file, marker) = MarkerFile::open(&handle, path)?;
        Ok(Self::with(handle, path, file, &marker))
    }

    /// A new one, whose marker was made.
    pub(crate) fn made(handle: OwnedFd, path: &Path, run_id: &str) -> Result<Self> {
        let file = MarkerFile::create(&handle, path, run_id)?;
        let marker = file.read_again(&handle, path)?;
        Ok(Self::with(handle, path, file, &marker))
    }

    /// One that holds nothing, or a marker without text, of a process that is known to be over.
    pub(crate) fn made_of_blank(handle: OwnedFd, path: &Path, run_id: &str) -> Result<Self> {
        let file = MarkerFile::fill(&handle, path, run_id)?;
        let marker = file.read_again(&handle, path)?;
        Ok(Self::with(handle, path, file, &marker))
    }

    /// One whose run is over, taken over: see [`MarkerFile::take_over`].
    pub(crate) fn taken<P: rustix::path::Arg>(at: impl AsFd, name: P, path: &Path, end: End) -> Result<Self> {
        let handle = open_directory(at, name).map_err(|errno| failed("open the directory", path, errno))?;
        let (file, marker) = MarkerFile::take_over(&handle, path, end)?;
        Ok(Self::with(handle, path, file, &marker))
    }

    fn with(handle: OwnedFd, path: &Path, file: MarkerFile, marker: &Marker) -> Self {
        Self { handle, path: path.to_owned(), marker: file, run_id: marker.run_id.clone(), mark: marker.mark() }
    }

    /// Replaces what its marker says.
    pub(crate) fn mark_as(&self, marker: Marker) -> Result<()> {
        self.marker.replace(&self.handle, &self.path, marker)
    }

    /// The same, of the process that another one of its run knows; an error if another marked it, for then it is not
    /// the directory that is meant.
    pub(crate) fn open_marked(path: &Path, mark: Option<&str>) -> Result<Self> {
        let directory = Self::open(path)?;
        match mark {
            Some(mark) if mark != directory.mark => {
                let why = format!("its marker is that of {}, not of {mark}: this host sees another directory", directory.mark);
                Err(StorageError::NotOurs { path: path.to_owned(), why })
            }
            _ => Ok(directory),
        }
    }

    /// Who marked it.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Where a data file is, for messages.
    pub(crate) fn data_path(&self, file: u32) -> PathBuf {
        self.path.join(data_name(file))
    }

    /// Opens a data file; never through a symbolic link.
    pub(crate) fn open_data(&self, file: u32, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(&self.handle, data_name(file), flags, Mode::RUSR | Mode::WUSR)
    }

    /// The same of a file that is made where it is not there, under a name that ends in `pin` until it is: its file
    /// system takes that off again and places the file by it.
    pub(crate) fn open_pinned(&self, file: u32, pin: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        match self.open_data(file, flags - OFlags::CREATE) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        let name = format!("{}{pin}", data_name(file));
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = fs::openat(&self.handle, &name, flags, Mode::RUSR | Mode::WUSR)?;
        // One that took the name as it is has a file that nobody finds again.
        if let Err(errno) = fs::statat(&self.handle, data_name(file), AtFlags::SYMLINK_NOFOLLOW) {
            let _ = fs::unlinkat(&self.handle, &name, AtFlags::empty());
            return Err(errno);
        }
        Ok(made)
    }

    /// The name of a data file.
    pub(crate) fn name_of_data(file: u32) -> String {
        data_name(file)
    }

    /// Makes a data file that is not there.
    pub(crate) fn make_data(&self, file: u32, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        fs::openat(
            &self.handle,
            data_name(file),
            flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            mode,
        )
    }

    /// Removes one data file, which this process made.
    pub(crate) fn unlink_data(&self, file: u32) -> rustix::io::Result<()> {
        fs::unlinkat(&self.handle, data_name(file), AtFlags::empty())
    }

    /// Where the copy of a data file is that is the snapshot of a round, for messages.
    pub(crate) fn clone_path(&self, file: u32, round: u32) -> PathBuf {
        self.path.join(clone_name(file, round))
    }

    /// Makes that copy, empty; it must not be there yet.
    pub(crate) fn make_clone(&self, file: u32, round: u32) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(&self.handle, clone_name(file, round), flags, Mode::RUSR | Mode::WUSR)
    }

    /// Opens that copy; never through a symbolic link.
    pub(crate) fn open_clone(&self, file: u32, round: u32, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        fs::openat(&self.handle, clone_name(file, round), flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    }

    /// Removes that copy.
    pub(crate) fn unlink_clone(&self, file: u32, round: u32) -> rustix::io::Result<()> {
        fs::unlinkat(&self.handle, clone_name(file, round), AtFlags::empty())
    }

    /// Bytes of a data file.
    pub(crate) fn length(&self, file: u32) -> Result<u64> {
        fs::statat(&self.handle, data_name(file), AtFlags::SYMLINK_NOFOLLOW)
            .and_then(|stat| if is_regular(&stat) { Ok(stat.st_size as u64) } else { Err(Errno::LOOP) })
            .map_err(|errno| failed("measure", &self.data_path(file), errno))
    }

    /// Removes the data files, which are the regular files named like one, the trees, and what a mover left between two
    /// scratch directories. Gives the first thing that is none of them nor the marker; it stays.
    pub(crate) fn remove_data(&self) -> Result<Option<PathBuf>> {
        let marker = self.marker.read_again(&self.handle, &self.path)?;
        if marker.run_id != self.run_id {
            let why = format!("its marker now names run {}", marker.run_id);
            return Err(StorageError::NotOurs { path: self.path.clone(), why });
        }
        let device = fs::fstat(&self.handle).map_err(|errno| failed("measure", &self.path, errno))?.st_dev;
        let mut foreign = None;
        for entry in Dir::read_from(&self.handle).map_err(|errno| failed("list", &self.path, errno))? {
            let entry = entry.map_err(|errno| failed("list", &self.path, errno))?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || name.to_bytes() == MARKER_NAME.as_bytes() {
                continue;
            }
            if is_tree_name(name.to_bytes()) {
                foreign = foreign.or(remove_tree(&self.handle, name, &self.path, device)?);
            } else if name == STATE_DIRECTORY {
                foreign = foreign.or(remove_state(&self.handle, &self.path, device)?);
            } else if is_room_name(name.to_bytes()) {
                foreign = foreign.or(remove_room(&self.handle, name, &self.entry_path(name))?);
            } else if !self.remove_if_data(name)? {
                foreign.get_or_insert_with(|| self.entry_path(name));
            }
        }
        Ok(foreign)
    }

    /// Whether `name` was a data file (and is gone now).
    fn remove_if_data(&self, name: &CStr) -> Result<bool> {
        let path = || self.entry_path(name);
        if !is_data_name(name.to_bytes()) && !is_clone_name(name.to_bytes()) && !is_temporary(name.to_bytes()) {
            return Ok(false);
        }
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if !is_regular(&stat) => return Ok(false),
            Ok(_) => {}
            // Another rank of the same run clears as well.
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(failed("measure", &path(), errno)),
        }
        match fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            // Something is mounted on it.
            Err(Errno::BUSY) => Ok(false),
            Err(errno) => Err(failed("remove", &path(), errno)),
        }
    }

    fn entry_path(&self, name: &CStr) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.path.join(std::ffi::OsStr::from_bytes(name.to_bytes()))
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

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

/// How a data file is named.
pub(crate) fn data_name(file: u32) -> String {
    format!("data.{file:08}")
}

/// The snapshot of a data file: a copy that shares its blocks.
fn clone_name(file: u32, round: u32) -> String {
    format!("{}.{}", data_name(file), round_name(round))
}

fn is_clone_name(name: &[u8]) -> bool {
    let dot = name.iter().rposition(|&byte| byte == b'.');
    dot.is_some_and(|dot| is_data_name(&name[..dot]) && is_round_name(&name[dot + 1..]))
}

/// Whether `name` is exactly how a data file is named.
pub(crate) fn is_data_name(name: &[u8]) -> bool {
    let number = name.strip_prefix(b"data.").and_then(|digits| std::str::from_utf8(digits).ok());
    // Formatting again refuses other spellings of a number, such as `+1` or too many zeros.
    number.and_then(|digits| digits.parse().ok()).is_some_and(|file| data_name(file).as_bytes() == name)
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

    #[test]
    fn only_the_exact_spelling_of_a_file_number_is_a_data_name() {
        for file in [0, 7, 99_999_999, 100_000_000, u32::MAX] {
            assert!(is_data_name(data_name(file).as_bytes()));
        }
        for name in ["data.", "data.1", "data.+0000001", "data.000000001", "data.0000000x", "data.4294967296", "xdata.00000000"] {
            assert!(!is_data_name(name.as_bytes()), "{name}");
        }
    }
}
