//! `command`: copies of any command line, so many at once as there are tasks.

mod child;
mod groups;
mod kernel_account;
mod program;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tonnage_records::{CopyResult, PhaseResult};
use tonnage_storage::{CacheState, Storage, StorageError};
use tonnage_workload::{Command, Copies, Deal, PhaseSpec, TaskRange};

use crate::clock::monotonic_ns;
use crate::steering::Steering;
use crate::task::{PhaseWorkload, Shared, TaskContext, Worker};
use crate::task_counters;
use groups::Groups;
use kernel_account::Account;

/// What the tasks share.
pub struct CommandWorkload(Arc<Runs>);

struct Runs {
    command: Command,
    deal: Arc<Deal>,
    groups: Groups,
    done: Mutex<Vec<CopyResult>>,
}

/// Signals by which a terminal or a scheduler stops all processes of a job.
const STOPS: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
/// How long after a copy this process may be told to stop, where one signal was for both.
const STOP_REACHES_US: Duration = Duration::from_secs(2);

/// One task: takes the next copy, runs it to its end, takes another.
struct Runner(Arc<Runs>);

impl CommandWorkload {
    pub fn new(command: Command, tasks: TaskRange) -> Self {
        let part = command.part(tasks);
        let done = Mutex::new(Vec::with_capacity((part.end - part.start) as usize));
        Self(Arc::new(Runs { command, deal: Deal::new(part), groups: Groups::default(), done }))
    }
}

impl PhaseWorkload for CommandWorkload {
    fn before(&self, _storage: &dyn Storage, _spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        let Command { directory, output, .. } = &self.0.command;
        for directory in std::iter::once(directory).chain(output) {
            let path = Path::new(directory);
            let why = match path.metadata() {
                Ok(facts) if facts.is_dir() => continue,
                Ok(_) => std::io::Error::from_raw_os_error(libc::ENOTDIR),
                Err(error) => error,
            };
            return Err(StorageError::Path { action: "run a command in", path: path.to_owned(), source: why });
        }
        Ok(None)
    }

    fn worker(&self, _shared: &Shared, _task: u32) -> Result<Box<dyn Worker>, StorageError> {
        Ok(Box::new(Runner(Arc::clone(&self.0))))
    }

    fn tick(&self, shared: &Shared) {
        // A copy that failed lets the others come to their end; only who asks for a stop wants them gone.
        if shared.interrupted.load(Ordering::Relaxed) {
            self.0.groups.end();
        }
    }

    fn after(&self, result: &mut PhaseResult) {
        let mut copies = std::mem::take(&mut *self.0.done());
        copies.sort_unstable_by_key(|copy| copy.copy);
        // What this process used is not what the commands did.
        result.cpu_user_ns = copies.iter().map(|copy| copy.cpu_user_ns).sum();
        result.cpu_system_ns = copies.iter().map(|copy| copy.cpu_system_ns).sum();
        result.copies = copies;
    }
}

impl Worker for Runner {
    fn transfer(&mut self, context: &mut TaskContext) {
        // A copy may take as long as it likes: that is no stall.
        context.counters.set_step(task_counters::Step::Pausing);
        let clock = context.shared.clock;
        let terms = self.0.command.terms(&context.shared.spec, context.number);
        let mut steering = Steering::new(context, Copies(Arc::clone(&self.0.deal)), &terms, None);
        let mut next = steering.wait_for_next(context, clock.ticks());
        while let Some((from, copy)) = next {
            self.0.run(copy, context, clock.ns_between(from, clock.ticks()));
            next = steering.follow(context, clock.ticks());
        }
    }
}

/// Whether a copy that failed was stopped with the phase. A signal that stops a job reaches its processes in any order:
/// where a copy ended by such a signal, or with the exit code that a shell makes of one, the phase may be stopped a moment later.
fn is_stopped(result: &CopyResult, interrupted: &AtomicBool) -> bool {
    let signal = result.signal.or_else(|| result.exit_code.map(|code| code - 128));
    let end = Instant::now() + STOP_REACHES_US;
    while !interrupted.load(Ordering::Relaxed) {
        if !signal.is_some_and(|signal| STOPS.contains(&signal)) || Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

impl Runs {
    fn done(&self) -> MutexGuard<'_, Vec<CopyResult>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a copy to its end; it began so much later than it was due.
    fn run(&self, copy: u32, context: &mut TaskContext, late_ns: u64) {
        let mut result = CopyResult { copy, task: context.number, start_ns: monotonic_ns(), ..CopyResult::default() };
        let errno = match child::start(&self.command, copy, context.number) {
            Ok(pid) => self.attend(pid, &mut result, &context.shared),
            Err(error) => {
                result.end_ns = monotonic_ns();
                result.error = Some(error.to_string());
                error.raw_os_error().unwrap_or(0)
            }
        };
        if result.exit_code == Some(0) {
            let bytes = result.read_call_bytes.unwrap_or(0) + result.write_call_bytes.unwrap_or(0);
            context.tally.record(&context.counters, late_ns + result.end_ns - result.start_ns, bytes);
        } else if !is_stopped(&result, &context.shared.interrupted) {
            context.fail(0, u64::from(copy), errno, self.complaint(&result));
        }
        self.done().push(result);
    }

    /// Waits for the end of a copy and takes down what the kernel accounted to it.
    fn attend(&self, pid: libc::pid_t, result: &mut CopyResult, shared: &Shared) -> i32 {
        self.groups.add(pid);
        let account = Account::open(pid);
        let waited = child::wait(pid);
        result.end_ns = monotonic_ns();
        // Until it is reaped its number is taken, so what is asked or signalled by that number is still meant for it.
        account.read(result);
        if shared.interrupted.load(Ordering::Relaxed) {
            groups::outlive(pid);
        }
        self.groups.remove(pid);
        let reaped = waited.and_then(|()| child::reap(pid, result));
        reaped.map_or_else(
            |error| {
                result.error = Some(format!("its end could not be seen: {error}"));
                error.raw_os_error().unwrap_or(0)
            },
            |()| 0,
        )
    }

    /// What became of a copy that failed, in one sentence.
    fn complaint(&self, result: &CopyResult) -> String {
        let copy = result.copy;
        if let Some(error) = &result.error {
            return format!("copy {copy} of {} did not run: {error}", self.command.argv[0]);
        }
        let end = match (result.exit_code, result.signal) {
            (_, Some(signal)) => format!("was ended by signal {signal}{}", child::signal_name(signal)),
            (code, _) => format!("ended with exit code {}", code.unwrap_or(-1)),
        };
        match &self.command.output {
            None => format!("copy {copy} {end}; what it said was not kept (keep_output keeps it)"),
            Some(output) => match kernel_account::last_line(&child::error_file(output, copy)) {
                Some(line) => format!("copy {copy} {end}: {line}"),
                None => format!("copy {copy} {end} and said nothing"),
            },
        }
    }
}
