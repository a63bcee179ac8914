//! What the tests of this crate share: a scratch directory with a storage in it, and a task's loop over a lane.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use tempfile::TempDir;
use tonnage_storage::{
    BucketSpec, Completion, DirectMode, ExportSpec, Lane, MpiioSpec, OpenRequest, PoolSpec, Queue, Request, Scratch, Slots,
    SnapshotRequest, Snapshots, Storage, StorageKind, TargetSpec, open,
};
use tonnage_workload::{Access, Arena, Geometry, Layout, Means, Op, Payload, PayloadKind, SnapshotCommand, Verifier};

pub const SEED: u64 = 11;

pub static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::new(Payload::new(PayloadKind::Unique, SEED)));

/// Puts a wrapper, or nothing, around a storage.
pub type Wrap = fn(Arc<dyn Storage>) -> Arc<dyn Storage>;

/// Where the files of a [`Rig`] are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// In one scratch directory.
    One,
    /// In two; file 0 is in the second.
    Two,
    /// Under a name of the user.
    Named,
    /// In the pool that `TONNAGE_TEST_POOL` names, of the cluster that `CEPH_CONF` leads to.
    Pool,
    /// In the export that `TONNAGE_TEST_EXPORT` names as `server:/path`.
    Export,
    /// In the bucket `suite` of the S3 that `TONNAGE_TEST_S3` is the address of.
    Bucket,
}

/// A kind of storage as the suite sees it.
#[derive(Clone, Copy)]
pub struct Kind {
    pub storage: StorageKind,
    pub direct: DirectMode,
    pub ground: Ground,
    pub wrap: Wrap,
}

impl Kind {
    pub const fn new(storage: StorageKind, direct: DirectMode) -> Self {
        Self { storage, direct, ground: Ground::One, wrap: |inner| inner }
    }

    pub fn has_files(&self) -> bool {
        !matches!(self.storage, StorageKind::Memory | StorageKind::Rados | StorageKind::Nfs | StorageKind::S3)
    }

    /// Whether a file's bytes may be written in any order.
    pub fn writes_at_random(&self) -> bool {
        self.storage != StorageKind::S3
    }
}

/// A storage with a place of its own.
pub struct Rig {
    pub home: TempDir,
    pub scratches: Vec<Scratch>,
    pub storage: Arc<dyn Storage>,
    /// Path of file 0.
    pub file: PathBuf,
}

impl Rig {
    pub fn new(kind: &Kind, place: &Path) -> Self {
        Self::try_new(kind, place).unwrap()
    }

    pub fn try_new(kind: &Kind, place: &Path) -> tonnage_storage::Result<Self> {
        let home = tempfile::tempdir_in(place).unwrap();
        let runs: &[&str] = match kind.ground {
            Ground::One => &["test"],
            Ground::Two => &["first", "second"],
            Ground::Named | Ground::Pool | Ground::Export | Ground::Bucket => &[],
        };
        let scratches: Vec<_> = runs.iter().map(|run| Scratch::create(home.path(), run).unwrap()).collect();
        let mut spec = TargetSpec { direct: kind.direct, ..TargetSpec::new(kind.storage) };
        spec.directories = scratches.iter().map(|scratch| scratch.path().to_owned()).collect();
        let file = match kind.ground {
            Ground::One => spec.directories[0].join("data.00000000"),
            Ground::Two => {
                spec.assign = vec![1, 0];
                spec.directories[1].join("data.00000000")
            }
            Ground::Named => {
                spec.names = vec![home.path().join("testFile.00000000"), home.path().join("testFile.00000001")];
                spec.names[0].clone()
            }
            Ground::Pool => {
                spec.rados = Some(pool());
                home.path().join("data.00000000")
            }
            Ground::Export => {
                (spec.nfs, spec.run_id) = (Some(export()), own_name());
                home.path().join("data.00000000")
            }
            Ground::Bucket => {
                spec.s3 = Some(bucket());
                home.path().join("data.00000000")
            }
        };
        if kind.storage == StorageKind::Mpiio {
            spec.mpiio = Some(mpiio());
        }
        let storage = (kind.wrap)(open(&spec)?);
        Ok(Self { home, scratches, storage, file })
    }

