//! The hint: inotify on every directory of a tree.
//!
//! A watch is put on a directory by the scan, before it is listed: what comes later makes an event, what came earlier is in the
//! list. So a new directory needs nothing but a scan, and a full scan mends whatever was missed. Nothing here is the truth: a hint
//! may name what is not there, and a name that moves again while its event waits may be hinted at where it was.

mod map;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::path::TreePath;
use map::Map;

/// What is asked of the kernel: everything that makes, ends or changes a name, and the end of a write.
const ASKED: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);
/// Bytes read at once; an event has at most some 300.
const READ_BYTES: usize = 64 << 10;
/// Events of one call, about: more are left for the next.
const EVENTS: usize = 32 << 10;
/// How long a directory that was moved away may stay without a name before its watches are taken off: both halves of a rename
/// within the tree are in the queue within microseconds.
const ADRIFT: Duration = Duration::from_secs(1);

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// One name came, changed or went; nothing below it needs a look.
    Name(TreePath),
    /// The same of a file that somebody had open, or mapped, for writing until now: its bytes may be others, whatever its times say.
    Written(TreePath),
    /// A directory came or went: the name and all below it must be scanned.
    Directory(TreePath),
    /// Something was missed: everything must be scanned.
    Overflow,
}

/// Watches on one tree.
#[derive(Debug)]
pub struct Watch {
    inotify: Result<OwnedFd, Errno>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    map: Map,
    /// Why a directory has no watch, since the last time that the root got one.
    refused: Option<Errno>,
    /// Somebody may have ended writing without a hint, since this was last asked.
    missed: bool,
}

impl Watch {
    /// Begins with no directory covered. Where the host has no watches left it only waits, and [`Self::said`] says so.
    #[must_use]
    pub fn start() -> Self {
        Self { inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK), known: Mutex::default() }
    }

    /// `inotify`, or what is missing and that scans stand in.
    #[must_use]
    pub fn said(&self) -> String {
        let why = |error: Errno| match error {
            Errno::NOSPC => "no watches are left (fs.inotify.max_user_watches)".to_owned(),
            Errno::MFILE => "no instances are left (fs.inotify.max_user_instances)".to_owned(),
            other => other.to_string(),
        };
        match (&self.inotify, self.known().refused) {
            (Err(error), _) => format!("none: {}; scans stand in", why(*error)),
            (Ok(_), Some(error)) => format!("inotify, not on all directories: {}; scans stand in", why(error)),
            (Ok(_), None) => "inotify".to_owned(),
        }
    }

    /// Watches `directory`, which is open and lies at `at`. To be called before it is listed.
    pub fn cover(&self, at: &TreePath, directory: impl AsFd) {
        let Ok(inotify) = &self.inotify else { return };
        // Locked before the call: no event of the new watch can be read before its number is known.
        let mut known = self.known();
        if at.is_root() {
            known.refused = None;
        }
        match inotify::add_watch(inotify, format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()), ASKED) {
            Ok(watch) => known.map.place(watch, at, Instant::now()),
            // Removed since it was opened: there is nothing to watch.
            Err(Errno::NOENT) => {}
            Err(error) => {
                known.refused = Some(error);
                known.missed = true;
            }
        }
    }

    /// Whether somebody may have ended writing below a covered directory without a hint, since this was last asked.
    #[must_use]
    pub fn missed(&self) -> bool {
        let mut known = self.known();
        std::mem::take(&mut known.missed) || known.refused.is_some() || self.inotify.is_err()
    }

    /// Waits for hints, at most `timeout`; none if it passes. Each is given once.
    pub fn next(&self, timeout: Duration) -> Vec<Hint> {
        let Ok(inotify) = &self.inotify else {
            thread::sleep(timeout);
            return Vec::new();
        };
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // An interrupted wait is a short one.
        _ = poll(&mut [PollFd::new(inotify, PollFlags::IN)], Some(&timeout));
        let mut hints = Hints::default();
        let mut guard = self.known();
        let known = &mut *guard;
        let mut buffer = Box::new_uninit_slice(READ_BYTES);
        let mut events = Reader::new(inotify, &mut buffer);
        let mut count = 0;
        while count < EVENTS || !events.is_buffer_empty() {
            let Ok(event) = events.next() else { break };
            read(known, &event, &mut hints);
            count += 1;
        }
        if count < EVENTS {
            for watch in known.map.forget_adrift(ADRIFT, Instant::now()) {
                // It may be gone by itself.
                _ = inotify::remove_watch(inotify, watch);
            }
        }
        hints.given()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one event says.
fn read(known: &mut Known, event: &Event<'_>, hints: &mut Hints) {
    let what = event.events();
    let map = &mut known.map;
    if what.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
        hints.overflow = true;
        known.missed = true;
    }
    if what.contains(ReadFlags::IGNORED) {
        map.forget(event.wd(), Instant::now());
        return;
    }
    let at = map.path(event.wd());
    // Its directory was moved away: it may be anywhere in the tree, or in none.
    known.missed |= at.is_none() && what.contains(ReadFlags::CLOSE_WRITE);
    if what.contains(ReadFlags::DELETE_SELF) && at.as_ref().is_some_and(TreePath::is_root) {
        hints.overflow = true;
    }
    let Some(name) = event.file_name().map(std::ffi::CStr::to_bytes).filter(|name| !name.is_empty()) else { return };
    let directory = what.contains(ReadFlags::ISDIR);
    if directory && what.contains(ReadFlags::MOVED_FROM) {
        map.lift(event.wd(), name, event.cookie(), Instant::now());
    }
    if directory && what.contains(ReadFlags::MOVED_TO) {
        map.land(event.wd(), name, event.cookie(), Instant::now());
    }
    if let Some(path) = at.map(|at| at.join(name)) {
        hints.add(match what {
            _ if directory && !what.contains(ReadFlags::ATTRIB) => Hint::Directory(path),
            _ if what.contains(ReadFlags::CLOSE_WRITE) => Hint::Written(path),
            _ => Hint::Name(path),
        });
    }
}

/// Hints of one call, each once, in the order of their first events.
#[derive(Default)]
struct Hints {
    overflow: bool,
    /// Where each stands among the ordered ones.
    seen: HashMap<(TreePath, bool), usize>,
    ordered: Vec<Hint>,
}

impl Hints {
    fn add(&mut self, hint: Hint) {
        let (Hint::Name(path) | Hint::Written(path) | Hint::Directory(path)) = &hint else { return };
        match self.seen.entry((path.clone(), matches!(hint, Hint::Directory(_)))) {
            Entry::Vacant(place) => {
                place.insert(self.ordered.len());
                self.ordered.push(hint);
            }
            Entry::Occupied(place) if matches!(hint, Hint::Written(_)) => self.ordered[*place.get()] = hint,
            Entry::Occupied(_) => {}
        }
    }

    /// After an overflow everything is scanned; single names add nothing to that.
    fn given(self) -> Vec<Hint> {
        if self.overflow { vec![Hint::Overflow] } else { self.ordered }
    }
}

#[cfg(test)]
mod tests;
