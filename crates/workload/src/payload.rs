//! The bytes that are written: unique, incompressible, verifiable, and almost free.
//!
//! A payload is made of cells of 4 KiB, counted from the start of each transfer. A cell is a stamp of 32 bytes and a
//! body of random bytes. There are [`BODIES`] bodies, each a function of the seed and its number alone. A task keeps
//! an [`Arena`] of consecutive bodies, filled once before the clock starts; a write takes the next stretch of it and
//! only stamps each cell with the seed, the file, the offset and the number of the body. So
//! - no two cells are equal (deduplication finds nothing), and a body comes again only after the whole arena, at least
//!   [`ARENA_BYTES`] (compressors, which look back less far, find nothing; a larger arena would leave the second level of
//!   cache, and every write would pay for it);
//! - generating costs 32 bytes of stores in 4096;
//! - a reader needs no copy of what was written: the stamp says where the cell belongs and which body it has, and the
//!   body is checked by one pass of a hash against a table.

mod hash;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::integer_mixing::{SplitMix64, mix64};
use hash::body_hash;

/// Bytes of a cell.
pub const CELL_BYTES: usize = 4096;
/// Bytes of the stamp at the start of a cell.
const STAMP_BYTES: usize = 32;
/// Number of different bodies.
const BODIES: u32 = 4096;
/// Least bytes of an arena.
pub const ARENA_BYTES: usize = 1 << 20;

/// What is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// Stamped cells: nothing compresses, nothing deduplicates, everything can be verified.
    #[default]
    Unique,
    /// The same buffer again and again; flatters storage that compresses or deduplicates. For comparison only.
    Constant,
}

/// The payload of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Payload {
    kind: PayloadKind,
    tag: u64,
}

impl Payload {
    /// The payload that `seed` names.
    #[must_use]
    pub const fn new(kind: PayloadKind, seed: u64) -> Self {
        Self { kind, tag: mix64(seed ^ 0x746f_6e6e_6167_6521) }
    }

    /// Bytes that an arena needs for each of `slots` transfers of `transfer_size` in flight: room for one transfer or more.
    #[must_use]
    pub fn span_bytes(kind: PayloadKind, transfer_size: usize, slots: usize) -> usize {
        let transfer = transfer_size.next_multiple_of(CELL_BYTES);
        match kind {
            PayloadKind::Constant => transfer,
            PayloadKind::Unique => transfer * (ARENA_BYTES / slots).div_ceil(transfer).max(1),
        }
    }

    fn fill_body(&self, body: u32, into: &mut [u8]) {
        let mut random = SplitMix64::new(self.tag ^ mix64(u64::from(body) + 1));
        for chunk in into.chunks_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    #[inline]
    fn stamp(&self, file: u32, offset: u64, body: u32) -> [u64; 4] {
        let place = (u64::from(file) << 32) | u64::from(body);
        // One mixing of a sum of odd multiples: a stamp is made for each 4 KiB that memory takes at its own speed.
        let sum = offset.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place.wrapping_mul(0xd1b5_4a32_d192_ed03));
        [self.tag, offset, place, mix64(self.tag ^ sum)]
    }
}

/// Source of the bytes of one task's writes: a span of memory a slot, each with room for one transfer or more.
///
/// The memory belongs to the storage (it may be registered with the kernel); the arena only knows what is where.
#[derive(Debug)]
pub struct Arena {
    payload: Payload,
    transfer_size: usize,
    span: usize,
    first_body: u32,
    cursors: Vec<usize>,
}

impl Arena {
    /// Of what `task` writes. Nothing of it may be used before its slots are filled.
    #[must_use]
    pub fn new(payload: Payload, task: u32, transfer_size: usize, slots: usize) -> Self {
        let span = Payload::span_bytes(payload.kind, transfer_size, slots);
        let first_body = mix64(u64::from(task)) as u32 % BODIES;
        Self { payload, transfer_size, span, first_body, cursors: vec![0; slots] }
    }

    /// Fills the memory of `slot` with the bodies that are written from there. Call before the clock starts.
    ///
    /// # Panics
    /// If `memory` is shorter than [`Payload::span_bytes`].
    pub fn fill(&self, slot: usize, memory: &mut [u8]) {
        for (cell, bytes) in memory[..self.span].chunks_mut(CELL_BYTES).enumerate() {
            self.payload.fill_body(self.body(slot, cell * CELL_BYTES), bytes);
        }
    }

