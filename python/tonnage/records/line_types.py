"""The lines of a run directory, as types; ``docs/record-format.md`` says what each key means and in which unit.

Keys that an older version did not write stand in ``total=False`` classes: read them with ``get``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from tonnage.records.phase_results import (
    CacheFacts,
    CheckpointResult,
    CopyResult,
    ErrorAt,
    GroupPlacement,
    KvCacheResult,
    LatencySummary,
    NetworkResult,
    Note,
    OperationResult,
    StageResult,
    StatedTraining,
    TailResult,
    TaskResult,
    TrainingResult,
    VerifyResult,
)

SettingValues = Mapping[str, Any]
"""The factors of a trial, by the names of ``docs/campaign.md``; each kind of workload has others."""
Json = Mapping[str, Any]
"""A JSON object whose keys are another's affair: facts of a file system, a campaign as it was written."""
Manifest = dict[str, Any]
"""``manifest.json``: a run adds keys to it as it learns them, and reads those of any older version."""


class CacheLine(CacheFacts, total=False):
    """The same with what follows from it, as ``cache`` of a trial line."""

    state: str
    device_share: float | None
    device_ratio: float | None
    read_bytes: int


class ObjectsLine(TypedDict):
    """``objects`` of a trial line."""

    epoch: int
    groups: int
    unplaced_objects: int
    placed_objects: int


class HostOffset(TypedDict):
    """A host of an ensemble, and its wall clock against that of the first."""

    host: str
    processes: int
    tasks: int
    offset_ns: int
    uncertainty_ns: int


class Gathering(TypedDict):
    """How several processes met (``ensemble``)."""

    launcher: str
    processes: int
    hosts: list[HostOffset]
    barrier_ns: int
    skew_ns: int
    gather_ns: int


class HostEvents(TypedDict):
    """What happened to the host that writes the record (``meanwhile``); None where the system does not count it."""

    lasted_ns: int | None
    clock_step_ns: int | None
    memory_stall_ns: int | None
    swapped_out_bytes: int | None
    stolen_ns: int | None


class DeviceBalance(TypedDict):
    """What one device holds of the examined files."""

    device: str
    server: str | None
    first: int
    holds: int
    first_bytes: int
    bytes: int


class Devices(TypedDict):
    """Which devices hold the files (``devices`` of a trial line)."""

    of: str
    record: str
    examined: int
    total: int | None
    sampled: bool
    how: list[str]
    problem: str | None
    balance: list[DeviceBalance]


class NfsCounts(TypedDict):
    """What the kernel's NFS client counted of one mount during a phase."""

    mount_point: str
    device: str
    bytes: dict[str, int]
    transport: dict[str, int]
    operations: dict[str, dict[str, int]]


class NfsMount(NfsCounts):
    """The same, and on which host."""

    host: str


class StatedRateLine(TypedDict):
    """The rate that a file of another tool states beside a count and a time."""

    text: str
    count: int
    rate_low_per_s: int
    rate_high_per_s: int
    elapsed_low_ns: int
    elapsed_high_ns: int


class Origin(TypedDict):
    """Where an imported line stands in the files that it was made from."""

    file: int
    line: int
    said: StatedRateLine | None


class Totals(TypedDict, total=False):
    """What a trial line derives from its tasks; times and rates are None where there is no task."""

    first_start_ns: int | None
    last_start_ns: int | None
    first_done_ns: int | None
    last_done_ns: int | None
    elapsed_ns: int | None
    bytes: int
    operations: int
    errors: int
    retries: int
    loop_bytes_per_s: int | None
    bandwidth_bytes_per_s: int | None
    operations_per_s: int | None


class CompanyLine(TypedDict):
    """What ran beside a phase (``company`` of its line and of that of the company)."""

    beside: str
    record: str
    alone_operations_per_s: float
    offered_operations_per_s: int
    operations_per_s: float | None
    p99_ns: int | None


class TrialLine(Totals, total=False):
    """One line of ``trials.jsonl``."""

    trial: int
    record: str
    setting: SettingValues
    repetition: int
    block: int
    phase: str
    purpose: str
    status: str
    reason: str | None
    stop_reason: str | None
    started: str | None
    latency: LatencySummary | None
    cpu_user_ns: int | None
    cpu_system_ns: int | None
    cache: CacheLine | None
    durability: str | None
    direct: bool | None
    wrapped: bool | None
    verify: VerifyResult | None
    first_error: ErrorAt | None
    facts: dict[str, int]
    hints: dict[str, str]
    notes: list[Note]
    parts: list[OperationResult]
    follow: TailResult | None
    stage: StageResult | None
    checkpoint: CheckpointResult | None
    found: int
    training: TrainingResult
    kv_cache: KvCacheResult
    stated_training: StatedTraining
    network: NetworkResult | None
    objects: ObjectsLine | None
    ensemble: Gathering | None
    meanwhile: HostEvents | None
    devices: Devices | None
    nfs: list[NfsMount] | None
    company: CompanyLine


