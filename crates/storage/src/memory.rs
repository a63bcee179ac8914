//! Copies to and from memory: what a storage without a kernel would do.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustix::io::Errno;
use tonnage_workload::{CachePolicy, Op};

use crate::api::{CacheState, Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Storage};
use crate::buffer::Buffer;
use crate::error::{Result, StorageError};
use crate::fs::held_directories::failed;
use crate::memory_names::{MemoryNames, Trees};
use crate::serial::Serial;
use crate::snapshots::of_any;

/// Bytes under one lock. Tasks work on different blocks nearly always, so a lock is one uncontended exchange.
const BLOCK_BYTES: u64 = 2 << 20;

/// Files that live as long as this value. Their memory is there before the clock starts.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    files: Shared,
    trees: Arc<Mutex<Trees>>,
}

#[derive(Debug, Clone, Default)]
struct Stored {
    blocks: Vec<Arc<RwLock<Buffer>>>,
    /// Bytes up to the last one that was written.
    length: Arc<AtomicU64>,
    /// A task has opened it for writing; before that it is only prepared.
    exists: bool,
}

type Shared = Arc<Mutex<HashMap<u32, Stored>>>;

fn lock(files: &Shared) -> MutexGuard<'_, HashMap<u32, Stored>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(file: u32) -> StorageError {
    failed("find", &PathBuf::from(format!("memory file {file}")), Errno::NOENT)
}

impl Storage for Memory {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        if request.op == Op::Write {
            let mut files = lock(&self.files);
            let stored = files.entry(request.file).or_default();
            while (stored.blocks.len() as u64) * BLOCK_BYTES < request.file_bytes {
                stored.blocks.push(Arc::new(RwLock::new(Buffer::new(BLOCK_BYTES as usize)?)));
            }
        }
        let file = MemoryFile { files: Arc::clone(&self.files), request: *request, opened: None };
        Ok(Serial::lane(Box::new(file), request.queue_depth))
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(MemoryNames::new(Arc::clone(&self.trees), *request)))
    }

    fn length(&self, file: u32) -> Result<u64> {
        let files = lock(&self.files);
        let stored = files.get(&file).filter(|stored| stored.exists).ok_or_else(|| missing(file))?;
        Ok(stored.length.load(Ordering::Relaxed))
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        // No device is behind it.
        Ok(CacheState { counted: true, ..CacheState::default() })
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        of_any(request, &[], "another storage")
    }

    fn clear(&self) -> Result<()> {
        lock(&self.files).clear();
        self.trees.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// One task's file.
struct MemoryFile {
    files: Shared,
    request: OpenRequest,
    opened: Option<Stored>,
}

/// The parts of `length` bytes from `offset` that lie in one block each: block, start in it, start in the transfer, bytes.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let inside = (at % BLOCK_BYTES) as usize;
        let count = (length - done).min(BLOCK_BYTES as usize - inside);
        let part = ((at / BLOCK_BYTES) as usize, inside, done, count);
        done += count;
        (count > 0).then_some(part)
    })
}

impl File for MemoryFile {
    fn open(&mut self) -> Result<()> {
        let mut files = lock(&self.files);
        let (file, needed) = (self.request.file, self.request.file_bytes);
        let stored = files.get_mut(&file).ok_or_else(|| missing(file))?;
        let actual = stored.length.load(Ordering::Relaxed);
        match self.request.op {
            Op::Write => stored.exists = true,
            Op::Read if !stored.exists => return Err(missing(file)),
            Op::Read if actual < needed => return Err(StorageError::TooShort { file, needed, actual }),
            Op::Read => {}
        }
        self.opened = Some(stored.clone());
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let stored = self.opened.as_ref().ok_or(Errno::BADF)?;
        let length = stored.length.load(Ordering::Relaxed);
        let count = (length.saturating_sub(offset) as usize).min(buffer.len());
        for (block, inside, at, bytes) in parts(offset, count) {
            let block = stored.blocks[block].read().unwrap_or_else(PoisonError::into_inner);
            buffer[at..at + bytes].copy_from_slice(&block[inside..inside + bytes]);
        }
        Ok(count)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let stored = self.opened.as_ref().ok_or(Errno::BADF)?;
        let end = offset + buffer.len() as u64;
        if end > stored.blocks.len() as u64 * BLOCK_BYTES {
            return Err(Errno::FBIG.into());
        }
        for (block, inside, at, bytes) in parts(offset, buffer.len()) {
            let mut block = stored.blocks[block].write().unwrap_or_else(PoisonError::into_inner);
            block[inside..inside + bytes].copy_from_slice(&buffer[at..at + bytes]);
        }
        // Looked at first: tasks of a shared file would otherwise fight for the line at each operation.
        if stored.length.load(Ordering::Relaxed) < end {
            stored.length.fetch_max(end, Ordering::Relaxed);
        }
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.opened = None;
        Ok(())
    }
}
