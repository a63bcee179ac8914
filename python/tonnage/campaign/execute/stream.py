"""Trials of ``stream``: files are laid out where a phase needs them, it is measured, and what it wrote is checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tonnage.campaign.execute.executor import Executor, Refusal
from tonnage.campaign.execute.run_phase import PhaseOutcome, Status, TrialRun
from tonnage.campaign.kinds.stream import StreamSetting, hog_bytes
from tonnage.campaign.target import Target
from tonnage.records.phase_specs import Limit, PhaseSpec, RateLimits, Source, Work

_PARTS_MOST = 10_000
"""S3 takes no more parts of an object."""
_LEAST_PART_BYTES = 5 << 20
"""… and none smaller than this, but for the last one."""


class StreamExecutor(Executor[StreamSetting]):
    """A write starts on fresh files; anything else has its files laid out first where they are not there."""

    def not_with_objects(self, setting: StreamSetting, target: Target) -> Iterator[Refusal]:
        if target.bucket is None:
            return
        if setting.op == "mixed":
            yield (
                "an object is not written in the middle, so op mixed has no writes to mix",
                'use op = ["write", "read"]',
            )
        if setting.op == "write" and setting.access != "sequential":
            yield (
                f"an object is written from its first byte to its last, not in {setting.access} order",
                'use access = "sequential" for writes; reads may be in any order',
            )
        if setting.layout == "shared":
            yield "an object has one writer, so tasks cannot share a file", 'use layout = "file-per-task"'
        if setting.op == "write" and setting.sync == "fsync-each":
            yield "an object becomes durable as a whole, not after each write", 'use sync = "fsync"'
        for key in ("preallocate", "range_locks", "advice", "spread"):
            if getattr(setting, key):
                yield f"objects have no {key}", f"leave {key} out"
        part_bytes = target.bucket["part_bytes"]
        if setting.transfer_size >= _LEAST_PART_BYTES:
            part_bytes = max(part_bytes, setting.transfer_size)
        if setting.file_bytes > part_bytes * _PARTS_MOST:
            yield f"an object of S3 has at most {_PARTS_MOST} parts", "give part or transfer_size more bytes"

    def try_out(self, setting: StreamSetting, target: Target) -> PhaseSpec:  # noqa: ARG002  (as every kind's)
        one = replace(
            setting,
            op="write",
            tasks=1,
            layout="file-per-task",
            block_size=setting.transfer_size,
            segments=1,
            verify=False,
            hog=None,
            barriers=False,
        )
        return phase_spec(one, "try-out", 0)

    def first_phase(self, setting: StreamSetting, target: Target) -> PhaseSpec:  # noqa: ARG002
        return phase_spec(setting, "try-out", 0)

    def company(self, setting: StreamSetting, trial: TrialRun) -> PhaseSpec | None:
        if setting.op == "write":
            trial.workspace.clear()
        elif _lay_out(setting, trial) is not None:
            return None
        return phase_spec(setting, trial.record(setting.op), trial.seed)

    def measure(self, setting: StreamSetting, trial: TrialRun) -> Status:
        if setting.op != "write":
            missing = _lay_out(setting, trial)
            return missing or _phase(setting, trial, _within(setting, trial)).status
        trial.workspace.clear()
        if (stopped := _prefill(setting, trial)) is not None:
            return stopped
        written = _phase(setting, trial, setting)
        if written.status == "ok" and (written.line["stop_reason"] == "size" or trial.target.names):
            trial.workspace.wrote(setting, min(written.operations))
            if setting.check_written:
                return _check(setting, trial)
        elif written.status == "failed":
            # A full disk must not stay full for the next trial.
            trial.workspace.clear()
        return written.status


def write_pilot(setting: StreamSetting, trial: TrialRun) -> None:
    """A write before the first trial that is recorded but never analysed."""
    trial.phase(setting, "write", phase_spec(setting, trial.record("write"), trial.seed), purpose="fill")
    trial.workspace.clear()


def _phase(setting: StreamSetting, trial: TrialRun, doing: StreamSetting) -> PhaseOutcome:
    measured = trial.phase(setting, setting.op, phase_spec(doing, trial.record(setting.op), trial.seed))
    _keep_damaged(trial, measured)
    return measured


def _lay_out(setting: StreamSetting, trial: TrialRun) -> Status | None:
    """Has the files of ``setting`` written where they are not there; the trial's status where that failed."""
    fill = trial.workspace.fill_for(setting)
    if fill is None:
        return None
    writing, first_task = fill
    spec = phase_spec(writing, trial.record("write"), trial.seed, first_task=first_task)
    status = trial.phase(writing, "write", spec, purpose="fill").status
    if status == "ok":
        trial.workspace.wrote(writing)
        return None
    trial.workspace.clear()
    if status == "failed":
        return trial.without(setting.op, "the files it reads could not be laid out")
    return status


