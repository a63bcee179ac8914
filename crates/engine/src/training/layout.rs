//! Writes the files of a data set: task t those of number t, t + tasks, …

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tonnage_storage::{OpenRequest, Slots, Storage, StorageError};
use tonnage_workload::{Arena, Op, Payload, PayloadKind, Training};

use super::{Failure, failure};
use crate::clock::monotonic_ns;
use crate::lane_port::Port;
use crate::retry::Retries;
use crate::task::{TaskContext, Worker};
use crate::transfers::describe;

/// One task that writes files.
pub struct Layout {
    training: Training,
    storage: Arc<dyn Storage>,
    seed: u64,
    task: u32,
    memory: Option<Slots>,
    arena: Arena,
    retries: Retries,
}

impl Layout {
    pub fn new(training: Training, storage: Arc<dyn Storage>, seed: u64, task: u32) -> Result<Self, StorageError> {
        let transfer_size = training.transfer_size as usize;
        let arena = Arena::new(Payload::new(PayloadKind::Unique, seed), task, transfer_size, 1);
        let mut found = Self { training, storage, seed, task, memory: None, arena, retries: Retries::default() };
        found.memory = Some(found.filled()?);
        Ok(found)
    }

    /// Memory with the bodies of the payload.
    fn filled(&self) -> Result<Slots, StorageError> {
        let span = Payload::span_bytes(PayloadKind::Unique, self.training.transfer_size as usize, 1);
        let mut memory = Slots::new(1, span)?;
        self.arena.fill(0, memory.bytes(0));
        Ok(memory)
    }

    fn write(&mut self, context: &mut TaskContext, file: u32) -> Result<(), Failure> {
        let told = |error: StorageError| (0, error.io().and_then(io::Error::raw_os_error).unwrap_or(0), error.to_string());
        let bytes = self.training.dataset.file_bytes(file, self.seed);
        let request = OpenRequest {
            task: self.task,
            file,
            op: Op::Write,
            file_bytes: bytes,
            transfer_size: self.training.transfer_size as usize,
            queue_depth: 1,
            preallocate: false,
            durable_each: false,
            retry_ns: None,
        };
        let lane = self.storage.lane(&request).map_err(told)?;
        let memory = match self.memory.take() {
            Some(memory) => memory,
            None => self.filled().map_err(told)?,
        };
        let mut port = Port::new(lane, memory).map_err(told)?;
        port.lane().open().map_err(told)?;
        let written = self.fill(context, &mut port, file, bytes);
        let synced = written.and_then(|()| port.lane().sync().map_err(|error| failure(0, "fsync", &error)));
        let closed = port.lane().close().map_err(|error| failure(0, "close", &error));
        for report in port.lane().take_retry_reports() {
            self.retries.add(report);
        }
        self.memory = port.into_memory();
        synced.and(closed)
    }

    fn fill(&mut self, context: &mut TaskContext, port: &mut Port, file: u32, bytes: u64) -> Result<(), Failure> {
        let mut offset = 0;
        while offset < bytes && !context.shared.stop.load(Ordering::Relaxed) {
            let length = (bytes - offset).min(self.training.transfer_size);
            let begun_ns = monotonic_ns();
            let range = self.arena.next_part(port.memory(), 0, file, offset, length as usize);
            port.write(offset, range)
                .map_err(|error| (offset, error.raw_os_error().unwrap_or(0), describe(Op::Write, &error)))?;
            context.tally.record(&context.counters, monotonic_ns() - begun_ns, length);
            offset += length;
        }
        Ok(())
    }
}

impl Worker for Layout {
    fn transfer(&mut self, context: &mut TaskContext) {
        let tasks = context.shared.spec.tasks.total as usize;
        for file in (self.task..self.training.dataset.files).step_by(tasks) {
            if context.shared.stop.load(Ordering::Relaxed) {
                return;
            }
            if let Err((offset, errno, message)) = self.write(context, file) {
                context.fail(file, offset, errno, message);
                return;
            }
        }
    }

    fn retries(&mut self) -> Retries {
        std::mem::take(&mut self.retries)
    }
}
