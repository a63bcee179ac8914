//! A task's way to the names of a tree whose files MPI-IO makes, opens, moves bytes of, closes and removes. Directories, attributes
//! and other names are the file system's own calls: MPI has none for them.

use std::ffi::CString;
use std::io;
use std::ptr;

use rustix::io::Errno;

use super::Mpiio;
use super::group::Partners;
use super::library::{MAKES, Mpi, Opened, UNIQUE, WRITES};
use crate::api::{ItemKind, Names, Opening};
use crate::fs::tree::TreeNames;

pub(super) struct MpiioNames {
    mpi: &'static Mpi,
    hints: CString,
    /// This process alone.
    alone: Partners,
    tree: TreeNames,
    opened: Option<Opened>,
}

// SAFETY: one task has it, and MPI was started for calls of several threads.
unsafe impl Send for MpiioNames {}

impl MpiioNames {
    pub(super) fn new(of: &Mpiio, tree: TreeNames) -> io::Result<Self> {
        Ok(Self { mpi: of.mpi, hints: of.hints.clone(), alone: Partners::of(of.mpi, &[])?, tree, opened: None })
    }

    fn opened(&self) -> io::Result<Opened> {
        self.opened.ok_or_else(|| Errno::BADF.into())
    }

    fn open_at(&mut self, place: &CString, flags: i32) -> io::Result<()> {
        let mut file = ptr::null_mut();
        // SAFETY: the texts end, and the group lasts.
        let code = unsafe { (self.mpi.open)(self.alone.group, place.as_ptr(), flags, self.hints.as_ptr(), &raw mut file) };
        self.mpi.check(code)?;
        self.opened = Some(file);
        Ok(())
    }
}

impl Names for MpiioNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        self.tree.make_tree(directory)
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        self.tree.remove_tree(directory)
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        self.tree.list(directory)
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.tree.enter(directory)
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.tree.make(kind, number)
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.tree.stat(kind, number)
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.tree.rename(kind, number)
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        if kind.is_directory() {
            return self.tree.remove(kind, number);
        }
        let place = self.tree.place_of(kind, number)?;
        // SAFETY: the text ends.
        self.mpi.check(unsafe { (self.mpi.remove)(place.as_ptr()) })
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.tree.forget(kind, number)
    }

    /// What is there already is opened without following a link first, and MPI opens what that handle leads to.
    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        if how == Opening::Create {
            let place = self.tree.place_of(kind, number)?;
            return self.open_at(&place, MAKES | WRITES | UNIQUE);
        }
        self.tree.open(kind, number, how)?;
        let place = self.tree.place_of_open()?;
        self.open_at(&place, if how == Opening::Read { 0 } else { WRITES })
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, mut moved) = (self.opened()?, 0);
        let length = buffer.len() as i64;
        // SAFETY: the file is open, and the buffer has so many bytes.
        let code = unsafe { (self.mpi.read)(file, offset as i64, buffer.as_mut_ptr().cast(), length, 0, &raw mut moved) };
        self.mpi.check(code)?;
        Ok(moved as usize)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let (file, mut moved) = (self.opened()?, 0);
        // SAFETY: the file is open, and the buffer has so many bytes.
        let code =
            unsafe { (self.mpi.write)(file, offset as i64, buffer.as_ptr().cast(), buffer.len() as i64, 0, &raw mut moved) };
        self.mpi.check(code)?;
        Ok(moved as usize)
    }

    fn sync(&mut self) -> io::Result<()> {
        // SAFETY: the file is open.
        self.mpi.check(unsafe { (self.mpi.sync)(self.opened()?) })
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        self.tree.sync_file_system()
    }

    fn close(&mut self) -> io::Result<()> {
        // SAFETY: the file is open, and is not used again.
        let closed = self.opened.take().map_or(Ok(()), |file| self.mpi.check(unsafe { (self.mpi.close)(file) }));
        closed.and(self.tree.close())
    }
}

impl Drop for MpiioNames {
    fn drop(&mut self) {
        let _ = Names::close(self);
    }
}
