//! One file's way over, whole in a batch or in chunks by several workers.
//!
//! What is placed is the very version that was read: `fstat` before the first byte and the name's own after the last one must be equal,
//! and nobody may have it open for writing at either moment. What befalls one entry is its [`Outcome`](crate::Outcome); an error of
//! these calls ends the mover.

mod attempt_error;
mod attributes;
mod batch;
mod check_copies;
mod destination_name;
mod directories;
mod existing_copy;
mod handles;
mod hashes;
mod large;
mod recovery;
mod resume;
mod source;
mod special;
mod temporary;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bytes::stream::{self, Trouble};
use crate::error::Result;
use crate::journal::Journal;
use crate::log::Log;
use crate::manifest::Manifest;
use crate::options::{Check, Options};
use crate::path::TreePath;
use crate::preflight::Established;
use crate::quiescence::QuiescenceCheck;
use crate::rate_limiter::Limiter;
use crate::tree::Tree;
pub(crate) use attempt_error::Attempt;
pub(crate) use attributes::Dropped;
pub use attributes::{Extended, extended};
pub(crate) use batch::{Batch, Item, Looked, Opened};
pub use check_copies::{Copies, REMOVED};
pub use directories::Renewed;
pub use large::{Large, Started};
pub(crate) use source::Reading;
pub(crate) use temporary::Filled;

/// A file of more bytes than this is carried in chunks by several workers; see [`Carrier::large`].
pub const SMALL_BYTES: u64 = 8 << 20;

/// What the mover's parts share.
#[derive(Debug)]
pub struct Parts {
    /// Source.
    pub from: Arc<Tree>,
    /// Destination.
    pub to: Arc<Tree>,
    /// Where each entry stands.
    pub journal: Arc<Journal>,
    /// Whether the trees are where they were.
    pub established: Arc<Established>,
    /// What lies at the destination.
    pub manifest: Arc<Manifest>,
    /// Spectral's lines.
    pub log: Arc<Log>,
    /// Who still writes a file.
    pub quiescence: Arc<QuiescenceCheck>,
    /// Bounds in bytes and files a second.
    pub limiter: Arc<Limiter>,
    /// What was asked.
    pub options: Arc<Options>,
    /// What this process has copied.
    pub counters: Arc<Counters>,
    /// Set to stop between two pieces; what is there stays for `resume`.
    pub halt: Arc<AtomicBool>,
}

/// What this process has copied since it began, whole files or not.
#[derive(Debug)]
pub struct Counters {
    /// Bytes that were to be written to temporaries; holes do not count.
    pub copied_bytes: AtomicU64,
    /// Those of them that came to nothing: the write of a file, or of a chunk of a large one, failed.
    pub undone_bytes: AtomicU64,
    /// Entries that became safe.
    pub done: AtomicU64,
    /// Workers of this number and above leave a large file at its next chunk. Set by the mover.
    pub workers: AtomicU32,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            copied_bytes: AtomicU64::new(0),
            undone_bytes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            workers: AtomicU32::new(u32::MAX),
        }
    }
}

impl Counters {
    /// Bytes of what was copied, without those that came to nothing.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let undone = self.undone_bytes.load(Ordering::Acquire);
        self.copied_bytes.load(Ordering::Relaxed).saturating_sub(undone)
    }
}

/// Carries entries over. Shared by all workers.
#[derive(Clone, Debug)]
pub struct Carrier {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    parts: Parts,
    /// What makes a batch durable at this destination.
    sync: stream::Sync,
    /// Whose files this process makes: its user and its group.
    user: (u32, u32),
    /// Directories that this process made, by inode: their mode and time are the source's in the end, others' are not touched.
    made: Mutex<HashMap<TreePath, u64>>,
    /// Inodes with several names, one of which is on its way: the others become links to it.
    linking: Mutex<HashSet<u64>>,
    /// What the user must know, until somebody asks.
    notes: Mutex<Vec<String>>,
    /// Whether the destination has failed to sync: what it says of other bytes is not believed any more.
    doubted: AtomicBool,
    /// Whether a directory of the destination hands down access lists: what is made may have some that its source has not.
    lists: AtomicBool,
    /// Whether directories of the destination have been given groups, which they may hand down, since they were opened.
    groups: AtomicBool,
}

impl Carrier {
    /// For one mover.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let sync = stream::Sync::of(&parts.to);
        let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self {
            shared: Arc::new(Shared {
                parts,
                sync,
                user,
                made: Mutex::default(),
                linking: Mutex::default(),
                notes: Mutex::default(),
                doubted: AtomicBool::new(false),
                lists: AtomicBool::new(false),
                groups: AtomicBool::new(false),
            }),
        }
    }

    /// What the user must know, since the last time that somebody asked.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    /// Fails where the state directory is not the one that was locked.
    pub(crate) fn require_state(&self) -> Result<()> {
        self.parts.established.check_state()
    }

    /// Fails where the destination is not the one that was established.
    pub(crate) fn require_destination(&self) -> Result<()> {
        self.parts.established.check_destination(&self.parts.to)
    }

    fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    fn halted(&self) -> bool {
        self.parts.halt.load(Ordering::Relaxed)
    }

    /// Waits for leave to move so many bytes and files; `Halted` if the mover stops first.
    pub(crate) fn take(&self, bytes: u64, files: u64) -> std::result::Result<(), attempt_error::Ended> {
        if self.parts.limiter.take(bytes, files, &self.parts.halt) { Ok(()) } else { Err(crate::Outcome::Halted.into()) }
    }

    /// Calls `copy`, which asks for leave for the bytes that it is about to copy; what it gives, and how many these were.
    fn counted<T>(
        &self,
        copy: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> std::result::Result<T, Trouble>,
    ) -> std::result::Result<(T, u64), Trouble> {
        let (counters, mut bytes) = (&self.parts.counters, 0);
        let copied = copy(&mut |piece| {
            let granted = self.take(piece, 0).is_ok();
            let taken = if granted { piece } else { 0 };
            bytes += taken;
            counters.copied_bytes.fetch_add(taken, Ordering::Relaxed);
            granted
        });
        if copied.is_err() {
            counters.undone_bytes.fetch_add(bytes, Ordering::Release);
        }
        copied.map(|value| (value, bytes))
    }

    /// Whether copies are read back: as asked, or because the destination has failed to sync.
    fn reads_back(&self) -> bool {
        self.parts.options.check == Check::ReadBack || self.doubted.load(Ordering::Relaxed)
    }

    /// The destination failed to sync. A device that loses some bytes may take others without an error and lose them too.
    fn doubt(&self) {
        if !self.doubted.swap(true, Ordering::Relaxed) && self.parts.options.check == Check::Written {
            let to = self.parts.to.path().display();
            self.note(format!(
                "destination {to} failed to sync: copies are read back from now on; hint: stage verify reads those before"
            ));
        }
    }

    /// The storage did not keep what it was given.
    fn differs(&self, path: &TreePath) -> attempt_error::Ended {
        let place = attempt_error::place(&self.parts.to, path);
        attempt_error::broken(format!("{place} read back differs from what was written; hint: the storage there is at fault"))
    }
}

#[cfg(test)]
mod tests;
