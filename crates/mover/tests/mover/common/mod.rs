//! What the tests of whole parts begin with.

use std::path::Path;

use tonnage_mover::{Check, Clear, Gentle, Options, Order, Overwrite, STATE_DIRECTORY};

/// Options of a mover from `from` to `to` that waits for nothing.
pub fn options(from: &Path, to: &Path) -> Options {
    Options {
        from: from.to_owned(),
        to: to.to_owned(),
        state: from.join(STATE_DIRECTORY),
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
        drop_attributes: false,
        trees_changed: false,
    }
}
