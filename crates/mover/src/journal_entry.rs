//! What the journal knows of one name, and what became of an attempt to carry it over.

use crate::file_version::Version;
use crate::path::TreePath;

/// Where an entry stands. Stored in the journal by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// To be carried over. Durable before a temporary of it can exist, so that no crash leaves one nobody knows.
    Queued = 0,
    /// The temporary is whole and synced; the rename may have happened. [`Placed`] tells by inode whether it has.
    Placing = 1,
    /// Safe at the destination.
    Done = 2,
    /// Done, and taken off the source by this mover.
    Cleared = 3,
    /// Given up; the reason says why.
    Failed = 4,
    /// It left the source before it was safe.
    Gone = 5,
    /// A kind that is never staged.
    Skipped = 6,
    /// It was safe; its copy is no longer at the destination, and the source does not have it any more.
    Lost = 7,
}

/// What this mover put, or is about to put, under the entry's name at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its inode there.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Its time of change there, as set from the source's.
    pub mtime_ns: i64,
    /// BLAKE3 of all its bytes; `None` for what has none, or where no checksum was asked for.
    pub checksum: Option<[u8; 32]>,
}

impl Placed {
    /// Inode of what somebody else made: the mode and times of such a directory are not this mover's to set, and a file is not its to
    /// replace, nor to delete the source for.
    pub(crate) const OF_OTHERS: u64 = 0;
    /// Inode of a directory that this mover is about to make: found there after a crash, it is this mover's. Of a file: one that is not
    /// known, so that its bytes tell.
    pub(crate) const TO_BE_MADE: u64 = u64::MAX;

    /// What a directory will be known by: its inode, for its times move with every name in it.
    pub(crate) fn directory(ino: u64) -> Self {
        Self { ino, size: 0, mtime_ns: 0, checksum: None }
    }

    /// Whether somebody else made it.
    pub(crate) fn is_of_others(&self) -> bool {
        self.ino == Self::OF_OTHERS
    }

    /// Its inode, where this mover has made it and knows which it is.
    pub(crate) fn made_ino(&self) -> Option<u64> {
        (!matches!(self.ino, Self::OF_OTHERS | Self::TO_BE_MADE)).then_some(self.ino)
    }
}

/// One name of the source tree, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number in the journal; never used again. Also names the temporary.
    pub id: i64,
    /// Its path in both trees.
    pub path: TreePath,
    /// What was found last; what is carried over is this version or a later one.
    pub version: Version,
    /// Where it stands.
    pub state: State,
    /// Attempts of this version that failed.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    /// What lies at the destination by this mover's hand, of this version or an earlier one; or what is about to.
    pub placed: Option<Placed>,
    /// What may lie there in its stead, also by this mover's hand: it was ended, or failed, between saying that it places
    /// and saying that it has. Empty once the entry was done.
    pub before: Vec<Placed>,
}

/// A part of a large file that is in the temporary, with the hash that proves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// BLAKE3 chaining value of the chunk at its place in the file.
    pub hash: [u8; 32],
}

/// What became of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Safe; the journal, the manifest and the log say so.
    Done,
    /// It changed while it was copied: goes again as soon as it has settled. Nothing was placed.
    Changed,
    /// It is no longer there.
    Gone,
    /// It cannot be taken now, and it is nobody's fault: somebody has it open for writing.
    Busy(String),
    /// It waits for something else that this mover does, however long that takes: for what.
    Later(&'static str),
    /// The attempt failed.
    Failed {
        /// What happened, where, and what to do.
        reason: String,
        /// Whether waiting may help (`ENOSPC`, `EIO`, …) or the file is given up at once (foreign file in its place).
        again: bool,
    },
    /// The mover was stopped in the middle; what is there stays for `resume`.
    Halted,
}
