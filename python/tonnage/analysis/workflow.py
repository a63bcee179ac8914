"""Where the time of a workflow went: in its tasks, in the scheduler's queue, or in the workflow engine itself."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tonnage.analysis.results import Share, Workflow
from tonnage.analysis.statistics.intervals import median_interval, student_t
from tonnage.records import Run
from tonnage.records.line_types import TrialLine, WorkflowLine

PARTS = ("running", "queued", "starting", "noticing", "deciding", "ending")
"""Every instant of a workflow belongs to the first of these that holds then: a task runs; one waits in the queue; none
was handed over yet; one has ended and the engine does not know; all are known and nothing is left to hand over; or the
engine has something to hand over and has not done it yet. The last four are the engine's own time."""
ENGINE = ("starting", "noticing", "deciding", "ending")
ALL_ENGINE = "engine"
"""Their sum."""
_FEW = 6


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a workflow in which one part holds; on the run's clock."""

    part: str
    begin_ns: int
    end_ns: int


def spans(tasks: Sequence[WorkflowLine], begin_ns: int, end_ns: int) -> list[Span]:
    """A workflow that ran from ``begin_ns`` to ``end_ns``, cut where another part begins to hold."""
    ran = [task for task in tasks if task["status"] != "cached"]
    first = min((task["submit_ns"] for task in ran if task["submit_ns"] is not None), default=end_ns)
    last = max((task["complete_ns"] for task in ran if task["complete_ns"] is not None), default=begin_ns)
    changes = sorted(
        (min(max(at_ns, begin_ns), end_ns), part, step) for at_ns, part, step in _changes(ran, first, last, end_ns)
    )
    count = dict.fromkeys(("running", "queued", "noticing"), 0)
    found: list[Span] = []
    place = begin_ns

    def until(at_ns: int) -> None:
        nonlocal place
        if at_ns <= place:
            return
        part = next((name for name in ("running", "queued") if count[name]), None)
        if part is None:
            part = "starting" if place < first else "noticing" if count["noticing"] else "ending"
            part = "deciding" if part == "ending" and place < last else part
        if found and found[-1].part == part:
            found[-1] = Span(part, found[-1].begin_ns, at_ns)
        else:
            found.append(Span(part, place, at_ns))
        place = at_ns

    for at_ns, part, step in changes:
        until(at_ns)
        if part:
            count[part] += step
    until(end_ns)
    return found


def _changes(tasks: Sequence[WorkflowLine], first: int, last: int, end_ns: int) -> Iterator[tuple[int, str, int]]:
    """Where each part begins and ends to hold for each task; parts that only an instant bounds have no name."""
    yield from ((first, "", 0), (last, "", 0))
    for task in tasks:
        submit, start, end, complete = task["submit_ns"], task["start_ns"], task["end_ns"], task["complete_ns"]
        for part, begins, ends in (("queued", submit, start), ("running", start, end), ("noticing", end, complete)):
            # A task whose end is not recorded counts until the end of the workflow.
            stop = end_ns if ends is None else ends
            if begins is not None and stop > begins:
                yield begins, part, 1
                yield stop, part, -1


def workflow_of(run: Run, lines: Sequence[TrialLine]) -> Workflow | None:
    """Where the time went in all runs of a workflow at a point; None where no trace was read."""
    if lines[0]["setting"].get("kind") != "command":
        return None
    records = {line["record"] for line in lines}
    tasks: dict[tuple[str, int], list[WorkflowLine]] = defaultdict(list)
    for task in run.workflow():
        if task["record"] in records:
            tasks[task["record"], task["copy"]].append(task)
    if not tasks:
        return None
    copies = {(copy["record"], copy["copy"]): copy for copy in run.copies()}
    shares: dict[str, list[tuple[int, int]]] = {part: [] for part in (*PARTS, ALL_ENGINE)}
    for key, several in tasks.items():
        copy = copies[key]
        elapsed_ns = copy["end_ns"] - copy["start_ns"]
        lasted = dict.fromkeys(PARTS, 0)
        for span in spans(several, copy["start_ns"], copy["end_ns"]):
            lasted[span.part] += span.end_ns - span.begin_ns
        lasted[ALL_ENGINE] = sum(lasted[part] for part in ENGINE)
        for part, ns in lasted.items():
            shares[part].append((ns, max(elapsed_ns, 1)))
    paths = [critical_path(several) for several in tasks.values()]
    known = [path for path in paths if path]
    every = [task for several in tasks.values() for task in several]
    seen = {task["times_from"] for task in every}
    return Workflow(
        engine=str(every[0].get("engine") or ""),
        tasks=_median([len(several) for several in tasks.values()]),
        failed=sum(task["status"] in ("failed", "aborted") for task in every),
        runs=len(tasks),
        run_ns=_median([sum(map(_ran_ns, several)) for several in tasks.values()]),
        wait_ns=_median([sum(task["wait_ns"] or 0 for task in several) for several in tasks.values()]),
        notice_ns=_median([sum(task["notice_ns"] or 0 for task in several) for several in tasks.values()]),
        parts={part: _share(values) for part, values in shares.items()},
        path_tasks=_median([len(path) for path in known]) if known else None,
        path_run_ns=_median([sum(map(_ran_ns, path)) for path in known]) if known else None,
        times_from=next(iter(seen)) if len(seen) == 1 else "mixed",
    )


def critical_path(tasks: Sequence[WorkflowLine]) -> list[WorkflowLine]:
    """The chain of tasks that the last one waited for, in their order: of all that a task reads from, the one that was
    there last. Empty where the trace has no dependencies."""
    if all(task["after"] is None for task in tasks):
        return []
    path: dict[int, WorkflowLine] = {}
    # A trace that was tampered with may lead in a circle: no task is on the path twice.
    ahead: Sequence[int] = range(len(tasks))
    while ended := [n for n in ahead if n not in path and tasks[n]["complete_ns"] is not None]:
        last = max(ended, key=lambda number: tasks[number]["complete_ns"] or 0)
        path[last] = tasks[last]
        ahead = tasks[last]["after"] or ()
    return list(path.values())[::-1]


def _ran_ns(task: WorkflowLine) -> int:
    """How long a task ran: from its start to its end, wrapper included; its own measure where nothing else is known."""
    if task["start_ns"] is None or task["end_ns"] is None:
        return task["run_ns"] or 0
    return max(task["end_ns"] - task["start_ns"], 0)


def _median(values: Sequence[int]) -> int:
    return int(statistics.median(values))


def _share(values: Sequence[tuple[int, int]]) -> Share:
    shares = [ns / elapsed_ns for ns, elapsed_ns in values]
    median, low, high, confidence = median_interval(shares)
    if 1 < len(shares) < _FEW:
        # What disturbs a part adds to it, and some parts are 0: no logarithms here.
        half = student_t(confidence, len(shares) - 1) * statistics.stdev(shares) / len(shares) ** 0.5
        mean = statistics.fmean(shares)
        low, high = min(mean - half, median), max(mean + half, median)
    return Share(_median([ns for ns, _ in values]), median, max(low, 0.0), min(high, 1.0), confidence)
