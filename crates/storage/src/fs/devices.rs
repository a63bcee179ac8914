//! Scratch directories, one a device: which file lives in which.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::api::Note;
use crate::error::{Result, StorageError, linked};
use crate::fs::accounting::is_counted;
use crate::fs::direct::{self, Support};
use crate::fs::file_place::FilePlace;
use crate::fs::held_directories::{failed, require_one_name};
use crate::scratch::directory::Directory;
use crate::target::{Process, TargetSpec};

/// The marked directories of a target.
#[derive(Debug)]
pub(crate) struct Devices {
    directories: Vec<Directory>,
    assign: Vec<u32>,
    pins: Vec<String>,
    process: Process,
}

impl Devices {
    /// Holds the directories of `spec`, at least one; each must be a marked one.
    pub(crate) fn open(spec: &TargetSpec) -> Result<Self> {
        let (paths, assign) = (&spec.directories, &spec.assign);
        if let Some(device) = assign.iter().find(|&&device| device as usize >= paths.len()) {
            let count = paths.len();
            let text = format!("assign names device {device}, and there are {count}, counted from 0; use numbers below {count}");
            return Err(StorageError::Unsupported(text));
        }
        check_pins(&spec.pins, paths.len())?;
        let directories = paths.iter().enumerate().map(|(index, path)| Directory::open_marked(path, spec.mark(index)));
        let directories = directories.collect::<Result<_>>()?;
        Ok(Self { directories, assign: assign.clone(), pins: spec.pins.clone(), process: spec.process })
    }

    fn of(&self, file: u32) -> &Directory {
        &self.directories[self.site(file)]
    }
}

/// One for each directory or none, and each a part of a name: no way out of the directory.
fn check_pins(pins: &[String], directories: usize) -> Result<()> {
    if !pins.is_empty() && pins.len() != directories {
        let text = format!("{} pins for {directories} directories; give one for each, or none", pins.len());
        return Err(StorageError::Unsupported(text));
    }
    match pins.iter().find(|pin| pin.contains(['/', '\0']) || pin.len() > 200) {
        Some(pin) => Err(StorageError::Unsupported(format!("{pin:?} cannot be a part of a file's name"))),
        None => Ok(()),
    }
}

impl FilePlace for Devices {
    fn sites(&self) -> usize {
        self.directories.len()
    }

    fn site(&self, file: u32) -> usize {
        let file = file as usize;
        if self.assign.is_empty() { file % self.directories.len() } else { self.assign[file % self.assign.len()] as usize }
    }

    fn site_path(&self, site: usize) -> &Path {
        self.directories[site].path()
    }

    fn handle(&self, site: usize) -> Option<BorrowedFd<'_>> {
        Some(self.directories[site].as_fd())
    }

    fn probe(&self, site: usize) -> Support {
        direct::probe(&self.directories[site])
    }

    fn is_counted(&self, site: usize) -> bool {
        is_counted(&self.directories[site])
    }

    fn path(&self, file: u32) -> PathBuf {
        self.of(file).data_path(file)
    }

    fn open(&self, file: u32, flags: OFlags) -> Result<OwnedFd> {
        let pin = self.pins.get(self.site(file)).map_or("", String::as_str);
        let opened = if pin.is_empty() || !flags.contains(OFlags::CREATE) {
            self.of(file).open_data(file, flags)
        } else {
            self.of(file).open_pinned(file, pin, flags)
        };
        let handle = opened.map_err(|errno| failed("open", &self.path(file), errno))?;
        if flags.contains(OFlags::CREATE) {
            require_one_name(&handle).map_err(|errno| match errno {
                Errno::MLINK => linked(&self.path(file)),
                _ => failed("measure", &self.path(file), errno),
            })?;
        }
        Ok(handle)
    }

    fn scratch(&self, file: u32) -> Option<&Directory> {
        Some(self.of(file))
    }

    fn length(&self, file: u32) -> Result<u64> {
        self.of(file).length(file)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    /// What is not a data file stays and is no error here: the directory stays as well.
    fn clear(&self) -> Result<()> {
        if self.process == Process::Other {
            return Ok(());
        }
        self.directories.iter().try_for_each(|directory| crate::scratch::contents::remove_data(directory).map(drop))
    }

    /// The scratch directories are removed by those who made them.
    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}
