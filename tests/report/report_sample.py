"""A made-up run that looks like a real one: two operations, 1 to 32 tasks, a known knee, stalls, series and heat.

No engine is needed: analysis and records are built by hand, so that each figure is tested on what it should show.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from tonnage.analysis.results import Finding, LatencyLine, LoadLine, Model, Point, Promise
from tonnage.analysis.run_analysis import Analysis
from tonnage.records import Tasks
from tonnage.report.page_data import Source

TASKS = (1, 2, 4, 5, 6, 7, 8, 16, 32)
PLATEAU = {"write": 1.92e9, "read": 3.4e9}
KNEE = {"write": 6, "read": 12}
_WHY = {
    "write": "6 tasks [5, 8] reach 95 % of the 1.92 GB/s plateau; more only add latency",
    "read": "12 tasks [5, 14] reach 95 % of the 3.4 GB/s plateau; more only add latency",
}
STALL_NS = 1_400_000_000
SECOND = 1_000_000_000


class Builder:
    """Collects rows of trials as ``docs/record-format.md`` names them."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.trials: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.series: dict[str, dict[str, list[int]]] = {}
        self.heat: dict[str, dict[str, list[int]]] = {}
        self.histograms: dict[str, list[tuple[int, int]]] = {}
        self.points: list[Point] = []

    def point(self, op: str, tasks: int, group: str = "", repetitions: int = 5, factor: float = 1.0) -> None:
        """All repetitions of one setting."""
        truth = factor * PLATEAU[op] * min(1.0, 0.97 * tasks / KNEE[op]) ** 0.9
        values, records = [], []
        for repetition in range(repetitions):
            value = int(truth * (1 + self.random.gauss(0, 0.04)))
            records.append(self.trial(op, tasks, value, repetition))
            values.append(value)
        ordered = sorted(values)
        p50 = int(tasks * 1048576 / truth * 1e9)
        self.points.append(
            Point(
                op,
                tasks,
                1048576,
                group,
                tuple(values),
                tuple(records),
                float(ordered[len(ordered) // 2]),
                float(ordered[0]),
                float(ordered[-1]),
                0.95 if repetitions > 1 else 0.0,
                {
                    "min_ns": p50 // 3,
                    "mean_ns": p50,
                    "p50_ns": p50,
                    "p90_ns": 2 * p50,
                    "p99_ns": 5 * p50,
                    "p999_ns": 12 * p50,
                    "max_ns": 60 * p50,
                    "count": 9000,
                },
                truth / 1048576,
                210_000_000,
                "cold" if op == "read" else None,
                0.998 if op == "read" else None,
            )
        )

    def trial(self, op: str, tasks: int, value: int, repetition: int) -> str:
        """One trial of two seconds with its tasks, and its pictures."""
        number = len(self.trials)
        record = f"{number:04d}-{op}"
        start = 10 * SECOND * (number + 1)
        self.trials.append(
            {
                "trial": number,
                "record": record,
                "setting": {"op": op, "tasks": tasks, "transfer_size": 1048576},
                "repetition": repetition,
                "block": repetition,
                "phase": op,
                "purpose": "measure",
                "status": "ok",
                "reason": None,
                "stop_reason": "time" if op == "write" else "size",
                "first_start_ns": start,
                "last_done_ns": start + 2 * SECOND,
                "elapsed_ns": 2 * SECOND,
                "bytes": 2 * value,
                "operations": 2 * value // 1048576,
                "errors": 0,
                "bandwidth_bytes_per_s": value,
            }
        )
        self._task_rows(self.trials[-1], tasks)
        if op == "write" and tasks == 16 and repetition == 0:
            self._stalls(self.trials[-1])
        self._pictures(record, tasks, value)
        return record

    def _task_rows(self, line: dict[str, Any], tasks: int) -> None:
        """All tasks alike but the last one, which is slow."""
        start, op = line["first_start_ns"], line["phase"]
        for task in range(tasks):
            slow = 0.55 if task == tasks - 1 and tasks > 2 else self.random.uniform(0.95, 1.05)
            end = start + int(2 * SECOND * (1 if op == "write" else 0.5 / slow))
            moved = int(line["bytes"] / tasks * slow)
            self.tasks.append(
                {
                    "trial": line["trial"],
                    "record": line["record"],
                    "phase": op,
                    "task": task,
                    "host": "node-1",
                    "start_ns": start + 1000 * task,
                    "end_ns": end,
                    "open_ns": 40_000,
                    "transfer_ns": end - start - 3_000_000,
                    "sync_ns": 2_500_000,
                    "close_ns": 9_000,
                    "bytes": moved,
                    "operations": moved // 1048576,
                    "errors": 0,
                    "damaged_operations": 0,
                    "latency": {"p99_ns": 9_000_000},
                }
            )

    def _stalls(self, line: dict[str, Any]) -> None:
        for task in (3, 4):
            self.events.append(
                {
                    "time_ns": line["first_start_ns"] + SECOND // 2 + task,
                    "trial": line["trial"],
                    "record": line["record"],
                    "kind": "stall",
                    "task": task,
                    "duration_ns": STALL_NS,
                }
            )

    def _pictures(self, record: str, tasks: int, value: int) -> None:
        series: dict[str, list[int]] = {
            name: [] for name in ("start_ns", "end_ns", "task", "bytes", "operations", "latency_sum_ns")
        }
        heat: dict[str, list[int]] = {name: [] for name in ("start_ns", "end_ns", "low_ns", "high_ns", "count")}
        middle = tasks * 1048576 / value * 1e9
        for interval in range(20):
            bounds = (interval * 100_000_000, (interval + 1) * 100_000_000)
            for task in range(tasks):
                moved = int(value / 10 / tasks * self.random.uniform(0.8, 1.2))
                for name, cell in zip(series, (*bounds, task, moved, moved // 1048576, 1), strict=True):
                    series[name].append(cell)
            counts: dict[int, int] = {}
            for _ in range(400):
                slow = 8.0 if self.random.random() < 0.05 else 1.0
                bucket = int(4 * log(middle * slow * exp(self.random.gauss(0, 0.3)), 2))
                counts[bucket] = counts.get(bucket, 0) + 1
            for bucket, count in sorted(counts.items()):
                for name, cell in zip(
                    heat, (*bounds, int(2 ** (bucket / 4)), int(2 ** ((bucket + 1) / 4)), count), strict=True
                ):
                    heat[name].append(cell)
        self.series[record], self.heat[record] = series, heat
        values = sorted(
            int(middle * exp(self.random.gauss(0, 0.35)) * (9 if self.random.random() < 0.01 else 1))
            for _ in range(3000)
        )
        self.histograms[record] = [(latency, 1) for latency in values]

    def source(self, path: Path, manifest: dict[str, Any]) -> Source:
        """What a report reads."""
        return Source(
            path,
            manifest,
            self.trials,
            Tasks.of(self.tasks),
            self.events,
            self.series.get,
            self.heat.get,
            self.histograms.get,
        )


def manifest(**changes: Any) -> dict[str, Any]:
    """The manifest of a finished run."""
    return {
        "format": "tonnage-run",
        "format_version": 1,
        "tonnage_version": "0.1.0",
        "run_id": "3f2a",
        "state": "complete",
        "created": "2026-11-20T14:02:11Z",
        "command_line": ["tonnage", "probe", "/scratch"],
        "campaign": {},
        "campaign_text": None,
        "seed": 7,
        "target": {"name": "/scratch", "uri": "/scratch", "kind": "posix", "file_system": "ext4"},
        "host": {"hostname": "node-1", "kernel": "6.1.0", "cpu_count": 32},
        "ceilings": [],
        "cost": None,
        **changes,
    }


def line(op: str, group: str = "", reached: bool = True, **changes: Any) -> LoadLine:
    """A load line of the made-up run."""
    knee, plateau = KNEE[op], int(PLATEAU[op])
    known: dict[str, Any] = {
        "op": op,
        "group": group,
        "reached": reached,
        "tasks": knee if reached else None,
        "tasks_low": 5 if reached else None,
        "tasks_high": knee + 2 if reached else None,
        "confidence": 0.95,
        "plateau_bytes_per_s": plateau if reached else None,
        "plateau_low": int(0.98 * plateau) if reached else None,
        "plateau_high": int(1.02 * plateau) if reached else None,
        "max_tasks_tried": 32,
        "why": _WHY[op] if reached else "not reached within 32 tasks: throughput still rises at 32 tasks",
    }
    return LoadLine(**{**known, **changes})


def model(op: str, group: str = "") -> Model:
    """A smooth curve through the made-up knee."""
    curve = tuple((tasks / 4, PLATEAU[op] * (1 - exp(-tasks / 4 / KNEE[op] * 2.2))) for tasks in range(4, 129))
    return Model(op, group, "usl", {"lambda": 1.0}, curve)


def analysis(builder: Builder, lines: tuple[LoadLine, ...], **changes: Any) -> Analysis:
    """An analysis of the points that were built."""
    known: dict[str, Any] = {
        "run": "/scratch/tonnage-runs/3f2a",
        "points": tuple(builder.points),
        "load_lines": lines,
        "models": tuple(model(one.op, one.group) for one in lines),
        "findings": (
            Finding(
                "stall",
                "write, 16 tasks",
                "Two tasks completed nothing for 1.4 s.",
                "Look at the series of 0025-write.",
            ),
        ),
        "promises": (
            Promise(1, "Phases start at a barrier", True, "All 90 phases."),
            Promise(8, "Open loop counts from the intended start", None, "No trial was rate-limited."),
            Promise(11, "Everything needed to repeat is kept", False, "The seed is missing."),
        ),
        "ceilings": (
            {
                "name": "memory-copy",
                "bytes_per_s": 11_300_000_000,
                "operations_per_s": None,
                "tasks": 2,
                "source": "measured",
            },
            {"name": "link", "bytes_per_s": 2_100_000_000, "operations_per_s": None, "tasks": None, "source": "stated"},
        ),
        "cost": {
            "operations_per_s": 31_000_000,
            "ns_per_operation": 32,
            "cpu_ns_per_operation": 32,
            "transfer_size": 1048576,
            "tasks": 1,
        },
    }
    return Analysis(**{**known, **changes})


OBJECTIVE = LatencyLine(
    percentile="p99_ns",
    objective_ns=20_000_000,
    load="tasks",
    shown=True,
    largest=8,
    low=7,
    high=9,
    exceeds=10,
    confidence=0.95,
    trials=12,
    why="up to 8 tasks [7, 9] keep p99 within 20 ms",
)


def whole(path: Path = Path("/scratch/tonnage-runs/3f2a")) -> tuple[Analysis, Source]:
    """The usual run: writes and reads over all numbers of tasks."""
    builder = Builder()
    for op in ("write", "read"):
        for tasks in TASKS:
            builder.point(op, tasks)
    lines = (line("write", latency_lines=(OBJECTIVE,)), line("read"))
    return analysis(builder, lines), builder.source(path, manifest())


def sweep(factors: tuple[float, float] = (0.4, 1.0), tried: Sequence[int] = (1, 4, 16)) -> tuple[Analysis, Source]:
    """A campaign over two transfer sizes: one curve each."""
    builder = Builder(2)
    groups = ("transfer_size=64KiB", "transfer_size=1MiB")
    for group, factor in zip(groups, factors, strict=True):
        for tasks in tried:
            builder.point("write", tasks, group, repetitions=3, factor=factor)
    lines = (line("write", groups[0], reached=False), line("write", groups[1]))
    return analysis(builder, lines), builder.source(Path("/scratch/run"), manifest())


def empty(state: str) -> tuple[Analysis, Source]:
    """A run that recorded nothing."""
    builder = Builder()
    nothing = analysis(builder, (), findings=(), promises=(), ceilings=(), cost=None, state=state)
    return nothing, builder.source(Path("/scratch/run"), manifest(state=state))
