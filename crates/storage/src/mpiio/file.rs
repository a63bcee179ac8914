//! One task's file.

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tonnage_workload::Op;

use super::group::Partners;
use super::library::{Mpi, Opened, UNIQUE, WRITES};
use super::{Mpiio, ignored, in_view};
use crate::api::{File, OpenRequest};
use crate::error::{Result, StorageError};
use crate::fs::files::Files;
use crate::target::MpiioSpec;

/// Between two times at which tasks that make their calls together ask each other whether all have left: a task that has
/// waits about so long for the others.
const ASKED_EVERY: Duration = Duration::from_millis(100);
/// … and no more calls than these.
const MOST_ROUNDS: c_int = 256;
/// What a task says that has left; more than any number of calls.
const LEFT: c_int = MOST_ROUNDS + 1;

pub(super) struct MpiioFile {
    mpi: &'static Mpi,
    spec: MpiioSpec,
    hints: CString,
    files: Arc<Files>,
    request: OpenRequest,
    ranks: Arc<[u32]>,
    opened: Option<OpenedFile>,
    /// Calls are made together, and this many were; those of a task that has left are made of nothing.
    rounds: u64,
    asked: StopPolls,
    /// The task whose part of the file is in view.
    viewed: Option<u64>,
    /// A write of which others still make the sync.
    owes_sync: bool,
}

/// When the tasks asked each other last, and when they will: after equally many calls of each.
struct StopPolls {
    at: Instant,
    round: u64,
    next: u64,
}

struct OpenedFile {
    file: Opened,
    partners: Partners,
    /// What MPI's own handle was opened from.
    _handle: OwnedFd,
}

// SAFETY: one task has it, and MPI was started for calls of several threads.
unsafe impl Send for OpenedFile {}

impl MpiioFile {
    pub(super) fn new(of: &Mpiio, files: Arc<Files>, request: OpenRequest, ranks: Arc<[u32]>) -> Self {
        let (mpi, spec, hints) = (of.mpi, of.spec.clone(), of.hints.clone());
        let asked = StopPolls { at: Instant::now(), round: 0, next: 1 };
        Self { mpi, spec, hints, files, request, ranks, opened: None, rounds: 0, asked, viewed: None, owes_sync: false }
    }

    fn failed(&self, action: &'static str, source: io::Error) -> StorageError {
        StorageError::Path { action, path: self.files.path(self.request.file), source }
    }

    fn file(&self) -> io::Result<Opened> {
        self.opened.as_ref().map(|opened| opened.file).ok_or_else(|| Errno::BADF.into())
    }

    /// Whether each operation is one that all tasks of the file make together.
    fn meets(&self) -> bool {
        self.ranks.len() > 1 && (self.spec.collective || self.syncs_each() || self.is_strided())
    }

    fn syncs_each(&self) -> bool {
        self.request.durable_each && self.request.op == Op::Write
    }

    fn is_strided(&self) -> bool {
        self.spec.view.is_some_and(|view| view.pieces > 1)
    }

    /// Makes the file, or finds it; MPI opens what the handle leads to, so that no name is looked up twice.
    fn open_together(&self, partners: Partners) -> Result<OpenedFile> {
        // MPI reserves the space itself, together.
        let found = self.files.open(&OpenRequest { preallocate: false, ..self.request }, OFlags::empty());
        let told = |error| self.failed("open", error);
        let all = partners.agree(found.is_ok()).map_err(told)?;
        let handle = found?;
        if !all {
            return Err(told(io::Error::other("another task could not")));
        }
        let path = CString::new(format!("/proc/self/fd/{}", handle.as_raw_fd())).unwrap_or_default();
        let writes = if self.request.op == Op::Write { WRITES } else { 0 };
        let unique = if self.spec.shared && self.spec.tasks > 1 && self.ranks.is_empty() { 0 } else { UNIQUE };
        let mut file = ptr::null_mut();
        // SAFETY: the texts end, and the group lasts.
        let code = unsafe { (self.mpi.open)(partners.group, path.as_ptr(), writes | unique, self.hints.as_ptr(), &raw mut file) };
        let opened = self.mpi.check(code);
        if partners.agree(opened.is_ok()).map_err(told)? {
            return Ok(OpenedFile { file, partners, _handle: handle });
        }
        // Where only some could, nobody closes it together: it stays open until the process ends.
        Err(told(opened.err().unwrap_or_else(|| io::Error::other("another task could not"))))
    }

