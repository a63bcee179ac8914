//! The registry of kinds.

use std::sync::Arc;

use crate::api::Storage;
use crate::error::{Result, StorageError};
use crate::fs::file_storage::FileStorage;
use crate::fs::mmap::Mapped;
use crate::fs::posix::Posix;
use crate::fs::uring::Uring;
use crate::memory::Memory;
use crate::mpiio::Mpiio;
use crate::nfs::Nfs;
use crate::null::Null;
use crate::rados::Rados;
use crate::s3::S3;
use crate::scratch::directory::Directory;
use crate::split_file::Pieces;
use crate::target::Process;
use crate::target::{Delays, StorageKind, TargetSpec};

/// Opens the storage that `spec` names. Kinds with files need a directory that [`Scratch`](crate::Scratch) marked.
pub fn open(spec: &TargetSpec) -> Result<Arc<dyn Storage>> {
    refuse_options_of_others(spec)?;
    let storage: Arc<dyn Storage> = match spec.kind {
        StorageKind::Posix => FileStorage::open(spec, Posix::new(spec))?,
        StorageKind::Null => Arc::new(Null::new(spec.delays)),
        StorageKind::Uring => FileStorage::open(spec, Uring)?,
        StorageKind::Mmap => FileStorage::open(spec, Mapped::new(spec)?)?,
        StorageKind::Mpiio => FileStorage::open(spec, Mpiio::new(spec)?)?,
        StorageKind::Memory => Arc::new(Memory::default()),
        StorageKind::Rados => Arc::new(Rados::new(spec)?),
        StorageKind::Nfs => Arc::new(Nfs::new(spec)?),
        StorageKind::S3 => Arc::new(S3::new(spec)?),
    };
    Ok(match spec.cut {
        None => storage,
        Some(cut) => Arc::new(Pieces::new(storage, cut)),
    })
}

/// An option that another kind would not know of must not be taken for one that was heeded.
fn refuse_options_of_others(spec: &TargetSpec) -> Result<()> {
    for (given, name, kind) in [
        (!spec.advice.is_empty(), "advice", StorageKind::Mmap),
        (spec.range_locks, "range_locks", StorageKind::Posix),
        (spec.mpiio.is_some(), "a library of MPI", StorageKind::Mpiio),
        (spec.delays != Delays::default(), "delays", StorageKind::Null),
        (spec.rados.is_some(), "a pool", StorageKind::Rados),
        (spec.nfs.is_some(), "an export", StorageKind::Nfs),
        (spec.s3.is_some(), "a bucket", StorageKind::S3),
    ] {
        if given && spec.kind != kind {
            let text = format!("{name} is for kind {kind:?}, not {:?}; leave it out", spec.kind).to_lowercase();
            return Err(StorageError::Unsupported(text));
        }
    }
    Ok(())
}

impl TargetSpec {
    /// The same storage for the other processes of the run, wherever they are.
    pub fn for_others(&self) -> Result<Self> {
        let paths = self.directories.iter().chain(&self.nurseries);
        let marks = paths.map(|path| Ok(Directory::open(path)?.mark().to_owned())).collect::<Result<_>>()?;
        Ok(Self { process: Process::Other, marks, ..self.clone() })
    }
}
