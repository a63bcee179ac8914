//! Objects of a bucket of S3: no file system, no page cache, no mount.
//!
//! File *f* is the object `PREFIX/data.f`, and a file of a tree is the object whose key is its path. The prefix is the
//! run's own: an object in it named `TONNAGE-SCRATCH` says whose it is, and nothing but keys that the run spells are ever
//! removed.

mod http_connection;
mod names;
mod objects;
mod queue;
mod request_faults;
mod service;
mod spec;
mod upload;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tonnage_workload::{CachePolicy, Op};

use crate::api::{CacheState, Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, SnapshotRequest, Snapshots, Storage};
use crate::error::{Result, StorageError};
use crate::names::is_item_file;
use crate::scratch::scratch_names::{data_name, is_data_name};
use crate::snapshots::of_any;
use crate::target::BucketSpec;
use crate::target::{Process, TargetSpec};
use names::S3Names;
use queue::S3Queue;
use service::{Service, Session};
use upload::{Plan, Upload};

const MARKER: &str = "TONNAGE-SCRATCH";
/// A marker is shorter.
const MARKER_BYTES: usize = 4096;
/// Objects that are removed at once.
const REMOVERS: usize = 16;

/// Sees that the bucket can be reached and lets the credentials in. Nothing is made.
pub fn check_bucket(spec: &BucketSpec) -> Result<()> {
    Service::open(spec).map(drop)
}

/// The objects of a run in one bucket.
#[derive(Debug)]
pub(crate) struct S3 {
    service: Arc<Service>,
    process: Process,
    /// Held by all ways to the names of trees.
    names: Arc<()>,
}

/// Whether a key, behind the run's prefix and a slash, is exactly how an object of a file or of a tree is spelled.
fn is_ours(name: &str) -> bool {
    is_data_name(name.as_bytes()) || is_item_file(name)
}

impl S3 {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let Some(bucket) = &spec.s3 else {
            return Err(StorageError::Unsupported("a storage of kind s3 needs a bucket".to_owned()));
        };
        if bucket.prefix.is_empty() {
            return Err(StorageError::Unsupported("the objects of a run need a prefix of their own".to_owned()));
        }
        Ok(Self { service: Service::open(bucket)?, process: spec.process, names: Arc::default() })
    }

    /// Makes the marker, or sees that it is this run's. Before the first write and not before: what is refused leaves
    /// nothing.
    fn mark(&self) -> Result<()> {
        if self.process == Process::Other || self.is_marked()? {
            return Ok(());
        }
        let key = self.service.key(MARKER);
        let made = Session::new(&self.service).put(&key, self.ours().as_bytes());
        made.map_err(|error| self.service.failed("make", &key, error))
    }

    /// Whether there is this run's marker; an error where it is another's.
    fn is_marked(&self) -> Result<bool> {
        let (key, mut bytes) = (self.service.key(MARKER), [0; MARKER_BYTES]);
        match Session::new(&self.service).read(&key, 0, &mut bytes) {
            Ok(count) if &bytes[..count] == self.ours().as_bytes() => Ok(true),
            Ok(_) => {
                let why = "its marker is another's".to_owned();
                Err(StorageError::NotOurs { path: self.service.path(&key), why })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.service.failed("read", &key, error)),
        }
    }

    fn ours(&self) -> String {
        format!("tonnage {}\n", self.service.spec.prefix)
    }

    /// Removes what the run spelled below its prefix: uploads that nobody completed, then objects.
    fn remove_all(&self) -> io::Result<()> {
        let below = self.service.key("");
        let ours = |key: &str| key.strip_prefix(&below).is_some_and(is_ours);
        let mut session = Session::new(&self.service);
        for (key, upload) in session.uploads(&below)? {
            if ours(&key) {
                session.abort_upload(&key, &upload)?;
            }
        }
        let mut keys = session.list_all(&below)?;
        keys.retain(|key| ours(key));
        let next = AtomicUsize::new(0);
        let remove = || {
            let mut session = Session::new(&self.service);
            while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                session.remove(key)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let removers: Vec<_> = (0..REMOVERS.min(keys.len())).map(|_| scope.spawn(remove)).collect();
            let ended = removers.into_iter().map(|remover| remover.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())));
            ended.fold(Ok(()), io::Result::and)
        })
    }
}

