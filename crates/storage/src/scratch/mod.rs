//! The only place where Tonnage writes and removes files: a directory that it made and marked.
//!
//! What is removed: regular files named like data files, the marker, and the directory, all relative to a handle that
//! has been held since the marker was read. Anything else stays and is named in the error.

pub(crate) mod changes;
pub(crate) mod clearing;
pub(crate) mod contents;
pub(crate) mod directory;
pub(crate) mod left_files;
pub(crate) mod marker;
pub(crate) mod marker_file;
pub(crate) mod mover_leftovers;
pub(crate) mod process_identity;
pub(crate) mod scratch_names;
pub(crate) mod temporary_name;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Timespec};
use rustix::io::Errno;

use crate::error::{Result, StorageError};
use crate::fs::held_directories::{failed, open_below, open_directory};
use crate::scratch::changes::left_ns;
use crate::scratch::contents::remove_data_until;
use crate::scratch::directory::Directory;
use crate::scratch::marker::{End, MARKER_NAME, Marker, State};
use crate::scratch::marker_file::MarkerFile;
use crate::scratch::temporary_name::{Aside, is_blank, rename_new};

pub(crate) const PREFIX: &str = ".tonnage-";
const NS: i128 = 1_000_000_000;

/// A marked directory that this process created or took over.
#[derive(Debug)]
pub struct Scratch {
    parent: OwnedFd,
    name: String,
    directory: Directory,
}

/// A marked directory that some run left, or still uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Which run made it.
    pub run_id: String,
    /// The process that made it.
    pub pid: u32,
    /// The host of that process.
    pub host: String,
    /// What is known of its run.
    pub state: State,
    /// A clause that says so.
    pub why: String,
}

/// What is known of a directory, and whether its marker says nothing yet, or no more.
struct Seen {
    left: Leftover,
    is_blank: bool,
}

impl Scratch {
    /// Makes `parent/.tonnage-<run_id>` with mode 0700 and a marker in it.
    pub fn create(parent: &Path, run_id: &str) -> Result<Self> {
        if run_id.is_empty() || run_id.len() > 200 || run_id.contains(|c: char| c == '/' || c.is_control()) {
            let text = format!("run id {run_id:?} cannot name a directory; use 1 to 200 characters without a slash");
            return Err(StorageError::Unsupported(text));
        }
        Self::make(parent, format!("{PREFIX}{run_id}"), run_id)
    }

    /// Makes `parent/name`, which a later run may find again. `name` is one component and does not begin with a dot.
    pub fn create_named(parent: &Path, name: &str, run_id: &str) -> Result<Self> {
        check_name(name)?;
        Self::make(parent, name.to_owned(), run_id)
    }

    fn make(parent: &Path, name: String, run_id: &str) -> Result<Self> {
        let handle = open_parent(parent)?;
        let path = parent.join(&name);
        let create = |errno| failed("create the directory", &path, errno);
        if let Some(aside) = Aside::of_this_process(run_id).map(|aside| aside.name()) {
            if fs::statat(&handle, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(create(Errno::EXIST));
            }
            fs::mkdirat(&handle, &aside, Mode::RWXU).map_err(create)?;
            let made = Self::mark_new(handle.try_clone().map_err(|source| cannot_hold(&path, source))?, aside, &path, run_id)?;
            match rename_new(&handle, &made.name, &name) {
                Ok(()) => return Ok(Self { name, ..made }),
                Err(errno) => {
                    take_off(&made.directory, &made.parent, &made.name);
                    if errno == Errno::EXIST {
                        return Err(create(errno));
                    }
                }
            }
        }
        fs::mkdirat(&handle, &name, Mode::RWXU).map_err(create)?;
        Self::mark_new(handle, name, &path, run_id)
    }

    fn mark_new(parent: OwnedFd, name: String, path: &Path, run_id: &str) -> Result<Self> {
        let made = open_directory(&parent, &name).map_err(|errno| failed("open the directory", path, errno))?;
        let marked = made.try_clone().map_err(|source| cannot_hold(path, source));
        let marked = marked.and_then(|handle| Directory::made(handle, path, run_id));
        if marked.is_err() {
            // A full disk took the directory but not the marker: without one nobody may ever remove it, so it goes
            // now, if it is as empty as it was made. The error that led here says more than these calls could.
            take_off(&made, &parent, &name);
        }
        Ok(Self { parent, name, directory: marked? })
    }

