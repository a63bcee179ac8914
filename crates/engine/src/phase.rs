//! A phase from the start line to its result.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tonnage_records::{PhaseFiles, PhaseResult, bucket_bounds};
use tonnage_storage::{Storage, StorageError};
use tonnage_workload::PhaseSpec;

use crate::barrier::Barrier;
use crate::clock::Clock;
use crate::kinds::workload_of;
use crate::memory_hog;
use crate::phase_outcome::{EngineError, Finished};
use crate::remote_barrier::RemoteBarrier;
use crate::start_line::{LONGEST_WAIT, StartLine};
use crate::supervisor::{Recent, Supervisor};
use crate::task::{Outcome, Shared, Task, TaskHandle};
use crate::task_counters::{Step, TaskCounters, quantile_of, total_heat};

/// Stack of a task's thread: the loop needs a few kB; 256 tasks must stay small.
const STACK_BYTES: usize = 256 << 10;

/// What a running phase looks like now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    /// Since the start line opened.
    pub elapsed_ns: u64,
    /// All tasks, so far.
    pub bytes: u64,
    /// All tasks, so far.
    pub operations: u64,
    /// Over the last second.
    pub bandwidth_bytes_per_s: u64,
    /// Over the last second, to a quarter of an octave.
    pub recent_p99_ns: u64,
    /// So far, to a quarter of an octave.
    pub p50_ns: u64,
    /// So far, to a quarter of an octave.
    pub p99_ns: u64,
    /// So far, `[low_ns, high_ns, operations]` of each quarter of an octave that has any, in their order.
    pub heat: Vec<[u64; 3]>,
    /// Tasks that have not ended.
    pub running_tasks: u32,
    /// An operation failed: those of other processes are to end as well.
    pub failed: bool,
}

impl Live {
    fn with_quantiles<'a>(mut self, all_counters: impl Iterator<Item = &'a Arc<TaskCounters>>) -> Self {
        let heat = total_heat(all_counters.map(|counters| counters.read().heat));
        self.p50_ns = quantile_of(&heat, 0.5);
        self.p99_ns = quantile_of(&heat, 0.99);
        let cell = |(bucket, count): (usize, u64)| (count > 0).then(|| [bucket_bounds(bucket).0, bucket_bounds(bucket).1, count]);
        self.heat = heat.into_iter().enumerate().filter_map(cell).collect();
        self
    }
}

/// A phase whose tasks are at the start line, run, or have ended.
pub struct Phase {
    shared: Arc<Shared>,
    all_counters: Arc<[Arc<TaskCounters>]>,
    line: Arc<StartLine>,
    recent: Arc<Mutex<Recent>>,
    finished: Arc<Finished>,
    waiting: Option<Supervisor>,
    supervising: Option<JoinHandle<()>>,
    started: Option<Instant>,
}

impl Phase {
    /// Checks `spec`, applies the cache policy, and prepares all tasks of this process; returns when all are ready.
    /// With `files`, the series and histograms are kept there.
    pub fn prepare(storage: Arc<dyn Storage>, spec: PhaseSpec, files: Option<PhaseFiles>) -> Result<Self, EngineError> {
        let asked = Arc::clone(&storage);
        Self::ready(storage, spec, files).map_err(|error| match error {
            EngineError::Storage(error) => error.explained(|error| asked.explain(error)).into(),
            other => other,
        })
    }

    fn ready(storage: Arc<dyn Storage>, spec: PhaseSpec, files: Option<PhaseFiles>) -> Result<Self, EngineError> {
        spec.check()?;
        let finished = Arc::new(Finished::default());
        let remote_barrier = RemoteBarrier::of(&spec, &finished);
        let workload = workload_of(&spec, remote_barrier.as_ref());
        let hog = memory_hog::hold(spec.hog_bytes)?;
        let cache_state = workload.before(storage.as_ref(), &spec)?;
        let shared = Arc::new(Shared {
            storage,
            workload,
            clock: Clock::new(),
            stop: Arc::new(AtomicBool::new(false)),
            interrupted: AtomicBool::new(false),
            running: AtomicU32::new(spec.tasks.here),
            supervisor: OnceLock::new(),
            meeting: (spec.work.meets() || spec.work.meetings() > 0)
                .then(|| Barrier::new(spec.tasks.here, remote_barrier.clone())),
            remote_barrier,
            spec,
        });
        let line = Arc::new(StartLine::new(shared.spec.tasks.here, LONGEST_WAIT));
        let (all_counters, handles) = spawn_tasks(&shared, &line)?;
        if !line.gather() {
            line.open(false);
            return Err(first_failure(handles));
        }
        let recent = Arc::new(Mutex::new(Recent::default()));
        let waiting = Supervisor {
            shared: Arc::clone(&shared),
            all_counters: Arc::clone(&all_counters),
            handles,
            files,
            cache_state,
            hog,
            recent: Arc::clone(&recent),
            finished: Arc::clone(&finished),
        };
        Ok(Self { shared, all_counters, line, recent, finished, waiting: Some(waiting), supervising: None, started: None })
    }

    /// Opens the start line. Does nothing if it is open.
    ///
    /// # Panics
    /// If the system has no thread for the supervisor.
    pub fn go(&mut self) {
        let Some(supervisor) = self.waiting.take() else { return };
        let line = Arc::clone(&self.line);
        self.started = Some(Instant::now());
        let spawned = Builder::new().name("tonnage-supervisor".into()).spawn(move || supervisor.run(|| line.open(true)));
        self.supervising = Some(spawned.expect("one more thread than the tasks have"));
    }

