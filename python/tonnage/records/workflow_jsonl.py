"""Lines of ``workflow.jsonl``: the tasks of workflows that copies of a command ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tonnage.records.line_types import Json, OfRecord, TrialLine, WorkflowLine, WorkflowTask, WorkflowWaits


def workflow_lines(line: TrialLine, tasks: Sequence[WorkflowTask]) -> list[WorkflowLine]:
    """The lines of ``workflow.jsonl`` that belong to a trial line.

    ``tasks``: those of one copy after those of another, each with all keys that are not derived; instants on the run's
    clock.
    """
    found: list[WorkflowLine] = []
    for _, several in groupby(tasks, key=lambda task: task["copy"]):
        together = list(several)
        head: OfRecord = {"trial": line["trial"], "record": line["record"]}
        found += [{**head, **task, **derived(task, together)} for task in together]
    return found


def derived(task: WorkflowTask, together: Sequence[WorkflowTask]) -> WorkflowWaits:
    """What follows from the instants of a task and of those it reads from; ``together``: all tasks of its copy."""
    return {
        "wait_ns": _between(task["submit_ns"], task["start_ns"]),
        "notice_ns": _between(task["end_ns"], task["complete_ns"]),
        "gap_ns": _gap(task, together),
    }


def _gap(task: WorkflowTask, together: Sequence[WorkflowTask]) -> int | None:
    """From when the engine knew that all it needs was there until it was handed over."""
    if not task["after"]:
        return None
    after = task["after"]
    known = [end for number in after if (end := together[number]["complete_ns"]) is not None]
    return _between(max(known), task["submit_ns"]) if len(known) == len(after) else None


def _between(begin: int | None, end: int | None) -> int | None:
    """Never below 0: two clocks may differ a little."""
    return None if begin is None or end is None else max(end - begin, 0)


def workflow_contradictions(lines: Sequence[WorkflowLine]) -> Iterator[str]:
    """What the lines of a record say and their instants do not."""
    copies: dict[int, list[WorkflowLine]] = {}
    for line in lines:
        copies.setdefault(line["copy"], []).append(line)
    for copy, together in copies.items():
        if [line["task"] for line in together] != list(range(len(together))):
            yield f"workflow.jsonl: the tasks of copy {copy} are not numbered from 0"
            continue
        for line in together:
            if not all(0 <= number < len(together) for number in line["after"] or ()):
                yield f"workflow.jsonl: task {line['task']} of copy {copy} reads from a task that is not there"
                continue
            stated: Json = line
            for key, value in derived(line, together).items():
                if stated[key] != value:
                    yield f"{key} of task {line['task']} of copy {copy} is {stated[key]}, and {value} from its instants"
