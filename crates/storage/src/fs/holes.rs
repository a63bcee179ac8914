//! How much of a file is holes: `SEEK_DATA` and `SEEK_HOLE`.

use std::os::fd::OwnedFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// A file in more pieces than this is not walked to its end.
const MOST_PIECES: u32 = 100_000;

/// Bytes of holes in the first `length` bytes of `file`; `None` where the system does not say, or only slowly.
pub(crate) fn hole_bytes(file: &OwnedFd, length: u64) -> Option<u64> {
    let (mut at, mut holes) = (0, 0);
    for _ in 0..MOST_PIECES {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(offset) => offset.min(length),
            // No data from here to the end.
            Err(Errno::NXIO) => length,
            Err(_) => return None,
        };
        holes += data - at;
        if data == length {
            return Some(holes);
        }
        at = seek(file, SeekFrom::Hole(data)).ok()?.min(length);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    use rustix::fs::{FallocateFlags, fallocate};

    const PART: u64 = 1 << 20;

    #[test]
    fn a_cut_tail_a_gap_and_what_was_only_reserved_are_holes_on_a_tmpfs_and_on_a_disk() {
        for place in ["/dev/shm", env!("CARGO_MANIFEST_DIR")] {
            let file = tempfile::tempfile_in(place).unwrap();
            let data = vec![7; PART as usize];
            file.write_all_at(&data, 0).unwrap();
            assert_eq!(hole_bytes(&file.try_clone().unwrap().into(), PART), Some(0), "{place}: all of it is data");
            file.write_all_at(&data, 2 * PART).unwrap();
            file.set_len(4 * PART).unwrap();
            let handle = OwnedFd::from(file);
            assert_eq!(hole_bytes(&handle, 4 * PART), Some(2 * PART), "{place}: a gap and a tail");
            assert_eq!(hole_bytes(&handle, 3 * PART), Some(PART), "{place}: only as far as asked");
            fallocate(&handle, FallocateFlags::empty(), 3 * PART, PART).unwrap();
            assert_eq!(hole_bytes(&handle, 4 * PART), Some(2 * PART), "{place}: reserved and never written");
        }
    }
}