    /// Writes `count` transfers of `size` to file 0.
    pub fn fill(&self, size: usize, count: u64) {
        let geometry = geometry(size, count, Access::Sequential);
        self.storage.prepare_write(&[0]).unwrap();
        write_all(&*self.storage, &geometry, 1);
    }

    /// A copy of the scratch directory by `cp`, taken as a snapshot of `storage`: who takes it, and what it leads to.
    pub fn snapshot(&self, storage: &dyn Storage) -> (Box<dyn Snapshots>, Arc<dyn Storage>) {
        let place = format!("{}/saved-{{round}}", self.home.path().display());
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let means = Means::Command(SnapshotCommand {
            argv: words(&["cp", "-r", "{directory}", &place]),
            remove_argv: Some(words(&["rm", "-r", &place])),
            read_directory: Some(place.clone()),
            timeout_ns: None,
        });
        let request = SnapshotRequest { means, owner: None, files: vec![0], rounds: 2, stop: Arc::default() };
        let mut snapshots = storage.snapshots(&request).unwrap();
        snapshots.take(0).unwrap();
        let then = snapshots.at(0).unwrap().expect("it is elsewhere");
        (snapshots, then)
    }
}

/// One task with its own files.
pub fn mpiio() -> MpiioSpec {
    MpiioSpec {
        library: std::env::var_os("TONNAGE_TEST_MPIIO").expect("TONNAGE_TEST_MPIIO is a shim that was compiled").into(),
        functions: BTreeMap::default(),
        collective: false,
        shared: false,
        tasks: 1,
        task_bytes: 0,
        hints: BTreeMap::default(),
        view: None,
    }
}

/// A prefix of its own. The larger files have two parts.
pub fn bucket() -> BucketSpec {
    BucketSpec {
        bucket: "suite".to_owned(),
        prefix: own_name(),
        endpoint: std::env::var("TONNAGE_TEST_S3").expect("TONNAGE_TEST_S3 is the address of an S3"),
        region: "us-east-1".to_owned(),
        part_bytes: 5 << 20,
        path_style: true,
        profile: None,
    }
}

/// A namespace of its own. Objects are of a size that no transfer divides.
pub fn pool() -> PoolSpec {
    PoolSpec {
        pool: std::env::var("TONNAGE_TEST_POOL").expect("TONNAGE_TEST_POOL names a pool"),
        namespace: own_name(),
        object_bytes: 100_000,
        conf: None,
        user: "client.admin".to_owned(),
        write_once: false,
        timeout_ns: 60_000_000_000,
    }
}

/// No other rig has it.
pub fn own_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Read and written by calls of sizes that no transfer divides.
pub fn export() -> ExportSpec {
    let text = std::env::var("TONNAGE_TEST_EXPORT").expect("TONNAGE_TEST_EXPORT names an export");
    let (server, path) = text.split_once(':').expect("it is server:/path");
    let (server, path) = (server.to_owned(), path.to_owned());
    ExportSpec { server, path, port: None, mount_port: None, rsize: Some(100_001), wsize: Some(100_003) }
}

/// A tmpfs, and a directory on a disk.
pub fn places() -> [PathBuf; 2] {
    [PathBuf::from("/dev/shm"), disk()]
}

pub fn disk() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

pub fn geometry(size: usize, count: u64, access: Access) -> Geometry {
    let transfer_size = size as u64;
    Geometry { transfer_size, block_size: transfer_size * count, segments: 1, layout: Layout::FilePerTask, access }
}

pub fn request(geometry: &Geometry, op: Op, depth: usize) -> OpenRequest {
    OpenRequest {
        task: 0,
        file: 0,
        op,
        file_bytes: geometry.file_bytes(1),
        transfer_size: geometry.transfer_size as usize,
        queue_depth: depth,
        preallocate: false,
        durable_each: false,
        retry_ns: None,
    }
}

