//! `find`: the tasks search the tree below a directory together.
//!
//! What is to do lies on one pile: directories that nobody has listed, and parts of those that somebody began. A task takes
//! from it when its own part is done, and puts back what it does not need: a directory of a million files is listed by one
//! task, and the attributes of what it finds are asked for by all.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;
use tonnage_records::PhaseResult;
use tonnage_storage::{CacheState, Storage, StorageError};
use tonnage_workload::{Find, Finds, PhaseSpec, Search, TaskRange};

use crate::steering::Steering;
use crate::task::{PhaseWorkload, Shared, TaskContext, Worker};
use crate::task_counters::Step;

/// Bytes of names that one getdents64 may bring.
const LISTING_BYTES: usize = 32 << 10;
/// Names whose attributes are asked for, in one part for another task.
const SHARED_NAMES: usize = 64;
/// How long a task waits for others at most before it looks whether all are to stop.
const WAIT: Duration = Duration::from_millis(50);

/// What the tasks share.
pub struct FindWorkload(Arc<Hunt>);

struct Hunt {
    find: Find,
    tasks: TaskRange,
    search: Arc<Search>,
    pile: Mutex<Pile>,
    more: Condvar,
    /// Files that match, by the task here that found them.
    found: Box<[AtomicU64]>,
}

/// What is to do.
struct Pile {
    parts: Vec<DirectoryPart>,
    /// Tasks that have a part, and may put more here.
    busy: u32,
    /// Tasks that wait for one.
    waiting: u32,
}

/// A directory, or what is left of it.
struct DirectoryPart {
    /// For messages, and below it others.
    path: Arc<Path>,
    /// The directory that holds it, and its name there; `None` once it is open.
    below: Option<(Option<Arc<OwnedFd>>, CString)>,
    directory: Option<Arc<OwnedFd>>,
    /// More names may be listed.
    goes_on: bool,
    /// Files that were listed and are nothing more than names: they do not match, or nothing else is asked.
    plain: u64,
    /// Those that match so far, and whose attributes are asked for.
    names: Vec<CString>,
}

/// One task.
struct Finder {
    hunt: Arc<Hunt>,
    /// Its number among the tasks here.
    place: usize,
    part: Option<DirectoryPart>,
    listing: Box<[MaybeUninit<u8>]>,
}

impl FindWorkload {
    pub fn new(find: Find, tasks: TaskRange) -> Self {
        let path: Arc<Path> = Arc::from(Path::new(&find.root));
        let root = DirectoryPart {
            // A root that no system call takes is told when it is opened.
            below: Some((None, CString::new(find.root.as_bytes()).unwrap_or_default())),
            path,
            directory: None,
            goes_on: true,
            plain: 0,
            names: Vec::new(),
        };
        let pile = Mutex::new(Pile { parts: vec![root], busy: 0, waiting: 0 });
        let found = (0..tasks.here).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Hunt { find, tasks, search: Search::open(), pile, more: Condvar::new(), found }))
    }
}

impl PhaseWorkload for FindWorkload {
    fn before(&self, _storage: &dyn Storage, _spec: &PhaseSpec) -> Result<Option<CacheState>, StorageError> {
        let path = Path::new(&self.0.find.root);
        let source = match path.metadata() {
            Ok(facts) if facts.is_dir() => return Ok(None),
            Ok(_) => io::Error::from_raw_os_error(libc::ENOTDIR),
            Err(error) => error,
        };
        Err(StorageError::Path { action: "search", path: path.to_owned(), source })
    }

    fn worker(&self, _shared: &Shared, task: u32) -> Result<Box<dyn Worker>, StorageError> {
        let (listing, place) = (Box::new_uninit_slice(LISTING_BYTES), (task - self.0.tasks.first) as usize);
        Ok(Box::new(Finder { hunt: Arc::clone(&self.0), place, part: None, listing }))
    }

    fn after(&self, result: &mut PhaseResult) {
        for task in &mut result.tasks {
            task.found = Some(self.0.found[(task.task - self.0.tasks.first) as usize].load(Ordering::Relaxed));
        }
        result.found = Some(self.0.found.iter().map(|found| found.load(Ordering::Relaxed)).sum());
    }
}

