//! What the kinds with files share: opening, direct or not, settling, clearing.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{self, Advice, FallocateFlags, OFlags};
use rustix::io::Errno;
use tonnage_workload::{CachePolicy, Op};

use crate::api::{CacheState, Facts, NamesRequest, Note, OpenRequest, Space};
use crate::error::{Result, StorageError};
use crate::fs::accounting::is_file_counted;
use crate::fs::cache_state::cached_bytes;
use crate::fs::devices::Devices;
use crate::fs::direct::{self, Support};
use crate::fs::file_place::FilePlace;
use crate::fs::held_directories::{failed, is_regular};
use crate::fs::holes::hole_bytes;
use crate::fs::space::space_of;
use crate::fs::tree::TreeNames;
use crate::fs::user_files::Named;
use crate::fs::watch::Watch;
use crate::target::{DirectMode, TargetSpec};

/// The files of a target.
#[derive(Debug)]
pub(crate) struct Files {
    place: Arc<dyn FilePlace>,
    direct: DirectMode,
    sites: Vec<Site>,
    facts: Mutex<Facts>,
}

/// What is known of one directory of the target: file systems differ.
#[derive(Debug, Default)]
struct Site {
    support: OnceLock<Support>,
    passage: Mutex<Option<Passage>>,
}

/// How the latest lanes to a site go.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Passage {
    direct: bool,
    note: Option<Note>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Holds what `spec` names: scratch directories, which must be marked ones, or files of the user.
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let place: Arc<dyn FilePlace> = match (spec.directories.is_empty(), spec.names.is_empty()) {
            (false, true) => Arc::new(Devices::open(spec)?),
            (true, false) => Arc::new(Named::open(spec)?),
            (false, false) => {
                let text = "a target has directories or names, not both; give one of them".to_owned();
                return Err(StorageError::Unsupported(text));
            }
            (true, true) => {
                let text = format!("a storage of kind {:?} needs a scratch directory", spec.kind).to_lowercase();
                return Err(StorageError::Unsupported(text));
            }
        };
        Ok(Self::at(place, spec.direct))
    }

    fn at(place: Arc<dyn FilePlace>, direct: DirectMode) -> Self {
        let sites = (0..place.sites()).map(|_| Site::default()).collect();
        Self { place, direct, sites, facts: Mutex::default() }
    }

    /// Files that are opened as these are, somewhere else.
    pub(crate) fn elsewhere(&self, place: Arc<dyn FilePlace>) -> Self {
        Self::at(place, self.direct)
    }

    pub(crate) fn place(&self) -> &Arc<dyn FilePlace> {
        &self.place
    }

    /// Where a file is, for messages.
    pub(crate) fn path(&self, file: u32) -> PathBuf {
        self.place.path(file)
    }

    /// One task's way to the names of a tree, which lives where the file of its number would.
    pub(crate) fn tree_names(&self, request: &NamesRequest) -> Result<TreeNames> {
        let Some(scratch) = self.place.scratch(request.number) else {
            let text = "trees are made in a scratch directory only; give a directory instead of names of files";
            return Err(StorageError::Unsupported(text.to_owned()));
        };
        // Small files are mostly of odd sizes: only who asks for it goes past the cache.
        let direct = self.direct == DirectMode::Yes && request.transfer_bytes > 0;
        if direct && let Some((_, why)) = self.obstacle(request.number, request.transfer_bytes) {
            let text = format!("{why}; leave direct out, or choose another file size or file system");
            return Err(StorageError::Unsupported(text));
        }
        self.set_direct(request.number, direct, None);
        TreeNames::new(scratch, *request, direct)
    }

    /// Why transfers of `bytes` bytes to a file, or to those of a tree of that number, cannot go past the cache.
    fn obstacle(&self, file: u32, bytes: u64) -> Option<(&'static str, String)> {
        let site = self.place.site(file);
        direct::obstacle(self.sites[site].support.get_or_init(|| self.place.probe(site)), bytes)
    }

    /// Whether `request` will go past the page cache; an error if it must and cannot.
    pub(crate) fn decide_direct(&self, request: &OpenRequest) -> Result<bool> {
        if self.direct == DirectMode::No {
            self.set_direct(request.file, false, None);
            return Ok(false);
        }
        match (self.obstacle(request.file, request.transfer_size as u64), self.direct) {
            (None, _) => self.set_direct(request.file, true, None),
            (Some((_, why)), DirectMode::Yes) => {
                let text = format!("{why}; ask for direct = \"auto\" or \"no\", or choose another size or file system");
                return Err(StorageError::Unsupported(text));
            }
            (Some((code, why)), _) => {
                self.set_direct(request.file, false, Some((code, format!("{why}; the page cache was used instead"))));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records how the latest lane to the site of `file` goes.
    pub(crate) fn set_direct(&self, file: u32, direct: bool, note: Option<Note>) {
        *lock(&self.sites[self.place.site(file)].passage) = Some(Passage { direct, note });
    }

    /// Records a named fact; the latest lane's counts.
    pub(crate) fn set_flag(&self, name: &'static str, value: bool) {
        let mut facts = lock(&self.facts);
        facts.flags.retain(|(known, _)| *known != name);
        facts.flags.push((name, value));
    }

    /// Records the hints of MPI in effect.
    pub(crate) fn set_hints(&self, hints: Vec<(String, String)>) {
        lock(&self.facts).hints = hints;
    }

    /// Records a fallback once.
    pub(crate) fn note(&self, code: &'static str, text: impl FnOnce() -> String) {
        let mut facts = lock(&self.facts);
        if facts.notes.iter().all(|(known, _)| *known != code) {
            facts.notes.push((code, text()));
        }
    }

    /// Notes that a depth above one was asked of a kind that has none.
    pub(crate) fn note_depth(&self, request: &OpenRequest, kind: &str) {
        if request.queue_depth > 1 {
            self.note("depth-one", || {
                let depth = request.queue_depth;
                format!(
                    "{kind} does one operation at a time, so queue_depth {depth} had no effect; uring keeps several in flight"
                )
            });
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        let mut facts = lock(&self.facts).clone();
        let passages: Vec<_> =
            self.sites.iter().enumerate().filter_map(|(site, state)| Some((site, lock(&state.passage).clone()?))).collect();
        facts.direct = !passages.is_empty() && passages.iter().all(|(_, passage)| passage.direct);
        for (_, passage) in &passages {
            let Some((code, text)) = &passage.note else { continue };
            let here = passages.iter().filter(|(_, other)| other.note == passage.note);
            let sites: Vec<_> = here.map(|(site, _)| self.place.site_path(*site).display().to_string()).collect();
            let all = sites.len() == passages.len();
            let text = if all { text.clone() } else { format!("{text} in {}", sites.join(", ")) };
            if !facts.notes.contains(&(code, text.clone())) {
                facts.notes.push((code, text));
            }
        }
        facts.notes.extend(self.place.notes());
        facts
    }

    /// Opens (for a write creates) the file of `request`, and checks that a read finds what it needs.
    pub(crate) fn open(&self, request: &OpenRequest, extra: OFlags) -> Result<OwnedFd> {
        let flags = match request.op {
            Op::Read => OFlags::RDONLY,
            Op::Write => OFlags::RDWR | OFlags::CREATE,
        };
        let refused = |error: &StorageError| error.io().and_then(std::io::Error::raw_os_error) == Some(libc::EINVAL);
        let handle = match self.place.open(request.file, flags | extra) {
            Err(error) if refused(&error) && extra.contains(OFlags::DIRECT) && self.direct == DirectMode::Auto => {
                let why = "this file cannot be opened with O_DIRECT; the page cache was used instead".to_owned();
                self.set_direct(request.file, false, Some((direct::NO_DIRECT, why)));
                self.place.open(request.file, flags)?
            }
            other => other?,
        };
        match request.op {
            Op::Read => self.check_length(request, &handle)?,
            Op::Write if request.preallocate => self.preallocate(request, &handle)?,
            Op::Write => {}
        }
        Ok(handle)
    }

    /// Reserves the space that the file will have; a file system that cannot is noted, a full one is an error.
    fn preallocate(&self, request: &OpenRequest, handle: &OwnedFd) -> Result<()> {
        let reserved = match fs::fallocate(handle, FallocateFlags::empty(), 0, request.file_bytes.max(1)) {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => false,
            Err(errno) => return Err(failed("reserve space for", &self.path(request.file), errno)),
        };
        self.set_flag("preallocated", reserved);
        if !reserved {
            self.note("no-preallocation", || "this file system cannot reserve space; files grew as they were written".to_owned());
        }
        Ok(())
    }

    fn check_length(&self, request: &OpenRequest, handle: &OwnedFd) -> Result<()> {
        let path = || self.path(request.file);
        let stat = fs::fstat(handle).map_err(|errno| failed("measure", &path(), errno))?;
        if !is_regular(&stat) {
            return Err(failed("read as a data file", &path(), Errno::INVAL));
        }
        let (needed, actual) = (request.file_bytes, stat.st_size as u64);
        if actual < needed { Err(StorageError::TooShort { file: request.file, needed, actual }) } else { Ok(()) }
    }

    /// What was true of an earlier phase's lanes is no longer: this one may work on fewer devices.
    fn forget_passages(&self) {
        for site in &self.sites {
            *lock(&site.passage) = None;
        }
    }

    pub(crate) fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.forget_passages();
        self.place.prepare_write(files)
    }

    /// Applies the cache policy, then counts what is cached and what is not there at all.
    pub(crate) fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState> {
        self.forget_passages();
        let counted = !files.is_empty() || (0..self.place.sites()).all(|site| self.place.is_counted(site));
        let mut sum = CacheState { cached_bytes: Some(0), examined_bytes: Some(0), hole_bytes: Some(0), counted };
        let add = |sum: Option<u64>, bytes: Option<u64>| sum.zip(bytes).map(|(sum, bytes)| sum + bytes);
        for &file in files {
            let name = |action, errno| failed(action, &self.path(file), errno);
            let handle = self.place.open(file, OFlags::RDONLY)?;
            let length = fs::fstat(&handle).map_err(|errno| name("measure", errno))?.st_size as u64;
            sum.hole_bytes = add(sum.hole_bytes, hole_bytes(&handle, length));
            if cache == CachePolicy::Drop {
                // Dirty pages cannot be dropped.
                fs::fdatasync(&handle).map_err(|errno| name("flush", errno))?;
                fs::fadvise(&handle, 0, None, Advice::DontNeed).map_err(|errno| name("drop the cache of", errno))?;
            }
            // After dirty pages have found their place: before, nobody knows whether they will be compressed.
            sum.counted = sum.counted && is_file_counted(&handle);
            sum.examined_bytes = add(sum.examined_bytes, Some(length));
            sum.cached_bytes = add(sum.cached_bytes, cached_bytes(&handle, length));
        }
        Ok(sum)
    }

    /// What the file systems of all sites have room for; nothing is told of one that does not say its size (ramfs, some FUSE).
    pub(crate) fn space(&self) -> Vec<Space> {
        let of = |site| space_of(self.place.handle(site)?, self.place.site_path(site), self.place.taken_bytes(site));
        (0..self.place.sites()).filter_map(of).collect()
    }

    pub(crate) fn length(&self, file: u32) -> Result<u64> {
        self.place.length(file)
    }

    /// Watches a file that is there.
    pub(crate) fn watch(&self, file: u32) -> Option<Watch> {
        Watch::new(self.place.open(file, OFlags::PATH).ok()?).ok()
    }

    pub(crate) fn clear(&self) -> Result<()> {
        self.place.clear()
    }

    pub(crate) fn finish(&self) -> Result<Vec<Note>> {
        self.place.finish()
    }

    pub(crate) fn keep_named(&self, keep: bool) {
        self.place.keep_named(keep);
    }
}
