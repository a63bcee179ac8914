//! Refuses what cannot work before anything is touched; holds the lock that keeps a second mover out.

mod directory_place;
mod identity;
mod lock;
mod probe;
mod refusal;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, Access, AtFlags, Mode};
use rustix::io::Errno;

use crate::STATE_DIRECTORY;
use crate::error::{MoverError, Result, words};
use crate::journal::{Identity, Journal};
use crate::options::{Clear, Options};
use crate::tree::Tree;
use directory_place::DirectoryPlace;
pub use identity::Established;
#[cfg(test)]
pub(crate) use identity::establish;
use lock::Lock;
use refusal::refused;

/// Threads that a user may ask for.
const MOST_WORKERS: u32 = 256;

/// Two trees that a mover can work on, and the right to.
#[derive(Debug)]
pub struct Preflight {
    /// Tree that is read.
    pub from: Arc<Tree>,
    /// Tree that is written.
    pub to: Arc<Tree>,
    identity: Identity,
    notes: Vec<String>,
    lock: Lock,
}

impl Preflight {
    /// Looks whether a mover of these options can work. Only where it can, the destination and the state directory are made if
    /// they are not there; a file of the mover's own is put into the destination for a moment, to see what its file system does.
    pub fn check(options: &Options) -> Result<Self> {
        if options.workers.is_some_and(|workers| workers > MOST_WORKERS) {
            return Err(refused(&format!("more than {MOST_WORKERS} workers"), "give fewer, or let the mover find their number"));
        }
        let from = source(options)?;
        let (parent, name) = destination(options)?;
        let (from_place, to_place) = (DirectoryPlace::of(from.root())?, DirectoryPlace::of(parent.root())?);
        apart(options, &from_place, &to_place, name.is_some())?;
        not_staged_itself(options, &from_place)?;
        let to =
            name.as_ref().map_or(directory_place::path_of(parent.root())?, |name| to_place.path().join(OsStr::from_bytes(name)));
        not_among_the_copies(options, &to)?;
        can_be_made(&options.state, name.as_ref().map(|_| options.to.as_path()))?;
        let held = Lock::take_existing(&options.state)?;
        identity::require_marked(options, (&parent, name.is_some()), &to)?;
        if name.is_none() {
            identity::require_own(&parent)?;
        }
        let notes = probe::probe(&parent, &options.to, &options.state, options.overwrite, &probe::CALLS)?;
        let to = match &name {
            None => parent,
            Some(name) => made(&parent, name, &options.to)?,
        };
        let lock = match held {
            Some(lock) => lock,
            None => Lock::take(&options.state)?,
        };
        lock.sign(&options.name);
        let identity = Identity { from: directory_place::path_of(from.root())?, to: directory_place::path_of(to.root())? };
        Ok(Self { from: Arc::new(from), to: Arc::new(to), identity, notes, lock })
    }

    /// Both trees, by the names that the system has for them.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Makes sure that both trees are those of the journal, before anything is written to them, and marks the destination.
    pub fn establish(&self, options: &Options, journal: &Journal) -> Result<Established> {
        let trees = (&*self.from, &*self.to);
        let established = identity::establish(&options.state, trees, journal, &self.identity, options.trees_changed)?;
        Ok(established.in_seat(self.lock.seat()?))
    }

    /// What the user must know of these file systems.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

fn source(options: &Options) -> Result<Tree> {
    let shown = options.from.display();
    let tree = opened(&options.from, "source", "name the directory that holds the files")?;
    may(&tree, Access::READ_OK | Access::EXEC_OK)
        .map_err(|error| refused(&format!("cannot read source {shown}: {}", words(error)), "run as a user who may read it"))?;
    if options.clear != Clear::Never {
        may(&tree, Access::WRITE_OK).map_err(|error| {
            let wrong = format!("cannot clear source {shown}: {}", words(error));
            refused(&wrong, "keep the source's files, or run as a user who may remove them")
        })?;
    }
    Ok(tree)
}

/// The destination, or the directory that it is to be made in and its name there.
fn destination(options: &Options) -> Result<(Tree, Option<Vec<u8>>)> {
    let (tree, name) = match options.to.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let missing = || {
                let wrong =
                    format!("destination {} does not exist, nor does the directory it would be made in", options.to.display());
                refused(&wrong, "make that directory first, or look at the spelling")
            };
            let name = options.to.file_name().ok_or_else(missing)?;
            let parent = match options.to.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            if !parent.exists() {
                return Err(missing());
            }
            let tree = opened(parent, "the destination's parent", "name a directory")?;
            (tree, Some(name.as_bytes().to_vec()))
        }
        _ => (opened(&options.to, "destination", "name a directory")?, None),
    };
    may(&tree, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let wrong = format!("cannot write destination {}: {}", options.to.display(), words(error));
        refused(&wrong, "name a directory that this user may write")
    })?;
    Ok((tree, name))
}

