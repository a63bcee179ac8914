"""A campaign that makes the same demand as a job: sizes, mix, order, tasks, files and pauses, from its counters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tonnage.demand.job_use import FileSystemUse, JobUse, Order, SizeCount, Transfers
from tonnage.errors import RequestError
from tonnage.units import format_size, volume

Access = Literal["sequential", "strided", "random"]
_LARGEST_TRANSFER = 1 << 30
"""Of a campaign's transfers, in bytes."""
_LEAST_SHARE = 0.01
"""Of a direction's bytes and of its calls: sizes that have less of both are counted with the rest."""
_SMALL_FILES = 4
"""Files of a task from which on they are a tree of small files, where each has about one call."""
_ACCESS: Mapping[Order, Access] = {
    "sequential": "sequential",
    "strided": "strided",
    "forward": "strided",
    "not known": "sequential",
}
"""What comes nearest to an order; random to every other."""
_NO_ACCESS: Mapping[Order, str] = {
    "strided": "with gaps of its own sizes",
    "forward": "forward, with gaps of several sizes",
    "backward": "towards the files' beginnings",
    "again": "at the same places again",
    "backward or again": "towards the files' beginnings, or at the same places again",
}
"""Orders that no campaign has, as words."""
_LEAST_PAUSE = 0.05
"""Share of the time between first and last call that a pause must be, to be made again."""
_APART = 0.1
"""Share of the job's bytes, and of its calls, by which those of the campaign may be others without a word."""
_OVERLAP = 0.5
"""Share of the shorter of two times that both have: then reads and writes are one mix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One ``[[workload]]``: calls of one size, and where they come in the job."""

    name: str
    first_s: float
    keys: tuple[tuple[str, object], ...]
    """In the order of the file."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The campaign's text, and what of the job it does not make again."""

    text: str
    left_out: tuple[str, ...]


def replay_of(use: JobUse, place: FileSystemUse, *, target: str, sweep: bool) -> Replay:
    """``sweep``: also with 1, 2, 4 … up to twice the job's tasks, to find its load line. RequestError where there is
    nothing to do again."""
    if not place.transfers:
        raise RequestError(f"the job moved no bytes on {place.mount}; hint: give another --file-system")
    steps = [step for moved in place.transfers for step in _steps(place, moved, sweep=sweep)]
    if mix := _mixed(place, sweep=sweep):
        steps = [mix, *(step for step in steps if _is_small(step))]
    if not steps:
        raise RequestError(f"no call of the job on {place.mount} moved a byte; hint: give another --file-system")
    steps.sort(key=lambda step: step.first_s)
    left_out = _left_out(use, place, steps)
    name = f"replay-{use.program}" if use.program else "replay"
    head = [
        (
            f"# The demand of {_comment(use.program or 'a job')} with {use.processes} processes on "
            f"{_comment(place.mount)}, as {_comment(use.source)} counted it."
        ),
        *(f"# {_comment(line[0].upper() + line[1:])}." for line in left_out),
        f"name = {_toml(name)}",
        f"target = {_toml(target)}",
        'order = "given"',
        "",
        "[repeat]",
        "count = 3",
    ]
    tables = []
    for step in steps:
        tables += ["", "[[workload]]", f"name = {_toml(step.name)}"]
        tables += [f"{key} = {_toml(value)}" for key, value in step.keys]
    return Replay("\n".join([*head, *tables, ""]), tuple(left_out))


def _left_out(use: JobUse, place: FileSystemUse, steps: Sequence[Step]) -> list[str]:
    """Sentences without a full stop."""
    told = list(use.problems)
    told += [sentence for moved in place.transfers if (sentence := _of_order(moved)) is not None]
    told += [sentence for moved in place.transfers if (sentence := _of_amount(moved, steps)) is not None]
    streams = [step for step in steps if not _is_small(step)]
    if len(streams) > 1 or (streams and place.reads is not None):
        anew = "each step has files of its own and opens them anew" + (
            ", and reads open them once more, to see what the page cache has of them" if place.reads is not None else ""
        )
        files = "1 file" if place.files == 1 else f"{place.files} files"
        told.append(f"{anew}; the job had {files} and opened files {place.metadata.opens} times in all")
    if any("think" in dict(step.keys) for step in steps):
        told.append("pauses are spread evenly over the calls of a step: the job may have made them in groups")
    if len(use.file_systems) > 1:
        others = ", ".join(one.mount for one in use.file_systems if one.mount != place.mount)
        told.append(f"what it did on {others} is not in it")
    if any(moved.imbalance is not None and moved.imbalance > 1.05 for moved in place.transfers):
        told.append("each task does the same, where the job's ranks did not")
    if any(not moved.ranks.is_exact for moved in place.transfers):
        told.append("how many ranks moved bytes is not in the log, so it takes all of them")
    if place.reads is not None:
        told.append("the page cache may have answered the job's reads; here it may answer as well (cache = keep)")
    return told


