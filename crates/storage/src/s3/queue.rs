//! Several requests in flight: each on a connection and a thread of its own.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tonnage_workload::Op;

use super::open_to_read;
use super::service::{Service, Session};
use super::upload::Upload;
use crate::api::{Completion, OpenRequest, Queue, Request};
use crate::error::{Result, StorageError};
use crate::slots::Slots;

/// A thread does nothing deep: it signs, sends and reads.
const STACK_BYTES: usize = 256 << 10;

/// Bytes that a request sends or fills.
enum Bytes {
    /// In the queue's memory, which waits for it.
    Memory(*mut u8, usize),
    Own(Vec<u8>),
}

// SAFETY: no two jobs in flight have the same bytes, and the queue outlives them.
unsafe impl Send for Bytes {}

impl Bytes {
    fn slice(&mut self) -> &mut [u8] {
        match self {
            // SAFETY: it lies in the queue's memory, and is nobody else's until the job has landed.
            Self::Memory(start, length) => unsafe { std::slice::from_raw_parts_mut(*start, *length) },
            Self::Own(bytes) => bytes,
        }
    }
}

enum What {
    Read(u64),
    /// Part of the upload with this name.
    Part(Arc<str>, u16),
    Whole,
}

/// One request, for a thread.
struct Job {
    slot: u32,
    key: Arc<str>,
    what: What,
    bytes: Bytes,
    /// Of the operation that waits for it.
    offset: u64,
    length: usize,
}

/// What became of a job.
struct Landed {
    slot: u32,
    offset: u64,
    result: io::Result<usize>,
    /// Number and tag; no tag where it failed.
    part: Option<(u16, String)>,
    /// What was gathered.
    gathered: Option<Vec<u8>>,
}

/// A part that was gathered and could not be written: it may be asked for again.
struct Lost {
    /// Of the operation that filled it.
    offset: u64,
    number: u16,
    bytes: Vec<u8>,
}

/// One task's object.
pub(super) struct S3Queue {
    session: Session,
    request: OpenRequest,
    /// Of a write.
    upload: Upload,
    /// Freed by hand: never while a thread may still write to it.
    memory: ManuallyDrop<Option<Slots>>,
    pushed: Vec<Request>,
    done: VecDeque<Completion>,
    in_flight: usize,
    /// What a request says that waited for the service as long as it may be.
    given_up: Option<io::Error>,
    /// To gather the next parts in.
    rooms: Vec<Vec<u8>>,
    lost: Vec<Lost>,
    jobs: Option<Sender<Job>>,
    landed: Receiver<Landed>,
    threads: Vec<JoinHandle<()>>,
}

impl S3Queue {
    pub(super) fn new(service: &Arc<Service>, request: OpenRequest, upload: Upload) -> Result<Self> {
        let (jobs, waiting) = channel();
        let (told, landed) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::with_capacity(request.queue_depth);
        let session = || Session::new(service).waiting(request.silence());
        for _ in 0..request.queue_depth {
            let (mut session, waiting, told) = (session().once_each(), Arc::clone(&waiting), told.clone());
            let work = move || {
                while let Some(job) = next(&waiting)
                    && told.send(act(&mut session, job)).is_ok()
                {}
            };
            let started = Builder::new().stack_size(STACK_BYTES).spawn(work).map_err(|error| {
                StorageError::Unsupported(format!("no thread for each of {} requests: {error}", request.queue_depth))
            })?;
            threads.push(started);
        }
        Ok(Self {
            session: session(),
            request,
            upload,
            memory: ManuallyDrop::new(None),
            pushed: Vec::with_capacity(request.queue_depth),
            done: VecDeque::with_capacity(request.queue_depth),
            in_flight: 0,
            given_up: None,
            rooms: Vec::new(),
            lost: Vec::new(),
            jobs: Some(jobs),
            landed,
            threads,
        })
    }

    fn start_pushed(&mut self) {
        for at in 0..self.pushed.len() {
            let request = self.pushed[at];
            if let Err(error) = self.begin(&request) {
                self.end(request.slot, Err(error));
            }
        }
        self.pushed.clear();
    }

    fn begin(&mut self, request: &Request) -> io::Result<()> {
        let Some(memory) = &mut *self.memory else { return Ok(()) };
        let start = memory.lend(request.slot, request.start, request.length);
        let bytes = Bytes::Memory(start, request.length);
        if request.op == Op::Read {
            self.send(request, What::Read(request.offset), bytes);
            return Ok(());
        }
        if request.offset == 0 {
            while self.in_flight > 0 && self.receive(None) {}
            if self.upload.begins_anew(0) {
                self.upload.begin_anew(&mut self.session)?;
            }
        }
        if self.upload.plan.direct {
            let what = match self.upload.take_direct(request.offset, request.length)? {
                Some(number) => What::Part(self.upload.begun(&mut self.session)?.into(), number),
                None => What::Whole,
            };
            self.send(request, what, bytes);
            return Ok(());
        }
        self.gather(request, bytes)
    }

