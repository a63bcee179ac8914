//! What the kernel accounted to a copy, and what it said last.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tonnage_records::CopyResult;

/// How much of the end of what a copy said is looked at.
const TAIL_BYTES: u64 = 4096;
/// The longest line that becomes part of a message, in characters.
const LONGEST_LINE: usize = 200;

/// The kernel's account of a process, open from its start: once a process has ended its files below `/proc` belong to
/// root, so another user can read only what is open by then.
pub struct Account {
    pid: libc::pid_t,
    io: Option<File>,
}

impl Account {
    /// Of a process that runs, or that nobody has reaped.
    pub fn open(pid: libc::pid_t) -> Self {
        Self { pid, io: File::open(format!("/proc/{pid}/io")).ok() }
    }

    /// What the kernel knows of the process, which has ended and which nobody has reaped. A count is `None` where it was
    /// not accounted, or where the process ended before its account could be opened by a user who is not root.
    pub fn read(mut self, result: &mut CopyResult) {
        self.read_io(result);
        // Time on a processor, time waiting for one, and how often it was given one.
        let schedule = std::fs::read_to_string(format!("/proc/{}/schedstat", self.pid)).ok();
        result.run_delay_ns = schedule.and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
    }

    /// The calls and bytes of the process and of the children it waited for.
    fn read_io(&mut self, result: &mut CopyResult) {
        let mut text = String::new();
        if self.io.as_mut().and_then(|file| file.read_to_string(&mut text).ok()).is_none() {
            return;
        }
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok());
        result.read_calls = value("syscr");
        result.write_calls = value("syscw");
        result.read_call_bytes = value("rchar");
        result.write_call_bytes = value("wchar");
        result.device_read_bytes = value("read_bytes");
        result.device_write_bytes = value("write_bytes");
    }
}

/// The last line in a file that says anything, fit for a message.
pub fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut end = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut end).ok()?;
    let text = String::from_utf8_lossy(&end);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_LINE).collect())
}
