"""What a page reads from a run directory besides its analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from tonnage.errors import RecordError
from tonnage.records import Run, Tasks, Trials
from tonnage.records.line_types import CopyLine, EventLine, Manifest, TaskLine, TrialLine, WorkflowLine
from tonnage.records.trial_columns import by_record

Columns = dict[str, list[int]]
Histogram = list[tuple[int, int]]


class _OfTask(TypedDict):
    time_ns: int
    task: int


class TaskEvent(_OfTask, total=False):
    """An event of a task: a stall, or a time in which its operations failed and were tried again."""

    duration_ns: int | None
    attempts: int
    message: str | None


@dataclass(frozen=True)
class Source:
    """The records of a run, as rows and columns named as in ``docs/record-format.md``.

    A picture whose file is missing or damaged is left out, and ``unreadable`` says so: one file must not hide the rest.
    """

    path: Path
    manifest: Manifest
    trials: Sequence[TrialLine]
    tasks: Tasks
    events: Sequence[EventLine]
    read_series: Callable[[str], Columns | None]
    read_heat: Callable[[str], Columns | None]
    read_histogram: Callable[[str], Histogram | None]
    copies: Sequence[CopyLine] = ()
    workflow: Sequence[WorkflowLine] = ()
    timed: frozenset[str] | None = None
    """Records that have a histogram, where that is known."""
    unreadable: list[str] = field(default_factory=list)

    @staticmethod
    def of(run: Run, trials: Trials | None = None, tasks: Tasks | None = None) -> Source:
        """Reads the lines now (``trials``, ``tasks``: but these) and the pictures when asked. RecordError if a line is
        damaged: figures would be wrong."""
        return Source(
            run.path,
            run.manifest,
            run.each_trial() if trials is None else trials,
            run.each_task() if tasks is None else tasks,
            run.events(),
            run.series,
            run.heat,
            run.histogram,
            run.copies(),
            run.workflow(),
            run.kept("latency"),
        )

    def series(self, record: str) -> Columns:
        """Columns of ``series/``; empty where there are none."""
        return self._read(self.read_series, record) or {}

    def heat(self, record: str) -> Columns:
        """Columns of ``heat/``; empty where there are none."""
        return self._read(self.read_heat, record) or {}

    def histogram(self, record: str) -> Histogram:
        """(highest equivalent value in ns, count) of all tasks, ascending; empty where there is none."""
        return self._read(self.read_histogram, record) or []

    def timed_of(self, records: Sequence[str]) -> Sequence[str]:
        """Those of ``records`` that may have a histogram: of a large run there may be none at all."""
        if self.timed is None:
            return records
        return [record for record in records if record in self.timed] if self.timed else ()

    def _read(self, reader: Callable[[str], Any], record: str) -> Any:
        try:
            return reader(record)
        except RecordError as error:
            problem = str(error)
        except ImportError:
            problem = "series, heat maps and histograms need the engine (tonnage._native), which is not installed here"
        if problem not in self.unreadable:
            self.unreadable.append(problem)
        return None

    def trial(self, record: str) -> TrialLine:
        """The line of ``trials.jsonl`` of a record; empty where there is none."""
        return by_record(self.trials).get(record) or {}

    @property
    def unfinished(self) -> Trials:
        """The trials that failed or were interrupted, in the order they ran."""
        return Trials.of(self.trials).where_not("status", "ok")

    def tasks_of(self, record: str) -> list[TaskLine]:
        """Returns the tasks of a record, by number."""
        return sorted(self.tasks.get(record, ()), key=lambda row: row["task"])

    def copies_of(self, record: str) -> list[CopyLine]:
        """The copies of a record, by number."""
        return sorted((row for row in self.copies if row["record"] == record), key=lambda row: row["copy"])

    def workflow_of(self, record: str) -> list[WorkflowLine]:
        """The tasks of the workflows that the copies of a record ran."""
        return [row for row in self.workflow if row["record"] == record]

    def stalls_of(self, record: str) -> list[TaskEvent]:
        """Returns the stalls of a record, in order of time."""
        return self._events_of(record, "stall")

    def retries_of(self, record: str) -> list[TaskEvent]:
        """When operations of a record failed and were tried again, in order of time."""
        return self._events_of(record, "retry")

    def _events_of(self, record: str, kind: str) -> list[TaskEvent]:
        found: list[Any] = [row for row in self.events if row.get("record") == record and row["kind"] == kind]
        return sorted(found, key=lambda row: row["time_ns"])
