//! How much of a file is in the page cache: cachestat(2) (Linux 6.5), else mincore(2).

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The same number on every architecture (`include/uapi/asm-generic/unistd.h`).
const SYS_CACHESTAT: libc::c_long = 451;

/// Mapped at once for mincore; its answer has one byte a page.
const WINDOW_BYTES: u64 = 1 << 30;

#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of `linux/mman.h`, in pages.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    write_back: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Cached bytes of the first `length` bytes of `file`; `None` where the system does not say.
pub(crate) fn cached_bytes(file: &OwnedFd, length: u64) -> Option<u64> {
    if length == 0 {
        return Some(0);
    }
    let page = rustix::param::page_size() as u64;
    let pages = by_cachestat(file, length).or_else(|| by_mincore(file, length, page))?;
    // The last page may reach beyond the end.
    Some((pages * page).min(length))
}

fn by_cachestat(file: &OwnedFd, length: u64) -> Option<u64> {
    let range = Range { offset: 0, length };
    let mut counts = Counts::default();
    // SAFETY: both structures have the kernel's layout and outlive the call.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut counts, 0_u32) };
    (result == 0).then_some(counts.cached)
}

fn by_mincore(file: &OwnedFd, length: u64, page: u64) -> Option<u64> {
    let mut pages = 0;
    let mut answer = vec![0_u8; length.min(WINDOW_BYTES).div_ceil(page) as usize];
    for offset in (0..length).step_by(WINDOW_BYTES as usize) {
        let window = (length - offset).min(WINDOW_BYTES) as usize;
        // SAFETY: a new mapping aliases nothing, and it is never read: only its residency is asked for.
        let start = unsafe { mmap(std::ptr::null_mut(), window, ProtFlags::READ, MapFlags::SHARED, file, offset) }.ok()?;
        // SAFETY: `answer` has a byte for each page of the window.
        let result = unsafe { libc::mincore(start, window, answer.as_mut_ptr().cast()) };
        // SAFETY: the mapping made above, which nothing borrows.
        let _ = unsafe { munmap(start, window) };
        if result != 0 {
            return None;
        }
        let here = (window as u64).div_ceil(page) as usize;
        pages += answer[..here].iter().filter(|&&flags| flags & 1 == 1).count() as u64;
    }
    Some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_count_the_same_pages() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 3 * 65_536 + 5]).unwrap();
        let (file, length) = (OwnedFd::from(file), 3 * 65_536 + 5);
        assert_eq!(cached_bytes(&file, length), Some(length));
        let page = rustix::param::page_size() as u64;
        assert_eq!(by_mincore(&file, length, page), Some(length.div_ceil(page)));
    }
}
