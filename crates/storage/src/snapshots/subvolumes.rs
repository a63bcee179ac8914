//! Subvolumes of Btrfs and directories of `CephFS` that data files live in while snapshots of them are taken: how they are
//! called, made and removed.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, FileType};
use rustix::io::Errno;

use crate::error::Result;
use crate::fs::held_directories::{failed, open_directory, open_in_mount};
use crate::scratch::scratch_names::{is_data_name, is_round_name};

/// `linux/magic.h`.
pub(super) const BTRFS_SUPER_MAGIC: fs::FsWord = 0x9123_683e;
/// The directory of the snapshots of a directory.
pub(super) const SNAP: &CStr = c".snap";
pub(super) const ROOM: &str = "room";

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
pub(super) fn is_subvolume(held: &OwnedFd) -> bool {
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

pub(super) const SUBVOLUME_CREATE: u32 = 0x5000_940e;
pub(super) const SNAPSHOT_DESTROY: u32 = 0x5000_940f;
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
pub(super) fn subvolume<P: rustix::path::Arg>(parent: impl AsFd, name: P, request: u32) -> rustix::io::Result<()> {
    let name = name.into_c_str()?;
    let arguments = VolumeArguments { fd: 0, name: spelled(name.to_bytes())? };
    // SAFETY: the kernel reads the struct that belongs to the request.
    told(unsafe { libc::ioctl(parent.as_fd().as_raw_fd(), libc::Ioctl::from(request), &raw const arguments) })
}

/// Makes the snapshot `name` of `room` in `parent`. It can be written to, so that an ordinary user can remove it.
pub(super) fn snapshot(parent: impl AsFd, room: &OwnedFd, name: &str) -> rustix::io::Result<()> {
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
