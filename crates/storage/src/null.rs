//! Does nothing, at once: what remains is the cost of the generator itself. Or after stated delays, for tests of what
//! measures and prints.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tonnage_workload::{CachePolicy, Op};

use crate::api::{
    CacheState, Facts, File, ItemKind, Lane, Names, NamesRequest, Note, OpenRequest, Opening, SnapshotRequest, Snapshots, Storage,
};
use crate::error::Result;
use crate::serial::Serial;
use crate::snapshots::of_any;
use crate::target::Delays;
use crate::wait::{SLICE, waits_are_over};

/// Any file, of any length; reads leave the buffer as it is.
#[derive(Debug)]
pub(crate) struct Null {
    delays: Delays,
    /// No delay lasts any longer.
    over: Arc<AtomicBool>,
}

impl Null {
    pub(crate) fn new(delays: Delays) -> Self {
        Self { delays, over: Arc::default() }
    }
}

impl Storage for Null {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let slow = self.delays != Delays::default() && self.delays.task.is_none_or(|task| task == request.task);
        let file: Box<dyn File> = if slow {
            Box::new(SlowFile { delays: self.delays, op: request.op, over: Arc::clone(&self.over) })
        } else {
            Box::new(NullFile)
        };
        self.over.store(false, Ordering::Relaxed);
        Ok(Serial::lane(file, request.queue_depth))
    }

    fn names(&self, _request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(NullNames))
    }

    fn length(&self, _file: u32) -> Result<u64> {
        Ok(i64::MAX as u64)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        // No device is behind it.
        Ok(CacheState { counted: true, ..CacheState::default() })
    }

    fn cut_short(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        of_any(request, &[], "another storage")
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }
}

struct NullFile;

impl File for NullFile {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    #[inline]
    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same, with delays.
struct SlowFile {
    delays: Delays,
    op: Op,
    over: Arc<AtomicBool>,
}

impl SlowFile {
    /// In slices, so that a phase that is told to end does.
    fn wait(&self, time_ns: u64) {
        let began = Instant::now();
        let time = Duration::from_nanos(time_ns);
        while !self.over.load(Ordering::Relaxed) && !waits_are_over() {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

impl File for SlowFile {
    fn open(&mut self) -> Result<()> {
        if self.op == Op::Write {
            self.wait(self.delays.create_ns);
        }
        Ok(())
    }

    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(self.delays.transfer_ns);
        Ok(buffer.len())
    }

    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.wait(self.delays.transfer_ns);
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.wait(self.delays.sync_ns);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.wait(self.delays.close_ns);
        Ok(())
    }
}

/// Any name is there, or not, as it is wanted.
struct NullNames;

impl Names for NullNames {
    #[inline]
    fn make_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn remove_tree(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn enter(&mut self, _directory: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn make(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn stat(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn rename(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn remove(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn forget(&mut self, _kind: ItemKind, _number: u64) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn open(&mut self, _kind: ItemKind, _number: u64, _how: Opening) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn list(&mut self, _directory: u64) -> io::Result<u64> {
        Ok(0)
    }

    #[inline]
    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    #[inline]
    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
}
