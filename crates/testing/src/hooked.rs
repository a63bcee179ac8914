//! A storage with something around each of its operations.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tonnage_storage::{
    Completion, File, ItemKind, Lane, Names, NamesRequest, OpenRequest, Opening, Queue, Request, Result, RetryReport, Slots,
    SnapshotRequest, Snapshots, Storage, Wrapper,
};
use tonnage_workload::Op;

use crate::snapshots::Wrapped;

/// What a hook is made for.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    /// A task's lane to its file.
    Lane(&'a OpenRequest),
    /// A task's way to the names of a tree.
    Names(&'a NamesRequest),
}

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A read or write on a lane.
    Transfer(Op, u64, usize),
    /// The same on the file that an act on a name opened.
    OfNamed(Op, u64, usize),
    /// An act on a name: make, stat, rename, remove, list, open. The number of its item, or of its directory.
    Name(u64),
    /// Before what was written is made durable.
    Sync,
    /// After a file was closed.
    Close,
}

/// How far a call may go.
#[derive(Debug, Clone, Copy)]
pub struct Leave {
    /// Bytes that it may move.
    pub length: usize,
    /// What becomes of the bytes that a read brought.
    pub alter: Option<fn(&mut [u8])>,
    /// It ends no sooner.
    pub due: Option<Instant>,
}

/// What is done around the operations of one lane.
pub trait Hook: Send {
    /// Before each call; the number of the system with which it fails instead.
    fn before(&mut self, call: Call) -> std::result::Result<Leave, i32>;

    /// Before a sync or close: what the storage has lost of what was written. If anything, the call is an EIO instead, and
    /// the lane tells of it.
    fn lose(&mut self) -> Vec<Range<u64>> {
        Vec::new()
    }
}

type Hooks<H> = dyn Fn(Way<'_>) -> H + Send + Sync;

/// `inner`, with a hook of its own around each way into it.
pub struct Hooked<H> {
    inner: Arc<dyn Storage>,
    hook: Arc<Hooks<H>>,
}

impl<H> Hooked<H> {
    /// `hook` makes one for each lane, and for each way to names.
    pub fn new(inner: Arc<dyn Storage>, hook: impl Fn(Way<'_>) -> H + Send + Sync + 'static) -> Self {
        Self { inner, hook: Arc::new(hook) }
    }
}

impl<H: Hook + 'static> Wrapper for Hooked<H> {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let hook = Guard::new((self.hook)(Way::Lane(request)));
        Ok(match self.inner.lane(request)? {
            Lane::Sync(inner) => Lane::Sync(Box::new(HookedFile { inner, hook })),
            Lane::Queued(inner) => {
                let room = request.queue_depth;
                let (leaves, held, failed) = (vec![None; room], Vec::with_capacity(room), VecDeque::with_capacity(room));
                Lane::Queued(Box::new(HookedQueue { inner, hook, leaves, held, completed: 0, failed }))
            }
        })
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(HookedNames { inner: self.inner.names(request)?, hook: Guard::new((self.hook)(Way::Names(request))) }))
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let hook = Arc::clone(&self.hook);
        let wrap = move |inner| Arc::new(Self { inner, hook: Arc::clone(&hook) }) as Arc<dyn Storage>;
        Ok(Box::new(Wrapped { inner: self.inner.snapshots(request)?, wrap }))
    }
}

/// A hook, asked where a call begins and ends in one place.
struct Guard<H> {
    hook: H,
    lost: Vec<Range<u64>>,
}

impl<H: Hook> Guard<H> {
    const fn new(hook: H) -> Self {
        Self { hook, lost: Vec::new() }
    }

    fn before(&mut self, call: Call) -> io::Result<Leave> {
        self.hook.before(call).map_err(io::Error::from_raw_os_error)
    }

    /// Of a call that moves no bytes.
    fn done<T>(&mut self, call: Call, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let leave = self.before(call)?;
        let done = act();
        sleep_until(leave.due);
        done
    }

    /// Of a read. `call`: of so many bytes.
    fn read(
        &mut self,
        call: impl FnOnce(usize) -> Call,
        buffer: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let leave = self.before(call(buffer.len()))?;
        let done = read(&mut buffer[..leave.length]);
        if let (Ok(count), Some(alter)) = (&done, leave.alter) {
            alter(&mut buffer[..*count]);
        }
        sleep_until(leave.due);
        done
    }

    /// Of a write.
    fn write(
        &mut self,
        call: impl FnOnce(usize) -> Call,
        buffer: &[u8],
        write: impl FnOnce(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let leave = self.before(call(buffer.len()))?;
        let done = write(&buffer[..leave.length]);
        sleep_until(leave.due);
        done
    }

    fn lose(&mut self) -> io::Result<()> {
        self.lost.extend(self.hook.lose());
        if self.lost.is_empty() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EIO)) }
    }

    fn sync(&mut self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.lose()?;
        self.done(Call::Sync, sync)
    }

    fn close(&mut self, close: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.lose()?;
        close()?;
        self.before(Call::Close).map(drop)
    }

    /// What was lost, and `more` that the storage tells of itself.
    fn take_lost(&mut self, more: Vec<Range<u64>>) -> Vec<Range<u64>> {
        let mut lost = std::mem::take(&mut self.lost);
        lost.extend(more);
        lost
    }
}

