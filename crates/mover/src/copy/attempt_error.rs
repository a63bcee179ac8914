//! Why an entry's attempt ended early, in words a user can act on.

use std::fmt::Display;

use rustix::io::Errno;

use crate::error::{MoverError, words};
use crate::journal_entry::Outcome;
use crate::path::TreePath;
use crate::tree::Tree;

/// The end of an attempt before the entry was safe.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It concerns this entry only.
    Entry(Outcome),
    /// It concerns the whole mover.
    Mover(MoverError),
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        Self::Entry(outcome)
    }
}

impl From<MoverError> for Ended {
    fn from(error: MoverError) -> Self {
        Self::Mover(error)
    }
}

/// The result of a part of an attempt.
pub(crate) type Attempt<T> = Result<T, Ended>;

/// Splits what ends the mover from what ends an entry.
pub(super) fn split<T>(attempt: Attempt<T>) -> crate::error::Result<Result<T, Outcome>> {
    match attempt {
        Ok(value) => Ok(Ok(value)),
        Err(Ended::Entry(outcome)) => Ok(Err(outcome)),
        Err(Ended::Mover(error)) => Err(error),
    }
}

/// A failed call on `path` of the source. What is no longer there is gone; what became something else has changed.
pub(super) fn source(action: &str, tree: &Tree, path: &TreePath, errno: Errno) -> Ended {
    match errno {
        Errno::NOENT => Outcome::Gone.into(),
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::STALE => Outcome::Changed.into(),
        _ => failed(&format!("cannot {action} {}", place(tree, path)), errno),
    }
}

/// A failed call on `path` of the destination.
pub(super) fn target(action: &str, tree: &Tree, path: &TreePath, errno: Errno) -> Ended {
    failed(&format!("cannot {action} {}", place(tree, path)), errno)
}

/// Something that no waiting helps.
pub(super) fn refused(reason: String) -> Ended {
    Outcome::Failed { reason, again: false }.into()
}

/// Something that another attempt may get over.
pub(super) fn broken(reason: String) -> Ended {
    Outcome::Failed { reason, again: true }.into()
}

/// `path` of `tree`, on one line.
pub(super) fn place<'a>(tree: &'a Tree, path: &'a TreePath) -> impl Display + 'a {
    struct Shown<'a>(&'a Tree, &'a TreePath);
    impl Display for Shown<'_> {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(out, "{}/{}", self.0.path().display(), self.1)
        }
    }
    Shown(tree, path)
}

fn failed(what: &str, errno: Errno) -> Ended {
    let reason = format!("{what}: {}{}", words(errno), hint(errno));
    Outcome::Failed { reason, again: may_pass(errno) }.into()
}

/// Whether waiting may help: space comes free, a device or a server comes back, a mount is made writable again.
fn may_pass(errno: Errno) -> bool {
    !matches!(
        errno,
        Errno::ACCESS
            | Errno::PERM
            | Errno::NAMETOOLONG
            | Errno::FBIG
            | Errno::LOOP
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::EXIST
            | Errno::INVAL
            | Errno::ILSEQ
            | Errno::OPNOTSUPP
            | Errno::NOSYS
    )
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC | Errno::DQUOT => "; hint: free space there",
        Errno::ROFS => "; hint: it is mounted read-only",
        Errno::IO => "; hint: the storage failed, the kernel's log says more",
        Errno::ACCESS | Errno::PERM => "; hint: check its permissions",
        Errno::LOOP | Errno::NOTDIR => {
            "; hint: a link or a file stands where a directory must be: move it away, then stage again"
        }
        Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL => "; hint: that file system may not take this name",
        Errno::FBIG => "; hint: that file system takes no file of this size",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(errno: Errno) -> Outcome {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::open(root.path()).unwrap();
        match target("write", &tree, &TreePath::new(b"a/b\n").unwrap(), errno) {
            Ended::Entry(outcome) => outcome,
            Ended::Mover(error) => panic!("{error}"),
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS, Errno::STALE, Errno::NOENT, Errno::TIMEDOUT] {
            assert!(matches!(outcome(errno), Outcome::Failed { again: true, .. }), "{errno}");
        }
        for errno in [Errno::ACCESS, Errno::NAMETOOLONG, Errno::LOOP, Errno::FBIG] {
            assert!(matches!(outcome(errno), Outcome::Failed { again: false, .. }), "{errno}");
        }
    }

    #[test]
    fn a_reason_says_what_where_and_what_to_do_on_one_line() {
        let Outcome::Failed { reason, .. } = outcome(Errno::NOSPC) else { panic!("it failed") };
        assert!(
            reason.starts_with("cannot write /")
                && reason.contains("/a/b\\x0a: No space left")
                && reason.ends_with("free space there"),
            "{reason}"
        );
    }
}