impl Worker for Finder {
    /// A wait for work that other tasks have still to find is no operation's latency.
    fn transfer(&mut self, context: &mut TaskContext) {
        let shared = Arc::clone(&context.shared);
        let (hunt, clock) = (Arc::clone(&self.hunt), shared.clock);
        let terms = hunt.find.terms(&shared.spec, context.number);
        let mut steering = Steering::new(context, Finds(Arc::clone(&hunt.search)), &terms, None);
        let mut next = steering.wait_for_next(context, clock.ticks());
        while let Some((mut from, _)) = next {
            if !self.has_file() {
                match self.next_file(context) {
                    Some(waited) => from = if waited { clock.ticks() } else { from },
                    None => break,
                }
            }
            let looked = self.look(context);
            let now = clock.ticks();
            if looked {
                context.tally.record(&context.counters, clock.ns_between(from, now), 0);
            }
            next = steering.follow(context, now);
        }
        self.leave();
    }
}

impl Hunt {
    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Finder {
    /// Whether the next file to look at is in hand.
    fn has_file(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.plain > 0 || !part.names.is_empty())
    }

    /// Lists until there is a file to look at, taking parts from the pile; whether it waited for one. `None` where nothing is
    /// left, or all are to stop.
    fn next_file(&mut self, context: &mut TaskContext) -> Option<bool> {
        let mut waited = false;
        while !self.has_file() {
            if context.shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            if self.part.as_ref().is_some_and(|part| part.goes_on) {
                self.list(context);
                continue;
            }
            waited |= self.take(context)?;
        }
        Some(waited)
    }

    /// The next part of the pile, for the one that is done; whether that took a wait. `None` where nobody can add another.
    fn take(&mut self, context: &TaskContext) -> Option<bool> {
        let hunt = Arc::clone(&self.hunt);
        let mut pile = hunt.pile();
        if self.part.take().is_some() {
            pile.busy -= 1;
        }
        let mut waited = false;
        loop {
            if let Some(part) = pile.parts.pop() {
                pile.busy += 1;
                self.part = Some(part);
                return Some(waited);
            }
            if pile.busy == 0 || context.shared.stop.load(Ordering::Relaxed) {
                hunt.search.close();
                hunt.more.notify_all();
                return None;
            }
            waited = true;
            pile.waiting += 1;
            pile = context
                .counters
                .during(Step::Pausing, || hunt.more.wait_timeout(pile, WAIT).unwrap_or_else(PoisonError::into_inner).0);
            pile.waiting -= 1;
        }
    }

    /// What is left of the part in hand is for others.
    fn leave(&mut self) {
        let Some(part) = self.part.take() else { return };
        let mut pile = self.hunt.pile();
        pile.busy -= 1;
        if part.goes_on || part.plain > 0 || !part.names.is_empty() {
            pile.parts.push(part);
        }
        drop(pile);
        self.hunt.more.notify_all();
    }

    /// Looks at one file; whether that could be done.
    #[inline]
    fn look(&mut self, context: &mut TaskContext) -> bool {
        let Some(part) = &mut self.part else { return false };
        if part.plain > 0 {
            part.plain -= 1;
            return true;
        }
        let (Some(name), Some(directory)) = (part.names.pop(), &part.directory) else { return false };
        match fs::statat(directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if self.hunt.find.takes(stat.st_size as u64, changed_ns(&stat)) => {
                self.hunt.found[self.place].fetch_add(1, Ordering::Relaxed);
                true
            }
            Ok(_) => true,
            Err(errno) => {
                missed(context, errno, &part.path, &name);
                false
            }
        }
    }

