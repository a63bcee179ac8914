//! A task's way to the names of a tree in an export: one call each, relative to the handle of a directory.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use nfs3_types::nfs3::nfs_fh3;
use rustix::io::Errno;

use super::pipeline::Pipeline;
use super::run_directory::RunDirectory;
use crate::api::{ItemKind, Names, NamesRequest, Opening, RetryReport};
use crate::error::{Result, StorageError};
use crate::names::{Spelling, directory_name, parent_of, tree_name};

/// Directories whose handles are kept at most, as a client that is mounted keeps those of directories in use.
const HANDLES: usize = 4096;
/// Bytes of an open file that are kept until they are committed, for a server that restarts loses them. What is written
/// beyond is durable at once.
const KEPT_BYTES: usize = 1 << 20;

/// One task's way to its tree.
pub(super) struct NfsNames {
    run: Arc<RunDirectory>,
    request: NamesRequest,
    pipeline: Pipeline,
    spelling: Spelling,
    other_spelling: Spelling,
    handles: HashMap<u64, nfs_fh3>,
    here: Option<nfs_fh3>,
    open: Option<nfs_fh3>,
    /// What was written to the open file and is not committed: where, and what.
    kept: Vec<(u64, Vec<u8>)>,
    kept_bytes: usize,
}

/// The error of a call on a storage's way to its directory, as one of a name.
fn plain(error: StorageError) -> io::Error {
    match error {
        StorageError::Path { source, .. } => source,
        other => io::Error::other(other.to_string()),
    }
}

impl NfsNames {
    pub(super) fn new(run: &Arc<RunDirectory>, request: NamesRequest) -> Result<Self> {
        Ok(Self {
            run: Arc::clone(run),
            request,
            pipeline: Pipeline::new(run.client()?, 1, run.sizes()),
            spelling: Spelling::new(request.owner),
            other_spelling: Spelling::new(request.owner),
            handles: HashMap::new(),
            here: None,
            open: None,
            kept: Vec::new(),
            kept_bytes: 0,
        })
    }

    /// The handle of a directory of the tree, by its parents' where they are known.
    fn handle(&mut self, directory: u64) -> io::Result<nfs_fh3> {
        if let Some(known) = self.handles.get(&directory) {
            return Ok(known.clone());
        }
        let client = &mut self.pipeline.client;
        let found = if directory == 0 {
            let ground = self.run.directory(client).map_err(plain)?;
            client.enter(&ground, tree_name(self.request.number).as_bytes())?
        } else {
            let parent = self.handle(parent_of(&self.request.tree, directory))?;
            self.pipeline.client.enter(&parent, directory_name(directory).as_bytes())?
        };
        self.keep_handle(directory, &found);
        Ok(found)
    }

    fn keep_handle(&mut self, directory: u64, handle: &nfs_fh3) {
        if self.handles.len() >= HANDLES {
            self.handles.clear();
        }
        self.handles.insert(directory, handle.clone());
    }

    fn here(&self) -> io::Result<nfs_fh3> {
        self.here.clone().ok_or_else(|| Errno::BADF.into())
    }

    fn commit(&mut self) -> io::Result<()> {
        if self.open.is_none() {
            return Err(Errno::BADF.into());
        }
        let mut committed = self.pipeline.commit();
        if committed.is_err() && !self.pipeline.take_lost().is_empty() {
            // All of it: what the server kept of it is only written over with the same.
            for (offset, bytes) in &self.kept {
                self.pipeline.write_at(*offset, bytes)?;
            }
            committed = self.pipeline.commit();
        }
        self.forget_kept();
        committed
    }

    fn forget_kept(&mut self) {
        self.kept.clear();
        self.kept_bytes = 0;
    }
}

