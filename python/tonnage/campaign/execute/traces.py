"""What the workflow engines left that copies of a command ran: their traces, as lines of the run."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tonnage.importers import TracedTask, read_trace

_USUAL = {"nextflow": "trace*.txt", "snakemake": ".snakemake/log/*.snakemake.log"}
_INSTANTS = ("submit_ns", "start_ns", "end_ns", "complete_ns")

State = tuple[int, int, int]


def usual(engine: str) -> str:
    """Where an engine writes its trace unless told otherwise, in the directory in which it runs: a pattern."""
    return _USUAL.get(engine, f"{engine}*.trace")


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a phase left besides its result."""

    workflow: list[dict[str, Any]]
    """As ``workflow_lines`` takes them."""
    problems: list[str]
    reason: str | None
    """Why the phase failed for want of it, or None."""


class Traces:
    """The trace files of a phase's copies: which were there before it, and then what the new ones say."""

    def __init__(self, engine: str, directory: Path, pattern: str, copies: int) -> None:
        self._engine = engine
        self._directory = directory
        self._patterns = [pattern.replace("{copy}", str(copy)) for copy in range(copies)]
        self._before = {path: state for pattern in self._patterns for path, state in self._there(pattern).items()}

    def harvest(self, result: Mapping[str, Any], wall_ns: Callable[[], int], now_ns: Callable[[], int]) -> Harvest:
        """The tasks of every copy that ran. ``wall_ns`` and ``now_ns``: the clock of traces, and the run's own."""
        offset_ns = wall_ns() - now_ns()
        lines: list[dict[str, Any]] = []
        problems: list[str] = []
        reason = None
        for copy in result.get("copies", ()):
            number = copy["copy"]
            path = self._new(self._patterns[number])
            if path is None:
                if copy["exit_code"] == 0:
                    reason = reason or (
                        f"copy {number} left no trace: it wrote no file {self._patterns[number]} in {self._directory}"
                    )
                continue
            try:
                trace = read_trace(self._engine, path)
            except OSError as error:
                reason = reason or f"the trace of copy {number}, {path}, cannot be read: {error.strerror}"
                continue
            problems += [f"{path}, {problem}" for problem in trace.problems]
            if not trace.tasks and copy["exit_code"] == 0:
                reason = reason or f"the trace of copy {number}, {path}, has no task"
            lines += [
                {"copy": number, "engine": self._engine, "task": task, **_on(traced, offset_ns)}
                for task, traced in enumerate(trace.tasks)
            ]
        return Harvest(lines, problems, reason)

    def _there(self, pattern: str) -> dict[Path, State]:
        found = {}
        for name in glob.glob(pattern, root_dir=self._directory, recursive=True):  # noqa: PTH207  (never raises)
            path = self._directory / name
            try:
                facts = path.stat()
            except OSError:
                continue
            found[path] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        return found

    def _new(self, pattern: str) -> Path | None:
        """The file that came or changed since before; of several the one that was written last. No clock is asked:
        that of a file server may be another."""
        fresh = {path: state for path, state in self._there(pattern).items() if self._before.get(path) != state}
        return max(fresh, key=lambda path: fresh[path], default=None)


def _on(traced: TracedTask, offset_ns: int) -> dict[str, Any]:
    """A task with its instants on the run's clock."""
    found = asdict(traced)
    for key in _INSTANTS:
        if found[key] is not None:
            found[key] -= offset_ns
    if found["after"] is not None:
        found["after"] = list(found["after"])
    return found