/// Writes each transfer of file 0 once.
pub fn write_all(storage: &dyn Storage, geometry: &Geometry, depth: usize) {
    let payload = Payload::new(PayloadKind::Unique, SEED);
    let size = geometry.transfer_size as usize;
    let mut memory = Slots::new(depth, Payload::span_bytes(PayloadKind::Unique, size, depth)).unwrap();
    let mut arena = Arena::new(payload, 0, size, depth);
    for slot in 0..depth {
        arena.fill(slot, memory.bytes(slot as u32));
    }
    let mut offsets = geometry.offsets(0, 1, SEED);
    match storage.lane(&request(geometry, Op::Write, depth)).unwrap() {
        Lane::Sync(mut file) => {
            file.open().unwrap();
            for _ in 0..geometry.operations() {
                let offset = offsets.next_offset();
                let range = arena.next(memory.bytes(0), 0, 0, offset);
                assert_eq!(file.write_at(offset, &memory.bytes(0)[range]).unwrap(), size);
            }
            file.sync().unwrap();
            file.close().unwrap();
        }
        Lane::Queued(mut queue) => {
            queue.set_memory(memory).unwrap();
            queue.open().unwrap();
            let next = |queue: &mut dyn Queue, slot: u32| {
                let offset = offsets.next_offset();
                let range = arena.next(queue.memory(slot), slot as usize, 0, offset);
                Request { slot, op: Op::Write, offset, start: range.start, length: range.len() }
            };
            drive(&mut *queue, depth, geometry.operations(), next, |_, _, completion| assert_eq!(completion.result, size as i32));
            queue.sync().unwrap();
            queue.close().unwrap();
        }
    }
}

/// Reads each transfer of file 0 once and verifies it.
pub fn read_all(storage: &dyn Storage, geometry: &Geometry, depth: usize) {
    let size = geometry.transfer_size as usize;
    let mut memory = Slots::new(depth, size).unwrap();
    let mut offsets = geometry.offsets(0, 1, SEED + 1);
    match storage.lane(&request(geometry, Op::Read, depth)).unwrap() {
        Lane::Sync(mut file) => {
            file.open().unwrap();
            for _ in 0..geometry.operations() {
                let offset = offsets.next_offset();
                let bytes = &mut memory.bytes(0)[..size];
                assert_eq!(file.read_at(offset, bytes).unwrap(), size);
                assert_eq!(VERIFIER.check(bytes, 0, offset), Ok(()));
            }
            file.close().unwrap();
        }
        Lane::Queued(mut queue) => {
            queue.set_memory(memory).unwrap();
            queue.open().unwrap();
            let next = |_: &mut dyn Queue, slot: u32| Request {
                slot,
                op: Op::Read,
                offset: offsets.next_offset(),
                start: 0,
                length: size,
            };
            drive(&mut *queue, depth, geometry.operations(), next, |queue, request, completion| {
                assert_eq!(completion.result, size as i32);
                let bytes = &queue.memory(completion.slot)[..size];
                assert_eq!(VERIFIER.check(bytes, 0, request.offset), Ok(()));
            });
            queue.close().unwrap();
        }
    }
}

/// Keeps `depth` operations in flight until `count` are done, each slot exactly once at a time.
pub fn drive(
    queue: &mut dyn Queue,
    depth: usize,
    count: u64,
    mut next: impl FnMut(&mut dyn Queue, u32) -> Request,
    mut done: impl FnMut(&mut dyn Queue, Request, Completion),
) {
    let mut slots: Vec<Option<Request>> = vec![None; depth];
    let (mut pushed, mut ended) = (0, 0);
    while ended < count {
        for (number, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
            if pushed < count {
                let request = *slot.insert(next(queue, number as u32));
                queue.push(request);
                pushed += 1;
            }
        }
        queue.submit_and_wait(1).unwrap();
        let before = ended;
        while let Some(completion) = queue.next_completion() {
            let request = slots[completion.slot as usize].take().expect("a completion of an operation in flight");
            done(queue, request, completion);
            ended += 1;
        }
        assert!(ended > before, "submit_and_wait(1) came back with nothing");
    }
}
