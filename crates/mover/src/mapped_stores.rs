//! What a store through a mapping leaves behind, by the file system of the source.

use std::os::fd::AsFd;

use rustix::fs::fstatfs;

/// ext2 to ext4, XFS, Btrfs.
const TIMED: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];
const TMPFS: u64 = 0x0102_1994;

/// How a store through a mapping can be known. Only what was tested is in the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// The first one through a new mapping moves the file's times; a lease is refused while a mapping can write.
    Timed,
    /// It moves no time. A lease is refused while a mapping can write, and the end of the mapping is the close of a writer.
    Closed,
    /// Neither is known: FUSE, overlay and network file systems, and whatever else there is. Only the bytes tell.
    Unseen,
}

impl Stores {
    /// Those in the file system of `file`.
    pub fn of(file: impl AsFd) -> Self {
        match fstatfs(file).map(|found| found.f_type as u64 & 0xffff_ffff) {
            Ok(kind) if TIMED.contains(&kind) => Self::Timed,
            Ok(TMPFS) => Self::Closed,
            _ => Self::Unseen,
        }
    }
}
