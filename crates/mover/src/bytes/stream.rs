//! Bytes from one file to another, hashed on the way while they are in the processor's cache; and what makes them durable.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use blake3::Hasher;
use rustix::fs::{self, OFlags, SeekFrom};
use rustix::io::{self, Errno, Result as SysResult};

use crate::file_version::Version;
use crate::tree::Tree;

/// Handed to the destination at once: enough for a device that is written past the cache.
const PIECE_BYTES: usize = 1 << 20;
/// Read and hashed, and through the page cache also written, at once: fits a core's own cache beside the pages it comes from and
/// goes to.
const HOT_BYTES: usize = 128 << 10;
/// What direct transfers are aligned to, in memory and in the file.
pub(crate) const ALIGNED: usize = 4096;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// An aligned buffer of one piece.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; PIECE_BYTES + ALIGNED];
        let start = bytes.as_ptr().align_offset(ALIGNED);
        Self { bytes, start }
    }

    pub(crate) fn piece(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + PIECE_BYTES]
    }
}

/// Why a range did not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The source could not be read.
    Read(Errno),
    /// The destination could not be written.
    Write(Errno),
    /// The source ended early: it is shorter than it was.
    Short,
    /// The mover was stopped.
    Halted,
}

/// A temporary, open for writing.
pub(crate) struct Sink<'a> {
    /// Through the page cache.
    pub(crate) plain: BorrowedFd<'a>,
    /// Past it, where that can be had.
    pub(crate) direct: Option<BorrowedFd<'a>>,
}

impl Sink<'_> {
    /// Has the kernel write a range of the page cache now, so that the sync in the end has little to wait for.
    pub(crate) fn start_writing(&self, offset: u64, end: u64) {
        if self.direct.is_some() {
            return;
        }
        let (file, flags) = (self.plain.as_raw_fd(), libc::SYNC_FILE_RANGE_WRITE);
        // SAFETY: the call takes numbers only, and the descriptor is open. It is a hint: what fails is found by the sync.
        unsafe { libc::sync_file_range(file, offset as i64, (end - offset) as i64, flags) };
    }

    fn put(&self, bytes: &[u8], offset: u64) -> SysResult<()> {
        let aligned =
            if self.direct.is_some() && offset.is_multiple_of(ALIGNED as u64) { bytes.len() / ALIGNED * ALIGNED } else { 0 };
        let done = match self.direct {
            Some(direct) if aligned > 0 => match write_all(direct, &bytes[..aligned], offset) {
                Ok(()) => aligned,
                // Coarser blocks than expected, or a short write that ended inside one: the page cache takes it all.
                Err(Errno::INVAL) => 0,
                Err(error) => return Err(error),
            },
            _ => 0,
        };
        write_all(self.plain, &bytes[done..], offset + done as u64)
    }
}

