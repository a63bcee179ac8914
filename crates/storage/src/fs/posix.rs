//! pread and pwrite, one at a time.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{OFlags, fsync};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use tonnage_workload::CachePolicy;

use crate::api::{CacheState, Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Storage};
use crate::error::Result;
use crate::fs::files::Files;
use crate::fs::held::close;
use crate::fs::range_locks::LockedFile;
use crate::fs::watch::Watch;
use crate::snapshots::of_files;
use crate::target::TargetSpec;

/// Files of a directory, through system calls.
#[derive(Debug)]
pub(crate) struct Posix {
    files: Arc<Files>,
    range_locks: bool,
}

impl Posix {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        Ok(Self { files: Arc::new(Files::new(spec)?), range_locks: spec.range_locks })
    }
}

impl Storage for Posix {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let direct = self.files.decide_direct(request)?;
        note_depth(&self.files, request, "posix");
        let file = PosixFile::new(Arc::clone(&self.files), *request, direct);
        Ok(Lane::Sync(if self.range_locks { Box::new(LockedFile::new(file)) } else { Box::new(file) }))
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        self.files.names(request)
    }

    fn length(&self, file: u32) -> Result<u64> {
        self.files.length(file)
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.files.prepare_write(files)
    }

    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState> {
        self.files.settle(files, cache)
    }

    fn watch(&self, file: u32) -> Option<Watch> {
        self.files.watch(file)
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let range_locks = self.range_locks;
        of_files(&self.files, request, Box::new(move |files| Arc::new(Self { files, range_locks })))
    }

    fn clear(&self) -> Result<()> {
        self.files.clear()
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.files.finish()
    }

    fn keep_named(&self, keep: bool) {
        self.files.keep_named(keep);
    }

    fn facts(&self) -> Facts {
        self.files.facts()
    }
}

/// Says that a depth above one was asked of a kind that has none.
pub(crate) fn note_depth(files: &Files, request: &OpenRequest, kind: &str) {
    if request.queue_depth > 1 {
        files.note("depth-one", || {
            let depth = request.queue_depth;
            format!("{kind} does one operation at a time, so queue_depth {depth} had no effect; uring keeps several in flight")
        });
    }
}

/// One task's file.
pub(crate) struct PosixFile {
    files: Arc<Files>,
    request: OpenRequest,
    flags: OFlags,
    handle: Option<OwnedFd>,
}

impl PosixFile {
    pub(crate) fn new(files: Arc<Files>, request: OpenRequest, direct: bool) -> Self {
        let flags = if direct { OFlags::DIRECT } else { OFlags::empty() };
        Self { files, request, flags, handle: None }
    }

    #[inline]
    pub(crate) fn handle(&self) -> io::Result<&OwnedFd> {
        self.handle.as_ref().ok_or_else(|| Errno::BADF.into())
    }
}

impl File for PosixFile {
    fn open(&mut self) -> Result<()> {
        self.handle = Some(self.files.open(&self.request, self.flags)?);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let handle = self.handle()?;
        Ok(retry_on_intr(|| pread(handle, &mut *buffer, offset))?)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let handle = self.handle()?;
        Ok(retry_on_intr(|| pwrite(handle, buffer, offset))?)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(fsync(self.handle()?)?)
    }

    fn close(&mut self) -> io::Result<()> {
        self.handle.take().map_or(Ok(()), close)
    }
}
