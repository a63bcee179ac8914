//! Whether a tree is the one that it was: a path alone says nothing once a file system is not mounted any more.
//!
//! The destination has a marker of this mover's with a random token, durable before the first copy. What it is on is kept beside the
//! journal, with the token. The token decides; device, file-system number and inode may be others after a mount or on another host.
//! The source need not be writable, so it is known by its file system and its inode, as far as these last.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{self, Access, AtFlags, Mode, OFlags};
use rustix::io::{Errno, Result as SysResult};
use serde::{Deserialize, Serialize};

use super::lock::Seat;
use super::refusal::refused;
use crate::STATE_DIRECTORY;
use crate::bytes::stored::has_stored;
use crate::error::{MoverError, Result, words};
use crate::file_version::{Kind, Version};
use crate::hex::hex;
use crate::journal::{Identity, Journal};
use crate::manifest;
use crate::names;
use crate::options::Options;
use crate::path::TreePath;
use crate::tree::Tree;

/// File in the state directory that says which the trees are. Not in the journal, so that it outlives one that is damaged.
const FILE: &str = "trees.json";
/// ext2 to ext4, btrfs, tmpfs, F2FS: their number stays with the file system, and ends with it.
const LASTING: [u64; 4] = [0xef53, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];

/// More whose inodes keep their numbers for as long as they are there: XFS, NFS, Lustre, GPFS, Ceph.
const NUMBERED: [u64; 5] = [0x5846_5342, 0x6969, 0x0bd0_0bd3, 0x4750_4653, 0x00c3_6400];
/// A marker that the storage stored as something else is made anew so often.
const TRIES: u32 = 3;

/// What a directory is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    kind: u64,
    file_system: u64,
    ino: u64,
}

impl Seen {
    fn of(directory: BorrowedFd) -> SysResult<Self> {
        let (found, itself) = (fs::fstatfs(directory)?, fs::fstat(directory)?);
        let file_system = fs::fstatvfs(directory)?.f_fsid;
        Ok(Self { kind: found.f_type as u64 & 0xffff_ffff, file_system, ino: itself.st_ino })
    }

    /// Whether `now` may be the same directory.
    fn may_be(&self, now: &Self) -> bool {
        let lasting = LASTING.contains(&self.kind);
        // Others, such as FUSE, may number even their directories anew.
        let numbers = lasting || self.kind == 0x5846_5342;
        self.kind == now.kind && (!lasting || self.file_system == now.file_system) && (!numbers || self.ino == now.ino)
    }
}

/// What is kept of both trees.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    from: String,
    to: String,
    source: Seen,
    destination: Seen,
    /// Name of the marker, what it says, and its inode.
    mark: String,
    token: String,
    marker: u64,
}

/// The trees as they were found when the mover began.
#[derive(Debug)]
pub struct Established {
    /// Whether the inode of a directory at the destination tells whose it is: others, such as FUSE, may number theirs anew at any time.
    pub inodes_last: bool,
    marker: (TreePath, u64),
    seat: Option<Seat>,
}

#[cfg(test)]
impl Established {
    /// Of a destination whose inodes keep their numbers.
    pub(crate) fn lasting() -> Self {
        Self { inodes_last: true, marker: (TreePath::root(), 0), seat: None }
    }
}

/// Refuses a destination that lacks the mark which the state directory knows of, before anything is made in it. `missing`: `to` is the
/// directory that it would be made in.
pub(super) fn require_marked(options: &Options, (to, missing): (&Tree, bool), path: &Path) -> Result<()> {
    let Some(known) = read(&options.state).filter(|known| known.to == hex_of(path) && !options.trees_changed) else {
        return Ok(());
    };
    let there =
        if missing { None } else { token_of(to, &TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(known.mark.as_bytes())) };
    if there.is_some_and(|(token, _)| token == known.token) { Ok(()) } else { Err(unmarked(&options.to)) }
}

/// Refuses a destination where movers have left their manifests and this user may add none, before anything is made in it.
pub(super) fn require_own(to: &Tree) -> Result<()> {
    let directory = to.directory(&TreePath::root().join(STATE_DIRECTORY.as_bytes()));
    let access = Access::WRITE_OK | Access::EXEC_OK;
    match directory.and_then(|directory| fs::accessat(&directory, ".", access, AtFlags::EACCESS)) {
        Err(error @ (Errno::ACCESS | Errno::PERM)) => {
            let to = to.path().display();
            let wrong = format!("{to} has manifests of another user's movers, in {to}/{STATE_DIRECTORY}: {}", words(error));
            Err(refused(&wrong, "name a directory of your own, such as a new one in it"))
        }
        _ => Ok(()),
    }
}

