//! Snapshots of a directory: subvolumes of Btrfs, `.snap` of `CephFS`.
//!
//! The data live in a room, a directory of their own in the scratch directory: `room` for those of all tasks, `room.N`
//! for those of task N. On Btrfs it is a subvolume, and a snapshot of it is another one beside it, `room.rROUND`. On
//! `CephFS` a snapshot is `room/.snap/rROUND`.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;
use tonnage_workload::Means;

use super::room_place::{Room, RoomPlace};
use super::{Rebuild, SnapshotRequest, Snapshots, is_round_name, round_name};
use crate::Storage;
use crate::directory::{Directory, failed, is_data_name, open_directory, open_in_mount};
use crate::error::{Result, StorageError};
use crate::files::Files;

/// `linux/magic.h`.
const BTRFS_SUPER_MAGIC: fs::FsWord = 0x9123_683e;
/// The directory of the snapshots of a directory.
const SNAP: &CStr = c".snap";
const ROOM: &str = "room";

/// Rooms on one or several devices, and their snapshots.
pub(super) struct Rooms {
    files: Arc<Files>,
    rebuild: Rebuild,
    btrfs: bool,
    name: String,
    /// A file of each site.
    sites: BTreeMap<usize, u32>,
    live: Arc<dyn Storage>,
}

