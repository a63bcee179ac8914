//! Objects of a Ceph pool, through librados: no file system, no page cache, no mount.
//!
//! File *f* is kept as objects of equal size, `data.f.0`, `data.f.1` and on, in a namespace that the run has for itself.
//! A file of a tree is one object whose name is its path. An object named `TONNAGE-SCRATCH` says whose the namespace is;
//! nothing but objects spelled like these is ever removed.

mod library;
mod marker;
mod names;
mod notes;
mod placement;
mod pool;
mod queue;
mod silence;
mod snapshots;

use std::ffi::CStr;
use std::io::{self, Write};
use std::sync::Arc;

use rustix::io::Errno;
use tonnage_workload::{CachePolicy, Means, Op};

pub use marker::{clean_pool, pool_leftovers};
pub use pool::PoolSpec;

use crate::error::{Result, StorageError};
use crate::names::is_item_file;
use crate::snapshots::of_any as snapshots_of_any;
use crate::wait::{go_on, waits_are_over};
use crate::{
    Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, Placement, Process, Residency, SnapshotRequest, Snapshots,
    Storage, TargetSpec,
};
use names::RadosNames;
use placement::Meter;
use pool::Pool;
use queue::RadosQueue;
use snapshots::{Book, RadosSnapshots};

/// Bytes that the cluster of a pool has left on all of its disks: copies of an object count each. `None` where
/// nobody counts them. Nothing is made.
pub fn pool_free_bytes(spec: &PoolSpec) -> Result<Option<u64>> {
    let pool = Pool::open(spec)?;
    pool.free_bytes().map_err(|error| pool.failed("ask for the space of", "", error))
}

/// The answers of a monitor to questions in JSON.
pub fn ask_monitor(spec: &PoolSpec, questions: &[String]) -> Result<Vec<String>> {
    let pool = Pool::open(spec)?;
    let answer = |question: &String| {
        let said = pool.ask(question).map_err(|error| pool.failed("ask a monitor of", "", error))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    };
    questions.iter().map(answer).collect()
}

/// The objects of a run in one pool.
#[derive(Debug)]
pub(crate) struct Rados {
    pool: Arc<Pool>,
    process: Process,
    book: Arc<Book>,
}

/// An object's name, spelled without an allocation.
pub(super) struct Name([u8; 32]);

impl Name {
    fn new(file: u32, object: u64) -> Self {
        let mut bytes = [0; 32];
        // 5 + 10 + 1 + at most 15 digits: an object of one byte each in the largest file that an offset can name is far off.
        let _ = write!(&mut bytes[..31], "data.{file:08}.{object:08x}");
        Self(bytes)
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// Whether `name` is exactly how an object of a file is spelled.
fn is_data(name: &CStr) -> bool {
    let numbers = || {
        let (file, object) = name.to_str().ok()?.strip_prefix("data.")?.split_once('.')?;
        Some((file.parse().ok()?, u64::from_str_radix(object, 16).ok()?))
    };
    numbers().is_some_and(|(file, object)| Name::new(file, object).as_c_str() == name)
}

/// Whether `name` is exactly how an object of a file, or of a tree, is spelled.
fn is_ours(name: &CStr) -> bool {
    is_data(name) || name.to_str().is_ok_and(is_item_file)
}

/// A part of an operation that lies in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    object: u64,
    /// In the object.
    offset: u64,
    /// In the operation's bytes.
    start: usize,
    length: usize,
}

/// The parts of `length` bytes from `offset`.
pub(super) fn parts(object_bytes: u64, offset: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let at = offset + start as u64;
        let inside = at % object_bytes;
        let part = Part {
            object: at / object_bytes,
            offset: inside,
            start,
            length: (length - start).min((object_bytes - inside) as usize),
        };
        start += part.length;
        (part.length > 0).then_some(part)
    })
}

impl Rados {
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let Some(pool) = &spec.rados else {
            return Err(StorageError::Unsupported("a storage of kind rados needs a pool".to_owned()));
        };
        if pool.object_bytes == 0 || pool.namespace.is_empty() {
            return Err(StorageError::Unsupported("objects have at least one byte, and a namespace a name".to_owned()));
        }
        Ok(Self { pool: Arc::new(Pool::open(pool)?), process: spec.process, book: Arc::default() })
    }

    /// Removes what the run noted or spelled. Snapshots first: an object that one of them needs would leave its bytes
    /// behind.
    fn remove_all(&self) -> Result<()> {
        self.book.remove_all(&self.pool)?;
        self.book.remove_noted(&self.pool)?;
        let mut names = self.pool.list().map_err(|error| self.pool.failed("list", "", error))?;
        names.retain(|name| is_ours(name));
        self.pool.remove_all(&names).map_err(|error| self.pool.failed("remove objects of", "", error))
    }
}

