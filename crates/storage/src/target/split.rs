//! A file that is kept as several.

use serde::{Deserialize, Serialize};

/// How a file is cut: `count` files of `bytes` each. File *f* is kept as the files *f* × `count` and on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Files that one file becomes.
    pub count: u32,
    /// Bytes of each; a multiple of the transfer size.
    pub bytes: u64,
}
