//! Whether operations can go past the page cache: asked of the file system once, by a nameless file.

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{self, Errno};

use crate::directory::Directory;
use crate::{Buffer, OpenRequest};

/// The file system does not go past its cache.
pub(crate) const NO_DIRECT: &str = "no-direct";
/// It does, but not for transfers of this size.
const UNALIGNED: &str = "direct-unaligned";
/// The codes of notes about it.
pub(crate) const CODES: [&str; 2] = [NO_DIRECT, UNALIGNED];

/// From `linux/magic.h`: file systems that take `O_DIRECT` and have nothing but the cache.
const MEMORY_FILE_SYSTEMS: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// What the file system does with `O_DIRECT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Support {
    /// It refuses, for this reason.
    Refused(String),
    /// Offsets and lengths must be multiples of this many bytes.
    Aligned(u64),
}

/// Why `request` cannot go past the cache, as the code of a note and a sentence; `None` if it can.
pub(crate) fn obstacle(support: &Support, request: &OpenRequest) -> Option<(&'static str, String)> {
    match support {
        Support::Refused(why) => Some((NO_DIRECT, why.clone())),
        Support::Aligned(block) if (request.transfer_size as u64).is_multiple_of(*block) => None,
        Support::Aligned(block) => {
            let size = request.transfer_size;
            Some((UNALIGNED, format!("transfers of {size} bytes are not a multiple of the {block} that O_DIRECT needs here")))
        }
    }
}

/// Asks the file system that holds `directory`, before the clock.
pub(crate) fn probe(directory: &Directory) -> Support {
    if fs::fstatfs(directory).is_ok_and(|facts| MEMORY_FILE_SYSTEMS.contains(&{ facts.f_type })) {
        return Support::Refused("this file system is memory and has nothing past the page cache".to_owned());
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    match fs::openat(directory, c".", flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => alignment(&file),
        Err(Errno::INVAL) => Support::Refused("this file system refuses O_DIRECT".to_owned()),
        // No nameless files (NFS, some FUSE): assume the largest block in use, and let the open of the file decide.
        Err(_) => Support::Aligned(4096),
    }
}

fn alignment(file: &std::os::fd::OwnedFd) -> Support {
    if let Ok(facts) = fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN)
    {
        return match facts.stx_dio_offset_align {
            0 => Support::Refused("this file system does not do direct I/O here".to_owned()),
            block => Support::Aligned(u64::from(block)),
        };
    }
    by_trying(file)
}

/// For kernels before 6.1 and file systems that do not tell: the smallest of the two usual blocks that is taken.
fn by_trying(file: &std::os::fd::OwnedFd) -> Support {
    let Ok(page) = Buffer::new(4096) else { return Support::Aligned(4096) };
    if io::pwrite(file, &page[..512], 512).is_ok() {
        return Support::Aligned(512);
    }
    match io::pwrite(file, &page, 0) {
        Err(Errno::INVAL) => Support::Refused("this file system refuses direct I/O".to_owned()),
        _ => Support::Aligned(4096),
    }
}