    /// Takes over what a run left that is over, as [`leftovers`](Self::leftovers) found it. `force`: also where nobody
    /// can know whether it is; never where it goes on, or was kept.
    pub fn reopen(path: &Path, force: bool) -> Result<Self> {
        let not_ours = |why: &str| StorageError::NotOurs { path: path.to_owned(), why: why.to_owned() };
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_scratch_name(name));
        let name = name.ok_or_else(|| not_ours("no scratch directory has such a name"))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = open_parent(parent)?;
        let found = look(&parent, &name, path)?.ok_or_else(|| not_ours("it is a mount, or no directory"))?;
        let Seen { left, is_blank } = found;
        if !fits(&name, &left.run_id) {
            return Err(not_ours("its marker names another run"));
        }
        if is_blank {
            if !(left.state == State::Dead || force && left.state == State::Unknown) {
                return Err(not_ours(&format!("run {}: {}", left.run_id, left.why)));
            }
            let opened = open_directory(&parent, &name).map_err(|errno| failed("open the directory", path, errno))?;
            let directory = Directory::made_of_blank(opened, path, &left.run_id)?;
            return Ok(Self { parent, name, directory });
        }
        let directory = Directory::taken(&parent, &name, path, End::Remove { force })?;
        Ok(Self { parent, name, directory })
    }

    /// Takes over `parent/name`, which [`create_named`](Self::create_named) made, from a run that died or that
    /// [kept](Self::keep) it. `stays`: it is left again. An error where a data file was changed since it was kept: this
    /// run would write over it.
    pub fn reopen_named(parent: &Path, name: &str, stays: bool) -> Result<Self> {
        Self::take_named(parent, name, End::GoOn { stays })
    }

    /// The same, to remove what is in it, with [`remove_until`](Self::remove_until).
    pub fn reopen_kept(parent: &Path, name: &str) -> Result<Self> {
        Self::take_named(parent, name, End::RemoveKept)
    }

    fn take_named(parent: &Path, name: &str, end: End) -> Result<Self> {
        check_name(name)?;
        let handle = open_parent(parent)?;
        let directory = Directory::taken(&handle, name, &parent.join(name), end)?;
        Ok(Self { parent: handle, name: name.to_owned(), directory })
    }

    /// When the run that kept the directory at `path` left it, in nanoseconds since 1970, by the clock of its file system.
    pub fn left_ns(path: &Path) -> Result<i128> {
        let marker = path.join(MARKER_NAME);
        let stat = fs::statat(fs::CWD, &marker, AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| left_ns(&stat)).map_err(|errno| failed("measure", &marker, errno))
    }

    /// Leaves it, with all that is in it, to a later run; `as_found`: this run changed nothing, and files that were changed since an
    /// earlier one left it are nobody's of these runs.
    pub fn keep(self, as_found: bool) -> Result<()> {
        self.check_place()?;
        if as_found { self.directory.mark_as_of_then(self.kept()) } else { self.directory.mark_as(self.kept()) }
    }

    fn kept(&self) -> Marker {
        Marker { kept: true, ..Marker::of_this_process(self.directory.run_id()) }
    }

    /// The marked scratch directories in `parent`, by name: those of runs, and those that have a name of their own.
    /// Others that are merely named alike are left out. No mount is entered.
    pub fn leftovers(parent: &Path) -> Result<Vec<Leftover>> {
        let handle = open_parent(parent)?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&handle).map_err(|errno| failed("list", parent, errno))? {
            let entry = entry.map_err(|errno| failed("list", parent, errno))?;
            if !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                continue;
            }
            let Some(name) = entry.file_name().to_str().ok().filter(|name| is_scratch_name(name)) else { continue };
            let left = look(&handle, name, &parent.join(name)).ok().flatten().map(|seen| seen.left);
            found.extend(left.filter(|left| fits(name, &left.run_id)));
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes the data files in it, the marker and the directory. If anything else is inside, that, the marker and
    /// the directory stay, and the error names it.
    pub fn remove(self) -> Result<()> {
        self.remove_until(None)
    }

    /// The same of a directory that was left at `until` (nanoseconds since 1970, by the clock of its file system):
    /// files that were changed later are no longer those that Tonnage made.
    pub fn remove_until(mut self, until: Option<i128>) -> Result<()> {
        self.check_place()?;
        if let Some(foreign) = remove_data_until(&self.directory, until)? {
            // A later attempt knows no less than this one.
            let left = |until: i128| Timespec { tv_sec: until.div_euclid(NS) as i64, tv_nsec: until.rem_euclid(NS) as _ };
            self.directory.mark_as_found(until.map(left))?;
            let action = "remove the scratch directory, because Tonnage did not make";
            return Err(failed(action, &foreign, rustix::io::Errno::NOTEMPTY));
        }
        self.check_place()?;
        let before = self.set_aside()?;
        let removed = self.remove_empty();
        if let Some(before) = before.filter(|_| removed.is_err()) {
            let _ = rename_new(&self.parent, &self.name, &before);
        }
        removed
    }

    /// Gives it the name that tells of this process, where its file system can; its own name before that.
    fn set_aside(&mut self) -> Result<Option<String>> {
        let Some(aside) = Aside::of_this_process(self.directory.run_id()).map(|aside| aside.name()) else { return Ok(None) };
        if rename_new(&self.parent, &self.name, &aside).is_err() {
            return Ok(None);
        }
        let before = std::mem::replace(&mut self.name, aside);
        if let Err(error) = self.check_place() {
            let _ = rename_new(&self.parent, &self.name, &before);
            return Err(error);
        }
        Ok(Some(before))
    }

    fn remove_empty(&self) -> Result<()> {
        fs::unlinkat(&self.directory, MARKER_NAME, AtFlags::empty())
            .map_err(|errno| failed("remove the marker in", self.path(), errno))?;
        let removed = fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        if removed.is_err() {
            // Something came into it just now: with a marker it can be found and removed later.
            let _ = MarkerFile::create(&self.directory, self.path(), self.directory.run_id());
        }
        removed.map_err(|errno| failed("remove the directory", self.path(), errno))
    }

    /// The name still leads to the directory that is held.
    fn check_place(&self) -> Result<()> {
        let held = fs::fstat(&self.directory).map_err(|errno| failed("measure", self.path(), errno))?;
        let named = fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed("find the directory", self.path(), errno))?;
        if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino) {
            return Ok(());
        }
        Err(StorageError::NotOurs { path: self.path().to_owned(), why: "another one took its place".to_owned() })
    }
}

