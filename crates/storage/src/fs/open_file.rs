//! A file that is held open: what a lane and the names of a tree do with its bytes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::fsync;
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use crate::fs::held_directories::close;

/// One open file, or none: then every call but `close` is an `EBADF`. Each call is one system call.
#[derive(Debug, Default)]
pub(crate) struct OpenFile(Option<OwnedFd>);

impl OpenFile {
    /// Holds this one from now on.
    #[inline]
    pub(crate) fn hold(&mut self, handle: OwnedFd) {
        self.0 = Some(handle);
    }

    #[inline]
    pub(crate) fn handle(&self) -> io::Result<&OwnedFd> {
        self.0.as_ref().ok_or_else(|| Errno::BADF.into())
    }

    /// See [`File::read_at`](crate::File::read_at).
    #[inline]
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let handle = self.handle()?;
        Ok(retry_on_intr(|| pread(handle, &mut *buffer, offset))?)
    }

    /// See [`File::write_at`](crate::File::write_at).
    #[inline]
    pub(crate) fn write_at(&self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let handle = self.handle()?;
        Ok(retry_on_intr(|| pwrite(handle, buffer, offset))?)
    }

    /// See [`File::sync`](crate::File::sync).
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fsync(self.handle()?)?)
    }

    /// See [`File::close`](crate::File::close); nothing where none is open.
    #[inline]
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), close)
    }
}
