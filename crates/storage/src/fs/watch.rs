//! Waiting for a file to be written to (inotify).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{Errno, read};

/// Tells when a file was written to by anyone on this host. What another host writes, it does not see.
#[derive(Debug)]
pub struct Watch {
    events: OwnedFd,
}

impl Watch {
    /// Watches the file behind a handle, which may be closed then.
    pub(crate) fn new(file: impl AsFd) -> rustix::io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        // inotify takes no handle; the kernel's own name for it leads to the file wherever that was moved.
        let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        inotify::add_watch(&events, path, WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE)?;
        Ok(Self { events })
    }

    /// Waits until the file was written to since the last call that said so, at most `timeout`; true if it was.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        // All events say the same; what comes after this wakes the next wait.
        let mut room = [MaybeUninit::<u8>::uninit(); 4096];
        loop {
            match read(&self.events, &mut room) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::scratch::directory::Directory;
    use rustix::fs::OFlags;

    #[test]
    fn a_write_wakes_the_watch_once_and_silence_does_not() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(home.path(), "watch").unwrap();
        let directory = Directory::open(scratch.path()).unwrap();
        let file = directory.open_data(0, OFlags::RDWR | OFlags::CREATE).unwrap();
        let watch = Watch::new(directory.open_data(0, OFlags::PATH).unwrap()).unwrap();
        assert!(!watch.wait(Duration::from_millis(20)).unwrap());
        rustix::io::pwrite(&file, b"more", 0).unwrap();
        rustix::io::pwrite(&file, b"more", 4).unwrap();
        assert!(watch.wait(Duration::from_secs(10)).unwrap());
        assert!(!watch.wait(Duration::from_millis(20)).unwrap(), "both were told at once");
    }
}
