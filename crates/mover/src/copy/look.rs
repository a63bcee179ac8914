//! Whether what is called safe still lies at the destination, as it was put there.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{Carrier, Shared};
use crate::entry::Entry;
use crate::error::Result;
use crate::in_threads::in_threads;
use crate::journal::Copied;
use crate::path::TreePath;
use crate::version::{Kind, Version};

/// Copies that come from the journal at once.
const PAGE: u32 = 8192;

/// Copies that are missing, and numbers of those that were and are there again.
type Looked = (Vec<Copied>, Vec<i64>);

/// Why an entry that was safe is not any more.
pub const REMOVED: &str = "its copy at the destination was removed or changed, and the source does not have it any more; \
    hint: bring the copy back, then resume";

impl Carrier {
    /// Looks at every copy: name, kind, size and time of change. What is missing or has changed is safe no longer: what the source still
    /// has is queued and comes back, the rest is lost, until it is found there again.
    pub fn look_at_copies(&self) -> Result<Vec<Entry>> {
        let (shared, mut again, mut after) = (&self.shared, Vec::new(), i64::MIN);
        while !shared.halted() {
            let page = shared.parts.journal.copies(after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.id;
            for (missing, back) in in_threads(&page, |part| shared.look_at(part))? {
                if !missing.is_empty() {
                    again.extend(shared.parts.journal.missing(&missing, REMOVED)?);
                }
                if !back.is_empty() {
                    shared.parts.journal.back(&back)?;
                }
            }
        }
        Ok(again)
    }
}

impl Shared {
    /// Those of these that are missing, and those that were and are there again.
    fn look_at(&self, copies: &[Copied]) -> Looked {
        let (mut missing, mut back) = (Vec::new(), Vec::new());
        let mut here: Option<(TreePath, std::result::Result<OwnedFd, Errno>)> = None;
        for copy in copies {
            let parent = copy.path.parent();
            if here.as_ref().is_none_or(|(path, _)| *path != parent) {
                let opened = self.parts.to.directory(&parent);
                here = Some((parent, opened));
            }
            let there = match &here {
                Some((_, Ok(directory))) => Version::at(directory, copy.path.name()),
                Some((_, Err(error))) => Err(*error),
                None => Err(Errno::NOENT),
            };
            let whole = there.is_ok_and(|there| is_as_placed(copy, &there));
            if !whole && !copy.lost {
                missing.push(copy.clone());
            } else if whole && copy.lost {
                back.push(copy.id);
            }
        }
        (missing, back)
    }
}

/// Not the inode: some file systems number theirs anew with each mount. What a directory holds is looked at by itself.
fn is_as_placed(copy: &Copied, there: &Version) -> bool {
    let alike = || matches!(copy.kind, Kind::Directory) || (there.size, there.mtime_ns) == (copy.size, copy.mtime_ns);
    there.kind == copy.kind && alike()
}
