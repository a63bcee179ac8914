//! What every test of this room begins with: two trees, a journal, and a carrier between them.

mod faults;
mod large;
mod model;
mod races;
mod small;
mod speed;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Carrier, Counters, Parts};
use crate::file_version::{Kind, Version};
use crate::journal::{Identity, Journal};
use crate::journal_entry::{Entry, Outcome, State};
use crate::log::Log;
use crate::manifest::Manifest;
use crate::mapped_stores::Stores;
use crate::options::Options;
use crate::path::TreePath;
use crate::quiescence::QuiescenceCheck;
use crate::rate_limiter::Limiter;
use crate::tree::Tree;
use crate::{STATE_DIRECTORY, testing};

/// Two trees and a mover's parts, without its threads.
pub(super) struct Stage {
    root: tempfile::TempDir,
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) journal: Arc<Journal>,
    pub(super) halt: Arc<AtomicBool>,
    pub(super) carrier: Carrier,
    options: Options,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(super) fn with(ask: impl FnOnce(&mut Options)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let to = root.path().join("to");
        fs::create_dir(&to).unwrap();
        Self::between(root, to, ask)
    }

    /// With the destination on a file system of its own.
    pub(super) fn to(to: PathBuf) -> Self {
        Self::to_with(to, |_| ())
    }

    pub(super) fn to_with(to: PathBuf, ask: impl FnOnce(&mut Options)) -> Self {
        Self::between(tempfile::tempdir().unwrap(), to, ask)
    }

    fn between(root: tempfile::TempDir, to: PathBuf, ask: impl FnOnce(&mut Options)) -> Self {
        let from = root.path().join("from");
        for directory in [&from, &from.join(STATE_DIRECTORY), &to.join(STATE_DIRECTORY)] {
            fs::create_dir(directory).unwrap();
        }
        let mut options = testing::options(&from, &to);
        ask(&mut options);
        let (journal, halt, carrier) = begin(&options);
        Self { root, from, to, journal, halt, carrier, options }
    }

    /// What a mover that starts after this one was killed sees.
    pub(super) fn again(&mut self) {
        let closed = tempfile::tempdir().unwrap();
        // The journal has one owner: this one lets go of it first.
        let away = Options { state: closed.path().to_owned(), ..self.options.clone() };
        (self.journal, self.halt, self.carrier) = begin(&away);
        (self.journal, self.halt, self.carrier) = begin(&self.options);
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.from.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&path, bytes);
        path
    }

    /// Takes a name out of the source, as its owner may at any time.
    pub(super) fn take_away(&self, name: &str) {
        rustix::fs::rename(self.from.join(name), self.root.path().join(name.replace('/', " "))).unwrap();
    }

    /// Everything of the source as a scan finds it; what is new or changed comes back queued.
    pub(super) fn scan(&self) -> Vec<Entry> {
        let mut seen = Vec::new();
        list(&self.from, &TreePath::root(), &mut seen);
        self.journal.found(&seen).unwrap()
    }

    /// Scans and carries; what became of each by name.
    pub(super) fn carry(&self) -> Vec<(String, Outcome)> {
        self.carry_these(self.scan())
    }

    pub(super) fn carry_these(&self, entries: Vec<Entry>) -> Vec<(String, Outcome)> {
        let names: std::collections::HashMap<i64, String> =
            entries.iter().map(|entry| (entry.id, entry.path.to_string())).collect();
        let mut outcomes = self.carrier.carry(entries).unwrap();
        outcomes.sort_by_key(|(id, _)| names[id].clone());
        outcomes.into_iter().map(|(id, outcome)| (names[&id].clone(), outcome)).collect()
    }

    pub(super) fn entry(&self, name: &str) -> Entry {
        self.journal.by_path(&TreePath::new(name.as_bytes()).unwrap()).unwrap().unwrap()
    }

    pub(super) fn state(&self, name: &str) -> State {
        self.entry(name).state
    }

    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.to.join(name)).unwrap()
    }

    /// Both trees hold the same, and nothing else; no temporary is left.
    pub(super) fn assert_same(&self) {
        assert_eq!(describe(&self.from), describe(&self.to));
    }

    /// Names at the destination, apart from the manifests.
    pub(super) fn names(&self) -> Vec<String> {
        describe(&self.to).into_iter().map(|found| found.name).collect()
    }
}

fn begin(options: &Options) -> (Arc<Journal>, Arc<AtomicBool>, Carrier) {
    let from = Arc::new(Tree::open(&options.from).unwrap());
    let to = Arc::new(Tree::open(&options.to).unwrap());
    let identity = Identity { from: options.from.clone(), to: options.to.clone() };
    let journal = Arc::new(Journal::open(&options.state, &identity).unwrap().0);
    let halt = Arc::new(AtomicBool::new(false));
    let established = crate::preflight::establish(&options.state, (&from, &to), &journal, &identity, false).unwrap();
    let carrier = Carrier::new(Parts {
        established: Arc::new(established),
        manifest: Arc::new(Manifest::open(&to, journal.id()).unwrap()),
        log: Arc::new(Log::open(None, &options.to).unwrap()),
        limiter: Arc::new(Limiter::new(None, None)),
        quiescence: Arc::new(QuiescenceCheck::new(0, Stores::Timed)),
        counters: Arc::new(Counters::default()),
        options: Arc::new(options.clone()),
        journal: Arc::clone(&journal),
        halt: Arc::clone(&halt),
        from,
        to,
    });
    (journal, halt, carrier)
}

/// A new file, or a new one in place of an old one of that name.
pub(super) fn make(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    fs::File::create(path).unwrap().write_all(bytes).unwrap();
    crate::testing::await_no_writer(path);
}

fn list(root: &Path, below: &TreePath, seen: &mut Vec<(TreePath, Version)>) {
    let directory = root.join(below.as_path());
    let handle = fs::File::open(&directory).unwrap();
    for found in fs::read_dir(&directory).unwrap() {
        let name = found.unwrap().file_name();
        if below.is_root() && (name == STATE_DIRECTORY || name == "lost+found") {
            continue;
        }
        let (path, version) = (below.join(name.as_bytes()), Version::at(&handle, name.as_bytes()).unwrap());
        seen.push((path.clone(), version));
        if version.kind == Kind::Directory {
            list(root, &path, seen);
        }
    }
}

/// All that must be the same on both sides.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
    mode: u32,
    mtime_ns: i128,
}

fn describe(root: &Path) -> Vec<Found> {
    let mut seen = Vec::new();
    list(root, &TreePath::root(), &mut seen);
    let mut all: Vec<Found> = seen.iter().map(|(path, _)| describe_one(root, path)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn describe_one(root: &Path, path: &TreePath) -> Found {
    let place = root.join(path.as_path());
    let found = fs::symlink_metadata(&place).unwrap();
    let kind = found.file_type();
    let (kind, bytes) = match () {
        () if kind.is_symlink() => ("link", fs::read_link(&place).unwrap().as_os_str().as_bytes().to_vec()),
        () if kind.is_dir() => ("directory", Vec::new()),
        () if kind.is_fifo() => ("fifo", Vec::new()),
        () => ("file", fs::read(&place).unwrap()),
    };
    // A directory's times are set in the end, by a call of its own.
    let mtime_ns =
        if kind == "directory" { 0 } else { i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()) };
    Found { name: path.to_string(), kind, bytes, mode: found.mode() & 0o7777, mtime_ns }
}

pub(super) fn all_done(outcomes: &[(String, Outcome)]) {
    let others: Vec<_> = outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Done).collect();
    assert!(others.is_empty() && !outcomes.is_empty(), "{others:?}");
}
