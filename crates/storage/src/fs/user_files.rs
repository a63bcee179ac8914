//! Files of the user, by name: the one place outside scratch directories where anything is written or removed.
//!
//! A file is **ours** if this process created it with `O_EXCL`, or if it carries the mark of a run (`ownership_mark.rs`).
//! - Reading needs nothing but a regular file of that name.
//! - Writing a name that leads nowhere creates the file, relative to the held parent directory, and marks it.
//! - Writing a file of this run uses it as it is. One of an earlier run is removed and made anew (`existing = ours`),
//!   overwritten in place (`overwrite`), or an error (`refuse`).
//! - Writing another's file overwrites its contents in place, without cutting it (`overwrite`), or is an error. All
//!   names are looked at before the first is touched.
//! - Removed are only files that are ours: those of this run and, unless `existing = refuse`, of an earlier one. What
//!   is checked is an open file, and the name must still lead to it at the unlink. Another's stays, with a note.
//! - A symbolic link, a directory, a device or a FIFO in the place of a file is always an error.
//!
//! A process that is killed leaves its files with marks that say no size or time: a later run refuses them, for somebody
//! may have written to them since. Where the file system keeps no
//! attributes only the process itself knows what is its own, and a note says so.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::api::Note;
use crate::error::{Result, StorageError, linked};
use crate::fs::accounting::is_counted;
use crate::fs::create_directory::CreateDirectory;
use crate::fs::direct::{self, Support};
use crate::fs::file_place::FilePlace;
use crate::fs::held_directories::failed;
use crate::fs::ownership_mark::{ATTRIBUTE, Identity, Look, Marks, Owner};
use crate::target::{Existing, Process, TargetSpec};

/// So long a process waits for what another one of its run is about to do to a file that it makes.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Pauses between looks for it: from the first, twice as long each time, to the longest. It takes a few calls as a rule.
const FIRST_LOOK: Duration = Duration::from_micros(20);
const LONGEST_LOOK: Duration = Duration::from_millis(1);

/// As IOR makes its files; the umask takes away.
const MODE: Mode = Mode::from_raw_mode(0o664);

/// A wait for another process of this run.
struct Wait {
    began: Instant,
    next: Duration,
}

impl Wait {
    fn begin() -> Self {
        Self { began: Instant::now(), next: FIRST_LOOK }
    }

    fn may_go_on(&self) -> bool {
        self.began.elapsed() < LONGEST_WAIT
    }

    fn pause(&mut self) {
        sleep(self.next);
        self.next = (self.next * 2).min(LONGEST_LOOK);
    }
}

/// The named files of a target.
#[derive(Debug)]
pub(crate) struct Named {
    files: Vec<NamedFile>,
    parents: Vec<Parent>,
    marks: Marks,
    existing: Existing,
    keep: AtomicBool,
    process: Process,
    notes: Mutex<Vec<Note>>,
}

/// One name.
#[derive(Debug)]
struct NamedFile {
    number: u32,
    path: PathBuf,
    leaf: OsString,
    parent: usize,
    /// The file that this storage writes under it. Held while it is opened: the first task of several creates it.
    writes: Mutex<Option<Identity>>,
    /// There was none when the phase was prepared: what is there since, a process of this run made.
    absent: AtomicBool,
}

/// A directory that holds named files.
#[derive(Debug)]
struct Parent {
    path: PathBuf,
    handle: OwnedFd,
    /// Where its new files are made, if not in it.
    create_directory: Option<CreateDirectory>,
    /// Of its files that the latest write phase works on as they are.
    taken_bytes: AtomicU64,
}

