//! How a file outside a scratch directory is known as ours: the attribute `user.tonnage.run`, one JSON object.
//!
//! A mark names its inode and the time of its birth, so that a copy made with its attributes, on this file system or on
//! another where the number happens to be the same, is no file of ours, and once the run has ended also
//! size and time of the last change, so that neither is a file whose contents somebody replaced.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{self, AtFlags, FileType, Statx, StatxFlags, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::marker::Marker;

pub(crate) const ATTRIBUTE: &CStr = c"user.tonnage.run";

/// A mark with a long run id and host name fits.
const MOST_BYTES: usize = 1024;

/// Which file it is. The time of birth (0 where the file system keeps none) tells a new file from an old one with the
/// same inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
    born_ns: i128,
}

/// What the system says of a file.
pub(crate) struct Look {
    pub(crate) identity: Identity,
    pub(crate) kind: FileType,
    pub(crate) bytes: u64,
    changed_ns: i128,
}

impl Look {
    /// At an open file.
    pub(crate) fn at(handle: impl AsFd) -> rustix::io::Result<Self> {
        Self::with(handle, c"", AtFlags::EMPTY_PATH)
    }

    /// At what a name leads to; a symbolic link itself.
    pub(crate) fn at_name<P: rustix::path::Arg>(directory: impl AsFd, name: P) -> rustix::io::Result<Self> {
        Self::with(directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn with<P: rustix::path::Arg>(at: impl AsFd, name: P, flags: AtFlags) -> rustix::io::Result<Self> {
        let facts: Statx = fs::statx(at, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let ns = |time: fs::StatxTimestamp| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        let born = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::BTIME);
        Ok(Self {
            identity: Identity {
                device: (facts.stx_dev_major, facts.stx_dev_minor),
                inode: facts.stx_ino,
                born_ns: if born { ns(facts.stx_btime) } else { 0 },
            },
            kind: FileType::from_raw_mode(u32::from(facts.stx_mode)),
            bytes: facts.stx_size,
            changed_ns: ns(facts.stx_mtime),
        })
    }
}

/// The files that this process created, and whether each could be marked.
static MADE: Mutex<BTreeMap<Identity, bool>> = Mutex::new(BTreeMap::new());

fn made() -> MutexGuard<'static, BTreeMap<Identity, bool>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whose a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Made by this process, or marked by this run.
    ThisRun,
    /// Marked by a run that ended.
    EarlierRun,
    /// Anybody else's, for this reason.
    Another(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    inode: u64,
    born_ns: i128,
    sealed: Option<Seal>,
    #[serde(flatten)]
    marker: Marker,
}

/// What the file was when its run ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    bytes: u64,
    changed_ns: i128,
}

/// The marks of one run.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    pub(crate) run_id: String,
    /// Its name; tests give one that no file system takes.
    pub(crate) attribute: &'static CStr,
}

impl Marks {
    /// Remembers and marks a file that this process has just created; whether it could be marked.
    pub(crate) fn adopt(&self, handle: impl AsFd) -> rustix::io::Result<(Identity, bool)> {
        let look = Look::at(&handle)?;
        let marked = self.write(handle, &look, None).is_ok();
        made().insert(look.identity, marked);
        Ok((look.identity, marked))
    }

    /// Says of a file that stays what it is now, so that a later change shows.
    pub(crate) fn seal(&self, handle: impl AsFd) -> rustix::io::Result<()> {
        let look = Look::at(&handle)?;
        made().remove(&look.identity);
        let seal = Seal { bytes: look.bytes, changed_ns: look.changed_ns };
        self.write(handle, &look, Some(seal))
    }

    /// Whether the file system keeps marks: one that does may only not have this one yet.
    pub(crate) fn are_kept(&self, handle: impl AsFd) -> bool {
        let mut text = [0; MOST_BYTES];
        !matches!(fs::fgetxattr(handle, self.attribute, &mut text), Err(Errno::OPNOTSUPP))
    }

    /// Whether this process made the file and could not mark it, so that only it knows.
    pub(crate) fn only_known_here(identity: Identity) -> bool {
        made().get(&identity) == Some(&false)
    }

    /// A file that was removed is no longer remembered.
    pub(crate) fn forget(identity: Identity) {
        made().remove(&identity);
    }

    fn write(&self, handle: impl AsFd, look: &Look, sealed: Option<Seal>) -> rustix::io::Result<()> {
        let Identity { inode, born_ns, .. } = look.identity;
        let mark = Mark { inode, born_ns, sealed, marker: Marker::of_this_process(&self.run_id) };
        let text = serde_json::to_vec(&mark).expect("a mark is plain text and numbers");
        fs::fsetxattr(handle, self.attribute, &text, XattrFlags::empty())
    }

    fn read(&self, handle: impl AsFd) -> Option<Mark> {
        let mut text = [0; MOST_BYTES];
        let length = fs::fgetxattr(handle, self.attribute, &mut text).ok()?;
        serde_json::from_slice(&text[..length]).ok()
    }

    /// Whose the open file is.
    pub(crate) fn owner(&self, handle: impl AsFd) -> rustix::io::Result<Owner> {
        let look = Look::at(&handle)?;
        let remembered = made().get(&look.identity).copied();
        let another = |why: &str| Ok(Owner::Another(why.to_owned()));
        let Identity { inode, born_ns, .. } = look.identity;
        let Some(mark) = self.read(handle).filter(|mark| (mark.inode, mark.born_ns) == (inode, born_ns)) else {
            // One that could be marked and no longer is has been replaced.
            return if remembered == Some(false) { Ok(Owner::ThisRun) } else { another("Tonnage did not make it") };
        };
        let now = Seal { bytes: look.bytes, changed_ns: look.changed_ns };
        if mark.sealed.as_ref().is_some_and(|seal| *seal != now) {
            return another("somebody changed it after Tonnage made it");
        }
        if remembered.is_some() || (!self.run_id.is_empty() && mark.marker.run_id == self.run_id) {
            return Ok(Owner::ThisRun);
        }
        if mark.sealed.is_some() {
            return Ok(Owner::EarlierRun);
        }
        // A killed run sealed nothing, so nobody can tell what was written to the file since.
        let killed = || format!("run {} was killed while it wrote it, and it may hold other data since", mark.marker.run_id);
        Ok(Owner::Another(mark.marker.worker().unwrap_or_else(killed)))
    }
}
