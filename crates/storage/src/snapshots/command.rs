//! Snapshots by a program of the user.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::CWD;
use tonnage_workload::SnapshotCommand;

use super::program;
use super::snapshot_place::{Room, SnapshotPlace};
use super::{Rebuild, SnapshotRequest, Snapshots};
use crate::api::Storage;
use crate::error::{Result, StorageError};
use crate::fs::files::Files;
use crate::fs::held_directories::open_directory;

/// Runs the programs, whose words are filled in; no shell sees them.
pub(crate) struct CommandSnapshots {
    command: SnapshotCommand,
    /// What stands for what, but for the round.
    words: Vec<(&'static str, String)>,
    rounds: u32,
    files: Option<(Arc<Files>, Rebuild)>,
    numbers: Vec<u32>,
    stop: Arc<AtomicBool>,
}

impl CommandSnapshots {
    pub(crate) fn new(
        command: &SnapshotCommand,
        request: &SnapshotRequest,
        words: &[(&'static str, String)],
        files: Option<(Arc<Files>, Rebuild)>,
    ) -> Result<Self> {
        let task = ("task", request.owner.unwrap_or(0).to_string());
        let words: Vec<_> = words.iter().cloned().chain([task]).collect();
        for argv in std::iter::once(&command.argv).chain(&command.remove_argv) {
            let program = fill(argv.first().map_or("", String::as_str), &words, 0);
            if !is_program(&program) {
                let text = format!("the program {program:?} that takes snapshots was not found; give its path");
                return Err(StorageError::Unsupported(text));
            }
        }
        let (numbers, stop) = (request.files.clone(), Arc::clone(&request.stop));
        Ok(Self { command: command.clone(), words, rounds: request.rounds, files, numbers, stop })
    }

    fn run(&self, action: &'static str, argv: &[String], round: u32) -> Result<()> {
        let words: Vec<String> = argv.iter().map(|word| fill(word, &self.words, round)).collect();
        let failed = |source| StorageError::Path { action, path: PathBuf::from(&words[0]), source };
        let limit = self.command.timeout_ns.map(Duration::from_nanos);
        let ended = program::run(&words, limit, &self.stop).map_err(failed)?;
        if ended.status.success() {
            return Ok(());
        }
        let (status, said) = (ended.status, ended.said);
        Err(failed(io::Error::other(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") })))
    }
}

/// `word` with what is in braces filled in.
fn fill(word: &str, words: &[(&'static str, String)], round: u32) -> String {
    let round = ("round", round.to_string());
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        let known = words.iter().chain([&round]).find_map(|(name, value)| {
            let after = rest[at + 1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after))
        });
        filled.push_str(&rest[..at]);
        let (value, after) = known.map_or(("{", &rest[at + 1..]), |(value, after)| (value.as_str(), after));
        filled.push_str(value);
        rest = after;
    }
    filled + rest
}

/// Whether a name leads to a file that may be executed.
fn is_program(name: &str) -> bool {
    let may = |path: PathBuf| path.is_file() && rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return may(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    !name.is_empty() && std::env::split_paths(&path).any(|directory| may(directory.join(name)))
}

impl Snapshots for CommandSnapshots {
    fn take(&mut self, round: u32) -> Result<u64> {
        self.run("take a snapshot with", &self.command.argv, round).map(|()| 0)
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        let Some((files, rebuild)) = self.files.as_ref().filter(|_| self.command.read_directory.is_some()) else {
            return if round + 1 == self.rounds {
                Ok(None)
            } else {
                let text = format!("nothing says where round {round} is to be found; give read_directory, or read the newest");
                Err(StorageError::Unsupported(text))
            };
        };
        let path = PathBuf::from(fill(self.command.read_directory.as_deref().unwrap_or_default(), &self.words, round));
        let open = || {
            open_directory(CWD, &path).map_err(|errno| crate::fs::held_directories::failed("open the directory", &path, errno))
        };
        let mut directories = std::collections::BTreeMap::new();
        for &file in &self.numbers {
            directories.insert(files.place().site(file), Room { handle: open()?, path: path.clone() });
        }
        let place = SnapshotPlace { base: Arc::clone(files.place()), directories };
        Ok(Some(rebuild(Arc::new(files.elsewhere(Arc::new(place))))))
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        match &self.command.remove_argv {
            Some(argv) => self.run("remove a snapshot with", argv, round),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_braces_is_filled_in_once_and_nothing_else() {
        let words = [("directory", "/a {round} b".to_owned()), ("task", "3".to_owned())];
        assert_eq!(fill("{directory}/x{task}-{round}", &words, 12), "/a {round} b/x3-12");
        assert_eq!(fill("{}{unknown}{task", &words, 0), "{}{unknown}{task");
        assert_eq!(fill("$(reboot)", &words, 0), "$(reboot)");
    }
}
