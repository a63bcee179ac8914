//! One TCP connection to a program of a server: calls and replies are records of one or more fragments (RFC 5531,
//! section 11).

use std::io::{self, IoSlice, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::wait::{self, SLICE, in_slices};

/// What is read ahead: a whole reply without data. Of one with data only the beginning passes through it.
const BUFFER_BYTES: usize = 16 << 10;
/// Ports that only root may bind: servers that are exported with `secure` answer no others.
const PRIVILEGED: std::ops::Range<u16> = 600..1024;
const LAST_FRAGMENT: u32 = 1 << 31;

/// A connection. As a [`Read`], it gives the record that [`next_record`](Self::next_record) began, to its end.
#[derive(Debug)]
pub(super) struct Link {
    stream: TcpStream,
    /// A call or a reply that stands still for so long is an error.
    silence: Duration,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the fragment under way that are still to come.
    fragment_left: usize,
    /// No other fragment of the record follows.
    last: bool,
}

impl Link {
    /// Connects within `connect`; a call or a reply that stands still for `silence` is an error from then on.
    pub(super) fn connect(address: SocketAddr, connect: Duration, silence: Duration) -> io::Result<Self> {
        let stream = match from_privileged_port(address, connect)? {
            Some(stream) => stream,
            None => wait::connect(address, None, connect)?,
        };
        stream.set_nodelay(true)?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let mut link = Self { stream, silence: Duration::ZERO, buffer, start: 0, end: 0, fragment_left: 0, last: true };
        link.limit_silence(silence)?;
        Ok(link)
    }

    /// From now on, a call or a reply that stands still for `silence`, which is not 0, is an error.
    pub(super) fn limit_silence(&mut self, silence: Duration) -> io::Result<()> {
        if self.silence != silence {
            self.stream.set_read_timeout(Some(silence.min(SLICE)))?;
            self.stream.set_write_timeout(Some(silence.min(SLICE)))?;
            self.silence = silence;
        }
        Ok(())
    }

    /// Sends a record that is all in `parts`, but for the first `sent` bytes; how many more went. With `wait`, at least
    /// one does; without, none where the connection takes none now.
    pub(super) fn send(&self, parts: &[&[u8]], mut sent: usize, wait: bool) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); 4];
        let mut count = 0;
        for part in parts {
            let skipped = sent.min(part.len());
            sent -= skipped;
            if skipped < part.len() {
                slices[count] = IoSlice::new(&part[skipped..]);
                count += 1;
            }
        }
        let flags = if wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        let mut nothing = SendAncillaryBuffer::default();
        let mut sent = || retry_on_intr(|| net::sendmsg(&self.stream, &slices[..count], &mut nothing, flags));
        if wait {
            return in_slices(self.silence, || Ok(sent()?));
        }
        match sent() {
            Err(Errno::AGAIN) => Ok(0),
            other => Ok(other?),
        }
    }

    /// Sends all of a record.
    pub(super) fn send_all(&self, parts: &[&[u8]]) -> io::Result<()> {
        let all = parts.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        while sent < all {
            sent += self.send(parts, sent, true)?;
        }
        Ok(())
    }

    /// Goes to the next record; what is left of the one before is dropped.
    pub(super) fn next_record(&mut self) -> io::Result<()> {
        io::copy(self, &mut io::sink())?;
        self.last = false;
        Ok(())
    }

    /// Something was read ahead.
    pub(super) const fn has_bytes(&self) -> bool {
        self.start < self.end
    }

    /// Waits until there is something to read, or room to send where that is `wanted_room`; false after `limit`.
    pub(super) fn wait(&self, wanted_room: bool, limit: Option<Duration>) -> io::Result<bool> {
        let flags = if wanted_room { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        wait::ready(&self.stream, flags, limit)
    }

    /// Whether there is something to read, without waiting.
    pub(super) fn is_readable(&self) -> io::Result<bool> {
        Ok(self.has_bytes() || self.wait(false, Some(Duration::ZERO))?)
    }

    /// Bytes of the stream, whatever record they are of.
    fn raw(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !self.has_bytes() {
            if bytes.len() >= self.buffer.len() {
                return self.received(bytes, RecvFlags::WAITALL);
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = self.received(&mut buffer, RecvFlags::empty());
            self.buffer = buffer;
            self.end = received?;
            self.start = 0;
        }
        let count = bytes.len().min(self.end - self.start);
        bytes[..count].copy_from_slice(&self.buffer[self.start..][..count]);
        self.start += count;
        Ok(count)
    }

    fn received(&self, bytes: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        match in_slices(self.silence, || Ok(retry_on_intr(|| net::recv(&self.stream, &mut *bytes, flags))?))? {
            (0, _) => Err(io::ErrorKind::ConnectionReset.into()),
            (count, _) => Ok(count),
        }
    }

    fn next_fragment(&mut self) -> io::Result<()> {
        let (mut head, mut there) = ([0; 4], 0);
        while there < head.len() {
            there += self.raw(&mut head[there..])?;
        }
        let head = u32::from_be_bytes(head);
        self.fragment_left = (head & !LAST_FRAGMENT) as usize;
        self.last = head & LAST_FRAGMENT != 0;
        Ok(())
    }
}

impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.fragment_left == 0 {
            if self.last || bytes.is_empty() {
                return Ok(0);
            }
            self.next_fragment()?;
        }
        let wanted = bytes.len().min(self.fragment_left);
        let count = self.raw(&mut bytes[..wanted])?;
        self.fragment_left -= count;
        Ok(count)
    }
}

/// Connects from a port that only root may bind; `None` where this process may not, or none is free.
fn from_privileged_port(address: SocketAddr, limit: Duration) -> io::Result<Option<TcpStream>> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() as u16).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let ports = PRIVILEGED.len() as u16;
    for step in 0..ports {
        let port = PRIVILEGED.start + first.wrapping_add(step) % ports;
        match wait::connect(address, Some(port), limit) {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::ACCESS | Errno::PERM) => return Ok(None),
                Some(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => {}
                _ => return Err(error),
            },
        }
    }
    Ok(None)
}
