//! The file that makes a directory ours: `TONNAGE-SCRATCH`, one JSON object padded with newlines.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno};
use serde::{Deserialize, Serialize};

use crate::directory::{failed, is_regular};
use crate::error::{Result, StorageError};

pub(crate) const MARKER_NAME: &str = "TONNAGE-SCRATCH";

/// A fixed size, so that taking over is one write in place: a crash leaves the old marker or the new one.
pub(crate) const MARKER_BYTES: usize = 1024;

/// Who made a scratch directory, or took it over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) run_id: String,
    pub(crate) pid: u32,
    /// When that process started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`): a pid comes again.
    pub(crate) pid_start_ticks: u64,
    pub(crate) host: String,
    /// Its run has ended and left it for a later one, on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) kept: bool,
}

impl Marker {
    /// A marker that names this process.
    pub(crate) fn of_this_process(run_id: &str) -> Self {
        let pid = std::process::id();
        let pid_start_ticks = start_ticks(pid).unwrap_or(0);
        Self { run_id: run_id.to_owned(), pid, pid_start_ticks, host: host_name(), kept: false }
    }

    /// Who marked the directory, and when: no other marker says the same.
    pub(crate) fn mark(&self) -> String {
        let Self { run_id, pid, pid_start_ticks, host, .. } = self;
        format!("run {run_id} of process {pid}/{pid_start_ticks} on {host}")
    }

    /// What the file holds.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("a marker is plain text and numbers");
        text.resize(MARKER_BYTES, b'\n');
        text
    }

    /// Writes the marker of a new directory; it must not be there yet.
    pub(crate) fn create(&self, directory: impl AsFd, path: &Path) -> Result<()> {
        self.write(directory, path, OFlags::CREATE | OFlags::EXCL)
    }

    /// Replaces the marker of a directory that is taken over.
    pub(crate) fn replace(&self, directory: impl AsFd, path: &Path) -> Result<()> {
        self.write(directory, path, OFlags::empty())
    }

    fn write(&self, directory: impl AsFd, path: &Path, extra: OFlags) -> Result<()> {
        let text = self.text();
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | extra;
        fs::openat(directory, MARKER_NAME, flags, Mode::RUSR | Mode::WUSR)
            .and_then(|file| match io::pwrite(&file, &text, 0)? {
                written if written == text.len() => Ok(()),
                _ => Err(Errno::NOSPC),
            })
            .map_err(|errno| failed("write", &path.join(MARKER_NAME), errno))
    }

    /// Reads the marker of the held `directory`; `path` is where it was found.
    pub(crate) fn read(directory: impl AsFd, path: &Path) -> Result<Self> {
        let not_ours = |why: String| StorageError::NotOurs { path: path.to_owned(), why };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: OwnedFd = fs::openat(directory, MARKER_NAME, flags, Mode::empty())
            .map_err(|errno| not_ours(format!("its marker {MARKER_NAME} cannot be opened: {errno}")))?;
        if !fs::fstat(&file).is_ok_and(|stat| is_regular(&stat)) {
            return Err(not_ours(format!("{MARKER_NAME} is not a regular file")));
        }
        let mut text = [0; MARKER_BYTES];
        let length = io::pread(&file, &mut text, 0).map_err(|errno| failed("read", &path.join(MARKER_NAME), errno))?;
        serde_json::from_slice(&text[..length]).map_err(|error| not_ours(format!("its marker is damaged: {error}")))
    }

    /// An error if another process works, or may work, in what it marks. `path` is where that is.
    pub(crate) fn require_free(&self, path: &Path) -> Result<()> {
        match self.worker().filter(|_| !self.kept) {
            Some(worker) => Err(StorageError::NotOurs { path: path.to_owned(), why: worker }),
            None => Ok(()),
        }
    }

    /// Which other process works, or may work, on what it marks; `None` if none does. A process of another host, of
    /// which nothing can be known here, may.
    pub(crate) fn worker(&self) -> Option<String> {
        match self.owner_alive() {
            Some(true) if self.pid != std::process::id() => {
                Some(format!("process {} of run {} still works on it", self.pid, self.run_id))
            }
            None => Some(format!("process {} of run {} on host {} may still work on it", self.pid, self.run_id, self.host)),
            _ => None,
        }
    }

    /// Whether the process that it names still runs; `None` if that is another host's.
    pub(crate) fn owner_alive(&self) -> Option<bool> {
        (self.host == host_name()).then(|| start_ticks(self.pid) == Some(self.pid_start_ticks))
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Field 22 of `/proc/<pid>/stat`; `None` for a process that is gone or only waits to be collected.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold blanks and brackets; the last bracket ends it.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}
