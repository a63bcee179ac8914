//! Failed operations that are tried again, where the workload wants that: a lane around another one. A lane that is not
//! to be patient is never wrapped, and pays nothing.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use tonnage_records::Event;
use tonnage_storage::{Completion, File, Lane, Queue, Request, RetryReport, Slots, StorageError};
use tonnage_workload::{Attempts, Op, RetryRule};

use crate::clock::{NAP_NS, monotonic_ns};
use crate::transfers::describe;

/// Troubles that a task tells one by one; attempts are counted all the same.
const TROUBLES_KEPT: usize = 256;

/// Errors that time may mend: of the network, of a server that is away, or of a device that did not answer. What is
/// full, forbidden or not there stays so.
const PASSING: [Errno; 20] = [
    Errno::IO,
    Errno::REMOTEIO,
    Errno::TIMEDOUT,
    Errno::AGAIN,
    Errno::BUSY,
    Errno::STALE,
    Errno::NOTCONN,
    Errno::CONNRESET,
    Errno::CONNREFUSED,
    Errno::CONNABORTED,
    Errno::PIPE,
    Errno::SHUTDOWN,
    Errno::HOSTUNREACH,
    Errno::HOSTDOWN,
    Errno::NETUNREACH,
    Errno::NETDOWN,
    Errno::NETRESET,
    Errno::NOLINK,
    Errno::COMM,
    Errno::TIME,
];

fn passes(errno: i32) -> bool {
    PASSING.iter().any(|passing| passing.raw_os_error() == errno)
}

/// How patient one task's lane is, and what it has to tell.
#[derive(Clone)]
pub struct RetryPolicy {
    pub task: u32,
    pub rule: RetryRule,
    /// Nothing is tried again once this is set.
    pub stop: Arc<AtomicBool>,
    pub told: Arc<Mutex<Retries>>,
}

/// What a lane tried again.
#[derive(Debug, Default)]
pub struct Retries {
    /// Attempts that failed and were followed by another.
    pub attempts: u64,
    /// Times of trouble: from the first failure until no operation was in trouble any more.
    pub events: Vec<Event>,
    now: Option<Event>,
    /// Operations that failed and have neither succeeded since nor been given up.
    troubled: u32,
}

impl Retries {
    fn failed(&mut self, task: u32, op: Op, errno: i32, is_first: bool) {
        self.attempts += 1;
        self.troubled += u32::from(is_first);
        let trouble = self.now.get_or_insert_with(|| Event {
            time_ns: monotonic_ns(),
            kind: "retry".to_owned(),
            task: Some(task),
            duration_ns: None,
            attempts: Some(0),
            message: Some(describe(op, &io::Error::from_raw_os_error(errno))),
        });
        trouble.attempts = trouble.attempts.map(|attempts| attempts + 1);
    }

    /// Of a task that tries nothing again itself.
    pub fn of(retried: Vec<RetryReport>) -> Self {
        let mut all = Self::default();
        for one in retried {
            all.add(one);
        }
        all
    }

    /// Something was tried again below, or by the task itself.
    pub fn add(&mut self, retried: RetryReport) {
        let duration_ns = retried.lasted.as_nanos() as u64;
        self.attempts += retried.attempts;
        self.events.push(Event {
            time_ns: monotonic_ns().saturating_sub(retried.since.elapsed().as_nanos() as u64),
            kind: "retry".to_owned(),
            task: None,
            duration_ns: Some(duration_ns),
            attempts: Some(retried.attempts),
            message: Some(retried.why),
        });
    }

    fn settled(&mut self) {
        self.troubled = self.troubled.saturating_sub(1);
        if self.troubled == 0
            && let Some(mut trouble) = self.now.take()
            && self.events.len() < TROUBLES_KEPT
        {
            trouble.duration_ns = Some(monotonic_ns() - trouble.time_ns);
            self.events.push(trouble);
        }
    }
}

impl RetryPolicy {
    fn told(&self) -> MutexGuard<'_, Retries> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt failed: when the next one is due, on the run's clock; `None` where there is none.
    fn again(&self, attempts: &mut Attempts, op: Op, errno: i32) -> Option<u64> {
        let is_first = attempts.is_first();
        let may = passes(errno) && !self.stop.load(Ordering::Relaxed);
        let Some(due) = self.rule.again(attempts, monotonic_ns()).filter(|_| may) else {
            self.ended(is_first);
            return None;
        };
        self.told().failed(self.task, op, errno, is_first);
        Some(due)
    }

    /// The operation succeeded, or was given up.
    fn ended(&self, was_first: bool) {
        if !was_first {
            self.told().settled();
        }
    }

    /// Calls until it succeeds, or its time is over.
    #[inline]
    fn attempt<T, E>(&self, op: Op, errno: impl Fn(&E) -> i32, mut call: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let mut attempts = Attempts::default();
        loop {
            match call() {
                Ok(value) => {
                    self.ended(attempts.is_first());
                    return Ok(value);
                }
                Err(error) => {
                    let Some(due) = self.again(&mut attempts, op, errno(&error)) else { return Err(error) };
                    while !self.stop.load(Ordering::Relaxed) && nap_until(due, u64::MAX) {}
                }
            }
        }
    }
}

