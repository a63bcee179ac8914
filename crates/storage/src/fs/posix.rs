//! pread and pwrite, one at a time.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::api::{File, Lane, OpenRequest};
use crate::error::Result;
use crate::fs::file_storage::FileAccess;
use crate::fs::files::Files;
use crate::fs::open_file::OpenFile;
use crate::fs::range_locks::LockedFile;
use crate::target::TargetSpec;

/// Reads and writes through system calls.
#[derive(Debug)]
pub(crate) struct Posix {
    /// Each transfer holds a lock on its bytes.
    range_locks: bool,
}

impl Posix {
    pub(crate) const fn new(spec: &TargetSpec) -> Self {
        Self { range_locks: spec.range_locks }
    }
}

impl FileAccess for Posix {
    fn lane(&self, files: &Arc<Files>, request: &OpenRequest) -> Result<Lane> {
        let direct = files.decide_direct(request)?;
        files.note_depth(request, "posix");
        let file = PosixFile::new(Arc::clone(files), *request, direct);
        Ok(Lane::Sync(if self.range_locks { Box::new(LockedFile::new(file)) } else { Box::new(file) }))
    }
}

/// One task's file.
pub(crate) struct PosixFile {
    files: Arc<Files>,
    request: OpenRequest,
    flags: OFlags,
    opened: OpenFile,
}

impl PosixFile {
    pub(crate) fn new(files: Arc<Files>, request: OpenRequest, direct: bool) -> Self {
        let flags = if direct { OFlags::DIRECT } else { OFlags::empty() };
        Self { files, request, flags, opened: OpenFile::default() }
    }

    pub(crate) fn handle(&self) -> io::Result<&OwnedFd> {
        self.opened.handle()
    }
}

impl File for PosixFile {
    fn open(&mut self) -> Result<()> {
        self.opened.hold(self.files.open(&self.request, self.flags)?);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.opened.read_at(offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.opened.write_at(offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.opened.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.opened.close()
    }
}