    /// What became of the hints, once in each phase.
    fn tell_hints(&self, file: Opened) -> io::Result<()> {
        let told = self.mpi.hints_of(file)?;
        let ignored = ignored(&self.spec.hints, &told);
        if !ignored.is_empty() {
            self.files.note("mpiio-hints-ignored", || {
                format!("this MPI does not say that it took the hints {}; they may have no effect", ignored.join(", "))
            });
        }
        self.files.set_hints(told);
        Ok(())
    }

    /// Before each operation: tasks that make them together ask from time to time whether all have left.
    fn begin(&mut self) -> io::Result<()> {
        if self.meets() {
            if self.asks() {
                self.have_all_left(false)?;
            }
            self.rounds += 1;
        }
        Ok(())
    }

    fn asks(&self) -> bool {
        self.rounds == self.asked.next || (self.rounds > 0 && self.rounds == self.last_round())
    }

    /// Operations of a task in a phase that nothing ends earlier: all tasks leave at once then.
    fn last_round(&self) -> u64 {
        self.spec.task_bytes / (self.request.transfer_size as u64).max(1)
    }

    /// Asks all tasks of the file at once: whether they have left, and after how many calls the next question is due.
    fn have_all_left(&mut self, left: bool) -> io::Result<bool> {
        let Some(opened) = &self.opened else { return Ok(true) };
        let (now, calls) = (Instant::now(), (self.rounds - self.asked.round).max(1));
        let call_ns = (now - self.asked.at).as_nanos() / u128::from(calls);
        let fit = ASKED_EVERY.as_nanos().checked_div(call_ns).unwrap_or(u128::MAX);
        let wanted = fit.clamp(1, MOST_ROUNDS as u128) as c_int;
        let least = opened.partners.least(if left { LEFT } else { wanted })?;
        self.asked = StopPolls { at: now, round: self.rounds, next: self.rounds + least as u64 };
        Ok(least == LEFT)
    }

    fn set_view(&self, displacement: u64, piece: u64, extent: u64) -> io::Result<()> {
        let file = self.file()?;
        // SAFETY: the file is open.
        self.mpi.check(unsafe { (self.mpi.view)(file, displacement as i64, piece as i64, extent as i64) })
    }

    /// Where in what the task sees the operation begins.
    fn place(&mut self, offset: u64, length: usize) -> io::Result<u64> {
        let Some(view) = self.spec.view else { return Ok(offset) };
        let extent = view.block_bytes * u64::from(view.tasks);
        if view.pieces == 1 {
            let (within, task) = in_view(view, offset);
            if self.viewed != Some(task) {
                self.set_view(task * view.block_bytes, view.piece_bytes, extent)?;
                self.viewed = Some(task);
            }
            return Ok(within);
        }
        let (spread, part) = (view.piece_bytes * u64::from(view.pieces), view.block_bytes * u64::from(view.pieces));
        if length as u64 != spread || !offset.is_multiple_of(spread) {
            return Err(io::Error::other(format!("a transfer of {length} bytes is not {} pieces of the view", view.pieces)));
        }
        let (task, piece) = (offset / part, offset % part / spread);
        self.set_view(task * view.block_bytes + piece * view.piece_bytes, view.piece_bytes, extent)?;
        Ok(0)
    }

