//! The modelled files and the page cache over them.

use std::collections::BTreeMap;

use tonnage_workload::mix64;

/// One file. Which of its bytes are cached is not kept, only how many: a transfer is taken to be cached if a hash of
/// its place falls below the cached share, so hits are spread evenly whatever the order of access.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileState {
    /// Up to the end of the last write.
    pub length: u64,
    /// Bytes that take space (a file written out of order has holes at first).
    pub allocated: u64,
    /// Bytes in the page cache.
    pub cached: u64,
    /// When it was last used, in phases.
    used: u64,
}

impl FileState {
    /// Share of the file that is cached, from 0 to 1.
    pub fn cached_share(&self) -> f64 {
        if self.length == 0 { 0.0 } else { self.cached as f64 / self.length as f64 }
    }
}

/// Whether the transfer at `offset` of `file` is among the cached `share`.
#[inline]
pub(crate) fn is_cached(file: u32, offset: u64, share: f64) -> bool {
    let place = mix64(mix64(u64::from(file) + 1) ^ offset);
    share > 0.0 && ((place >> 11) as f64) < share * (1_u64 << 53) as f64
}

/// All files of a storage.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub by_number: BTreeMap<u32, FileState>,
    phase: u64,
}

impl Pages {
    /// Bytes that take space, over all files.
    pub fn allocated(&self) -> u64 {
        self.by_number.values().map(|file| file.allocated).sum()
    }

    /// Sum of `what` over `numbers`; missing files count 0.
    pub fn sum(&self, numbers: &[u32], what: impl Fn(&FileState) -> u64) -> u64 {
        numbers.iter().filter_map(|number| self.by_number.get(number)).map(what).sum()
    }

    /// Drops the pages of `numbers` from the cache.
    pub fn drop_cached(&mut self, numbers: &[u32]) {
        for number in numbers {
            if let Some(file) = self.by_number.get_mut(number) {
                file.cached = 0;
            }
        }
    }

    /// After a buffered phase that moved `touched` bytes of each file: they are in the cache now as far as `capacity`
    /// goes, and files used longer ago leave first.
    pub fn keep_cached(&mut self, touched: &BTreeMap<u32, u64>, capacity: u64) {
        self.phase += 1;
        for (number, &bytes) in touched {
            if let Some(file) = self.by_number.get_mut(number) {
                file.cached = file.cached.max(bytes).min(file.length);
                file.used = self.phase;
            }
        }
        self.shrink(capacity);
    }

    /// Leaves at most `capacity` bytes in the cache: files used longest ago lose theirs first.
    pub fn shrink(&mut self, capacity: u64) {
        let mut files: Vec<&mut FileState> = self.by_number.values_mut().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.used));
        let mut room = capacity;
        for files in files.chunk_by_mut(|a, b| a.used == b.used) {
            let wanted: u64 = files.iter().map(|file| file.cached).sum();
            if wanted > room {
                // Files of one phase were used at the same time, so each loses the same share.
                for file in files.iter_mut() {
                    file.cached = (u128::from(file.cached) * u128::from(room) / u128::from(wanted)) as u64;
                }
            }
            room -= wanted.min(room);
        }
    }
}
