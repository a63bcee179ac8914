//! The storage of every kind with files: the kinds differ in how a lane reads and writes, and in nothing else.

use std::fmt::Debug;
use std::sync::Arc;

use tonnage_workload::CachePolicy;

use crate::api::{CacheState, Facts, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Space, Storage};
use crate::error::Result;
use crate::fs::files::Files;
use crate::fs::watch::Watch;
use crate::snapshots::of_files;
use crate::target::TargetSpec;

/// How a lane reads and writes.
pub(crate) trait FileAccess: Debug + Send + Sync + 'static {
    /// A [`Watch`] tells of what its lanes write.
    const IS_WATCHED: bool = true;

    /// Prepares one task's way to one of `files`, and records there what became of the request.
    fn lane(&self, files: &Arc<Files>, request: &OpenRequest) -> Result<Lane>;

    /// One task's way to the names of a tree in `files`.
    fn names(&self, files: &Files, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(files.tree_names(request)?))
    }

    /// See [`Storage::tasks_at`].
    fn tasks_at(&self, _processes: &[u32]) {}
}

/// Files in directories or by name, read and written by one kind of access.
#[derive(Debug)]
pub(crate) struct FileStorage<A> {
    files: Arc<Files>,
    access: Arc<A>,
}

impl<A: FileAccess> FileStorage<A> {
    pub(crate) fn open(spec: &TargetSpec, access: A) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(Self { files: Arc::new(Files::new(spec)?), access: Arc::new(access) }))
    }
}

impl<A: FileAccess> Storage for FileStorage<A> {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        self.access.lane(&self.files, request)
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        self.access.names(&self.files, request)
    }

    fn length(&self, file: u32) -> Result<u64> {
        self.files.length(file)
    }

    fn prepare_write(&self, files: &[u32]) -> Result<()> {
        self.files.prepare_write(files)
    }

    fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<CacheState> {
        self.files.settle(files, cache)
    }

    fn tasks_at(&self, processes: &[u32]) {
        self.access.tasks_at(processes);
    }

    fn watch(&self, file: u32) -> Option<Watch> {
        if A::IS_WATCHED { self.files.watch(file) } else { None }
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let access = Arc::clone(&self.access);
        of_files(&self.files, request, Box::new(move |files| Arc::new(Self { files, access: Arc::clone(&access) })))
    }

    fn space(&self) -> Vec<Space> {
        self.files.space()
    }

    fn clear(&self) -> Result<()> {
        self.files.clear()
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.files.finish()
    }

    fn keep_named(&self, keep: bool) {
        self.files.keep_named(keep);
    }

    fn facts(&self) -> Facts {
        self.files.facts()
    }
}
