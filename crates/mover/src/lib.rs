//! Moves files from one directory tree to another in the background and loses none.
//!
//! The life of a file, and the order nothing may change:
//! journal entry durable → temporary name in the destination directory → data (sparse stays sparse) → mode, times, attributes
//! → fsync → checksum → journal *placing* durable → rename → fsync of the directory → manifest → journal *done* durable → log.
//!
//! | part | what it does |
//! |---|---|
//! | [`Options`] | what was asked, every default filled in by the caller |
//! | `preflight` | refuses what cannot work before anything is touched; the lock that keeps a second mover out |
//! | `tree` | a directory tree behind a handle; nothing is ever opened by following a link out of it |
//! | `journal` | what was found, what is where; SQLite on node-local storage |
//! | `manifest`, `log` | what lies at the destination, beside the data, for later years; Spectral's lines |
//! | `rules` | which files, in which order, which of them wait for others |
//! | `scan`, `watch`, `quiescence` | the truth, the hint, and whether a file can be taken now |
//! | `mapped_stores` | what a store through a mapping leaves behind, by file system |
//! | `bytes` | bytes of a file: moved, hashed on the way, read back from the device |
//! | `order_of_steps` | that order in code, for a copy, for the deletion of its source, and after a crash |
//! | `copy` | the steps of one file's way over, whole or in chunks by several workers |
//! | `names` | the only place that renames or unlinks |
//! | `purge` | takes verified files off the source, where that was asked |
//! | `controllers` | from measurements to decisions: how many workers, and how fast beside an application |
//! | `rate_limiter`, `adaptive_throttle` | bytes and files a second; what is seen of the application, and what follows from it |
//! | `mover` | the threads, and what they say of themselves |

pub mod adaptive_throttle;
mod bytes;
pub mod controllers;
pub mod copy;
mod error;
mod file_version;
mod hex;
mod in_threads;
pub mod journal;
mod journal_entry;
pub mod log;
pub mod manifest;
mod mapped_stores;
pub mod mover;
pub mod names;
mod options;
mod order_of_steps;
mod path;
pub mod preflight;
pub mod purge;
pub mod quiescence;
pub mod rate_limiter;
pub mod rules;
pub mod scan;
mod status;
#[cfg(test)]
mod testing;
mod tree;
pub mod watch;

pub use error::{MoverError, Result};
pub use file_version::{Kind, Version};
pub use journal_entry::{Chunk, Entry, Outcome, Placed, State};
pub use mapped_stores::Stores;
pub use mover::{Listed, Mover, list, status_of};
pub use options::{Check, Clear, Gentle, Marks, Options, Order, Overwrite};
pub use path::TreePath;
pub use status::{Failure, Progress, Status, Totals, Waiting};
pub use tree::Tree;

/// Directory that holds the journal at the local end and the manifests at the destination. Never staged itself.
pub const STATE_DIRECTORY: &str = ".tonnage-stage";