def _prefill(setting: StreamSetting, trial: TrialRun) -> Status | None:
    """Writes the files that a write at random then works on; the trial's status where that failed."""
    if setting.prefill is None:
        return None
    # Not what the phase writes: what it leaves out must not pass for written.
    fill = replace(setting.fill(setting.prefill), payload="constant", sync="none")
    status = trial.phase(fill, "write", phase_spec(fill, trial.record("prefill"), trial.seed), purpose="fill").status
    if status == "ok":
        return None
    trial.workspace.clear()
    if status == "failed":
        return trial.without(setting.op, "the files that it works on could not be written first")
    return status


def _within(setting: StreamSetting, trial: TrialRun) -> StreamSetting:
    """Reads of the user's files end where the write before them was cut short: what each task has written."""
    written = trial.workspace.written_operations
    if written is None or written >= setting.segments * (setting.block_size // setting.transfer_size):
        return setting
    return replace(setting, operations=max(min(written, setting.operations or written), 1))


def _check(setting: StreamSetting, trial: TrialRun) -> Status:
    """Reads back all that was written, and checks every byte."""
    part = _within(setting, trial)
    # The order of the write, where not all of it was done.
    whole = part is setting and setting.access != "random-blocks"
    access = "sequential" if whole else setting.access
    reading = replace(part, op="read", verify=True, access=access, cache="keep", time_limit_ns=None)
    reading = replace(reading, wear_out=False, min_time_ns=None, barriers=False)
    spec = phase_spec(reading, trial.record("check"), trial.seed)
    measured = trial.phase(setting, "check", spec, purpose="check")
    _keep_damaged(trial, measured)
    return measured.status


def _keep_damaged(trial: TrialRun, measured: PhaseOutcome) -> None:
    """Files in which damage was just found stay, where that is wanted."""
    target = trial.target
    if measured.line and target.keep_damaged and not target.keep:
        verify = measured.line["verify"]
        trial.workspace.keep_named(bool(verify and verify["damaged_operations"]))


def phase_spec(setting: StreamSetting, record: str, seed: int, *, first_task: int = 0) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/phase.rs``) that measures ``setting``; tasks from ``first_task`` on."""
    spec: PhaseSpec = {
        "record": record,
        "tasks": {"first": first_task, "here": setting.tasks - first_task, "total": setting.tasks},
        "limit": _limit(setting),
        "seed": seed,
        "work": _work(setting, seed),
    }
    if pace := _rate_limits(setting):
        spec["pace"] = pace
    if setting.hog:
        spec["hog_bytes"] = hog_bytes(setting.hog)
    return spec


def _work(setting: StreamSetting, seed: int) -> Work:
    work: Work = {
        "kind": "stream",
        # A mix opens its files for writing.
        "op": "read" if setting.op == "read" else "write",
        "geometry": {
            # Of a strided view, a transfer is one of every segment.
            "transfer_size": setting.transfer_size * (setting.segments if setting.is_strided else 1),
            "block_size": setting.block_size * (setting.segments if setting.is_strided else 1),
            "segments": 1 if setting.is_strided else setting.segments,
            "layout": "shared" if setting.layout == "shared" else "file-per-task",
            "access": setting.access,
        },
        "queue_depth": setting.queue_depth,
        "durability": "none" if setting.op == "read" else setting.sync,
        "cache": setting.cache,
        "payload": setting.payload,
        "verify": setting.verify and setting.op != "write",
    }
    if setting.op == "mixed":
        work["read_percent"] = setting.read_percent
    if source := _source(setting, seed):
        work["source"] = source
    if setting.preallocate:
        work["preallocate"] = True
    if setting.barriers:
        work["barriers"] = True
    if setting.single_attempt:
        work["single_attempt"] = True
    if setting.retry_for_ns:
        work["retry_ns"] = setting.retry_for_ns
    if setting.spread:
        work["spread_bytes"] = setting.spread
    if setting.collective:
        work["collective"] = True
    if setting.order_seed is not None:
        work["order_seed"] = setting.order_seed
    return work


def _limit(setting: StreamSetting) -> Limit:
    limit: Limit = {"time_ns": setting.time_limit_ns, "wrap": setting.wrap}
    if setting.wear_out:
        limit["wear_out"] = True
    if setting.min_time_ns:
        limit["min_time_ns"] = setting.min_time_ns
    if setting.operations:
        limit["operations"] = setting.operations
    return limit


def _rate_limits(setting: StreamSetting) -> RateLimits | None:
    pace: RateLimits = {}
    if setting.operations_rate is not None:
        pace["operations_per_s"] = setting.operations_rate
    if setting.rate_bytes_per_s is not None:
        pace["bytes_per_s"] = setting.rate_bytes_per_s
    if setting.think_ns is not None:
        pace["think_ns"] = setting.think_ns
    return pace or None


def _source(setting: StreamSetting, seed: int) -> Source | None:
    if setting.source == "shift":
        return {"kind": "shift", "tasks": setting.shift}
    if setting.source == "random":
        return {"kind": "random", "seed": seed if setting.source_seed is None else setting.source_seed}
    return None