impl Storage for S3 {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        if request.preallocate {
            return Err(StorageError::Unsupported("an object has no space to reserve; leave preallocate out".to_owned()));
        }
        let plan = Plan::new(&self.service.spec, request.transfer_size, request.file_bytes)?;
        let upload = Upload::new(self.service.key(&data_name(request.file)), plan);
        if request.queue_depth > 1 {
            return Ok(Lane::Queued(Box::new(S3Queue::new(&self.service, *request, upload)?)));
        }
        let session = Session::new(&self.service).once_each().waiting(request.silence());
        Ok(Lane::Sync(Box::new(S3File { session, upload, request: *request })))
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        // The first one of a phase: a later one, for the names of another task, is made beside it.
        if Arc::strong_count(&self.names) == 1 {
            self.service.troubles.restart();
        }
        self.mark()?;
        Ok(Box::new(S3Names::new(&self.service, *request, Arc::clone(&self.names))))
    }

    fn length(&self, file: u32) -> Result<u64> {
        length(&mut Session::new(&self.service), &self.service.key(&data_name(file)))
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        self.service.troubles.restart();
        self.mark()
    }

    /// This host has no cache of objects; what a service has in memory, it does not tell.
    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<CacheState> {
        self.service.troubles.restart();
        Ok(CacheState::default())
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        of_any(request, &[], "another storage")
    }

    fn clear(&self) -> Result<()> {
        if self.process == Process::Other || !self.is_marked()? {
            return Ok(());
        }
        self.remove_all().map_err(|error| self.service.failed("remove objects of", "", error))
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.clear()?;
        if self.process != Process::Other {
            let key = self.service.key(MARKER);
            Session::new(&self.service).remove(&key).map_err(|error| self.service.failed("remove", &key, error))?;
        }
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts { direct: true, notes: self.service.troubles.note().into_iter().collect(), ..Facts::default() }
    }
}

/// Bytes of an object that is a file.
fn length(session: &mut Session, key: &str) -> Result<u64> {
    match session.size(key) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(session.service.failed("find", key, io::Error::from(rustix::io::Errno::NOENT))),
        Err(error) => Err(session.service.failed("measure", key, error)),
    }
}

/// What a read needs before its first operation: enough bytes.
fn open_to_read(session: &mut Session, key: &str, request: &OpenRequest) -> Result<()> {
    let (file, needed, actual) = (request.file, request.file_bytes, length(session, key)?);
    if actual >= needed { Ok(()) } else { Err(StorageError::TooShort { file, needed, actual }) }
}

/// One task's file, one operation at a time.
struct S3File {
    session: Session,
    /// Of a write; a read needs its key.
    upload: Upload,
    request: OpenRequest,
}

impl File for S3File {
    fn open(&mut self) -> Result<()> {
        if self.request.op == Op::Read {
            return self.session.patiently(|session| open_to_read(session, &self.upload.key, &self.request));
        }
        let opened = self.session.patiently(|session| self.upload.open(session));
        opened.map_err(|error| self.session.service.failed("begin", &self.upload.key, error))
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.session.read(&self.upload.key, offset, buffer)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.upload.write(&mut self.session, offset, buffer).map(|()| buffer.len())
    }

    /// An object that is there is durable; before that there is none.
    fn sync(&mut self) -> io::Result<()> {
        if self.request.op == Op::Read { Ok(()) } else { self.session.patiently(|session| self.upload.finish(session)) }
    }

    fn close(&mut self) -> io::Result<()> {
        self.sync()
    }
}

impl Drop for S3File {
    fn drop(&mut self) {
        self.upload.abort(&mut self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_an_object_is_ours() {
        for name in ["data.00000000", "data.4294967295", "tree.00000003/f.3.17", "tree.00000003/d.1/d.5/g.0.0"] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "",
            "data.1",
            "data.00000000/",
            "data.00000000/f.1.2",
            "TONNAGE-SCRATCH",
            "tree.00000003",
            "tree.00000003/",
            "tree.00000003/i.3.17",
            "tree.00000003/x/f.3.17",
            "tree.3/f.3.17",
            "tree.00000003//f.3.17",
            "../data.00000000",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
