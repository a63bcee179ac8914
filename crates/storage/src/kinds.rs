//! The registry of kinds.

use std::sync::Arc;

use crate::error::Result;
use crate::{Storage, StorageKind, TargetSpec};
use crate::{null::Null, posix::Posix};

/// Opens the storage that `spec` names. Kinds with files need a directory that [`Scratch`](crate::Scratch) marked.
pub fn open(spec: &TargetSpec) -> Result<Arc<dyn Storage>> {
    Ok(match spec.kind {
        StorageKind::Posix => Arc::new(Posix::new(spec)?),
        StorageKind::Null => Arc::new(Null),
        StorageKind::Uring | StorageKind::Mmap | StorageKind::Memory => {
            return Err(crate::StorageError::Unsupported(format!("{:?} is not in this build", spec.kind)));
        }
    })
}
