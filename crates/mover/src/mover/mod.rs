//! The threads of a mover, and what they say of themselves.
//!
//! One planner looks: it scans, hears the watch, decides what may go and when all is done. Workers carry what the planner has put into
//! the queue. A third thread watches the application, where there is one. All end when the planner does, or when `halt` is set.

mod completion;
mod core;
mod directories;
mod markers;
mod offline;
mod planner;
mod queue;
mod rates;
mod recheck_safe;
mod shared_state;
mod status;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::core::Core;
use crate::adaptive_throttle;
use crate::controllers::worker_count::Tuner;
use crate::copy::{Carrier, Counters, Parts};
use crate::error::{MoverError, Result, words};
use crate::journal::{Journal, Opened, Owed};
use crate::log::Log;
use crate::manifest::{self, Manifest};
use crate::mapped_stores::Stores;
use crate::options::{Check, Clear, Gentle, Options};
use crate::preflight::{Established, Preflight};
use crate::quiescence::QuiescenceCheck;
use crate::rate_limiter::Limiter;
use crate::rules::Rules;
use crate::status::Status;
use crate::watch::Watch;
pub use offline::{Listed, list, status_of};
use shared_state::SharedState;

/// Most workers the mover ever finds for itself.
const MOST_WORKERS: u32 = 16;
/// More than all workers together keep open.
const MOST_OPEN_FILES: u64 = 65_536;

/// A mover of one tree to another. Dropping it halts it; its journal stays.
#[derive(Debug)]
pub struct Mover {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Holds the lock that keeps a second mover out.
    _ground: Preflight,
}

/// What is kept on disk.
struct Books {
    journal: Arc<Journal>,
    established: Arc<Established>,
    manifest: Arc<Manifest>,
    /// What the user must know.
    notes: Vec<String>,
}

impl Books {
    fn open(options: &Options, ground: &Preflight) -> Result<Self> {
        let (journal, opened) = Journal::open(&options.state, ground.identity())?;
        let established = ground.establish(options, &journal)?;
        let manifest_lost = journal.totals().safe().files > 0 && !manifest::is_begun(&ground.to, journal.id());
        let manifest = Manifest::open(&ground.to, journal.id())?;
        if manifest_lost {
            manifest.restore(&journal, options.check == Check::ReadBack)?;
        }
        if journal.owed()? == Owed::Manifest {
            // What an earlier journal of this mover had placed is still its own to replace.
            manifest.adopt(&ground.to, &journal)?;
            journal.owe(Owed::Sweep)?;
        }
        offline::remember(&journal, options)?;
        let mut notes = ground.notes().to_vec();
        if options.clear != Clear::Never && options.check != Check::ReadBack {
            notes.push("copies are not read back before their sources are deleted, as --check asked".to_owned());
        }
        if let Opened::Rebuilt { backup, why } = opened {
            let backup = backup.display();
            notes.push(format!("the journal could not be used ({why}); it lies at {backup} and a scan fills a new one"));
        }
        Ok(Self { journal: Arc::new(journal), established: Arc::new(established), manifest: Arc::new(manifest), notes })
    }
}

impl Mover {
    /// Looks whether it can work, takes the lock and opens the journal. What cannot work is refused before anything is touched.
    pub fn prepare(options: Options) -> Result<Self> {
        Self::prepare_with(options, || Ok(()))
    }

    /// The same; `before_journal` is called with the lock held where there is no journal yet. What it keeps in the state directory
    /// is there whenever a journal is.
    pub fn prepare_with(options: Options, before_journal: impl FnOnce() -> Result<()>) -> Result<Self> {
        let rules = Rules::new(&options)?;
        Log::look(options.log.as_deref(), &[&options.to, &options.state])?;
        let ground = Preflight::check(&options)?;
        if !Journal::exists(&options.state)? {
            before_journal()?;
        }
        let Books { journal, established, manifest, notes } = Books::open(&options, &ground)?;
        let (from, to) = (Arc::clone(&ground.from), Arc::clone(&ground.to));
        let log = Arc::new(Log::open(options.log.as_deref(), &options.to)?);
        let limiter = Arc::new(Limiter::new(options.limit_bytes_per_s, options.limit_files_per_s));
        let (counters, halt) = (Arc::new(Counters::default()), Arc::new(AtomicBool::new(false)));
        counters.workers.store(options.workers.unwrap_or_else(workers_at_first), Ordering::Relaxed);
        let options = Arc::new(options);
        let quiescence = Arc::new(QuiescenceCheck::new(options.settle_ns, Stores::of(from.root())));
        let parts = Parts {
            from: Arc::clone(&from),
            to: Arc::clone(&to),
            journal: Arc::clone(&journal),
            established: Arc::clone(&established),
            manifest,
            log: Arc::clone(&log),
            quiescence: Arc::clone(&quiescence),
            limiter: Arc::clone(&limiter),
            options: Arc::clone(&options),
            counters: Arc::clone(&counters),
            halt: Arc::clone(&halt),
        };
        let core = Core {
            carrier: Carrier::new(parts),
            watch: Watch::start(),
            cpu_priority: Arc::default(),
            state: Mutex::new(SharedState { notes, ..SharedState::default() }),
            wakeup: Condvar::new(),
            flying_bytes: AtomicU64::new(0),
            began: Instant::now(),
            most_open: raise_open_files(),
            options,
            from,
            to,
            established,
            journal,
            log,
            quiescence,
            rules,
            limiter,
            counters,
            halt,
        };
        core.journal.retry_failed()?;
        // The first scan says what cannot be read now.
        offline::keep_unreadable(&core.journal, &[])?;
        Ok(Self { core: Arc::new(core), threads: Mutex::default(), _ground: ground })
    }

