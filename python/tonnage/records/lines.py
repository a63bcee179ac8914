"""From a PhaseResult (``crates/records/src/result.rs``) to lines of trials, tasks and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from tonnage.records.line_types import (
    CacheLine,
    CopyLine,
    DeviceItem,
    DeviceLine,
    Devices,
    EventLine,
    Gathering,
    HostEvents,
    NfsMount,
    ObjectLine,
    ObjectsLine,
    OfRecord,
    SettingValues,
    TaskLine,
    Totals,
    TrialLine,
)
from tonnage.records.phase_results import CacheFacts, Event, PhaseResult, TaskResult
from tonnage.units import plural

if TYPE_CHECKING:
    from tonnage.records.trial_columns import Trials


def object_lines(line: TrialLine, result: PhaseResult | None) -> list[ObjectLine]:
    """Returns the lines of ``objects.jsonl`` that belong to a trial line: one for each placement group that it worked
    on."""
    head: OfRecord = {"trial": line["trial"], "record": line["record"]}
    placement = result.get("placement") if result else None
    return [{**head, **held} for held in placement["held"]] if placement else []


def objects_of(result: PhaseResult | None) -> ObjectsLine | None:
    """``objects`` of a trial line; None where the storage does not spread any."""
    placement = result.get("placement") if result else None
    if placement is None:
        return None
    placed = sum(held["objects"] for held in placement["held"])
    return {
        "epoch": placement["epoch"],
        "groups": placement["groups"],
        "unplaced_objects": placement["unplaced_objects"],
        "placed_objects": placed,
    }


def object_contradictions(line: TrialLine, groups: Sequence[ObjectLine]) -> Iterator[str]:
    """Sentences on what a trial line and its lines of ``objects.jsonl`` do not agree on."""
    objects = line.get("objects")
    said = objects.get("placed_objects", 0) if objects else 0
    placed = sum(group["objects"] for group in groups)
    if said != placed:
        yield f"objects.placed_objects is {said} in trials.jsonl, and {placed} from objects.jsonl"
    if len({group["group"] for group in groups}) < len(groups):
        yield "objects.jsonl has a group twice"
    for group in groups:
        if len(group["names"]) > group["objects"]:
            yield f"objects.jsonl has more names than objects in group {group['group']}"


COLD_SHARE = 0.95
"""A read is cold when at least this share of its bytes came from a device."""
AMPLIFIED = 1.05
"""Read amplification above this is reported: bytes of the device for each byte read."""

_WITHOUT_WRITES = {
    "read", "check", "make-tree", "remove-tree", "make-directory", "stat-directory", "rename-directory",
    "remove-directory", "stat", "rename", "read-directory", "remove", "restart", "drop", "train",
}  # fmt: skip
"""Phases in which nothing is written that could be made durable."""
_CHANGES_NOTHING = {"read", "check", "make-tree", "remove-tree", "stat-directory", "stat", "read-directory", "find"}
"""Phases that change neither names nor bytes, or that no sync of the file system follows."""
_READS = ("read", "restart", "train")

NO_CACHE_FACTS: CacheFacts = {
    "cached_before_bytes": None,
    "examined_bytes": None,
    "device_bytes": None,
    "hole_bytes": None,
}
"""Cache facts that were not measured."""

COUNTED = ("files", "command", "find")
"""Kinds of workload that are about operations per second, not bytes."""


def rate(count: int, elapsed_ns: int | None) -> int | None:
    """Things per second, rounded down; None where no time passed or none was measured."""
    return count * 10**9 // elapsed_ns if elapsed_ns else None


def headline(line: TrialLine) -> tuple[float | None, str]:
    """The rate that a trial line is about, and its unit: bytes per second for what moves data (``B/s``, whole),
    operations per second (``1/s``, not rounded: a long command does few) for names, commands and what is dropped."""
    kind, phase = line["setting"].get("kind"), line["phase"]
    rounds = line.get("checkpoint")
    rounds_ns = rounds.get("checkpoint_ns") if rounds else None
    if line.get("training"):
        _, moved, elapsed_ns = taken(line)
        return rate(moved, elapsed_ns), "B/s"
    figures: list[Any] = [line.get(key) for key in _FIGURES]
    return _rate_of(kind, phase, rounds_ns, *figures), "1/s" if _is_counted(kind, phase) else "B/s"


def headlines(lines: Trials) -> list[float | None]:
    """Returns the rates of :func:`headline`."""
    if lines.where_set("training"):
        return [headline(line)[0] for line in lines]
    counted = any(_is_counted(setting.get("kind"), "") for setting in lines.distinct("setting"))
    if not counted and not _CALLS.intersection(lines.distinct("phase")) and not lines.where_set("checkpoint"):
        return lines.column("bandwidth_bytes_per_s")
    paths = (("setting", "kind"), ("phase",), ("checkpoint", "checkpoint_ns"), *((key,) for key in _FIGURES))
    return list(map(_rate_of, *(lines.column(*path) for path in paths)))


def taken(line: TrialLine) -> tuple[int, int, int]:
    """What the accelerators of a training took from the end of their first step to that of the last, and how long that
    lasted: samples, bytes, nanoseconds. What fills the queues before is not in it. Where no second step ended, or
    another tool measured: all that was read, and all of the time."""
    fed = line.get("training")
    ends_ns = fed.get("step_ends_ns", []) if fed else []
    if fed is None or len(ends_ns) < 2 or not line["operations"]:
        return line["operations"], line["bytes"], line["elapsed_ns"] or 0
    samples = (len(ends_ns) - 1) * fed["accelerators"] * fed["batch_samples"]
    return samples, samples * line["bytes"] // line["operations"], ends_ns[-1] - ends_ns[0]


def loop_rate(line: TrialLine) -> float | None:
    """The rate that a load line is made of: that of :func:`headline`, without the ends of a trial whose tasks kept
    operations in flight until its time was up (``loop_bytes_per_s``), where that is known."""
    return line.get("loop_bytes_per_s") or headline(line)[0]


def loop_rates(lines: Trials, whole: Sequence[float]) -> Sequence[float]:
    """Returns the rates of :func:`loop_rate`. ``whole``: those of :func:`headlines`."""
    loops = lines.numbers("loop_bytes_per_s")
    if loops is None or not (loops > 0).any():
        return whole
    return [loop if loop > 0 else rate for loop, rate in zip(loops.tolist(), whole, strict=True)]


_CALLS = frozenset({"drop", "metadata"})
"""Phases that move nothing: removing snapshots, an application's calls on names."""
_FIGURES = ("elapsed_ns", "operations", "bytes", "bandwidth_bytes_per_s")


