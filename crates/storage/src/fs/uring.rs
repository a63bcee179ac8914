//! `io_uring`: several operations in flight, with the file and the memory made known to the kernel beforehand.
//!
//! One ring a task. It is made disabled and enabled by `open`, on the thread that will use it (`SINGLE_ISSUER` binds
//! it there), so `lane` and `set_memory` may be called on any thread; everything from `open` to `close` belongs on one.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tonnage_workload::Op;

use crate::api::{Completion, Lane, OpenRequest, Queue, Request};
use crate::error::{Result, StorageError};
use crate::fs::file_storage::FileAccess;
use crate::fs::files::Files;
use crate::fs::open_file::OpenFile;
use crate::fs::posix::PosixFile;
use crate::serial::Serial;
use crate::slots::Slots;

/// Between two attempts at handing operations to a kernel that has no room, and how long it is asked.
const BUSY_NAP: Duration = Duration::from_micros(100);
const BUSY_MOST: Duration = Duration::from_secs(10);

/// Reads and writes through `io_uring`.
#[derive(Debug)]
pub(crate) struct Uring;

impl FileAccess for Uring {
    fn lane(&self, files: &Arc<Files>, request: &OpenRequest) -> Result<Lane> {
        let direct = files.decide_direct(request)?;
        let ring = match make_ring(request.queue_depth as u32) {
            Ok(ring) => ring,
            // Switched off (sysctl kernel.io_uring_disabled, seccomp), not there, or over RLIMIT_MEMLOCK before 5.12.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::ENOMEM)) => {
                files.set_flag("io_uring", false);
                files.note("io-uring-off", || {
                    let cause = "switched off by sysctl kernel.io_uring_disabled or seccomp, or RLIMIT_MEMLOCK is too small";
                    format!(
                        "io_uring cannot be used here ({error}: {cause}); operations were done one at a time by pread and pwrite"
                    )
                });
                let file = Box::new(PosixFile::new(Arc::clone(files), *request, direct));
                return Ok(Lane::Queued(Box::new(Serial::new(file, request.queue_depth))));
            }
            Err(source) => {
                return Err(StorageError::Path { action: "set up io_uring for", path: files.path(request.file), source });
            }
        };
        files.set_flag("io_uring", true);
        Ok(Lane::Queued(Box::new(UringQueue::new(Arc::clone(files), *request, direct, ring))))
    }
}

/// A disabled ring with the best flags that this kernel takes.
fn make_ring(depth: u32) -> io::Result<IoUring> {
    let mut error = io::Error::from(Errno::INVAL);
    // Without a second list of what is submitted (6.6), completions handled by the task itself when it waits (6.1), without
    // an interrupt to it (5.19), plain (5.10).
    for level in [3, 2, 1, 0] {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_r_disabled();
        if level >= 1 {
            builder.setup_coop_taskrun().setup_submit_all();
        }
        if level >= 2 {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if level >= 3 {
            builder.setup_no_sqarray();
        }
        match builder.build(depth.max(1)) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => error = e,
            other => return other,
        }
    }
    Err(error)
}

/// Whether the kernel has no room for what it was handed just now: no memory (`EAGAIN`), or completions to be taken first
/// (`EBUSY`). What was handed over stays pushed.
fn is_busy(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}

/// How long a kernel without room has been asked again.
#[derive(Default)]
struct Busy {
    since: Option<Instant>,
}

impl Busy {
    /// # Errors
    /// The kernel's own, where it has had no room for [`BUSY_MOST`].
    fn wait(&mut self, error: io::Error) -> io::Result<()> {
        if self.since.get_or_insert_with(Instant::now).elapsed() > BUSY_MOST {
            return Err(error);
        }
        std::thread::sleep(BUSY_NAP);
        Ok(())
    }
}

/// One task's ring and file.
struct UringQueue {
    files: Arc<Files>,
    request: OpenRequest,
    flags: OFlags,
    ring: IoUring,
    /// Freed by hand: never while the kernel may still write to it.
    memory: ManuallyDrop<Option<Slots>>,
    opened: OpenFile,
    fixed_buffers: bool,
    fixed_file: bool,
    enabled: bool,
    in_flight: usize,
}

