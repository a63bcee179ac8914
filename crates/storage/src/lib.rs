//! How bytes are touched.
//!
//! A [`Storage`] is a place under test. Each task asks it for a [`Lane`], its own way to one file: either a [`File`],
//! which does one operation at a time, or a [`Queue`], which keeps several in flight; or for [`Names`], its way to a
//! tree of directories.
//!
//! ```text
//! target  which storage is meant ──→ kinds::open ──→ Storage (api) ──→ Lane, Names, Snapshots (api)
//!                                        │
//!              ┌──────────┬──────────┬───┴──────┬─────────┬──────────────┐
//!              fs         nfs        rados      s3        memory, null   pieces (around another)
//!              posix, uring, mmap, tree, mpiio: on files of
//!              scratch directories (scratch) or of the user (fs::user_files)
//! ```
//!
//! A storage around another one is a [`Wrapper`]: it states the calls that it changes.
//!
//! A new kind of storage is a file or folder of this crate that implements the traits of `api`, an arm in `kinds`, and a line
//! in the conformance suite (`tests/conformance.rs`). Nothing but what `scratch` marked, and what `fs::user_files` may, is removed.

mod api;
mod buffer;
mod error;
mod fs;
mod kinds;
mod memory;
mod memory_names;
mod mpiio;
mod names;
mod nfs;
mod null;
mod object_placement;
mod rados;
mod s3;
mod scratch;
mod serial;
mod slots;
mod snapshots;
mod split_file;
mod target;
mod wait;
mod wrapper;

pub use api::{
    CacheState, Completion, Facts, File, ItemKind, Lane, Names, NamesRequest, Note, OpenRequest, Opening, Queue, Request,
    RetryReport, SnapshotRequest, Snapshots, Space, Storage,
};
pub use buffer::Buffer;
pub use error::{Result, StorageError};
pub use fs::watch::Watch;
pub use kinds::open;
pub use mpiio::SHIM as MPIIO_SHIM;
pub use nfs::{ExportFacts, export_facts};
pub use object_placement::{PlacedObjects, Placement, Traffic};
pub use rados::{ask_monitor, clean_pool, pool_free_bytes, pool_leftovers};
pub use s3::check_bucket;
pub use scratch::left_files::{file_leftovers, remove_left_file};
pub use scratch::marker::State;
pub use scratch::{Leftover, Scratch};
pub use slots::Slots;
pub use split_file::Pieces;
pub use target::{
    Advice, BucketSpec, Cut, Delays, DirectMode, Existing, ExportSpec, FileView, MpiioSpec, PoolSpec, Process, StorageKind,
    TargetSpec,
};
pub use wait::{end_waits, waits_are_over};
pub use wrapper::Wrapper;
