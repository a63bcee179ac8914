//! What can be seen of the application's processes from outside: `/proc`, read again and again through handles that stay open.
//!
//! Only what the application itself meets is looked at. The system's pressure figures hold the mover's own waiting too, and a controller
//! that reads those gives way to itself.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::str::SplitAsciiWhitespace;

use crate::controllers::throttle::Seen;

/// Between two looks for new processes and threads, in nanoseconds.
const REFRESH_NS: u64 = 100_000_000;
/// The same where every process of the user is watched.
const OTHERS_REFRESH_NS: u64 = 500_000_000;
/// Threads that are watched; beyond that a sample stands for the rest.
const THREADS: usize = 512;

/// Position of the policy behind the name in `/proc/<pid>/stat`, from 0; proc(5) calls it field 41 of which the state is the third.
const POLICY_FIELD: usize = 38;

/// The processes of an application. Who has stepped back as this mover's workers do is another mover and never counts: two of them
/// would wait for each other.
#[derive(Debug)]
pub struct Application {
    whom: Whom,
    processes: HashMap<u32, Process>,
    refreshed_ns: Option<u64>,
    looked_ns: u64,
}

#[derive(Debug)]
enum Whom {
    /// The first process, until it is gone and its number may become somebody else's, and its descendants, orphans too.
    Tree(Option<u32>),
    /// Every other process of this user.
    Others,
}

#[derive(Debug)]
struct Process {
    /// `None` where this user may not read it.
    io: Option<File>,
    moved: Moved,
    threads: HashMap<u32, Thread>,
}

#[derive(Debug)]
struct Thread {
    stat: File,
    /// `None` in a kernel without it.
    schedstat: Option<File>,
    run_ns: u64,
    delay_ns: u64,
    stepped_back: bool,
}

/// Counters of `/proc/<pid>/io`.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    by_calls: u64,
    by_storage: u64,
}

impl Application {
    /// The process `first` and its descendants; it need not have started anything yet. Without it every other process of this user: on
    /// a node of a cluster those are the application, whoever started them.
    #[must_use]
    pub fn new(first: Option<u32>) -> Self {
        let whom = first.map_or(Whom::Others, |first| Whom::Tree(Some(first)));
        Self { whom, processes: HashMap::new(), refreshed_ns: None, looked_ns: 0 }
    }

    /// What happened since the last look; `None` when nobody is left of a tree.
    pub fn look(&mut self, now_ns: u64) -> Option<Seen> {
        let refresh_ns = if matches!(self.whom, Whom::Others) { OTHERS_REFRESH_NS } else { REFRESH_NS };
        if self.refreshed_ns.is_none_or(|at_ns| now_ns >= at_ns + refresh_ns) {
            self.refresh();
            self.refreshed_ns = Some(now_ns);
        }
        let mut seen = Seen { elapsed_ns: now_ns.saturating_sub(self.looked_ns), ..Seen::default() };
        self.looked_ns = now_ns;
        for process in self.processes.values_mut() {
            process.look(&mut seen);
        }
        (matches!(self.whom, Whom::Others) || !self.processes.is_empty()).then_some(seen)
    }

    /// Its threads, for their affinity.
    pub fn threads(&self) -> impl Iterator<Item = u32> {
        self.processes.values().flat_map(|process| process.threads.keys().copied())
    }

    fn refresh(&mut self) {
        let mut known = std::mem::take(&mut self.processes);
        let mut to_see: Vec<u32> = match &mut self.whom {
            Whom::Tree(first) => {
                *first = first.filter(|&first| threads_of(first).is_some());
                known.keys().copied().chain(*first).collect()
            }
            Whom::Others => others(),
        };
        let mut room = THREADS;
        while let Some(pid) = to_see.pop() {
            let Some(threads) = threads_of(pid) else { continue };
            if self.processes.contains_key(&pid) {
                continue;
            }
            if matches!(self.whom, Whom::Tree(_)) {
                to_see.extend(threads.iter().flat_map(|&thread| children_of(pid, thread)));
            }
            let mut process = known.remove(&pid).unwrap_or_else(|| Process::open(pid));
            room -= process.refresh(pid, &threads, room);
            self.processes.insert(pid, process);
        }
    }
}

