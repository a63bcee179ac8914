//! Small files as objects: a name is a path, and a directory no more than the beginning of one.
//!
//! Each operation of a phase is one of an OSD: what is created or must be there is so by a condition of the first write.

use std::ffi::CString;
use std::io;
use std::ptr::null;
use std::sync::Arc;

use rustix::io::Errno;
use tonnage_workload::ItemPlace;

use super::pool::{EXCLUSIVE, Pool};
use crate::api::{ItemKind, Names, NamesRequest, Opening};

/// One task's way to its items.
pub(super) struct RadosNames {
    pool: Arc<Pool>,
    request: NamesRequest,
    here: u64,
    open: Option<Open>,
}

struct Open {
    name: CString,
    /// What its first write has to see to; `None` once it did, or where nothing is written.
    first: Option<Opening>,
}

/// What objects do not do.
fn unsupported<T>() -> io::Result<T> {
    Err(Errno::OPNOTSUPP.into())
}

impl RadosNames {
    pub(super) const fn new(pool: Arc<Pool>, request: NamesRequest) -> Self {
        Self { pool, request, here: 0, open: None }
    }

    fn name(&self, kind: ItemKind, number: u64) -> io::Result<CString> {
        if kind.is_directory() {
            return unsupported();
        }
        let place = ItemPlace { directory: self.here, number };
        Ok(CString::new(self.request.item_path(place, kind))?)
    }

    /// Writes and sees to what the way of opening asks for, as one operation; an empty part makes an empty object.
    fn write_first(&self, name: &CString, how: Opening, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.pool.compound(name, |library, operation| {
            // SAFETY: the bytes outlive the operation.
            unsafe {
                match how {
                    Opening::Create => (library.write_op_create)(operation, EXCLUSIVE, null()),
                    Opening::WriteOrCreate if bytes.is_empty() => (library.write_op_create)(operation, 0, null()),
                    Opening::Write => (library.write_op_assert_exists)(operation),
                    Opening::WriteOrCreate | Opening::Read => {}
                }
                if !bytes.is_empty() {
                    self.pool.put(operation, bytes.as_ptr(), bytes.len(), offset);
                }
            }
        })
    }
}

impl Names for RadosNames {
    fn make_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    fn remove_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    /// A pool lists all of its objects or none.
    fn list(&mut self, _directory: u64) -> io::Result<u64> {
        unsupported()
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.here = directory;
        Ok(())
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.write_first(&self.name(kind, number)?, Opening::Create, 0, &[])
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.pool.size(&self.name(kind, number)?)?.map(drop).ok_or_else(|| Errno::NOENT.into())
    }

    fn rename(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        unsupported()
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.pool.remove_known(&self.name(kind, number)?)
    }

    /// This host has no cache of objects.
    fn forget(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    /// Asks nothing: whether it is there, the operation that moves its bytes tells.
    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        let name = self.name(kind, number)?;
        self.open = Some(Open { name, first: Some(how).filter(|how| *how != Opening::Read) });
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(open) = &self.open else { return Err(Errno::BADF.into()) };
        self.pool.read(&open.name, offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let Some(mut open) = self.open.take() else { return Err(Errno::BADF.into()) };
        let written = match open.first.take() {
            Some(how) => self.write_first(&open.name, how, offset, buffer),
            None => self.pool.write(&open.name, offset, buffer),
        };
        self.open = Some(open);
        written.map(|()| buffer.len())
    }

    /// A write has come back when it was on the disks of all replicas.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        unsupported()
    }

    /// Of an object that nothing was written to, makes or finds it.
    fn close(&mut self) -> io::Result<()> {
        match self.open.take() {
            Some(Open { name, first: Some(how) }) => self.write_first(&name, how, 0, &[]),
            _ => Ok(()),
        }
    }
}
