//! What lies at the destination, as JSON lines beside the data, and the check of a tree against it.
//!
//! Each mover writes a file of its own, so that many may stage into one tree. A line is durable before its entry is done. Of several
//! lines of one path in one manifest the last counts; of those that count in several manifests, the one of the latest time.

mod manifest_line;
#[cfg(test)]
mod tests;
mod verify;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use crate::STATE_DIRECTORY;
use crate::bytes::checksum;
use crate::bytes::stored::has_stored;
use crate::error::{MoverError, Result};
use crate::file_version::{Kind, Version};
use crate::journal::Journal;
use crate::journal_entry::{Entry, Placed, State};
use crate::path::TreePath;
use crate::tree::Tree;
pub use manifest_line::Line;
pub use verify::{Report, Seen, lost, verify};

/// One mover's manifest, open for more.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    /// Bytes up to the end of the last line that is durable.
    length: u64,
    /// Whether there is something after these that is to be taken back before the next.
    torn: bool,
}

impl Manifest {
    /// Opens the manifest of the mover `id` in the tree `to`, or begins it. What a crash left of a line is taken away: its entries
    /// were not safe yet, and the next line must not be glued to it.
    pub fn open(to: &Tree, id: &str) -> Result<Self> {
        let name = name(id);
        let path = to.path().join(STATE_DIRECTORY).join(&name);
        let failed = |error: Errno| MoverError::path("open manifest", &path, error);
        let directory = directory(to).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(fs::openat(&directory, &name, flags, Mode::from_raw_mode(0o666)).map_err(failed)?);
        fs::fsync(&directory).map_err(failed)?;
        let (length, torn) = end_of(&mut file).map_err(|error| MoverError::path("read manifest", &path, error))?;
        Ok(Self { path, inner: Mutex::new(Inner { file, length, torn }) })
    }

    /// Adds `lines`. They are durable when this returns, and with `read_back` the device was seen to have them; where it fails, none
    /// of them counts and all may be added again.
    pub fn append(&self, lines: &[Line], read_back: bool) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::with_capacity(lines.len() * 256);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            line.write(&mut text);
        }
        let failed = |error: std::io::Error| MoverError::path("append to manifest", &self.path, error);
        if inner.torn {
            fs::ftruncate(inner.file.as_fd(), inner.length).map_err(|error| failed(error.into()))?;
            inner.torn = false;
        }
        let stored = || match has_stored(inner.file.as_fd(), &text, inner.length)? {
            Some(true) => Ok(()),
            Some(false) => Err(std::io::Error::other("it reads back different from what was written")),
            None => Err(std::io::Error::other("it cannot be read back: it does not leave the cache")),
        };
        let written = (&inner.file).write_all(&text).and_then(|()| inner.file.sync_data());
        let written = written.and_then(|()| if read_back { stored() } else { Ok(()) });
        match written {
            Ok(()) => {
                let found = inner.file.metadata();
                if found.as_ref().is_ok_and(|found| found.nlink() == 0) {
                    return Err(MoverError::Moved(format!("manifest {} was removed", self.path.display())));
                }
                inner.length = found.map_or(inner.length, |found| found.len());
                Ok(())
            }
            Err(error) => {
                // Lines whose sync failed may be in the cache and nowhere else; they are taken back and written anew.
                let length = inner.length;
                inner.torn = fs::ftruncate(inner.file.as_fd(), length).is_err();
                Err(failed(error))
            }
        }
    }

    /// Writes what the journal calls safe into a manifest that was lost, and the user wants to go on without.
    pub fn restore(&self, journal: &Journal, read_back: bool) -> Result<()> {
        for state in [State::Done, State::Cleared] {
            let mut after = i64::MIN;
            loop {
                let page = journal.in_state(state, after, ADOPTED_AT_ONCE as u32)?;
                let Some(last) = page.last() else { break };
                after = last.id;
                let line = |entry: &Entry| Line::of(&entry.path, &entry.version, entry.placed.as_ref());
                self.append(&page.iter().map(line).collect::<Vec<_>>(), read_back)?;
            }
        }
        Ok(())
    }

    /// Tells a journal that was begun anew what this manifest says: what still lies at the destination as it was placed is this
    /// mover's to replace, and the directories that it made are its own to finish. Returns how many those are.
    pub fn adopt(&self, to: &Tree, journal: &Journal) -> Result<u64> {
        let failed = |error: std::io::Error| MoverError::path("read manifest", &self.path, error);
        let mut known = verify::Known::default();
        known.read(File::open(&self.path).map_err(failed)?, "").map_err(failed)?;
        let lines: Vec<Line> =
            known.lines.into_values().filter(|line| line.kind != Kind::Directory || line.made_ino.is_some()).collect();
        let mut adopted = 0;
        for part in lines.chunks(ADOPTED_AT_ONCE) {
            let unchanged: Vec<_> =
                part.iter().filter_map(|line| Some((line.path.clone(), line.kind, as_placed(to, line)?))).collect();
            journal.adopt(&unchanged)?;
            adopted += unchanged.len() as u64;
        }
        Ok(adopted)
    }
}

