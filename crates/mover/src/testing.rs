//! What the tests of several modules begin with.

use std::path::Path;

use crate::entry::{Entry, State};
use crate::options::{Check, Clear, Gentle, Options, Order, Overwrite};
use crate::path::TreePath;
use crate::version::{Kind, Version};

/// Options of a mover from `from` to `to` that waits for nothing.
pub fn options(from: &Path, to: &Path) -> Options {
    Options {
        from: from.to_owned(),
        to: to.to_owned(),
        state: from.join(crate::STATE_DIRECTORY),
        name: "test".to_owned(),
        include: Vec::new(),
        exclude: Vec::new(),
        first: Vec::new(),
        markers: Vec::new(),
        order: Order::Oldest,
        check: Check::Written,
        overwrite: Overwrite::Never,
        clear: Clear::Never,
        marks: None,
        workers: None,
        limit_bytes_per_s: None,
        limit_files_per_s: None,
        gentle: Gentle::Off,
        settle_ns: 0,
        rescan_ns: 1_000_000_000,
        open_grace_ns: 0,
        attempts: 3,
        log: None,
    }
}

/// A regular file that waits under `path`.
pub fn entry(id: i64, path: &str) -> Entry {
    let version = Version { kind: Kind::File, ino: 1, size: 0, mtime_ns: 0, ctime_ns: 0, mode: 0o644, links: 1, uid: 0, gid: 0 };
    let path = TreePath::new(path.as_bytes()).expect("a path below the root");
    Entry { id, path, version, state: State::Queued, attempts: 0, reason: None, placed: None, before: Vec::new() }
}
