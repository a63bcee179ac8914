"""Runs made by hand: throughput as the test says, everything else unremarkable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_results import equal_latencies, phase_result, task_result
from tonnage.records import Run, RunWriter, event_lines, task_lines, trial_line

from tests.memory_paths import memory_path, memory_path_factory  # noqa: F401 - fixtures

sys.path.insert(0, str(Path(__file__).parent))

TRANSFER = 1 << 20
MANIFEST: dict[str, Any] = {
    "tonnage_version": "0.1.0", "state": "complete", "command_line": ["tonnage", "probe", "/mnt"], "campaign": {},
    "seed": 1, "target": {"kind": "posix", "name": "/mnt", "file_system": "ext4", "memory_backed": False},
    "host": {"hostname": "node", "cpu_count": 8},
    "load_before": {"load_1min": 0.1, "pressure": {"io": {"some_avg10": 0.0}}},
    "ceilings": [{"name": "memory-copy", "bytes_per_s": 20 * 10**9, "tasks": 2, "source": "measured"}],
    "cost": {"operations_per_s": 10**7, "ns_per_operation": 100},
}  # fmt: skip


def result_of(rate: int, tasks: int, op: str, **changes: Any) -> dict[str, Any]:
    """A PhaseResult of one second in which ``tasks`` tasks together move about ``rate`` bytes."""
    operations = max(1, rate // TRANSFER // tasks)
    whole = max(1, rate // tasks)
    latency, done = equal_latencies(operations, 10**9 // operations), {"bytes": whole, "operations": operations}
    lines = (task_result(number, 0, 10**9, latency, **done) for number in range(tasks))
    cache = {"cached_before_bytes": 0, "examined_bytes": 1, "device_bytes": whole * tasks} if op == "read" else None
    used = {"cpu_user_ns": 10**7, "cpu_system_ns": 10**7, "cache": cache}
    return phase_result(lines, {**latency, "count": operations * tasks}, **{**used, **changes})


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Run]:
    """``make_run({8: [rate, …]}, op="write", result={…}, setting={…}, manifest={…}, alter=f)``.

    ``alter`` may change each line before it is written. Called again, it appends to the same run.
    """
    writers: list[RunWriter] = []

    def make(
        curve: dict[int, list[float]],
        op: str = "write",
        result: dict[str, Any] | None = None,
        setting: dict[str, Any] | None = None,
        manifest: dict[str, Any] | None = None,
        alter: Callable[[dict[str, Any]], None] = lambda _: None,
        purpose: str = "measure",
    ) -> Run:
        if not writers:
            writers.append(RunWriter.create(tmp_path / "run", {**MANIFEST, **(manifest or {})}))
        (writer,) = writers
        first = len(Run.open(writer.path).trials())
        # Repetitions go round and round, as a search does, so that order and tasks are independent.
        rounds = [(n, r, v[r]) for r in range(max(map(len, curve.values()))) for n, v in curve.items() if r < len(v)]
        for trial, (tasks, repetition, rate) in enumerate(rounds, first):
            outcome = result_of(int(rate), tasks, op, **(result or {}))
            line = trial_line(
                trial=trial,
                setting={"op": op, "tasks": tasks, "transfer_size": TRANSFER, "sync": "fsync", **(setting or {})},
                phase=op, repetition=repetition, block=repetition, started="now", result=outcome, purpose=purpose,
            )  # fmt: skip
            alter(line)
            writer.append_trial(
                line, task_lines(line, outcome, ["node"] * len(outcome["tasks"])), event_lines(line, outcome)
            )
        return Run.open(writer.path)

    return make


def kneed(
    knee: float = 4, plateau: float = 2e9, tasks: tuple[int, ...] = (1, 2, 4, 8, 16), wobble: float = 0.01
) -> dict[int, list[float]]:
    """A quiet curve with four repetitions a point."""
    return {n: [plateau * min(1.0, n / knee) * (1 + wobble * k) for k in (-1.0, 1.0, 0.5, -0.5)] for n in tasks}


@pytest.fixture
def quiet_curve() -> Callable[..., dict[int, list[float]]]:
    return kneed
