//! Page-aligned memory, touched before use, as `O_DIRECT` and registered buffers want it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::error::{Result, StorageError};

/// An anonymous private mapping. Every page is resident when `new` returns: a first touch inside the clock costs up to
/// six times a copy.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is owned by this value alone and has no thread affinity.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Maps and touches `length` bytes (at least one).
    ///
    /// # Panics
    /// If the system maps the null page, which it does only where it was asked to.
    pub fn new(length: usize) -> Result<Self> {
        let length = length.max(1);
        // SAFETY: a new anonymous mapping aliases nothing.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        }
        .map_err(|errno| StorageError::Memory { bytes: length, source: errno.into() })?;
        let start = NonNull::new(start.cast()).expect("mmap does not give a null page");
        Ok(Self { start, length })
    }

    /// Where it begins, for who keeps account of its parts.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `length` bytes long, readable, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, writable, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the mapping any more. It cannot fail for a mapping of ours.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