/// Whether a scratch directory may have such a name.
fn is_scratch_name(name: &str) -> bool {
    name.starts_with(PREFIX) || check_name(name).is_ok()
}

/// Whether a directory of that name is where a run of that id has its scratch.
fn fits(name: &str, run_id: &str) -> bool {
    name.strip_prefix(PREFIX).is_none_or(|id| id == run_id || Aside::parse(name).is_some_and(|aside| aside.run_id == run_id))
}

/// What is known of the marked directory `name`; `None` where that is a mount, or no directory.
fn look(parent: &OwnedFd, name: &str, path: &Path) -> Result<Option<Seen>> {
    let measured = |errno| failed("measure", path, errno);
    // A mount is not entered, not even one that would only be made by that.
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let stat = fs::statat(parent, name, flags).map_err(measured)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || stat.st_dev != fs::fstat(parent).map_err(measured)?.st_dev
    {
        return Ok(None);
    }
    let directory = match open_below(parent, name) {
        Err(Errno::XDEV | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        opened => opened.map_err(|errno| failed("open the directory", path, errno))?,
    };
    let path = path.to_owned();
    match (MarkerFile::look(&directory, &path), is_blank(&directory, &path)?, Aside::parse(name)) {
        (Ok((Marker { run_id, pid, host, .. }, (state, why))), ..) => {
            Ok(Some(Seen { left: Leftover { path, run_id, pid, host, state, why }, is_blank: false }))
        }
        (Err(_), true, Some(aside)) => {
            let ((state, why), run_id) = (aside.standing(), aside.run_id.to_owned());
            let host = aside.host_name();
            Ok(Some(Seen { left: Leftover { path, run_id, pid: aside.pid, host, state, why }, is_blank: true }))
        }
        // A power cut leaves this of a marker, and versions that wrote it in the directory's last place.
        (Err(error), _, None) if name.starts_with(PREFIX) => {
            let (run_id, host) = (name[PREFIX.len()..].to_owned(), "a host that it does not tell".to_owned());
            let (state, why) = MarkerFile::look_at_empty(&directory, &path)?.ok_or(error)?;
            Ok(Some(Seen { left: Leftover { path, run_id, pid: 0, host, state, why }, is_blank: true }))
        }
        (Err(error), ..) => Err(error),
    }
}

/// Removes a directory of that name that has nothing but a marker. What cannot go stays.
fn take_off(directory: impl std::os::fd::AsFd, parent: &OwnedFd, name: &str) {
    let _ = fs::unlinkat(directory, MARKER_NAME, AtFlags::empty());
    let _ = fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
}

fn cannot_hold(path: &Path, source: std::io::Error) -> StorageError {
    StorageError::Path { action: "hold", path: path.to_owned(), source }
}

fn check_name(name: &str) -> Result<()> {
    let bad = name.is_empty() || name.len() > 255 || name.starts_with('.');
    if bad || name.contains(|c: char| c == '/' || c.is_control()) {
        let text = format!("{name:?} cannot name a scratch directory; use one name that does not begin with a dot");
        return Err(StorageError::Unsupported(text));
    }
    Ok(())
}

fn open_parent(parent: &Path) -> Result<OwnedFd> {
    // The user chose the parent, so links on the way to it are meant.
    fs::open(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| failed("open the directory", parent, errno))
}
