//! Why a file of a record could not be written or read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file of a record could not be written or read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The record has its files already.
    #[error("{} is there already, and a record is written once; resume the run, or begin a new one", .0.display())]
    Exists(PathBuf),
    /// The file is not what its name says.
    #[error("{} is damaged or unfinished: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The name would lead out of the run directory.
    #[error("{0:?} is not a record name; use letters, digits, '-', '_' and '.', not first")]
    Name(String),
}

impl FileError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: &impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}
