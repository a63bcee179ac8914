//! Snapshots of a directory: subvolumes of Btrfs, `.snap` of `CephFS`.
//!
//! The data live in a room, a directory of their own in the scratch directory: `room` for those of all tasks, `room.N`
//! for those of task N. On Btrfs it is a subvolume, and a snapshot of it is another one beside it, `room.rROUND`. On
//! `CephFS` a snapshot is `room/.snap/rROUND`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Mode};
use rustix::io::Errno;
use tonnage_workload::Means;

use super::Rebuild;
use super::snapshot_place::{Room, SnapshotPlace};
use super::subvolumes::{BTRFS_SUPER_MAGIC, ROOM, SNAP, SUBVOLUME_CREATE, remove_room, snapshot, subvolume};
use crate::api::Storage;
use crate::api::{SnapshotRequest, Snapshots};
use crate::error::{Result, StorageError};
use crate::fs::files::Files;
use crate::fs::held_directories::{failed, open_directory};
use crate::scratch::directory::Directory;
use crate::scratch::scratch_names::round_name;

/// Directories that data live in, on one or several devices, and their snapshots.
pub(super) struct DirectorySnapshots {
    files: Arc<Files>,
    rebuild: Rebuild,
    btrfs: bool,
    name: String,
    /// A file of each site.
    sites: BTreeMap<usize, u32>,
    live: Arc<dyn Storage>,
}

impl DirectorySnapshots {
    /// Makes the rooms where they are not there yet: any process of the run may be the first.
    pub(super) fn new(files: &Arc<Files>, request: &SnapshotRequest, rebuild: Rebuild) -> Result<Self> {
        let btrfs = matches!(request.means, Means::Btrfs {});
        let name = request.owner.map_or(ROOM.to_owned(), |task| format!("{ROOM}.{task:08}"));
        let sites: BTreeMap<_, _> = request.files.iter().map(|&file| (files.place().site(file), file)).collect();
        for &file in sites.values() {
            make(scratch(files, file)?, &name, btrfs)?;
        }
        let live = Self::storage(files, &rebuild, &sites, &name, None)?;
        Ok(Self { files: Arc::clone(files), rebuild, btrfs, name, sites, live })
    }

    /// The storage with its data files in the directory `name`, and there in `below`.
    fn storage(
        files: &Arc<Files>,
        rebuild: &Rebuild,
        sites: &BTreeMap<usize, u32>,
        name: &str,
        below: Option<&str>,
    ) -> Result<Arc<dyn Storage>> {
        let mut directories = BTreeMap::new();
        for (&site, &file) in sites {
            let scratch = scratch(files, file)?;
            let mut path = scratch.path().join(name);
            let mut handle = open_directory(scratch, name).map_err(|errno| failed("open the directory", &path, errno))?;
            for step in below.into_iter().flat_map(|below| [SNAP.to_str().unwrap_or_default(), below]) {
                path.push(step);
                handle = open_directory(&handle, step).map_err(|errno| failed("open the snapshot", &path, errno))?;
            }
            directories.insert(site, Room { handle, path });
        }
        let place = SnapshotPlace { base: Arc::clone(files.place()), directories };
        Ok(rebuild(Arc::new(files.elsewhere(Arc::new(place)))))
    }

    fn snapshot_name(&self, round: u32) -> String {
        format!("{}.{}", self.name, round_name(round))
    }

    fn scratches(&self) -> impl Iterator<Item = Result<&Directory>> {
        self.sites.values().map(|&file| scratch(&self.files, file))
    }
}

fn scratch(files: &Files, file: u32) -> Result<&Directory> {
    files.place().scratch(file).ok_or_else(|| failed("find the directory of", &files.path(file), Errno::NOENT))
}

/// Makes a room; one that is there already, this run made.
fn make(scratch: &Directory, name: &str, btrfs: bool) -> Result<()> {
    let path = scratch.path().join(name);
    let refused = |text: String| Err(StorageError::Unsupported(text));
    let named = scratch.path().display();
    let made = if btrfs {
        match fs::fstatfs(scratch) {
            Ok(facts) if facts.f_type == BTRFS_SUPER_MAGIC => {}
            _ => return refused(format!("{named} is not on Btrfs, so there are no subvolumes to take snapshots of")),
        }
        subvolume(scratch, name, SUBVOLUME_CREATE)
    } else {
        if open_directory(scratch, SNAP).is_err() {
            return refused(format!("{named} has no directory .snap, so it is not on CephFS, or snapshots are hidden there"));
        }
        fs::mkdirat(scratch, name, Mode::RWXU)
    };
    match made {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(failed("make the directory", &path, errno)),
    }
}

impl Snapshots for DirectorySnapshots {
    fn live(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(&self.live))
    }

    fn take(&mut self, round: u32) -> Result<u64> {
        let name = self.snapshot_name(round);
        for scratch in self.scratches() {
            let scratch = scratch?;
            let path = scratch.path().join(&name);
            let taken = open_directory(scratch, &self.name).and_then(|room| {
                if self.btrfs {
                    snapshot(scratch, &room, &name)
                } else {
                    let snaps = open_directory(&room, SNAP)?;
                    fs::mkdirat(snaps, round_name(round), Mode::RWXU)
                }
            });
            taken.map_err(|errno| failed("take the snapshot", &path, errno))?;
        }
        Ok(0)
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        let (name, below) =
            if self.btrfs { (self.snapshot_name(round), None) } else { (self.name.clone(), Some(round_name(round))) };
        Self::storage(&self.files, &self.rebuild, &self.sites, &name, below.as_deref()).map(Some)
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        let name = self.snapshot_name(round);
        for scratch in self.scratches() {
            let scratch = scratch?;
            let path = scratch.path().join(&name);
            let removed = if self.btrfs {
                remove_room(scratch, &name, &path)?.map_or(Ok(()), |_| Err(Errno::NOTEMPTY))
            } else {
                open_directory(scratch, &self.name)
                    .and_then(|room| open_directory(room, SNAP))
                    .and_then(|snaps| fs::unlinkat(snaps, round_name(round), AtFlags::REMOVEDIR))
            };
            removed.map_err(|errno| failed("remove the snapshot", &path, errno))?;
        }
        Ok(())
    }
}