/// A regular file that a name leads to.
struct Found {
    handle: OwnedFd,
    identity: Identity,
    links: u32,
    allocated_bytes: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Named {
    /// Holds the parent directories of the `names` of `spec`. No file is touched.
    pub(crate) fn open(spec: &TargetSpec) -> Result<Self> {
        let mut parents: Vec<Parent> = Vec::new();
        let mut files = Vec::with_capacity(spec.names.len());
        for (number, path) in (0..).zip(&spec.names) {
            let (Some(above), Some(leaf), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
                return Err(refused(path, "does not name a file; give an absolute path that ends in a file's name"));
            };
            let known = parents.iter().position(|parent| parent.path == above);
            let parent = known.map_or_else(|| open_parent(above, &mut parents), Ok)?;
            files.push(NamedFile {
                number,
                path: path.clone(),
                leaf: leaf.to_owned(),
                parent,
                writes: Mutex::default(),
                absent: AtomicBool::default(),
            });
        }
        give_nurseries(&mut parents, spec)?;
        let marks = Marks { run_id: spec.run_id.clone(), attribute: ATTRIBUTE };
        let (existing, keep, process) = (spec.existing, AtomicBool::new(spec.keep), spec.process);
        Ok(Self { files, parents, marks, existing, keep, process, notes: Mutex::default() })
    }

    fn file(&self, file: u32) -> Result<&NamedFile> {
        self.files.get(file as usize).ok_or_else(|| {
            let count = self.files.len();
            StorageError::Unsupported(format!("the target names {count} files and a task needs another; name one for each task"))
        })
    }

    fn parent(&self, file: &NamedFile) -> &OwnedFd {
        &self.parents[file.parent].handle
    }

    /// What the name leads to now; an error if that is no regular file. FIFOs and devices are not opened: that alone
    /// would do something.
    fn look(&self, file: &NamedFile) -> Result<Option<Look>> {
        match Look::at_name(self.parent(file), &file.leaf) {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("look at", &file.path, errno)),
            Ok(look) if look.kind == FileType::RegularFile => Ok(Some(look)),
            Ok(look) => Err(not_regular(&file.path, look.kind)),
        }
    }

    /// Opens the regular file of that name; `None` if there is none.
    fn find(&self, file: &NamedFile, flags: OFlags) -> Result<Option<Found>> {
        if self.look(file)?.is_none() {
            return Ok(None);
        }
        let plain = flags - OFlags::CREATE;
        // Not to wait for ever should a FIFO take its place just now.
        let handle = match fs::openat(
            self.parent(file),
            &file.leaf,
            plain | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(|errno| failed("open", &file.path, errno))?,
        };
        let look = Look::at(&handle).map_err(|errno| failed("measure", &file.path, errno))?;
        if look.kind != FileType::RegularFile {
            return Err(not_regular(&file.path, look.kind));
        }
        if !plain.contains(OFlags::PATH) {
            fs::fcntl_setfl(&handle, plain & OFlags::DIRECT).map_err(|errno| failed("open", &file.path, errno))?;
        }
        Ok(Some(Found { handle, identity: look.identity, links: look.links, allocated_bytes: look.allocated_bytes }))
    }

    fn owner(&self, file: &NamedFile, found: &Found) -> Result<Owner> {
        self.marks.owner(&found.handle).map_err(|errno| failed("measure", &file.path, errno))
    }

    /// Whether a write may use the existing file as it is; an error if it may not have it at all.
    fn may_use(&self, file: &NamedFile, owner: &Owner) -> Result<bool> {
        match (owner, self.existing) {
            (Owner::ThisRun, _) | (_, Existing::Overwrite) => Ok(true),
            (Owner::EarlierRun, Existing::Ours) => Ok(false),
            (Owner::EarlierRun, Existing::Refuse) => {
                let why = "exists, from an earlier run; remove it yourself, or let it be replaced (existing = \"ours\")";
                Err(refused(&file.path, why))
            }
            (Owner::Another(why), _) => {
                let hint = "remove it yourself, or give -E to overwrite its contents (existing = \"overwrite\")";
                Err(refused(&file.path, &format!("exists and {why}; {hint}")))
            }
        }
    }

    /// Removes the file of that name if it still is the one that was `checked`.
    fn take_away(&self, file: &NamedFile, checked: Identity) -> Result<()> {
        match self.look(file)? {
            None => return Ok(()),
            Some(now) if now.identity == checked => {}
            Some(_) => return Err(refused(&file.path, "was exchanged for another file just now; nothing was removed")),
        }
        match fs::unlinkat(self.parent(file), &file.leaf, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Marks::forget(checked),
            Err(errno) => return Err(failed("remove", &file.path, errno)),
        }
        *lock(&file.writes) = None;
        Ok(())
    }

