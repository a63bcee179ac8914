//! The check of a tree against all manifests in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::fs::{self, Dir, OFlags};
use rustix::io::Errno;
use serde::Serialize;

use super::{Line, manifest_line};
use crate::STATE_DIRECTORY;
use crate::bytes::checksum;
use crate::bytes::stream::{Buffer, hash_to_end};
use crate::error::{MoverError, Result, words};
use crate::file_version::{Kind, Version};
use crate::in_threads::in_threads;
use crate::path::TreePath;
use crate::tree::Tree;

/// What a check found. Paths are as `TreePath` prints them, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Entries of the manifests.
    pub expected: u64,
    /// Of these, looked at.
    pub checked: u64,
    /// Bytes read and hashed.
    pub bytes: u64,
    /// Files that are whole by size, and were staged without a checksum.
    pub without_checksum: u64,
    /// In a manifest, and not in the tree.
    pub missing: Vec<String>,
    /// Something of another kind has the name.
    pub kind_differs: Vec<String>,
    /// The size is another.
    pub size_differs: Vec<String>,
    /// The bytes are others.
    pub checksum_differs: Vec<String>,
    /// In the tree, and in no manifest; directories do not count.
    pub unknown: Vec<String>,
    /// Could not be looked at, each with the reason after `: `.
    pub unreadable: Vec<String>,
    /// Manifests, and lines of them, that cannot be read: `FILE line NUMBER: why`. The paths that they were about are not known,
    /// and not checked.
    pub damaged: Vec<String>,
    /// Last lines that a crash left unfinished. What they were about was not yet safe.
    pub torn_lines: u64,
    /// Whether the check was ended before its end.
    pub halted: bool,
}

impl Report {
    /// Whether all that was ever staged is there, unchanged, as far as the manifests can be read. Files that are in no manifest do
    /// not count against it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let (missing, kind, size) = (&self.missing, &self.kind_differs, &self.size_differs);
        let faults = [missing, kind, size, &self.checksum_differs, &self.unreadable, &self.damaged];
        !self.halted && faults.iter().all(|list| list.is_empty())
    }
}

/// How far a check has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Entries looked at.
    pub files: u64,
    /// Of how many.
    pub of_files: u64,
    /// Bytes hashed.
    pub bytes: u64,
    /// Of how many.
    pub of_bytes: u64,
}

const PROGRESS_EVERY: Duration = Duration::from_millis(200);
const BUFFER: usize = 1 << 20;

/// Compares the tree at `to` with all manifests in it, reading files past the cache, on `threads` threads. `on_progress` is called a
/// few times a second on the caller's thread; where it says `false` the check ends.
pub fn verify(to: &Path, threads: usize, on_progress: &mut dyn FnMut(Seen) -> bool) -> Result<Report> {
    let tree = Tree::open(to)?;
    let Known { lines: known, damaged, torn_lines } = read_all(&tree)?;
    let of_bytes = known.values().map(|line| line.size).fold(0, u64::saturating_add);
    let mut lines: Vec<Line> = known.into_values().collect();
    lines.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    let report = Report { expected: lines.len() as u64, damaged, torn_lines, ..Report::default() };
    let check = Check {
        tree: &tree,
        lines: &lines,
        next: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        halt: AtomicBool::new(false),
        report: Mutex::new(report),
    };
    std::thread::scope(|scope| {
        let (ends, ended) = mpsc::channel::<()>();
        for _ in 0..threads.max(1) {
            let (check, ends) = (&check, ends.clone());
            scope.spawn(move || {
                check.work();
                drop(ends);
            });
        }
        drop(ends);
        while ended.recv_timeout(PROGRESS_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            let files = (check.next.load(Ordering::Relaxed) as u64).min(lines.len() as u64);
            let bytes = check.bytes.load(Ordering::Relaxed);
            if !on_progress(Seen { files, of_files: lines.len() as u64, bytes, of_bytes }) {
                check.halt.store(true, Ordering::Relaxed);
            }
        }
    });
    let halted = check.halt.load(Ordering::Relaxed);
    let bytes = check.bytes.load(Ordering::Relaxed);
    let mut report = check.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    (report.halted, report.bytes) = (halted, bytes);
    if !halted {
        find_unknown(&tree, &lines, &mut report);
    }
    for list in [&mut report.missing, &mut report.kind_differs, &mut report.size_differs, &mut report.checksum_differs] {
        list.sort_unstable();
    }
    report.unknown.sort_unstable();
    report.unreadable.sort_unstable();
    Ok(report)
}

