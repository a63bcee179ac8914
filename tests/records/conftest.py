"""A PhaseResult made by hand, and a run directory of a simulated storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_results
import pytest
from tonnage.records import Run, RunWriter, event_lines, task_lines, trial_line

LATENCY = made_results.equal_latencies(1, 1)


@pytest.fixture
def phase_result() -> Callable[..., dict[str, Any]]:
    """``phase_result(tasks=2, errors=0, …)``: task t starts at 10·t ns and moves 1000 bytes until 1 s + t ns."""

    def make(tasks: int = 2, errors: int = 0, **changes: Any) -> dict[str, Any]:
        lines = [
            made_results.task_result(
                t, 10 * t, 10**9 + t, LATENCY, open_ns=1, transfer_ns=2, sync_ns=3, close_ns=4, bytes=1000,
                operations=10, errors=errors,
            )
            for t in range(tasks)
        ]  # fmt: skip
        used = {"stop_reason": "error" if errors else "time", "cpu_user_ns": 5, "cpu_system_ns": 6}
        return {**made_results.phase_result(lines, LATENCY, **used), **changes}

    return make


@pytest.fixture
def append(phase_result: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """``append(writer, 3)`` appends trial 3 to a run and gives its line back."""

    def add(writer: RunWriter, trial: int, **changes: Any) -> dict[str, Any]:
        result = phase_result(**changes)
        line = trial_line(
            trial=trial, setting={"op": "write", "tasks": 2, "transfer_size": 100, "sync": "fsync"}, phase="write",
            repetition=0, block=0, started="2026-11-21T09:00:00Z", result=result,
        )  # fmt: skip
        writer.append_trial(line, task_lines(line, result, ["host"] * len(result["tasks"])), event_lines(line, result))
        return line

    return add


@pytest.fixture
def simulated(tmp_path: Path) -> Run:
    """Two trials of a simulated storage, with their series and histograms."""
    native = pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    writer = RunWriter.create(tmp_path / "run", {"target": {"kind": "sim"}, "state": "complete"})
    target = native.Target(json.dumps({"kind": "sim", "knee": 2, "seed": 5}), series_directory=str(writer.path))
    for trial, tasks in enumerate((1, 3)):
        spec = {
            "record": f"{trial:04d}-write", "tasks": {"first": 0, "here": tasks, "total": tasks},
            "limit": {"time_ns": 500_000_000, "wrap": True}, "seed": 1,
            "work": {
                "kind": "stream", "op": "write", "durability": "fsync", "cache": "keep",
                "geometry": {
                    "transfer_size": 1 << 20, "block_size": 1 << 30, "layout": "file-per-task", "access": "random",
                },
            },
        }  # fmt: skip
        phase = target.start(json.dumps(spec))
        phase.go()
        assert phase.wait(10.0)
        result = phase.result()
        line = trial_line(
            trial=trial, setting={"op": "write", "tasks": tasks, "transfer_size": 1 << 20, "sync": "fsync"},
            phase="write", repetition=0, block=0, started="", result=result,
        )  # fmt: skip
        writer.append_trial(line, task_lines(line, result, ["host"] * len(result["tasks"])), event_lines(line, result))
    return Run.open(writer.path)
