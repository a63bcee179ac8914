//! What can go wrong outside an operation. Each text says what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Result of a storage's calls outside operations.
pub type Result<T> = std::result::Result<T, StorageError>;

/// A call to a storage that failed. Failures of single operations are `io::Error`s and are counted by the engine.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A system call on a path failed.
    #[error("cannot {action} {path}: {source}")]
    Path {
        /// What was tried, such as `open`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No memory for buffers.
    #[error("no memory for a buffer of {bytes} bytes ({source}); use fewer tasks, a smaller transfer or a smaller queue depth")]
    Memory {
        /// Wanted.
        bytes: usize,
        /// Why not.
        source: io::Error,
    },
    /// More memory is to be held than there is.
    #[error("cannot hold {wanted} bytes of memory: {} bytes are available; give a smaller hog", available.map_or("fewer".to_owned(), |bytes| bytes.to_string()))]
    Hog {
        /// Wanted.
        wanted: u64,
        /// What the system and the control groups of this process leave; `None` where they do not say.
        available: Option<u64>,
    },
    /// The directory is not one that Tonnage marked as its own.
    #[error("{path} is not a scratch directory of this run ({why}); nothing in it was touched")]
    NotOurs {
        /// Which.
        path: PathBuf,
        /// What was missing or different.
        why: String,
    },
    /// A named file may not be used or removed.
    #[error("{path} {why}")]
    Name {
        /// Which.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// A read needs more than there is.
    #[error("file {file} has {actual} bytes and the read needs {needed}; write it first")]
    TooShort {
        /// Number of the file.
        file: u32,
        /// Needed bytes.
        needed: u64,
        /// Bytes it has.
        actual: u64,
    },
    /// One of the others, with what else is known of it.
    #[error("{error}: {why}")]
    Explained {
        /// What failed.
        error: Box<StorageError>,
        /// What somebody was asked about it, in a sentence.
        why: String,
    },
    /// This build or system lacks what was asked.
    #[error("{0}")]
    Unsupported(String),
}

/// Why a file with a second name is not written to, and what to do.
pub(crate) const LINKED: &str =
    "has another name (a hard link), and what that shows would change too; remove the link, or the file";

/// An error of a file that has a second name.
pub(crate) fn linked(path: &Path) -> StorageError {
    StorageError::Name { path: path.to_owned(), why: LINKED.to_owned() }
}

impl StorageError {
    /// The same with what `explain` knows of the system's error, where there is one.
    #[must_use]
    pub fn explained(self, explain: impl FnOnce(&io::Error) -> Option<String>) -> Self {
        match self.io().and_then(explain) {
            Some(why) => Self::Explained { error: Box::new(self), why },
            None => self,
        }
    }

    /// The system's error, where there is one.
    #[must_use]
    pub const fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Path { source, .. } | Self::Memory { source, .. } => Some(source),
            Self::Explained { error, .. } => error.io(),
            Self::Hog { .. } | Self::NotOurs { .. } | Self::Name { .. } | Self::TooShort { .. } | Self::Unsupported(_) => None,
        }
    }
}
