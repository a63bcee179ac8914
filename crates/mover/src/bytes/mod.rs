//! Bytes of a file: moved, hashed on the way, read back from the device, compared. The only part that reads, writes or hashes what is
//! staged.
//!
//! | part | what it does |
//! |---|---|
//! | [`stream`] | from a source to a temporary, hashed on the way; and what makes that durable |
//! | [`chunks`] | the same in parts, whose hashes give that of the whole |
//! | [`stored`] | as the device has them, and not the cache |

pub(crate) mod chunks;
pub(crate) mod stored;
pub(crate) mod stream;

/// BLAKE3 of bytes in memory.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// BLAKE3 of an open regular file of this size; `None` if it is shorter, or `leave` said no between two pieces.
pub(crate) fn hash_of(
    file: impl std::os::fd::AsFd,
    size: u64,
    buffer: &mut stream::Buffer,
    leave: &mut dyn FnMut(u64) -> bool,
) -> rustix::io::Result<Option<[u8; 32]>> {
    match stream::hash(file.as_fd(), size, buffer, leave) {
        Ok(found) => Ok(found),
        Err(stream::Trouble::Read(errno) | stream::Trouble::Write(errno)) => Err(errno),
        Err(stream::Trouble::Short | stream::Trouble::Halted) => Ok(None),
    }
}