/// Sleeps a little, at most `most_ns`; whether `due` has not come.
fn nap_until(due: u64, most_ns: u64) -> bool {
    let left_ns = due.saturating_sub(monotonic_ns());
    std::thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS).min(most_ns)));
    left_ns > 0
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

fn errno_of_open(error: &StorageError) -> i32 {
    error.io().map_or(0, errno_of)
}

/// The same lane, with retries. Opening, reads and writes are tried again; an fsync never is: what a failed one lost, a
/// second one does not bring back.
pub fn retrying(lane: Lane, op: Op, depth: usize, retry: RetryPolicy) -> Lane {
    match lane {
        Lane::Sync(inner) => Lane::Sync(Box::new(RetryingFile { inner, op, retry })),
        Lane::Queued(inner) => {
            let tried = vec![None; depth];
            Lane::Queued(Box::new(RetryingQueue { inner, op, retry, tried, waiting: Vec::new(), below: 0 }))
        }
    }
}

struct RetryingFile {
    inner: Box<dyn File>,
    op: Op,
    retry: RetryPolicy,
}

impl File for RetryingFile {
    fn open(&mut self) -> Result<(), StorageError> {
        self.retry.attempt(self.op, errno_of_open, || self.inner.open())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.retry.attempt(Op::Read, errno_of, || self.inner.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.retry.attempt(Op::Write, errno_of, || self.inner.write_at(offset, buffer))
    }

    fn leave(&mut self) -> io::Result<()> {
        self.inner.leave()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.inner.take_retry_reports()
    }
}

struct RetryingQueue {
    inner: Box<dyn Queue>,
    op: Op,
    retry: RetryPolicy,
    /// By slot: the request that is under way.
    tried: Vec<Option<(Request, Attempts)>>,
    /// When a request is due again, and the error that it met.
    waiting: Vec<(u64, Request, i32)>,
    /// In flight in the queue below.
    below: usize,
}

impl RetryingQueue {
    fn push_due(&mut self) {
        let now = monotonic_ns();
        let (inner, below) = (&mut self.inner, &mut self.below);
        self.waiting.retain(|&(due, request, _)| {
            if due <= now {
                inner.push(request);
                *below += 1;
            }
            due > now
        });
    }

    fn wait(&mut self, wait_for: usize, timeout: Option<Duration>) -> io::Result<()> {
        self.push_due();
        let wanted = wait_for.min(self.below);
        let Some(due) = self.waiting.iter().map(|(due, ..)| *due).min() else {
            return match timeout {
                None => self.inner.submit_and_wait(wanted),
                Some(timeout) => self.inner.submit_and_wait_for(wanted, timeout),
            };
        };
        // Another attempt is due before long: whoever waits comes back.
        let most = timeout.unwrap_or(Duration::from_nanos(NAP_NS)).min(Duration::from_nanos(NAP_NS));
        if self.below > 0 {
            let left = Duration::from_nanos(due.saturating_sub(monotonic_ns()));
            return self.inner.submit_and_wait_for(wanted.min(1), left.min(most));
        }
        if !self.retry.stop.load(Ordering::Relaxed) {
            nap_until(due, most.as_nanos() as u64);
        }
        Ok(())
    }
}

impl Queue for RetryingQueue {
    fn open(&mut self) -> Result<(), StorageError> {
        self.retry.attempt(self.op, errno_of_open, || self.inner.open())
    }

    fn set_memory(&mut self, memory: Slots) -> Result<(), StorageError> {
        self.inner.set_memory(memory)
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.inner.memory(slot)
    }

    fn push(&mut self, request: Request) {
        self.tried[request.slot as usize] = Some((request, Attempts::default()));
        self.below += 1;
        self.inner.push(request);
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.wait(wait_for, None)
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        self.wait(wait_for, Some(timeout))
    }

    fn next_completion(&mut self) -> Option<Completion> {
        while let Some(completion) = self.inner.next_completion() {
            self.below -= 1;
            let Some((request, attempts)) = &mut self.tried[completion.slot as usize] else { return Some(completion) };
            if completion.result < 0 {
                if let Some(due) = self.retry.again(attempts, request.op, -completion.result) {
                    self.waiting.push((due, *request, completion.result));
                    continue;
                }
            } else {
                self.retry.ended(attempts.is_first());
            }
            self.tried[completion.slot as usize] = None;
            return Some(completion);
        }
        if !self.retry.stop.load(Ordering::Relaxed) {
            return None;
        }
        // Everybody is to stop: what waits has failed.
        let (_, request, result) = self.waiting.pop()?;
        if let Some((_, attempts)) = self.tried[request.slot as usize].take() {
            self.retry.ended(attempts.is_first());
        }
        Some(Completion { slot: request.slot, result })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inner.close()
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.inner.take_lost()
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.inner.take_retry_reports()
    }
}
