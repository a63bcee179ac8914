//! A read lease: the kernel's own word on whether anybody can write a file; held, on whether anybody has begun to.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::c_int;
use rustix::fs::fstatfs;
use rustix::io::{Errno, Result as SysResult, retry_on_intr};

/// File systems that refuse a lease as if there were a writer, for want of a delegation: NFS, SMB and its elder forms.
const SAYS_NOTHING: [u32; 4] = [0x6969, 0xfe53_4d42, 0xff53_4d42, 0x517b];

/// `fcntl` command that chooses the signal; `libc` has no name for it here.
const F_SETSIG: c_int = 10;

/// Word of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    /// Nobody can write it through what is open or mapped now.
    Free,
    /// Somebody can.
    Writer,
    /// There are no leases for this file.
    Unknown,
}

/// Asks for `file`, a regular file that is open for reading only.
///
/// Who opens it for writing in between waits until the lease is back: a few microseconds.
pub(super) fn of(file: impl AsFd) -> SysResult<Lease> {
    let file = file.as_fd();
    let word = ask(file)?;
    if word == Lease::Free {
        fcntl(file, libc::F_SETLEASE, libc::F_UNLCK)?;
    }
    Ok(word)
}

/// A lease that is kept until this is dropped, which closes the file. Who opens the file for writing meanwhile waits until then, at
/// most `fs.lease-break-time`.
#[derive(Debug)]
pub(super) struct HeldLease(OwnedFd);

impl HeldLease {
    /// Takes it for `file`, a regular file that is open for reading only; `None`, with the word of the kernel, where there is none.
    pub(super) fn take(file: OwnedFd) -> SysResult<(Lease, Option<Self>)> {
        let word = ask(file.as_fd())?;
        Ok((word, (word == Lease::Free).then_some(Self(file))))
    }

    /// Whether nobody has opened the file for writing since the lease was taken.
    pub(super) fn is_whole(&self) -> SysResult<bool> {
        Ok(fcntl(self.0.as_fd(), libc::F_GETLEASE, 0)? == libc::F_RDLCK)
    }
}

fn ask(file: BorrowedFd<'_>) -> SysResult<Lease> {
    match take(file) {
        Ok(()) => Ok(Lease::Free),
        Err(Errno::AGAIN) if !SAYS_NOTHING.contains(&(fstatfs(file)?.f_type as u32)) => Ok(Lease::Writer),
        Err(_) => Ok(Lease::Unknown),
    }
}

fn take(file: BorrowedFd<'_>) -> SysResult<()> {
    // The holder of a lease that is broken gets a signal. Unasked, that is SIGIO, which ends a process; SIGURG is ignored.
    fcntl(file, F_SETSIG, libc::SIGURG)?;
    fcntl(file, libc::F_SETLEASE, libc::F_RDLCK).map(|_| ())
}

fn fcntl(file: BorrowedFd<'_>, command: c_int, argument: c_int) -> SysResult<c_int> {
    retry_on_intr(|| {
        // SAFETY: these commands take a number, touch no memory of this process, and the descriptor is open while it is borrowed.
        let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        if answer >= 0 { Ok(answer) } else { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)) }
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn a_writer_who_comes_while_the_lease_is_held_does_not_end_this_process() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let (path, reader) = (named.path().to_owned(), File::open(named.path()).unwrap());
        let (writer, _kept) = named.into_parts();
        assert_eq!(of(&reader).unwrap(), Lease::Writer);
        drop(writer);
        let (word, held) = HeldLease::take(reader.try_clone().unwrap().into()).unwrap();
        let held = held.unwrap();
        assert!(word == Lease::Free && held.is_whole().unwrap());
        // Told not to wait, the writer is refused; the holder has its signal by then.
        let refused = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock);
        assert!(!held.is_whole().unwrap(), "the holder is told");
        fcntl(reader.as_fd(), libc::F_SETLEASE, libc::F_UNLCK).unwrap();
        assert_eq!(of(&reader).unwrap(), Lease::Free);
        drop(OpenOptions::new().write(true).open(&path).unwrap());
    }
}
