//! Files of an NFS export, through version 3 of the protocol in user space: no mount, and no cache of a client.
//!
//! The run has a directory of its own in the export, `.tonnage-<run id>`, spelled and marked as a scratch directory of a
//! file system is: `tonnage clean` finds on a mount of the export what a killed run left.

mod clearing;
mod client;
mod export;
mod lanes;
mod names;
mod pipeline;
mod rpc;
mod rpc_connection;
mod run_directory;
mod server_faults;
#[cfg(test)]
mod silence_tests;
mod uncommitted;

use std::io;
use std::sync::Arc;

use nfs3_types::nfs3::{ACCESS3_DELETE, ACCESS3_EXTEND, ACCESS3_LOOKUP, ACCESS3_MODIFY, nfs_fh3};
use rustix::io::Errno;
use serde::Serialize;
use tonnage_workload::CachePolicy;

use crate::api::{CacheState, Facts, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Storage};
use crate::error::{Result, StorageError};
use crate::scratch::marker::MARKER_NAME;
use crate::scratch::scratch_names::data_name;
use crate::snapshots::of_any;
use crate::target::ExportSpec;
use crate::target::{Process, TargetSpec};
use client::Client;
use export::Export;
use lanes::{NfsFile, NfsQueue};
use names::NfsNames;
use run_directory::RunDirectory;

/// What a server says of an export. Bytes, where nothing else is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportFacts {
    /// Of the protocol.
    pub version: u32,
    /// Of a READ here, of what the user and the server want.
    pub rsize: u32,
    /// Of a WRITE here.
    pub wsize: u32,
    /// That the server prefers for a READ, a WRITE, and a page of names.
    pub rtpref: u32,
    /// See `rtpref`.
    pub wtpref: u32,
    /// See `rtpref`.
    pub dtpref: u32,
    /// The most that it takes for a READ.
    pub rtmax: u32,
    /// … and for a WRITE.
    pub wtmax: u32,
    /// Of the file system.
    pub total_bytes: u64,
    /// That this user may still write.
    pub free_bytes: u64,
}

/// Asks a server for an export that this user may make a directory in. Nothing is made.
///
/// # Errors
/// One line: the server, its portmapper, its mount service or the permissions.
pub fn export_facts(spec: &ExportSpec) -> Result<ExportFacts> {
    let export = Arc::new(Export::open(spec)?);
    let failed = |error| export.failed("ask the server of", "", error);
    let mut client = Client::new(Arc::clone(&export)).map_err(failed)?;
    let wanted = ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE;
    if client.access(wanted).map_err(failed)? & (ACCESS3_MODIFY | ACCESS3_EXTEND) != (ACCESS3_MODIFY | ACCESS3_EXTEND) {
        let (uri, user) = (spec.uri(), rustix::process::geteuid().as_raw());
        let squashed = if user == 0 { " (an export squashes root unless it says no_root_squash)" } else { "" };
        let text = format!("user {user} may make nothing in {uri}{squashed}; give a directory in which it may");
        return Err(StorageError::Unsupported(text));
    }
    let (sizes, space) = (client.sizes().map_err(failed)?, client.space().map_err(failed)?);
    Ok(ExportFacts {
        version: nfs3_types::nfs3::VERSION,
        rsize: Export::size(spec.rsize, sizes.rtpref, sizes.rtmax),
        wsize: Export::size(spec.wsize, sizes.wtpref, sizes.wtmax),
        rtpref: sizes.rtpref,
        wtpref: sizes.wtpref,
        dtpref: sizes.dtpref,
        rtmax: sizes.rtmax,
        wtmax: sizes.wtmax,
        total_bytes: space.tbytes,
        free_bytes: space.abytes,
    })
}

/// Files in one directory of an export.
#[derive(Debug)]
pub(crate) struct Nfs {
    run: Arc<RunDirectory>,
    process: Process,
}

impl Nfs {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let Some(export) = &spec.nfs else {
            return Err(StorageError::Unsupported("a storage of kind nfs needs an export".to_owned()));
        };
        if spec.run_id.is_empty() || spec.run_id.contains('/') {
            return Err(StorageError::Unsupported("the run's id cannot name a directory".to_owned()));
        }
        Ok(Self { run: Arc::new(RunDirectory::open(export, &spec.run_id)?), process: spec.process })
    }

    /// The run's directory, if there is one.
    fn there(&self, client: &mut Client) -> Result<Option<nfs_fh3>> {
        match self.run.directory(client) {
            Ok(directory) => Ok(Some(directory)),
            Err(error) if error.io().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Storage for Nfs {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        Ok(if request.queue_depth > 1 {
            Lane::Queued(Box::new(NfsQueue::new(&self.run, request)?))
        } else {
            Lane::Sync(Box::new(NfsFile::new(&self.run, request)?))
        })
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        Ok(Box::new(NfsNames::new(&self.run, *request)?))
    }

    fn length(&self, file: u32) -> Result<u64> {
        let name = data_name(file);
        let mut client = self.run.client()?;
        let directory = self.run.directory(&mut client)?;
        let found = client.open(&directory, name.as_bytes()).map_err(|error| self.run.failed("measure", &name, error))?;
        Ok(found.attributes.size)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        self.run.export.troubles.forget();
        self.run.made_directory(&mut self.run.client()?).map(drop)
    }

    /// This host has no cache of the files; what the server has in memory, it does not tell.
    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        self.run.export.troubles.forget();
        Ok(CacheState::default())
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        of_any(request, &[], "another storage")
    }

    fn clear(&self) -> Result<()> {
        if self.process == Process::Other {
            return Ok(());
        }
        let mut client = self.run.client()?;
        match self.there(&mut client)? {
            Some(directory) => clearing::clear(&self.run, &mut client, &directory).map(drop),
            None => Ok(()),
        }
    }

    fn finish(&self) -> Result<Vec<Note>> {
        if self.process == Process::Other {
            return Ok(Vec::new());
        }
        let mut client = self.run.client()?;
        let Some(directory) = self.there(&mut client)? else { return Ok(Vec::new()) };
        if let Some(foreign) = clearing::clear(&self.run, &mut client, &directory)? {
            let action = "remove the run's directory, because Tonnage did not make";
            return Err(self.run.failed(action, &foreign, Errno::NOTEMPTY.into()));
        }
        client.remove(&directory, MARKER_NAME.as_bytes()).map_err(|error| self.run.failed("remove", MARKER_NAME, error))?;
        *self.run.known() = None;
        client
            .remove_directory(&self.run.export.root, self.run.name.as_bytes())
            .map_err(|error| self.run.failed("remove the directory", "", error))?;
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts { direct: true, notes: self.run.export.troubles.notes(), ..Facts::default() }
    }
}
