//! Transfers that hold a lock on their bytes.

use std::io;
use std::os::fd::AsRawFd;

use crate::api::File;
use crate::error::Result;
use crate::fs::posix::PosixFile;

/// A file of which each transfer takes a lock first: shared for a read, exclusive for a write. The locks belong to the
/// open file (`F_OFD_SETLKW`), so that tasks which are threads exclude each other as processes would.
pub(crate) struct LockedFile {
    file: PosixFile,
}

impl LockedFile {
    pub(crate) const fn new(file: PosixFile) -> Self {
        Self { file }
    }

    fn lock(&self, kind: libc::c_int, offset: u64, length: usize) -> io::Result<()> {
        let handle = self.file.handle()?.as_raw_fd();
        // SAFETY: all of it is integers, for which zeros are values; the pid has to be 0.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        range.l_start = offset as libc::off_t;
        range.l_len = length as libc::off_t;
        loop {
            // SAFETY: the handle is open, and the call only reads the range.
            if unsafe { libc::fcntl(handle, libc::F_OFD_SETLKW, &raw const range) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn within(
        &mut self,
        kind: libc::c_int,
        offset: u64,
        length: usize,
        act: impl FnOnce(&mut PosixFile) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.lock(kind, offset, length)?;
        let moved = act(&mut self.file);
        self.lock(libc::F_UNLCK, offset, length)?;
        moved
    }
}

impl File for LockedFile {
    fn open(&mut self) -> Result<()> {
        self.file.open()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.within(libc::F_RDLCK, offset, buffer.len(), |file| file.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.within(libc::F_WRLCK, offset, buffer.len(), |file| file.write_at(offset, buffer))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.file.close()
    }
}
