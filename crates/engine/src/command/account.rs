//! What the kernel accounted to a copy, and what it said last.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tonnage_records::CopyResult;

/// How much of the end of what a copy said is looked at.
const TAIL_BYTES: u64 = 4096;
/// The longest line that becomes part of a message, in characters.
const LONGEST_LINE: usize = 200;

/// What the kernel knows of a process that nobody has reaped.
pub fn read_account(pid: libc::pid_t, result: &mut CopyResult) {
    read_io(pid, result);
    // Time on a processor, time waiting for one, and how often it was given one.
    let schedule = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok();
    result.run_delay_ns = schedule.and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
}

/// The calls and bytes in `/proc/<pid>/io` of a process that nobody has reaped, those of the children it waited for included.
fn read_io(pid: libc::pid_t, result: &mut CopyResult) {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/io")) else { return };
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok());
    result.read_calls = value("syscr");
    result.write_calls = value("syscw");
    result.read_call_bytes = value("rchar");
    result.write_call_bytes = value("wchar");
    result.device_read_bytes = value("read_bytes");
    result.device_write_bytes = value("write_bytes");
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