    /// Waits until the phase has ended, at most `timeout`; true if it has. Comes back early where there is a
    /// [meeting](Self::meeting) that nobody has asked for yet.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        let remote_barrier = self.shared.remote_barrier.as_deref();
        remote_barrier.inspect(|remote_barrier| remote_barrier.hear());
        let done = || self.finished.done.load(Ordering::Acquire);
        let result = self.finished.result.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing_new = |_: &mut _| !done() && !remote_barrier.is_some_and(RemoteBarrier::has_news);
        drop(self.finished.changed.wait_timeout_while(result, timeout, nothing_new));
        done()
    }

    /// All tasks here have come to a point where they agree with those of other processes, and wait: what this process
    /// says there. `None` where they do not. Tasks that wait give up where nobody asks the phase anything for 600 s.
    #[must_use]
    pub fn meeting(&self) -> Option<u64> {
        let ended = self.shared.stop.load(Ordering::Relaxed) || self.finished.done.load(Ordering::Acquire);
        self.shared.remote_barrier.as_ref().and_then(|remote_barrier| remote_barrier.meeting()).filter(|_| !ended)
    }

    /// Lets the tasks here go on: the largest that any process said.
    pub fn meet(&self, agreed: u64) {
        if let Some(remote_barrier) = &self.shared.remote_barrier {
            remote_barrier.meet(agreed);
        }
    }

    /// When the start line opened, on the run's clock; 0 before that.
    #[must_use]
    pub fn line_ns(&self) -> u64 {
        self.finished.line_ns.load(Ordering::Acquire)
    }

    /// Asks the tasks to end after the operation in hand.
    pub fn stop(&self) {
        self.shared.interrupted.store(true, Ordering::Relaxed);
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// How far it is.
    #[must_use]
    pub fn live(&self) -> Live {
        self.shared.remote_barrier.as_ref().inspect(|remote_barrier| remote_barrier.hear());
        let mut live = Live {
            elapsed_ns: self.started.map_or(0, |start| start.elapsed().as_nanos() as u64),
            running_tasks: self.shared.running.load(Ordering::Relaxed),
            failed: self.shared.stop.load(Ordering::Relaxed) && !self.shared.interrupted.load(Ordering::Relaxed),
            ..Live::default()
        };
        for counters in self.working() {
            live.bytes += counters.bytes();
            live.operations += counters.operations();
        }
        let recent = *self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        Live { bandwidth_bytes_per_s: recent.bandwidth_bytes_per_s, recent_p99_ns: recent.p99_ns, ..live }
            .with_quantiles(self.working())
    }

    /// Boards of the tasks whose operations are the trial's.
    fn working(&self) -> impl Iterator<Item = &Arc<TaskCounters>> {
        self.all_counters.iter().zip(self.shared.works()).filter_map(|(counters, works)| works.then_some(counters))
    }

    /// The result, once, after [`Phase::wait`] was true; `None` before that and after the first time.
    #[must_use]
    pub fn take_result(&self) -> Option<Result<PhaseResult, EngineError>> {
        self.finished.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Phase {
    /// A phase that is dropped before its end stops its tasks and waits for them: no thread outlives it.
    fn drop(&mut self) {
        self.stop();
        if let Some(supervisor) = self.waiting.take() {
            self.line.open(false);
            supervisor.send_home();
        } else {
            // It holds the storage a moment longer than the result is there, and whoever dropped the phase may unmount.
            let _ = self.supervising.take().map(JoinHandle::join);
        }
    }
}

type Boards = Arc<[Arc<TaskCounters>]>;

fn spawn_tasks(shared: &Arc<Shared>, line: &Arc<StartLine>) -> Result<(Boards, Vec<TaskHandle>), EngineError> {
    let range = shared.spec.tasks;
    let all_counters: Boards = (0..range.here).map(|_| Arc::new(TaskCounters::new())).collect();
    let mut handles = Vec::with_capacity(range.here as usize);
    for (number, counters) in (range.first..).zip(all_counters.iter()) {
        let (shared, line_of_task, counters) = (Arc::clone(shared), Arc::clone(line), Arc::clone(counters));
        let spawned = Builder::new()
            .name(format!("task-{number}"))
            .stack_size(STACK_BYTES)
            .spawn(move || live_as_task(&shared, &line_of_task, &counters, number));
        match spawned {
            Ok(handle) => handles.push(handle),
            Err(source) => {
                line.open(false);
                for handle in handles {
                    let _ = handle.join();
                }
                return Err(EngineError::Thread { task: number, source });
            }
        }
    }
    Ok((all_counters, handles))
}

fn live_as_task(
    shared: &Arc<Shared>,
    line: &StartLine,
    counters: &Arc<TaskCounters>,
    number: u32,
) -> Result<Option<Outcome>, StorageError> {
    let task = Task::prepare(Arc::clone(shared), Arc::clone(counters), number);
    let go = line.arrive(task.is_ok());
    let task = task?;
    if !go {
        return Ok(None);
    }
    // Counted down also when the task panics, or the supervisor would wait for ever.
    let _running = Running { shared, counters };
    Ok(Some(task.run()))
}

struct Running<'a> {
    shared: &'a Shared,
    counters: &'a TaskCounters,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.counters.set_step(Step::Ended);
        if std::thread::panicking() {
            // Others may wait for this one, and there is no result any more.
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        if self.shared.running.fetch_sub(1, Ordering::Release) == 1
            && let Some(supervisor) = self.shared.supervisor.get()
        {
            supervisor.unpark();
        }
    }
}

fn first_failure(handles: Vec<TaskHandle>) -> EngineError {
    let mut failure = EngineError::Panic;
    for handle in handles {
        if let Ok(Err(error)) = handle.join() {
            failure = error.into();
        }
    }
    failure
}
