"""The made-up storage as a run directory: lines only, so that no engine is needed to write or read it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import report_sample as sample
from made_results import phase_result, task_result
from tonnage.records import Run, RunWriter, event_lines, task_lines, trial_line

_TRANSFER = 1 << 20
_SECOND = 1_000_000_000


def write(path: Path) -> Run:
    """Writes of 1 to 16 tasks, four repetitions, a knee at 4 tasks."""
    writer = RunWriter.create(path, sample.manifest())
    chance = random.Random(3)
    settings = [tasks for _ in range(4) for tasks in (1, 2, 4, 8, 16)]
    for trial, tasks in enumerate(settings):
        setting = {"op": "write", "tasks": tasks, "transfer_size": _TRANSFER, "sync": "fsync"}
        result = _result(trial, tasks, int(min(tasks, 4) * 250 * chance.uniform(0.97, 1.03)))
        started = f"2026-11-20T14:02:{trial:02d}Z"
        line = trial_line(
            trial=trial,
            setting=setting,
            phase="write",
            repetition=trial // 5,
            block=trial // 5,
            started=started,
            result=result,
        )
        writer.append_trial(
            line, task_lines(line, result, ["node-1"] * len(result["tasks"])), event_lines(line, result)
        )
    return Run.open(path)


def _latency(count: int, p50_ns: int) -> dict[str, int]:
    names = ("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    factors = (0.5, 1.0, 1.0, 1.5, 3.0, 5.0, 9.0)
    return {"count": count, **{name: int(factor * p50_ns) for name, factor in zip(names, factors, strict=True)}}


def _result(trial: int, tasks: int, operations: int) -> dict[str, Any]:
    """A PhaseResult of one second in which all tasks together did so many operations."""
    start = trial * 10 * _SECOND
    each = operations // tasks
    latency = _latency(each * tasks, _SECOND // each)
    rows = [
        task_result(
            task, start, start + _SECOND, _latency(each, _SECOND // each), open_ns=20_000,
            transfer_ns=_SECOND - 40_000, sync_ns=10_000, close_ns=10_000, bytes=each * _TRANSFER, operations=each,
        )
        for task in range(tasks)
    ]  # fmt: skip
    return phase_result(rows, latency, cpu_user_ns=1_000_000, cpu_system_ns=90_000_000)
