//! How a file outside a scratch directory is known as ours: the attribute `user.tonnage.run`, one JSON object.
//!
//! A mark names its inode and the time of its birth, so that a copy made with its attributes, on this file system or on
//! another where the number happens to be the same, is no file of ours. Once the run has ended it also names size, time
//! of the last write and time of the last change (ctime), so that neither is a file whose contents somebody replaced: the
//! time of a write can be set back, that of a change cannot. The mark's own writing is such a change: the time is known
//! within the moment that took, and nobody is told that the run is over before that moment has passed.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{self, AtFlags, FileType, Statx, StatxFlags, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::scratch::marker::Marker;

pub(crate) const ATTRIBUTE: &CStr = c"user.tonnage.run";

/// A mark with a long run id and host name fits.
const MOST_BYTES: usize = 1024;

/// How often a seal is written at most until its own time is among those that it allows.
const SEALS: u32 = 8;
/// How long a seal's writing may take, at first.
const MOMENT_NS: i128 = 1_000_000;
/// What a kernel's clock of times of files lags behind at most.
const TICK: Duration = Duration::from_millis(10);
/// The same where a file system keeps whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// Which file it is. The time of birth (0 where the file system keeps none) tells a new file from an old one with the
/// same inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    device: (u32, u32),
    pub(crate) inode: u64,
    pub(crate) born_ns: i128,
}

/// What the system says of a file.
pub(crate) struct Look {
    pub(crate) identity: Identity,
    pub(crate) kind: FileType,
    pub(crate) bytes: u64,
    /// Names that it has.
    pub(crate) links: u32,
    pub(crate) allocated_bytes: u64,
    changed_ns: i128,
    /// Of the inode, which nobody can set.
    touched_ns: i128,
}

impl Look {
    /// At an open file.
    pub(crate) fn at(handle: impl AsFd) -> rustix::io::Result<Self> {
        Self::with(handle, c"", AtFlags::EMPTY_PATH)
    }

    /// The same, asked of the server where there is one.
    fn anew(handle: impl AsFd) -> rustix::io::Result<Self> {
        Self::with(handle, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// At what a name leads to; a symbolic link itself.
    pub(crate) fn at_name<P: rustix::path::Arg>(directory: impl AsFd, name: P) -> rustix::io::Result<Self> {
        Self::with(directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    #[cfg(test)]
    pub(crate) fn changed_ns(&self) -> i64 {
        self.changed_ns as i64
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
            links: facts.stx_nlink,
            allocated_bytes: facts.stx_blocks.saturating_mul(512),
            changed_ns: ns(facts.stx_mtime),
            touched_ns: ns(facts.stx_ctime),
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    bytes: u64,
    changed_ns: i128,
    /// The first and the last time of a change that is this seal's own; older versions wrote none.
    #[serde(default)]
    touched_ns: Option<(i128, i128)>,
}

impl Seal {
    /// Of a file that nobody changes before its seal is written.
    fn of(look: &Look, moment_ns: i128) -> Self {
        let touched_ns = Some((look.touched_ns, look.touched_ns + moment_ns));
        Self { bytes: look.bytes, changed_ns: look.changed_ns, touched_ns }
    }

    /// Why the file is not what it was; `None` if it surely is.
    fn broken(&self, now: &Look) -> Option<&'static str> {
        let Some((first, last)) = self.touched_ns else {
            return Some("an older version marked it, and nobody can tell whether it was changed since");
        };
        let same = (self.bytes, self.changed_ns) == (now.bytes, now.changed_ns) && (first..=last).contains(&now.touched_ns);
        (!same).then_some("somebody changed it after Tonnage made it")
    }
}

/// A marked file that nobody sealed: its run goes on, or was killed.
pub(crate) struct Unsealed {
    pub(crate) identity: Identity,
    pub(crate) marker: Marker,
}

/// Of an open file.
pub(crate) fn unsealed(handle: impl AsFd) -> rustix::io::Result<Option<Unsealed>> {
    let identity = Look::at(&handle)?.identity;
    let mark = read(handle, ATTRIBUTE).filter(|mark| mark.names(identity) && mark.sealed.is_none());
    Ok(mark.map(|mark| Unsealed { identity, marker: mark.marker }))
}

impl Mark {
    fn names(&self, identity: Identity) -> bool {
        (self.inode, self.born_ns) == (identity.inode, identity.born_ns)
    }
}

fn read(handle: impl AsFd, attribute: &CStr) -> Option<Mark> {
    let mut text = [0; MOST_BYTES];
    let length = fs::fgetxattr(handle, attribute, &mut text).ok()?;
    let mark: Mark = serde_json::from_slice(&text[..length]).ok()?;
    mark.marker.is_plain().then_some(mark)
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

    /// Says of a file that stays what it is now, so that a later change shows: how long to wait until one does. An error
    /// where none would, and the file keeps a mark that no later run takes.
    pub(crate) fn seal(&self, handle: impl AsFd) -> rustix::io::Result<Duration> {
        let found = Look::anew(&handle)?;
        made().remove(&found.identity);
        self.write(&handle, &found, None)?;
        let mut moment_ns = MOMENT_NS;
        for _ in 0..SEALS {
            let before = Look::anew(&handle)?;
            let seal = Seal::of(&before, moment_ns);
            self.write(&handle, &before, Some(&seal))?;
            let after = Look::anew(&handle)?;
            let whole = [&before, &after].iter().all(|look| look.touched_ns % 1_000_000_000 == 0);
            let lag = if whole { SECOND } else { TICK };
            if after.touched_ns == found.touched_ns {
                // It was written to just now, or nothing but a write moves that time here.
                sleep(lag);
            } else if seal.broken(&after).is_none() {
                return Ok(lag + Duration::from_nanos(u64::try_from(moment_ns).unwrap_or(0)));
            } else {
                moment_ns *= 4;
            }
        }
        self.write(&handle, &found, None)?;
        Err(Errno::OPNOTSUPP)
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

    fn write(&self, handle: impl AsFd, look: &Look, sealed: Option<&Seal>) -> rustix::io::Result<()> {
        let Identity { inode, born_ns, .. } = look.identity;
        let sealed = sealed.cloned();
        let mark = Mark { inode, born_ns, sealed, marker: Marker::of_this_process(&self.run_id) };
        let text = serde_json::to_vec(&mark).expect("a mark is plain text and numbers");
        fs::fsetxattr(handle, self.attribute, &text, XattrFlags::empty())
    }

    /// Whose the open file is.
    pub(crate) fn owner(&self, handle: impl AsFd) -> rustix::io::Result<Owner> {
        let look = Look::at(&handle)?;
        let remembered = made().get(&look.identity).copied();
        let another = |why: &str| Ok(Owner::Another(why.to_owned()));
        let Some(mark) = read(handle, self.attribute).filter(|mark| mark.names(look.identity)) else {
            // One that could be marked and no longer is has been replaced.
            return if remembered == Some(false) { Ok(Owner::ThisRun) } else { another("Tonnage did not make it") };
        };
        if let Some(why) = mark.sealed.as_ref().and_then(|seal| seal.broken(&look)) {
            return another(why);
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