def _of_amount(moved: Transfers, steps: Sequence[Step]) -> str | None:
    """Where the campaign moves other bytes than the job, or makes more or fewer calls; of a sweep the job's own number
    of tasks is one of several."""
    planned = calls = 0
    for step in steps:
        keys: dict[str, Any] = dict(step.keys)
        if not isinstance(keys["tasks"], int):
            return None
        if _is_small(step):
            files = keys["tasks"] * keys["items"] * (step.name.endswith("-read") == (moved.operation == "read"))
            planned, calls = planned + files * keys["file_size"], calls + files
        elif keys["op"] in (moved.operation, "mixed"):
            reads = keys.get("read_percent", 100 if moved.operation == "read" else 0) / 100
            share = reads if moved.operation == "read" else 1 - reads
            amount = round(keys["tasks"] * keys["segments"] * keys["block_size"] * share)
            planned, calls = planned + amount, calls + round(amount / keys["transfer_size"])
    is_near = abs(planned - moved.bytes) <= _APART * moved.bytes
    if is_near and abs(calls - moved.operations) <= _APART * moved.operations:
        return None
    does, did = ("reads", "read") if moved.operation == "read" else ("writes", "wrote")
    return (
        f"it {does} {volume(planned)} in {calls} calls, where the job {did} {volume(moved.bytes)} in "
        f"{moved.operations}: each task makes whole calls, as many as the others, and none that moves nothing"
    )


def _of_order(moved: Transfers) -> str | None:
    """Where a campaign has no such order, or the log does not say it."""
    whose = f"its {moved.operation}s"
    if moved.order == "not known":
        return f"in which order {whose} went is not known: here they are {access_of(moved.order)}"
    words = _NO_ACCESS.get(moved.order)
    return None if words is None else f"{whose} went {words}: here they are {access_of(moved.order)}"


def _steps(place: FileSystemUse, moved: Transfers, *, sweep: bool) -> list[Step]:
    sizes = _classes(moved)
    most = max(1, int(moved.ranks.high))
    found = []
    for number, one in enumerate(sizes):
        # A size with fewer calls than ranks is of as many tasks; a sweep has all numbers of them.
        tasks = most if sweep else max(1, min(most, one.count))
        small = _small(place, moved, one, tasks)
        keys = small or _stream(place, moved, one, tasks)
        name = f"{'files' if small else moved.operation}-{format_size(one.size).replace(' ', '')}"
        if small and moved.operation == "read":
            name += "-read"
        found.append(
            Step(
                name=name,
                first_s=moved.first_s + number * 1e-9,
                keys=tuple((key, _swept(value, sweep=sweep) if key == "tasks" else value) for key, value in keys),
            )
        )
    return found


def _classes(moved: Transfers) -> list[SizeCount]:
    """The sizes that matter, and one size, the mean, for all other calls that moved something."""
    kept = [
        one
        for one in moved.sizes
        if one.size <= _LARGEST_TRANSFER
        and (one.size * one.count >= _LEAST_SHARE * moved.bytes or one.count >= _LEAST_SHARE * moved.operations)
    ]
    # Calls that ended at the end of a file moved nothing.
    rest_bytes = moved.bytes - sum(one.size * one.count for one in kept)
    rest_calls = moved.operations - sum(one.count for one in kept)
    if rest_bytes > 0 and rest_calls > 0:
        files = max(1, moved.files - sum(one.files for one in kept))
        size = min(max(1, round(rest_bytes / rest_calls)), _LARGEST_TRANSFER)
        kept.append(SizeCount(size, max(1, round(rest_bytes / size)), files))
    merged: dict[int, SizeCount] = {}
    for one in kept:
        same = merged.get(one.size, SizeCount(one.size, 0, 0))
        merged[one.size] = SizeCount(one.size, one.count + same.count, one.files + same.files)
    return list(merged.values())