fn opened(path: &Path, what: &str, hint: &str) -> Result<Tree> {
    Tree::open(path).map_err(|error| {
        let MoverError::Path { source, .. } = &error else { return error };
        let why = match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => "does not exist".to_owned(),
            Some(Errno::NOTDIR) => "is not a directory".to_owned(),
            Some(other) => format!("cannot be opened: {}", words(other)),
            None => format!("cannot be opened: {source}"),
        };
        refused(&format!("{what} {} {why}", path.display()), hint)
    })
}

fn may(tree: &Tree, access: Access) -> rustix::io::Result<()> {
    fs::accessat(tree.root(), ".", access, AtFlags::EACCESS)
}

/// Neither tree may be, or lie in, the other. `new`: the destination is yet to be made, in `to`.
fn apart(options: &Options, from: &DirectoryPlace, to: &DirectoryPlace, new: bool) -> Result<()> {
    let (shown_from, shown_to) = (options.from.display(), options.to.display());
    if !new && from.is(to) {
        return Err(refused(&format!("source and destination are the same directory, {shown_from}"), "name two directories"));
    }
    if to.is_in(from) {
        let wrong = format!("destination {shown_to} is inside the source {shown_from}");
        return Err(refused(&wrong, "name a destination outside, or a smaller source"));
    }
    if !new && from.is_in(to) {
        let wrong = format!("source {shown_from} is inside the destination {shown_to}");
        return Err(refused(&wrong, "name a destination beside it"));
    }
    Ok(())
}

/// What the mover itself writes to while it works must not be a file to be staged, or it would never be done.
fn not_staged_itself(options: &Options, from: &DirectoryPlace) -> Result<()> {
    let own = from.path().join(STATE_DIRECTORY);
    for (what, path) in [("state directory", Some(&options.state)), ("log", options.log.as_ref())] {
        let Some(path) = path else { continue };
        let Some((there, rest)) = nearest(path) else { continue };
        let place = DirectoryPlace::of(there.root())?;
        let at = place.path().join(&rest);
        if (place.is(from) || place.is_in(from)) && !at.starts_with(&own) {
            let wrong = format!("{what} {} is inside the source, and would be staged itself", path.display());
            return Err(refused(&wrong, "put it somewhere else"));
        }
    }
    Ok(())
}

/// Nor must the journal have a name that a copy may be given.
fn not_among_the_copies(options: &Options, to: &Path) -> Result<()> {
    let Some((there, rest)) = nearest(&options.state) else { return Ok(()) };
    let at = directory_place::path_of(there.root())?.join(rest);
    if at.starts_with(to) && !at.starts_with(to.join(STATE_DIRECTORY)) {
        let wrong = format!("state directory {} is inside the destination, among the copies", options.state.display());
        return Err(refused(&wrong, "put it somewhere else"));
    }
    Ok(())
}

/// Whether the directory `state` is there or can be made, in one that is there or in the destination that is yet to be made.
fn can_be_made(state: &Path, new: Option<&Path>) -> Result<()> {
    let wrong = |why: &str| {
        let hint = "give --state a directory that this user may write, on node-local storage";
        Err(refused(&format!("cannot use state directory {}: {why}", state.display()), hint))
    };
    let Some((there, rest)) = nearest(state) else { return wrong("nothing of it is there") };
    match rest.components().count() {
        0 => {}
        1 if !state.exists() => {}
        2 if new.is_some() && state.parent() == new => {}
        1 => return wrong("it is not a directory"),
        _ => return wrong("the directory it would be made in does not exist"),
    }
    may(&there, Access::WRITE_OK | Access::EXEC_OK).or_else(|error| wrong(&words(error)))
}

/// The innermost directory of `path` that is there, and what is left of the path from it on.
fn nearest(path: &Path) -> Option<(Tree, PathBuf)> {
    let ahead = path.ancestors().map(|at| if at.as_os_str().is_empty() { Path::new(".") } else { at });
    let (tree, at) = ahead.map(|at| (Tree::open(at).ok(), at)).find_map(|(tree, at)| Some((tree?, at)))?;
    let rest = path.strip_prefix(at).unwrap_or(path);
    Some((tree, rest.to_owned()))
}

fn made(parent: &Tree, name: &[u8], path: &Path) -> Result<Tree> {
    let failed = |error: Errno| {
        let wrong = format!("cannot make destination {}: {}", path.display(), words(error));
        refused(&wrong, "make it yourself, or name another")
    };
    match fs::mkdirat(parent.root(), name, Mode::from_raw_mode(0o777)) {
        Ok(()) => fs::fsync(parent.root().as_fd()).or_else(|error| if error == Errno::INVAL { Ok(()) } else { Err(error) }),
        // Another mover into the same tree was as quick.
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(failed)?;
    opened(path, "destination", "name a directory")
}
