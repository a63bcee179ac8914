//! Whether what is called safe still lies at the destination, as it was put there.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::Carrier;
use crate::error::Result;
use crate::file_version::{Kind, Version};
use crate::journal::Copied;
use crate::journal_entry::Entry;
use crate::path::TreePath;

/// What a look at copies found.
#[derive(Debug, Default)]
pub struct Copies {
    missing: Vec<Copied>,
    /// Numbers of those that were missing and are there again.
    back: Vec<i64>,
}

/// Why an entry that was safe is not any more.
pub const REMOVED: &str = "its copy at the destination was removed or changed, and the source does not have it any more; \
    hint: bring the copy back, then resume";

impl Carrier {
    /// Looks at these copies: name, kind, size and time of change, and, of what is to be told from another's, the inode.
    #[must_use]
    pub fn look_at_copies(&self, copies: &[Copied]) -> Copies {
        let (to, inodes_last) = (&self.shared.parts.to, self.shared.parts.established.inodes_last);
        let mut found = Copies::default();
        let mut here: Option<(TreePath, std::result::Result<OwnedFd, Errno>)> = None;
        for copy in copies {
            let parent = copy.path.parent();
            if here.as_ref().is_none_or(|(path, _)| *path != parent) {
                let opened = to.directory(&parent);
                here = Some((parent, opened));
            }
            let there = match &here {
                Some((_, Ok(directory))) => Version::at(directory, copy.path.name()),
                Some((_, Err(error))) => Err(*error),
                None => Err(Errno::NOENT),
            };
            let whole = there.is_ok_and(|there| is_as_placed(copy, &there, inodes_last));
            if !whole && !copy.lost {
                found.missing.push(copy.clone());
            } else if whole && copy.lost {
                found.back.push(copy.id);
            }
        }
        found
    }

    /// Says in the journal what was found. What is missing or has changed is safe no longer: what the source still has of it is queued and
    /// comes back from here, the rest is lost, until it is found there again.
    pub fn say_copies(&self, found: &Copies) -> Result<Vec<Entry>> {
        let journal = &self.shared.parts.journal;
        if !found.back.is_empty() {
            journal.back(&found.back)?;
        }
        if found.missing.is_empty() { Ok(Vec::new()) } else { journal.missing(&found.missing, REMOVED) }
    }
}

/// What a directory holds is looked at by itself. Some file systems number their inodes anew with each mount. A copy that somebody
/// brought back has another inode, which counts where the source can be compared with it.
fn is_as_placed(copy: &Copied, there: &Version, inodes_last: bool) -> bool {
    let same = || !inodes_last || !copy.at_source || copy.ino.is_none_or(|ino| ino == there.ino);
    let alike = || copy.kind == Kind::Directory || (there.size, there.mtime_ns) == (copy.size, copy.mtime_ns) && same();
    there.kind == copy.kind && alike()
}
