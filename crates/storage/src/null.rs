//! Does nothing, at once: what remains is the cost of the generator itself.

use std::io;

use tonnage_workload::CachePolicy;

use crate::error::Result;
use crate::serial::Serial;
use crate::{Facts, File, Lane, Note, OpenRequest, Residency, Storage};

/// Any file, of any length; reads leave the buffer as it is.
#[derive(Debug)]
pub(crate) struct Null;

impl Storage for Null {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        Ok(Serial::lane(Box::new(NullFile), request.queue_depth))
    }

    fn length(&self, _file: u32) -> Result<u64> {
        Ok(i64::MAX as u64)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<Residency> {
        Ok(Residency::default())
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }
}

struct NullFile;

impl File for NullFile {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    #[inline]
    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
