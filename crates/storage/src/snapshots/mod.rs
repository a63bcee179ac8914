//! Snapshots of what the tasks wrote: one file a means.

mod command;
mod program;
mod reflink;
mod room_place;
mod rooms;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tonnage_workload::Means;

use crate::Storage;
use crate::error::{Result, StorageError};
use crate::files::Files;

pub(crate) use command::CommandSnapshots;
pub(crate) use rooms::{is_room_name, remove_room};

/// Of what snapshots are to be taken.
#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    /// How.
    pub means: Means,
    /// The one task whose data are meant; `None`: those of all tasks together.
    pub owner: Option<u32>,
    /// The files that it, or all of them, write.
    pub files: Vec<u32>,
    /// How many there will be.
    pub rounds: u32,
    /// Set when nobody waits for one any more: a program that takes it is ended.
    pub stop: Arc<AtomicBool>,
}

/// One way to snapshots, by one task or for all. Whatever it makes has names that only this run spells.
pub trait Snapshots: Send {
    /// Where the data live that snapshots are taken of; `None`: in the storage as it is.
    fn live(&self) -> Option<Arc<dyn Storage>> {
        None
    }

    /// Takes the snapshot of a round, with nothing in flight. What other processes have to know of it, or 0; it never
    /// falls from one round to the next.
    fn take(&mut self, round: u32) -> Result<u64>;

    /// The round is over, and its time with it: what a process that is killed would leave of its snapshot can be found
    /// from now on.
    fn note(&mut self, _round: u32) -> Result<()> {
        Ok(())
    }

    /// Another process took it, and said `token`.
    fn adopt(&mut self, _round: u32, _token: u64) -> Result<()> {
        Ok(())
    }

    /// The storage as it was at the end of a round, to be read only; `None`: as it is.
    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>>;

    /// Removes the snapshot of a round.
    fn remove(&mut self, round: u32) -> Result<()>;
}

/// Makes a storage of its kind over other files.
pub(crate) type Rebuild = Box<dyn Fn(Arc<Files>) -> Arc<dyn Storage> + Send + Sync>;

/// A means that a storage does not know, which is `place`. A program of the user snapshots any; `words` are filled in.
pub(crate) fn of_any(request: &SnapshotRequest, words: &[(&'static str, String)], place: &str) -> Result<Box<dyn Snapshots>> {
    match &request.means {
        Means::Command(command) => Ok(Box::new(CommandSnapshots::new(command, request, words, None)?)),
        other => Err(refused(other, place)),
    }
}

/// The snapshots of a storage with files.
pub(crate) fn of_files(files: &Arc<Files>, request: &SnapshotRequest, rebuild: Rebuild) -> Result<Box<dyn Snapshots>> {
    let Some(scratch) = request.files.first().and_then(|&file| files.place().scratch(file)) else {
        let text = "snapshots are taken in a scratch directory only; give a directory instead of names of files";
        return Err(StorageError::Unsupported(text.to_owned()));
    };
    match &request.means {
        Means::Reflink {} => Ok(Box::new(reflink::Reflinks::new(files, request, rebuild)?)),
        Means::Btrfs {} | Means::Cephfs {} => Ok(Box::new(rooms::Rooms::new(files, request, rebuild)?)),
        Means::Command(command) => {
            let words = [("directory", scratch.path().display().to_string())];
            Ok(Box::new(CommandSnapshots::new(command, request, &words, Some((Arc::clone(files), rebuild)))?))
        }
        other => Err(refused(other, "a directory")),
    }
}

fn refused(means: &Means, place: &str) -> StorageError {
    let wanted = match means {
        Means::RadosSelfManaged {} | Means::RadosPool {} => "a pool of Ceph (rados://POOL)",
        Means::Cephfs {} => "a directory on CephFS",
        Means::Btrfs {} => "a directory on Btrfs",
        Means::Reflink {} => "a directory on a file system with reflinks, such as XFS or Btrfs",
        Means::Model {} => "a model (sim:…)",
        Means::Command(_) => "a storage",
    };
    StorageError::Unsupported(format!("snapshots by {} need {wanted}, and this is {place}", means.name()))
}

/// The name of a round's snapshot.
pub(crate) fn round_name(round: u32) -> String {
    format!("r{round:05}")
}

/// Whether it is exactly how the snapshot of a round is called.
pub(crate) fn is_round_name(name: &[u8]) -> bool {
    let number = || std::str::from_utf8(name).ok()?.strip_prefix('r')?.parse().ok();
    number().is_some_and(|round| round_name(round).as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_a_round_is_ours() {
        assert!([0, 7, 99_999, 123_456].into_iter().all(|round| is_round_name(round_name(round).as_bytes())));
        for other in ["r", "r7", "r+0007", "r000007", "s00007", "r0000x", "r123456789012"] {
            assert!(!is_round_name(other.as_bytes()), "{other}");
        }
    }
}