    /// Lists one buffer of names of the part in hand; directories among them go to the pile. What cannot be listed is
    /// told, and the search goes on with what else there is.
    fn list(&mut self, context: &mut TaskContext) {
        let Self { hunt, place, part: Some(part), listing } = self else { return };
        part.goes_on = false;
        let directory = match part.held() {
            Ok(directory) => directory,
            Err(errno) => return missed(context, errno, &part.path, c"."),
        };
        let mut found = 0;
        let mut below = Vec::new();
        let mut entries = RawDir::new(&directory, listing);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    missed(context, errno, &part.path, c".");
                    break;
                }
            };
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                match kind_of(&directory, name, entry.file_type()) {
                    Ok(FileType::Directory) => below.push(part.below(&directory, name)),
                    Ok(_) if Find::is_of(name.to_bytes(), hunt.tasks) => {
                        let takes = hunt.find.takes_name(name.to_bytes());
                        if takes && hunt.find.needs_attributes() {
                            part.names.push(name.to_owned());
                        } else {
                            part.plain += 1;
                            found += u64::from(takes);
                        }
                    }
                    Ok(_) => {}
                    Err(errno) => missed(context, errno, &part.path, name),
                }
            }
            if entries.is_buffer_empty() {
                part.goes_on = true;
                break;
            }
        }
        hunt.found[*place].fetch_add(found, Ordering::Relaxed);
        hunt.share(part, &directory, below);
    }
}

impl Hunt {
    /// Puts directories on the pile, and where tasks wait also most of the names in hand.
    fn share(&self, part: &mut DirectoryPart, directory: &Arc<OwnedFd>, below: Vec<DirectoryPart>) {
        if below.is_empty() && part.names.len() <= SHARED_NAMES {
            return;
        }
        let mut pile = self.pile();
        pile.parts.extend(below);
        while pile.waiting > 0 && part.names.len() > SHARED_NAMES {
            let names = part.names.split_off(part.names.len() - SHARED_NAMES);
            let (path, directory) = (Arc::clone(&part.path), Some(Arc::clone(directory)));
            pile.parts.push(DirectoryPart { path, below: None, directory, goes_on: false, plain: 0, names });
        }
        let waiting = pile.waiting > 0;
        drop(pile);
        if waiting {
            self.more.notify_all();
        }
    }
}

impl DirectoryPart {
    /// The directory, held open from the first time on; its name is followed nowhere else.
    fn held(&mut self) -> rustix::io::Result<Arc<OwnedFd>> {
        if let Some(directory) = &self.directory {
            return Ok(Arc::clone(directory));
        }
        let (above, name) = self.below.take().unwrap_or_default();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = match &above {
            // The root is what the user named, and may be a link to it.
            None => fs::openat(fs::CWD, name.as_c_str(), flags, Mode::empty()),
            Some(above) => fs::openat(above, name.as_c_str(), flags | OFlags::NOFOLLOW, Mode::empty()),
        };
        let directory = Arc::new(opened?);
        self.directory = Some(Arc::clone(&directory));
        Ok(directory)
    }

    /// A directory in it.
    fn below(&self, directory: &Arc<OwnedFd>, name: &CStr) -> Self {
        Self {
            path: Arc::from(self.path.join(name.to_string_lossy().as_ref())),
            below: Some((Some(Arc::clone(directory)), name.to_owned())),
            directory: None,
            goes_on: true,
            plain: 0,
            names: Vec::new(),
        }
    }
}

/// What a name is, also where the listing does not tell.
fn kind_of(directory: &OwnedFd, name: &CStr, listed: FileType) -> rustix::io::Result<FileType> {
    match listed {
        FileType::Unknown => Ok(FileType::from_raw_mode(fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)),
        known => Ok(known),
    }
}

fn changed_ns(stat: &Stat) -> u64 {
    u64::try_from(stat.st_ctime).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(stat.st_ctime_nsec)
}

/// Counts what could not be looked at. All others are still looked at: a search says how much it missed.
#[cold]
fn missed(context: &mut TaskContext, errno: Errno, path: &Path, name: &CStr) {
    let path = if name == c"." { path.to_owned() } else { path.join(name.to_string_lossy().as_ref()) };
    let text = format!("{} cannot be looked at: {}", path.display(), io::Error::from(errno));
    context.miss(0, 0, errno.raw_os_error(), text);
}
