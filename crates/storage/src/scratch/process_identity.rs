//! What tells this process from every other one, on this host and on others.

use std::fs::read_to_string;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, CWD};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Inode number of the PID namespace that a kernel starts with (`PROC_PID_INIT_INO` of Linux).
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Where and when a process runs. `None`: this system does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Here {
    pub(crate) host: String,
    /// Of the kernel since it started: no two starts have the same.
    pub(crate) boot: Option<String>,
    /// Of the installation. In a container that is the image's, so outside the kernel's first PID namespace it is not
    /// told.
    pub(crate) machine: Option<String>,
    /// Where its process number and its start time count: `device:inode` of the PID and of the time namespace.
    pub(crate) pid_namespace: Option<String>,
}

/// What a process is, which stays the same while it lives.
#[derive(Debug, Clone)]
struct Own {
    pid: u32,
    here: Here,
    start_ticks: u64,
}

/// Of this process, asked once: each file that it makes is marked with it, and asking takes longer than making a file.
fn own() -> Own {
    static ASKED: Mutex<Option<Own>> = Mutex::new(None);
    own_of(&ASKED)
}

/// What was asked before, unless this process was forked since.
fn own_of(asked: &Mutex<Option<Own>>) -> Own {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    let own = asked.take().filter(|own| own.pid == pid);
    asked.insert(own.unwrap_or_else(|| Own { pid, here: Here::asked(), start_ticks: start_ticks() })).clone()
}

impl Here {
    /// Of this process.
    pub(crate) fn now() -> Self {
        own().here
    }

    fn asked() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let boot = id("/proc/sys/kernel/random/boot_id");
        let first = fs::stat("/proc/self/ns/pid").is_ok_and(|stat| stat.st_ino == FIRST_PID_NAMESPACE);
        let machine = if first { id("/etc/machine-id") } else { None };
        Self { host, boot, machine, pid_namespace: namespace() }
    }
}

fn id(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let text = text.trim();
    let plain = (32..=36).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    plain.then(|| text.to_owned())
}

fn namespace() -> Option<String> {
    // A /proc of another namespace tells of other processes under the same numbers.
    let own = fs::readlinkat(CWD, "/proc/self", Vec::new()).ok()?;
    if own.to_str().ok()?.parse() != Ok(std::process::id()) {
        return None;
    }
    let place = |path| fs::stat(path).ok().map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
    // A kernel without time namespaces has one time.
    let time = place("/proc/self/ns/time").unwrap_or_default();
    place("/proc/self/ns/pid").map(|pid| format!("{pid} {time}"))
}

/// When this process started, in clock ticks since boot; 0 where that cannot be told.
pub(crate) fn own_start_ticks() -> u64 {
    own().start_ticks
}

fn start_ticks() -> u64 {
    read_to_string("/proc/self/stat").ok().and_then(|stat| running_since(&stat)).unwrap_or(0)
}

/// Whether the process `pid` that started at `start_ticks` still runs in this PID namespace; `None` where that cannot be
/// told.
pub(crate) fn runs(pid: u32, start_ticks: u64) -> Option<bool> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    // /proc may hide the processes of other users (hidepid); this call does not.
    if test_kill_process(number) == Err(Errno::SRCH) {
        return Some(false);
    }
    let stat = read_to_string(format!("/proc/{pid}/stat"));
    match stat {
        Ok(stat) => Some(running_since(&stat) == Some(start_ticks)),
        Err(_) if test_kill_process(number) == Err(Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

/// Field 22 of `/proc/<pid>/stat`; `None` for a process that only waits to be collected.
fn running_since(stat: &str) -> Option<u64> {
    // The command's name may hold blanks and brackets; the last bracket ends it.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_that_was_collected_does_not() {
        assert_eq!(runs(std::process::id(), own_start_ticks()), Some(true));
        assert_eq!(runs(std::process::id(), own_start_ticks() + 1), Some(false), "the number came again");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(runs(child.id(), 1), Some(false));
    }

    #[test]
    fn what_was_true_before_a_fork_is_asked_anew() {
        let parent = Own { pid: std::process::id() + 1, start_ticks: 1, ..own() };
        let asked = Mutex::new(Some(parent));
        for _ in 0..2 {
            let own = own_of(&asked);
            assert_eq!((own.pid, own.start_ticks), (std::process::id(), start_ticks()));
        }
    }

    #[test]
    fn a_number_that_names_no_process_is_not_asked_about() {
        for pid in [0, u32::MAX, 1 << 31] {
            assert_eq!(runs(pid, 0), None, "{pid}");
        }
    }
}
