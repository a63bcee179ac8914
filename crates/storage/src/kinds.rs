//! The registry of kinds.

use std::sync::Arc;

use crate::error::Result;
use crate::{Pieces, Storage, StorageKind, TargetSpec};
use crate::{memory::Memory, mmap::Mapped, null::Null, posix::Posix, uring::Uring};

/// Opens the storage that `spec` names. Kinds with files need a directory that [`Scratch`](crate::Scratch) marked.
pub fn open(spec: &TargetSpec) -> Result<Arc<dyn Storage>> {
    let storage: Arc<dyn Storage> = match spec.kind {
        StorageKind::Posix => Arc::new(Posix::new(spec)?),
        StorageKind::Null => Arc::new(Null),
        StorageKind::Uring => Arc::new(Uring::new(spec)?),
        StorageKind::Mmap => Arc::new(Mapped::new(spec)?),
        StorageKind::Memory => Arc::new(Memory::default()),
    };
    Ok(match spec.cut {
        None => storage,
        Some(cut) => Arc::new(Pieces::new(storage, cut)),
    })
}