def _rate_of(
    kind: str | None,
    phase: str,
    rounds_ns: int | None,
    elapsed_ns: int | None,
    operations: int,
    moved: int,
    bytes_per_s: int | None,
) -> float | None:
    if _is_counted(kind, phase):
        return operations * 1e9 / elapsed_ns if elapsed_ns else None
    # Not the pauses between the rounds.
    return rate(moved, rounds_ns) if rounds_ns else bytes_per_s


def _is_counted(kind: str | None, phase: str) -> bool:
    return kind in COUNTED or phase in _CALLS


def setting_key(setting: SettingValues) -> str:
    """The same text for the same factors, whatever the order of the keys: what makes two trials repetitions."""
    return json.dumps(setting, sort_keys=True, separators=(",", ":"))


def record_name(trial: int, phase: str) -> str:
    """The record of a phase; names its files in ``series/``, ``heat/`` and ``latency/``."""
    return f"{trial:04d}-{phase}"


def trial_line(
    *,
    trial: int,
    setting: SettingValues,
    phase: str,
    repetition: int,
    block: int,
    started: str,
    result: PhaseResult | None,
    purpose: str = "measure",
    reason: str | None = None,
    gathering: Gathering | None = None,
    meanwhile: HostEvents | None = None,
    devices: Devices | None = None,
    nfs: Sequence[NfsMount] | None = None,
) -> TrialLine:
    """One line of ``trials.jsonl``.

    ``result`` is None for a phase that never crossed its start line; ``reason`` then says why. A ``reason`` given with
    a result makes the phase failed whatever the result says. ``gathering``: how several processes met (``ensemble``).
    ``meanwhile``: what happened to the host that writes the record.
    ``devices``: which devices hold the files, ``nfs``: what the client counted of each mount, both as they are kept.
    """
    tasks, alone = result["tasks"] if result else [], setting.get("beside") is None
    totals = totals_of(tasks)
    status, why = _status(result, totals["errors"])
    if reason is not None:
        status, why = ("interrupted" if status == "interrupted" else "failed"), reason
    return {
        "trial": trial,
        "record": record_name(trial, phase),
        "setting": dict(setting),
        "repetition": repetition,
        "block": block,
        "phase": phase,
        "purpose": purpose,
        "status": status,
        "reason": why,
        "stop_reason": result["stop_reason"] if result else "error",
        "started": started,
        **totals,
        "latency": result["latency"] if result else None,
        # The kernel counts a process, and company runs in it.
        "cpu_user_ns": result["cpu_user_ns"] if result and alone else None,
        "cpu_system_ns": result["cpu_system_ns"] if result and alone else None,
        "cache": _cache(result, phase, totals["bytes"], alone=alone),
        "durability": _durability(setting, phase),
        "direct": result["direct"] if result else None,
        "wrapped": any(task["wrapped"] for task in tasks),
        "verify": result["verify"] if result else None,
        "first_error": result["first_error"] if result else None,
        "facts": dict(result["facts"]) if result else {},
        "hints": dict(result.get("hints") or {}) if result else {},
        "notes": list(result["notes"]) if result else [],
        "parts": list(result.get("parts", ())) if result else [],
        "follow": result.get("follow") if result else None,
        "stage": result.get("stage") if result else None,
        "checkpoint": result.get("checkpoint") if result else None,
        "network": result.get("network") if result else None,
        **_of_some_kinds(result),
        "objects": objects_of(result),
        "ensemble": gathering,
        "meanwhile": meanwhile,
        "devices": devices,
        "nfs": None if nfs is None else list(nfs),
    }


