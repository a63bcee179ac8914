//! Who has which files open or mapped for writing, as far as `/proc` shows it to this user.

use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
use rustix::io::Result as SysResult;

/// A file, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    major: u32,
    minor: u32,
    ino: u64,
}

impl FileId {
    /// Of an open file.
    pub(super) fn of(file: impl AsFd) -> SysResult<Self> {
        statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::INO).map(|found| Self::from_statx(&found))
    }

    /// Of what another process has open, without a word to a file system that may not answer.
    fn at(path: &Path) -> SysResult<Self> {
        statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::INO).map(|found| Self::from_statx(&found))
    }

    fn from_statx(found: &Statx) -> Self {
        Self { major: found.stx_dev_major, minor: found.stx_dev_minor, ino: found.stx_ino }
    }

    /// Of one line of a process's maps, if that is a shared mapping of a file that can be written:
    /// `7f0000000000-7f0000001000 rw-s 00000000 fe:00 1234 /path`.
    fn from_map(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (rights, _offset, device, ino) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (major, minor) = device.split_once(':')?;
        let id = Self {
            major: u32::from_str_radix(major, 16).ok()?,
            minor: u32::from_str_radix(minor, 16).ok()?,
            ino: ino.parse().ok()?,
        };
        (rights.as_bytes().get(1) == Some(&b'w') && rights.ends_with('s') && id.ino != 0).then_some(id)
    }
}

/// One list of them.
#[derive(Debug)]
pub(super) struct Holders {
    /// When it was begun, nanoseconds since 1970.
    pub(super) taken_ns: i64,
    by_file: HashMap<FileId, u32>,
}

impl Holders {
    /// Searches all processes that this user may look into.
    pub(super) fn look(now_ns: i64) -> Self {
        let mut by_file = HashMap::new();
        let processes = read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            if let Some(number) = process.file_name().to_str().and_then(|name| name.parse().ok()) {
                open_files(&process.path(), |id| _ = by_file.insert(id, number));
                let maps = read_to_string(process.path().join("maps")).unwrap_or_default();
                by_file.extend(maps.lines().filter_map(FileId::from_map).map(|id| (id, number)));
            }
        }
        Self { taken_ns: now_ns, by_file }
    }

    /// Who has `file`: `process 12 (ior)`.
    pub(super) fn of(&self, file: FileId) -> Option<String> {
        let process = self.by_file.get(&file)?;
        let name = read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        Some(format!("process {process} ({})", name.trim_end().escape_debug()))
    }
}

/// Calls `found` with each file that the process has a descriptor of that can write.
fn open_files(process: &Path, mut found: impl FnMut(FileId)) {
    for descriptor in read_dir(process.join("fd")).into_iter().flatten().flatten() {
        let facts = read_to_string(process.join("fdinfo").join(descriptor.file_name())).unwrap_or_default();
        if can_write(&facts)
            && let Ok(id) = FileId::at(&descriptor.path())
        {
            found(id);
        }
    }
}

/// Whether a descriptor's `fdinfo` says that it can write: `flags: 0100002`, in octal.
fn can_write(facts: &str) -> bool {
    let flags = facts.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
    flags.and_then(|flags| i32::from_str_radix(flags, 8).ok()).is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_mappings_of_files_that_can_be_written_count() {
        let id = FileId { major: 0xfe, minor: 1, ino: 77 };
        assert_eq!(FileId::from_map("7f0-7f1 rw-s 00000000 fe:01 77   /a b"), Some(id));
        for line in ["7f0-7f1 rw-p 0 fe:01 77 /a", "7f0-7f1 r--s 0 fe:01 77 /a", "7f0-7f1 rw-s 0 00:00 0", "7f0-7f1 rw-s", ""] {
            assert_eq!(FileId::from_map(line), None, "{line}");
        }
    }

    #[test]
    fn the_flags_of_a_descriptor_tell_whether_it_can_write() {
        assert!(can_write("pos:\t0\nflags:\t0100002\n") && can_write("flags:\t01"));
        assert!(!can_write("pos:\t0\nflags:\t0100000\n") && !can_write("") && !can_write("flags:\tx"));
    }
}