fn hex_of(path: &Path) -> String {
    hex(path.as_os_str().as_encoded_bytes())
}

/// Makes sure that both trees are those of the journal, before anything is written to them; marks the destination where it is new to
/// this mover. `changed`: the user knows that they are others.
pub(crate) fn establish(
    state: &Path,
    (from, to): (&Tree, &Tree),
    journal: &Journal,
    identity: &Identity,
    changed: bool,
) -> Result<Established> {
    let file = state.join(FILE);
    if std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_dir()) {
        return Err(refused(&format!("{} is a directory", file.display()), "remove it"));
    }
    let look = |tree: &Tree| Seen::of(tree.root()).map_err(|error| MoverError::path("look at", tree.path(), error));
    let (source, destination) = (look(from)?, look(to)?);
    let [from_text, to_text] = [&identity.from, &identity.to].map(|path| hex_of(path));
    let known = read(state).filter(|known| known.to == to_text);
    let mark = format!("mover-{}", journal.id());
    let name = TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(mark.as_bytes());
    let marked = token_of(to, &name);
    let totals = journal.totals();
    if !changed {
        if known.as_ref().is_some_and(|known| marked.as_ref().is_none_or(|(token, _)| *token != known.token)) {
            return Err(unmarked(to.path()));
        }
        if totals.safe().files > 0 && !manifest::is_begun(to, journal.id()) {
            return Err(elsewhere(to.path(), "has lost this mover's manifest"));
        }
        if let Some(known) = known.as_ref().filter(|known| known.from == from_text)
            && totals.unfinished() > 0
            && !known.source.may_be(&source)
        {
            let wrong = format!("source {} is not the directory that it was when the mover began", from.path().display());
            return Err(refused(&wrong, "mount it; or add --trees-changed, and what is not there any more counts as gone"));
        }
    }
    let (token, ino) = match marked {
        Some(marked) if known.as_ref().is_none_or(|known| known.token == marked.0) => marked,
        _ => kept_mark(to, &name)?,
    };
    let numbered = LASTING.contains(&destination.kind) || NUMBERED.contains(&destination.kind);
    let inodes_last = numbered && known.as_ref().is_none_or(|known| known.token != token || known.marker == ino);
    let now = Known { from: from_text, to: to_text, source, destination, mark, token, marker: ino };
    keep(state, &now).map_err(|error| MoverError::path("write", file, error))?;
    Ok(Established { inodes_last, marker: (name, ino), seat: None })
}

fn unmarked(to: &Path) -> MoverError {
    elsewhere(to, "has not the mark that this mover left there")
}

fn elsewhere(to: &Path, why: &str) -> MoverError {
    let wrong = format!("destination {} is not the directory that was staged to: it {why}", to.display());
    refused(&wrong, "mount it; or add --trees-changed, and what is not there goes again as far as the source still has it")
}

impl Established {
    /// The same for a mover whose state directory is locked.
    #[must_use]
    pub(super) fn in_seat(self, seat: Seat) -> Self {
        Self { seat: Some(seat), ..self }
    }

    /// Whether this mover still has the state directory that it locked. Fails with what ends it: no command reaches it any more,
    /// nothing it notes is found again, and another mover may be at work.
    pub fn check_state(&self) -> Result<()> {
        self.seat.as_ref().map_or(Ok(()), Seat::check)
    }

    /// Whether the paths still lead to the trees that are open, and the marker is where it was. Fails with what ends the mover: what
    /// is written from now on would lie where nobody looks for it.
    pub fn check(&self, from: &Tree, to: &Tree) -> Result<()> {
        self.check_destination(to)?;
        if leads_elsewhere(from) {
            return Err(ended("source", from, "its path leads to another directory now"));
        }
        Ok(())
    }

    /// The same of the destination alone.
    pub fn check_destination(&self, to: &Tree) -> Result<()> {
        self.check_state()?;
        if leads_elsewhere(to) {
            return Err(ended("destination", to, "its path leads to another directory now"));
        }
        match Version::at(to.root(), self.marker.0.bytes()) {
            Err(Errno::NOENT | Errno::NOTDIR) => Err(ended("destination", to, "the mark that this mover left there is gone")),
            _ => Ok(()),
        }
    }
}