struct Check<'a> {
    tree: &'a Tree,
    lines: &'a [Line],
    next: AtomicUsize,
    bytes: AtomicU64,
    halt: AtomicBool,
    report: Mutex<Report>,
}

/// What one entry turned out to be.
enum Verdict {
    Whole,
    WholeBySize,
    Missing,
    Kind,
    Size,
    Checksum,
    /// The check was ended before it could be told.
    Ended,
}

impl Check<'_> {
    fn work(&self) {
        let mut buffer = Buffer::new();
        while let Some(line) = self.lines.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let verdict = self.look(line, &mut buffer);
            if self.halt.load(Ordering::Relaxed) {
                return;
            }
            let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
            report.checked += 1;
            let path = line.path.to_string();
            match verdict {
                Ok(Verdict::Whole | Verdict::Ended) => {}
                Ok(Verdict::WholeBySize) => report.without_checksum += 1,
                Ok(Verdict::Missing) => report.missing.push(path),
                Ok(Verdict::Kind) => report.kind_differs.push(path),
                Ok(Verdict::Size) => report.size_differs.push(path),
                Ok(Verdict::Checksum) => report.checksum_differs.push(path),
                Err(error) => report.unreadable.push(format!("{path}: {}", words(error))),
            }
        }
    }

    fn look(&self, line: &Line, buffer: &mut Buffer) -> io::Result<Verdict> {
        let handle = match placed(self.tree, line)? {
            Ok(handle) => handle,
            Err(verdict) => return Ok(verdict),
        };
        let sized = has_size(line.kind);
        let Some(expected) = line.checksum.filter(|_| sized) else {
            return Ok(if line.kind == Kind::File { Verdict::WholeBySize } else { Verdict::Whole });
        };
        let found = if line.kind == Kind::Link {
            Some(checksum(fs::readlinkat(&handle, "", Vec::new())?.as_bytes()))
        } else {
            let file = self.tree.open_beneath(&line.path, OFlags::RDONLY | OFlags::NONBLOCK)?;
            hash_to_end(file.as_fd(), buffer, &mut |read| self.goes_on(read))?
        };
        Ok(match found {
            None => Verdict::Ended,
            Some(found) if found == expected => Verdict::Whole,
            Some(_) => Verdict::Checksum,
        })
    }

    /// So many bytes were read; whether to go on.
    fn goes_on(&self, read: u64) -> bool {
        self.bytes.fetch_add(read, Ordering::Relaxed);
        !self.halt.load(Ordering::Relaxed)
    }
}

fn has_size(kind: Kind) -> bool {
    matches!(kind, Kind::File | Kind::Link)
}

/// What has the name of an entry, where it is of its kind and size.
fn placed(tree: &Tree, line: &Line) -> io::Result<std::result::Result<OwnedFd, Verdict>> {
    let handle = match tree.open_beneath(&line.path, OFlags::PATH) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Err(Verdict::Missing)),
        other => other?,
    };
    let found = Version::of(&handle)?;
    if found.kind != line.kind {
        return Ok(Err(Verdict::Kind));
    }
    Ok(if has_size(line.kind) && found.size != line.size { Err(Verdict::Size) } else { Ok(handle) })
}

/// Paths that the mover `id` placed in the tree `to` and that are no longer there with the kind and the size that manifests have:
/// removed or replaced since. No file is read. What cannot be looked at is among them.
pub fn lost(to: &Path, id: &str) -> Result<Vec<String>> {
    let tree = Tree::open(to)?;
    let at = TreePath::root().join(STATE_DIRECTORY.as_bytes()).join(super::name(id).as_bytes());
    let shown = tree.path().join(at.as_path());
    let mut own = Known::default();
    match open_one(&tree, &at) {
        Ok(file) => own.read(file, &shown.display().to_string()).map_err(|error| MoverError::path("read", &shown, error))?,
        // Nothing was placed yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(MoverError::path("open manifest", &shown, error)),
    }
    // Another mover may have placed a newer file there.
    let known = read_all(&tree)?.lines;
    let gone = &|path: &&TreePath| known.get(path).is_some_and(|line| !matches!(placed(&tree, line), Ok(Ok(_))));
    let paths: Vec<&TreePath> = own.lines.keys().collect();
    let looks = in_threads(&paths, |part| part.iter().copied().filter(gone).map(ToString::to_string).collect::<Vec<_>>())?;
    let mut lost: Vec<String> = looks.into_iter().flatten().collect();
    lost.sort_unstable();
    Ok(lost)
}

/// What manifests say.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The line that counts for each path.
    pub(super) lines: HashMap<TreePath, Line>,
    pub(super) damaged: Vec<String>,
    pub(super) torn_lines: u64,
}

