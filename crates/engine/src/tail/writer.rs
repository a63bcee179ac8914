//! The task whose file the others follow.

use std::io;
use std::sync::Arc;

use tonnage_workload::{Appends, Arena, Durability, Op, Tail};

use super::FILE;
use super::progress::Progress;
use crate::clock::Clock;
use crate::lane_port::Port;
use crate::retry::Retries;
use crate::steering::Steering;
use crate::task::{TaskContext, Worker};
use crate::transfers::describe;

pub struct Writer {
    pub tail: Tail,
    pub port: Port,
    pub arena: Arena,
    pub progress: Arc<Progress>,
    pub clock: Clock,
}

impl Worker for Writer {
    fn open(&mut self, context: &mut TaskContext) -> bool {
        if let Err(error) = self.port.lane().open() {
            let errno = error.io().and_then(io::Error::raw_os_error).unwrap_or(0);
            context.fail(FILE, 0, errno, error.to_string());
            return false;
        }
        if context.shared.spec.tasks.total > 1 && context.shared.storage.length(FILE).is_ok_and(|bytes| bytes > 0) {
            let why = "this storage gives a file its length before it is written, so no reader can see it grow".to_owned();
            context.fail(FILE, 0, 0, format!("{why}; use posix or uring"));
            return false;
        }
        self.progress.open();
        true
    }

    fn transfer(&mut self, context: &mut TaskContext) {
        let (clock, size) = (self.clock, self.tail.transfer_size);
        let sync_each = self.tail.durability == Durability::FsyncEach;
        let mut steering = Steering::new(context, Appends::default(), &self.tail.terms(&context.shared.spec), None);
        let mut next = steering.wait_for_next(context, clock.ticks());
        while let Some((from, number)) = next {
            let offset = number * size;
            let range = self.arena.next(self.port.memory(), 0, FILE, offset);
            let mut moved = self.port.write(offset, range);
            if sync_each && moved.is_ok() {
                moved = self.port.lane().sync();
            }
            let now = clock.ticks();
            if let Err(error) = moved {
                let errno = error.raw_os_error().unwrap_or(0);
                return context.fail(FILE, offset, errno, describe(Op::Write, &error));
            }
            self.progress.publish(number, now);
            context.tally.record(&context.counters, clock.ns_between(from, now), size);
            next = steering.follow(context, now);
        }
    }

    fn sync(&mut self, context: &mut TaskContext) {
        if self.tail.durability != Durability::None {
            let synced = self.port.lane().sync();
            finish_step(context, "fsync", synced);
        }
    }

    fn close(&mut self, context: &mut TaskContext) {
        let closed = self.port.lane().close();
        finish_step(context, "close", closed);
    }

    fn retries(&mut self) -> Retries {
        Retries::of(self.port.lane().take_retry_reports())
    }
}

impl Drop for Writer {
    /// Whatever became of it: readers must not wait for more.
    fn drop(&mut self) {
        self.progress.end(self.clock.ticks());
    }
}

fn finish_step(context: &mut TaskContext, step: &str, result: io::Result<()>) {
    if let Err(error) = result {
        context.fail(FILE, 0, error.raw_os_error().unwrap_or(0), format!("{step} failed: {error}"));
    }
}
