//! Bytes as the device has them, and never from memory that only repeats what was written to it.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

use blake3::Hasher;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};

use super::stream::{self, ALIGNED, Buffer, Range, Trouble};
use crate::file_version::Version;

/// Pages leave the cache once nobody writes, reads or maps them: tried so often, so long apart.
const TRIES: u32 = 6;
const REST: Duration = Duration::from_millis(20);
/// Asked at once whether it is in memory.
const WINDOW_BYTES: u64 = 256 << 20;
/// tmpfs and ramfs, whose device is memory.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// What a reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<T = ()> {
    /// All was read from the device.
    Whole(T),
    /// The file ends before.
    Short,
    /// Memory holds some of it and does not let it go.
    Cached,
}

impl<T> Stored<T> {
    pub(super) fn map<U>(self, whole: impl FnOnce(T) -> U) -> Stored<U> {
        match self {
            Self::Whole(value) => Stored::Whole(whole(value)),
            Self::Short => Stored::Short,
            Self::Cached => Stored::Cached,
        }
    }
}

/// Whether the device has these bytes at `offset` of a file that is open for reading; `None` where memory holds some of it and does not
/// let it go.
pub fn has_stored(file: BorrowedFd, bytes: &[u8], offset: u64) -> SysResult<Option<bool>> {
    let (mut hasher, end) = (Hasher::new(), offset + bytes.len() as u64);
    match hash_stored(file, None, (offset, end), &mut hasher, &mut Buffer::new(), &mut |_| true) {
        Ok(Stored::Whole(())) => Ok(Some(hasher.finalize() == blake3::hash(bytes))),
        Ok(Stored::Cached) => Ok(None),
        Err(Trouble::Read(errno) | Trouble::Write(errno)) => Err(errno),
        Ok(Stored::Short) | Err(Trouble::Short | Trouble::Halted) => Ok(Some(false)),
    }
}

/// BLAKE3 of the file `name` of `dir`; it is `Short` also where it is longer than `size`.
pub(crate) fn hash_file(
    dir: BorrowedFd,
    name: &[u8],
    size: u64,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> Result<Stored<[u8; 32]>, Trouble> {
    let (plain, direct, version) = open(dir, name).map_err(Trouble::Read)?;
    if version.size != size {
        return Ok(Stored::Short);
    }
    let mut hasher = Hasher::new();
    let read = hash_stored(plain.as_fd(), direct.as_ref().map(AsFd::as_fd), (0, size), &mut hasher, buffer, leave)?;
    Ok(read.map(|()| *hasher.finalize().as_bytes()))
}

/// The file `name` of `dir`, through the cache and, where that can be had, past it.
fn open(dir: BorrowedFd, name: &[u8]) -> SysResult<(OwnedFd, Option<OwnedFd>, Version)> {
    let (plain, version) = stream::reopen(dir, name, true)?;
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let direct = fs::openat(dir, name, flags, Mode::empty());
    let same = |direct: &OwnedFd| fs::fstat(direct).is_ok_and(|found| found.st_ino == version.ino);
    Ok((plain, direct.ok().filter(same), version))
}

/// Hashes the bytes of the range `(offset, end)`: by `direct`, which was opened past the cache, or by `plain` once nothing of them is in
/// memory.
pub(super) fn hash_stored(
    plain: BorrowedFd,
    direct: Option<BorrowedFd>,
    (mut offset, end): (u64, u64),
    hasher: &mut Hasher,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> Result<Stored, Trouble> {
    if let Some(direct) = direct {
        // Ends early where a transfer is refused, or was cut inside a block: the rest is read the other way.
        while offset < end && offset.is_multiple_of(ALIGNED as u64) {
            let piece = buffer.piece();
            let wanted = (end - offset).min(piece.len() as u64) as usize;
            if !leave(wanted as u64) {
                return Err(Trouble::Halted);
            }
            match rustix::io::pread(direct, &mut piece[..wanted.next_multiple_of(ALIGNED)], offset) {
                Ok(0) => return Ok(Stored::Short),
                Ok(read) => {
                    let read = read.min(wanted);
                    hasher.update(&piece[..read]);
                    offset += read as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::INVAL | Errno::OPNOTSUPP) => break,
                Err(errno) => return Err(Trouble::Read(errno)),
            }
        }
    }
    if offset == end {
        return Ok(Stored::Whole(()));
    }
    if !is_dropped(plain, offset, end).map_err(Trouble::Read)? {
        return Ok(Stored::Cached);
    }
    match stream::copy(plain, None, Range { offset, end, sparse: false }, Some(hasher), buffer, leave) {
        Ok(()) => Ok(Stored::Whole(())),
        Err(Trouble::Short) => Ok(Stored::Short),
        Err(trouble) => Err(trouble),
    }
}

/// Drops a range from the cache; whether all of it is gone from there.
fn is_dropped(file: BorrowedFd, offset: u64, end: u64) -> SysResult<bool> {
    if fs::fstatfs(file).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u64 & 0xffff_ffff))) {
        return Ok(true);
    }
    // Whole pages: one that is named in part stays.
    let (offset, end) = (offset / ALIGNED as u64 * ALIGNED as u64, end.next_multiple_of(ALIGNED as u64));
    let mut failed = None;
    for _ in 0..TRIES {
        fs::fadvise(file, offset, NonZeroU64::new(end - offset), fs::Advice::DontNeed)?;
        if !is_cached(file, offset, end)? {
            return Ok(true);
        }
        // What is not written yet stays. Whoever asks has synced the bytes before: a sync that fails here is no answer about them.
        failed = fs::fdatasync(file).err();
        sleep(REST);
    }
    failed.map_or(Ok(false), Err)
}