fn sleep_until(due: Option<Instant>) {
    if let Some(due) = due {
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

struct HookedFile<H> {
    inner: Box<dyn File>,
    hook: Guard<H>,
}

impl<H: Hook> File for HookedFile<H> {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.hook.read(|length| Call::Transfer(Op::Read, offset, length), buffer, |buffer| self.inner.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.hook.write(|length| Call::Transfer(Op::Write, offset, length), buffer, |buffer| self.inner.write_at(offset, buffer))
    }

    fn leave(&mut self) -> io::Result<()> {
        self.inner.leave()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.hook.sync(|| self.inner.sync())
    }

    fn close(&mut self) -> io::Result<()> {
        self.hook.close(|| self.inner.close())
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.hook.take_lost(self.inner.take_lost())
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.inner.take_retry_reports()
    }
}

struct HookedQueue<H> {
    inner: Box<dyn Queue>,
    hook: Guard<H>,
    /// By slot: the request in flight, and how far it may go.
    leaves: Vec<Option<(Request, Leave)>>,
    /// Completions of the storage that are not due yet, or not taken, each with its number; the last due first.
    held: Vec<(Option<Instant>, u64, Completion)>,
    completed: u64,
    /// Completions that never reached the storage.
    failed: VecDeque<Completion>,
}

impl<H> HookedQueue<H> {
    /// Holds what the storage has completed; when the last of the next `wait_for` is due, if there are so many.
    fn hold(&mut self, wait_for: usize) -> Option<Instant> {
        while let Some(completion) = self.inner.next_completion() {
            let Some((request, leave)) = self.leaves[completion.slot as usize].take() else { continue };
            if let (Some(alter), count @ 1..) = (leave.alter, completion.result) {
                alter(&mut self.inner.memory(completion.slot)[request.start..][..count as usize]);
            }
            self.completed += 1;
            self.held.push((leave.due, self.completed, completion));
        }
        self.held.sort_unstable_by_key(|(due, number, _)| std::cmp::Reverse((*due, *number)));
        wait_for.checked_sub(1).and_then(|last| self.held.iter().rev().nth(last)).and_then(|(due, ..)| *due)
    }

    /// Completions that the storage must still give for so many.
    fn missing(&self, wait_for: usize) -> usize {
        wait_for.saturating_sub(self.failed.len() + self.held.len())
    }
}

impl<H: Hook> Queue for HookedQueue<H> {
    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        self.inner.set_memory(memory)
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.inner.memory(slot)
    }

    fn push(&mut self, request: Request) {
        match self.hook.hook.before(Call::Transfer(request.op, request.offset, request.length)) {
            Err(errno) => self.failed.push_back(Completion { slot: request.slot, result: -errno }),
            Ok(leave) => {
                self.leaves[request.slot as usize] = Some((request, leave));
                self.inner.push(Request { length: leave.length, ..request });
            }
        }
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.inner.submit_and_wait(self.missing(wait_for))?;
        let due = self.hold(wait_for.saturating_sub(self.failed.len()));
        sleep_until(due);
        Ok(())
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        let (missing, end) = (self.missing(wait_for), Instant::now().checked_add(timeout));
        self.inner.submit_and_wait_for(missing, timeout)?;
        let wanted = wait_for.saturating_sub(self.failed.len());
        let due = self.hold(wanted);
        if wanted > 0 {
            // So many are not there yet: others may come until then.
            sleep_until(if self.held.len() < wanted { end } else { due.min(end.or(due)) });
        }
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        if let Some(failed) = self.failed.pop_front() {
            return Some(failed);
        }
        self.hold(0);
        let (due, ..) = *self.held.last()?;
        if due > Some(Instant::now()) { None } else { self.held.pop().map(|(.., completion)| completion) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.hook.sync(|| self.inner.sync())
    }

    fn close(&mut self) -> io::Result<()> {
        self.hook.close(|| self.inner.close())
    }

    fn take_lost(&mut self) -> Vec<Range<u64>> {
        self.hook.take_lost(self.inner.take_lost())
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.inner.take_retry_reports()
    }
}

struct HookedNames<H> {
    inner: Box<dyn Names>,
    hook: Guard<H>,
}

impl<H: Hook> Names for HookedNames<H> {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        self.hook.done(Call::Name(directory), || self.inner.make_tree(directory))
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        self.hook.done(Call::Name(directory), || self.inner.remove_tree(directory))
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.hook.done(Call::Name(number), || self.inner.make(kind, number))
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.hook.done(Call::Name(number), || self.inner.stat(kind, number))
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.hook.done(Call::Name(number), || self.inner.rename(kind, number))
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.hook.done(Call::Name(number), || self.inner.remove(kind, number))
    }

    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        self.hook.done(Call::Name(number), || self.inner.open(kind, number, how))
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        self.hook.done(Call::Name(directory), || self.inner.list(directory))
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.inner.enter(directory)
    }

    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.inner.forget(kind, number)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.hook.read(|length| Call::OfNamed(Op::Read, offset, length), buffer, |buffer| self.inner.read_at(offset, buffer))
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.hook.write(|length| Call::OfNamed(Op::Write, offset, length), buffer, |buffer| self.inner.write_at(offset, buffer))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.hook.sync(|| self.inner.sync())
    }

    fn sync_file_system(&mut self) -> io::Result<()> {
        self.hook.sync(|| self.inner.sync_file_system())
    }

    fn close(&mut self) -> io::Result<()> {
        self.hook.close(|| self.inner.close())
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.inner.take_retry_reports()
    }
}