impl Process {
    fn open(pid: u32) -> Self {
        let io = File::open(format!("/proc/{pid}/io")).ok();
        let moved = io.as_ref().and_then(Moved::read).unwrap_or_default();
        Self { io, moved, threads: HashMap::new() }
    }

    /// Threads watched from now on, at most `room`.
    fn refresh(&mut self, pid: u32, threads: &[u32], room: usize) -> usize {
        self.threads.retain(|thread, _| threads.contains(thread));
        for &thread in threads {
            if self.threads.len() < room && !self.threads.contains_key(&thread) {
                self.threads.extend(Thread::open(pid, thread).map(|found| (thread, found)));
            }
        }
        self.threads.len().min(room)
    }

    fn look(&mut self, seen: &mut Seen) {
        if self.threads.values().any(|thread| thread.stepped_back) {
            return;
        }
        if let Some(moved) = self.io.as_ref().and_then(Moved::read) {
            seen.io_bytes += moved.since(self.moved);
            self.moved = moved;
        }
        for thread in self.threads.values_mut() {
            thread.look(seen);
        }
    }
}

impl Thread {
    fn open(pid: u32, thread: u32) -> Option<Self> {
        let stat = File::open(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
        let schedstat = File::open(format!("/proc/{pid}/task/{thread}/schedstat")).ok();
        let mut found = Self { stat, schedstat, run_ns: 0, delay_ns: 0, stepped_back: false };
        // What was before it was watched does not count.
        found.look(&mut Seen::default());
        Some(found)
    }

    fn look(&mut self, seen: &mut Seen) {
        let mut buffer = [0; 1024];
        // The name before it stands in brackets and may hold anything, brackets too.
        let stat = read(&self.stat, &mut buffer);
        let at = stat.iter().rposition(|&byte| byte == b')').map_or(stat.len(), |at| at + 1);
        let mut fields = std::str::from_utf8(&stat[at..]).unwrap_or("").split_ascii_whitespace();
        seen.waiting += u32::from(fields.next() == Some("D"));
        self.stepped_back = fields.nth(POLICY_FIELD - 1).and_then(|policy| policy.parse().ok()) == Some(libc::SCHED_IDLE);
        let schedstat = self.schedstat.as_ref().map_or(&[][..], |file| read(file, &mut buffer));
        let mut numbers = std::str::from_utf8(schedstat).unwrap_or("").split_ascii_whitespace();
        if let (Some(run_ns), Some(delay_ns)) = (number(&mut numbers), number(&mut numbers)) {
            seen.run_ns += run_ns.saturating_sub(self.run_ns);
            seen.delay_ns += delay_ns.saturating_sub(self.delay_ns);
            (self.run_ns, self.delay_ns) = (run_ns, delay_ns);
        }
    }
}

impl Moved {
    fn read(file: &File) -> Option<Self> {
        let mut buffer = [0; 1024];
        let mut found = Self::default();
        let text = std::str::from_utf8(read(file, &mut buffer)).ok().filter(|text| !text.is_empty())?;
        for line in text.lines() {
            let (name, value) = line.split_once(": ")?;
            let value: u64 = value.parse().ok()?;
            match name {
                "rchar" | "wchar" => found.by_calls += value,
                "read_bytes" | "write_bytes" => found.by_storage += value,
                _ => {}
            }
        }
        Some(found)
    }

    fn since(self, before: Self) -> u64 {
        self.by_calls.saturating_sub(before.by_calls).max(self.by_storage.saturating_sub(before.by_storage))
    }
}

fn number(words: &mut SplitAsciiWhitespace) -> Option<u64> {
    words.next()?.parse().ok()
}

/// Empty when the process is gone.
fn read<'a>(file: &File, buffer: &'a mut [u8]) -> &'a [u8] {
    let length = file.read_at(buffer, 0).unwrap_or(0);
    &buffer[..length]
}