fn ended(what: &str, tree: &Tree, why: &str) -> MoverError {
    MoverError::Moved(format!("{what} {} is not the directory that it was: {why}", tree.path().display()))
}

/// Whether the tree's path is known to lead to another directory. What cannot be looked at is for the calls that need it to tell.
fn leads_elsewhere(tree: &Tree) -> bool {
    let (Ok(open), found) = (fs::fstat(tree.root()), fs::statat(fs::CWD, tree.path(), AtFlags::empty())) else { return false };
    match found {
        Ok(found) => (found.st_dev, found.st_ino) != (open.st_dev, open.st_ino),
        Err(error) => matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    }
}

/// The token of the marker, and its inode; `None` where there is none that can be read.
fn token_of(to: &Tree, name: &TreePath) -> Option<(String, u64)> {
    let found = Version::of(to.open_beneath(name, OFlags::PATH).ok()?).ok()?;
    let file = to.open_beneath(name, OFlags::RDONLY | OFlags::NONBLOCK).ok().filter(|_| found.kind == Kind::File)?;
    let mut text = String::new();
    File::from(file).take(64).read_to_string(&mut text).ok()?;
    let token = text.trim_end();
    (token.len() == 32 && token.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| (token.to_owned(), found.ino))
}

/// Makes a marker that the device was seen to have; none is left where it does not keep one.
fn kept_mark(to: &Tree, name: &TreePath) -> Result<(String, u64)> {
    let failed = |error| MoverError::path("mark the destination with", to.path().join(name.as_path()), error);
    let shown = to.path().display();
    for _ in 0..TRIES {
        match make_mark(to, name).map_err(failed)? {
            Made::Kept(token, ino) => return Ok((token, ino)),
            Made::Other => {}
            Made::Cached => {
                let wrong =
                    format!("destination {shown} does not let what is written leave memory: its mark cannot be read back");
                return Err(refused(&wrong, "stage to a directory that is not of an overlay whose upper layer is in memory"));
            }
        }
    }
    let wrong = format!("destination {shown} does not keep what is written: its mark reads back different");
    Err(refused(&wrong, "the storage there is at fault; stage to another, or start again once it is mended"))
}

/// What became of a marker.
enum Made {
    /// The device has it: its token and its inode.
    Kept(String, u64),
    /// The device has something else.
    Other,
    /// Memory does not let it go, so that nobody can see what the device has.
    Cached,
}

/// Makes a marker, durable, in place of one that says something else. None is left that the device was not seen to have.
fn make_mark(to: &Tree, name: &TreePath) -> std::io::Result<Made> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let token = hex(&bytes);
    manifest::directory(to)?;
    let directory = to.directory(&name.parent())?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(&directory, name.name(), flags, Mode::from_raw_mode(0o644))?);
    let ino = Version::of(&file)?.ino;
    let text = format!("{token}\n");
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync(directory.as_fd())?;
    let stored = has_stored(file.as_fd(), text.as_bytes(), 0);
    if stored == Ok(Some(true)) {
        return Ok(Made::Kept(token, ino));
    }
    names::remove_if(directory.as_fd(), name.name(), ino)?;
    Ok(if stored?.is_some() { Made::Other } else { Made::Cached })
}

fn sync(directory: BorrowedFd) -> SysResult<()> {
    // Where a directory cannot be synced, the user was told.
    fs::fsync(directory).or_else(|error| if error == Errno::INVAL { Ok(()) } else { Err(error) })
}

fn read(state: &Path) -> Option<Known> {
    serde_json::from_slice(&std::fs::read(state.join(FILE)).ok()?).ok()
}

/// Whole or not at all.
fn keep(state: &Path, known: &Known) -> std::io::Result<()> {
    let directory = fs::open(state, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let fresh = format!(".{FILE}.new");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(&directory, &*fresh, flags, Mode::from_raw_mode(0o600))?);
    file.write_all(&serde_json::to_vec(known)?)?;
    file.sync_all()?;
    names::renew(directory.as_fd(), fresh.as_bytes(), FILE.as_bytes())?;
    Ok(fs::fsync(&directory)?)
}
