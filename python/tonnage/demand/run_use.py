"""What a run of Tonnage did, counted as the calls of a job are: for comparing a replay with its job."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import median
from typing import Any

from tonnage.demand.job_use import (
    BIN_EDGES,
    BIN_NAMES,
    COUNTED_BY_KERNEL,
    Bounds,
    FileSystemUse,
    JobUse,
    Metadata,
    Order,
    Transfers,
)
from tonnage.errors import RecordError, RequestError
from tonnage.records import Run
from tonnage.records.line_types import CopyLine, Json, TaskLine, TrialLine

_MOVES = {"write": "write", "create": "write", "read": "read"}
"""Phase → what its bytes are."""
_SECOND = 1e9
_ORDERS: Mapping[str, Order] = {
    "sequential": "sequential",
    "strided": "strided",
    "random": "random",
    "random-blocks": "random",
}
"""By ``access``."""
_IN_ORDER: Mapping[Order, Bounds] = {"sequential": Bounds(1.0, 1.0), "strided": Bounds(1.0, 1.0)}
"""Share of the calls behind the one before; of random ones any number may be."""
_CONSECUTIVE: Mapping[Order, Bounds] = {"sequential": Bounds(1.0, 1.0), "strided": Bounds(0.0, 0.0)}
"""Share that began where the one before ended."""


def use_of_run(run: Run) -> JobUse:
    """Of all phases once: repetitions give medians of times. RequestError where the run has no trial that moved or
    looked at anything."""
    groups: dict[tuple[str, str], list[TrialLine]] = {}
    try:
        for line in run.trials():
            if line["purpose"] == "measure" and line["status"] == "ok":
                key = (str(line["setting"].get("workload") or ""), line["phase"])
                groups.setdefault(key, []).append(line)
        tasks: dict[str, list[TaskLine]] = {}
        for task in run.tasks():
            tasks.setdefault(task["record"], []).append(task)
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory of `tonnage run`") from None
    parts = {key: [_trial_use(line, tasks.get(line["record"], ())) for line in lines] for key, lines in groups.items()}
    kinds = {str(line["setting"].get("kind") or "stream") for lines in groups.values() for line in lines}
    if not parts or not kinds <= {"stream", "files"}:
        raise RequestError(
            f"{run.path} has trials of {', '.join(sorted(kinds)) or 'nothing'}; hint: give a run of the campaign that "
            "`tonnage demand --campaign` wrote"
        )
    settings = {(key, str(line["setting"]["tasks"])) for key, lines in groups.items() for line in lines}
    if len(settings) > len(groups):
        raise RequestError(f"{run.path} has several numbers of tasks; hint: run the campaign that has the job's alone")
    target, state = run.manifest.get("target") or {}, run.manifest["state"]
    return JobUse(
        program="tonnage",
        command=" ".join(map(str, run.manifest.get("command_line") or ())),
        source="Tonnage",
        processes=max((int(lines[0]["setting"]["tasks"]) for lines in groups.values()), default=1),
        started_ns=0,
        run_s=sum(median(line["elapsed_ns"] or 0 for line in lines) for lines in groups.values()) / _SECOND,
        file_systems=(_file_system_use(str(target.get("path") or "."), str(target.get("file_system") or ""), parts),),
        problems=() if state == "complete" else (f"trials of {run.path} may be missing: its state is {state}",),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrialUse:
    """One trial."""

    phase: str
    moved: Mapping[str, tuple[int, int]]
    """Bytes and calls, by ``read`` and ``write``; under an empty name what moved nothing."""
    size: int
    files: int
    tasks: int
    order: Order
    busy_s: float
    elapsed_s: float
    syncs: int
    is_shared: bool


def _trial_use(line: TrialLine, tasks: Sequence[TaskLine]) -> _TrialUse:
    setting: Any = line["setting"]
    number = int(setting["tasks"])
    if setting.get("kind") == "files":
        files, size = line["operations"], int(setting.get("file_size") or 0)
        order: Order = "sequential"
    else:
        per_task = int(setting["segments"]) if setting["layout"] == "file-per-segment" else 1
        files, size = 1 if setting["layout"] == "shared" else number * per_task, int(setting["transfer_size"])
        order = _ORDERS[str(setting["access"])]
    mixed: dict[str, tuple[int, int]] = {part["op"]: (part["bytes"], part["operations"]) for part in line["parts"]}
    return _TrialUse(
        phase=line["phase"],
        moved=mixed or {_MOVES.get(line["phase"], ""): (line["bytes"], line["operations"])},
        size=size,
        files=files,
        tasks=number,
        order=order,
        busy_s=sum(_inside_ns(task) for task in tasks) / _SECOND,
        elapsed_s=(line["elapsed_ns"] or 0) / _SECOND,
        syncs=_syncs(setting, line, files),
        is_shared=setting.get("layout") == "shared" and number > 1,
    )


def _inside_ns(task: TaskLine) -> int:
    """Nanoseconds that a task spent in its calls: the pauses between them (``think``) are no part of that."""
    latency = task["latency"]
    calls_ns = latency["count"] * latency["mean_ns"] if latency else task["transfer_ns"] or 0
    return calls_ns + (task["sync_ns"] or 0)


def _syncs(setting: Any, line: TrialLine, files: int) -> int:
    if line["phase"] not in ("write", "create", "mixed") or setting.get("sync") in (None, "none"):
        return 0
    if setting["sync"] == "fsync-each":
        return int(line["operations"])
    # Each task syncs what it wrote, also where all write one file.
    return max(files, int(setting["tasks"]))


def _file_system_use(path: str, kind: str, parts: Mapping[tuple[str, str], Sequence[_TrialUse]]) -> FileSystemUse:
    firsts = [same[0] for same in parts.values()]
    opening = [one for one in firsts if one.phase != "stat" and any(one.moved)]
    opens = sum(max(one.files, one.tasks) for one in opening)
    return FileSystemUse(
        mount=path,
        type=kind,
        reads=_transfers("read", list(parts.values())),
        writes=_transfers("write", list(parts.values())),
        metadata=Metadata(
            opens=opens,
            stats=sum(one.moved[""][1] for one in firsts if one.phase == "stat"),
            seeks=0,
            syncs=sum(one.syncs for one in firsts),
            busy_s=0.0,
            first_s=0.0,
            last_s=0.0,
        ),
        files=sum(one.files for one in opening),
        only_read=0,
        only_written=0,
        shared=sum(one.is_shared for one in opening),
    )


def _transfers(operation: str, groups: Sequence[Sequence[_TrialUse]]) -> Transfers | None:
    mine = [same for same in groups if operation in same[0].moved and same[0].moved[operation][1]]
    if not mine:
        return None
    bins = [0] * len(BIN_NAMES)
    moved = calls = 0
    behind = consecutive = Bounds(0.0, 0.0)
    for same in mine:
        first = same[0]
        own_bytes, own_calls = first.moved[operation]
        bins[bisect_left(BIN_EDGES, first.size)] += own_calls
        behind = _more(behind, _IN_ORDER.get(first.order, Bounds(0.0, 1.0)), own_calls)
        consecutive = _more(consecutive, _CONSECUTIVE.get(first.order, Bounds(0.0, 1.0)), own_calls)
        moved, calls = moved + own_bytes, calls + own_calls
    tasks = max(same[0].tasks for same in mine)
    busy_s = sum(median(one.busy_s for one in same) for same in mine)
    elapsed_s = sum(median(one.elapsed_s for one in same) for same in mine)
    orders = {same[0].order for same in mine}
    return Transfers(
        operation=operation,
        bytes=moved,
        operations=calls,
        bins=tuple(bins),
        common=(),
        sequential=Bounds(behind.low / calls, behind.high / calls),
        consecutive=Bounds(consecutive.low / calls, consecutive.high / calls),
        order=orders.pop() if len(orders) == 1 else "not known",
        files=sum(same[0].files for same in mine),
        ranks=Bounds(tasks, tasks),
        at_once=Bounds(1, tasks),
        mean_at_once=Bounds(1.0, float(tasks)),
        busy_s=busy_s,
        active_s=Bounds(busy_s / tasks, elapsed_s),
        first_s=0.0,
        last_s=elapsed_s,
    )


def _more(found: Bounds, share: Bounds, calls: int) -> Bounds:
    return Bounds(found.low + share.low * calls, found.high + share.high * calls)


def job_uses_of_copies(run: Run) -> list[JobUse]:
    """Each copy of a ``command`` run that ran alone and well, by the kernel's account; empty where there is none."""
    target = run.manifest.get("target") or {}
    alone = {
        line["record"]: " ".join(map(str, line["setting"].get("argv") or ()))
        for line in run.trials()
        if line["phase"] == "command" and line["status"] == "ok" and line["setting"]["tasks"] == 1
    }
    found = []
    for copy in run.copies():
        command = alone.get(copy["record"])
        if command is None or copy.get("exit_code") != 0 or copy["end_ns"] <= copy["start_ns"]:
            continue
        moved = (copy.get("read_call_bytes"), copy.get("write_call_bytes"))
        calls = (copy.get("read_calls"), copy.get("write_calls"))
        if None in moved or None in calls:
            continue
        found.append(_of_copy(command, target, copy))
    return found


