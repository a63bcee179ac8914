//! Where the kernel's count of bytes from devices (`read_bytes` of `/proc/self/io`) is true of reads of a file.
//!
//! The kernel counts a read where the request goes to a block device, in the task that asked (Linux, `submit_bio`). So
//! it is true of a file system whose reads are such requests. Elsewhere each file system counts for itself or not at
//! all: ZFS counts what its own cache gave, SMB counts in another thread, NFS of Linux 5.18 to 6.2 counts nothing, and a
//! program behind FUSE counts for itself. Nothing is known there.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{self, AtFlags, FsWord, StatxFlags};

/// `linux/magic.h`. ext2, ext3 and ext4 share a number. A tmpfs has no device but swap, which is counted.
const COUNTED: [FsWord; 4] = [0xEF53, 0x5846_5342, BTRFS, 0x0102_1994];
const BTRFS: FsWord = 0x9123_683E;
/// `STATX_ATTR_DAX`: reads copy from persistent memory, without a request.
const DAX: u64 = 0x20_0000;

/// Whether the count is true of all files that may come to `place`. Btrfs may compress some.
pub(crate) fn is_counted(place: impl AsFd) -> bool {
    fs::fstatfs(place).is_ok_and(|facts| COUNTED.contains(&facts.f_type) && facts.f_type != BTRFS)
}

/// The same of one file that is there: not where its bytes come without a request, or as fewer bytes than they are.
pub(crate) fn is_file_counted(file: impl AsFd) -> bool {
    let Ok(facts) = fs::fstatfs(&file) else { return false };
    COUNTED.contains(&facts.f_type)
        && fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE).is_ok_and(|of| of.stx_attributes.bits() & DAX == 0)
        && (facts.f_type != BTRFS || is_stored_as_it_is(&file))
}

/// `linux/fiemap.h`, with room for some extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

const EXTENTS: usize = 64;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u32 = 0xC020_660B;
const LAST: u32 = 0x1;
/// `FIEMAP_EXTENT_ENCODED`: compressed or encrypted.
const ENCODED: u32 = 0x8;
/// A file in more pieces than this is not walked to its end.
const MOST_EXTENTS: usize = 100_000;

/// Whether no extent of a file is compressed. False where the file system does not say, or only slowly.
fn is_stored_as_it_is(file: impl AsFd) -> bool {
    let mut start = 0;
    for _ in 0..MOST_EXTENTS / EXTENTS {
        let mut map = Map {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            room: EXTENTS as u32,
            reserved: 0,
            extents: [Extent::default(); EXTENTS],
        };
        // SAFETY: `map` has the kernel's layout with as many extents as `room` says, and outlives the call.
        let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::Ioctl::from(FS_IOC_FIEMAP), &raw mut map) };
        if result != 0 {
            return false;
        }
        let found = &map.extents[..(map.mapped as usize).min(EXTENTS)];
        if found.iter().any(|extent| extent.flags & ENCODED != 0) {
            return false;
        }
        match found.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.length,
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_system_of_the_list_is_counted() {
        assert!(is_file_counted(tempfile::tempfile_in("/dev/shm").unwrap()), "a tmpfs");
        let elsewhere = std::fs::File::open("/proc/self/status").unwrap();
        assert!(!is_counted(&elsewhere) && !is_file_counted(&elsewhere));
    }
}