fn name(id: &str) -> String {
    format!("manifest-{id}.jsonl")
}

/// The directory of the manifests in the tree `to`, made where it is not there.
pub fn directory(to: &Tree) -> rustix::io::Result<OwnedFd> {
    match fs::mkdirat(to.root(), STATE_DIRECTORY, Mode::from_raw_mode(0o777)) {
        Ok(()) => fs::fsync(to.root())?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    to.directory(&TreePath::root().join(STATE_DIRECTORY.as_bytes()))
}

/// Whether the mover `id` has a manifest in the tree `to` that says anything.
#[must_use]
pub fn is_begun(to: &Tree, id: &str) -> bool {
    let path = TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(name(id).as_bytes());
    let found = to.open_beneath(&path, OFlags::PATH).and_then(Version::of);
    found.is_ok_and(|found| found.kind == Kind::File && found.size > 0)
}

const ADOPTED_AT_ONCE: usize = 4096;

/// What a line says of what has its name, where that may be what was put there. Whether a directory of the name is the one that was made is
/// looked at again when its turn comes, and whether a file is the one that was placed: its bytes tell then.
fn as_placed(to: &Tree, line: &Line) -> Option<Placed> {
    if let Some(made) = line.made_ino {
        let there = to.open_beneath(&line.path, OFlags::PATH).and_then(Version::of);
        return there.map_or_else(is_hidden, |there| there.kind == line.kind).then_some(Placed::directory(made));
    }
    let placed = |ino| Placed { ino, size: line.size, mtime_ns: line.mtime_ns, checksum: line.checksum };
    let there = match to.open_beneath(&line.path, OFlags::PATH) {
        Ok(there) => there,
        Err(error) => return is_hidden(error).then(|| placed(Placed::TO_BE_MADE)),
    };
    let found = Version::of(&there).ok()?;
    if (found.kind, found.size, found.mtime_ns) != (line.kind, line.size, line.mtime_ns) {
        return None;
    }
    match line.kind {
        _ if line.of_others => Some(placed(Placed::OF_OTHERS)),
        Kind::File => Some(placed(Placed::TO_BE_MADE)),
        Kind::Link => {
            let text = fs::readlinkat(&there, "", Vec::new()).ok()?;
            (line.checksum == Some(checksum(text.as_bytes()))).then(|| placed(found.ino))
        }
        _ => None,
    }
}

/// Whether `error` leaves open what is there.
fn is_hidden(error: Errno) -> bool {
    !matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Bytes up to the end of a manifest's last whole line, and whether the beginning of another is behind it. What has no end and is
/// no such beginning was not left by a crash: it is closed, and stays for the check to name.
fn end_of(file: &mut File) -> std::io::Result<(u64, bool)> {
    let length = file.seek(SeekFrom::End(0))?;
    let begin = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(begin))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let ends = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let last = &text[ends..];
    if last.is_empty() {
        return Ok((length, false));
    }
    if (ends > 0 || begin == 0) && manifest_line::is_unfinished(last) {
        return Ok((begin + ends as u64, true));
    }
    file.write_all(b"\n").and_then(|()| file.sync_data())?;
    Ok((length + 1, false))
}

/// More bytes than a line has.
const TAIL: u64 = 1 << 20;
