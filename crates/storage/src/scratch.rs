//! The only place where Tonnage writes and removes files: a directory that it made and marked.
//!
//! What is removed: regular files named like data files, the marker, and the directory, all relative to a handle that
//! has been held since the marker was read. Anything else stays and is named in the error.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};

use crate::directory::{Directory, failed, open_directory};
use crate::error::{Result, StorageError};
use crate::marker::{MARKER_NAME, Marker};

pub(crate) const PREFIX: &str = ".tonnage-";

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
    /// Whether that process still runs; `None` if it ran on another host.
    pub alive: Option<bool>,
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
        fs::mkdirat(&handle, &name, Mode::RWXU).map_err(|errno| failed("create the directory", &path, errno))?;
        Self::mark_new(handle, name, &path, run_id)
    }

    fn mark_new(parent: OwnedFd, name: String, path: &Path, run_id: &str) -> Result<Self> {
        let made = open_directory(&parent, &name).map_err(|errno| failed("open the directory", path, errno))?;
        let marked = Marker::of_this_process(run_id).create(&made, path);
        let marked = marked.and_then(|()| Directory::open_at(&parent, &name, path));
        if marked.is_err() {
            // A full disk took the directory but not the marker: without one nobody may ever remove it, so it goes
            // now, if it is as empty as it was made. The error that led here says more than these calls could.
            let _ = fs::unlinkat(&made, MARKER_NAME, AtFlags::empty());
            let _ = fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
        Ok(Self { parent, name, directory: marked? })
    }

    /// Takes over the scratch directory of a run that died.
    pub fn reopen(path: &Path) -> Result<Self> {
        let not_ours = |why: &str| StorageError::NotOurs { path: path.to_owned(), why: why.to_owned() };
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.starts_with(PREFIX));
        let name = name.ok_or_else(|| not_ours("its name does not begin with .tonnage-"))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = open_parent(parent)?;
        let directory = Directory::open_at(&parent, &name, path)?;
        if name.strip_prefix(PREFIX) != Some(directory.run_id()) {
            return Err(not_ours("its marker names another run"));
        }
        Self::take_over(parent, name, directory)
    }

    /// Takes over `parent/name`, which [`create_named`](Self::create_named) made, from a run that died or that
    /// [kept](Self::keep) it.
    pub fn reopen_named(parent: &Path, name: &str) -> Result<Self> {
        check_name(name)?;
        let handle = open_parent(parent)?;
        let directory = Directory::open_at(&handle, name, &parent.join(name))?;
        Self::take_over(handle, name.to_owned(), directory)
    }

    fn take_over(parent: OwnedFd, name: String, directory: Directory) -> Result<Self> {
        let marker = Marker::read(&directory, directory.path())?;
        marker.require_free(directory.path())?;
        Marker::of_this_process(&marker.run_id).replace(&directory, directory.path())?;
        Ok(Self { parent, name, directory })
    }

    /// Leaves it, with all that is in it, to a later run.
    pub fn keep(self) -> Result<()> {
        self.check_place()?;
        let marker = Marker { kept: true, ..Marker::of_this_process(self.directory.run_id()) };
        marker.replace(&self.directory, self.path())
    }

    /// The marked scratch directories in `parent`, by name. Others that are merely named alike are left out.
    pub fn leftovers(parent: &Path) -> Result<Vec<Leftover>> {
        let handle = open_parent(parent)?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&handle).map_err(|errno| failed("list", parent, errno))? {
            let entry = entry.map_err(|errno| failed("list", parent, errno))?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| name.starts_with(PREFIX)) else { continue };
            let path = parent.join(name);
            let Ok(directory) = open_directory(&handle, name) else { continue };
            let Ok(marker) = Marker::read(directory, &path) else { continue };
            let alive = marker.owner_alive();
            found.push(Leftover { path, run_id: marker.run_id, pid: marker.pid, host: marker.host, alive });
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
        self.check_place()?;
        if let Some(foreign) = self.directory.remove_data()? {
            let action = "remove the scratch directory, because Tonnage did not make";
            return Err(failed(action, &foreign, rustix::io::Errno::NOTEMPTY));
        }
        fs::unlinkat(&self.directory, MARKER_NAME, AtFlags::empty())
            .map_err(|errno| failed("remove the marker in", self.path(), errno))?;
        fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)
            .map_err(|errno| failed("remove the directory", self.path(), errno))
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
