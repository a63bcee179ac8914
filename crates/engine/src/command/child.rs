//! One copy as a process of its own: started without a shell, waited for, reaped.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use tonnage_records::{CopyResult, create_file};
use tonnage_workload::Command;

use super::program::Program;

/// Stands for the copy's number in an argument.
const PLACE: &str = "{copy}";

/// Starts a copy as the leader of a process group of its own, so that all of it can be signalled and a terminal's Ctrl-C
/// is not meant for it; the number of its process, which [`reap`] frees.
pub fn start(command: &Command, copy: u32, task: u32) -> io::Result<libc::pid_t> {
    let number = copy.to_string();
    let arguments = command.argv.iter().map(|argument| argument.replace(PLACE, &number)).collect();
    let mut environment: BTreeMap<_, _> = std::env::vars_os().collect();
    environment.extend(command.environment.iter().map(|(name, value)| (name.into(), value.into())));
    environment.insert("TONNAGE_COPY".into(), number.clone().into());
    environment.insert("TONNAGE_TASK".into(), task.to_string().into());
    let (output, error) = match &command.output {
        Some(output) => {
            let fresh = |path: PathBuf| create_file(&path, true).map_err(io::Error::other);
            (fresh(Path::new(output).join(format!("{number}.out")))?, fresh(error_file(output, copy))?)
        }
        None => (nowhere()?, nowhere()?),
    };
    let streams = [above_standard(&nowhere()?)?, above_standard(&output)?, above_standard(&error)?];
    Program::new(arguments, environment, &command.directory, streams)?.start()
}

/// Reads nothing and takes everything.
fn nowhere() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

/// The same file with a number that is none of the standard streams': one of those may be closed in this process, and
/// the child puts its own there.
fn above_standard(file: &File) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(file, 3)?)
}

/// Where what a copy said goes to.
pub fn error_file(output: &str, copy: u32) -> PathBuf {
    Path::new(output).join(format!("{copy}.err"))
}

/// Waits until the copy has ended, and leaves it unreaped.
pub fn wait(pid: libc::pid_t) -> io::Result<()> {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the call writes at most one siginfo_t.
        let waited = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) };
        match io::Error::last_os_error() {
            _ if waited == 0 => return Ok(()),
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}

/// Frees an ended copy and takes down how it ended, and what CPU time and memory it and the children it waited for had.
pub fn reap(pid: libc::pid_t, result: &mut CopyResult) -> io::Result<()> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the call writes one integer and one rusage, which is plain integers, for which zero is a value.
    let usage = unsafe {
        if libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (result.cpu_user_ns, result.cpu_system_ns) = (ns(usage.ru_utime), ns(usage.ru_stime));
    // Before it became its program it was an image of this process, and the kernel counts that as well.
    result.max_resident_bytes = Some(usage.ru_maxrss).filter(|kib| *kib > own_resident_kib()).map(|kib| kib as u64 * 1024);
    result.exit_code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    result.signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    Ok(())
}

fn own_resident_kib() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: as in `reap`.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init().ru_maxrss
    }
}

/// ` (SIGKILL)` and the like, for messages; empty for one that has no name here.
pub const fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGQUIT => " (SIGQUIT)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGALRM => " (SIGALRM)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGXCPU => " (SIGXCPU)",
        libc::SIGXFSZ => " (SIGXFSZ)",
        _ => "",
    }
}
