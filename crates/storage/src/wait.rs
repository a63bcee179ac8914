//! Waiting for another host: in slices, so that a run that is to end at once does not wait for one that is silent.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, SocketFlags, SocketType, sockopt};

/// No call waits for longer before it is looked whether the run is to end.
pub(crate) const SLICE: Duration = Duration::from_millis(200);
/// How long a server that is not heard of is waited for where the workload says nothing (`retry_for`).
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// From now on nothing of this process waits for a server any more, or (`false`) does again. What waits now fails
/// within a slice of a second, and so does what is asked from then on. librados waits on its own.
pub fn end_waits(now: bool) {
    AT_ONCE.store(now, Ordering::Relaxed);
}

/// Whether nothing is to wait for a server any more.
#[must_use]
pub fn waits_are_over() -> bool {
    AT_ONCE.load(Ordering::Relaxed)
}

/// An error where nothing is to wait any more. Without a number of the system, as those stand for what may pass.
pub(crate) fn go_on() -> io::Result<()> {
    if waits_are_over() {
        return Err(io::Error::new(ErrorKind::TimedOut, "the run was told twice to end, and waits for no server any more"));
    }
    Ok(())
}

/// The server was not heard of for as long as it is waited for. Without a number of the system: nobody waits as long
/// once more.
pub(crate) fn given_up(why: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, why)
}

/// Sleeps.
pub(crate) fn nap(pause: Duration) -> io::Result<()> {
    let until = Instant::now() + pause;
    loop {
        go_on()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE));
    }
}

/// A call on a socket that comes back with `WouldBlock` when nothing has moved for a [`SLICE`], or for `silence` where
/// that is less: again, until something has, or nothing for `silence` (`ETIMEDOUT`).
#[inline]
pub(crate) fn in_slices<T>(silence: Duration, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut since = None;
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let slice = SLICE.min(silence);
                let since = *since.get_or_insert_with(|| Instant::now().checked_sub(slice).unwrap_or_else(Instant::now));
                go_on()?;
                if since.elapsed() >= silence {
                    return Err(Errno::TIMEDOUT.into());
                }
            }
            other => return other,
        }
    }
}

/// Waits until one of `flags` holds for `socket`; false after `limit`, which may be none.
pub(crate) fn ready(socket: impl AsFd, flags: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let mut polled = [PollFd::new(&socket, flags)];
    let until = limit.filter(|limit| *limit > SLICE).map(|limit| Instant::now() + limit);
    loop {
        let left = match (limit, until) {
            (None, _) => SLICE,
            (Some(limit), None) => limit,
            (_, Some(until)) => until.saturating_duration_since(Instant::now()).min(SLICE),
        };
        let slice = Timespec::try_from(left).ok();
        if retry_on_intr(|| poll(&mut polled, slice.as_ref()))? > 0 {
            return Ok(true);
        }
        go_on()?;
        if limit.is_some() && (until.is_none() || left.is_zero()) {
            return Ok(false);
        }
    }
}

/// Connects within `limit`, from the port `own` where one is given.
pub(crate) fn connect(address: SocketAddr, own: Option<u16>, limit: Duration) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { net::AddressFamily::INET } else { net::AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(port) = own {
        let any = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        net::bind(&socket, &SocketAddr::new(any, port))?;
    }
    match net::connect(&socket, &address) {
        Err(Errno::INPROGRESS) => {
            if !ready(&socket, PollFlags::OUT, Some(limit))? {
                return Err(Errno::TIMEDOUT.into());
            }
            sockopt::socket_error(&socket)??;
        }
        other => other?,
    }
    rustix::io::ioctl_fionbio(socket.as_fd(), false)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_moves_now_and_then_is_waited_for_and_what_never_does_is_not() {
        let calls = Cell::new(0);
        let third = || {
            calls.set(calls.get() + 1);
            if calls.get() < 3 { Err(ErrorKind::WouldBlock.into()) } else { Ok(calls.get()) }
        };
        assert_eq!(in_slices(Duration::from_secs(60), third).unwrap(), 3);
        let broken = || Err::<(), _>(io::Error::from(ErrorKind::ConnectionReset));
        assert_eq!(in_slices(SILENCE, broken).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_socket_is_silent_for_as_long_as_it_may_be() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        for silence in [Duration::from_millis(50), Duration::from_millis(500)] {
            let mut stream = connect(listener.local_addr().unwrap(), None, SILENCE).unwrap();
            stream.set_read_timeout(Some(silence.min(SLICE))).unwrap();
            let began = Instant::now();
            let error = in_slices(silence, || stream.read(&mut [0])).unwrap_err();
            assert_eq!(Errno::from_io_error(&error), Some(Errno::TIMEDOUT));
            assert!(!ready(&stream, PollFlags::IN, Some(silence)).unwrap());
            assert!(began.elapsed() >= 2 * silence, "{:?}", began.elapsed());
        }
    }

    #[test]
    fn a_port_that_nobody_listens_on_refuses_at_once() {
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        assert_eq!(connect(address, None, SILENCE).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
