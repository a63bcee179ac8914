//! What a copy keeps of its source beside the bytes: owner, extended attributes, mode, times; as far as this user may.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use crate::file_version::{Kind, Version};

const NS_PER_S: i64 = 1_000_000_000;
/// The kernel's own bounds of a list of names and of a value.
const LARGEST: usize = 64 << 10;

/// Who may use a file beside its mode; and of a directory, what is made in it gets from the beginning.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
const DEFAULT_LIST: &[u8] = b"system.posix_acl_default";
const LISTS: [&[u8]; 2] = [ACCESS_LIST, DEFAULT_LIST];

/// What a copy lacks of what its source has, in words; mostly nothing.
pub(crate) type Dropped = Vec<String>;

/// Gives an open copy what its source has, and says which extended attributes the destination does not take. The times come last,
/// because all else would move them. `made_for` is the user and the group that it has from its making, where these are known.
pub(super) fn give(
    copy: BorrowedFd,
    source: BorrowedFd,
    version: &Version,
    accessed: Timespec,
    made_for: Option<(u32, u32)>,
) -> Result<Dropped> {
    let owned = own(version, made_for, |uid, gid| fs::fchown(copy, uid, gid))?;
    let dropped = give_extended(copy, source)?;
    fs::fchmod(copy, Mode::from_raw_mode(owned.mode(version.mode)))?;
    fs::futimens(copy, &Timestamps { last_access: accessed, last_modification: timespec(version.mtime_ns) })?;
    Ok(dropped)
}

