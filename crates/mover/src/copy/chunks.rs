//! How a large file is divided, so that parts hashed apart give the checksum of the whole.

use blake3::hazmat::{ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root};
use blake3::{Hash, Hasher};

/// A chunk is lost with a kill, so it is short; its place in the journal costs a commit, so it is not too short.
const SHORTEST_BYTES: u64 = 4 << 20;
const LONGEST_BYTES: u64 = 64 << 20;
/// Chunks of a file that is neither very small nor very large: enough that workers end nearly together.
const CHUNKS: u64 = 32;

/// Chunks of one length, a power of two, so that each is a subtree of BLAKE3's; the last one may be shorter. At least two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    size: u64,
    chunk_bytes: u64,
}

impl Plan {
    /// For a file of `size` bytes, more than [`SMALL_BYTES`](super::SMALL_BYTES). The same for the same size at any time.
    pub(super) fn new(size: u64) -> Self {
        let chunk_bytes = (size / CHUNKS).clamp(SHORTEST_BYTES, LONGEST_BYTES).next_power_of_two();
        Self { size, chunk_bytes }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.size.div_ceil(self.chunk_bytes) as usize
    }

    /// First byte and the one after the last.
    pub(super) fn range(&self, index: usize) -> (u64, u64) {
        let start = index as u64 * self.chunk_bytes;
        (start, (start + self.chunk_bytes).min(self.size))
    }

    /// Which chunk has this place; `None` where none has.
    pub(super) fn index(&self, offset: u64, length: u64) -> Option<usize> {
        let index = (offset / self.chunk_bytes) as usize;
        (index < self.count() && self.range(index) == (offset, offset.checked_add(length)?)).then_some(index)
    }

    /// Takes the bytes of one chunk.
    pub(super) fn hasher(&self, index: usize) -> Hasher {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.range(index).0);
        hasher
    }

    /// BLAKE3 of the whole file from its chunks' values, in their order: the very checksum that `b3sum` prints.
    pub(super) fn merge(&self, values: &[ChainingValue]) -> Hash {
        let left = left_subtree_len(self.size);
        let (low, high) = values.split_at((left / self.chunk_bytes) as usize);
        merge_subtrees_root(&self.subtree(low, left), &self.subtree(high, self.size - left), Mode::Hash)
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
            prop_assert_eq!(plan.merge(&values), blake3::hash(&bytes));
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
