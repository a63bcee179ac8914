//! Where files of the user begin that are to have a directory's striping: made in a marked directory of ours, and moved
//! to their name, which they never take from another file.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::Result;
use crate::scratch::directory::Directory;

/// A marked directory on the file system of the names it is for.
#[derive(Debug)]
pub(crate) struct CreateDirectory {
    directory: Directory,
}

impl CreateDirectory {
    pub(crate) fn open(path: &Path, mark: Option<&str>) -> Result<Self> {
        Ok(Self { directory: Directory::open_marked(path, mark)? })
    }

    /// Makes an empty file and gives it the name `leaf` in `parent`; `EXIST` where that is taken. `number` tells the
    /// files of one such directory apart; each is made by one task at a time.
    pub(crate) fn make(
        &self,
        number: u32,
        flags: OFlags,
        mode: Mode,
        parent: &OwnedFd,
        leaf: &OsStr,
    ) -> rustix::io::Result<OwnedFd> {
        let handle = self.directory.make_data(number, flags, mode)?;
        let moved = self.move_to(number, parent, leaf);
        if moved.is_err() {
            let _ = self.directory.unlink_data(number);
        }
        moved.map(|()| handle)
    }

    fn move_to(&self, number: u32, parent: &OwnedFd, leaf: &OsStr) -> rustix::io::Result<()> {
        let name = Directory::name_of_data(number);
        match fs::renameat_with(&self.directory, name.as_str(), parent, leaf, RenameFlags::NOREPLACE) {
            // Lustre knows no flags; a link is never made over another name either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::linkat(&self.directory, name.as_str(), parent, leaf, AtFlags::empty())?;
                self.directory.unlink_data(number)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::scratch::Scratch;

    fn count(path: &Path) -> usize {
        path.read_dir().unwrap().count()
    }

    #[test]
    fn a_file_has_its_name_and_mode_and_the_nursery_is_empty_again() {
        let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let scratch = Scratch::create(home.path(), "nursery").unwrap();
        let create_directory = CreateDirectory::open(scratch.path(), None).unwrap();
        let parent = crate::fs::held_directories::open_directory(fs::CWD, home.path()).unwrap();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let handle = create_directory.make(3, flags, Mode::RUSR | Mode::WUSR, &parent, OsStr::new("testFile")).unwrap();
        let made = home.path().join("testFile").metadata().unwrap();
        assert_eq!(fs::fstat(&handle).unwrap().st_ino, made.ino());
        assert_eq!(count(scratch.path()), 1, "the marker alone");
    }

    #[test]
    fn a_name_that_is_taken_stays_with_whose_it_is() {
        let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let scratch = Scratch::create(home.path(), "nursery").unwrap();
        let create_directory = CreateDirectory::open(scratch.path(), None).unwrap();
        let parent = crate::fs::held_directories::open_directory(fs::CWD, home.path()).unwrap();
        let inode = {
            use std::io::Write;
            let mut theirs = std::fs::File::create_new(home.path().join("theirs")).unwrap();
            theirs.write_all(b"theirs").unwrap();
            theirs.metadata().unwrap().ino()
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let taken = create_directory.make(0, flags, Mode::RUSR | Mode::WUSR, &parent, OsStr::new("theirs"));
        assert_eq!(taken.unwrap_err(), Errno::EXIST);
        assert_eq!(home.path().join("theirs").metadata().unwrap().ino(), inode);
        assert_eq!(count(scratch.path()), 1, "what was made for it is gone");
    }
}
