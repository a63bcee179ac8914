//! A directory that Tonnage marked as its own, held open: every name below it is resolved from the handle, so nobody
//! can redirect a write or an unlink by moving the directory or planting a link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec};
use rustix::io::Errno;

use crate::error::{Result, StorageError};
use crate::fs::held_directories::{failed, is_regular, open_directory};
use crate::scratch::marker::{End, Marker};
use crate::scratch::marker_file::MarkerFile;
use crate::scratch::scratch_names::{clone_name, data_name};

/// A held directory whose marker was read.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
    marker: MarkerFile,
    /// What the marker said as it was found.
    found: Marker,
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
        Ok(Self::with(handle, path, file, marker))
    }

    /// A new one, whose marker was made.
    pub(crate) fn made(handle: OwnedFd, path: &Path, run_id: &str) -> Result<Self> {
        let file = MarkerFile::create(&handle, path, run_id)?;
        let marker = file.read_again(&handle, path)?;
        Ok(Self::with(handle, path, file, marker))
    }

    /// One that holds nothing, or a marker without text, of a process that is known to be over.
    pub(crate) fn made_of_blank(handle: OwnedFd, path: &Path, run_id: &str) -> Result<Self> {
        let file = MarkerFile::fill(&handle, path, run_id)?;
        let marker = file.read_again(&handle, path)?;
        Ok(Self::with(handle, path, file, marker))
    }

    /// One whose run is over, taken over: see [`MarkerFile::take_over`].
    pub(crate) fn taken<P: rustix::path::Arg>(at: impl AsFd, name: P, path: &Path, end: End) -> Result<Self> {
        let handle = open_directory(at, name).map_err(|errno| failed("open the directory", path, errno))?;
        let (file, marker) = MarkerFile::take_over(&handle, path, end)?;
        Ok(Self::with(handle, path, file, marker))
    }

    fn with(handle: OwnedFd, path: &Path, file: MarkerFile, found: Marker) -> Self {
        Self { handle, path: path.to_owned(), marker: file, mark: found.mark(), found }
    }

    /// Replaces what its marker says.
    pub(crate) fn mark_as(&self, marker: Marker) -> Result<()> {
        self.marker.replace(&self.handle, &self.path, marker)
    }

    /// The same, with the marker's date as it was.
    pub(crate) fn mark_as_of_then(&self, marker: Marker) -> Result<()> {
        let date = self.marker.date(&self.handle, &self.path)?;
        self.mark_as(marker)?;
        self.marker.set_date(&self.handle, &self.path, date)
    }

    /// Has the marker say again what it said as it was found, so that it tells of the run and not of who could not remove what it
    /// left. `left`: also that the run left it on purpose, and when.
    pub(crate) fn mark_as_found(&self, left: Option<Timespec>) -> Result<()> {
        let found = Marker { kept: self.found.kept || left.is_some(), ..self.found.clone() };
        self.marker.write(&self.handle, &self.path, &found)?;
        left.map_or(Ok(()), |date| self.marker.set_date(&self.handle, &self.path, date))
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
        &self.found.run_id
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

    /// An error if the marker is not this run's any more.
    pub(crate) fn require_ours(&self) -> Result<()> {
        let marker = self.marker.read_again(&self.handle, &self.path)?;
        if marker.run_id != self.found.run_id {
            let why = format!("its marker now names run {}", marker.run_id);
            return Err(StorageError::NotOurs { path: self.path.clone(), why });
        }
        Ok(())
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
