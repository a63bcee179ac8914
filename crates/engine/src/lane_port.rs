//! A lane used for one operation at a time, whatever kind it is.

use std::io;
use std::ops::Range;

use tonnage_storage::{Lane, Request, Slots, StorageError};
use tonnage_workload::Op;

/// A lane and its memory.
pub struct Port {
    lane: Lane,
    /// Of a synchronous lane; a queue owns its own.
    memory: Option<Slots>,
}

impl Port {
    /// `memory`: of one slot.
    pub fn new(mut lane: Lane, memory: Slots) -> Result<Self, StorageError> {
        let memory = match &mut lane {
            Lane::Sync(_) => Some(memory),
            Lane::Queued(queue) => {
                queue.set_memory(memory)?;
                None
            }
        };
        Ok(Self { lane, memory })
    }

    /// Its memory, where that is not the queue's: for the next lane.
    pub fn into_memory(self) -> Option<Slots> {
        self.memory
    }

    pub const fn lane(&mut self) -> &mut Lane {
        &mut self.lane
    }

    pub fn memory(&mut self) -> &mut [u8] {
        match (&mut self.lane, &mut self.memory) {
            (Lane::Queued(queue), _) => queue.memory(0),
            (Lane::Sync(_), memory) => memory.as_mut().map_or(&mut [], |memory| memory.bytes(0)),
        }
    }

    /// Reads into `range` of the memory what there is; how many bytes, 0 at the end of the file for now.
    #[inline]
    pub fn read(&mut self, offset: u64, range: Range<usize>) -> io::Result<usize> {
        match (&mut self.lane, &mut self.memory) {
            (Lane::Sync(file), Some(memory)) => file.read_at(offset, &mut memory.bytes(0)[range]),
            _ => self.queued(Op::Read, offset, range),
        }
    }

    /// Writes all of `range` of the memory: one call, and more only where the system took fewer.
    #[inline]
    pub fn write(&mut self, mut offset: u64, mut range: Range<usize>) -> io::Result<()> {
        while !range.is_empty() {
            let moved = match (&mut self.lane, &mut self.memory) {
                (Lane::Sync(file), Some(memory)) => file.write_at(offset, &memory.bytes(0)[range.clone()]),
                _ => self.queued(Op::Write, offset, range.clone()),
            };
            match moved {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::WriteZero, "the storage takes no more bytes")),
                Ok(count) => {
                    offset += count as u64;
                    range.start += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn queued(&mut self, op: Op, offset: u64, range: Range<usize>) -> io::Result<usize> {
        let Lane::Queued(queue) = &mut self.lane else { return Ok(0) };
        queue.push(Request { slot: 0, op, offset, start: range.start, length: range.len() });
        loop {
            queue.submit_and_wait(1)?;
            if let Some(completion) = queue.next_completion() {
                return usize::try_from(completion.result).map_err(|_| io::Error::from_raw_os_error(-completion.result));
            }
        }
    }
}
