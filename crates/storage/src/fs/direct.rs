//! Whether operations can go past the page cache: asked of the file system once, by a file that goes at once.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{self, Errno};

use crate::buffer::Buffer;
use crate::scratch::directory::Directory;

/// The file system does not go past its cache.
pub(crate) const NO_DIRECT: &str = "no-direct";
/// It does, but not for transfers of this size.
const UNALIGNED: &str = "direct-unaligned";

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

/// Why transfers of `size` bytes cannot go past the cache, as the code of a note and a sentence; `None` if it can.
pub(crate) fn obstacle(support: &Support, size: u64) -> Option<(&'static str, String)> {
    match support {
        Support::Refused(why) => Some((NO_DIRECT, why.clone())),
        Support::Aligned(block) if size.is_multiple_of(*block) => None,
        Support::Aligned(block) => {
            Some((UNALIGNED, format!("transfers of {size} bytes are not a multiple of the {block} that O_DIRECT needs here")))
        }
    }
}

/// Asks the file system that holds `directory`, before the clock.
pub(crate) fn probe(directory: &Directory) -> Support {
    ask(directory, || named(directory))
}

/// The same where no file may be named, not even for a moment.
pub(crate) fn probe_without_a_name(directory: &OwnedFd) -> Support {
    ask(directory, || Err(Errno::OPNOTSUPP))
}

fn ask(directory: impl AsFd + Copy, named: impl FnOnce() -> io::Result<OwnedFd>) -> Support {
    if fs::fstatfs(directory).is_ok_and(|facts| MEMORY_FILE_SYSTEMS.contains(&{ facts.f_type })) {
        return Support::Refused("this file system is memory and has nothing past the page cache".to_owned());
    }
    match nameless(directory).or_else(|_| named()) {
        Ok(file) => alignment(&file),
        Err(Errno::INVAL) => Support::Refused("this file system refuses O_DIRECT".to_owned()),
        // A full disk or no way to ask: assume the largest block in use, and let the open of the file decide.
        Err(_) => Support::Aligned(4096),
    }
}

fn nameless(directory: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    fs::openat(directory, c".", flags, Mode::RUSR | Mode::WUSR)
}

/// For NFS and some FUSE: named like a data file far above those in use, so that it is cleared if this process dies
/// here.
fn named(directory: &Directory) -> io::Result<OwnedFd> {
    let file = u32::MAX - std::process::id();
    let handle = directory.open_data(file, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT);
    // An open that fails with EINVAL may have made the file all the same; only EEXIST says that it is another's.
    if !matches!(handle, Err(Errno::EXIST)) {
        let _ = directory.unlink_data(file);
    }
    handle
}

fn alignment(file: &OwnedFd) -> Support {
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
fn by_trying(file: &OwnedFd) -> Support {
    let Ok(page) = Buffer::new(4096) else { return Support::Aligned(4096) };
    if io::pwrite(file, &page[..512], 512).is_ok() {
        return Support::Aligned(512);
    }
    match io::pwrite(file, &page, 0) {
        Err(Errno::INVAL) => Support::Refused("this file system refuses direct I/O".to_owned()),
        _ => Support::Aligned(4096),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_named_file_tells_the_same_as_a_nameless_one_and_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(home.path(), "probe").unwrap();
        let directory = Directory::open(scratch.path()).unwrap();
        let (Ok(nameless), Ok(named)) = (nameless(&directory), named(&directory)) else {
            return eprintln!("skipped: this file system has no O_TMPFILE or no O_DIRECT");
        };
        let told = alignment(&nameless);
        assert_eq!(told, alignment(&named));
        if matches!(told, Support::Aligned(_)) {
            assert_eq!(told, by_trying(&named), "trying finds what statx says");
        }
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "only the marker");
    }
}
