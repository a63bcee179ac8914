//! Whole transfers of calls that may move less: one call, and more only where the system moved fewer bytes.

use std::io;

use tonnage_workload::Op;

/// What becomes of a transfer of which a call moved only a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remainder {
    /// Another call moves it.
    Moved,
    /// The operation has failed.
    Fails,
}

impl Remainder {
    /// Of a stream that says `single_attempt`, or not.
    pub const fn of(single_attempt: bool) -> Self {
        if single_attempt { Self::Fails } else { Self::Moved }
    }

    /// An error where `moved` bytes were to have been all of `wanted`.
    pub fn check(self, moved: usize, wanted: usize) -> io::Result<()> {
        if self == Self::Moved || moved == wanted { Ok(()) } else { Err(short(moved, wanted)) }
    }
}

/// The error of a call that moved a part, where no other is to follow.
pub fn short(moved: usize, wanted: usize) -> io::Error {
    io::Error::other(format!("a call moved {moved} of {wanted} bytes, and no second one is wanted"))
}

/// Writes all of `bytes` at `offset` by calls of `write`.
#[inline]
pub fn write_all(
    offset: u64,
    bytes: &[u8],
    rest: Remainder,
    mut write: impl FnMut(u64, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    match write(offset, bytes) {
        Ok(moved) if moved == bytes.len() => Ok(()),
        other => finish_write(offset, bytes, rest, other, &mut write),
    }
}

#[cold]
fn finish_write(
    offset: u64,
    bytes: &[u8],
    rest: Remainder,
    mut result: io::Result<usize>,
    write: &mut dyn FnMut(u64, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut moved = 0;
    loop {
        match result {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::WriteZero, "the storage takes no more bytes")),
            Ok(more) => {
                rest.check(more, bytes.len())?;
                moved += more;
            }
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
pub fn read_all(
    offset: u64,
    bytes: &mut [u8],
    rest: Remainder,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<()> {
    match read(offset, bytes) {
        Ok(moved) if moved == bytes.len() => Ok(()),
        other => finish_read(offset, bytes, rest, other, &mut read),
    }
}

#[cold]
fn finish_read(
    offset: u64,
    bytes: &mut [u8],
    rest: Remainder,
    mut result: io::Result<usize>,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut moved = 0;
    loop {
        match result {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends here; write it first")),
            Ok(more) => {
                rest.check(more, bytes.len())?;
                moved += more;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if moved == bytes.len() {
            return Ok(());
        }
        result = read(offset + moved as u64, &mut bytes[moved..]);
    }
}

/// What an error number means for whoever reads the record.
pub fn describe(op: Op, error: &io::Error) -> String {
    let verb = match op {
        Op::Write => "write",
        Op::Read => "read",
    };
    format!("{verb} failed: {error}")
}
