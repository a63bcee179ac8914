"""Recomputes every derived figure of ``trials.jsonl`` from the files it was derived from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tonnage.errors import RecordError
from tonnage.records.file_names import COPIES, OBJECTS, TASKS, TRIALS, WORKFLOW, missing, promised
from tonnage.records.hash_chain import files_of
from tonnage.records.latency import summarise
from tonnage.records.line_types import CopyLine, Json, ObjectLine, TaskLine, TrialLine, WorkflowLine
from tonnage.records.lines import (
    cache_state,
    cached_share,
    device_ratio,
    device_share,
    object_contradictions,
    rate,
    totals_of,
)
from tonnage.records.phase_results import LatencySummary
from tonnage.records.reader import Run
from tonnage.records.workflow_jsonl import workflow_contradictions

SNAPSHOT_EVENTS = {"checkpoint": "snapshot", "drop": "snapshot-removed"}
"""By phase: the kind of event that each of its snapshots leaves."""


def rounds_ns(windows: list[list[int]]) -> int:
    """Time of all rounds together: of each, from the first begin to the last end. ``windows`` as in the record."""
    return sum(last_end - first_begin for first_begin, _, _, last_end, _ in windows)


def checkpoint_contradictions(run: Run, line: TrialLine) -> Iterator[str]:
    """Yields a sentence for each contradiction."""
    stated, record, phase = line["checkpoint"], line["record"], line["phase"]
    if stated is None or line["status"] != "ok":
        return  # a phase that was stopped in a round has said less than it did
    if phase == "checkpoint":
        if stated["rounds"] != len(stated["windows"]):
            yield f"checkpoint.rounds is {stated['rounds']}, and there are {len(stated['windows'])} windows"
        found = rounds_ns(stated["windows"])
        if stated["coordination"] == "together" and stated["checkpoint_ns"] != found:
            yield f"checkpoint.checkpoint_ns is {stated['checkpoint_ns']}, and {found} from its windows"
    kind = SNAPSHOT_EVENTS.get(phase)
    if kind is None:
        return
    events = [event for event in run.events() if event.get("record") == record and event["kind"] == kind]
    count = stated["snapshot"]["count"]
    if len(events) != count:
        yield f"checkpoint.snapshot.count is {count}, and events.jsonl has {len(events)} of {kind}"
    spent = sum(event["duration_ns"] or 0 for event in events)
    if stated["snapshot_ns"] != spent:
        yield f"checkpoint.snapshot_ns is {stated['snapshot_ns']}, and {spent} from events.jsonl"
    if phase == "checkpoint":
        taken = run.snapshots(record)
        summary: Json = stated["snapshot"]
        for key, value in summarise(taken or []).items():
            if abs(summary[key] - value) > (1 if key == "mean_ns" else 0):
                yield f"checkpoint.snapshot.{key} is {summary[key]}, and {value} from the histogram"


_MEAN_SLACK_NS = 1
"""The mean of a histogram is a float in one place and a whole number in the other."""


@dataclass(slots=True)
class _Lines:
    """What the other files have of a record."""

    tasks: list[TaskLine] = field(default_factory=list)
    copies: list[CopyLine] = field(default_factory=list)
    workflow: list[WorkflowLine] = field(default_factory=list)
    objects: list[ObjectLine] = field(default_factory=list)


def verify_files(run: Run, damaged: AbstractSet[str] = frozenset(), *, is_torn: bool = False) -> list[str]:
    """Sentences, one for each contradiction between the files of ``run``; empty where all agree. Lines that cannot be
    read are left out; where that is a whole file, nothing is recomputed.

    ``damaged``: names of files that are known to be altered: the content of those of a record is not checked.
    ``is_torn``: the run was killed, and lines of a record without a trial line do not count.
    """
    found: list[str] = []
    trials = _read(run.trials, found) or []
    odd = not is_torn and not found and TRIALS not in damaged
    of = {line["record"]: _Lines() for line in trials}
    if len(of) < len(trials):
        found.append(f"trials.jsonl: {len(trials) - len(of)} records have more than one line")
    is_whole = True
    for lines, name, what, read in (
        ("tasks", TASKS, "a task", run.tasks),
        ("copies", COPIES, "a copy", run.copies),
        ("workflow", WORKFLOW, "a task", run.workflow),
        ("objects", OBJECTS, "a group", run.objects),
    ):
        told = _read(read, found)
        is_whole = is_whole and told is not None
        for line in told or ():
            if line["record"] in of:
                getattr(of[line["record"]], lines).append(line)
            elif odd:
                found.append(f"{name}: {what} of {line['record']}, which trials.jsonl does not have")
    for line in trials if is_whole else ():
        record = line["record"]
        if damaged and not damaged.isdisjoint(files_of(run.path, record)):
            continue
        found.extend(f"{record}: {what}" for what in guarded(partial(_recomputed, run, line, of[record])))
    return found


def guarded(recompute: Callable[[], Iterable[str]]) -> list[str]:
    """What ``recompute`` finds; where what it reads has not the shape that a record has, a sentence that says so."""
    try:
        return list(recompute())
    except RecordError as error:
        return [str(error)]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        return [f"cannot be recomputed: a value is missing or of another kind ({type(error).__name__}: {error})"]


def _read(read: Callable[[list[str]], list[Any]], problems: list[str]) -> list[Any] | None:
    """The lines of a file that can be read; None where the file cannot. Why not is in ``problems``."""
    try:
        return read(problems)
    except RecordError as error:
        problems.append(str(error))
        return None


def _recomputed(run: Run, line: TrialLine, of: _Lines) -> Iterator[str]:
    yield from _missing(run, line, of)
    yield from object_contradictions(line, of.objects)
    yield from workflow_contradictions(of.workflow)
    yield from _contradictions(run, line, of.tasks)
    if line["phase"] == "command" and of.tasks and not run.manifest.get("imported"):
        yield from _copies(line, of.copies)


def _missing(run: Run, line: TrialLine, of: _Lines) -> Iterator[str]:
    """The files that the record promises; those that its figures are recomputed from are named there."""
    for name in promised(run.manifest, line, of.tasks, of.copies):
        if name.partition("/")[0] not in ("series", "latency") and missing(run.path, [name]):
            yield f"{name} is missing"


def _contradictions(run: Run, line: TrialLine, tasks: list[TaskLine]) -> Iterator[str]:
    for key, value in totals_of(tasks).items():
        if line.get(key) != value:
            yield f"{key} is {line.get(key)} in trials.jsonl, and {value} from tasks.jsonl"
    yield from _cache(line)
    if not tasks or line["phase"] == "stage" or run.manifest.get("imported"):
        return  # what the engine did not run has no intervals and no operations of its own
    yield from _series(run, line, tasks)
    if line["phase"] == "network":
        yield from _network(line, tasks)
        return  # iperf3 times no operations
    yield from _latency(run, line, tasks)
    if line.get("checkpoint"):
        yield from checkpoint_contradictions(run, line)


def _copies(line: TrialLine, copies: list[CopyLine]) -> Iterator[str]:
    good = [copy for copy in copies if copy["exit_code"] == 0]
    computed = {
        "operations": len(good),
        "bytes": sum((copy["read_call_bytes"] or 0) + (copy["write_call_bytes"] or 0) for copy in good),
        "cpu_user_ns": sum(copy["cpu_user_ns"] for copy in copies),
        "cpu_system_ns": sum(copy["cpu_system_ns"] for copy in copies),
    }
    stated: Json = line
    for key, value in computed.items():
        if stated[key] != value:
            yield f"{key} is {stated[key]} in trials.jsonl, and {value} from copies.jsonl"
    if len({copy["copy"] for copy in copies}) < len(copies):
        yield "copies.jsonl has a copy twice"


def _network(line: TrialLine, tasks: list[TaskLine]) -> Iterator[str]:
    network: Json = line.get("network") or {"flows": []}
    flows = network["flows"]
    window = (network.get("window_start_ns"), network.get("window_end_ns"))
    if window != (line["first_start_ns"], line["last_done_ns"]):
        yield f"network.window is {window}, and {line['first_start_ns'], line['last_done_ns']} in trials.jsonl"
    for flow in flows:
        own = rate(flow["received_bytes"], flow["elapsed_ns"])
        if flow["bandwidth_bytes_per_s"] != own:
            yield f"bandwidth of flow {flow['task']} is {flow['bandwidth_bytes_per_s']}, and {own} from its bytes"
    if {flow["task"]: flow["window_bytes"] for flow in flows} != {task["task"]: task["bytes"] for task in tasks}:
        yield "network.flows and tasks.jsonl do not have the same bytes"
    own = sum(flow["bandwidth_bytes_per_s"] for flow in flows)
    if network.get("sum_of_own_bytes_per_s") != own:
        yield f"network.sum_of_own_bytes_per_s is {network.get('sum_of_own_bytes_per_s')}, and {own} from its flows"


def _cache(line: TrialLine) -> Iterator[str]:
    cache = line.get("cache")
    if not cache:
        return
    device_and_read_bytes = cache.get("device_bytes"), cache.get("read_bytes", line["bytes"])
    share, ratio = device_share(*device_and_read_bytes), device_ratio(*device_and_read_bytes)
    # Earlier versions recorded no ratio, only the share.
    state = cache_state(ratio, cached_share(cache)) if "device_ratio" in cache else cache_state(share)
    if cache.get("device_share") != share:
        yield f"cache.device_share is {cache.get('device_share')}, and {share} from device_bytes and bytes"
    elif cache.get("device_ratio", ratio) != ratio:
        yield f"cache.device_ratio is {cache.get('device_ratio')}, and {ratio} from device_bytes and bytes"
    elif cache.get("state") != state:
        yield f"cache.state is {cache.get('state')!r}, and {state!r} from its device_share"


def _series(run: Run, line: TrialLine, tasks: list[TaskLine]) -> Iterator[str]:
    series = run.series(line["record"])
    if series is None:
        yield "series file is missing"
        return
    for key in ("bytes", "operations"):
        by_task = {task["task"]: 0 for task in tasks}
        for number, value in zip(series["task"], series[key], strict=True):
            by_task[number] = by_task.get(number, 0) + value
        for task in tasks:
            got = by_task.pop(task["task"])
            if got != task[key]:
                yield f"{key} of task {task['task']} are {task[key]} in tasks.jsonl, and {got} in its series"
        if by_task:
            yield f"series has tasks that tasks.jsonl does not: {sorted(by_task)}"


def _latency(run: Run, line: TrialLine, tasks: list[TaskLine]) -> Iterator[str]:
    histograms = run.histograms(line["record"])
    merged = run.histogram(line["record"])
    if histograms is None or merged is None:
        yield "latency file is missing"
        return
    yield from _differences("latency", line["latency"], summarise(merged))
    if follow := line.get("follow"):
        yield from _differences("follow.lag", follow["lag"], summarise(run.lag(line["record"]) or []))
    for task in tasks:
        role = task.get("role", "work")
        pairs = histograms.get(f"{'task' if role == 'work' else role}-{task['task']}", [])
        yield from _differences(f"latency of task {task['task']}", task["latency"], summarise(pairs))


def _differences(what: str, said: LatencySummary | None, computed: dict[str, int]) -> Iterator[str]:
    stated: Json = said or {}
    for key, value in computed.items():
        other = stated.get(key)
        if other is None or abs(other - value) > (_MEAN_SLACK_NS if key == "mean_ns" else 0):
            yield f"{what}: {key} is {other} in the line, and {value} from the histogram"
