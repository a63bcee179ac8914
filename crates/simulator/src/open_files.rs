//! The files that a stream has open.

use std::collections::BTreeMap;

use crate::pages::{Pages, is_cached};

/// A file while a phase works on it.
pub(crate) struct OpenFile {
    pub number: u32,
    length: u64,
    /// Bytes that take space.
    allocated: u64,
    /// Bytes moved.
    pub touched: u64,
    /// Bytes of the first pass written so far.
    first_pass: u64,
    cached_share: f64,
}

/// All files of a phase, each once.
pub(crate) struct OpenFiles {
    pub files: Vec<OpenFile>,
    by_number: BTreeMap<u32, usize>,
    /// Bytes that take space on the whole storage.
    allocated: u64,
    full_after: u64,
}

impl OpenFiles {
    /// None yet, on a storage that holds `full_after` bytes.
    pub fn new(allocated: u64, full_after: Option<u64>) -> Self {
        Self { files: Vec::new(), by_number: BTreeMap::new(), allocated, full_after: full_after.unwrap_or(u64::MAX) }
    }

    /// Opens `number`, if it is not open; its place here. `cached`: reads may find its pages in the cache.
    pub fn open(&mut self, number: u32, pages: &Pages, cached: bool) -> usize {
        if let Some(&index) = self.by_number.get(&number) {
            return index;
        }
        self.by_number.insert(number, self.files.len());
        let state = pages.by_number.get(&number).cloned().unwrap_or_default();
        self.files.push(OpenFile {
            number,
            length: state.length,
            allocated: state.allocated,
            touched: 0,
            first_pass: 0,
            cached_share: if cached { state.cached_share() } else { 0.0 },
        });
        self.files.len() - 1
    }

    /// Takes all the space that the file will need; false if there is too little.
    pub fn preallocate(&mut self, index: usize, bytes: u64) -> bool {
        self.grow(index, bytes)
    }

    /// Whether a read at `offset` finds its bytes in the cache.
    #[inline]
    pub fn is_hit(&self, index: usize, offset: u64) -> bool {
        is_cached(self.files[index].number, offset, self.files[index].cached_share)
    }

    /// Gives a write its space; false if there is none. Only a first pass over a file needs any.
    #[inline]
    pub fn write(&mut self, index: usize, offset: u64, bytes: u64, first_pass: bool) -> bool {
        if first_pass {
            let wanted = self.files[index].first_pass + bytes;
            if !self.grow(index, wanted) {
                return false;
            }
            self.files[index].first_pass = wanted;
        }
        self.files[index].length = self.files[index].length.max(offset + bytes);
        true
    }

    fn grow(&mut self, index: usize, bytes: u64) -> bool {
        let file = &mut self.files[index];
        let grown = bytes.saturating_sub(file.allocated);
        if self.allocated + grown > self.full_after {
            return false;
        }
        file.allocated += grown;
        self.allocated += grown;
        true
    }

    /// What the phase leaves: lengths and space for the storage; bytes moved of each file for the cache.
    pub fn close(self, pages: &mut Pages) -> BTreeMap<u32, u64> {
        let keep = |file: OpenFile| {
            let state = pages.by_number.entry(file.number).or_default();
            (state.length, state.allocated) = (file.length, file.allocated);
            (file.number, file.touched)
        };
        self.files.into_iter().map(keep).collect()
    }
}
