//! Room kept back on the journal's storage, so that a full file system does not stop the mover in the middle of a batch.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::ffi;
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use rustix::io::Errno;

/// Enough for the commits of many batches and for the write-ahead log's index.
const BYTES: u64 = 4 << 20;
const NAME: &str = "reserve";
const REFILL_AFTER: Duration = Duration::from_secs(30);

/// A file of allocated, unused bytes.
#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    released: Option<Instant>,
}

impl Reserve {
    /// Fills the reserve in the directory `state`. `None` where the file cannot be made; the journal works without.
    pub(super) fn open(state: &Path) -> Option<Self> {
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW).mode(0o600);
        let mut reserve = Self { file: how.open(state.join(NAME)).ok()?, released: None };
        reserve.fill();
        Some(reserve)
    }

    /// Gives the room back. `false` where that was done already.
    pub(super) fn release(&mut self) -> bool {
        let held = self.released.is_none() && ftruncate(&self.file, 0).is_ok();
        self.released.get_or_insert_with(Instant::now);
        held
    }

    /// Tries to have the room again, some time after it was given up.
    pub(super) fn refill_now_and_then(&mut self) {
        if self.released.is_some_and(|when| when.elapsed() >= REFILL_AFTER) {
            self.fill();
        }
    }

    fn fill(&mut self) {
        let filled = match fallocate(&self.file, FallocateFlags::empty(), 0, BYTES) {
            // This file system keeps no room, which does not say that it has none.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        };
        self.released = if filled.is_ok() { None } else { Some(Instant::now()) };
        if filled.is_err() {
            // What was allocated before it failed is what the others on this file system need now.
            ftruncate(&self.file, 0).ok();
        }
    }

    /// What the user must know.
    pub(super) fn note(&self) -> Option<String> {
        self.released.map(|_| "the journal's file system is full, its reserve is in use; hint: free some space there".to_owned())
    }
}

/// Whether `error` may come of a full file system or quota; some of the ways there say only that a write failed.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(ffi::Error { code, extended_code }, _) = error else { return false };
    *code == ffi::ErrorCode::DiskFull
        || matches!(
            *extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_TRUNCATE
        )
}