fn write_all(file: BorrowedFd, mut bytes: &[u8], mut offset: u64) -> SysResult<()> {
    while !bytes.is_empty() {
        match io::pwrite(file, bytes, offset) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `bytes` is full; how much there was before the end.
fn read_full(file: BorrowedFd, bytes: &mut [u8], offset: u64) -> SysResult<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match io::pread(file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// First byte.
    pub(crate) offset: u64,
    /// The byte after the last.
    pub(crate) end: u64,
    /// Whether to look for holes, which are hashed as zeros and not written.
    pub(crate) sparse: bool,
}

/// Moves a range from `source` to `sink`, or only hashes it where there is none. `leave` is asked before each piece.
pub(crate) fn copy(
    source: BorrowedFd,
    sink: Option<&Sink>,
    range: Range,
    mut hasher: Option<&mut Hasher>,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Trouble> {
    let mut offset = range.offset;
    while offset < range.end {
        let (from, to) = if range.sparse { data_at(source, offset, range.end)? } else { (offset, range.end) };
        if let Some(hasher) = hasher.as_deref_mut() {
            hash_zeros(hasher, from - offset);
        }
        offset = from;
        while offset < to {
            let length = (to - offset).min(PIECE_BYTES as u64) as usize;
            if !leave(length as u64) {
                return Err(Trouble::Halted);
            }
            let piece = &mut buffer.piece()[..length];
            let at_once = if sink.is_some_and(|sink| sink.direct.is_none()) { HOT_BYTES } else { length };
            for part in piece.chunks_mut(at_once) {
                take_in(source, part, offset, hasher.as_deref_mut())?;
                if let Some(sink) = sink {
                    sink.put(part, offset).map_err(Trouble::Write)?;
                }
                offset += part.len() as u64;
            }
        }
    }
    Ok(())
}

/// Moves all of a file of `size` bytes to an empty `sink`, of which holes stay holes where it is `sparse`. Returns the BLAKE3 of what
/// was read, which is what was written, where it is `checked`.
pub(crate) fn copy_whole(
    source: BorrowedFd,
    sink: &Sink,
    (size, sparse): (u64, bool),
    checked: bool,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<[u8; 32]>, Trouble> {
    let mut hasher = checked.then(Hasher::new);
    copy(source, Some(sink), Range { offset: 0, end: size, sparse }, hasher.as_mut(), buffer, leave)?;
    if sparse {
        fs::ftruncate(sink.plain, size).map_err(Trouble::Write)?;
    }
    Ok(hasher.map(|hasher| *hasher.finalize().as_bytes()))
}

/// Reads `part`, and hashes it while it is in the processor's cache.
fn take_in(source: BorrowedFd, part: &mut [u8], mut offset: u64, mut hasher: Option<&mut Hasher>) -> Result<(), Trouble> {
    for hot in part.chunks_mut(HOT_BYTES) {
        if read_full(source, hot, offset).map_err(Trouble::Read)? < hot.len() {
            return Err(Trouble::Short);
        }
        if let Some(hasher) = hasher.as_deref_mut() {
            hasher.update(hot);
        }
        offset += hot.len() as u64;
    }
    Ok(())
}

/// The next run of data at or after `offset`, within `end`; empty at `end` where only a hole is left.
fn data_at(file: BorrowedFd, offset: u64, end: u64) -> Result<(u64, u64), Trouble> {
    let from = match fs::seek(file, SeekFrom::Data(offset)) {
        Ok(from) => from.min(end),
        Err(Errno::NXIO) => end,
        // Holes cannot be asked for here: all is data.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((offset, end)),
        Err(error) => return Err(Trouble::Read(error)),
    };
    if from == end {
        return Ok((end, end));
    }
    let to = fs::seek(file, SeekFrom::Hole(from)).map_err(Trouble::Read)?;
    Ok((from, to.min(end)))
}

fn hash_zeros(hasher: &mut Hasher, mut length: u64) {
    while length > 0 {
        let part = length.min(ZEROS.len() as u64);
        hasher.update(&ZEROS[..part as usize]);
        length -= part;
    }
}

/// What makes the destination's bytes durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sync {
    /// Whether `syncfs` there waits for all bytes and reports each that failed.
    whole: bool,
    /// The file system that is meant.
    device: u64,
}

impl Sync {
    /// Asks the destination's file system what it is.
    pub(crate) fn of(to: &Tree) -> Self {
        // ext2 to ext4, XFS, btrfs, tmpfs, F2FS: local, and since Linux 5.8 their `syncfs` reports what could not be written back.
        const KNOWN: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];
        let known = fs::fstatfs(to.root()).is_ok_and(|found| KNOWN.contains(&(found.f_type as u64 & 0xffff_ffff)));
        Self { whole: known && kernel_reports(), device: device(to.root()).unwrap_or(0) }
    }

    /// Whether one `syncfs` of the destination makes a file in `dir` durable, which may be on another file system mounted below.
    pub(crate) fn covers(&self, dir: BorrowedFd) -> bool {
        self.whole && device(dir).is_ok_and(|device| device == self.device)
    }

    /// A descriptor of its own to sync by, opened before the first write: each reports a failure once, so none may be shared.
    pub(crate) fn handle(to: &Tree) -> SysResult<OwnedFd> {
        fs::openat(to.root(), ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, fs::Mode::empty())
    }
}

fn device(dir: BorrowedFd) -> SysResult<u64> {
    fs::fstat(dir).map(|found| found.st_dev)
}

fn kernel_reports() -> bool {
    let name = rustix::system::uname();
    let mut numbers = name.release().to_str().unwrap_or("").split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (5, 8)
}

/// BLAKE3 of a whole open file of this size; `None` if it is not that long.
pub(crate) fn hash(
    file: BorrowedFd,
    size: u64,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<[u8; 32]>, Trouble> {
    let mut hasher = Hasher::new();
    match copy(file, None, Range { offset: 0, end: size, sparse: false }, Some(&mut hasher), buffer, leave) {
        Ok(()) => Ok(Some(*hasher.finalize().as_bytes())),
        Err(Trouble::Short) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// BLAKE3 of an open file to its end, read past the cache: what that holds says nothing of the storage. Where the cache does not let
/// it go, the cache must do. `None` where `leave` said no; it is told of the bytes after they were read.
pub(crate) fn hash_to_end(
    file: BorrowedFd,
    buffer: &mut Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> SysResult<Option<[u8; 32]>> {
    fs::fadvise(file, 0, None, fs::Advice::DontNeed).ok();
    fs::fadvise(file, 0, None, fs::Advice::Sequential).ok();
    let (mut hasher, mut offset) = (Hasher::new(), 0);
    loop {
        let read = read_full(file, buffer.piece(), offset)? as u64;
        if read == 0 {
            return Ok(Some(*hasher.finalize().as_bytes()));
        }
        hasher.update(&buffer.piece()[..read as usize]);
        offset += read;
        if !leave(read) {
            return Ok(None);
        }
    }
}

/// The file `name` of `dir`, for reading its bytes from the device: what the page cache holds of it, all clean, is dropped first.
pub(crate) fn reopen(dir: BorrowedFd, name: &[u8], past_the_cache: bool) -> SysResult<(OwnedFd, Version)> {
    let file = fs::openat(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, fs::Mode::empty())?;
    if past_the_cache {
        fs::fadvise(&file, 0, None, fs::Advice::DontNeed)?;
    }
    let version = Version::of(file.as_fd())?;
    Ok((file, version))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn whole() -> Range {
        Range { offset: 0, end: 3 << 20, sparse: false }
    }

    #[test]
    fn what_cannot_be_read_or_written_is_told_apart() {
        let (mut buffer, zeros) = (Buffer::new(), File::open("/dev/zero").unwrap());
        // Nothing is mapped at address zero.
        let broken = File::open("/proc/self/mem").unwrap();
        let read = copy(broken.as_fd(), None, whole(), None, &mut buffer, &mut |_| true);
        assert_eq!(read, Err(Trouble::Read(Errno::IO)));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let sink = Sink { plain: full.as_fd(), direct: None };
        let written = copy(zeros.as_fd(), Some(&sink), whole(), None, &mut buffer, &mut |_| true);
        assert_eq!(written, Err(Trouble::Write(Errno::NOSPC)));
    }

    #[test]
    fn a_source_that_ends_early_and_a_mover_that_stops_are_no_errors_of_storage() {
        let mut buffer = Buffer::new();
        let short = copy(File::open("/dev/null").unwrap().as_fd(), None, whole(), None, &mut buffer, &mut |_| true);
        assert_eq!(short, Err(Trouble::Short));
        let stopped = copy(File::open("/dev/zero").unwrap().as_fd(), None, whole(), None, &mut buffer, &mut |_| false);
        assert_eq!(stopped, Err(Trouble::Halted));
    }

    #[test]
    fn a_direct_transfer_that_is_refused_goes_through_the_cache() {
        let (mut buffer, zeros, sink) = (Buffer::new(), File::open("/dev/zero").unwrap(), tempfile::tempfile().unwrap());
        // Takes a number only, and refuses anything else with EINVAL, as a device of larger blocks would.
        let refuses = File::options().write(true).open("/proc/self/coredump_filter").unwrap();
        assert_eq!(io::pwrite(&refuses, &[0; ALIGNED], 0), Err(Errno::INVAL));
        let target = Sink { plain: sink.as_fd(), direct: Some(refuses.as_fd()) };
        copy(zeros.as_fd(), Some(&target), whole(), None, &mut buffer, &mut |_| true).unwrap();
        assert_eq!(sink.metadata().unwrap().len(), 3 << 20);
    }
}