    fn open_to_write(&self, file: &NamedFile, flags: OFlags) -> Result<OwnedFd> {
        let mut writes = lock(&file.writes);
        let mut others = Wait::begin();
        loop {
            if let Some(found) = self.find(file, flags)? {
                // Who asks for a file's contents to be overwritten has named it.
                if found.links > 1 && self.existing != Existing::Overwrite {
                    return Err(linked(&file.path));
                }
                if *writes != Some(found.identity) {
                    self.claim(file, &found)?;
                    *writes = Some(found.identity);
                }
                return Ok(found.handle);
            }
            let exclusive = (flags - OFlags::DIRECT) | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match self.make(file, exclusive) {
                // Another process made it since, or makes it now in the same directory of ours.
                Err(Errno::EXIST) if others.may_go_on() => others.pause(),
                Err(Errno::NOENT) => return Err(failed("create (its directory was removed)", &file.path, Errno::NOENT)),
                Err(errno) => return Err(failed("create", &file.path, errno)),
                Ok(handle) => {
                    *writes = Some(self.adopt(file, &handle)?);
                    // Only now: an open that refuses O_DIRECT may have made the file all the same.
                    if flags.contains(OFlags::DIRECT) {
                        fs::fcntl_setfl(&handle, OFlags::DIRECT).map_err(|errno| failed("open", &file.path, errno))?;
                    }
                    return Ok(handle);
                }
            }
        }
    }

    /// Makes the file of that name; `EXIST` where there is one.
    fn make(&self, file: &NamedFile, exclusive: OFlags) -> rustix::io::Result<OwnedFd> {
        let parent = &self.parents[file.parent];
        match &parent.create_directory {
            None => fs::openat(&parent.handle, &file.leaf, exclusive, MODE),
            Some(create_directory) => create_directory.make(file.number, exclusive, MODE, &parent.handle, &file.leaf),
        }
    }

    /// Takes an existing file to write to; one of an earlier run becomes this run's.
    fn claim(&self, file: &NamedFile, found: &Found) -> Result<()> {
        let owner = self.settled_owner(file, found)?;
        self.may_use(file, &owner)?;
        if owner == Owner::EarlierRun {
            self.adopt(file, &found.handle)?;
        }
        Ok(())
    }

    /// Whose the file is, once a process of this run that has just made it has had the time to mark it.
    fn settled_owner(&self, file: &NamedFile, found: &Found) -> Result<Owner> {
        let mut others = Wait::begin();
        loop {
            let owner = self.owner(file, found)?;
            let settled = self.process == Process::Alone || !file.absent.load(Ordering::Relaxed);
            if settled || !matches!(owner, Owner::Another(_)) || !others.may_go_on() {
                return Ok(owner);
            }
            if !self.marks.are_kept(&found.handle) {
                return Ok(Owner::ThisRun);
            }
            others.pause();
        }
    }

    /// Whether another process of this run made the file, on a file system that keeps no marks, and this one has
    /// written to it since.
    fn is_siblings(&self, file: &NamedFile, found: &Found) -> bool {
        let written = *lock(&file.writes) == Some(found.identity);
        self.process != Process::Alone && written && !self.marks.are_kept(&found.handle)
    }

    fn adopt(&self, file: &NamedFile, handle: &OwnedFd) -> Result<Identity> {
        let (identity, marked) = self.marks.adopt(handle).map_err(|errno| failed("measure", &file.path, errno))?;
        if !marked {
            self.note_unmarked(file);
        }
        Ok(identity)
    }

    fn note_unmarked(&self, file: &NamedFile) {
        let why = "cannot be marked (the file system keeps no user attributes, or no time of a change): should this run be";
        self.note("no-file-mark", format!("{} {why} killed, or keep it, a later run will not replace it", file.path.display()));
    }

    /// Each code once: the first file stands for the others.
    fn note(&self, code: &'static str, text: String) {
        let mut notes = lock(&self.notes);
        if notes.iter().all(|(known, _)| *known != code) {
            notes.push((code, text));
        }
    }

    /// Does `act` on each file that is ours and there.
    fn each_of_ours(&self, act: impl Fn(&NamedFile, Found) -> Result<()>) -> Result<()> {
        for file in &self.files {
            let keep = |why: &str| self.note("kept-foreign", format!("{} stays: {why}", file.path.display()));
            let found = match self.find(file, OFlags::RDONLY) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                // Ours can be opened.
                Err(error) => {
                    keep(&error.to_string());
                    continue;
                }
            };
            if self.process == Process::Other && !Marks::only_known_here(found.identity) {
                // The first process sees to it, and this one need not remember it.
                Marks::forget(found.identity);
                *lock(&file.writes) = None;
                continue;
            }
            match self.owner(file, &found)? {
                Owner::EarlierRun if self.existing == Existing::Refuse => keep("an earlier run made it"),
                Owner::Another(why) => keep(&why),
                Owner::ThisRun | Owner::EarlierRun => act(file, found)?,
            }
        }
        Ok(())
    }
}