    /// Makes the calls of one operation of the others, of no bytes.
    fn make_nothing(&mut self) -> io::Result<()> {
        if self.is_strided() {
            let view = self.spec.view.map_or(1, |view| view.piece_bytes);
            self.set_view(0, view, view)?;
        }
        if self.spec.collective {
            match self.request.op {
                Op::Read => self.read(0, &mut [])?,
                Op::Write => self.write(0, &[])?,
            };
        }
        if self.syncs_each() { self.sync() } else { Ok(()) }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, mut moved) = (self.file()?, 0);
        let (length, together) = (buffer.len() as i64, i32::from(self.spec.collective));
        // SAFETY: the file is open, and the buffer has so many bytes.
        let code = unsafe { (self.mpi.read)(file, offset as i64, buffer.as_mut_ptr().cast(), length, together, &raw mut moved) };
        self.mpi.check(code)?;
        self.whole(moved as usize, buffer.len())
    }

    fn write(&self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        let (file, mut moved) = (self.file()?, 0);
        let (length, together) = (buffer.len() as i64, i32::from(self.spec.collective));
        // SAFETY: the file is open, and the buffer has so many bytes.
        let code = unsafe { (self.mpi.write)(file, offset as i64, buffer.as_ptr().cast(), length, together, &raw mut moved) };
        self.mpi.check(code)?;
        self.whole(moved as usize, buffer.len())
    }

    /// A second call for the rest would be one that no other task makes.
    fn whole(&self, moved: usize, wanted: usize) -> io::Result<usize> {
        if moved == wanted || !self.meets() {
            return Ok(moved);
        }
        Err(io::Error::other(format!("a call that all tasks make together moved {moved} of {wanted} bytes")))
    }
}

impl File for MpiioFile {
    fn open(&mut self) -> Result<()> {
        let partners = Partners::of(self.mpi, &self.ranks).map_err(|error| self.failed("open", error))?;
        let opened = self.open_together(partners)?;
        let file = opened.file;
        self.opened = Some(opened);
        if self.request.preallocate && self.request.op == Op::Write {
            // SAFETY: the file is open.
            let code = unsafe { (self.mpi.preallocate)(file, self.request.file_bytes as i64) };
            self.mpi.check(code).map_err(|error| self.failed("reserve space for", error))?;
            self.files.set_flag("preallocated", true);
        }
        if self.request.task == 0 {
            self.tell_hints(file).map_err(|error| self.failed("ask for the hints of", error))?;
        }
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.begin()?;
        let offset = self.place(offset, buffer.len())?;
        self.read(offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.owes_sync = self.syncs_each();
        let offset = self.place(offset, buffer.len())?;
        self.write(offset, buffer)
    }

    fn leave(&mut self) -> io::Result<()> {
        if self.opened.is_none() || self.ranks.len() < 2 {
            return Ok(());
        }
        if self.owes_sync && self.meets() {
            self.sync()?;
        }
        if let Some(view) = self.spec.view
            && view.pieces == 1
            && self.viewed.is_none()
        {
            // The others have set theirs, or will.
            self.set_view(0, view.piece_bytes, view.block_bytes * u64::from(view.tasks))?;
            self.viewed = Some(0);
        }
        while self.meets() {
            if self.asks() && self.have_all_left(true)? {
                break;
            }
            self.rounds += 1;
            self.make_nothing()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.owes_sync = false;
        let file = self.file()?;
        // SAFETY: the file is open.
        self.mpi.check(unsafe { (self.mpi.sync)(file) })
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(opened) = self.opened.take() else { return Ok(()) };
        // SAFETY: the file is open, and is not used again.
        self.mpi.check(unsafe { (self.mpi.close)(opened.file) })
    }
}

impl Drop for MpiioFile {
    fn drop(&mut self) {
        // Others may not close it now: only who has it alone does.
        if self.ranks.len() < 2 {
            let _ = File::close(self);
        }
    }
}
