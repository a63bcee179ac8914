//! A task's way to its file: one operation at a time, or several under way on its connection.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tonnage_workload::Op;

use super::pipeline::{Memory, Pipeline};
use super::run_directory::RunDirectory;
use crate::api::{Completion, File, OpenRequest, Queue, Request, RetryReport};
use crate::error::{Result, StorageError};
use crate::scratch::scratch_names::data_name;
use crate::slots::Slots;

/// What both kinds share.
struct Opened {
    run: Arc<RunDirectory>,
    request: OpenRequest,
    pipeline: Pipeline,
}

/// One operation at a time.
pub(super) struct NfsFile(Opened);

/// Several under way.
pub(super) struct NfsQueue {
    opened: Opened,
    memory: Option<Slots>,
}

impl Opened {
    fn new(run: &Arc<RunDirectory>, request: &OpenRequest) -> Result<Self> {
        let client = run.client_for(request.silence())?;
        let pipeline = Pipeline::new(client, request.queue_depth, run.sizes());
        Ok(Self { run: Arc::clone(run), request: *request, pipeline })
    }

    fn open(&mut self) -> Result<()> {
        let (request, name) = (self.request, data_name(self.request.file));
        let client = &mut self.pipeline.client;
        let failed = |action, error| self.run.failed(action, &name, error);
        if request.op == Op::Write {
            let directory = self.run.made_directory(client)?;
            let found = client.create(&directory, name.as_bytes(), false).map_err(|error| failed("create", error))?;
            self.pipeline.set_file(found.handle, request.durable_each);
            return Ok(());
        }
        let directory = self.run.directory(client)?;
        let found = client.open(&directory, name.as_bytes()).map_err(|error| failed("open", error))?;
        let (needed, actual) = (request.file_bytes, found.attributes.size);
        if actual < needed {
            return Err(StorageError::TooShort { file: request.file, needed, actual });
        }
        self.pipeline.set_file(found.handle, false);
        Ok(())
    }
}

impl NfsFile {
    pub(super) fn new(run: &Arc<RunDirectory>, request: &OpenRequest) -> Result<Self> {
        Opened::new(run, request).map(Self)
    }
}

impl File for NfsFile {
    fn open(&mut self) -> Result<()> {
        self.0.open()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.pipeline.read_at(offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.0.pipeline.write_at(offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.pipeline.commit()
    }

    /// Commits what no sync has committed, as every client of NFS does when it closes a file.
    fn close(&mut self) -> io::Result<()> {
        self.0.pipeline.commit()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.0.pipeline.take_lost()
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.0.pipeline.client.mending.take()
    }
}

impl NfsQueue {
    pub(super) fn new(run: &Arc<RunDirectory>, request: &OpenRequest) -> Result<Self> {
        Ok(Self { opened: Opened::new(run, request)?, memory: None })
    }

    fn run(&mut self, wait_for: usize, until: Option<Instant>) -> io::Result<()> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        self.opened.pipeline.run(&mut Memory::Of(memory), wait_for, until)
    }
}

impl Queue for NfsQueue {
    fn open(&mut self) -> Result<()> {
        self.opened.open()
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
        self.opened.pipeline.begin(&request);
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.run(wait_for, None)
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.run(wait_for, Some(Instant::now() + timeout))
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let completion = self.opened.pipeline.next_ended()?;
        if let Some(memory) = self.memory.as_mut() {
            memory.give_back(completion.slot);
        }
        Some(completion)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.opened.pipeline.commit()
    }

    fn close(&mut self) -> io::Result<()> {
        self.opened.pipeline.commit()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.opened.pipeline.take_lost()
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.opened.pipeline.client.mending.take()
    }
}
