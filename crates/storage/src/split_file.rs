//! A task's file kept as several files, one after the other.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use tonnage_workload::CachePolicy;

use crate::api::{CacheState, File, Lane, OpenRequest, RetryReport, SnapshotRequest, Snapshots, Storage};
use crate::error::{Result, StorageError};
use crate::fs::watch::Watch;
use crate::target::Cut;
use crate::wrapper::Wrapper;

/// Another storage, whose files each are several. A task has one of them open at a time: the one of its latest
/// operation, in whose latency the closing of the one before and the opening are.
pub struct Pieces {
    inner: Arc<dyn Storage>,
    cut: Cut,
}

impl Pieces {
    /// `inner`, with every file cut.
    #[must_use]
    pub fn new(inner: Arc<dyn Storage>, cut: Cut) -> Self {
        Self { inner, cut }
    }

    fn pieces<'a>(&self, files: &'a [u32]) -> impl Iterator<Item = u32> + use<'a> {
        let count = self.cut.count;
        files.iter().flat_map(move |&file| (0..count).map(move |piece| file.saturating_mul(count).saturating_add(piece)))
    }
}

impl Wrapper for Pieces {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        if self.cut.count == 0 || self.cut.bytes == 0 || !self.cut.bytes.is_multiple_of(request.transfer_size.max(1) as u64) {
            let (bytes, transfer) = (self.cut.bytes, request.transfer_size);
            let text =
                format!("files of {bytes} bytes are no whole number of transfers of {transfer}; use another transfer_size");
            return Err(StorageError::Unsupported(text));
        }
        let request = OpenRequest { file_bytes: self.cut.bytes, ..*request };
        // Asked for now, so that what the storage cannot do is told before the start.
        if matches!(
            self.inner.lane(&OpenRequest { file: request.file.saturating_mul(self.cut.count), ..request })?,
            Lane::Queued(_)
        ) {
            let text = "files one after the other take one operation at a time; use storage posix or mmap".to_owned();
            return Err(StorageError::Unsupported(text));
        }
        let inner = Arc::clone(&self.inner);
        let (opened, unsynced, lost, retried) = (None, BTreeSet::new(), Vec::new(), Vec::new());
        Ok(Lane::Sync(Box::new(PiecesFile { inner, cut: self.cut, request, opened, unsynced, lost, retried })))
    }

    fn length(&self, file: u32) -> Result<u64> {
        self.pieces(&[file]).map(|piece| self.inner.length(piece)).sum()
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.inner.prepare_write(&self.pieces(files).collect::<Vec<_>>())
    }

    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState> {
        self.inner.settle(&self.pieces(files).collect::<Vec<_>>(), cache)
    }

    fn watch(&self, _file: u32) -> Option<Watch> {
        None
    }

    fn snapshots(&self, _request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let text = "no snapshots are taken of files that are kept in pieces; give a layout of one file a task, or a shared one";
        Err(StorageError::Unsupported(text.to_owned()))
    }
}

struct PiecesFile {
    inner: Arc<dyn Storage>,
    cut: Cut,
    /// Of one piece; `file` is that of the whole.
    request: OpenRequest,
    opened: Option<(u32, Box<dyn File>)>,
    /// Pieces that were written since the last sync.
    unsynced: BTreeSet<u32>,
    /// Of the whole file, what the storage told to be lost when a piece was synced or closed.
    lost: Vec<Range<u64>>,
    /// Of pieces that are closed.
    retried: Vec<RetryReport>,
}

impl PiecesFile {
    /// The open file of the piece that holds `offset`, and the offset in it.
    fn at(&mut self, offset: u64) -> io::Result<(&mut dyn File, u64)> {
        let (piece, inside) = ((offset / self.cut.bytes) as u32, offset % self.cut.bytes);
        if self.opened.as_ref().is_none_or(|(open, _)| *open != piece) {
            let (lost, closed) = (self.lost.len(), self.close_piece());
            // What was lost is told by the next sync or close, after which it is written again.
            if self.lost.len() == lost {
                closed?;
            }
            self.opened = Some((piece, self.open_piece(piece)?));
        }
        match &mut self.opened {
            Some((_, file)) => Ok((file.as_mut(), inside)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open_piece(&self, piece: u32) -> io::Result<Box<dyn File>> {
        let number = self.request.file.checked_mul(self.cut.count).and_then(|first| first.checked_add(piece));
        let Some(file) = number.filter(|_| piece < self.cut.count) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no such file; use fewer files or tasks"));
        };
        let Lane::Sync(mut opened) = self.inner.lane(&OpenRequest { file, ..self.request }).map_err(|error| plain(&error))?
        else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        opened.open().map_err(|error| plain(&error))?;
        Ok(opened)
    }

    fn close_piece(&mut self) -> io::Result<()> {
        let Some((piece, mut file)) = self.opened.take() else { return Ok(()) };
        let closed = file.close();
        self.keep_told(piece, file.as_mut());
        closed
    }

    /// Makes one piece durable, which is opened once more for it if it was closed.
    fn sync_piece(&mut self, piece: u32) -> io::Result<()> {
        let opened = self.opened.take_if(|(open, _)| *open == piece);
        let was_closed = opened.is_none();
        let mut file = match opened {
            Some((_, file)) => file,
            None => self.open_piece(piece)?,
        };
        let mut synced = file.sync();
        if was_closed && synced.is_ok() {
            synced = file.close();
        }
        self.keep_told(piece, file.as_mut());
        if !was_closed {
            self.opened = Some((piece, file));
        }
        synced
    }

    /// What the file of a piece has to tell, before it may be closed for good.
    fn keep_told(&mut self, piece: u32, file: &mut dyn File) {
        let first = u64::from(piece) * self.cut.bytes;
        self.lost.extend(file.take_lost().into_iter().map(|range| first + range.start..first + range.end));
        self.retried.extend(file.take_retry_reports());
    }

    fn none_lost(&self) -> io::Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        Err(io::Error::other("a file was closed of which the storage had lost what it had taken; write it again"))
    }
}

impl File for PiecesFile {
    /// Nothing yet: each piece is opened with its first operation.
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, inside) = self.at(offset)?;
        file.read_at(inside, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let (file, inside) = self.at(offset)?;
        let moved = file.write_at(inside, buffer)?;
        self.unsynced.insert((offset / self.cut.bytes) as u32);
        Ok(moved)
    }

    /// Those that were closed are opened once more for it.
    fn sync(&mut self) -> io::Result<()> {
        let mut left = std::mem::take(&mut self.unsynced);
        while let Some(piece) = left.pop_first() {
            let lost = self.lost.len();
            if let Err(error) = self.sync_piece(piece) {
                if self.lost.len() > lost {
                    // Another sync follows once it is written again; one after a failure of another kind would prove nothing.
                    self.unsynced = left;
                }
                return Err(error);
            }
        }
        self.none_lost()
    }

    fn close(&mut self) -> io::Result<()> {
        self.close_piece()?;
        self.none_lost()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lost)
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        if let Some((_, file)) = &mut self.opened {
            self.retried.extend(file.take_retry_reports());
        }
        std::mem::take(&mut self.retried)
    }
}

/// As an operation reports it: the system's own error where there is one.
fn plain(error: &StorageError) -> io::Error {
    match error.io().and_then(io::Error::raw_os_error) {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(error.to_string()),
    }
}
