//! Reads and writes of one file, several under way on one connection: each call has a number, and answers come in any
//! order. An operation that is larger than the server takes at once is several calls.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use nfs3_types::nfs3::{NFS_PROGRAM, Nfs3Result, WRITE3resfail, WRITE3resok, nfs_fh3, nfsstat3, post_op_attr, stable_how};
use nfs3_types::xdr_codec::{Pack, Unpack};
use tonnage_workload::Op;

use super::client::{Client, procedure};
use super::rpc::{Trouble, encode, errno, reply};
use super::uncommitted::Uncommitted;
use crate::api::{Completion, Request};
use crate::slots::Slots;

/// A server that is busy (`JUKEBOX`) is asked again after this time.
const JUKEBOX_WAIT: Duration = Duration::from_millis(100);
const PADDING: [u8; 3] = [0; 3];

/// The bytes that operations work on.
pub(super) enum Memory<'a> {
    /// Only written from.
    From(&'a [u8]),
    /// Read into as well.
    Into(&'a mut [u8]),
    /// Of a queue, each operation on its slot's.
    Of(&'a mut Slots),
}

impl Memory<'_> {
    fn from(&mut self, part: &Call) -> &[u8] {
        match self {
            Self::From(bytes) => &bytes[part.start..][..part.length],
            Self::Into(bytes) => &bytes[part.start..][..part.length],
            Self::Of(slots) => slots.lent(part.slot, part.start, part.length),
        }
    }

    fn into(&mut self, part: &Call) -> &mut [u8] {
        match self {
            Self::From(_) => &mut [],
            Self::Into(bytes) => &mut bytes[part.start..][..part.length],
            Self::Of(slots) => slots.lent(part.slot, part.start, part.length),
        }
    }
}

/// One call, which is an operation or a part of one.
#[derive(Debug, Clone, Copy)]
struct Call {
    xid: u32,
    slot: u32,
    op: Op,
    /// In the file.
    offset: u64,
    /// In the memory.
    start: usize,
    length: usize,
}

/// An operation under way.
#[derive(Debug, Clone, Copy, Default)]
struct Operation {
    /// In the memory.
    start: usize,
    /// Parts that have not ended.
    parts: usize,
    /// Bytes from its beginning that are moved once all parts have ended: fewer than asked for at the end of a file.
    bytes: usize,
    /// A number of the system; 0 for none.
    errno: i32,
}

/// The file of a task, and what is under way on it.
pub(super) struct Pipeline {
    pub(super) client: Client,
    file: nfs_fh3,
    stable: stable_how,
    read_bytes: usize,
    write_bytes: usize,
    operations: Vec<Operation>,
    to_send: VecDeque<Call>,
    /// The call that is partly sent, and how much of it.
    sending: Option<(Call, usize)>,
    message: Vec<u8>,
    sent: VecDeque<Call>,
    ended: VecDeque<Completion>,
    uncommitted: Uncommitted,
    /// When the server was last heard of, or was first expected to be.
    heard: Instant,
}

impl Pipeline {
    /// For `depth` operations at once; each call moves at most so many bytes.
    pub(super) fn new(client: Client, depth: usize, (read_bytes, write_bytes): (u32, u32)) -> Self {
        Self {
            client,
            file: nfs_fh3::default(),
            stable: stable_how::UNSTABLE,
            read_bytes: read_bytes as usize,
            write_bytes: write_bytes as usize,
            operations: vec![Operation::default(); depth.max(1)],
            to_send: VecDeque::new(),
            sending: None,
            message: Vec::new(),
            sent: VecDeque::new(),
            ended: VecDeque::new(),
            uncommitted: Uncommitted::default(),
            heard: Instant::now(),
        }
    }

    /// The file that operations are on from now on. With `stable`, each write is durable when it comes back.
    pub(super) fn set_file(&mut self, file: nfs_fh3, stable: bool) {
        self.file = file;
        self.uncommitted = Uncommitted::default();
        self.set_stable(stable);
    }

    /// Whether each write from now on is durable when it comes back.
    pub(super) fn set_stable(&mut self, stable: bool) {
        self.stable = if stable { stable_how::FILE_SYNC } else { stable_how::UNSTABLE };
    }

    /// Operations that have not come back.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.to_send.is_empty() && self.sending.is_none()
    }

    /// Takes an operation; nothing is sent yet.
    pub(super) fn begin(&mut self, request: &Request) {
        if self.is_idle() {
            self.heard = Instant::now();
        }
        let most = if request.op == Op::Read { self.read_bytes } else { self.write_bytes };
        let parts = request.length.div_ceil(most).max(1);
        self.operations[request.slot as usize] = Operation { start: request.start, parts, bytes: request.length, errno: 0 };
        for number in 0..parts {
            let done = number * most;
            self.to_send.push_back(Call {
                xid: self.client.next_xid(),
                slot: request.slot,
                op: request.op,
                offset: request.offset + done as u64,
                start: request.start + done,
                length: (request.length - done).min(most),
            });
        }
    }

    /// The next operation that has come back.
    pub(super) fn next_ended(&mut self) -> Option<Completion> {
        self.ended.pop_front()
    }

    /// One read from its beginning to its end; how many bytes it moved.
    pub(super) fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len();
        self.operate(Op::Read, offset, &mut Memory::Into(buffer), length)
    }

    /// One write from its beginning to its end; how many bytes it moved.
    pub(super) fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.operate(Op::Write, offset, &mut Memory::From(buffer), buffer.len())
    }

    fn operate(&mut self, op: Op, offset: u64, memory: &mut Memory<'_>, length: usize) -> io::Result<usize> {
        self.begin(&Request { slot: 0, op, offset, start: 0, length });
        self.run(memory, 1, None)?;
        match self.next_ended().map_or(0, |completion| completion.result) {
            moved if moved >= 0 => Ok(moved as usize),
            errno => Err(io::Error::from_raw_os_error(-errno)),
        }
    }

    /// Sends what is to be sent, until `wanted` operations have come back or it is `until`.
    ///
    /// # Errors
    /// A server that did not come back in time, or whose answers are none. Nothing is under way then.
    pub(super) fn run(&mut self, memory: &mut Memory<'_>, wanted: usize, until: Option<Instant>) -> io::Result<()> {
        loop {
            let error = match self.turn(memory, wanted, until) {
                Ok(true) => return Ok(()),
                Ok(false) => continue,
                Err(Trouble::Connection(error)) => match self.begin_again(&error) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Err(Trouble::Answer(error)) => error,
            };
            self.client.abandon();
            (self.sending, self.to_send, self.sent) = (None, VecDeque::new(), VecDeque::new());
            return Err(error);
        }
    }

    /// One round; whether it was the last one.
    fn turn(&mut self, memory: &mut Memory<'_>, wanted: usize, until: Option<Instant>) -> Result<bool, Trouble> {
        let blocked = !self.send(memory)?;
        while self.ended.len() < wanted && self.client.link()?.has_bytes() {
            self.receive(memory)?;
        }
        if self.ended.len() >= wanted || self.is_idle() {
            return Ok(true);
        }
        if !blocked && until.is_none() {
            return self.receive(memory).map(|()| false);
        }
        let silence = self.client.silence;
        let left = silence.saturating_sub(self.heard.elapsed());
        let limit = until.map_or(left, |until| until.saturating_duration_since(Instant::now()).min(left));
        let link = self.client.link()?;
        if !link.wait(blocked, Some(limit))? {
            if self.heard.elapsed() >= silence {
                return Err(Trouble::Connection(io::ErrorKind::TimedOut.into()));
            }
            return Ok(until.is_some());
        }
        if link.is_readable()? {
            self.receive(memory)?;
        }
        Ok(false)
    }

    /// Sends until all is sent, or the connection takes no more now (false).
    fn send(&mut self, memory: &mut Memory<'_>) -> Result<bool, Trouble> {
        loop {
            let (part, already) = match self.sending.take() {
                Some(sending) => sending,
                None => match self.to_send.pop_front() {
                    Some(part) => {
                        self.spell(&part);
                        (part, 0)
                    }
                    None => return Ok(true),
                },
            };
            let payload = if part.op == Op::Write { memory.from(&part) } else { &[] };
            let padding = &PADDING[..payload.len().wrapping_neg() % 4];
            let all = self.message.len() + payload.len() + padding.len();
            let link = self.client.link()?;
            match link.send(&[&self.message, payload, padding], already, false) {
                Ok(more) if already + more == all => self.sent.push_back(part),
                Ok(more) => {
                    self.sending = Some((part, already + more));
                    return Ok(false);
                }
                Err(error) => {
                    self.sending = Some((part, already));
                    return Err(error.into());
                }
            }
        }
    }

    /// The call's message, without the bytes that it carries.
    fn spell(&mut self, part: &Call) {
        let (file, stable, count) = (&self.file, self.stable, part.length as u32);
        let (number, payload) = match part.op {
            Op::Read => (NFS_PROGRAM::NFSPROC3_READ, 0),
            Op::Write => (NFS_PROGRAM::NFSPROC3_WRITE, part.length.next_multiple_of(4)),
        };
        encode(&mut self.message, part.xid, procedure(number), &self.client.export.credential, payload, |out| {
            let mut packed = file.pack(out)? + part.offset.pack(out)? + count.pack(out)?;
            if part.op == Op::Write {
                packed += stable.pack(out)? + count.pack(out)?;
            }
            Ok(packed)
        });
    }

    /// Waits for an answer and takes it.
    fn receive(&mut self, memory: &mut Memory<'_>) -> Result<(), Trouble> {
        let link = self.client.link()?;
        let (xid, executed) = reply(link)?;
        self.heard = Instant::now();
        let Some(at) = self.sent.iter().position(|part| part.xid == xid) else { return Ok(()) };
        executed.map_err(Trouble::Answer)?;
        let part = self.sent[at];
        let moved = match part.op {
            Op::Write => match Nfs3Result::<WRITE3resok, WRITE3resfail>::unpack(link)?.0 {
                Nfs3Result::Ok(done) => {
                    let count = (done.count as usize).min(part.length);
                    let range = part.offset..part.offset + count as u64;
                    let lost = self.uncommitted.written(range, done.committed, done.verf);
                    self.tell_lost(lost);
                    Ok((count, false))
                }
                Nfs3Result::Err((status, _)) => Err(status),
            },
            Op::Read => read(link, memory.into(&part))?,
        };
        if !matches!(moved, Err(nfsstat3::NFS3ERR_JUKEBOX)) {
            self.client.answered();
        }
        // Only now: until its bytes are here, a call on a connection that breaks is to be sent again.
        self.sent.remove(at);
        self.end(part, moved).map_err(Trouble::Answer)
    }

    /// A call has ended: with its bytes, and whether the file ends there.
    fn end(&mut self, part: Call, moved: Result<(usize, bool), nfsstat3>) -> io::Result<()> {
        let operation = &mut self.operations[part.slot as usize];
        match moved {
            Err(nfsstat3::NFS3ERR_JUKEBOX) => {
                self.client.delayed()?;
                std::thread::sleep(JUKEBOX_WAIT.min(self.client.silence));
                // By the same number the server would only repeat its answer.
                let xid = self.client.next_xid();
                self.to_send.push_front(Call { xid, ..part });
                return Ok(());
            }
            Err(status) => operation.errno = errno(status).raw_os_error().unwrap_or(libc::EIO),
            Ok((count, false)) if 0 < count && count < part.length => {
                let (offset, start, length) = (part.offset + count as u64, part.start + count, part.length - count);
                let xid = self.client.next_xid();
                self.to_send.push_front(Call { xid, offset, start, length, ..part });
                return Ok(());
            }
            Ok((count, _)) if count < part.length => {
                operation.bytes = operation.bytes.min(part.start + count - operation.start);
            }
            Ok(_) => {}
        }
        operation.parts -= 1;
        if operation.parts == 0 {
            let result = if operation.errno == 0 { operation.bytes as i32 } else { -operation.errno };
            self.ended.push_back(Completion { slot: part.slot, result });
        }
        Ok(())
    }

    /// Another connection; all that has no answer is sent again on it, by the same numbers, so that a server that only
    /// lost the connection knows it.
    fn begin_again(&mut self, error: &io::Error) -> io::Result<()> {
        self.client.reconnect(self.heard, error, self.sent.len() + usize::from(self.sending.is_some()))?;
        if let Some((part, _)) = self.sending.take() {
            self.to_send.push_front(part);
        }
        while let Some(part) = self.sent.pop_back() {
            self.to_send.push_front(part);
        }
        Ok(())
    }

    fn tell_lost(&self, bytes: u64) {
        if bytes > 0 {
            self.client.export.troubles.lost(bytes);
        }
    }

    /// Makes what was written durable: one COMMIT, or nothing where nothing is left to commit.
    ///
    /// # Errors
    /// Among others where the server has restarted with what it had not committed: [`take_lost`](Self::take_lost) says
    /// what must be written again.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        debug_assert!(self.uncommitted.is_empty() || self.is_idle(), "a COMMIT has the connection for itself");
        if !self.uncommitted.is_empty() {
            let verifier = self.client.commit(&self.file)?;
            let lost = self.uncommitted.committed(verifier);
            self.tell_lost(lost);
        }
        if self.uncommitted.has_lost() {
            return Err(io::Error::other("the server restarted before it had committed what was written; write it again"));
        }
        Ok(())
    }

    /// What the server lost of the file, once.
    pub(super) fn take_lost(&mut self) -> Vec<std::ops::Range<u64>> {
        self.uncommitted.take_lost()
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if !self.is_idle() {
            self.client.abandon();
        }
    }
}

/// The result of a READ: bytes that are in `into` now and whether the file ends there, or the server's error.
fn read(link: &mut super::rpc_connection::Link, into: &mut [u8]) -> Result<Result<(usize, bool), nfsstat3>, Trouble> {
    let (status, _) = nfsstat3::unpack(link)?;
    let _ = post_op_attr::unpack(link)?;
    if status != nfsstat3::NFS3_OK {
        return Ok(Err(status));
    }
    let (_count, _) = u32::unpack(link)?;
    let (end, _) = bool::unpack(link)?;
    let (length, _) = u32::unpack(link)?;
    let count = (length as usize).min(into.len());
    link.read_exact(&mut into[..count])?;
    Ok(Ok((count, end)))
}
