//! A program of the user, run to its end or ended: with its process group, when its time is up or nobody waits for it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Of what a program says on its standard error, the first so many bytes are told.
const SAID_BYTES: usize = 400;
/// How often is looked whether it is to be ended, while its standard error is open.
const LOOK: Duration = Duration::from_millis(20);
/// Pauses between looks for its end once it has closed its standard error, which it does by ending as a rule: from the
/// first, twice as long each time, to the longest.
const FIRST_LOOK: Duration = Duration::from_micros(50);
const LONGEST_LOOK: Duration = Duration::from_millis(5);
/// From asking a group to end to ending it.
const TIME_TO_END: Duration = Duration::from_secs(2);

/// How a program ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The first words on its standard error, in one line.
    pub(super) said: String,
}

/// Runs `words` to its end, as the leader of a process group.
///
/// # Errors
/// It cannot be started; its time was up (`TimedOut`); `stop` was set (`Interrupted`). Its group has ended then.
pub(super) fn run(words: &[String], limit: Option<Duration>, stop: &AtomicBool) -> io::Result<Ended> {
    let mut program = Command::new(&words[0]);
    program.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = program.spawn()?;
    let (began, mut said, mut pause) = (Instant::now(), Vec::new(), FIRST_LOOK);
    let mut stderr = child.stderr.take();
    loop {
        if stderr.is_none() {
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_LOOK);
        } else {
            hear(&mut stderr, &mut said)?;
        }
        // Whoever holds its standard error open now is not waited for.
        if let Some(status) = child.try_wait()? {
            let said = String::from_utf8_lossy(&said).trim().replace(['\n', '\r'], " ");
            return Ok(Ended { status, said });
        }
        let why = match limit {
            _ if stop.load(Ordering::Relaxed) => io::Error::from(io::ErrorKind::Interrupted),
            Some(limit) if began.elapsed() >= limit => {
                io::Error::new(io::ErrorKind::TimedOut, format!("it had not ended after {limit:?} and was ended"))
            }
            _ => continue,
        };
        end(&mut child)?;
        return Err(why);
    }
}

/// Waits a little for the program to say something. At its end, `stderr` is taken.
fn hear(stderr: &mut Option<ChildStderr>, said: &mut Vec<u8>) -> io::Result<()> {
    let Some(open) = stderr else { return Ok(()) };
    let limit = Timespec::try_from(LOOK).ok();
    match poll(&mut [PollFd::from_borrowed_fd(open.as_fd(), PollFlags::IN)], limit.as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(()),
        ready => ready?,
    };
    let mut bytes = [0; 4096];
    let count = open.read(&mut bytes)?;
    if count == 0 {
        *stderr = None;
    }
    // The rest is read as well, or the program would wait for ever to say it.
    let room = SAID_BYTES.saturating_sub(said.len()).min(count);
    said.extend_from_slice(&bytes[..room]);
    Ok(())
}

/// Ends the group of a program that nobody has waited for, so that its number is no other's. One that the system does
/// not let end (a call on a storage that hangs) is left behind.
fn end(child: &mut Child) -> io::Result<()> {
    let leader = Pid::from_child(child);
    let signalled = |signal| match kill_process_group(leader, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(errno) => Err(io::Error::from(errno)),
    };
    signalled(Signal::TERM)?;
    let has_ended = || waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    within(TIME_TO_END, || Ok(has_ended()?.is_some()))?;
    signalled(Signal::KILL)?;
    within(TIME_TO_END, || Ok(child.try_wait()?.is_some()))
}

/// Looks again and again until it is so, or so much time has passed.
fn within(limit: Duration, mut is_so: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let began = Instant::now();
    while !is_so()? && began.elapsed() < limit {
        thread::sleep(LONGEST_LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn never() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn what_a_program_says_and_how_it_ends_is_told() {
        let done = run(&words(&["sh", "-c", "echo first >&2; echo second >&2; exit 3"]), None, &never()).unwrap();
        assert_eq!((done.status.code(), done.said.as_str()), (Some(3), "first second"));
        let much = run(&words(&["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x >&2"]), None, &never()).unwrap();
        assert!(much.status.success() && much.said.len() == SAID_BYTES);
        assert_eq!(run(&words(&["/no/such/program"]), None, &never()).err().unwrap().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_it_leaves_in_the_background_is_not_waited_for() {
        let began = Instant::now();
        let done = run(&words(&["sh", "-c", "sleep 20 & echo $! >&2"]), None, &never()).unwrap();
        assert!(done.status.success() && began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let left = Pid::from_raw(done.said.parse().unwrap()).unwrap();
        rustix::process::kill_process(left, Signal::KILL).expect("it still runs");
    }

    /// Whether a process runs that is no zombie.
    fn runs(pid: &str) -> bool {
        let path = format!("/proc/{pid}/stat");
        std::fs::read_to_string(path).is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }

    #[test]
    fn one_that_hangs_is_ended_with_all_that_it_started_though_it_ignores_the_asking() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("pids");
        let script = format!("trap '' TERM; sleep 1000 & echo $$ $! > {}; wait", file.display());
        let began = Instant::now();
        let error = run(&words(&["sh", "-c", &script]), Some(Duration::from_millis(500)), &never()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("500ms"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        let pids = std::fs::read_to_string(file).unwrap();
        within(Duration::from_secs(10), || Ok(!pids.split_whitespace().any(runs))).unwrap();
        assert!(!pids.split_whitespace().any(runs), "{pids}");
    }

    #[test]
    fn nobody_who_stops_waits_for_it() {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let hanging = scope.spawn(|| run(&words(&["sleep", "1000"]), None, &stop).err().map(|error| error.kind()));
            thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            assert_eq!(hanging.join().unwrap(), Some(io::ErrorKind::Interrupted));
        });
    }
}
