//! Snapshots of what the tasks wrote: one file a means.

mod command;
mod directory_snapshots;
mod program;
mod reflink;
mod snapshot_place;
pub(crate) mod subvolumes;

use std::sync::Arc;

use tonnage_workload::Means;

use crate::api::{SnapshotRequest, Snapshots, Storage};
use crate::error::{Result, StorageError};
use crate::fs::files::Files;

pub(crate) use command::CommandSnapshots;

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
        Means::Btrfs {} | Means::Cephfs {} => {
            Ok(Box::new(directory_snapshots::DirectorySnapshots::new(files, request, rebuild)?))
        }
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
