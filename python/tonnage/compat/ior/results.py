"""What IOR prints of a phase, from its record: a row, its times, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.compat.ior.number_format import deviation, mean
from tonnage.compat.ior.options import Parameters
from tonnage.compat.measure import Finding
from tonnage.records.line_types import TaskLine, TrialLine


@dataclass(frozen=True, slots=True)
class Times:
    """The six instants of IOR's timers for one task, in seconds on the run's clock. Its fsync is part of the
    transfers."""

    open_start: float
    open_stop: float
    transfer_start: float
    transfer_stop: float
    close_start: float
    close_stop: float

    @classmethod
    def of(cls, task: TaskLine) -> Times:
        """Makes the times of a line of ``tasks.jsonl``."""
        start, end = task["start_ns"], task["end_ns"]
        opened = start + (task["open_ns"] or 0)
        # Barriers lie between the steps.
        began = opened + (task.get("open_wait_ns") or 0)
        moved = began + (task["transfer_ns"] or 0) + (task["sync_ns"] or 0)
        return cls(*(at / 1e9 for at in (start, opened, began, moved, end - (task["close_ns"] or 0), end)))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the results table. Rates in bytes and operations a second, times in seconds."""

    access: str
    repetition: int
    bytes: int
    operations: int
    bandwidth: float
    iops: float
    latency: float
    """The lowest, over tasks, of a task's time in transfers by their number: IOR's Latency(s)."""
    open: float
    transfer: float
    close: float
    total: float
    stonewall: float
    """Time from the first transfer until the time was up; 0 where there was no limit to wear out after."""
    stonewall_bytes: int
    """What a task had moved by then, on average."""
    tasks: tuple[TaskLine, ...]
    line: TrialLine

    @property
    def times(self) -> list[Times]:
        """Of each task."""
        return [Times.of(task) for task in self.tasks]


def row_of(line: TrialLine, tasks: Sequence[TaskLine], transfer_size: int, repetition: int) -> Row | None:
    """The row of a recorded phase; None where it moved nothing or was not measured to its end."""
    tasks = [task for task in tasks if task["operations"]]
    if not tasks or line["errors"] or line["status"] == "interrupted":
        return None
    times = [Times.of(task) for task in tasks]
    opened = max(time.open_stop for time in times) - min(time.open_start for time in times)
    moved = max(time.transfer_stop for time in times) - min(time.transfer_start for time in times)
    closed = max(time.close_stop for time in times) - min(time.close_start for time in times)
    total = (line["elapsed_ns"] or 0) / 1e9
    walled = [moved_bytes for task in tasks if (moved_bytes := task.get("stonewall_bytes")) is not None]
    limit = line["setting"].get("time_limit_ns")
    pairs = [task["operations"] for task in tasks]
    return Row(
        access=line["phase"],
        repetition=repetition,
        bytes=line["bytes"],
        operations=line["operations"],
        bandwidth=_rate(line["bytes"], total),
        iops=_rate(line["bytes"] // transfer_size, moved),
        latency=min((at.transfer_stop - at.transfer_start) / count for at, count in zip(times, pairs, strict=True)),
        open=opened,
        transfer=moved,
        close=closed,
        total=total,
        stonewall=min(limit / 1e9, moved) if walled and limit else 0.0,
        stonewall_bytes=sum(walled) // len(walled) if walled else 0,
        tasks=tuple(tasks),
        line=line,
    )


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Max, min, mean and population StdDev of one quantity over the repetitions."""

    max: float
    min: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figures:
        """Summarises values, at least one."""
        return cls(max(values), min(values), mean(values), deviation(values))


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the summary of all tests."""

    access: str
    rows: Sequence[Row]
    bandwidth: Figures
    operations: Figures
    mean_time: float


@dataclass(slots=True)
class TestResult:
    """What a test left behind."""

    __test__ = False  # pytest would take it for a test

    test: Parameters
    identifier: int
    paths: list[Path] = field(default_factory=list)
    """Its run directories: one, or with ``-m`` one for each repetition."""
    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def run_of(self, row: Row) -> Path:
        """The run directory that holds a row's record."""
        return self.paths[row.repetition if len(self.paths) > 1 else 0]

    def of(self, access: str) -> list[Row]:
        """Returns the rows of ``write`` or ``read``."""
        return [row for row in self.rows if row.access == access]

    def summaries(self) -> list[Summary]:
        """One for each operation that has a row."""
        found = []
        for access in ("write", "read"):
            if rows := self.of(access):
                found.append(
                    Summary(
                        access,
                        rows,
                        Figures.of([row.bandwidth for row in rows]),
                        Figures.of([_rate(row.bytes / self.test.transfer_size, row.total) for row in rows]),
                        mean([row.total for row in rows]),
                    )
                )
        return found
