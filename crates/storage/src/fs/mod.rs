//! Storages on a file system: what they open and how, the files of scratch directories and those that users name.
//!
//! `file_storage` is the storage of every kind, on `files`, which opens and settles them; a kind is no more than its lane
//! (`posix`, `uring`, `mmap`). `file_place` says where a file is: in a scratch directory (`devices`) or by a name of the user
//! (`user_files`). `tree` is the way to the names of a tree, whose files are an `open_file` as those of lanes are.

pub(crate) mod accounting;
pub(crate) mod cache_state;
pub(crate) mod create_directory;
pub(crate) mod devices;
pub(crate) mod direct;
pub(crate) mod file_place;
pub(crate) mod file_storage;
pub(crate) mod files;
pub(crate) mod held_directories;
pub(crate) mod holes;
pub(crate) mod mmap;
pub(crate) mod open_file;
pub(crate) mod ownership_mark;
pub(crate) mod posix;
pub(crate) mod range_locks;
pub(crate) mod space;
pub(crate) mod tree;
pub(crate) mod uring;
pub(crate) mod user_files;
pub(crate) mod watch;
