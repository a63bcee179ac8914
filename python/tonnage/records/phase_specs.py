"""The input of the engine, as JSON (``crates/workload/src/phase.rs``, ``crates/storage/src/target/mod.rs``).

Rust refuses a key that it does not know; ``tests/records/test_line_types.py`` gives it each of these.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class TaskRange(TypedDict):
    """Which tasks of a phase run in this process: ``here`` of ``total``, from ``first`` on."""

    first: int
    here: int
    total: int


class Limit(TypedDict, total=False):
    """When a phase ends."""

    time_ns: int | None
    wrap: bool
    operations: int | None
    min_time_ns: int
    wear_out: bool
    watch_space: bool


class RateLimits(TypedDict, total=False):
    """When operations start."""

    operations_per_s: int | None
    bytes_per_s: int | None
    think_ns: int


class Geometry(TypedDict, total=False):
    """Which bytes of which files a task transfers, and in which order."""

    transfer_size: int
    block_size: int
    segments: int
    layout: str
    access: str


class Source(TypedDict, total=False):
    """Whose files a task reads."""

    kind: Literal["own", "shift", "random"]
    tasks: int
    seed: int


class Tree(TypedDict):
    """A tree of small files."""

    depth: int
    branch: int
    items_per_directory: int
    leaves_only: bool
    shared: bool


class SnapshotMeans(TypedDict, total=False):
    """How snapshots are taken, and with ``command`` by which."""

    means: str
    argv: list[str]
    remove_argv: list[str] | None
    read_directory: str | None
    timeout_ns: int | None


class Dataset(TypedDict):
    """The samples of a training, and their files."""

    files: int
    samples_per_file: int
    sample_bytes: int
    spread_bytes: int


class Saving(TypedDict):
    """The checkpoints between the steps of a training."""

    every_steps: int
    writers: int
    writer_bytes: int


class Work(TypedDict, total=False):
    """What the tasks of a phase do: the keys of its ``kind``."""

    kind: Literal["stream", "files", "tail", "command", "find", "checkpoint", "training", "kv-cache"]
    op: str
    read_percent: int | None
    geometry: Geometry
    source: Source
    queue_depth: int
    durability: str
    cache: str
    preallocate: bool
    payload: str
    barriers: bool
    single_attempt: bool
    retry_ns: int | None
    order_seed: int | None
    spread_bytes: int | None
    verify: bool
    tree: Tree
    operations: int
    counts: list[int]
    renamed: bool
    file_bytes: int
    fsync: bool
    syncfs: bool
    mknod: bool
    collective: bool
    shared_files: bool
    shift: int
    random: bool
    check_written: bool
    transfer_size: int
    follow: str
    waiting: str
    poll_ns: int
    grace_ns: int
    argv: list[str]
    copies: int
    directory: str
    environment: dict[str, str]
    output: str | None
    step: str
    rounds: int
    think_ns: int
    coordination: str
    snapshot: SnapshotMeans | None
    of_round: int | None
    root: str
    name: str | None
    size_bytes: int | None
    changed_since_ns: int | None
    files: int
    dataset: Dataset
    accelerators: int
    readers: int
    batch_samples: int
    prefetch_batches: int
    compute_ns: int
    steps: int | None
    epochs: int
    shuffle: str
    first_pass: int
    turn_bytes: int
    turns: int
    slots: int
    laid_out: int
    serve_ns: int
    saving: Saving | None


class PhaseSpec(TypedDict, total=False):
    """Everything that the engine or the simulator has to know of a phase."""

    record: str
    tasks: TaskRange
    tasks_per_node: int | None
    limit: Limit
    pace: RateLimits
    hog_bytes: int
    operation_log: int
    seed: int
    interval_ns: int
    work: Work


class Cut(TypedDict):
    """How a storage keeps each file as several."""

    count: int
    bytes: int


class PoolSpec(TypedDict, total=False):
    """A Ceph pool."""

    pool: str
    namespace: str
    object_bytes: int
    conf: str | None
    user: str
    write_once: bool
    timeout_ns: int


class ExportSpec(TypedDict, total=False):
    """An export of an NFS server."""

    server: str
    path: str
    port: int | None
    mount_port: int | None
    rsize: int | None
    wsize: int | None


class BucketSpec(TypedDict, total=False):
    """A bucket of an S3 service."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    part_bytes: int
    path_style: bool
    profile: str | None


class Delays(TypedDict, total=False):
    """Waits that are added to each operation."""

    create_ns: int
    transfer_ns: int
    sync_ns: int
    close_ns: int
    task: int | None


class FileView(TypedDict):
    """Which part of a file a task sees through MPI-IO."""

    piece_bytes: int
    pieces: int
    block_bytes: int
    tasks: int


class MpiioSpec(TypedDict, total=False):
    """How files are opened through MPI-IO. ``library`` is each host's own."""

    library: str
    functions: dict[str, int]
    collective: bool
    shared: bool
    tasks: int
    task_bytes: int
    hints: dict[str, str]
    view: FileView | None


class TargetSpec(TypedDict, total=False):
    """A storage, and how it is opened."""

    kind: str
    directories: list[str]
    assign: list[int]
    pins: list[str]
    names: list[str]
    existing: str
    keep: bool
    nurseries: list[str]
    process: str
    marks: list[str]
    run_id: str
    direct: str
    cut: Cut | None
    advice: list[str]
    range_locks: bool
    mpiio: MpiioSpec | None
    delays: Delays
    rados: PoolSpec | None
    nfs: ExportSpec | None
    s3: BucketSpec | None