impl Names for NfsNames {
    fn make_tree(&mut self, directory: u64) -> io::Result<()> {
        let made = if directory == 0 {
            let ground = self.run.made_directory(&mut self.pipeline.client).map_err(plain)?;
            self.pipeline.client.make_directory(&ground, tree_name(self.request.number).as_bytes())?
        } else {
            let parent = self.handle(parent_of(&self.request.tree, directory))?;
            self.pipeline.client.make_directory(&parent, directory_name(directory).as_bytes())?
        };
        self.keep_handle(directory, &made);
        Ok(())
    }

    fn remove_tree(&mut self, directory: u64) -> io::Result<()> {
        if directory == 0 {
            let ground = self.run.directory(&mut self.pipeline.client).map_err(plain)?;
            self.pipeline.client.remove_directory(&ground, tree_name(self.request.number).as_bytes())?;
        } else {
            let parent = self.handle(parent_of(&self.request.tree, directory))?;
            self.pipeline.client.remove_directory(&parent, directory_name(directory).as_bytes())?;
        }
        self.handles.remove(&directory);
        Ok(())
    }

    fn list(&mut self, directory: u64) -> io::Result<u64> {
        let handle = self.handle(directory)?;
        let mut names = 0;
        self.pipeline.client.list(&handle, self.run.listing_bytes, |_| names += 1)?;
        Ok(names)
    }

    fn enter(&mut self, directory: u64) -> io::Result<()> {
        self.here = None;
        self.here = Some(self.handle(directory)?);
        Ok(())
    }

    fn make(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let here = self.here()?;
        let name = self.spelling.of(kind, number).to_bytes();
        if kind.is_directory() {
            return self.pipeline.client.make_directory(&here, name).map(drop);
        }
        self.pipeline.client.create(&here, name, true).map(drop)
    }

    fn stat(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let here = self.here()?;
        self.pipeline.client.lookup(&here, self.spelling.of(kind, number).to_bytes()).map(drop)
    }

    fn rename(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let here = self.here()?;
        let from = self.spelling.of(kind, number).to_bytes();
        let to = self.other_spelling.of(kind.other(), number).to_bytes();
        self.pipeline.client.rename(&here, from, to)
    }

    fn remove(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        let here = self.here()?;
        let name = self.spelling.of(kind, number).to_bytes();
        if kind.is_directory() {
            return self.pipeline.client.remove_directory(&here, name);
        }
        self.pipeline.client.remove(&here, name)
    }

    /// There is no cache to forget it; only that it is there is looked at.
    fn forget(&mut self, kind: ItemKind, number: u64) -> io::Result<()> {
        self.stat(kind, number)
    }

    fn open(&mut self, kind: ItemKind, number: u64, how: Opening) -> io::Result<()> {
        let here = self.here()?;
        let name = self.spelling.of(kind, number).to_bytes();
        let client = &mut self.pipeline.client;
        let found = match how {
            Opening::Create => client.create(&here, name, true),
            Opening::WriteOrCreate => client.create(&here, name, false),
            Opening::Write | Opening::Read => client.open(&here, name),
        }?;
        self.pipeline.set_file(found.handle.clone(), false);
        self.open = Some(found.handle);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.open.as_ref().ok_or(Errno::BADF)?;
        self.pipeline.read_at(offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.open.as_ref().ok_or(Errno::BADF)?;
        let keep = self.kept_bytes + buffer.len() <= KEPT_BYTES;
        self.pipeline.set_stable(!keep);
        let moved = self.pipeline.write_at(offset, buffer)?;
        if keep {
            self.kept.push((offset, buffer[..moved].to_vec()));
            self.kept_bytes += moved;
        }
        Ok(moved)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.commit()
    }

    /// Names are durable when their call comes back, and files when they are closed.
    fn sync_file_system(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Commits what no sync has committed, as every client of NFS does when it closes a file.
    fn close(&mut self) -> io::Result<()> {
        if self.open.is_none() {
            return Ok(());
        }
        let committed = self.commit();
        self.open = None;
        committed
    }

    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        self.pipeline.client.mending.take()
    }
}