impl UringQueue {
    fn new(files: Arc<Files>, request: OpenRequest, direct: bool, ring: IoUring) -> Self {
        let flags = if direct { OFlags::DIRECT } else { OFlags::empty() };
        // A table with one empty place, filled by `open`: making the table takes longer than filling it.
        let fixed_file = ring.submitter().register_files(&[-1]).is_ok();
        files.set_flag("registered_files", fixed_file);
        Self {
            files,
            request,
            flags,
            ring,
            memory: ManuallyDrop::new(None),
            opened: OpenFile::default(),
            fixed_buffers: false,
            fixed_file,
            enabled: false,
            in_flight: 0,
        }
    }

    /// Pushes the operation on the bytes from `start`. Each kind pushes its own entry: one that comes from several places is
    /// put together in memory and copied from there.
    ///
    /// # Safety
    /// The bytes were lent, and their memory and the file outlive the operation.
    #[inline]
    unsafe fn push_entry(&mut self, request: &Request, start: *mut u8) -> std::result::Result<(), squeue::PushError> {
        let (file, length, slot) = (types::Fixed(0), request.length as u32, u64::from(request.slot));
        if !(self.fixed_file && self.fixed_buffers) {
            let entry = self.unregistered_entry(request, start).user_data(slot);
            // SAFETY: as this function's.
            return unsafe { self.ring.submission().push(&entry) };
        }
        match request.op {
            Op::Read => {
                let entry = opcode::ReadFixed::new(file, start, length, 0).offset(request.offset).build().user_data(slot);
                // SAFETY: as this function's.
                unsafe { self.ring.submission().push(&entry) }
            }
            Op::Write => {
                let entry = opcode::WriteFixed::new(file, start, length, 0).offset(request.offset).build().user_data(slot);
                // SAFETY: as this function's.
                unsafe { self.ring.submission().push(&entry) }
            }
        }
    }

    /// The operation where the kernel did not take the file or the memory beforehand.
    #[cold]
    #[inline(never)]
    fn unregistered_entry(&self, request: &Request, start: *mut u8) -> squeue::Entry {
        let length = request.length as u32;
        macro_rules! on_file {
            ($opcode:ident $(, $more:expr)?) => {
                if self.fixed_file {
                    opcode::$opcode::new(types::Fixed(0), start, length $(, $more)?).offset(request.offset).build()
                } else {
                    let plain = types::Fd(self.opened.handle().map_or(-1, AsRawFd::as_raw_fd));
                    opcode::$opcode::new(plain, start, length $(, $more)?).offset(request.offset).build()
                }
            };
        }
        match (request.op, self.fixed_buffers) {
            (Op::Read, true) => on_file!(ReadFixed, 0),
            (Op::Read, false) => on_file!(Read),
            (Op::Write, true) => on_file!(WriteFixed, 0),
            (Op::Write, false) => on_file!(Write),
        }
    }
}

