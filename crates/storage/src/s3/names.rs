//! Trees of small files as objects: a directory is no more than the beginning of keys, and costs nothing.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustix::io::Errno;
use tonnage_workload::ItemPlace;

use super::service::{Service, Session};
use super::upload::{Plan, Upload};
use crate::api::{ItemKind, Names, NamesRequest, Opening};

/// One task's way to its tree.
pub(super) struct S3Names {
    session: Session,
    request: NamesRequest,
    here: u64,
    open: Option<Open>,
    _present: Arc<()>,
}

enum Open {
    Reading(String),
    Writing(Upload),
}

/// What objects do not do.
fn unsupported<T>() -> io::Result<T> {
    Err(Errno::OPNOTSUPP.into())
}

impl S3Names {
    pub(super) fn new(service: &Arc<Service>, request: NamesRequest, present: Arc<()>) -> Self {
        Self { session: Session::new(service), request, here: 0, open: None, _present: present }
    }

    fn key(&self, kind: ItemKind, number: u64) -> io::Result<String> {
        if kind.is_directory() {
            return unsupported();
        }
        let place = ItemPlace { directory: self.here, number };
        Ok(self.session.service.key(&self.request.item_path(place, kind)))
    }
}

impl Names for S3Names {
    fn make_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    fn remove_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        let prefix = format!("{}/", self.session.service.key(&self.request.directory_path(directory)));
        let mut listed = self.session.list(&prefix, true, None)?;
        let mut count = listed.keys.len() + listed.directories;
        while !listed.is_last() {
            listed = self.session.list(&prefix, true, Some(&listed))?;
            count += listed.keys.len() + listed.directories;
        }
        Ok(count as u64)
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.here = directory;
        Ok(())
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let key = self.key(kind, number)?;
        self.session.put(&key, &[])
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let key = self.key(kind, number)?;
        self.session.size(&key)?.map(drop).ok_or_else(|| Errno::NOENT.into())
    }

    fn rename(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        unsupported()
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let key = self.key(kind, number)?;
        self.session.remove(&key)
    }

    /// This host has no cache of objects.
    fn forget(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    /// Asks nothing: whether it is there, the request that moves its bytes tells.
    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        let key = self.key(kind, number)?;
        let plan = Plan::unknown(&self.session.service.spec);
        self.open = Some(match how {
            Opening::Read => Open::Reading(key),
            Opening::Create | Opening::Write | Opening::WriteOrCreate => Open::Writing(Upload::new(key, plan)),
        });
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // What was written can be read when the object is there.
        self.sync()?;
        match &self.open {
            Some(Open::Reading(key)) => self.session.read(key, offset, buffer),
            Some(Open::Writing(upload)) => self.session.read(&upload.key, offset, buffer),
            None => Err(Errno::BADF.into()),
        }
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let Some(Open::Writing(upload)) = &mut self.open else { return Err(Errno::BADF.into()) };
        upload.write(&mut self.session, offset, buffer).map(|()| buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(Open::Writing(upload)) = &mut self.open { upload.finish(&mut self.session) } else { Ok(()) }
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn close(&mut self) -> io::Result<()> {
        let finished = self.sync();
        self.open = None;
        finished
    }
}
