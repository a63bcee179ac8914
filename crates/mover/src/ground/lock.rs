//! One mover a state directory.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{refused, words};
use crate::error::{MoverError, Result};

const NAME: &str = "lock";
const LOOKS: u32 = 10;
const LOOK: Duration = Duration::from_millis(10);

/// The right to work, as long as this lives. The kernel takes it back when the process ends, however that happens.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
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
            Ok(()) => Ok(Self { file }),
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

    /// Leaves a line for whoever finds the lock taken.
    pub(super) fn sign(&self, name: &str) {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let line = format!("mover {}, process {}, host {host}\n", name.escape_default(), std::process::id());
        // For people only: the lock holds without.
        self.file.set_len(0).and_then(|()| self.file.write_all_at(line.as_bytes(), 0)).ok();
    }
}

fn unusable(state: &Path, error: &std::io::Error) -> MoverError {
    let why = error.raw_os_error().map_or_else(|| error.to_string(), |number| words(Errno::from_raw_os_error(number)));
    let wrong = format!("cannot use state directory {}: {why}", state.display());
    refused(&wrong, "give --state a directory that this user may write, on node-local storage")
}