def _of_some_kinds(result: PhaseResult | None) -> TrialLine:
    """Keys that only phases of some kinds of workload have."""
    told: TrialLine = {}
    if result is not None:
        if (found := result.get("found")) is not None:
            told["found"] = found
        if (fed := result.get("training")) is not None:
            told["training"] = fed
        if (served := result.get("kv_cache")) is not None:
            told["kv_cache"] = served
    return told


def totals_of(tasks: Sequence[TaskResult]) -> Totals:
    """What a trial line derives from its tasks: instants, sums and rates. Times are None where there is no task.

    A line that is of several tasks ``together`` tells when the first of them began and the last ended, not when the
    last began and the first ended.
    """
    # A follower's reads are not what the trial measures; a record of an older version has no roles.
    tasks = [task for task in tasks if task.get("role", "work") == "work"]
    starts = [task["start_ns"] for task in tasks]
    ends = [task["end_ns"] for task in tasks]
    elapsed_ns = max(ends) - min(starts) if tasks else None
    apart = not any(task.get("together") for task in tasks)
    moved = sum(task["bytes"] for task in tasks)
    operations = sum(task["operations"] for task in tasks)
    return {
        "first_start_ns": min(starts, default=None),
        "last_start_ns": max(starts, default=None) if apart else None,
        "first_done_ns": min(ends, default=None) if apart else None,
        "last_done_ns": max(ends, default=None),
        "elapsed_ns": elapsed_ns,
        "bytes": moved,
        "operations": operations,
        "errors": sum(task["errors"] for task in tasks),
        **_retries(tasks),
        **_loop(tasks),
        "bandwidth_bytes_per_s": rate(moved, elapsed_ns),
        "operations_per_s": rate(operations, elapsed_ns),
    }


