//! Spectral's view: one line when a file is found, taken and safe.
//!
//! The lines are for scripts that read Spectral's log; nothing of the mover's own depends on them, so a log that cannot be written
//! stops no file and is said in a note.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{MoverError, Result};
use crate::path::TreePath;

/// The log, or nothing where none was asked for.
#[derive(Debug)]
pub struct Log {
    file: Option<File>,
    path: PathBuf,
    to: PathBuf,
    failed: Mutex<Option<String>>,
}

impl Log {
    /// Opens the log at `path` for more lines. They name files by where they are put below `to`, as Spectral's do.
    pub fn open(path: Option<&Path>, to: &Path) -> Result<Self> {
        let open = |path: &Path| OpenOptions::new().append(true).create(true).open(path);
        let file = path.map(|path| open(path).map_err(|error| MoverError::path("open log", path, error))).transpose()?;
        Ok(Self { file, path: path.unwrap_or(to).to_owned(), to: to.to_owned(), failed: Mutex::new(None) })
    }

    /// These were found and are to be carried over.
    pub fn enqueue<'a>(&self, paths: impl IntoIterator<Item = &'a TreePath>) {
        self.say("ENQUEUE", paths);
    }

    /// These are under way.
    pub fn dequeue<'a>(&self, paths: impl IntoIterator<Item = &'a TreePath>) {
        self.say("DEQUEUE", paths);
    }

    /// These are safe.
    pub fn done<'a>(&self, paths: impl IntoIterator<Item = &'a TreePath>) {
        self.say("DONE", paths);
    }

    /// What the user must know of the log itself.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One write for all of them, so that the lines of several threads do not mix.
    fn say<'a>(&self, what: &str, paths: impl IntoIterator<Item = &'a TreePath>) {
        let Some(mut file) = self.file.as_ref() else { return };
        let mut text = String::new();
        for path in paths {
            text.extend(["Spectral Work ", what, " File : ", &self.to.to_string_lossy(), "/", &path.to_string(), "\n"]);
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            let said = format!("cannot write log {}: {error}; lines are missing in it", self.path.display());
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_spectral_s_and_go_after_those_that_are_there() {
        let below = tempfile::tempdir().unwrap();
        let log = below.path().join("spectral.log");
        let [a, b] = [&b"d/a"[..], b"b\n"].map(|text| TreePath::new(text).unwrap());
        Log::open(Some(&log), Path::new("/pfs")).unwrap().enqueue([&a, &b]);
        let again = Log::open(Some(&log), Path::new("/pfs")).unwrap();
        again.dequeue([&a]);
        again.done([&a]);
        let expected = "Spectral Work ENQUEUE File : /pfs/d/a\nSpectral Work ENQUEUE File : /pfs/b\\x0a\n\
            Spectral Work DEQUEUE File : /pfs/d/a\nSpectral Work DONE File : /pfs/d/a\n";
        assert_eq!(std::fs::read_to_string(log).unwrap(), expected);
        assert_eq!(again.note(), None);
    }

    #[test]
    fn a_full_log_is_said_and_stops_nothing() {
        let log = Log::open(Some(Path::new("/dev/full")), Path::new("/pfs")).unwrap();
        log.done([&TreePath::new(b"a").unwrap()]);
        assert!(log.note().unwrap().starts_with("cannot write log /dev/full: No space left on device"));
    }

    #[test]
    fn without_a_log_nothing_is_written() {
        Log::open(None, Path::new("/pfs")).unwrap().done([&TreePath::new(b"a").unwrap()]);
    }
}
