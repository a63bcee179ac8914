//! Does nothing, at once: what remains is the cost of the generator itself.

use std::io;

use tonnage_workload::CachePolicy;

use crate::error::Result;
use crate::serial::Serial;
use crate::{Facts, File, ItemKind, Lane, Names, NamesRequest, Note, OpenRequest, Opening, Residency, Storage};

/// Any file, of any length; reads leave the buffer as it is.
#[derive(Debug)]
pub(crate) struct Null;

impl Storage for Null {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        Ok(Serial::lane(Box::new(NullFile), request.queue_depth))
    }

    fn names(&self, _request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(NullNames))
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

/// Any name is there, or not, as it is wanted.
struct NullNames;

impl Names for NullNames {
    #[inline]
    fn make_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn remove_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn enter(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn make(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn stat(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn rename(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn remove(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn forget(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn open(&mut self, _kind: ItemKind, _number: u64, _how: Opening) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn list(&mut self, _directory: u64) -> io::Result<u64> {
        Ok(0)
    }

    #[inline]
    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    #[inline]
    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
}