def _small(place: FileSystemUse, moved: Transfers, one: SizeCount, tasks: int) -> tuple[tuple[str, object], ...] | None:
    """The keys of a tree of small files; None where the calls are a stream's."""
    items = round(one.files / tasks)
    if items < _SMALL_FILES or one.count > 1.5 * one.files:
        return None
    phases = ["create"] if moved.operation == "write" else ["create", "read"]
    if moved.operation == "write" and place.metadata.stats >= one.files / 2:
        phases.append("stat")
    return (
        ("kind", "files"),
        ("tasks", tasks),
        ("items", items),
        ("file_size", one.size * round(max(1.0, one.count / one.files))),
        ("phases", [*phases, "remove"]),
        ("cache", "keep"),
    )


def _is_small(step: Step) -> bool:
    return dict(step.keys).get("kind") == "files"


def _stream(place: FileSystemUse, moved: Transfers, one: SizeCount, tasks: int) -> tuple[tuple[str, object], ...]:
    calls = max(1, round(one.count / tasks))
    is_shared = place.shared > 0 and place.shared * 2 >= place.files
    segments = 1 if is_shared else min(calls, max(1, round(one.files / tasks)))
    block = max(1, round(calls / segments)) * one.size
    layout = "shared" if is_shared else "file-per-segment" if segments > 1 else "file-per-task"
    keys: list[tuple[str, object]] = [
        ("op", moved.operation),
        ("tasks", tasks),
        ("transfer_size", one.size),
        ("block_size", block),
        ("segments", segments),
        ("layout", layout),
        ("access", access_of(moved.order)),
        ("direct", "no"),
        ("cache", "keep"),
    ]
    if moved.operation == "write":
        keys.append(("sync", _sync(place, moved)))
    if pause := _pause_ns(moved, max(1, int(moved.ranks.high))):
        keys.append(("think", f"{max(1, round(pause / 1000))}us"))
    return tuple(keys)


def access_of(order: Order) -> Access:
    """The ``access`` of a campaign that comes nearest to it."""
    return _ACCESS.get(order, "random")


def _sync(place: FileSystemUse, moved: Transfers) -> str:
    if not place.metadata.syncs:
        return "none"
    return "fsync-each" if place.metadata.syncs >= moved.operations / 2 else "fsync"


def _pause_ns(moved: Transfers, tasks: int) -> int:
    """What is left of a task's time between its first and its last call, for each of its calls; 0: too little."""
    if moved.each:
        open_s = sum(one.last_s - one.first_s for one in moved.each)
        gaps = sum(max(0, one.operations - 1) for one in moved.each)
    else:
        open_s, gaps = (moved.last_s - moved.first_s) * tasks, max(0, moved.operations - tasks)
    idle_s = open_s - moved.busy_s
    return round(1e9 * idle_s / gaps) if gaps and idle_s > _LEAST_PAUSE * open_s else 0


def _mixed(place: FileSystemUse, *, sweep: bool) -> Step | None:
    """Reads and writes of one size at one time, of the same files."""
    reads, writes = place.reads, place.writes
    if reads is None or writes is None:
        return None
    size = writes.transfer_size
    if size is None or reads.transfer_size != size or access_of(reads.order) != access_of(writes.order):
        return None
    both_s = min(reads.last_s, writes.last_s) - max(reads.first_s, writes.first_s)
    shorter_s = min(reads.last_s - reads.first_s, writes.last_s - writes.first_s)
    if shorter_s <= 0 or both_s < _OVERLAP * shorter_s or place.only_read + place.only_written >= place.files / 2:
        return None
    calls = reads.operations + writes.operations
    tasks = max(1, int(max(reads.ranks.high, writes.ranks.high)))
    one = SizeCount(size, calls, max(reads.files, writes.files))
    keys = dict(_stream(place, writes, one, tasks))
    keys |= {"op": "mixed", "read_percent": round(100 * reads.operations / calls)}
    keys["tasks"] = _swept(tasks, sweep=sweep)
    name = f"mixed-{format_size(one.size).replace(' ', '')}"
    return Step(name=name, first_s=min(reads.first_s, writes.first_s), keys=tuple(keys.items()))


def _swept(tasks: object, *, sweep: bool) -> object:
    if not sweep or not isinstance(tasks, int):
        return tasks
    doubled = [1 << power for power in range((2 * tasks).bit_length()) if 1 << power <= 2 * tasks]
    return sorted({*doubled, tasks, 2 * tasks})


def _toml(value: object) -> str:
    """A string of JSON is one of TOML, but for DEL."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)


def _comment(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)