def _retries(tasks: Sequence[TaskResult]) -> Totals:
    """Attempts that failed and were followed by another; nothing where they were not counted, as in older records."""
    counted = [task["retries"] for task in tasks if "retries" in task]
    return {"retries": sum(counted)} if counted else {}


def _loop(tasks: Sequence[TaskResult]) -> Totals:
    """What the tasks moved each second between the end of their start-up and that of their last operation; nothing
    where start-ups are not recorded, as in older records, and None where a task had none, or did no more than that.

    A trial begins with nothing in flight, and each task ends when an operation does: where a storage completes them in
    bursts, all bytes over all time are those of one burst too many. Between two completions there is none too many, as
    there are intervals between events, one fewer than events.
    """
    if not any("startup_ns" in task for task in tasks):
        return {}
    timed = [task for task in tasks if task["startup_ns"] is not None]
    moved = sum(task["bytes"] - (task["startup_bytes"] or 0) for task in timed)
    together_ns = sum(
        (task["open_ns"] or 0) + (task["open_wait_ns"] or 0) + (task["transfer_ns"] or 0) - (task["startup_ns"] or 0)
        for task in timed
    )
    known = len(timed) == len(tasks) and together_ns > 0
    return {"loop_bytes_per_s": moved * len(tasks) * 10**9 // together_ns if known else None}


def task_lines(line: TrialLine, result: PhaseResult | None, hosts: Sequence[str]) -> list[TaskLine]:
    """The lines of ``tasks.jsonl`` that belong to a trial line; ``hosts`` says where each of these tasks ran."""
    tasks = result["tasks"] if result else ()
    return [
        {"trial": line["trial"], "record": line["record"], "phase": line["phase"], **task, "host": host}
        for task, host in zip(tasks, hosts, strict=True)
    ]


def untimed_task(number: int, start_ns: int, end_ns: int, *, moved: int, operations: int) -> TaskResult:
    """A task of a PhaseResult that another program carried out: its steps and latencies are not known."""
    return {
        "task": number,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "open_ns": None,
        "transfer_ns": None,
        "sync_ns": None,
        "close_ns": None,
        "open_wait_ns": None,
        "close_wait_ns": None,
        "bytes": moved,
        "operations": operations,
        "errors": 0,
        "latency": None,
        "damaged_operations": 0,
        "stonewall_operations": None,
        "stonewall_bytes": None,
        "role": "work",
        "max_lag_ns": None,
        "max_lag_bytes": None,
        "found": None,
        "wrapped": False,
    }


def copy_lines(line: TrialLine, result: PhaseResult | None) -> list[CopyLine]:
    """Returns the lines of ``copies.jsonl`` that belong to a trial line: one for each copy of a command."""
    head: OfRecord = {"trial": line["trial"], "record": line["record"]}
    return [{**head, **copy} for copy in (result.get("copies", ()) if result else ())]


def device_lines(line: TrialLine, items: Sequence[DeviceItem]) -> list[DeviceLine]:
    """The lines of ``devices.jsonl`` that belong to a trial line: one for each file or object that was examined."""
    head: OfRecord = {"trial": line["trial"], "record": line["record"]}
    return [{**head, **item} for item in items]


def _durability(setting: SettingValues, phase: str) -> str:
    """What makes the phase's work durable. A sync of the file system keeps names as well as bytes."""
    if phase == "stage":
        return "fsync" if setting["by"] == "mover" else "syncfs"
    if setting.get("syncfs") and phase not in _CHANGES_NOTHING:
        return "syncfs"
    return "none" if phase in _WITHOUT_WRITES else setting.get("sync", "none")


def event_lines(line: TrialLine, result: PhaseResult | None) -> list[EventLine]:
    """The lines of ``events.jsonl`` that belong to a trial line; a phase that is not ``ok`` adds one of its own."""
    head: OfRecord = {"trial": line["trial"], "record": line["record"]}
    events = [
        cast("EventLine", {**head, **_without_unset_keys(event)}) for event in (result["events"] if result else ())
    ]
    if line["status"] != "ok":
        kind = "interrupted" if line["status"] == "interrupted" else "trial-failed"
        end: EventLine = {"time_ns": line["last_done_ns"], "kind": kind, "task": None, "message": line["reason"]}
        events.append(cast("EventLine", {**head, **end}))
    return events


def _without_unset_keys(event: Event) -> dict[str, object]:
    """An event without the keys that its kind does not have."""
    return {key: value for key, value in event.items() if value is not None or key in ("task", "duration_ns")}


def cache_state(ratio: float | None, cached_share: float | None = None) -> str:
    """``cold``, ``warm`` or ``unknown`` (rule of ``docs/record-format.md``).

    ``ratio``: bytes that a device gave for each byte read. ``cached_share``: of the files, before the read. Where a
    device gave more than was read, its count does not show that nothing came from what had been cached.
    """
    if ratio is None or (ratio > AMPLIFIED and cached_share is not None and cached_share > 1 - COLD_SHARE):
        return "unknown"
    return "cold" if ratio >= COLD_SHARE else "warm"


def device_ratio(device_bytes: int | None, moved: int) -> float | None:
    """Returns the bytes that a device gave for each byte read: above 1 where read-ahead or whole pages bring more."""
    return None if device_bytes is None or moved <= 0 else device_bytes / moved


def device_share(device_bytes: int | None, moved: int) -> float | None:
    """Returns the same as a share of the bytes read: never above 1."""
    ratio = device_ratio(device_bytes, moved)
    return None if ratio is None else min(1.0, ratio)


def cached_share(cache: CacheFacts | CacheLine) -> float | None:
    """Share of the files that the page cache had before the read; None where it is not known."""
    before, examined = cache.get("cached_before_bytes"), cache.get("examined_bytes")
    return before / examined if before is not None and examined else None


def _read_bytes(result: PhaseResult | None, moved: int) -> int:
    """Bytes that a phase read: of a mix, the part that reads."""
    if (served := result.get("kv_cache") if result else None) is not None:
        return served["read_bytes"]
    parts = (result.get("parts") if result else None) or ()
    return next((int(part["bytes"]) for part in parts if part["op"] == "read"), moved)


def _cache(result: PhaseResult | None, phase: str, moved: int, *, alone: bool) -> CacheLine | None:
    facts = (result.get("cache") if result else None) or (NO_CACHE_FACTS if phase in _READS else None)
    if facts is None:
        return None
    moved = _read_bytes(result, moved)
    ratio = device_ratio(facts.get("device_bytes"), moved)
    if not alone and ratio is not None and ratio >= COLD_SHARE:
        # Of these bytes the company may have had any part; only too few of them say something of the reads.
        facts, ratio = {**facts, "device_bytes": None}, None
    return {
        "state": cache_state(ratio, cached_share(facts)),
        "cached_before_bytes": facts.get("cached_before_bytes"),
        "examined_bytes": facts.get("examined_bytes"),
        "device_bytes": facts.get("device_bytes"),
        "device_share": device_share(facts.get("device_bytes"), moved),
        "device_ratio": ratio,
        "read_bytes": moved,
        "hole_bytes": facts.get("hole_bytes"),
    }


def _status(result: PhaseResult | None, errors: int) -> tuple[str, str | None]:
    if result is None:
        return "failed", "the phase did not start"
    if result["stop_reason"] == "interrupted":
        return "interrupted", "stopped before its end"
    if errors or result["stop_reason"] == "error":
        first = result["first_error"]
        if result.get("copies"):
            why = first["message"] if first else ""
            return "failed", f"{errors} cop{'y' if errors == 1 else 'ies'} failed: {why}"
        if result.get("found") is not None:
            # A search has names and no offsets, and goes on after each failure.
            return "failed", f"the search missed {plural(errors, 'place')}" + (f": {first['message']}" if first else "")
        where = f": task {first['task']}, offset {first['offset']}: {first['message']}" if first else ""
        return "failed", f"{plural(errors, 'operation')} failed{where}"
    verify = result["verify"]
    damaged = verify["damaged_operations"] if verify else 0
    if damaged:
        return "failed", f"{plural(damaged, 'operation')} read damaged data"
    return "ok", None
