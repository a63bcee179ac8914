//! Spectral's view: one line when a file is found, taken and safe.
//!
//! The lines are for scripts that read Spectral's log; nothing of the mover's own depends on them, so a log that cannot be written
//! stops no file and is said in a note.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, Access, AtFlags};

use crate::error::{MoverError, Result, words};
use crate::path::TreePath;

/// What each line of such a log begins with.
const BEGINNING: &[u8] = b"Spectral ";

/// The log, or nothing where none was asked for.
#[derive(Debug)]
pub struct Log {
    file: Option<File>,
    path: PathBuf,
    to: PathBuf,
    failed: Mutex<Option<String>>,
}

impl Log {
    /// Opens the log at `path` for more lines. They name files by where they are put below `to`, as Spectral's do. A log is begun,
    /// or goes on where one is; another file, a link and a file with a second name are a [`MoverError::Request`].
    pub fn open(path: Option<&Path>, to: &Path) -> Result<Self> {
        let file = path.map(|path| opened(path, true)).transpose()?.flatten();
        Ok(Self { file, path: path.unwrap_or(to).to_owned(), to: to.to_owned(), failed: Mutex::new(None) })
    }

    /// Refuses what [`open`](Self::open) would, before anything is made; `to_come` are directories that are made before it is opened.
    pub fn look(path: Option<&Path>, to_come: &[&Path]) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        let refused = |error: MoverError| match error {
            MoverError::Path { .. } => MoverError::Request(format!("{error}; hint: give another --log")),
            other => other,
        };
        if opened(path, false).map_err(refused)?.is_some() {
            return Ok(());
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if to_come.contains(&parent) && !parent.exists() {
            return Ok(());
        }
        let may = fs::accessat(fs::CWD, parent, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
        may.map_err(|error| refused(MoverError::path("make log", path, error)))
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
            let said = format!("cannot write log {}: {}; lines are missing in it", self.path.display(), words(error));
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
    }
}

/// The log at `path` for more lines, after a line's end; `None` where there is none and none is to be made.
fn opened(path: &Path, make: bool) -> Result<Option<File>> {
    let foreign = |why: &str| {
        let said = format!("log {} {why}; hint: move it away, or give another --log", path.display());
        Err(MoverError::Request(said))
    };
    let failed = |error: std::io::Error| MoverError::path("open log", path, error);
    // What is no file is not opened: that could wait, or do what a device does then.
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound && !make => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => {
            let found = found.map_err(failed)?;
            if !found.is_file() {
                return foreign(if found.is_symlink() { "is a link" } else { "is not a regular file" });
            }
        }
    }
    let mut how = OpenOptions::new();
    how.read(true).append(true).create(make).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut file = how.open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.nlink() > 1 {
        return foreign("is not a regular file with one name");
    }
    let mut first = [0; BEGINNING.len()];
    let held = usize::try_from(found.len()).unwrap_or(usize::MAX).min(first.len());
    file.read_exact_at(&mut first[..held], 0).map_err(failed)?;
    if first[..held] != BEGINNING[..held] {
        return foreign("holds no lines of Spectral's, so it is not written to");
    }
    let mut last = *b"\n";
    if found.len() > 0 {
        file.read_exact_at(&mut last, found.len() - 1).map_err(failed)?;
    }
    // What a crash left of a line must not be glued to the next.
    if make && last != *b"\n" {
        file.write_all(b"\n").map_err(failed)?;
    }
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: PathBuf, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

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
        let path = PathBuf::from("/dev/full");
        let file = Some(OpenOptions::new().append(true).open(&path).unwrap());
        let log = Log { file, path, to: PathBuf::from("/pfs"), failed: Mutex::new(None) };
        log.done([&TreePath::new(b"a").unwrap()]);
        assert!(log.note().unwrap().starts_with("cannot write log /dev/full: No space left on device"));
    }

    #[test]
    fn without_a_log_nothing_is_written() {
        Log::open(None, Path::new("/pfs")).unwrap().done([&TreePath::new(b"a").unwrap()]);
    }

    #[test]
    fn what_is_not_such_a_log_is_refused_and_stays_as_it_was() {
        let below = tempfile::tempdir().unwrap();
        let at = |name: &str| below.path().join(name);
        put(at("notes"), "the user's\n");
        put(at("short"), "S!");
        put(at("log"), "Spectral Work DONE File : /pfs/a\n");
        std::fs::hard_link(at("log"), at("second")).unwrap();
        std::os::unix::fs::symlink("log", at("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        for name in ["notes", "short", "log", "second", "link", "dangling", "directory", "fifo"] {
            for refused in [Log::look(Some(&at(name)), &[]), Log::open(Some(&at(name)), Path::new("/pfs")).map(drop)] {
                let said = refused.unwrap_err().to_string();
                assert!(said.contains(name) && said.contains("; hint: "), "{said}");
            }
        }
        assert!(Log::open(Some(Path::new("/dev/null")), Path::new("/pfs")).is_err());
        assert!(!at("nowhere").exists());
        assert_eq!(std::fs::read(at("notes")).unwrap(), b"the user's\n");
        assert_eq!(std::fs::read(at("second")).unwrap(), b"Spectral Work DONE File : /pfs/a\n");
    }

    #[test]
    fn a_line_that_a_crash_left_torn_is_not_glued_to_the_next() {
        let below = tempfile::tempdir().unwrap();
        let log = below.path().join("spectral.log");
        put(log.clone(), "Spectral Work DONE File : /pf");
        Log::open(Some(&log), Path::new("/pfs")).unwrap().done([&TreePath::new(b"a").unwrap()]);
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text, "Spectral Work DONE File : /pf\nSpectral Work DONE File : /pfs/a\n");
    }

    #[test]
    fn a_look_makes_nothing() {
        let below = tempfile::tempdir().unwrap();
        Log::look(Some(&below.path().join("spectral.log")), &[]).unwrap();
        let yet_to_come = below.path().join("to");
        Log::look(Some(&yet_to_come.join("spectral.log")), &[&yet_to_come]).unwrap();
        assert_eq!(std::fs::read_dir(below.path()).unwrap().count(), 0);
    }
}