impl Rooms {
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
        let mut rooms = BTreeMap::new();
        for (&site, &file) in sites {
            let scratch = scratch(files, file)?;
            let mut path = scratch.path().join(name);
            let mut handle = open_directory(scratch, name).map_err(|errno| failed("open the directory", &path, errno))?;
            for step in below.into_iter().flat_map(|below| [SNAP.to_str().unwrap_or_default(), below]) {
                path.push(step);
                handle = open_directory(&handle, step).map_err(|errno| failed("open the snapshot", &path, errno))?;
            }
            rooms.insert(site, Room { handle, path });
        }
        let place = RoomPlace { base: Arc::clone(files.place()), rooms };
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

impl Snapshots for Rooms {
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

/// Whether `name` is exactly how a room, or a snapshot of one, is spelled.
pub(crate) fn is_room_name(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(ROOM.as_bytes()) else { return false };
    let is_task = |text: &[u8]| {
        let number = || std::str::from_utf8(text).ok()?.parse::<u32>().ok();
        number().is_some_and(|task| format!("{task:08}").as_bytes() == text)
    };
    let mut parts = rest.split(|&byte| byte == b'.').skip(1);
    match (rest.is_empty() || rest[0] == b'.', parts.next(), parts.next(), parts.next()) {
        (true, None, None, None) => true,
        (true, Some(one), None, None) => is_task(one) || is_round_name(one),
        (true, Some(task), Some(round), None) => is_task(task) && is_round_name(round),
        _ => false,
    }
}

/// Removes a room, or a snapshot of one, with its data files and its own snapshots. Gives the first thing in it that is
/// none of these; that stays.
pub(crate) fn remove_room<P: rustix::path::Arg + Copy>(parent: impl AsFd, name: P, path: &Path) -> Result<Option<PathBuf>> {
    let held = match open_in_mount(&parent, name) {
        Ok(held) => held,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return Ok(Some(path.to_owned())),
        Err(errno) => return Err(failed("open the directory", path, errno)),
    };
    let mut data = Vec::new();
    for entry in entries(&held, path)? {
        if !is_data_name(entry.to_bytes()) || !is_file(&held, &entry) {
            return Ok(Some(path.join(entry.to_string_lossy().as_ref())));
        }
        data.push(entry);
    }
    // One call where it may; an ordinary user removes what is in it first.
    if is_subvolume(&held) && subvolume(&parent, name, SNAPSHOT_DESTROY).is_ok() {
        return Ok(None);
    }
    let gone = |result: rustix::io::Result<()>| match result {
        Err(Errno::NOENT) => Ok(()),
        other => other.map_err(|errno| failed("remove", path, errno)),
    };
    if let Ok(snaps) = open_directory(&held, SNAP) {
        for round in entries(&snaps, path)?.iter().filter(|name| is_round_name(name.to_bytes())) {
            gone(fs::unlinkat(&snaps, round.as_c_str(), AtFlags::REMOVEDIR))?;
        }
    }
    for file in &data {
        gone(fs::unlinkat(&held, file.as_c_str(), AtFlags::empty()))?;
    }
    gone(fs::unlinkat(&parent, name, AtFlags::REMOVEDIR))?;
    Ok(None)
}

fn entries(held: &OwnedFd, path: &Path) -> Result<Vec<std::ffi::CString>> {
    let list = Dir::read_from(held).map_err(|errno| failed("list", path, errno))?;
    let names = list.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    let names = names.filter(|name| !name.as_ref().is_ok_and(|name| matches!(name.to_bytes(), b"." | b"..")));
    names.collect::<rustix::io::Result<_>>().map_err(|errno| failed("list", path, errno))
}

fn is_file(held: &OwnedFd, name: &CStr) -> bool {
    let stat = fs::statat(held, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// The root of a subvolume has this inode number.
fn is_subvolume(held: &OwnedFd) -> bool {
    const ROOT: u64 = 256;
    let is_btrfs = fs::fstatfs(held).is_ok_and(|facts| facts.f_type == BTRFS_SUPER_MAGIC);
    is_btrfs && fs::fstat(held).is_ok_and(|stat| stat.st_ino == ROOT)
}

/// `struct btrfs_ioctl_vol_args` of `linux/btrfs.h`.
#[repr(C)]
struct VolumeArguments {
    fd: i64,
    name: [u8; 4088],
}

/// `struct btrfs_ioctl_vol_args_v2`.
#[repr(C)]
struct SnapshotArguments {
    fd: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

const SUBVOLUME_CREATE: u32 = 0x5000_940e;
const SNAPSHOT_DESTROY: u32 = 0x5000_940f;
const SNAPSHOT_CREATE_V2: u32 = 0x5000_9417;

fn spelled<const N: usize>(name: &[u8]) -> rustix::io::Result<[u8; N]> {
    let mut spelled = [0; N];
    spelled.get_mut(..name.len()).filter(|_| name.len() < N).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(name);
    Ok(spelled)
}

fn told(result: libc::c_int) -> rustix::io::Result<()> {
    let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    if result < 0 { Err(Errno::from_raw_os_error(errno())) } else { Ok(()) }
}

/// Makes or destroys the subvolume `name` in `parent`.
fn subvolume<P: rustix::path::Arg>(parent: impl AsFd, name: P, request: u32) -> rustix::io::Result<()> {
    let name = name.into_c_str()?;
    let arguments = VolumeArguments { fd: 0, name: spelled(name.to_bytes())? };
    // SAFETY: the kernel reads the struct that belongs to the request.
    told(unsafe { libc::ioctl(parent.as_fd().as_raw_fd(), libc::Ioctl::from(request), &raw const arguments) })
}

/// Makes the snapshot `name` of `room` in `parent`. It can be written to, so that an ordinary user can remove it.
fn snapshot(parent: impl AsFd, room: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    let fd = i64::from(room.as_raw_fd());
    let arguments = SnapshotArguments { fd, transaction: 0, flags: 0, unused: [0; 4], name: spelled(name.as_bytes())? };
    // SAFETY: the kernel reads the struct that belongs to the request.
    told(unsafe { libc::ioctl(parent.as_fd().as_raw_fd(), libc::Ioctl::from(SNAPSHOT_CREATE_V2), &raw const arguments) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_a_room_is_ours() {
        for name in ["room", "room.r00003", "room.00000007", "room.00000007.r00003"] {
            assert!(is_room_name(name.as_bytes()), "{name}");
        }
        for name in ["rooms", "room.", "room.7", "room.r3", "room.r00003.00000007", "room.00000007.r00003.", "roomr00003"] {
            assert!(!is_room_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_arguments_are_as_large_as_the_kernel_wants() {
        assert_eq!((size_of::<VolumeArguments>(), size_of::<SnapshotArguments>()), (4096, 4096));
    }
}
