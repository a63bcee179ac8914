//! The start line: where tasks wait until it opens, and which they cross together.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// How long tasks that are awake wait for the others of their process: two ticks of the slowest usual timer and more, by
/// which the scheduler has given a waking task a processor that is free.
pub const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// The start line of a phase's tasks in this process.
pub struct StartLine {
    state: Mutex<LineState>,
    changed: Condvar,
    /// Tasks that are to be awake before the first one goes.
    tasks: u32,
    awake: AtomicU32,
    longest_wait: Duration,
}

#[derive(Default)]
struct LineState {
    ready: u32,
    failed: bool,
    open: Option<bool>,
}

impl StartLine {
    /// A closed line for `tasks`. Those that are awake wait for the others at most so long, and not at all where there
    /// are more tasks than processors.
    pub fn new(tasks: u32, longest_wait: Duration) -> Self {
        let fit = available_parallelism().is_ok_and(|processors| tasks as usize <= processors.get());
        let longest_wait = if fit { longest_wait } else { Duration::ZERO };
        Self { state: Mutex::default(), changed: Condvar::new(), tasks, awake: AtomicU32::new(0), longest_wait }
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task reports that it is ready (or failed to be) and, if ready, waits. True: go; false: go home.
    pub fn arrive(&self, ready: bool) -> bool {
        let mut state = self.lock();
        state.ready += u32::from(ready);
        state.failed |= !ready;
        self.changed.notify_all();
        while ready && state.open.is_none() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let go = ready && state.open == Some(true);
        drop(state);
        if go {
            self.cross();
        }
        go
    }

    /// Waits, awake, for the other tasks. A task that wakes on a processor that another one has just taken would start
    /// milliseconds late, which counts in a short phase.
    fn cross(&self) {
        self.awake.fetch_add(1, Ordering::Relaxed);
        let woke = Instant::now();
        while self.awake.load(Ordering::Relaxed) < self.tasks && woke.elapsed() < self.longest_wait {
            std::hint::spin_loop();
        }
    }

    /// Waits until all tasks are ready (true) or one failed (false).
    pub fn gather(&self) -> bool {
        let mut state = self.lock();
        while state.ready < self.tasks && !state.failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.failed
    }

    /// Opens it, or sends everybody home.
    pub fn open(&self, go: bool) {
        self.lock().open.get_or_insert(go);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_task_goes_before_all_are_awake() {
        let line = StartLine { longest_wait: Duration::MAX, ..StartLine::new(3, Duration::ZERO) };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    assert!(line.arrive(true));
                    assert_eq!(line.awake.load(Ordering::Relaxed), 3);
                });
            }
            assert!(line.gather());
            line.open(true);
        });
    }

    #[test]
    fn a_task_that_never_wakes_holds_nobody() {
        let line = StartLine { longest_wait: LONGEST_WAIT, ..StartLine::new(2, Duration::ZERO) };
        line.open(true);
        assert!(line.arrive(true));
    }

    #[test]
    fn tasks_that_do_not_fit_the_processors_do_not_wait_for_each_other() {
        let line = StartLine::new(u32::MAX, Duration::MAX);
        line.open(true);
        assert!(line.arrive(true));
    }

    #[test]
    fn a_task_that_failed_sends_the_others_home() {
        let line = StartLine::new(2, LONGEST_WAIT);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| line.arrive(true));
            assert!(!line.arrive(false));
            assert!(!line.gather());
            line.open(false);
            assert!(!other.join().expect("no panic"));
        });
    }
}
