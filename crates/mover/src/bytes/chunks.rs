//! How a large file is divided, so that parts hashed apart give the checksum of the whole.

use std::os::fd::BorrowedFd;

use blake3::Hasher;
pub(crate) use blake3::hazmat::ChainingValue;
use blake3::hazmat::{HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root};

use super::stored::{Stored, hash_stored};
use super::stream::{self, Buffer, Range, Sink, Trouble};

/// A chunk is lost with a kill, so it is short; its place in the journal costs a commit, so it is not too short.
const SHORTEST_BYTES: u64 = 4 << 20;
const LONGEST_BYTES: u64 = 64 << 20;
/// Chunks of a file that is neither very small nor very large: enough that workers end nearly together.
const CHUNKS: u64 = 32;

/// Chunks of one length, a power of two, so that each is a subtree of BLAKE3's; the last one may be shorter. At least two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    size: u64,
    chunk_bytes: u64,
}

impl Plan {
    /// For a file of `size` bytes, more than [`SMALL_BYTES`](crate::copy::SMALL_BYTES). The same for the same size at any time.
    pub(crate) fn new(size: u64) -> Self {
        let chunk_bytes = (size / CHUNKS).clamp(SHORTEST_BYTES, LONGEST_BYTES).next_power_of_two();
        Self { size, chunk_bytes }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.size.div_ceil(self.chunk_bytes) as usize
    }

    /// First byte and the one after the last.
    pub(crate) fn range(&self, index: usize) -> (u64, u64) {
        let start = index as u64 * self.chunk_bytes;
        (start, (start + self.chunk_bytes).min(self.size))
    }

    /// Which chunk has this place; `None` where none has.
    pub(crate) fn index(&self, offset: u64, length: u64) -> Option<usize> {
        let index = (offset / self.chunk_bytes) as usize;
        (index < self.count() && self.range(index) == (offset, offset.checked_add(length)?)).then_some(index)
    }

    /// Moves one chunk from `source` to `sink`; its value, where it is `checked`. What is a hole stays one where it is `sparse`.
    pub(crate) fn copy(
        &self,
        index: usize,
        source: BorrowedFd,
        sink: &Sink,
        (sparse, checked): (bool, bool),
        buffer: &mut Buffer,
        leave: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<ChainingValue>, Trouble> {
        let mut hasher = checked.then(|| self.hasher(index));
        stream::copy(source, Some(sink), self.part(index, sparse), hasher.as_mut(), buffer, leave)?;
        Ok(hasher.map(|hasher| hasher.finalize_non_root()))
    }

    /// The value of a chunk of `source` as it is now.
    pub(crate) fn hash(
        &self,
        index: usize,
        source: BorrowedFd,
        sparse: bool,
        buffer: &mut Buffer,
        leave: &mut dyn FnMut(u64) -> bool,
    ) -> Result<ChainingValue, Trouble> {
        let mut hasher = self.hasher(index);
        stream::copy(source, None, self.part(index, sparse), Some(&mut hasher), buffer, leave)?;
        Ok(hasher.finalize_non_root())
    }

    /// The value of what the device has of a chunk of `sink`, which must be synced.
    pub(crate) fn hash_stored(
        &self,
        index: usize,
        sink: &Sink,
        buffer: &mut Buffer,
        leave: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Stored<ChainingValue>, Trouble> {
        let mut hasher = self.hasher(index);
        let read = hash_stored(sink.plain, sink.direct, self.range(index), &mut hasher, buffer, leave)?;
        Ok(read.map(|()| hasher.finalize_non_root()))
    }

    fn part(&self, index: usize, sparse: bool) -> Range {
        let (offset, end) = self.range(index);
        Range { offset, end, sparse }
    }

    /// Takes the bytes of one chunk.
    fn hasher(&self, index: usize) -> Hasher {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.range(index).0);
        hasher
    }

    /// BLAKE3 of the whole file from its chunks' values, in their order: the very checksum that `b3sum` prints.
    pub(crate) fn merge(&self, values: &[ChainingValue]) -> [u8; 32] {
        let left = left_subtree_len(self.size);
        let (low, high) = values.split_at((left / self.chunk_bytes) as usize);
        *merge_subtrees_root(&self.subtree(low, left), &self.subtree(high, self.size - left), Mode::Hash).as_bytes()
    }

    fn subtree(&self, values: &[ChainingValue], bytes: u64) -> ChainingValue {
        if let [value] = values {
            return *value;
        }
        let left = left_subtree_len(bytes);
        let (low, high) = values.split_at((left / self.chunk_bytes) as usize);
        merge_subtrees_non_root(&self.subtree(low, left), &self.subtree(high, bytes - left), Mode::Hash)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::copy::SMALL_BYTES;

    proptest! {
        #[test]
        fn chunks_hashed_apart_give_the_checksum_of_the_whole(size in 1025_usize..40_000, power in 0_u32..5, seed: u8) {
            let bytes: Vec<u8> = (0..size).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect();
            let plan = Plan { size: size as u64, chunk_bytes: 1024 << power };
            prop_assume!(plan.count() >= 2);
            let values: Vec<ChainingValue> = (0..plan.count())
                .map(|index| {
                    let (start, end) = plan.range(index);
                    plan.hasher(index).update(&bytes[start as usize..end as usize]).finalize_non_root()
                })
                .collect();
            prop_assert_eq!(plan.merge(&values), *blake3::hash(&bytes).as_bytes());
        }

        #[test]
        fn chunks_cover_a_file_once_and_are_known_by_their_place(size in SMALL_BYTES + 1..1 << 50) {
            let plan = Plan::new(size);
            prop_assert!(plan.count() >= 2 && plan.chunk_bytes.is_power_of_two());
            let last = plan.count() - 1;
            prop_assert_eq!(plan.range(last).1, size);
            for index in [0, 1, last / 2, last] {
                let (start, end) = plan.range(index);
                prop_assert!(start < end);
                prop_assert_eq!(plan.index(start, end - start), Some(index));
                prop_assert_eq!(plan.index(start, end - start + 1), None);
            }
            prop_assert_eq!(plan.index(u64::MAX, 1), None);
        }
    }
}