/// Of all manifests in the tree.
pub(super) fn read_all(tree: &Tree) -> Result<Known> {
    let state = TreePath::root().join(STATE_DIRECTORY.as_bytes());
    let shown = tree.path().join(STATE_DIRECTORY);
    let none = || {
        let said = format!("no manifest in {}; hint: name the directory that was staged to", shown.display());
        MoverError::Request(said)
    };
    let failed = |error: io::Error| MoverError::path("read manifests in", &shown, error);
    let directory = match tree.directory(&state) {
        Err(Errno::NOENT) => return Err(none()),
        other => other.map_err(|error| failed(error.into()))?,
    };
    let (mut known, mut manifests) = (Known::default(), 0);
    for found in Dir::read_from(&directory).map_err(|error| failed(error.into()))? {
        let found = found.map_err(|error| failed(error.into()))?;
        let name = found.file_name().to_bytes();
        if name.starts_with(b"manifest-") && name.ends_with(b".jsonl") {
            manifests += 1;
            let shown = TreePath::root().join(name).to_string();
            match open_one(tree, &state.join(name)) {
                Ok(file) => known.read(file, &shown).map_err(failed)?,
                Err(error) => known.damaged.push(format!("{shown}: {}", words(error))),
            }
        }
    }
    known.damaged.sort_unstable();
    if manifests == 0 { Err(none()) } else { Ok(known) }
}

/// Opens a regular file. What is none is not opened: that could wait for a writer, or do what a device does then.
fn open_one(tree: &Tree, at: &TreePath) -> io::Result<File> {
    let regular = |kind| if kind == Kind::File { Ok(()) } else { Err(io::Error::other("it is not a regular file")) };
    regular(Version::of(tree.open_beneath(at, OFlags::PATH)?)?.kind)?;
    let file = tree.open_beneath(at, OFlags::RDONLY | OFlags::NONBLOCK)?;
    // Another may have the name by now.
    regular(Version::of(&file)?.kind)?;
    Ok(File::from(file))
}

/// Bytes of a line, at most: a path of the longest kind with each byte escaped, and the other keys.
const LONGEST_LINE: u64 = 1 << 16;

impl Known {
    /// Adds what one manifest says; `name` is for what is damaged in it. Of several lines of one path in it the last counts: a clock
    /// may be set back between two lines, and their order stays.
    pub(super) fn read(&mut self, file: File, name: &str) -> io::Result<()> {
        let mut file = BufReader::with_capacity(BUFFER, file);
        let (mut lines, mut text, mut number) = (HashMap::new(), Vec::new(), 0_u64);
        while (&mut file).take(LONGEST_LINE).read_until(b'\n', &mut text)? > 0 {
            number += 1;
            let ended = text.last() == Some(&b'\n');
            match Line::read(&text) {
                Ok(line) => _ = lines.insert(line.path.clone(), line),
                Err(_) if !ended && manifest_line::is_unfinished(&text) && file.fill_buf()?.is_empty() => self.torn_lines += 1,
                Err(why) => {
                    self.damaged.push(format!("{name} line {number}: {why}"));
                    if !ended {
                        file.skip_until(b'\n')?;
                    }
                }
            }
            text.clear();
        }
        for (path, line) in lines {
            if self.lines.get(&path).is_none_or(|other| other.staged_ns <= line.staged_ns) {
                self.lines.insert(path, line);
            }
        }
        Ok(())
    }
}

/// Walks the tree for names that no manifest knows. `lines` are in the order of their paths.
fn find_unknown(tree: &Tree, lines: &[Line], report: &mut Report) {
    let mut ahead = vec![TreePath::root()];
    while let Some(directory) = ahead.pop() {
        let listed = tree.directory(&directory).and_then(Dir::new).and_then(|names| {
            for found in names {
                let found = found?;
                let name = found.file_name().to_bytes();
                if matches!(name, b"." | b"..") || (directory.is_root() && name == STATE_DIRECTORY.as_bytes()) {
                    continue;
                }
                let path = directory.join(name);
                let is_directory = match found.file_type() {
                    fs::FileType::Unknown => Version::at(tree.root(), path.bytes()).is_ok_and(|at| at.kind == Kind::Directory),
                    kind => kind == fs::FileType::Directory,
                };
                if is_directory {
                    ahead.push(path);
                } else if lines.binary_search_by(|line| line.path.cmp(&path)).is_err() {
                    report.unknown.push(path.to_string());
                }
            }
            Ok(())
        });
        if let Err(error) = listed {
            report.unreadable.push(format!("{directory}: {}", words(error)));
        }
    }
}
