//! A task's way to the names of a tree on a file system: `*at` calls on short names, relative to a directory that is
//! held open. A create, a stat or a remove is then one bare system call (and a close), as in the best loop in C.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, Advice, AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::api::{ItemKind, Names, NamesRequest, Opening};
use crate::error::{LINKED, Result, StorageError};
use crate::fs::held_directories::{close, open_below, require_one_name};
use crate::fs::open_file::OpenFile;
use crate::names::{Spelling, directory_name, parent_of, tree_name};
use crate::scratch::directory::Directory;

/// Bytes of names that one getdents64 may bring.
const LISTING_BYTES: usize = 32 << 10;

/// One task's way to its tree.
pub(crate) struct TreeNames {
    /// The scratch directory.
    scratch: OwnedFd,
    request: NamesRequest,
    spelling: Spelling,
    other_spelling: Spelling,
    /// Directories that are held open, each where its number modulo the length says.
    held: Vec<Option<(u64, OwnedFd)>>,
    /// Which of them is entered.
    here: usize,
    /// More flags for the open of a file.
    passage: OFlags,
    open: OpenFile,
    listing: Box<[MaybeUninit<u8>]>,
}

impl TreeNames {
    /// `direct`: files are read and written past the page cache.
    pub(crate) fn new(scratch: &Directory, request: NamesRequest, direct: bool) -> Result<Self> {
        let cannot = |source| StorageError::Path { action: "hold", path: scratch.path().to_owned(), source };
        Ok(Self {
            scratch: scratch.as_fd().try_clone_to_owned().map_err(cannot)?,
            request,
            spelling: Spelling::new(request.owner),
            other_spelling: Spelling::new(request.owner),
            held: (0..request.handles.max(1)).map(|_| None).collect(),
            here: 0,
            passage: if direct { OFlags::DIRECT } else { OFlags::empty() },
            open: OpenFile::default(),
            listing: Box::new_uninit_slice(LISTING_BYTES),
        })
    }

    /// Where an item of the entered directory is, for a library that takes paths: below the handle that is held.
    pub(crate) fn place_of(&mut self, kind: ItemKind, number: u64) -> io::Result<CString> {
        let name = self.spelling.of(kind, number);
        let here = entered(&self.held, self.here)?;
        let mut place = format!("/proc/self/fd/{}/", here.as_raw_fd()).into_bytes();
        place.extend_from_slice(name.to_bytes());
        Ok(CString::new(place)?)
    }

    /// Where the open file is, for the same.
    pub(crate) fn place_of_open(&self) -> io::Result<CString> {
        Ok(CString::new(format!("/proc/self/fd/{}", self.open.handle()?.as_raw_fd()))?)
    }

    fn open_directory(&self, directory: u64) -> rustix::io::Result<OwnedFd> {
        open_below(&self.scratch, self.request.directory_path(directory).as_str())
    }
}

#[cold]
fn told(errno: Errno) -> io::Error {
    if errno == Errno::MLINK { io::Error::new(io::ErrorKind::TooManyLinks, LINKED) } else { errno.into() }
}

/// The directory that was entered. No method, for the names are borrowed mutably beside it.
#[inline]
fn entered(held: &[Option<(u64, OwnedFd)>], here: usize) -> rustix::io::Result<BorrowedFd<'_>> {
    held[here].as_ref().map(|(_, handle)| handle.as_fd()).ok_or(Errno::BADF)
}

impl Names for TreeNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        if directory == 0 {
            return Ok(fs::mkdirat(&self.scratch, tree_name(self.request.number), Mode::RWXU)?);
        }
        self.enter(parent_of(&self.request.tree, directory))?;
        Ok(fs::mkdirat(entered(&self.held, self.here)?, directory_name(directory), Mode::RWXU)?)
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        if directory == 0 {
            return Ok(fs::unlinkat(&self.scratch, tree_name(self.request.number), AtFlags::REMOVEDIR)?);
        }
        self.enter(parent_of(&self.request.tree, directory))?;
        Ok(fs::unlinkat(entered(&self.held, self.here)?, directory_name(directory), AtFlags::REMOVEDIR)?)
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        let handle = self.open_directory(directory)?;
        let mut names = 0;
        let mut entries = RawDir::new(&handle, &mut self.listing);
        while let Some(entry) = entries.next() {
            names += u64::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
        }
        close(handle)?;
        Ok(names)
    }

    #[inline]
    fn enter(&mut self, directory: u64) -> io::Result<()> {
        let slot = (directory % self.held.len() as u64) as usize;
        if self.held[slot].as_ref().is_none_or(|(held, _)| *held != directory) {
            // The one before is closed first: a task holds no more than it was given.
            self.held[slot] = None;
            self.held[slot] = Some((directory, self.open_directory(directory)?));
        }
        self.here = slot;
        Ok(())
    }

    #[inline]
    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let name = self.spelling.of(kind, number);
        let here = entered(&self.held, self.here)?;
        if kind.is_directory() {
            return Ok(fs::mkdirat(here, name, Mode::RWXU)?);
        }
        Ok(fs::mknodat(here, name, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0)?)
    }

    #[inline]
    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let name = self.spelling.of(kind, number);
        let here = entered(&self.held, self.here)?;
        fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(())
    }

    #[inline]
    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let from = self.spelling.of(kind, number);
        let to = self.other_spelling.of(kind.other(), number);
        let here = entered(&self.held, self.here)?;
        Ok(fs::renameat(here, from, here, to)?)
    }

    #[inline]
    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let flags = if kind.is_directory() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let name = self.spelling.of(kind, number);
        let here = entered(&self.held, self.here)?;
        Ok(fs::unlinkat(here, name, flags)?)
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.open(kind, number, Opening::Read)?;
        // Dirty pages cannot be dropped.
        fs::fdatasync(self.open.handle()?)?;
        fs::fadvise(self.open.handle()?, 0, None, Advice::DontNeed)?;
        self.close()
    }

    #[inline]
    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        // What is written may be read back.
        let flags = match how {
            Opening::Create => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            Opening::Write => OFlags::RDWR,
            Opening::WriteOrCreate => OFlags::RDWR | OFlags::CREATE,
            Opening::Read => OFlags::RDONLY,
        };
        let name = self.spelling.of(kind, number);
        let here = entered(&self.held, self.here)?;
        let flags = flags | self.passage | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(here, name, flags, Mode::RUSR | Mode::WUSR)?;
        // A file that was made just now has one name.
        if matches!(how, Opening::Write | Opening::WriteOrCreate) {
            require_one_name(&file).map_err(told)?;
        }
        self.open.hold(file);
        Ok(())
    }

    #[inline]
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.open.read_at(offset, buffer)
    }

    #[inline]
    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.open.write_at(offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.open.sync()
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(fs::syncfs(&self.scratch)?)
    }

    #[inline]
    fn close(&mut self) -> io::Result<()> {
        self.open.close()
    }
}