impl FilePlace for Named {
    fn sites(&self) -> usize {
        self.parents.len()
    }

    fn site(&self, file: u32) -> usize {
        self.files.get(file as usize).map_or(0, |file| file.parent)
    }

    fn site_path(&self, site: usize) -> &Path {
        &self.parents[site].path
    }

    fn handle(&self, site: usize) -> Option<BorrowedFd<'_>> {
        Some(self.parents[site].handle.as_fd())
    }

    fn taken_bytes(&self, site: usize) -> u64 {
        self.parents[site].taken_bytes.load(Ordering::Relaxed)
    }

    fn probe(&self, site: usize) -> Support {
        direct::probe_without_a_name(&self.parents[site].handle)
    }

    fn is_counted(&self, site: usize) -> bool {
        is_counted(&self.parents[site].handle)
    }

    fn path(&self, file: u32) -> PathBuf {
        self.files.get(file as usize).map_or_else(PathBuf::new, |file| file.path.clone())
    }

    fn open(&self, file: u32, flags: OFlags) -> Result<OwnedFd> {
        let file = self.file(file)?;
        if flags.contains(OFlags::CREATE) {
            return self.open_to_write(file, flags);
        }
        let found = self.find(file, flags)?;
        found.map(|found| found.handle).ok_or_else(|| failed("open", &file.path, Errno::NOENT))
    }

    fn length(&self, file: u32) -> Result<u64> {
        let file = self.file(file)?;
        self.look(file)?.map(|look| look.bytes).ok_or_else(|| failed("measure", &file.path, Errno::NOENT))
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        let mut old = Vec::new();
        self.parents.iter().for_each(|parent| parent.taken_bytes.store(0, Ordering::Relaxed));
        for &file in files {
            let file = self.file(file)?;
            let found = self.find(file, OFlags::RDONLY)?;
            file.absent.store(found.is_none(), Ordering::Relaxed);
            let Some(found) = found else { continue };
            if !self.is_siblings(file, &found) && !self.may_use(file, &self.owner(file, &found)?)? {
                old.push((file, found.identity));
            } else {
                self.parents[file.parent].taken_bytes.fetch_add(found.allocated_bytes, Ordering::Relaxed);
            }
        }
        old.into_iter().try_for_each(|(file, identity)| self.take_away(file, identity))
    }

    fn clear(&self) -> Result<()> {
        self.each_of_ours(|file, found| self.take_away(file, found.identity))
    }

    fn finish(&self) -> Result<Vec<Note>> {
        if self.keep.load(Ordering::Relaxed) {
            let longest = Cell::new(Duration::ZERO);
            self.each_of_ours(|file, found| {
                match self.marks.seal(&found.handle) {
                    Ok(wait) => longest.set(longest.get().max(wait)),
                    Err(_) => self.note_unmarked(file),
                }
                Ok(())
            })?;
            sleep(longest.get());
        } else {
            self.clear()?;
        }
        Ok(self.notes())
    }

    fn keep_named(&self, keep: bool) {
        self.keep.store(keep, Ordering::Relaxed);
    }

    fn notes(&self) -> Vec<Note> {
        lock(&self.notes).clone()
    }
}

fn open_parent(path: &Path, parents: &mut Vec<Parent>) -> Result<usize> {
    // The user chose the directory, so links on the way to it are meant.
    let handle = fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| failed("open the directory", path, errno))?;
    parents.push(Parent { path: path.to_owned(), handle, create_directory: None, taken_bytes: AtomicU64::new(0) });
    Ok(parents.len() - 1)
}

fn give_nurseries(parents: &mut [Parent], spec: &TargetSpec) -> Result<()> {
    let paths = &spec.nurseries;
    if paths.is_empty() {
        return Ok(());
    }
    if paths.len() != parents.len() {
        let text = format!("{} nurseries for {} directories; give one for each, or none", paths.len(), parents.len());
        return Err(StorageError::Unsupported(text));
    }
    for (index, (parent, path)) in parents.iter_mut().zip(paths).enumerate() {
        parent.create_directory = Some(CreateDirectory::open(path, spec.mark(spec.directories.len() + index))?);
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> StorageError {
    StorageError::Name { path: path.to_owned(), why: why.to_owned() }
}

fn not_regular(path: &Path, kind: FileType) -> StorageError {
    let what = match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    refused(path, &format!("is {what}, which is never written to, read or removed; give the name of a regular file"))
}

#[cfg(test)]
#[path = "user_files_tests.rs"]
mod tests;
