//! The run's directory in an export: found or made, and marked.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nfs3_types::nfs3::nfs_fh3;
use rustix::io::Errno;

use super::client::Client;
use super::export::Export;
use super::pipeline::Pipeline;
use crate::error::{Result, StorageError};
use crate::scratch::PREFIX;
use crate::scratch::marker::{MARKER_BYTES, MARKER_NAME, Marker};
use crate::target::ExportSpec;
use crate::wait::SILENCE;

/// How often another process of the run is given time to mark the directory that it has just made.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Bytes of names in one READDIR.
const LISTING_BYTES: std::ops::RangeInclusive<u32> = 4096..=1 << 20;

/// The run's directory in an export.
#[derive(Debug)]
pub(super) struct RunDirectory {
    pub(super) export: Arc<Export>,
    pub(super) run_id: String,
    /// Of the directory.
    pub(super) name: String,
    /// Of a READ, and of a WRITE.
    sizes: (u32, u32),
    /// Of a page of names.
    pub(super) listing_bytes: u32,
    /// Once it was found, and its marker read.
    directory: Mutex<Option<nfs_fh3>>,
}

impl RunDirectory {
    pub(super) fn open(spec: &ExportSpec, run_id: &str) -> Result<Self> {
        let export = Arc::new(Export::open(spec)?);
        let mut client = Client::new(Arc::clone(&export)).map_err(|error| export.failed("reach", "", error))?;
        let sizes = client.sizes().map_err(|error| export.failed("ask for the sizes of", "", error))?;
        drop(client);
        Ok(Self {
            sizes: (Export::size(spec.rsize, sizes.rtpref, sizes.rtmax), Export::size(spec.wsize, sizes.wtpref, sizes.wtmax)),
            listing_bytes: sizes.dtpref.clamp(*LISTING_BYTES.start(), *LISTING_BYTES.end()),
            export,
            run_id: run_id.to_owned(),
            name: format!("{PREFIX}{run_id}"),
            directory: Mutex::default(),
        })
    }

    /// Bytes of a READ, and of a WRITE.
    pub(super) const fn sizes(&self) -> (u32, u32) {
        self.sizes
    }

    pub(super) fn client(&self) -> Result<Client> {
        self.client_for(SILENCE)
    }

    /// One that gives a server up that is not heard of for `silence`.
    pub(super) fn client_for(&self, silence: Duration) -> Result<Client> {
        Client::with_silence(Arc::clone(&self.export), silence).map_err(|error| self.export.failed("reach", "", error))
    }

    /// An error about something in the directory.
    pub(super) fn failed(&self, action: &'static str, name: &str, error: io::Error) -> StorageError {
        self.export.failed(action, &format!("{}/{name}", self.name), error)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Option<nfs_fh3>> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory, which is there and this run's.
    pub(super) fn directory(&self, client: &mut Client) -> Result<nfs_fh3> {
        if let Some(known) = self.known().clone() {
            return Ok(known);
        }
        let found = client.enter(&self.export.root, self.name.as_bytes()).map_err(|error| self.failed("open", "", error))?;
        self.check(client, &found)?;
        *self.known() = Some(found.clone());
        Ok(found)
    }

    /// The directory, made and marked if it is not there. Before the first write and not before: what is refused leaves
    /// nothing.
    pub(super) fn made_directory(&self, client: &mut Client) -> Result<nfs_fh3> {
        if let Some(known) = self.known().clone() {
            return Ok(known);
        }
        let made = match client.make_directory(&self.export.root, self.name.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return self.directory(client),
            made => made.map_err(|error| self.failed("make the directory", "", error))?,
        };
        if let Err(error) = self.mark(client, &made) {
            // Without a marker nobody may ever remove it. The error that led here says more than these calls could.
            let _ = client.remove(&made, MARKER_NAME.as_bytes());
            let _ = client.remove_directory(&self.export.root, self.name.as_bytes());
            return Err(self.failed("write", MARKER_NAME, error));
        }
        *self.known() = Some(made.clone());
        Ok(made)
    }

    fn mark(&self, client: &mut Client, directory: &nfs_fh3) -> io::Result<()> {
        let file = client.create(directory, MARKER_NAME.as_bytes(), true)?.handle;
        let mut pipeline = Pipeline::new(client.another()?, 1, self.sizes);
        pipeline.set_file(file, true);
        let text = Marker::of_this_process(&self.run_id).text();
        let moved = pipeline.write_at(0, &text)?;
        if moved == text.len() { Ok(()) } else { Err(Errno::NOSPC.into()) }
    }

    /// An error if the directory's marker is not this run's. Another process may have made it and not marked it yet.
    fn check(&self, client: &mut Client, directory: &nfs_fh3) -> Result<()> {
        let not_ours = |why: String| StorageError::NotOurs { path: self.export.path(&self.name), why };
        let mut why = String::new();
        for _ in 0..LOOKS {
            match self.read_marker(client, directory) {
                Ok(marker) if marker.run_id == self.run_id => return Ok(()),
                Ok(marker) => return Err(not_ours(format!("its marker names run {}", marker.run_id))),
                // Time has been given enough.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(self.failed("read", MARKER_NAME, error)),
                Err(error) => why = format!("its marker {MARKER_NAME} cannot be read: {error}"),
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Err(not_ours(why))
    }

    fn read_marker(&self, client: &mut Client, directory: &nfs_fh3) -> io::Result<Marker> {
        let file = client.open(directory, MARKER_NAME.as_bytes())?.handle;
        let mut pipeline = Pipeline::new(client.another()?, 1, self.sizes);
        pipeline.set_file(file, false);
        let mut text = [0; MARKER_BYTES];
        let count = pipeline.read_at(0, &mut text)?;
        Marker::parse(&text[..count]).map_err(io::Error::other)
    }
}
