"""The result of a phase, as the engine (``crates/records/src/result.rs``) or another program measured it.

``docs/record-format.md`` says what each key means and in which unit; ``tests/records/test_line_types.py`` holds the
types against the engine.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class LatencySummary(TypedDict):
    """Quantiles of a latency, in nanoseconds."""

    count: int
    min_ns: int
    mean_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


class ErrorAt(TypedDict):
    """An operation that failed."""

    task: int
    file: int
    offset: int
    errno: int
    message: str


class DamageAt(TypedDict):
    """A damaged transfer."""

    task: int
    file: int
    offset: int
    what: str


class VerifyResult(TypedDict):
    """Outcome of verified reads."""

    checked_bytes: int
    damaged_operations: int
    first_damage: list[DamageAt]


class CacheFacts(TypedDict):
    """What the page cache and the device had to do with a read; None where the kernel does not say."""

    cached_before_bytes: int | None
    examined_bytes: int | None
    device_bytes: int | None
    hole_bytes: int | None


class Note(TypedDict):
    """A fallback that was taken, or a fact that a finding may stand on."""

    code: str
    message: str


class Event(TypedDict):
    """Something that happened during a phase."""

    time_ns: int
    kind: str
    task: int | None
    duration_ns: int | None
    attempts: int | None
    message: str | None


class OperationResult(TypedDict):
    """One kind of operation of a phase that mixes several."""

    op: Literal["write", "read"]
    bytes: int
    operations: int
    latency: LatencySummary


class TailResult(TypedDict):
    """How readers followed a writer."""

    readers: int
    bytes: int
    lag: LatencySummary
    max_lag_bytes: int
    waits: int
    device_bytes: int | None


class CopyResult(TypedDict):
    """One copy of a command."""

    copy: int
    task: int
    start_ns: int
    end_ns: int
    exit_code: int | None
    signal: int | None
    error: str | None
    cpu_user_ns: int
    cpu_system_ns: int
    run_delay_ns: int | None
    max_resident_bytes: int | None
    read_calls: int | None
    write_calls: int | None
    read_call_bytes: int | None
    write_call_bytes: int | None
    device_read_bytes: int | None
    device_write_bytes: int | None


class CheckpointResult(TypedDict):
    """The rounds of a ``checkpoint`` workload's phase."""

    step: str
    coordination: str
    rounds: int
    checkpoint_ns: int
    think_ns: int
    snapshot_ns: int
    snapshot: LatencySummary
    leftovers_ns: int
    windows: list[list[int]]


class TrainingResult(TypedDict):
    """The accelerators of a ``training`` workload's phase."""

    accelerators: int
    readers: int
    batch_samples: int
    compute_ns: int
    windows: list[list[int]]
    starved_ns: int
    uneven_ns: int
    idle_ns: int
    checkpoint_bytes: int
    checkpoints: list[list[int]]
    step_ends_ns: list[int]


class StatedTraining(TypedDict):
    """What another tool says of the accelerators of a training."""

    accelerators: int
    utilisation: float


class KvCacheResult(TypedDict):
    """The users of a ``kv-cache`` workload's phase."""

    users: int
    turns: int
    unserved: int
    returning: int
    found: int
    read_bytes: int
    write_bytes: int
    read_ns: int
    write_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int


class GroupPlacement(TypedDict):
    """A placement group that a phase worked on."""

    group: int
    osds: list[int]
    objects: int
    names: list[str]
    writes: int
    written_bytes: int
    reads: int
    read_bytes: int


class PlacementResult(TypedDict):
    """Where a storage that spreads objects put those of a phase."""

    epoch: int
    groups: int
    unplaced_objects: int
    held: list[GroupPlacement]


class TaskTimes(TypedDict):
    """The times of each task of a record, of any kind of workload."""

    task: int
    start_ns: int
    end_ns: int
    bytes: int
    operations: int
    errors: int


class TaskResult(TaskTimes, total=False):
    """One task's part of a phase. Steps are None where another program carried it out."""

    role: Literal["work", "follow", "save"]
    open_ns: int | None
    transfer_ns: int | None
    sync_ns: int | None
    close_ns: int | None
    open_wait_ns: int | None
    close_wait_ns: int | None
    retries: int
    damaged_operations: int
    wrapped: bool
    stonewall_operations: int | None
    stonewall_bytes: int | None
    startup_ns: int | None
    startup_bytes: int | None
    latency: LatencySummary | None
    max_lag_ns: int | None
    max_lag_bytes: int | None
    tasks: int
    together: bool
    found: int | None


StageSample = list["int | None"]
"""Time on the run's clock; bytes that waited, that were on their way, that were safe; free bytes of the fast tier."""


class _StageResult(TypedDict):
    application_ns: int
    drain_ns: int
    copied_before_end_bytes: int
    workers: int | None


class StageResult(_StageResult, total=False):
    """How a ``stage`` phase went."""

    progress: list[StageSample]
    """In the order of time; missing in runs of older versions."""


class FlowResult(TypedDict):
    """One flow of a ``network`` phase; of an imported one only one end tells its version."""

    task: int
    sender: str
    receiver: str
    start_ns: int
    start_uncertainty_ns: int | None
    elapsed_ns: int
    sent_bytes: int
    received_bytes: int
    bandwidth_bytes_per_s: int
    window_bytes: int
    retransmits: int | None
    rtt_min_ns: int | None
    rtt_mean_ns: int | None
    rtt_max_ns: int | None
    sender_cpu_share: float | None
    receiver_cpu_share: float | None
    sender_version: str | None
    receiver_version: str | None
    congestion: str | None


class NetworkResult(TypedDict):
    """A ``network`` phase."""

    window_start_ns: int
    window_end_ns: int
    sum_of_own_bytes_per_s: int
    flows: list[FlowResult]


class EngineResult(TypedDict):
    """What a phase leaves behind but its series and histograms, as the engine returns it; an imported one has no
    ``stop_reason``."""

    stop_reason: Literal["size", "time", "interrupted", "error"] | None
    tasks: list[TaskResult]
    latency: LatencySummary | None
    cpu_user_ns: int | None
    cpu_system_ns: int | None
    direct: bool | None
    cache: CacheFacts | None
    verify: VerifyResult | None
    first_error: ErrorAt | None
    facts: dict[str, int]
    notes: list[Note]
    events: list[Event]


class PhaseResult(EngineResult, total=False):
    """The same with what only some kinds of workload have, and what other programs measured."""

    parts: list[OperationResult]
    hints: dict[str, str]
    follow: TailResult | None
    copies: list[CopyResult]
    checkpoint: CheckpointResult | None
    training: TrainingResult | None
    kv_cache: KvCacheResult | None
    found: int | None
    placement: PlacementResult | None
    stage: StageResult | None
    network: NetworkResult | None