fn is_cached(file: BorrowedFd, offset: u64, end: u64) -> SysResult<bool> {
    let mut from = offset;
    while from < end {
        let length = (end - from).min(WINDOW_BYTES) as usize;
        if is_window_cached(file, from, length)? {
            return Ok(true);
        }
        from += length as u64;
    }
    Ok(false)
}

fn is_window_cached(file: BorrowedFd, from: u64, length: usize) -> SysResult<bool> {
    let error = || Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    let mut pages = vec![0_u8; length.div_ceil(ALIGNED)];
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody touches; `pages` has a byte for each of its pages, and
    // the mapping ends here.
    unsafe {
        // Private: some FUSE files, which are not cached, cannot be mapped otherwise.
        let (private, descriptor) = (libc::MAP_PRIVATE, file.as_raw_fd());
        let map = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, private, descriptor, from as i64);
        if map == libc::MAP_FAILED {
            return Err(error());
        }
        let asked = libc::mincore(map, length, pages.as_mut_ptr());
        let failed = (asked != 0).then(error);
        libc::munmap(map, length);
        failed.map_or(Ok(()), Err)?;
    }
    Ok(pages.iter().any(|page| page & 1 == 1))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_in_memory_is_seen_there_and_what_was_dropped_is_not() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; 300_000]).unwrap();
        assert!(is_cached(file.as_fd(), 0, 300_000).unwrap());
        assert!(is_dropped(file.as_fd(), 0, 300_000).unwrap());
        assert!(!is_cached(file.as_fd(), 0, 300_000).unwrap());
    }

    #[test]
    fn both_ways_read_the_same_and_a_short_file_is_told() {
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let bytes: Vec<u8> = (0..3_000_001_u32).map(|at| (at / 7) as u8).collect();
        (&mut named.as_file()).write_all(&bytes).unwrap();
        let plain = File::open(named.path()).unwrap();
        let direct = fs::open(named.path(), OFlags::RDONLY | OFlags::DIRECT, Mode::empty()).ok();
        let mut buffer = Buffer::new();
        for direct in [direct.as_ref().map(AsFd::as_fd), None] {
            let mut hasher = Hasher::new();
            let end = bytes.len() as u64;
            let read = hash_stored(plain.as_fd(), direct, (0, end), &mut hasher, &mut buffer, &mut |_| true).unwrap();
            assert_eq!((read, hasher.finalize()), (Stored::Whole(()), blake3::hash(&bytes)));
        }
        for end in [bytes.len() as u64 + 1, bytes.len() as u64 + 5000] {
            let direct = direct.as_ref().map(AsFd::as_fd);
            let longer = hash_stored(plain.as_fd(), direct, (0, end), &mut Hasher::new(), &mut buffer, &mut |_| true);
            assert_eq!(longer, Ok(Stored::Short));
        }
    }
}