class ImportedLine(TrialLine, total=False):
    """The same of a run that was made from files of another tool."""

    origin: Origin


class OfRecord(TypedDict):
    """What each line begins with that belongs to a record."""

    trial: int
    record: str


class TaskLine(OfRecord, TaskResult):
    """One line of ``tasks.jsonl``."""

    phase: str
    host: str


class CopyLine(OfRecord, CopyResult):
    """One line of ``copies.jsonl``."""


class ObjectLine(OfRecord, GroupPlacement):
    """One line of ``objects.jsonl``."""


class DevicePart(TypedDict):
    """Bytes of a file that lie together on one device."""

    device: str
    bytes: int
    copy: int


class DeviceItem(TypedDict):
    """An examined file or object, and the devices that hold it."""

    name: str
    file: int | None
    task: int | None
    bytes: int
    parts: list[DevicePart]


class DeviceLine(OfRecord, DeviceItem):
    """One line of ``devices.jsonl``."""


class CeilingEntry(TypedDict, total=False):
    """An entry of ``ceilings`` of the manifest."""

    name: str
    bytes_per_s: int
    operations_per_s: int | None
    tasks: int | None
    """None: a link, which bounds bytes of any number of tasks."""
    transfer_size: int
    source: str
    hosts: dict[str, int]
    """Bytes per second of each, where there are several."""


class CostEntry(TypedDict):
    """The cost of an operation of the generator without storage: an entry of ``costs`` of the manifest."""

    operations_per_s: int
    ns_per_operation: int
    cpu_ns_per_operation: int
    transfer_size: int
    tasks: int


class EventLine(TypedDict, total=False):
    """One line of ``events.jsonl``: an event without the keys that its kind does not have, or one of the run itself."""

    trial: int | None
    record: str | None
    time_ns: int | None
    kind: str
    task: int | None
    duration_ns: int | None
    attempts: int
    message: str | None
    name: str


class WorkflowTask(TypedDict):
    """A task of a workflow that a copy of a command ran, as its trace says."""

    copy: int
    engine: str
    task: int
    name: str
    process: str
    status: str
    host: str | None
    attempt: int | None
    exit_code: int | None
    submit_ns: int | None
    start_ns: int | None
    end_ns: int | None
    complete_ns: int | None
    times_from: str | None
    run_ns: int | None
    cpu_ns: int | None
    max_resident_bytes: int | None
    read_call_bytes: int | None
    write_call_bytes: int | None
    device_read_bytes: int | None
    device_write_bytes: int | None
    after: list[int] | None


class WorkflowWaits(TypedDict):
    """What follows from the instants of a workflow's tasks; never below 0."""

    wait_ns: int | None
    notice_ns: int | None
    gap_ns: int | None


class WorkflowLine(OfRecord, WorkflowTask, WorkflowWaits):
    """One line of ``workflow.jsonl``."""


StopReason = Literal["known", "aside", "limit", "repetitions", "narrow", "most", "budget", "failed", "interrupted"]
STOPPED = "stopped"
"""Key of the manifest that has them."""


def pack_stop_reasons(reasons: Mapping[int, StopReason]) -> dict[str, Any] | None:
    """``reasons``, by the number of each trial, as the manifest keeps them: ``{"usual": "known", "other": {"7":
    "aside"}}``, for most runs have one reason for nearly all. None where nothing was measured."""
    if not reasons:
        return None
    ((usual, _),) = Counter(reasons.values()).most_common(1)
    return {"usual": usual, "other": {str(trial): reason for trial, reason in reasons.items() if reason != usual}}


def processors_of(manifest: Manifest) -> int | None:
    """The processors that the run's host let it use; None where that is not known."""
    host = manifest.get("host") or {}
    return host.get("cpus_allowed") or host.get("cpu_count")


def is_simulated(manifest: Manifest) -> bool:
    """Whether a model was measured, and no storage."""
    return (manifest.get("target") or {}).get("kind") == "sim"


def stop_reason_of(manifest: Mapping[str, Any], trial: int) -> StopReason | None:
    """Why the point that ``trial`` belongs to stopped; None: the run goes on, was killed, or does not say."""
    kept = manifest.get(STOPPED)
    return kept["other"].get(str(trial), kept["usual"]) if kept else None
