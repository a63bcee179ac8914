//! Mapped files: reads and writes are copies, and the page cache does the rest.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat, ftruncate};
use rustix::io::Errno;
use rustix::mm::{Advice as MapAdvice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};
use tonnage_workload::Op;

use crate::api::{File, Lane, OpenRequest};
use crate::error::{Result, StorageError};
use crate::fs::direct::NO_DIRECT;
use crate::fs::file_storage::FileAccess;
use crate::fs::files::Files;
use crate::fs::held_directories::{close, failed};
use crate::target::{Advice, DirectMode, TargetSpec};

/// Copies to and from mapped files.
#[derive(Debug)]
pub(crate) struct Mapped {
    /// The cache was not asked for, so a note says that it was used.
    told: bool,
    advice: Arc<[Advice]>,
}

const WHY: &str = "mapped files always go through the page cache";

impl Mapped {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        if spec.direct == DirectMode::Yes {
            return Err(StorageError::Unsupported(format!("{WHY}; use direct = \"no\", or kind posix or uring")));
        }
        Ok(Self { told: spec.direct == DirectMode::Auto, advice: spec.advice.clone().into() })
    }
}

impl FileAccess for Mapped {
    /// A store to a mapping is no write that inotify tells of.
    const IS_WATCHED: bool = false;

    fn lane(&self, files: &Arc<Files>, request: &OpenRequest) -> Result<Lane> {
        files.note_depth(request, "mmap");
        files.set_direct(request.file, false, self.told.then(|| (NO_DIRECT, WHY.to_owned())));
        let (files, advice) = (Arc::clone(files), Arc::clone(&self.advice));
        Ok(Lane::Sync(Box::new(MappedFile { files, request: *request, advice, opened: None })))
    }
}

/// One task's file. The mapping is exactly `request.file_bytes` long.
struct MappedFile {
    files: Arc<Files>,
    request: OpenRequest,
    advice: Arc<[Advice]>,
    opened: Option<(Mapping, OwnedFd)>,
}

impl MappedFile {
    fn mapping(&self) -> io::Result<&Mapping> {
        self.opened.as_ref().map(|(mapping, _)| mapping).ok_or_else(|| Errno::BADF.into())
    }

    /// Gives the file its length and its blocks. A store to a hole that the disk has no room for is a SIGBUS, which
    /// would end the process; here it is an ENOSPC.
    fn reserve(&self, handle: &OwnedFd) -> rustix::io::Result<()> {
        let bytes = self.request.file_bytes;
        if bytes == 0 {
            return Ok(());
        }
        match fallocate(handle, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if (fstat(handle)?.st_size as u64) < bytes => ftruncate(handle, bytes),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }
}

impl File for MappedFile {
    fn open(&mut self) -> Result<()> {
        let handle = self.files.open(&self.request, OFlags::empty())?;
        let path = || self.files.path(self.request.file);
        let mut access = ProtFlags::READ;
        if self.request.op == Op::Write {
            access |= ProtFlags::WRITE;
            self.reserve(&handle).map_err(|errno| failed("reserve space for", &path(), errno))?;
        }
        let mapping =
            Mapping::new(&handle, self.request.file_bytes as usize, access).map_err(|errno| failed("map", &path(), errno))?;
        for &advice in self.advice.iter() {
            mapping.advise(advice).map_err(|errno| failed("advise on the mapping of", &path(), errno))?;
        }
        self.opened = Some((mapping, handle));
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.mapping()?.read(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        match self.mapping()?.write(offset, buffer) {
            0 if !buffer.is_empty() => Err(Errno::FBIG.into()),
            count => Ok(count),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.mapping()?.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.opened.take().map_or(Ok(()), |(_, handle)| close(handle))
    }
}

/// A shared mapping of the start of a file. Its bytes are only ever copied through raw pointers: other tasks and
/// processes may map the same file, so no Rust reference to them would be true.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
    writable: bool,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(handle: &OwnedFd, length: usize, access: ProtFlags) -> rustix::io::Result<Self> {
        let writable = access.contains(ProtFlags::WRITE);
        if length == 0 {
            return Ok(Self { start: NonNull::dangling(), length, writable });
        }
        // SAFETY: a new mapping aliases no Rust value.
        let start = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, handle, 0) }?;
        Ok(Self { start: NonNull::new(start.cast()).ok_or(Errno::NOMEM)?, length, writable })
    }

    /// Where `offset` is, and how many of `wanted` bytes are mapped from there.
    fn at(&self, offset: u64, wanted: usize) -> (*mut u8, usize) {
        let offset = (offset as usize).min(self.length);
        // SAFETY: at most one past the end of the mapping.
        (unsafe { self.start.as_ptr().add(offset) }, wanted.min(self.length - offset))
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let (from, count) = self.at(offset, buffer.len());
        // SAFETY: `count` bytes are mapped and fit in the buffer, which is no part of the mapping.
        unsafe { std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), count) };
        count
    }

    fn write(&self, offset: u64, buffer: &[u8]) -> usize {
        let (to, count) = self.at(offset, if self.writable { buffer.len() } else { 0 });
        // SAFETY: as above; the mapping is writable when there is anything to copy.
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), to, count) };
        count
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        let told = match advice {
            Advice::Sequential => MapAdvice::Sequential,
            Advice::Random => MapAdvice::Random,
            // The C library's posix_madvise would do nothing here.
            Advice::DontNeed => MapAdvice::LinuxDontNeed,
        };
        if self.length == 0 {
            return Ok(());
        }
        // SAFETY: the whole mapping, which is ours and shared: pages that are let go are read again from the file.
        unsafe { madvise(self.start.as_ptr().cast(), self.length, told) }
    }

    fn sync(&self) -> io::Result<()> {
        if self.length > 0 {
            // SAFETY: the whole mapping, which is ours.
            unsafe { msync(self.start.as_ptr().cast(), self.length, MsyncFlags::SYNC) }?;
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the mapping made in `new`; nothing borrows it.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        }
    }
}
