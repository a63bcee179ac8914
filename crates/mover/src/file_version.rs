//! What a name in a tree is at one moment, so that a change shows.

use std::os::fd::AsFd;

use rustix::fs::{self, AtFlags, Statx, StatxFlags};
use rustix::io::Result;

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A regular file.
    File = 0,
    /// A directory.
    Directory = 1,
    /// A symbolic link; copied as one, never followed.
    Link = 2,
    /// A FIFO; made anew, never opened.
    Fifo = 3,
    /// A socket or a device; never staged, and said.
    Special = 4,
}

/// One state of a name. Every write moves `ctime_ns`, so two equal versions hold the same bytes; only a store through a mapping does
/// not move it on every file system, see [`Stores`](crate::Stores).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// What it is.
    pub kind: Kind,
    /// Inode number.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of the bytes, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the bytes or of what is known about them.
    pub ctime_ns: i64,
    /// Permission bits, with set-id and sticky.
    pub mode: u32,
    /// Names it has.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Version {
    /// Of the entry `name` of `directory`, a link not followed.
    pub fn at(directory: impl AsFd, name: &[u8]) -> Result<Self> {
        fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::BASIC_STATS)
            .map(|found| Self::from_statx(&found))
    }

    /// Of an open file.
    pub fn of(file: impl AsFd) -> Result<Self> {
        fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map(|found| Self::from_statx(&found))
    }

    pub(crate) fn from_statx(found: &Statx) -> Self {
        let mode = u32::from(found.stx_mode);
        let kind = match fs::FileType::from_raw_mode(mode) {
            fs::FileType::RegularFile => Kind::File,
            fs::FileType::Directory => Kind::Directory,
            fs::FileType::Symlink => Kind::Link,
            fs::FileType::Fifo => Kind::Fifo,
            _ => Kind::Special,
        };
        let ns = |seconds: i64, nanoseconds: u32| seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(nanoseconds));
        Self {
            kind,
            ino: found.stx_ino,
            size: found.stx_size,
            mtime_ns: ns(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            ctime_ns: ns(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
            mode: mode & 0o7777,
            links: found.stx_nlink,
            uid: found.stx_uid,
            gid: found.stx_gid,
        }
    }

    /// Whether `other` holds the same bytes under the same inode; a rename or a new link in between does not count.
    #[must_use]
    pub fn same_bytes(&self, other: &Self) -> bool {
        (self.kind, self.ino, self.size, self.mtime_ns) == (other.kind, other.ino, other.size, other.mtime_ns)
    }

    /// Whether `other` may hold the same bytes, under any inode.
    #[must_use]
    pub fn same_but_for_its_inode(&self, other: &Self) -> bool {
        (self.kind, self.size, self.mtime_ns) == (other.kind, other.size, other.mtime_ns)
    }

    /// Whether `found` is what this version was, so that nothing needs to go again. A directory's size, times and links are
    /// those of its listing, which is carried name by name: they do not count. A file that got or lost another name is not
    /// unchanged: `ctime_ns` has moved, and what else may have moved it is told by nothing but a look at the bytes.
    #[must_use]
    pub fn unchanged(&self, found: &Self) -> bool {
        let itself = |of: &Self| (of.kind, of.ino, of.mode, of.uid, of.gid);
        let rest = |of: &Self| (of.size, of.mtime_ns, of.ctime_ns);
        itself(self) == itself(found) && (self.kind == Kind::Directory || rest(self) == rest(found))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_new_name_changes_no_directory_but_a_new_mode_does() {
        let below = tempfile::tempdir().unwrap();
        let handle = File::open(below.path()).unwrap();
        let before = Version::of(&handle).unwrap();
        File::create(below.path().join("new")).unwrap();
        assert!(before.unchanged(&Version::of(&handle).unwrap()));
        handle.set_permissions(PermissionsExt::from_mode(0o711)).unwrap();
        assert!(!before.unchanged(&Version::of(&handle).unwrap()));
    }

    #[test]
    fn whatever_moves_the_time_of_change_is_a_change_also_a_second_name() {
        let below = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| below.path().join(name));
        let file = File::create(&one).unwrap();
        let before = Version::of(&file).unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        let after = Version::of(&file).unwrap();
        assert_eq!(before.unchanged(&after), before.ctime_ns == after.ctime_ns);
        assert!(!before.unchanged(&Version { ctime_ns: before.ctime_ns + 1, links: 2, ..before }));
    }

    #[test]
    fn a_file_whose_time_was_set_back_has_changed() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1).unwrap();
        let before = Version::of(&file).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(!before.unchanged(&Version::of(&file).unwrap()));
    }
}