impl Queue for UringQueue {
    fn open(&mut self) -> Result<()> {
        let refused = |error: io::Error| StorageError::Path {
            action: "use io_uring on",
            path: self.files.path(self.request.file),
            source: error,
        };
        if !self.enabled {
            self.ring.submitter().register_enable_rings().map_err(refused)?;
            self.enabled = true;
        }
        let handle = self.files.open(&self.request, self.flags)?;
        if self.fixed_file {
            self.ring.submitter().register_files_update(0, &[handle.as_raw_fd()]).map_err(refused)?;
        }
        self.opened.hold(handle);
        Ok(())
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        let (start, length) = memory.whole();
        let whole = [libc::iovec { iov_base: start.cast(), iov_len: length }];
        // SAFETY: the memory stays mapped until the ring is idle (see `drop`).
        let registered = unsafe { self.ring.submitter().register_buffers(&whole) };
        self.fixed_buffers = registered.is_ok();
        self.files.set_flag("fixed_buffers", self.fixed_buffers);
        if let Err(error) = registered {
            self.files.note("no-fixed-buffers", || {
                format!("the kernel did not take the buffers beforehand ({error}; often RLIMIT_MEMLOCK); it looks them up at each operation")
            });
        }
        *self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        let Some(memory) = &mut *self.memory else { return };
        let start = memory.lend(request.slot, request.start, request.length);
        // SAFETY: the bytes were lent, and their memory outlives the operation (see `drop`); the handle stays open until
        // `close`.
        let pushed = unsafe { self.push_entry(&request, start) };
        pushed.expect("the ring has room for as many as the depth");
        self.in_flight += 1;
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        let mut busy = Busy::default();
        loop {
            match self.ring.submit_and_wait(wait_for) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What has completed is taken first: that makes room.
                Err(error) if is_busy(&error) && !self.ring.completion().is_empty() => return Ok(()),
                Err(error) if is_busy(&error) => busy.wait(error)?,
                Err(error) => return Err(error),
            }
            // A call that a signal cut short, or that took only a part, is not yet what was asked.
            if self.ring.submission().is_empty() && self.ring.completion().len() >= wait_for {
                return Ok(());
            }
        }
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        if !self.ring.params().is_feature_ext_arg() {
            // Before 5.11 a wait has no end: short naps instead.
            self.ring.submit()?;
            if self.ring.completion().len() < wait_for {
                std::thread::sleep(timeout.min(Duration::from_micros(100)));
            }
            return Ok(());
        }
        let (time, mut wait_for) = (types::Timespec::from(timeout), wait_for);
        let mut busy = Busy::default();
        loop {
            let arguments = types::SubmitArgs::new().timespec(&time);
            match self.ring.submitter().submit_with_args(wait_for, &arguments) {
                Err(error) if is_busy(&error) && !self.ring.completion().is_empty() => return Ok(()),
                Err(error) if is_busy(&error) => busy.wait(error)?,
                // The time is over, or a signal came; the caller looks again.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => wait_for = 0,
                other => drop(other?),
            }
            if self.ring.submission().is_empty() {
                return Ok(());
            }
        }
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        self.in_flight -= 1;
        let completion = Completion { slot: entry.user_data() as u32, result: entry.result() };
        if let Some(memory) = self.memory.as_mut() {
            memory.give_back(completion.slot);
        }
        Some(completion)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.opened.sync()
    }

    fn close(&mut self) -> io::Result<()> {
        if self.fixed_file && self.opened.handle().is_ok() {
            // The table holds the file as well and would keep it open.
            self.ring.submitter().register_files_update(0, &[-1])?;
        }
        self.opened.close()
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.submit_and_wait(1).is_err() {
                // The kernel may still write to the memory (a task that died on another thread): better leaked.
                return;
            }
            while self.next_completion().is_some() {}
        }
        // SAFETY: dropped once, here, with nothing in flight.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::target::{DirectMode, StorageKind, TargetSpec};

    /// One operation on the whole of a slot, from its beginning to its end.
    fn operate(queue: &mut UringQueue, slot: u32, op: Op, offset: u64) {
        queue.push(Request { slot, op, offset, start: 0, length: 4096 });
        queue.submit_and_wait(1).unwrap();
        assert_eq!(queue.next_completion(), Some(Completion { slot, result: 4096 }));
    }

    #[test]
    fn bytes_are_moved_the_same_whatever_the_kernel_knows_beforehand() {
        for (file, buffers) in [(true, true), (true, false), (false, true), (false, false)] {
            let home = tempfile::tempdir().unwrap();
            let scratch = Scratch::create(home.path(), "known").unwrap();
            let directories = vec![scratch.path().to_owned()];
            let spec = TargetSpec { directories, direct: DirectMode::No, ..TargetSpec::new(StorageKind::Uring) };
            let request = OpenRequest {
                task: 0,
                file: 0,
                op: Op::Write,
                file_bytes: 8192,
                transfer_size: 4096,
                queue_depth: 2,
                preallocate: false,
                durable_each: false,
                retry_ns: None,
            };
            let Ok(ring) = make_ring(2) else { return eprintln!("skipped: io_uring is switched off") };
            let mut queue = UringQueue::new(Arc::new(Files::new(&spec).unwrap()), request, false, ring);
            queue.set_memory(Slots::new(2, 4096).unwrap()).unwrap();
            (queue.fixed_file, queue.fixed_buffers) = (queue.fixed_file && file, queue.fixed_buffers && buffers);
            queue.open().unwrap();
            queue.memory(0).fill(7);
            operate(&mut queue, 0, Op::Write, 4096);
            operate(&mut queue, 1, Op::Read, 4096);
            assert!(queue.memory(1).iter().all(|&byte| byte == 7), "known: the file {file}, the buffers {buffers}");
            queue.close().unwrap();
        }
    }
}