/// `None` when the process is gone.
fn threads_of(pid: u32) -> Option<Vec<u32>> {
    let listed = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let threads: Vec<u32> = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    (!threads.is_empty()).then_some(threads)
}

/// Other processes of this user. What has no command line is the kernel's, or dead.
fn others() -> Vec<u32> {
    let (me, user) = (std::process::id(), rustix::process::geteuid().as_raw());
    let Ok(listed) = fs::read_dir("/proc") else { return Vec::new() };
    listed
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let fits =
                pid != me && entry.metadata().ok()?.uid() == user && !fs::read(entry.path().join("cmdline")).ok()?.is_empty();
            fits.then_some(pid)
        })
        .collect()
}

fn children_of(pid: u32, thread: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio, id};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process_group};
    use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    /// Copies from nowhere to nowhere until it is ended; `timeout` starts it, so that it is a descendant, and ends with it.
    struct Copier(Child);

    impl Copier {
        fn start() -> Self {
            let mut command = Command::new("timeout");
            command.args(["60", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]);
            Self(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        }

        /// With what it started: `timeout` leads a group of its own from before it starts anything.
        fn end(&mut self) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.kill();
            self.0.wait().unwrap();
        }
    }

    impl Drop for Copier {
        fn drop(&mut self) {
            if let Ok(None) = self.0.try_wait() {
                self.end();
            }
        }
    }

    /// Looks until `enough`; fails after a long time.
    fn look_until(application: &mut Application, enough: impl Fn(Option<Seen>) -> bool) {
        let began = Instant::now();
        while !enough(application.look(u64::try_from(began.elapsed().as_nanos()).unwrap())) {
            assert!(began.elapsed() < LONG, "never seen");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_descendant_moves_is_seen_until_it_is_gone() {
        let mut copier = Copier::start();
        let mut application = Application::new(Some(copier.0.id()));
        look_until(&mut application, |seen| seen.is_some_and(|seen| seen.io_bytes > 1 << 20));
        copier.end();
        look_until(&mut application, |seen| seen.is_none());
    }

    #[test]
    fn without_a_first_process_everybody_else_counts() {
        let mut copier = Copier::start();
        let mut application = Application::new(None);
        look_until(&mut application, |_| true);
        let child = || children_of(copier.0.id(), copier.0.id()).first().copied();
        look_until(&mut application, |seen| seen.is_some_and(|seen| seen.io_bytes > 1 << 20));
        look_until(&mut application, |_| child().is_some_and(|child| others().contains(&child)) && !others().contains(&id()));
        copier.end();
    }

    #[test]
    fn who_has_stepped_back_does_not_count() {
        let mut copier = Copier::start();
        let mut application = Application::new(Some(copier.0.id()));
        look_until(&mut application, |seen| seen.is_some_and(|seen| seen.io_bytes > 1 << 20));
        for pid in children_of(copier.0.id(), copier.0.id()) {
            let parameter = libc::sched_param { sched_priority: 0 };
            // SAFETY: a child of this test; the parameter outlives the call.
            let done = unsafe { libc::sched_setscheduler(i32::try_from(pid).unwrap(), libc::SCHED_IDLE, &raw const parameter) };
            assert_eq!(done, 0);
        }
        look_until(&mut application, |_| true);
        look_until(&mut application, |seen| seen.is_some_and(|seen| seen.io_bytes == 0 && seen.elapsed_ns > 1_000_000));
        copier.end();
    }

    #[test]
    fn threads_that_share_a_processor_are_seen_waiting_for_it() {
        let allowed = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap());
        let (done, began) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    sched_setaffinity(Some(gettid()), &one).unwrap();
                    while !done.load(Ordering::Relaxed) && began.elapsed() < 2 * LONG {
                        std::hint::spin_loop();
                    }
                });
            }
            look_until(&mut Application::new(Some(id())), |seen| {
                seen.is_some_and(|seen| seen.delay_ns > 2_000_000 && seen.run_ns > 0)
            });
            done.store(true, Ordering::Relaxed);
        });
    }
}
