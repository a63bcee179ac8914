//! A file of objects, one operation at a time.

use std::io;
use std::sync::Arc;

use rustix::io::Errno;
use tonnage_workload::Op;

use super::object::{Name, parts};
use super::pool::Pool;
use super::traffic::Meter;
use crate::api::{File, OpenRequest};
use crate::error::{Result, StorageError};

/// An error about a file.
fn failed(pool: &Pool, action: &'static str, file: u32, error: io::Error) -> StorageError {
    pool.failed(action, &format!("data.{file:08}"), error)
}

/// Bytes of a file. The objects before the last one are whole: it is written to its end before anybody asks.
pub(super) fn length(pool: &Pool, file: u32) -> Result<u64> {
    let size = |object| pool.size(Name::new(file, object).as_c_str()).map_err(|error| failed(pool, "measure", file, error));
    if size(0)?.is_none() {
        return Err(failed(pool, "find", file, Errno::NOENT.into()));
    }
    let (mut there, mut step) = (0, 1);
    while size(there + step)?.is_some() {
        there += step;
        step *= 2;
    }
    while step > 1 {
        step /= 2;
        if size(there + step)?.is_some() {
            there += step;
        }
    }
    Ok(there * pool.spec.object_bytes + size(there)?.unwrap_or(0))
}

/// What a task's file needs before its first operation: enough bytes for a read. One question where they are there.
pub(super) fn open(pool: &Pool, request: &OpenRequest) -> Result<()> {
    if request.op == Op::Write {
        return Ok(());
    }
    let (file, needed) = (request.file, request.file_bytes);
    let last = needed.saturating_sub(1) / pool.spec.object_bytes;
    let found = pool.size(Name::new(file, last).as_c_str()).map_err(|error| failed(pool, "open", file, error))?;
    if found.is_some_and(|bytes| last * pool.spec.object_bytes + bytes >= needed) {
        return Ok(());
    }
    Err(StorageError::TooShort { file, needed, actual: length(pool, file)? })
}

/// One task's file, one operation at a time.
pub(super) struct RadosFile {
    pub(super) pool: Arc<Pool>,
    pub(super) request: OpenRequest,
    pub(super) meter: Meter,
}

impl File for RadosFile {
    fn open(&mut self) -> Result<()> {
        open(&self.pool, &self.request)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut moved = 0;
        for part in parts(self.pool.spec.object_bytes, offset, buffer.len()) {
            let name = Name::new(self.request.file, part.object);
            let bytes = &mut buffer[part.start..part.start + part.length];
            self.meter.count(self.request.file, part.object, Op::Read, part.length);
            let count = match self.pool.read(name.as_c_str(), part.offset, bytes) {
                // Behind the end of the file, as of any other.
                Err(error) if error.kind() == io::ErrorKind::NotFound && part.object > 0 => 0,
                other => other?,
            };
            moved += count;
            if count < part.length {
                break;
            }
        }
        Ok(moved)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        for part in parts(self.pool.spec.object_bytes, offset, buffer.len()) {
            let name = Name::new(self.request.file, part.object);
            self.meter.count(self.request.file, part.object, Op::Write, part.length);
            self.pool.write(name.as_c_str(), part.offset, &buffer[part.start..part.start + part.length])?;
        }
        Ok(buffer.len())
    }

    /// A write has come back when it was on the disks of all replicas.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RadosFile {
    fn drop(&mut self) {
        self.pool.ledger.take(&mut self.meter);
    }
}
