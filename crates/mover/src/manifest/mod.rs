//! What lies at the destination, as JSON lines beside the data, and the check of a tree against it.
//!
//! Each mover writes a file of its own, so that many may stage into one tree. A line is durable before its entry is done. Of several
//! lines of one path the one staged last counts, whatever file it is in.

mod line;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use crate::STATE_DIRECTORY;
use crate::entry::Placed;
use crate::error::{MoverError, Result};
use crate::journal::Journal;
use crate::path::TreePath;
use crate::tree::Tree;
use crate::version::{Kind, Version};
pub use line::Line;
pub use verify::{Report, Seen, verify};

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
    /// Whether there is something after these that could not be taken back.
    torn: bool,
}

impl Manifest {
    /// Opens the manifest of the mover `id` in the tree `to`, or begins it. A line that a crash left torn is closed, and stays.
    pub fn open(to: &Tree, id: &str) -> Result<Self> {
        let name = format!("manifest-{id}.jsonl");
        let path = to.path().join(STATE_DIRECTORY).join(&name);
        let failed = |error: Errno| MoverError::path("open manifest", &path, error);
        match fs::mkdirat(to.root(), STATE_DIRECTORY, Mode::from_raw_mode(0o777)) {
            Ok(()) => fs::fsync(to.root()).map_err(failed)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let directory = to.directory(&TreePath::root().join(STATE_DIRECTORY.as_bytes())).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(fs::openat(&directory, &name, flags, Mode::from_raw_mode(0o666)).map_err(failed)?);
        fs::fsync(&directory).map_err(failed)?;
        let (length, torn) = end_of(&mut file).map_err(|error| MoverError::path("read manifest", &path, error))?;
        Ok(Self { path, inner: Mutex::new(Inner { file, length, torn }) })
    }

    /// Adds `lines`. They are durable when this returns; where it fails, none of them counts and all may be added again.
    pub fn append(&self, lines: &[Line]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::with_capacity(lines.len() * 256 + 1);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.torn {
            text.push(b'\n');
        }
        for line in lines {
            line.write(&mut text);
        }
        let written = (&inner.file).write_all(&text).and_then(|()| inner.file.sync_data());
        match written {
            Ok(()) => {
                inner.length = inner.file.metadata().map_or(inner.length, |found| found.len());
                inner.torn = false;
                Ok(())
            }
            Err(error) => {
                // Lines whose sync failed may be in the cache and nowhere else; they are taken back and written anew.
                let length = inner.length;
                inner.torn |= fs::ftruncate(inner.file.as_fd(), length).is_err();
                Err(MoverError::path("append to manifest", &self.path, error))
            }
        }
    }

    /// Tells a journal that was begun anew what this manifest says: what still lies at the destination as it was placed is this
    /// mover's to replace. Returns how many files those are.
    pub fn adopt(&self, to: &Tree, journal: &Journal) -> Result<u64> {
        let failed = |error: std::io::Error| MoverError::path("read manifest", &self.path, error);
        let mut known = HashMap::new();
        verify::read_one(File::open(&self.path).map_err(failed)?, &mut known).map_err(failed)?;
        let lines: Vec<Line> = known.into_values().filter(|line| line.kind == Kind::File).collect();
        let mut adopted = 0;
        for part in lines.chunks(ADOPTED_AT_ONCE) {
            let unchanged: Vec<_> = part.iter().filter_map(|line| Some((line.path.clone(), as_placed(to, line)?))).collect();
            journal.adopt(&unchanged)?;
            adopted += unchanged.len() as u64;
        }
        Ok(adopted)
    }
}

const ADOPTED_AT_ONCE: usize = 4096;

/// What a line says of its file, where that is still so.
fn as_placed(to: &Tree, line: &Line) -> Option<Placed> {
    let there = to.open_beneath(&line.path, OFlags::PATH).and_then(Version::of).ok()?;
    let same = (there.kind, there.size, there.mtime_ns) == (line.kind, line.size, line.mtime_ns);
    same.then_some(Placed { ino: there.ino, size: line.size, mtime_ns: line.mtime_ns, checksum: line.checksum })
}

/// Length of a manifest, and whether its last line has no end.
fn end_of(file: &mut File) -> std::io::Result<(u64, bool)> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok((0, false));
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok((length, last != *b"\n"))
}
