//! One file's way over, whole in a batch or in chunks by several workers.
//!
//! What is placed is the very version that was read: `fstat` before the first byte and the name's own after the last one must be equal,
//! and nobody may have it open for writing at either moment. What befalls one entry is its [`Outcome`](crate::Outcome); an error of
//! these calls ends the mover.

mod attributes;
mod batch;
mod chunks;
mod edges;
mod ended;
mod handles;
mod large;
mod place;
mod source;
mod special;
mod stream;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::journal::Journal;
use crate::limit::Limiter;
use crate::log::Log;
use crate::manifest::Manifest;
use crate::options::Options;
use crate::path::TreePath;
use crate::settle::Settler;
use crate::tree::Tree;
pub use large::{Large, Started};

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
    /// What lies at the destination.
    pub manifest: Arc<Manifest>,
    /// Spectral's lines.
    pub log: Arc<Log>,
    /// Who still writes a file.
    pub settler: Arc<Settler>,
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
    /// Bytes written to temporaries; holes do not count.
    pub copied_bytes: AtomicU64,
    /// Entries that became safe.
    pub done: AtomicU64,
    /// Workers of this number and above leave a large file at its next chunk. Set by the mover.
    pub workers: AtomicU32,
}

impl Default for Counters {
    fn default() -> Self {
        Self { copied_bytes: AtomicU64::new(0), done: AtomicU64::new(0), workers: AtomicU32::new(u32::MAX) }
    }
}

/// Carries entries over. Shared by all workers.
#[derive(Clone, Debug)]
pub struct Carrier {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    parts: Parts,
    /// What makes a batch durable at this destination.
    sync: stream::Sync,
    /// Directories that this process made, by inode: their mode and time are the source's in the end, others' are not touched.
    made: Mutex<HashMap<TreePath, u64>>,
    /// Inodes with several names, one of which is on its way: the others become links to it.
    linking: Mutex<HashSet<u64>>,
}

impl Carrier {
    /// For one mover.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let sync = stream::Sync::of(&parts.to);
        Self { shared: Arc::new(Shared { parts, sync, made: Mutex::default(), linking: Mutex::default() }) }
    }
}

impl Shared {
    fn halted(&self) -> bool {
        self.parts.halt.load(Ordering::Relaxed)
    }

    /// Waits for leave to move so many bytes and files; `Halted` if the mover stops first.
    fn take(&self, bytes: u64, files: u64) -> std::result::Result<(), ended::Ended> {
        if self.parts.limiter.take(bytes, files, &self.parts.halt) { Ok(()) } else { Err(crate::Outcome::Halted.into()) }
    }

    /// The same for bytes that are about to be copied, which are counted.
    fn leave(&self, bytes: u64) -> bool {
        let granted = self.take(bytes, 0).is_ok();
        self.parts.counters.copied_bytes.fetch_add(if granted { bytes } else { 0 }, Ordering::Relaxed);
        granted
    }

    /// The storage did not keep what it was given.
    fn differs(&self, path: &TreePath) -> ended::Ended {
        let place = ended::place(&self.parts.to, path);
        ended::broken(format!("{place} read back differs from what was written; hint: the storage there is at fault"))
    }
}

#[cfg(test)]
mod tests;
