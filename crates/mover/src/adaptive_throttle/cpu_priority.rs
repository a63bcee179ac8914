//! Workers step back: they run when nobody else wants the processor, and off the application's processors where it has some of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;
use rustix::thread::{self, CpuSet};

/// `IOPRIO_WHO_PROCESS` of `linux/ioprio.h`: one thread.
const IO_PRIORITY_OF_THREAD: libc::c_int = 1;
/// `IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT`: served when nobody else asks. Only some I/O schedulers know it; elsewhere the bound must do.
const IO_PRIORITY_IDLE: libc::c_int = 3 << 13;

/// The threads that have stepped back. Shared by them and the controller.
#[derive(Debug)]
pub struct CpuPriority {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    threads: Vec<Pid>,
    /// What this process may use, and what its stepped back threads use of it.
    allowed: CpuSet,
    used: CpuSet,
    /// Nobody is to come first any more.
    over: bool,
}

/// A thread that has stepped back; drop it on the same thread when that ends.
#[derive(Debug)]
#[must_use]
pub struct SteppedBack {
    cpu_priority: Arc<CpuPriority>,
    thread: Pid,
}

impl Default for CpuPriority {
    fn default() -> Self {
        let allowed = thread::sched_getaffinity(None).unwrap_or_default();
        Self { inner: Mutex::new(Inner { threads: Vec::new(), allowed, used: allowed, over: false }) }
    }
}

impl CpuPriority {
    /// Makes the calling thread one that runs when nobody else wants to. What the system refuses is left as it was: it is a courtesy.
    pub fn step_back(self: &Arc<Self>) -> SteppedBack {
        let thread = thread::gettid();
        run_last();
        let mut inner = self.lock();
        inner.threads.push(thread);
        if inner.used != inner.allowed {
            let _ = thread::sched_setaffinity(Some(thread), &inner.used);
        }
        drop(inner);
        SteppedBack { cpu_priority: Arc::clone(self), thread }
    }

    /// Keeps off the processors that `application`'s threads are bound to, unless that leaves none.
    pub fn keep_off(&self, application: impl Iterator<Item = u32>) {
        let bound: Vec<CpuSet> = application
            .filter_map(|thread| Pid::from_raw(i32::try_from(thread).ok()?))
            .filter_map(|thread| thread::sched_getaffinity(Some(thread)).ok())
            .collect();
        let mut inner = self.lock();
        let used = spare(&inner.allowed, &bound);
        if used != inner.used {
            inner.used = used;
            for &thread in &inner.threads {
                let _ = thread::sched_setaffinity(Some(thread), &used);
            }
        }
    }

    /// Nobody is to come first any more. Threads get their priority back where the system allows it; it does not without privileges, so
    /// that threads which never stepped back have to take over.
    pub fn come_forward(&self) {
        self.keep_off([].into_iter());
        let mut inner = self.lock();
        inner.over = true;
        for thread in &inner.threads {
            run_as_others(thread.as_raw_nonzero().get());
        }
    }

    /// Whether nobody is to come first any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SteppedBack {
    fn drop(&mut self) {
        self.cpu_priority.lock().threads.retain(|&thread| thread != self.thread);
    }
}

/// Processors of `allowed` that nobody is bound to; all of them where that leaves none.
fn spare(allowed: &CpuSet, bound: &[CpuSet]) -> CpuSet {
    let mut free = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu) && !bound.iter().any(|set| set.is_set(cpu))) {
        free.set(cpu);
    }
    if free.count() == 0 { *allowed } else { free }
}

fn run_last() {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread; the parameter outlives the call, which writes nothing.
    let idle = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) } == 0;
    if !idle {
        // SAFETY: takes and returns integers. Linux keeps the nice value by thread, 0 being the caller.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
    }
    // SAFETY: takes and returns integers.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IO_PRIORITY_OF_THREAD, 0, IO_PRIORITY_IDLE) };
}

fn run_as_others(thread: libc::pid_t) {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: a thread of this process, or none; the parameter outlives the call, which writes nothing.
    unsafe { libc::sched_setscheduler(thread, libc::SCHED_OTHER, &raw const parameter) };
    // SAFETY: takes and returns integers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.unsigned_abs(), 0) };
    // SAFETY: takes and returns integers.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IO_PRIORITY_OF_THREAD, thread, 0) };
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn set(cpus: &[usize]) -> CpuSet {
        let mut found = CpuSet::new();
        for &cpu in cpus {
            found.set(cpu);
        }
        found
    }

    #[test]
    fn what_the_application_is_bound_to_is_left_to_it() {
        assert_eq!(spare(&set(&[0, 1, 2, 3]), &[set(&[0]), set(&[2])]), set(&[1, 3]));
        assert_eq!(spare(&set(&[2, 3]), &[set(&[0, 3])]), set(&[2]));
    }

    #[test]
    fn where_it_may_run_everywhere_so_may_the_mover() {
        assert_eq!(spare(&set(&[0, 1]), &[set(&[0, 1])]), set(&[0, 1]));
        assert_eq!(spare(&set(&[0, 1]), &[]), set(&[0, 1]));
    }

    #[test]
    fn a_worker_that_stepped_back_runs_last_and_only_itself() {
        let cpu_priority = Arc::new(CpuPriority::default());
        let policy = || {
            // SAFETY: 0 is the calling thread.
            unsafe { libc::sched_getscheduler(0) }
        };
        let worker = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _kept = cpu_priority.step_back();
                policy()
            });
            worker.join().unwrap()
        });
        assert_eq!((worker, policy()), (libc::SCHED_IDLE, libc::SCHED_OTHER));
    }

    #[test]
    fn a_worker_gets_its_priority_back_where_the_system_allows_it() {
        let cpu_priority = Arc::new(CpuPriority::default());
        let _kept = cpu_priority.step_back();
        // SAFETY: 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        assert!(policy() == libc::SCHED_IDLE && !cpu_priority.is_over());
        cpu_priority.come_forward();
        assert!(cpu_priority.is_over());
        if rustix::process::geteuid().is_root() {
            assert_eq!(policy(), libc::SCHED_OTHER);
        }
    }

    #[test]
    fn workers_leave_a_processor_that_the_application_is_bound_to_and_come_back_when_it_is_gone() {
        let allowed = thread::sched_getaffinity(None).unwrap();
        let Some(first) = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)) else { return };
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            // Stands for the application: a thread bound to one processor.
            scope.spawn(move || {
                thread::sched_setaffinity(None, &set(&[first])).unwrap();
                tell.send(thread::gettid()).unwrap();
                let _ = ended.recv();
            });
            let application = u32::try_from(told.recv().unwrap().as_raw_nonzero().get()).unwrap();
            let worker = scope.spawn(move || {
                let cpu_priority = Arc::new(CpuPriority::default());
                let kept = cpu_priority.step_back();
                cpu_priority.keep_off([application].into_iter());
                assert_eq!(thread::sched_getaffinity(None).unwrap(), spare(&allowed, &[set(&[first])]));
                cpu_priority.keep_off([].into_iter());
                assert_eq!(thread::sched_getaffinity(None).unwrap(), allowed);
                drop(kept);
                assert!(cpu_priority.lock().threads.is_empty());
            });
            worker.join().unwrap();
            drop(end);
        });
    }
}