    /// Starts the threads.
    pub fn start(&self) -> Result<()> {
        let workers = self.core.options.workers.unwrap_or(MOST_WORKERS);
        let tuner = self.core.options.workers.is_none().then(|| Tuner::new(workers, workers_at_first()));
        self.spawn("planner", move |core| planner::Planner::new(core, tuner).run())?;
        for number in 0..workers {
            self.spawn(&format!("worker {number}"), move |core| worker::run(core, number))?;
        }
        Ok(())
    }

    /// From now on the application whose first process is `pid` comes first, where that was asked for; `None`: everybody else of
    /// this user.
    pub fn give_way_to(&self, pid: Option<u32>) -> Result<()> {
        if self.core.options.gentle == Gentle::Off {
            return Ok(());
        }
        self.spawn("gentle", move |core| {
            adaptive_throttle::Gentle::new(pid, Arc::clone(&core.cpu_priority)).run(&core.limiter, &core.halt, || core.own());
            // Workers that stepped back leave their place to those that did not.
            drop(core.lock());
            core.wakeup.notify_all();
            Ok(())
        })
    }

    fn spawn(&self, name: &str, work: impl FnOnce(&Core) -> Result<()> + Send + 'static) -> Result<()> {
        let core = Arc::clone(&self.core);
        let body = move || {
            let mut guard = Guard { core: &core, ended_well: false };
            match work(&core) {
                Ok(()) => guard.ended_well = true,
                Err(error) => core.fail(error),
            }
        };
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
            .map_err(|error| MoverError::Thread(format!("{name}: {}", words(error))))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Everything at this moment.
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.status()
    }

    /// Nothing more is coming: ends when everything that a last scan finds is safe, or given up.
    pub fn drain(&self) {
        self.core.lock().begin_drain(self.core.now_ns());
        self.core.wakeup.notify_all();
    }

    /// Asks for a scan now. What was there at this call has been found once `scans` of the status is what this returns.
    #[must_use]
    pub fn rescan(&self) -> u64 {
        let mut state = self.core.lock();
        state.rescan = true;
        // One that is under way has passed some directories already.
        state.scans + 1 + u64::from(state.scanning)
    }

    /// Bounds from now on; 0 pauses.
    pub fn set_limit(&self, bytes_per_s: Option<u64>, files_per_s: Option<u64>) {
        self.core.limiter.set_asked(bytes_per_s, files_per_s);
    }

    /// Drains for at most `deadline_ns` and halts then: what is left stays in the journal for the next mover. An
    /// earlier deadline stands.
    pub fn stop(&self, deadline_ns: u64) {
        let mut state = self.core.lock();
        state.begin_drain(self.core.now_ns());
        let deadline_ns = self.core.now_ns().saturating_add(deadline_ns);
        state.deadline_ns = Some(state.deadline_ns.map_or(deadline_ns, |earlier| earlier.min(deadline_ns)));
        drop(state);
        self.core.wakeup.notify_all();
    }

    /// Waits until it has ended, at most `timeout`; whether it has. Fails with what ended it early.
    pub fn wait(&self, timeout: Duration) -> Result<bool> {
        let until = Instant::now() + timeout;
        let mut state = self.core.lock();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            state = self.core.wakeup.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        // Several threads may fail of one cause, one after the other: it is told once.
        self.join();
        let fatal = self.core.lock().fatal.take();
        fatal.map_or(Ok(true), Err)
    }

    fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic was told by the guard of the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.core.end();
        self.join();
    }
}

/// Tells of a thread that ended in a panic: the others would wait for it.
struct Guard<'a> {
    core: &'a Core,
    ended_well: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.ended_well {
            let name = thread::current().name().unwrap_or("?").to_owned();
            self.core.fail(MoverError::Thread(name));
        }
    }
}

/// Asks for as many open files as the system allows, and says how many of them entries in flight may have: half of it is left to
/// handles of directories, the journal, and whatever else this process does.
fn raise_open_files() -> usize {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.unwrap_or(MOST_OPEN_FILES).min(MOST_OPEN_FILES);
    let has = now.current.unwrap_or(MOST_OPEN_FILES);
    let raised = has < wanted && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum }).is_ok();
    let open = if raised { wanted } else { has };
    usize::try_from(open / 2).unwrap_or(usize::MAX).max(1)
}

/// Where the search for the number of workers begins: two for each processor that this process may use. While one waits for the
/// device, the other reads and hashes.
fn workers_at_first() -> u32 {
    let processors = thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(MOST_WORKERS));
    processors.saturating_mul(2).min(MOST_WORKERS)
}
