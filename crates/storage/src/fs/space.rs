//! What a file system has room for.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{self, FsWord};

use crate::api::Space;

/// `linux/magic.h`: ext2, ext3 and ext4, XFS, F2FS, tmpfs. They take what a write needs from what is free when it comes,
/// whatever they write later.
const COUNTING_AT_ONCE: [FsWord; 4] = [0xEF53, 0x5846_5342, 0xF2F5_2010, 0x0102_1994];

/// Of the file system that holds `directory`; `None` where it does not say.
pub(crate) fn space_of(directory: BorrowedFd<'_>, path: &Path, taken_bytes: u64) -> Option<Space> {
    let (facts, kind) = (fs::fstatvfs(directory).ok()?, fs::fstatfs(directory).ok()?.f_type);
    (facts.f_blocks > 0).then(|| Space {
        path: path.to_owned(),
        free_bytes: facts.f_bavail.saturating_mul(facts.f_frsize),
        size_bytes: facts.f_blocks.saturating_mul(facts.f_frsize),
        taken_bytes,
        counts_at_once: COUNTING_AT_ONCE.contains(&kind),
    })
}