/// Gives a copy the extended attributes of its source; which of them it does not take.
fn give_extended(copy: BorrowedFd, source: BorrowedFd) -> Result<Dropped> {
    let mut dropped = Dropped::new();
    each_extended(source, &mut |name| {
        if !give_one(copy, source, name)? {
            dropped.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(())
    })?;
    Ok(dropped)
}

/// Adds what `made`, the copy, shows by itself: another owner, mode or time than was asked for.
pub(super) fn compare(version: &Version, made: &Version, dropped: &mut Dropped) {
    if (version.uid, version.gid) != (made.uid, made.gid) {
        dropped.push("owner".to_owned());
    }
    if version.mode != made.mode && version.kind != Kind::Link {
        dropped.push("mode".to_owned());
    }
    compare_times(version, made, dropped);
}

/// Adds the time of change, where `made` has not kept it, or it is beyond what a version holds.
pub(super) fn compare_times(version: &Version, made: &Version, dropped: &mut Dropped) {
    let beyond = matches!(version.mtime_ns, i64::MIN | i64::MAX);
    if beyond || !is_time_of(made.mtime_ns, version.mtime_ns) {
        dropped.push("times".to_owned());
    }
}

/// Whether a file system that keeps times as coarse as `kept` would have kept `given` so.
pub(super) fn is_time_of(kept: i64, given: i64) -> bool {
    let grain = grain_of(kept);
    kept.div_euclid(grain) == given.div_euclid(grain)
}

/// Whether the copy has the time `given`, as exactly as its file system keeps times: its own time of change tells how exactly that is.
pub(super) fn has_time(copy: &Version, given: i64) -> bool {
    copy.mtime_ns == given || is_time_of(copy.mtime_ns, given) && copy.ctime_ns % grain_of(copy.mtime_ns) == 0
}

/// The coarsest step, in nanoseconds, in which a file system may count that keeps this time.
fn grain_of(kept: i64) -> i64 {
    const GRAINS: [i64; 5] = [2 * NS_PER_S, NS_PER_S, 1_000_000, 1_000, 100];
    GRAINS.into_iter().find(|grain| kept % grain == 0).unwrap_or(1)
}

/// What `there`, which somebody else put there, lacks of what the source has.
pub(super) fn lacking(there: BorrowedFd, source: BorrowedFd, version: &Version) -> Result<Dropped> {
    let mut dropped = Dropped::new();
    compare(version, &Version::of(there)?, &mut dropped);
    each_extended(source, &mut |name| {
        let value = |file| {
            let mut value = vec![0; LARGEST];
            let length = fs::fgetxattr(file, name, &mut value[..])?;
            value.truncate(length);
            Ok::<_, Errno>(value)
        };
        if value(source).is_ok_and(|wanted| value(there) != Ok(wanted)) {
            dropped.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(())
    })?;
    Ok(dropped)
}

/// Gives a directory of this mover's the owner, mode and extended attributes of its source, and leaves it no access list that the
/// source does not have. `more`: permissions that it keeps beside the source's. `None` where it has all of that already.
pub(super) fn give_directory(copy: BorrowedFd, source: BorrowedFd, version: &Version, more: u32) -> Result<Option<Dropped>> {
    let there = Version::of(copy)?;
    let stray: Vec<&[u8]> = LISTS.into_iter().filter(|list| has(copy, list) && !has(source, list)).collect();
    let itself = (there.mode | more, there.uid, there.gid) == (version.mode | more, version.uid, version.gid);
    if itself && stray.is_empty() && holds(copy, source) {
        return Ok(None);
    }
    let owned = own(version, None, |uid, gid| fs::fchown(copy, uid, gid))?;
    let bits = Mode::from_raw_mode(owned.mode(version.mode | more));
    // First: it narrows what a list grants, and is what is left where the list goes.
    fs::fchmod(copy, bits)?;
    stray.iter().try_for_each(|list| fs::fremovexattr(copy, *list))?;
    let dropped = give_extended(copy, source)?;
    // A list that was given brought a mode of its own.
    fs::fchmod(copy, bits)?;
    Ok(Some(dropped))
}

/// Gives it the time of change as well; the time of access is nobody's to keep.
pub(super) fn give_directory_time(copy: BorrowedFd, version: &Version) -> Result<()> {
    let kept = accessed(&fs::fstat(copy)?);
    fs::futimens(copy, &Timestamps { last_access: kept, last_modification: timespec(version.mtime_ns) })
}

/// The same for a link or a FIFO, which is not opened.
pub(super) fn give_named(dir: BorrowedFd, name: &[u8], version: &Version) -> Result<()> {
    let owned = own(version, None, |uid, gid| fs::chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW))?;
    if version.kind == Kind::Fifo {
        fs::chmodat(dir, name, Mode::from_raw_mode(owned.mode(version.mode)), AtFlags::empty())?;
    }
    let kept = accessed(&fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?);
    let times = Timestamps { last_access: kept, last_modification: timespec(version.mtime_ns) };
    fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// The time of access as it is: many FUSE file systems ignore a call that sets one time and leaves the other, and say nothing.
fn accessed(found: &fs::Stat) -> Timespec {
    Timespec { tv_sec: found.st_atime as _, tv_nsec: found.st_atime_nsec as _ }
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
    fn mode(&self, mode: u32) -> u32 {
        let lost = if self.user { 0 } else { 0o4000 } | if self.group { 0 } else { 0o2000 };
        mode & !lost
    }
}

/// Only root may give a file away, and others only to a group of their own; that is no failure.
fn own(
    version: &Version,
    made_for: Option<(u32, u32)>,
    change: impl Fn(Option<Uid>, Option<Gid>) -> Result<()>,
) -> Result<Owned> {
    let (user, group) = (Uid::from_raw(version.uid), Gid::from_raw(version.gid));
    let may = |done: Result<()>| match done {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error),
    };
    if version.mode & 0o2000 == 0 && made_for == Some((version.uid, version.gid)) {
        return Ok(Owned { user: true, group: true });
    }
    if may(change(Some(user), Some(group)))? {
        return Ok(Owned { user: true, group: true });
    }
    Ok(Owned { user: rustix::process::geteuid() == user, group: may(change(None, Some(group)))? })
}

/// Calls `each` with the extended attributes that are kept: the user's, the security and the trusted ones, and access lists. Who is not
/// root is not told of trusted ones.
fn each_extended(source: BorrowedFd, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
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
    names.split(|&byte| byte == 0).filter(|name| is_kept(name)).try_for_each(each)
}

/// Whether a copy has the very extended attributes that its source has, of those that are kept. Where that cannot be told, it has not.
pub(super) fn same_extended(copy: BorrowedFd, source: BorrowedFd) -> bool {
    let all = |file| extended(file).ok();
    all(copy).is_some_and(|copy| all(source).is_some_and(|source| copy == source))
}

/// Whether a copy has every extended attribute of its source; it may have more.
fn holds(copy: BorrowedFd, source: BorrowedFd) -> bool {
    let (Ok(there), Ok(wanted)) = (extended(copy), extended(source)) else { return false };
    wanted.iter().all(|(name, value)| there.get(name) == Some(value))
}

/// Whether a file has this extended attribute.
fn has(file: BorrowedFd, name: &[u8]) -> bool {
    fs::fgetxattr_query(file, name).is_ok_and(|length| length > 0)
}

/// Whether what is made in this directory gets an access list from it.
pub(super) fn hands_down_lists(directory: BorrowedFd) -> bool {
    has(directory, DEFAULT_LIST)
}

/// Takes the access lists off what was just made that the directory it was made in has handed down, and gives it the mode `bits`: the list had
/// its own say in that. Nobody else could use it so far, where it was made for its owner alone: such a mode bounds what a list grants.
pub(super) fn disinherit(made: BorrowedFd, bits: u32) -> Result<()> {
    let lists: Vec<&[u8]> = LISTS.into_iter().filter(|list| has(made, list)).collect();
    if lists.is_empty() {
        return Ok(());
    }
    lists.iter().try_for_each(|list| fs::fremovexattr(made, *list))?;
    fs::fchmod(made, Mode::from_raw_mode(bits))
}

/// The same for a FIFO, which is not opened; its mode is given later.
pub(super) fn disinherit_fifo(dir: BorrowedFd, name: &[u8]) -> Result<()> {
    let fifo = fs::openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    match fs::removexattr(format!("/proc/self/fd/{}", fifo.as_raw_fd()), ACCESS_LIST) {
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// Extended attributes by name.
pub type Extended = BTreeMap<Vec<u8>, Vec<u8>>;

/// The extended attributes of a file that are kept.
pub fn extended(file: BorrowedFd) -> Result<Extended> {
    let mut found = BTreeMap::new();
    each_extended(file, &mut |name| {
        // Most files have none: only then is there a place for a value.
        let mut value = vec![0; LARGEST];
        let length = fs::fgetxattr(file, name, &mut value[..])?;
        found.insert(name.to_vec(), value[..length].to_vec());
        Ok(())
    })?;
    Ok(found)
}

/// What a file system or a host keeps there for itself means nothing elsewhere.
const OF_THE_PLACE: [&[u8]; 12] = [
    b"security.selinux",
    b"security.SMACK64",
    b"security.apparmor",
    b"security.ima",
    b"security.evm",
    b"trusted.overlay.",
    b"trusted.lov",
    b"trusted.lma",
    b"trusted.link",
    b"trusted.fid",
    b"trusted.gfid",
    b"trusted.glusterfs.",
];

fn is_kept(name: &[u8]) -> bool {
    let kept = [&b"user."[..], b"security.", b"trusted.", b"system.posix_acl_"];
    kept.iter().any(|prefix| name.starts_with(prefix)) && !OF_THE_PLACE.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the destination took it.
fn give_one(copy: BorrowedFd, source: BorrowedFd, name: &[u8]) -> Result<bool> {
    let mut value = vec![0; LARGEST];
    let length = match fs::fgetxattr(source, name, &mut value[..]) {
        Err(Errno::NODATA) => return Ok(true),
        Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) => return Ok(false),
        other => other?,
    };
    match fs::fsetxattr(copy, name, &value[..length], XattrFlags::empty()) {
        Ok(()) => Ok(true),
        // What the destination does not take, or not this large, is left and told: the bytes are what must be safe.
        Err(error) if is_beyond(error) => Ok(false),
        Err(error) => Err(error),
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
    fn a_time_is_compared_as_exactly_as_it_was_kept() {
        assert!(is_time_of(1_000_000_000, 1_999_999_999) && !is_time_of(1_000_000_000, 2_000_000_000));
        assert!(is_time_of(5_000_001_000, 5_000_001_999) && !is_time_of(5_000_001_001, 5_000_001_000));
        assert!(is_time_of(-1_000_000_000, -1) && !is_time_of(-1_000_000_000, 0));
        assert!(is_time_of(2_000_000_000, 3_999_999_999) && !is_time_of(2_000_000_000, 4_000_000_000));
    }

    #[test]
    fn a_time_that_the_copy_does_not_have_or_no_version_holds_is_dropped() {
        let file = tempfile::tempfile().unwrap();
        let of = |mtime_ns| Version { mtime_ns, ..Version::of(&file).unwrap() };
        let dropped = |given, kept| {
            let mut dropped = Dropped::new();
            compare(&of(given), &of(kept), &mut dropped);
            dropped
        };
        assert!(dropped(NS_PER_S + 1, NS_PER_S).is_empty());
        // ext4 keeps no time before 1901.
        assert_eq!(dropped(-3_000_000_000 * NS_PER_S, -2_147_483_648 * NS_PER_S), ["times"]);
        assert_eq!(dropped(i64::MAX, i64::MAX), ["times"]);
    }

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
        assert_eq!(lost.mode(version.mode) & 0o2000, 0);
        assert_eq!(Owned { user: false, group: true }.mode(version.mode), 0o2755);
        assert_eq!(Owned { user: true, group: true }.mode(version.mode), 0o6755);
    }

    #[test]
    fn only_what_was_made_for_its_owner_and_group_is_not_given_to_them() {
        let file = tempfile::tempfile().unwrap();
        let version = Version { mode: 0o644, ..Version::of(&file).unwrap() };
        let (uid, gid) = (version.uid, version.gid);
        let asked = |version: &Version, made_for| {
            let asked = std::cell::Cell::new(false);
            let owned = own(version, made_for, |_, _| {
                asked.set(true);
                Ok(())
            });
            assert!(owned.is_ok_and(|owned| owned.user && owned.group));
            asked.get()
        };
        assert!(!asked(&version, Some((uid, gid))));
        assert!(asked(&version, None) && asked(&version, Some((uid, gid + 1))) && asked(&version, Some((uid + 1, gid))));
        // A set-id bit goes where the group is not the one it was set for, so that is asked for all the same.
        assert!(asked(&Version { mode: 0o2755, ..version }, Some((uid, gid))));
    }

    #[test]
    fn only_the_namespaces_that_mean_something_elsewhere_are_kept() {
        let kept = [&b"user.a"[..], b"security.capability", b"trusted.mine", b"system.posix_acl_access"];
        assert!(kept.iter().all(|name| is_kept(name)));
        assert!(![&b"trusted.overlay.opaque"[..], b"security.selinux", b"system.nfs4_acl", b""].iter().any(|name| is_kept(name)));
    }
}
