//! What a copy keeps of its source beside the bytes: owner, extended attributes, mode, times; as far as this user may.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{self, AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use crate::version::{Kind, Version};

const NS_PER_S: i64 = 1_000_000_000;
/// The kernel's own bounds of a list of names and of a value.
const LARGEST: usize = 64 << 10;

/// Gives an open copy what its source has. The times come last, because all else would move them. `beside` is the group of the
/// directory it was just made in, where that is known.
pub(super) fn give(
    copy: BorrowedFd,
    source: BorrowedFd,
    version: &Version,
    accessed: Timespec,
    beside: Option<u32>,
) -> Result<()> {
    let owned = own(version, beside, |uid, gid| fs::fchown(copy, uid, gid))?;
    give_extended(copy, source)?;
    fs::fchmod(copy, Mode::from_raw_mode(owned.mode(version)))?;
    fs::futimens(copy, &Timestamps { last_access: accessed, last_modification: timespec(version.mtime_ns) })
}

/// The same for a directory, whose time of access nobody keeps.
pub(super) fn give_directory(copy: BorrowedFd, source: BorrowedFd, version: &Version) -> Result<()> {
    give(copy, source, version, Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT }, None)
}

/// The same for a link or a FIFO, which is not opened.
pub(super) fn give_named(dir: BorrowedFd, name: &[u8], version: &Version) -> Result<()> {
    let owned = own(version, None, |uid, gid| fs::chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW))?;
    if version.kind == Kind::Fifo {
        fs::chmodat(dir, name, Mode::from_raw_mode(owned.mode(version)), AtFlags::empty())?;
    }
    let kept = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
    let times = Timestamps { last_access: kept, last_modification: timespec(version.mtime_ns) };
    fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// Seconds and nanoseconds, also before 1970.
fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns.div_euclid(NS_PER_S), tv_nsec: ns.rem_euclid(NS_PER_S) as _ }
}

struct Owned {
    user: bool,
    group: bool,
}

impl Owned {
    /// A set-id bit means the owner it was set for, and no other.
    fn mode(&self, version: &Version) -> u32 {
        let lost = if self.user { 0 } else { 0o4000 } | if self.group { 0 } else { 0o2000 };
        version.mode & !lost
    }
}

/// Only root may give a file away, and others only to a group of their own; that is no failure.
fn own(version: &Version, beside: Option<u32>, change: impl Fn(Option<Uid>, Option<Gid>) -> Result<()>) -> Result<Owned> {
    let (user, group) = (Uid::from_raw(version.uid), Gid::from_raw(version.gid));
    let may = |done: Result<()>| match done {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error),
    };
    let own_user = rustix::process::geteuid() == user;
    if own_user && rustix::process::getegid() == group && version.mode & 0o2000 == 0 {
        // As it was made, unless its directory hands another group down; then asking again is cheap and refused at worst.
        if beside == Some(version.gid) {
            return Ok(Owned { user: true, group: true });
        }
        return Ok(Owned { user: true, group: may(change(None, Some(group)))? });
    }
    if may(change(Some(user), Some(group)))? {
        return Ok(Owned { user: true, group: true });
    }
    Ok(Owned { user: own_user, group: may(change(None, Some(group)))? })
}

/// Extended attributes: the user's, the security ones and access lists, where the destination takes them.
fn give_extended(copy: BorrowedFd, source: BorrowedFd) -> Result<()> {
    let mut short = [0; 1024];
    let mut long = Vec::new();
    let names: &[u8] = match fs::flistxattr(source.as_fd(), &mut short) {
        Ok(length) => &short[..length],
        Err(Errno::RANGE) => {
            long.resize(LARGEST, 0);
            let length = fs::flistxattr(source.as_fd(), &mut long[..])?;
            &long[..length]
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(error),
    };
    names.split(|&byte| byte == 0).filter(|name| is_kept(name)).try_for_each(|name| give_one(copy, source, name))
}

fn is_kept(name: &[u8]) -> bool {
    [&b"user."[..], b"security.", b"system.posix_acl_"].iter().any(|prefix| name.starts_with(prefix))
}

fn give_one(copy: BorrowedFd, source: BorrowedFd, name: &[u8]) -> Result<()> {
    let mut value = vec![0; LARGEST];
    let length = match fs::fgetxattr(source, name, &mut value[..]) {
        Err(Errno::NODATA | Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) => return Ok(()),
        other => other?,
    };
    match fs::fsetxattr(copy, name, &value[..length], XattrFlags::empty()) {
        // What the destination does not take, or not this large, is left: the bytes are what must be safe.
        Err(error) if is_beyond(error) => Ok(()),
        other => other,
    }
}

fn is_beyond(error: Errno) -> bool {
    let forbidden = matches!(error, Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL);
    forbidden || matches!(error, Errno::TOOBIG | Errno::RANGE | Errno::NOSPC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_keep_their_nanoseconds() {
        assert_eq!((timespec(-1).tv_sec, timespec(-1).tv_nsec), (-1, 999_999_999));
        assert_eq!((timespec(1_500_000_000).tv_sec, timespec(1_500_000_000).tv_nsec), (1, 500_000_000));
    }

    #[test]
    fn a_set_id_bit_goes_with_its_owner() {
        let root = tempfile::tempdir().unwrap();
        let dir = fs::open(root.path(), fs::OFlags::RDONLY, Mode::empty()).unwrap();
        let version = Version { mode: 0o6755, ..Version::of(&dir).unwrap() };
        let lost = own(&version, None, |_, _| Err(Errno::PERM)).unwrap();
        assert!(!lost.group);
        assert_eq!(lost.mode(&version) & 0o2000, 0);
        assert_eq!(Owned { user: false, group: true }.mode(&version), 0o2755);
        assert_eq!(Owned { user: true, group: true }.mode(&version), 0o6755);
    }

    #[test]
    fn only_the_namespaces_that_mean_something_elsewhere_are_kept() {
        assert!([&b"user.a"[..], b"security.capability", b"system.posix_acl_access"].iter().all(|name| is_kept(name)));
        assert!(![&b"trusted.overlay.opaque"[..], b"system.nfs4_acl", b""].iter().any(|name| is_kept(name)));
    }
}
