//! One mover a state directory.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, AtFlags, FlockOperation, flock};
use rustix::io::Errno;

use super::refusal::refused;
use crate::error::{MoverError, Result, words};

const NAME: &str = "lock";
const LOOKS: u32 = 10;
const LOOK: Duration = Duration::from_millis(10);

/// Where a lock was taken. Whoever removes or replaces the file there takes the right to work along: another mover may have it now.
#[derive(Debug)]
pub struct Seat {
    path: PathBuf,
    itself: (u64, u64),
}

impl Seat {
    /// Fails where the lock is not the one that was taken. What cannot be looked at is for the calls that need it to tell.
    pub(super) fn check(&self) -> Result<()> {
        let gone = match fs::statat(fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => (found.st_dev, found.st_ino) != self.itself,
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
        };
        if !gone {
            return Ok(());
        }
        let state = self.path.parent().unwrap_or(&self.path).display();
        Err(MoverError::Moved(format!(
            "state directory {state} is not the one that this mover locked: it was removed or replaced; \
             hint: put it back and resume, or begin anew"
        )))
    }
}

/// The right to work, as long as this lives. The kernel takes it back when the process ends, however that happens.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock where there is one to take, and makes nothing.
    pub(super) fn take_existing(state: &Path) -> Result<Option<Self>> {
        match OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(state.join(NAME)) {
            Ok(file) => Self::of(file, state).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(state, &error)),
        }
    }

    /// Makes the state directory and the lock, and takes it.
    pub(super) fn take(state: &Path) -> Result<Self> {
        match std::fs::create_dir(state) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(state, &error)),
            _ => {}
        }
        let mut how = OpenOptions::new();
        how.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
        let file = how.open(state.join(NAME)).map_err(|error| unusable(state, &error))?;
        Self::of(file, state)
    }

    fn of(file: File, state: &Path) -> Result<Self> {
        // Whoever looks whether a mover runs shares the lock for a moment.
        let mut taken = flock(&file, FlockOperation::NonBlockingLockExclusive);
        for _ in 0..LOOKS {
            if taken != Err(Errno::WOULDBLOCK) {
                break;
            }
            std::thread::sleep(LOOK);
            taken = flock(&file, FlockOperation::NonBlockingLockExclusive);
        }
        match taken {
            Ok(()) => Ok(Self { file, path: state.join(NAME) }),
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                (&file).take(4096).read_to_string(&mut holder).ok();
                let holder =
                    holder.lines().next().filter(|line| !line.is_empty()).unwrap_or("a process that has not said who it is");
                let wrong = format!("another mover works here: {holder} (state directory {})", state.display());
                Err(refused(&wrong, "wait for it, or stop it first"))
            }
            Err(error) => {
                let wrong = format!("cannot lock in state directory {}: {}", state.display(), words(error));
                Err(refused(&wrong, "give --state a directory on node-local storage"))
            }
        }
    }

    /// Where it is.
    pub(super) fn seat(&self) -> Result<Seat> {
        let found = fs::fstat(&self.file).map_err(|error| MoverError::path("look at", &self.path, error))?;
        Ok(Seat { path: self.path.clone(), itself: (found.st_dev, found.st_ino) })
    }

    /// Leaves a line for whoever finds the lock taken.
    pub(super) fn sign(&self, name: &str) {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let line = format!("mover {}, process {}, host {host}\n", name.escape_default(), std::process::id());
        // For people only: the lock holds without.
        self.file.set_len(0).and_then(|()| self.file.write_all_at(line.as_bytes(), 0)).ok();
    }
}

fn unusable(state: &Path, error: &std::io::Error) -> MoverError {
    let wrong = format!("cannot use state directory {}: {}", state.display(), words(error));
    refused(&wrong, "give --state a directory that this user may write, on node-local storage")
}
