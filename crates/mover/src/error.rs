//! What ends a mover, or keeps it from starting. What befalls one file is its entry's reason, not one of these.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Result of the mover's calls that concern all of it.
pub type Result<T> = std::result::Result<T, MoverError>;

/// Why a mover cannot go on. Each text says what to do.
#[derive(Debug, Error)]
pub enum MoverError {
    /// The request cannot work; nothing was touched.
    #[error("{0}")]
    Request(String),
    /// A system call on a path failed.
    #[error("cannot {action} {path}: {}", words(.source))]
    Path {
        /// What was tried, such as `open`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The journal could not be read or written.
    #[error("journal {path}: {source}")]
    Journal {
        /// The database.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// A tree is not where it was.
    #[error("{0}")]
    Moved(String),
    /// A thread of the mover ended where it must not.
    #[error("a thread of the mover ended early: {0}")]
    Thread(String),
}

impl MoverError {
    /// A failed call on `path`.
    pub fn path(action: &'static str, path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Self {
        Self::Path { action, path: path.into(), source: source.into() }
    }
}

/// What an error says, without the number that Rust adds to the system's words.
pub(crate) fn words(error: impl std::fmt::Display) -> String {
    let text = error.to_string();
    let Some((before, after)) = text.split_once(" (os error ") else { return text };
    format!("{before}{}", after.split_once(')').map_or("", |(_, rest)| rest))
}