def _of_copy(command: str, target: Json, copy: CopyLine) -> JobUse:
    run_s = (copy["end_ns"] - copy["start_ns"]) / _SECOND
    computed_s = (copy["cpu_user_ns"] or 0) / _SECOND
    # Threads that compute beside each other leave nothing to be said of the time inside calls.
    most_s = run_s - computed_s if computed_s <= run_s else run_s
    return JobUse(
        program=PurePath(command.split()[0]).name if command.split() else "",
        command=command,
        source=COUNTED_BY_KERNEL,
        processes=1,
        started_ns=0,
        run_s=run_s,
        file_systems=(
            FileSystemUse(
                mount=str(target.get("path") or "."),
                type=str(target.get("file_system") or ""),
                reads=_kernel("read", copy["read_call_bytes"] or 0, copy["read_calls"] or 0, run_s, most_s),
                writes=_kernel("write", copy["write_call_bytes"] or 0, copy["write_calls"] or 0, run_s, most_s),
                metadata=Metadata(opens=0, stats=0, seeks=0, syncs=0, busy_s=0.0, first_s=0.0, last_s=0.0),
                files=0,
                only_read=0,
                only_written=0,
                shared=0,
            ),
        ),
        problems=(
            (
                "the kernel counts bytes and calls of a process: its files, sizes, order and calls on names are not "
                "known. Its bytes may be of no file of this storage (/dev/zero, a pipe), and its time outside of its "
                "own code may have been no such calls (sleep): what it asks is at most this, and may be nothing. Its "
                "threads count as one, and mapped files are not counted"
            ),
        ),
    )


def _kernel(operation: str, moved: int, calls: int, run_s: float, most_s: float) -> Transfers | None:
    """``most_s``: inside calls of both directions."""
    if not calls:
        return None
    return Transfers(
        operation=operation,
        bytes=moved,
        operations=calls,
        bins=(0,) * len(BIN_NAMES),
        common=(),
        sequential=Bounds(0.0, 1.0),
        consecutive=Bounds(0.0, 1.0),
        order="not known",
        files=0,
        ranks=Bounds(0, 1),
        at_once=Bounds(0, 1),
        mean_at_once=Bounds(0.0, 1.0),
        busy_s=most_s,
        active_s=Bounds(0.0, most_s),
        first_s=0.0,
        last_s=run_s,
        counted_by=COUNTED_BY_KERNEL,
    )
