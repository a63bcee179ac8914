//! Copies of files that share their blocks (`FICLONE`).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use super::{Rebuild, SnapshotRequest, Snapshots};
use crate::api::{Note, Storage};
use crate::error::{Result, StorageError};
use crate::fs::direct;
use crate::fs::file_place::FilePlace;
use crate::fs::files::Files;
use crate::fs::held_directories::failed;
use crate::scratch::directory::Directory;

/// Each file `data.N` is copied to `data.N.rROUND` beside it, one after the other.
pub(super) struct Reflinks {
    files: Arc<Files>,
    numbers: Vec<u32>,
    rebuild: Rebuild,
}

impl Reflinks {
    pub(super) fn new(files: &Arc<Files>, request: &SnapshotRequest, rebuild: Rebuild) -> Result<Self> {
        let snapshots = Self { files: Arc::clone(files), numbers: request.files.clone(), rebuild };
        for &file in &snapshots.numbers {
            probe(snapshots.scratch(file)?)?;
        }
        Ok(snapshots)
    }

    fn scratch(&self, file: u32) -> Result<&Directory> {
        scratch(self.files.place().as_ref(), file)
    }
}

fn scratch(place: &dyn FilePlace, file: u32) -> Result<&Directory> {
    place.scratch(file).ok_or_else(|| failed("find the directory of", &place.path(file), Errno::NOENT))
}

/// Asks the file system with two empty files that have no name.
fn probe(scratch: &Directory) -> Result<()> {
    let nameless = || fs::openat(scratch, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    nameless().and_then(|from| fs::ioctl_ficlone(nameless()?, from)).map_err(|errno| {
        let path = scratch.path().display();
        StorageError::Unsupported(format!(
            "the file system of {path} has no reflinks ({errno}); use XFS or Btrfs, or other means of snapshots"
        ))
    })
}

impl Snapshots for Reflinks {
    fn take(&mut self, round: u32) -> Result<u64> {
        for &file in &self.numbers {
            let scratch = self.scratch(file)?;
            let source =
                scratch.open_data(file, OFlags::RDONLY).map_err(|errno| failed("open", &self.files.path(file), errno))?;
            let name = |errno| failed("make the snapshot", &scratch.clone_path(file, round), errno);
            let copy = scratch.make_clone(file, round).map_err(name)?;
            fs::ioctl_ficlone(copy, source).map_err(name)?;
        }
        Ok(0)
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        let place = ClonePlace { live: Arc::clone(self.files.place()), round };
        Ok(Some((self.rebuild)(Arc::new(self.files.elsewhere(Arc::new(place))))))
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        for &file in &self.numbers {
            let scratch = self.scratch(file)?;
            let removed = scratch.unlink_clone(file, round);
            removed.map_err(|errno| failed("remove the snapshot", &scratch.clone_path(file, round), errno))?;
        }
        Ok(())
    }
}

/// The files as they were at the end of a round.
#[derive(Debug)]
struct ClonePlace {
    live: Arc<dyn FilePlace>,
    round: u32,
}

impl FilePlace for ClonePlace {
    fn sites(&self) -> usize {
        self.live.sites()
    }

    fn site(&self, file: u32) -> usize {
        self.live.site(file)
    }

    fn site_path(&self, site: usize) -> &Path {
        self.live.site_path(site)
    }

    fn probe(&self, site: usize) -> direct::Support {
        self.live.probe(site)
    }

    fn is_counted(&self, site: usize) -> bool {
        self.live.is_counted(site)
    }

    fn path(&self, file: u32) -> PathBuf {
        self.live.scratch(file).map_or_else(PathBuf::new, |scratch| scratch.clone_path(file, self.round))
    }

    fn open(&self, file: u32, flags: OFlags) -> Result<OwnedFd> {
        let opened = scratch(self.live.as_ref(), file)?.open_clone(file, self.round, flags);
        opened.map_err(|errno| failed("open the snapshot", &self.path(file), errno))
    }

    fn length(&self, file: u32) -> Result<u64> {
        let opened = self.open(file, OFlags::PATH)?;
        let stat = fs::fstat(opened).map_err(|errno| failed("measure", &self.path(file), errno))?;
        Ok(stat.st_size as u64)
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        let path = self.path(files.first().copied().unwrap_or(0));
        Err(failed("write to the snapshot", &path, Errno::ROFS))
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}