impl Storage for Rados {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        let pool = Arc::clone(&self.pool);
        if request.queue_depth > 1 {
            return Ok(Lane::Queued(Box::new(RadosQueue::new(pool, *request))));
        }
        Ok(Lane::Sync(Box::new(RadosFile { pool, request: *request, meter: Meter::default() })))
    }

    fn names(&self, request: &NamesRequest) -> Result<Box<dyn Names>> {
        self.mark()?;
        Ok(Box::new(RadosNames::new(Arc::clone(&self.pool), *request)))
    }

    fn length(&self, file: u32) -> Result<u64> {
        length(&self.pool, file)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        self.mark().map(drop)
    }

    /// This host has no cache of objects; what an OSD has in memory, it does not tell.
    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<Residency> {
        Ok(Residency::default())
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        match &request.means {
            Means::RadosSelfManaged {} | Means::RadosPool {} => Ok(Box::new(RadosSnapshots::new(self, request)?)),
            _ => {
                let PoolSpec { pool, namespace, .. } = &self.pool.spec;
                snapshots_of_any(request, &[("pool", pool.clone()), ("namespace", namespace.clone())], "a pool of Ceph")
            }
        }
    }

    fn clear(&self) -> Result<()> {
        // What librados waits for, it waits for to its own limit: nothing more is begun.
        go_on().map_err(|error| self.pool.failed("remove objects of", "", error))?;
        if self.process == Process::Other {
            return self.book.remove_all(&self.pool);
        }
        if self.is_marked()? { self.remove_all() } else { Ok(()) }
    }

    fn finish(&self) -> Result<Vec<Note>> {
        self.clear()?;
        if self.process != Process::Other {
            self.unmark()?;
        }
        Ok(Vec::new())
    }

    fn placement(&self) -> Result<Option<Placement>> {
        if waits_are_over() {
            return Ok(None);
        }
        self.pool.ledger.placement(&self.pool).map_err(|error| self.pool.failed("place the objects of", "", error))
    }

    fn explain(&self, error: &io::Error) -> Option<String> {
        silence::explain(&self.pool, error)
    }

    fn facts(&self) -> Facts {
        Facts { direct: true, ..Facts::default() }
    }
}

/// An error about a file.
fn failed(pool: &Pool, action: &'static str, file: u32, error: io::Error) -> StorageError {
    pool.failed(action, &format!("data.{file:08}"), error)
}

/// Bytes of a file. The objects before the last one are whole: it is written to its end before anybody asks.
fn length(pool: &Pool, file: u32) -> Result<u64> {
    let size = |object| pool.size(Name::new(file, object).as_c_str()).map_err(|error| failed(pool, "measure", file, error));
    if size(0)?.is_none() {
        return Err(failed(pool, "find", file, Errno::NOENT.into()));
    }
    let (mut there, mut step) = (0, 1);
    while size(there + step)?.is_some() {
        there += step;
        step *= 2;
    }
    while step > 1 {
        step /= 2;
        if size(there + step)?.is_some() {
            there += step;
        }
    }
    Ok(there * pool.spec.object_bytes + size(there)?.unwrap_or(0))
}

/// What a task's file needs before its first operation: enough bytes for a read. One question where they are there.
fn open(pool: &Pool, request: &OpenRequest) -> Result<()> {
    if request.op == Op::Write {
        return Ok(());
    }
    let (file, needed) = (request.file, request.file_bytes);
    let last = needed.saturating_sub(1) / pool.spec.object_bytes;
    let found = pool.size(Name::new(file, last).as_c_str()).map_err(|error| failed(pool, "open", file, error))?;
    if found.is_some_and(|bytes| last * pool.spec.object_bytes + bytes >= needed) {
        return Ok(());
    }
    Err(StorageError::TooShort { file, needed, actual: length(pool, file)? })
}

/// One task's file, one operation at a time.
struct RadosFile {
    pool: Arc<Pool>,
    request: OpenRequest,
    meter: Meter,
}

impl File for RadosFile {
    fn open(&mut self) -> Result<()> {
        open(&self.pool, &self.request)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut moved = 0;
        for part in parts(self.pool.spec.object_bytes, offset, buffer.len()) {
            let name = Name::new(self.request.file, part.object);
            let bytes = &mut buffer[part.start..part.start + part.length];
            self.meter.count(self.request.file, part.object, Op::Read, part.length);
            let count = match self.pool.read(name.as_c_str(), part.offset, bytes) {
                // Behind the end of the file, as of any other.
                Err(error) if error.kind() == io::ErrorKind::NotFound && part.object > 0 => 0,
                other => other?,
            };
            moved += count;
            if count < part.length {
                break;
            }
        }
        Ok(moved)
    }

    fn write_at(&mut self, offset: u64, buffer: &[u8]) -> io::Result<usize> {
        for part in parts(self.pool.spec.object_bytes, offset, buffer.len()) {
            let name = Name::new(self.request.file, part.object);
            self.meter.count(self.request.file, part.object, Op::Write, part.length);
            self.pool.write(name.as_c_str(), part.offset, &buffer[part.start..part.start + part.length])?;
        }
        Ok(buffer.len())
    }

    /// A write has come back when it was on the disks of all replicas.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RadosFile {
    fn drop(&mut self) {
        self.pool.ledger.take(&mut self.meter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_an_object_is_ours() {
        for (file, object) in [(0, 0), (7, 0xab), (u32::MAX, 1 << 40), (99_999_999, u64::from(u32::MAX))] {
            assert!(is_data(Name::new(file, object).as_c_str()));
        }
        for name in
            [c"data.00000000", c"data.00000000.0", c"data.00000000.0000000G", c"data.+0000001.00000000", c"TONNAGE-SCRATCH"]
        {
            assert!(!is_ours(name), "{name:?}");
        }
        assert!(!is_ours(c"data.00000000.000000AB"), "one spelling only");
        assert!(is_ours(c"tree.00000003/d.1/f.3.17"));
        assert!(!is_ours(c"tree.00000003/d.1/i.3.17"), "a directory is no object");
    }

    #[test]
    fn an_operation_is_parted_where_objects_meet() {
        let found: Vec<_> = parts(10, 18, 15).map(|part| (part.object, part.offset, part.start, part.length)).collect();
        assert_eq!(found, [(1, 8, 0, 2), (2, 0, 2, 10), (3, 0, 12, 3)]);
        assert_eq!(parts(10, 20, 10).count(), 1);
        assert_eq!(parts(10, 5, 0).count(), 0);
    }
}
