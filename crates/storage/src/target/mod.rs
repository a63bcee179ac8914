//! Which storage is meant, as the front says it.

mod bucket;
mod export;
mod mpiio;
mod pool;
mod split;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use bucket::BucketSpec;
pub use export::ExportSpec;
pub use mpiio::{FileView, MpiioSpec};
pub use pool::PoolSpec;
pub use split::Cut;

/// The kinds of storage in this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// pread and pwrite.
    Posix,
    /// `io_uring`, several operations in flight.
    Uring,
    /// Mapped files.
    Mmap,
    /// Files through MPI-IO.
    Mpiio,
    /// Does nothing: the cost of the generator itself.
    Null,
    /// Copies to and from memory.
    Memory,
    /// Objects of a Ceph pool.
    Rados,
    /// Files of an NFS export, without a mount.
    Nfs,
    /// Objects of a bucket of S3.
    S3,
}

/// Whether operations go past the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectMode {
    /// Through the page cache.
    No,
    /// Past it, or an error.
    Yes,
    /// Past it where the file system can, else through it with a note.
    #[default]
    Auto,
}

/// What a write does with a named file that is already there. `files` of this run itself are always used as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Existing {
    /// An error, whoever made it.
    #[default]
    Refuse,
    /// Contents are overwritten in place, whoever made it; it is neither cut nor made anew.
    Overwrite,
    /// One that an earlier run of Tonnage made and marked is removed and made anew; any other is an error.
    Ours,
}

/// Which of the processes of a run opens a storage: all of them work on the same files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Process {
    /// There is no other.
    #[default]
    Alone,
    /// The one that made the directories. It clears and finishes for all.
    First,
    /// Another one, on this host or elsewhere: what it makes, the first one removes.
    Other,
}

/// What the kernel is told of a mapped file when it was mapped (`madvise`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// It will be visited in ascending order.
    Sequential,
    /// It will be visited in no order.
    Random,
    /// Its pages need not stay mapped. The page cache keeps them.
    DontNeed,
}

/// How long a [`StorageKind::Null`] waits in each of its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delays {
    /// When a write opens a file.
    pub create_ns: u64,
    /// In each read and write.
    pub transfer_ns: u64,
    /// In each sync.
    pub sync_ns: u64,
    /// When a file is closed.
    pub close_ns: u64,
    /// Only this task waits; `None`: every one.
    pub task: Option<u32>,
}

/// A storage to open. It crosses from Python as JSON. Kinds with files need `directories` or `names`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Which kind.
    pub kind: StorageKind,
    /// Scratch directories (made by `Scratch`), one a device: file *i* lives in `directories[i % n]`.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
    /// Places files otherwise: file *i* lives in `directories[assign[i % len]]`. Empty: round robin.
    #[serde(default)]
    pub assign: Vec<u32>,
    /// What the name of a new file ends in while it is made, one for each of `directories`, or none: by `@layer:brick`
    /// `GlusterFS` is told which brick shall have the file, which is then there without it. Empty ones add nothing.
    #[serde(default)]
    pub pins: Vec<String>,
    /// Files of the user instead of directories: file *i* is `names[i]`, an absolute path.
    #[serde(default)]
    pub names: Vec<PathBuf>,
    /// What a write does where one of `names` is there already.
    #[serde(default)]
    pub existing: Existing,
    /// Leave the `names` when the run ends.
    #[serde(default)]
    pub keep: bool,
    /// Marked directories, one for each directory that holds `names`, in the order in which the names first lead there:
    /// files that are not there are made in them and moved to their name, and so have their striping. Or none.
    #[serde(default)]
    pub nurseries: Vec<PathBuf>,
    /// Which of the run's processes this is.
    #[serde(default)]
    pub process: Process,
    /// What marks the `directories`, then the `nurseries`, as the first process knows them: on another host the same
    /// path may lead elsewhere. Empty: whatever is marked.
    #[serde(default)]
    pub marks: Vec<String>,
    /// Which run marks the `names` as its own.
    #[serde(default)]
    pub run_id: String,
    /// Past the page cache or through it.
    #[serde(default)]
    pub direct: DirectMode,
    /// Keeps each file as several.
    #[serde(default)]
    pub cut: Option<Cut>,
    /// Kind `mmap` only: what the kernel is told of each mapping, in this order.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Kind `posix` only: each transfer holds a lock on its bytes (shared for a read), as other clients might need.
    #[serde(default)]
    pub range_locks: bool,
    /// Kind `mpiio` only: through which MPI, and how.
    #[serde(default)]
    pub mpiio: Option<MpiioSpec>,
    /// Kind `null` only.
    #[serde(default)]
    pub delays: Delays,
    /// Kind `rados` only: which pool.
    #[serde(default)]
    pub rados: Option<PoolSpec>,
    /// Kind `nfs` only: which export.
    #[serde(default)]
    pub nfs: Option<ExportSpec>,
    /// Kind `s3` only: which bucket.
    #[serde(default)]
    pub s3: Option<BucketSpec>,
}

impl TargetSpec {
    /// What must mark the directory that is the `index`th of the directories and nurseries; `None` for whatever does.
    pub(crate) fn mark(&self, index: usize) -> Option<&str> {
        self.marks.get(index).map(String::as_str)
    }

    /// A storage without files, or one to which they are still to be given.
    #[must_use]
    pub fn new(kind: StorageKind) -> Self {
        let (existing, direct) = (Existing::default(), DirectMode::default());
        let (directories, names, nurseries) = (Vec::new(), Vec::new(), Vec::new());
        let (assign, run_id, advice, delays) = (Vec::new(), String::new(), Vec::new(), Delays::default());
        let (keep, cut, range_locks, pins) = (false, None, false, Vec::new());
        let (process, marks) = (Process::default(), Vec::new());
        Self {
            kind,
            directories,
            assign,
            pins,
            names,
            existing,
            keep,
            nurseries,
            process,
            marks,
            run_id,
            direct,
            cut,
            advice,
            range_locks,
            mpiio: None,
            delays,
            rados: None,
            nfs: None,
            s3: None,
        }
    }
}