    /// The body of the cell that is `at` bytes into the memory of `slot`.
    #[inline]
    fn body(&self, slot: usize, at: usize) -> u32 {
        (self.first_body + ((slot * self.span + at) / CELL_BYTES) as u32) % BODIES
    }

    /// Stamps the next transfer of `slot`, which goes to `offset` of `file`; the range of the slot's `memory` that holds it.
    #[inline]
    pub fn next(&mut self, memory: &mut [u8], slot: usize, file: u32, offset: u64) -> Range<usize> {
        self.next_part(memory, slot, file, offset, self.transfer_size)
    }

    /// The same for a transfer of `length` bytes, at most `transfer_size`: the last one of a file.
    #[inline]
    pub fn next_part(&mut self, memory: &mut [u8], slot: usize, file: u32, offset: u64, length: usize) -> Range<usize> {
        let step = self.transfer_size.next_multiple_of(CELL_BYTES);
        let at = self.cursors[slot];
        self.cursors[slot] = if at + 2 * step <= self.span { at + step } else { 0 };
        let range = at..at + length;
        if self.payload.kind == PayloadKind::Unique {
            self.stamp_cells(&mut memory[range.clone()], self.body(slot, at), file, offset);
        }
        range
    }

    #[inline]
    fn stamp_cells(&self, transfer: &mut [u8], first: u32, file: u32, offset: u64) {
        for (cell, bytes) in transfer.chunks_mut(CELL_BYTES).enumerate() {
            let body = (first + cell as u32) % BODIES;
            let offset = offset + (cell * CELL_BYTES) as u64;
            let stamp = self.payload.stamp(file, offset, body);
            if let Some(head) = bytes.first_chunk_mut::<STAMP_BYTES>() {
                for (word, value) in head.chunks_exact_mut(8).zip(stamp) {
                    word.copy_from_slice(&value.to_le_bytes());
                }
            } else {
                // Too short for a stamp: say the offset as far as there is room, whatever the rest.
                let short = mix64(self.payload.tag ^ offset ^ (u64::from(file) << 40)).to_le_bytes();
                for (byte, value) in bytes.iter_mut().zip(short.iter().cycle()) {
                    *byte = *value;
                }
            }
        }
    }
}

/// What is wrong with a transfer that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where the first damaged cell begins, in bytes from the start of the file.
    pub offset: u64,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Checks what was read against the payload of a seed. One for each process; tasks share it.
#[derive(Debug)]
pub struct Verifier {
    payload: Payload,
    hashes: Vec<u128>,
}

impl Verifier {
    /// A verifier for what [`Arena`]s of `payload` wrote. Hashes all bodies (16 MiB of them: a few ms).
    #[must_use]
    pub fn new(payload: Payload) -> Self {
        let mut cell = vec![0; CELL_BYTES];
        let hashes = (0..BODIES)
            .map(|body| {
                payload.fill_body(body, &mut cell);
                body_hash(&cell[STAMP_BYTES..])
            })
            .collect();
        Self { payload, hashes }
    }

    /// Checks one transfer that was read from `offset` of `file`; the damage, if any, is the first one.
    #[inline]
    pub fn check(&self, transfer: &[u8], file: u32, offset: u64) -> Result<(), Damage> {
        for (cell, bytes) in transfer.chunks(CELL_BYTES).enumerate() {
            let offset = offset + (cell * CELL_BYTES) as u64;
            self.check_cell(bytes, file, offset).map_err(|what| Damage { offset, what })?;
        }
        Ok(())
    }

