//! Whole transfers of calls that may move less: one call, and more only where the system moved fewer bytes.

use std::io;

/// Writes all of `bytes` at `offset` by calls of `write`.
#[inline]
pub fn write_all(offset: u64, bytes: &[u8], mut write: impl FnMut(u64, &[u8]) -> io::Result<usize>) -> io::Result<()> {
    match write(offset, bytes) {
        Ok(moved) if moved == bytes.len() => Ok(()),
        other => finish_write(offset, bytes, other, &mut write),
    }
}

#[cold]
fn finish_write(
    offset: u64,
    bytes: &[u8],
    mut result: io::Result<usize>,
    write: &mut dyn FnMut(u64, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut moved = 0;
    loop {
        match result {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::WriteZero, "the storage takes no more bytes")),
            Ok(more) => moved += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if moved == bytes.len() {
            return Ok(());
        }
        result = write(offset + moved as u64, &bytes[moved..]);
    }
}

/// Fills all of `bytes` from `offset` by calls of `read`.
#[inline]
pub fn read_all(offset: u64, bytes: &mut [u8], mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>) -> io::Result<()> {
    match read(offset, bytes) {
        Ok(moved) if moved == bytes.len() => Ok(()),
        other => finish_read(offset, bytes, other, &mut read),
    }
}

#[cold]
fn finish_read(
    offset: u64,
    bytes: &mut [u8],
    mut result: io::Result<usize>,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut moved = 0;
    loop {
        match result {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends here; write it first")),
            Ok(more) => moved += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if moved == bytes.len() {
            return Ok(());
        }
        result = read(offset + moved as u64, &mut bytes[moved..]);
    }
}
