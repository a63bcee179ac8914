//! The memory of a queue: one part a slot, and none of a slot whose operation is in flight.
//!
//! While an operation is in flight its bytes belong to the kernel, to a library's threads or to threads of ours. No reference
//! to them may exist then, not even one to all of the memory, so every access goes through the slot that it is of.

use crate::buffer::Buffer;
use crate::error::Result;

/// Parts begin at pages, as `O_DIRECT` wants.
const PAGE: usize = 4096;

/// As many parts as a queue has slots, all of one length.
#[derive(Debug)]
pub struct Slots {
    buffer: Buffer,
    part: usize,
    in_flight: Box<[bool]>,
}

impl Slots {
    /// Memory for `slots` operations of at most `bytes` each, rounded up to pages, resident.
    ///
    /// # Errors
    /// Where the system has no such memory.
    pub fn new(slots: usize, bytes: usize) -> Result<Self> {
        let part = bytes.next_multiple_of(PAGE);
        Ok(Self { buffer: Buffer::new(slots * part)?, part, in_flight: vec![false; slots].into() })
    }

    /// The part of `slot`.
    ///
    /// # Panics
    /// If the slot's operation is in flight, or there is no such slot.
    #[inline]
    pub fn bytes(&mut self, slot: u32) -> &mut [u8] {
        if self.in_flight[slot as usize] {
            in_flight(slot);
        }
        // SAFETY: the slot exists, so its part lies in the buffer; nobody else has it, and `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.start().add(slot as usize * self.part), self.part) }
    }

    /// The slot's operation begins: where its `length` bytes are that begin at `start` of its part. They are the caller's
    /// until it gives the slot back.
    ///
    /// # Panics
    /// If the slot's operation is in flight, or the bytes are outside its part.
    #[inline]
    pub fn lend(&mut self, slot: u32, start: usize, length: usize) -> *mut u8 {
        if start.checked_add(length).is_none_or(|end| end > self.part) {
            outside(start, length, self.part);
        }
        if std::mem::replace(&mut self.in_flight[slot as usize], true) {
            in_flight(slot);
        }
        // SAFETY: the range was checked to lie in the slot's part, and the slot exists.
        unsafe { self.buffer.start().add(slot as usize * self.part + start) }
    }

    /// Bytes of a slot that is in flight, for who has it and touches them only while it is called.
    ///
    /// # Panics
    /// If the slot is not in flight, or the range is outside its part.
    #[inline]
    pub(crate) fn lent(&mut self, slot: u32, start: usize, length: usize) -> &mut [u8] {
        assert!(self.in_flight[slot as usize], "slot {slot} is not in flight");
        // SAFETY: as for [`Self::bytes`]; who was lent the slot asks by the same `self`, and has no thread that has it.
        let part = unsafe { std::slice::from_raw_parts_mut(self.buffer.start().add(slot as usize * self.part), self.part) };
        &mut part[start..start + length]
    }

    /// The slot's operation has ended, and nobody has its bytes any more.
    #[inline]
    pub fn give_back(&mut self, slot: u32) {
        self.in_flight[slot as usize] = false;
    }

    /// All of it, to make it known to the kernel: where it begins, and how long it is.
    pub(crate) fn whole(&self) -> (*mut u8, usize) {
        (self.buffer.start(), self.in_flight.len() * self.part)
    }
}

// The texts are made out of line: a number that a text borrows would be stored at each operation.

#[cold]
#[inline(never)]
#[track_caller]
fn in_flight(slot: u32) -> ! {
    panic!("the operation of slot {slot} is in flight")
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(start: usize, length: usize, part: usize) -> ! {
    panic!("{length} bytes from {start} are not in a part of {part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_bytes_of_its_own() {
        let mut slots = Slots::new(3, 5000).unwrap();
        for slot in 0..3 {
            assert_eq!(slots.bytes(slot).len(), 8192);
            slots.bytes(slot).fill(slot as u8);
        }
        for slot in 0..3 {
            assert!(slots.bytes(slot).iter().all(|byte| u32::from(*byte) == slot));
        }
    }

    #[test]
    fn others_are_had_while_one_is_in_flight() {
        let mut slots = Slots::new(2, 4096).unwrap();
        let lent = slots.lend(0, 512, 1024);
        slots.bytes(1).fill(7);
        // SAFETY: the range was lent.
        unsafe { lent.write_bytes(9, 1024) };
        slots.give_back(0);
        assert_eq!((slots.bytes(0)[511], slots.bytes(0)[512], slots.bytes(0)[1535], slots.bytes(0)[1536]), (0, 9, 9, 0));
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn the_bytes_of_an_operation_in_flight_cannot_be_had() {
        let mut slots = Slots::new(2, 4096).unwrap();
        slots.lend(1, 0, 4096);
        slots.bytes(1);
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn a_slot_is_not_lent_twice() {
        let mut slots = Slots::new(2, 4096).unwrap();
        slots.lend(1, 0, 16);
        slots.lend(1, 16, 16);
    }

    #[test]
    #[should_panic(expected = "are not in a part of 4096")]
    fn an_operation_stays_in_its_part() {
        Slots::new(2, 4096).unwrap().lend(0, 4000, 97);
    }
}