    /// A transfer that is less than a request: it is done when it was taken, or when the part that it fills is written.
    fn gather(&mut self, request: &Request, mut bytes: Bytes) -> io::Result<()> {
        if let Some(index) = self.lost.iter().position(|lost| lost.offset == request.offset) {
            let Lost { number, bytes, .. } = self.lost.swap_remove(index);
            let what = What::Part(self.upload.begun(&mut self.session)?.into(), number);
            self.send(request, what, Bytes::Own(bytes));
            return Ok(());
        }
        let (mut offset, mut rest) = (request.offset, &*bytes.slice());
        let mut sent = false;
        while !rest.is_empty() {
            let taken = self.upload.gather(offset, rest)?;
            (offset, rest) = (offset + taken as u64, &rest[taken..]);
            if self.upload.is_full() {
                let what = What::Part(self.upload.begun(&mut self.session)?.into(), self.upload.next_number());
                let part = std::mem::replace(&mut self.upload.gathered, self.rooms.pop().unwrap_or_default());
                self.send(request, what, Bytes::Own(part));
                sent = true;
            }
        }
        if !sent {
            self.done.push_back(Completion { slot: request.slot, result: request.length as i32 });
        }
        Ok(())
    }

    fn send(&mut self, request: &Request, what: What, bytes: Bytes) {
        let Request { slot, offset, length, .. } = *request;
        let job = Job { slot, key: self.upload.key.as_str().into(), what, bytes, offset, length };
        self.in_flight += 1;
        // The threads end only after the queue.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// Waits for a job, no longer than until then; whether one landed.
    fn receive(&mut self, until: Option<Instant>) -> bool {
        let landed = match until {
            None => self.landed.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.landed.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let Ok(Landed { slot, offset, result, part, gathered }) = landed else { return false };
        self.in_flight -= 1;
        match (part, gathered) {
            (Some((number, _)), Some(bytes)) if result.is_err() => self.lost.push(Lost { offset, number, bytes }),
            (Some((number, tag)), room) => {
                self.upload.landed(number, tag);
                self.rooms.extend(room.map(|mut room| {
                    room.clear();
                    room
                }));
            }
            (None, _) if self.request.op == Op::Write => self.upload.whole_landed(result.is_ok()),
            (None, _) => {}
        }
        self.end(slot, result);
        true
    }

    fn end(&mut self, slot: u32, result: io::Result<usize>) {
        let result = result.map_or_else(
            |error| {
                let errno = -errno(&error);
                if error.kind() == ErrorKind::TimedOut {
                    self.session.gave_up = true;
                    self.given_up = Some(error);
                }
                errno
            },
            |count| count as i32,
        );
        self.done.push_back(Completion { slot, result });
    }

    /// An error where the service was given up: by its number, that request would be made once more.
    fn wait(&mut self, wanted: usize, until: Option<Instant>) -> io::Result<()> {
        self.start_pushed();
        while self.done.len() < wanted && self.in_flight > 0 && self.given_up.is_none() && self.receive(until) {}
        while self.in_flight > 0 && self.receive(Some(Instant::now())) {}
        self.given_up.take().map_or(Ok(()), Err)
    }
}

/// The next job; `None` when there will be no more.
fn next(waiting: &Mutex<Receiver<Job>>) -> Option<Job> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn act(session: &mut Session, mut job: Job) -> Landed {
    let bytes = job.bytes.slice();
    let mut part = None;
    let result = match &job.what {
        What::Read(offset) => session.read(&job.key, *offset, bytes),
        What::Whole => session.put(&job.key, bytes).map(|()| job.length),
        What::Part(upload, number) => {
            let (tag, result) = match session.put_part(&job.key, upload, *number, bytes) {
                Ok(tag) => (tag, Ok(job.length)),
                Err(error) => (String::new(), Err(error)),
            };
            part = Some((*number, tag));
            result
        }
    };
    let gathered = match job.bytes {
        Bytes::Own(bytes) => Some(bytes),
        Bytes::Memory(..) => None,
    };
    Landed { slot: job.slot, offset: job.offset, result, part, gathered }
}

/// The system's number that says most of it.
fn errno(error: &io::Error) -> i32 {
    let near = match error.kind() {
        ErrorKind::NotFound => Errno::NOENT,
        ErrorKind::PermissionDenied => Errno::ACCESS,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Errno::TIMEDOUT,
        ErrorKind::InvalidInput => Errno::INVAL,
        ErrorKind::ConnectionRefused => Errno::CONNREFUSED,
        ErrorKind::ConnectionReset => Errno::CONNRESET,
        _ => Errno::IO,
    };
    near.raw_os_error()
}

impl Queue for S3Queue {
    fn open(&mut self) -> Result<()> {
        if self.request.op == Op::Read {
            return open_to_read(&mut self.session, &self.upload.key, &self.request);
        }
        let opened = self.upload.open(&mut self.session);
        opened.map_err(|error| self.session.service.failed("begin", &self.upload.key, error))
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        *self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        self.pushed.push(request);
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.wait(wait_for, None)
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.wait(wait_for, Some(Instant::now() + timeout))
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let completion = self.done.pop_front()?;
        if let Some(memory) = self.memory.as_mut() {
            memory.give_back(completion.slot);
        }
        Some(completion)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.request.op == Op::Read { Ok(()) } else { self.upload.finish(&mut self.session) }
    }

    fn close(&mut self) -> io::Result<()> {
        self.sync()
    }
}

impl Drop for S3Queue {
    fn drop(&mut self) {
        // No request takes longer than the limits of a connection.
        while self.in_flight > 0 && self.receive(None) {}
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.upload.abort(&mut self.session);
        // SAFETY: dropped once, here, with no thread left.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}