    #[inline]
    fn check_cell(&self, cell: &[u8], file: u32, offset: u64) -> Result<(), &'static str> {
        let Some(head) = cell.first_chunk::<STAMP_BYTES>() else {
            let short = mix64(self.payload.tag ^ offset ^ (u64::from(file) << 40)).to_le_bytes();
            let same = cell.iter().zip(short.iter().cycle()).all(|(a, b)| a == b);
            return if same { Ok(()) } else { Err("the bytes differ") };
        };
        let mut stamp = [0_u64; 4];
        for (value, word) in stamp.iter_mut().zip(head.as_chunks::<8>().0) {
            *value = u64::from_le_bytes(*word);
        }
        let body = stamp[2] as u32;
        if stamp != self.payload.stamp(file, offset, body) || body >= BODIES {
            return Err(self.misplaced(stamp, file, offset));
        }
        let bytes = &cell[STAMP_BYTES..];
        let same = if cell.len() == CELL_BYTES {
            body_hash(bytes) == self.hashes[body as usize]
        } else {
            let mut expected = [0; CELL_BYTES];
            self.payload.fill_body(body, &mut expected);
            bytes == &expected[STAMP_BYTES..cell.len()]
        };
        if same { Ok(()) } else { Err("the bytes differ") }
    }

    #[cold]
    fn misplaced(&self, stamp: [u64; 4], file: u32, offset: u64) -> &'static str {
        let body = stamp[2] as u32;
        if stamp == [0; 4] {
            "zeros: a hole, or never written"
        } else if stamp != self.payload.stamp((stamp[2] >> 32) as u32, stamp[1], body) {
            if stamp[0] == self.payload.tag { "the stamp is damaged" } else { "not written by this run" }
        } else if (stamp[2] >> 32) as u32 != file {
            "belongs to another file"
        } else if stamp[1] != offset {
            "belongs to another offset"
        } else {
            "the stamp is damaged"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(transfer_size: usize, slots: usize, count: usize) -> Vec<(u64, Vec<u8>)> {
        let payload = Payload::new(PayloadKind::Unique, 11);
        let mut memory = vec![vec![0; Payload::span_bytes(PayloadKind::Unique, transfer_size, slots)]; slots];
        let mut arena = Arena::new(payload, 3, transfer_size, slots);
        for (slot, memory) in memory.iter_mut().enumerate() {
            arena.fill(slot, memory);
        }
        (0..count)
            .map(|n| {
                let (slot, offset) = (n % slots, (n * transfer_size) as u64);
                let range = arena.next(&mut memory[slot], slot, 5, offset);
                (offset, memory[slot][range].to_vec())
            })
            .collect()
    }

    #[test]
    fn what_was_written_verifies_at_every_transfer_size() {
        let verifier = Verifier::new(Payload::new(PayloadKind::Unique, 11));
        for transfer_size in [1, 31, 32, 47, 512, 4096, 4097, 47_008, 1 << 20, (4 << 20) + 512] {
            for slots in [1, 4] {
                for (offset, bytes) in written(transfer_size, slots, 9) {
                    assert_eq!(verifier.check(&bytes, 5, offset), Ok(()), "{transfer_size} × {slots}");
                }
            }
        }
    }

    #[test]
    fn any_flipped_bit_is_found_where_it_is() {
        let verifier = Verifier::new(Payload::new(PayloadKind::Unique, 11));
        let (offset, bytes) = written(3 * CELL_BYTES + 100, 1, 2).pop().unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let damage = verifier.check(&damaged, 5, offset).expect_err("a flipped bit");
            assert_eq!(damage.offset, offset + (at / CELL_BYTES * CELL_BYTES) as u64);
        }
    }

    #[test]
    fn data_of_another_place_or_seed_or_a_hole_is_told_apart() {
        let verifier = Verifier::new(Payload::new(PayloadKind::Unique, 11));
        let (offset, bytes) = written(CELL_BYTES, 1, 2).pop().unwrap();
        let what = |bytes: &[u8], file, offset| verifier.check(bytes, file, offset).unwrap_err().what;
        assert_eq!(what(&bytes, 6, offset), "belongs to another file");
        assert_eq!(what(&bytes, 5, offset + 4096), "belongs to another offset");
        assert_eq!(what(&[0; CELL_BYTES], 5, offset), "zeros: a hole, or never written");
        let other = Verifier::new(Payload::new(PayloadKind::Unique, 12));
        assert_eq!(other.check(&bytes, 5, offset).unwrap_err().what, "not written by this run");
    }

    #[test]
    fn no_two_cells_are_equal_and_no_body_returns_within_the_arena() {
        let cells: Vec<Vec<u8>> = written(CELL_BYTES, 1, 1024).into_iter().map(|(_, bytes)| bytes).collect();
        let whole: std::collections::HashSet<&[u8]> = cells.iter().map(Vec::as_slice).collect();
        assert_eq!(whole.len(), cells.len());
        let arena = ARENA_BYTES / CELL_BYTES;
        let bodies: std::collections::HashSet<&[u8]> = cells[..arena].iter().map(|c| &c[STAMP_BYTES..]).collect();
        assert_eq!(bodies.len(), arena);
    }
}
