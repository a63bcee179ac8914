//! Data files in directories that are held, one for each site of another place.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use crate::api::Note;
use crate::error::Result;
use crate::fs::direct::Support;
use crate::fs::file_place::FilePlace;
use crate::fs::held_directories::{failed, is_regular};
use crate::scratch::directory::Directory;

/// A directory with data files, and where it is.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) handle: OwnedFd,
    pub(super) path: PathBuf,
}

/// Where the data files of another place are instead.
#[derive(Debug)]
pub(super) struct SnapshotPlace {
    pub(super) base: Arc<dyn FilePlace>,
    /// By site.
    pub(super) directories: BTreeMap<usize, Room>,
}

impl SnapshotPlace {
    fn room(&self, file: u32) -> Result<&Room> {
        let room = self.directories.get(&self.base.site(file));
        room.ok_or_else(|| failed("find the directory of", &self.base.path(file), Errno::NOENT))
    }
}

impl FilePlace for SnapshotPlace {
    fn sites(&self) -> usize {
        self.base.sites()
    }

    fn site(&self, file: u32) -> usize {
        self.base.site(file)
    }

    fn site_path(&self, site: usize) -> &Path {
        self.base.site_path(site)
    }

    fn probe(&self, site: usize) -> Support {
        self.base.probe(site)
    }

    fn is_counted(&self, site: usize) -> bool {
        self.base.is_counted(site)
    }

    fn path(&self, file: u32) -> PathBuf {
        let name = Directory::name_of_data(file);
        self.room(file).map_or_else(|_| self.base.path(file), |room| room.path.join(name))
    }

    fn open(&self, file: u32, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(&self.room(file)?.handle, Directory::name_of_data(file), flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed("open", &self.path(file), errno))
    }

    fn length(&self, file: u32) -> Result<u64> {
        let name = |errno| failed("measure", &self.path(file), errno);
        let stat = fs::statat(&self.room(file)?.handle, Directory::name_of_data(file), fs::AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(name)?;
        if is_regular(&stat) { Ok(stat.st_size as u64) } else { Err(name(Errno::LOOP)) }
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    /// The directories belong to who holds the place below.
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
