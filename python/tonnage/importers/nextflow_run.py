"""Nextflow's trace, or its timeline, as a trial of a ``command``: one run of a workflow, from its first submission to
its last end."""

from __future__ import annotations

from datetime import datetime, timezone

from tonnage.importers.imported_phases import ImportedFile, Phase
from tonnage.importers.nextflow import parse
from tonnage.importers.trace import LARGEST, Trace, TracedTask

_LATEST_NS = 2**33 * 10**9


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a trace. Never raises: ``problems`` names the line of each part that it cannot read."""
    return run_of(parse(data)[0], counts_failures=True)


def run_of(trace: Trace, *, counts_failures: bool) -> ImportedFile:
    """What the tasks of a file give. ``counts_failures``: it says of each how it ended."""
    tasks = [task for task in trace.tasks if task.status != "cached"]
    begun = [time for task in tasks for time in (task.submit_ns, task.start_ns) if time is not None]
    ended = [time for task in tasks for time in (task.end_ns, task.complete_ns) if time is not None]
    if not begun or not ended or max(ended) <= min(begun) or max(ended) >= _LATEST_NS:
        return ImportedFile(problems=(*trace.problems, "line 1: the trace has no task with a beginning and an end"))
    first = min(begun)
    failures = {"failed_tasks": sum(task.status in ("failed", "aborted") for task in tasks)} if counts_failures else {}
    phase = Phase(
        phase="command",
        setting={"kind": "command", "tasks": 1, "trace": "nextflow", "processes": _processes(trace.tasks)},
        elapsed_ns=max(ended) - first,
        bytes=min(sum((task.read_call_bytes or 0) + (task.write_call_bytes or 0) for task in tasks), LARGEST - 1),
        operations=1,
        line=1,
        started=datetime.fromtimestamp(first / 1e9, timezone.utc).isoformat(timespec="milliseconds"),
        facts={**failures, "cached_tasks": len(trace.tasks) - len(tasks)},
        workflow=tuple(
            task.line(copy=0, engine="nextflow", number=number, began_ns=first)
            for number, task in enumerate(trace.tasks)
        ),
    )
    return ImportedFile(phases=(phase,), problems=trace.problems, tool="Nextflow")


def _processes(tasks: tuple[TracedTask, ...]) -> list[str]:
    """What makes two traces runs of one workflow: how many tasks each process has."""
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.process] = counts.get(task.process, 0) + 1
    return [f"{name} {count}" for name, count in sorted(counts.items())]
