//! A queue over a file that does one operation at a time: for kinds without a queue of their own, and where the
//! system's is switched off.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tonnage_workload::Op;

use crate::api::{Completion, File, Lane, Queue, Request};
use crate::error::Result;
use crate::slots::Slots;

/// Does the pushed requests one after the other when they are submitted.
pub(crate) struct Serial {
    file: Box<dyn File>,
    memory: Option<Slots>,
    pushed: Vec<Request>,
    done: VecDeque<Completion>,
}

impl Serial {
    pub(crate) fn new(file: Box<dyn File>, depth: usize) -> Self {
        Self { file, memory: None, pushed: Vec::with_capacity(depth), done: VecDeque::with_capacity(depth) }
    }

    /// `file` as it is at a depth of one, in a queue above.
    pub(crate) fn lane(file: Box<dyn File>, depth: usize) -> Lane {
        if depth > 1 { Lane::Queued(Box::new(Self::new(file, depth))) } else { Lane::Sync(file) }
    }
}

impl Queue for Serial {
    fn open(&mut self) -> Result<()> {
        self.file.open()
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        self.memory.as_mut().map(|memory| memory.lend(request.slot, request.start, request.length));
        self.pushed.push(request);
    }

    fn submit_and_wait(&mut self, _wait_for: usize) -> io::Result<()> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        for request in self.pushed.drain(..) {
            let bytes = memory.lent(request.slot, request.start, request.length);
            let result = match request.op {
                Op::Read => self.file.read_at(request.offset, bytes),
                Op::Write => self.file.write_at(request.offset, bytes),
            };
            // Every error of a system call has a number; EIO stands for one that has none.
            let result = result.map_or_else(|e| -e.raw_os_error().unwrap_or(libc::EIO), |count| count as i32);
            memory.give_back(request.slot);
            self.done.push_back(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, _timeout: Duration) -> io::Result<()> {
        self.submit_and_wait(wait_for)
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.file.close()
    }
}
