//! Where a directory is, whatever way led there.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Result as SysResult;

use crate::error::{MoverError, Result};

/// A directory by identity: itself, those it lies in, and where it is within its file system, which a bind mount does not change.
#[derive(Debug)]
pub(super) struct DirectoryPlace {
    path: PathBuf,
    own: (u64, u64),
    above: Vec<(u64, u64)>,
    within: Option<(String, PathBuf)>,
}

impl DirectoryPlace {
    pub(super) fn of(directory: BorrowedFd) -> Result<Self> {
        let path = path_of(directory)?;
        let failed = |error| MoverError::path("look at directory", &path, error);
        let own = identity(directory).map_err(failed)?;
        let above = ancestors(directory, own).map_err(failed)?;
        let within = std::fs::read_to_string("/proc/self/mountinfo").ok().and_then(|mounts| within(&mounts, &path));
        Ok(Self { path, own, above, within })
    }

    /// By the name that the system has for it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.own == other.own
    }

    /// Whether it is `other`, or lies below it, also where the way there is another mount.
    pub(super) fn is_in(&self, other: &Self) -> bool {
        let by_mount = match (&self.within, &other.within) {
            (Some((device, path)), Some((other_device, above))) => device == other_device && path.starts_with(above),
            _ => false,
        };
        self.is(other) || self.above.contains(&other.own) || by_mount
    }
}

/// The name that the system has for an open directory.
pub(super) fn path_of(directory: BorrowedFd) -> Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    std::fs::read_link(&link).map_err(|error| MoverError::path("read", link, error))
}

fn identity(directory: impl AsFd) -> SysResult<(u64, u64)> {
    fs::fstat(directory).map(|found| (found.st_dev, found.st_ino))
}

/// Those above `directory`, up to the root; where one may not be searched, up to there.
fn ancestors(directory: BorrowedFd, own: (u64, u64)) -> SysResult<Vec<(u64, u64)>> {
    let up = |from: BorrowedFd| fs::openat(from, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (mut above, mut last) = (Vec::new(), own);
    let mut here: Option<OwnedFd> = None;
    while let Ok(next) = up(here.as_ref().map_or(directory, AsFd::as_fd)) {
        let found = identity(&next)?;
        if found == last {
            break;
        }
        above.push(found);
        last = found;
        here = Some(next);
    }
    Ok(above)
}

/// Device and path within it of what `path` names, by the mounts of this process.
fn within(mounts: &str, path: &Path) -> Option<(String, PathBuf)> {
    let mut best: Option<(PathBuf, String, PathBuf)> = None;
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(2);
        let (Some(device), Some(root), Some(at)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let at = unescaped(at);
        // Of several mounts on one point, the last is the one that is seen.
        if path.starts_with(&at) && best.as_ref().is_none_or(|(other, ..)| at.starts_with(other)) {
            best = Some((at, device.to_owned(), unescaped(root)));
        }
    }
    let (at, device, root) = best?;
    Some((device, root.join(path.strip_prefix(at).ok()?)))
}

/// Spaces and the like are written as `\040` in the table of mounts.
fn unescaped(text: &str) -> PathBuf {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if bytes[at] == b'\\' => {
                out.push(byte);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /data rw - xfs /dev/b rw\n\
        3 1 8:2 /in/a\\040b /m rw - xfs /dev/b rw\n4 1 8:3 / /m/on rw - xfs /dev/c rw\n";

    #[test]
    fn a_bind_mount_is_where_it_was_bound_from() {
        let place = |path: &str| within(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(place("/m/c"), ("8:2".to_owned(), "/in/a b/c".into()));
        assert_eq!(place("/data/in/a b/c"), place("/m/c"));
        assert_eq!(place("/m/on/c"), ("8:3".to_owned(), "/c".into()));
        assert_eq!(place("/database"), ("8:1".to_owned(), "/database".into()));
    }

    #[test]
    fn a_directory_inside_a_bound_one_is_inside() {
        let of = |path: &str, number| DirectoryPlace {
            path: path.into(),
            own: (0, number),
            above: Vec::new(),
            within: within(MOUNTS, Path::new(path)),
        };
        assert!(of("/m", 1).is_in(&of("/data/in", 2)), "the inner one reached through its bind mount");
        assert!(!of("/data/in", 2).is_in(&of("/m", 1)));
        assert!(!of("/data/inside", 3).is_in(&of("/data/in", 2)), "components, not letters");
    }
}
