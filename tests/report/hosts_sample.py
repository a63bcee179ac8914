"""Phases over several hosts, made by hand: as the ranks of a job leave them, and as a model of many nodes does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import report_sample as sample
from made_results import equal_latencies, phase_result, task_result
from tonnage.records import Run, RunWriter, event_lines, task_lines, trial_line

SECOND = 10**9
EACH = 10 * SECOND
"""Bytes that a task moves."""


def result_of(ends_ns: Sequence[int], tasks: int = 1, stop_reason: str = "size") -> dict[str, Any]:
    """A PhaseResult with a line for each end, which stands for so many tasks."""
    nothing = dict.fromkeys(("stonewall_operations", "stonewall_bytes", "max_lag_ns", "max_lag_bytes"))
    done = {"role": "work", "bytes": tasks * EACH, "operations": tasks * 1000, "open_wait_ns": 0, "close_wait_ns": 0}
    done |= {**nothing, **({"tasks": tasks} if tasks > 1 else {})}
    each = equal_latencies(tasks * 1000)
    lines = [task_result(tasks * number, 0, end_ns, each, **done) for number, end_ns in enumerate(ends_ns)]
    more = {"parts": [], "follow": None, "copies": []}
    return phase_result(lines, equal_latencies(1000 * tasks * len(lines)), stop_reason=stop_reason, **more)


def meeting(hosts: Sequence[str], each: int) -> dict[str, Any]:
    """How the processes of these hosts met: each clock a millisecond further on, the last one three seconds behind."""
    offsets = [number * 10**6 for number in range(len(hosts))]
    offsets[-1] = -3 * SECOND
    told = [
        {"host": host, "processes": each, "tasks": each, "offset_ns": offset, "uncertainty_ns": 40_000 if offset else 0}
        for host, offset in zip(hosts, offsets, strict=True)
    ]
    return {
        "launcher": "mpi", "processes": each * len(hosts), "hosts": told, "barrier_ns": 120_000, "skew_ns": 310_000,
        "gather_ns": 2_500_000,
    }  # fmt: skip


def write(
    path: Path,
    phases: Sequence[tuple[dict[str, Any], Sequence[str], dict[str, Any] | None]],
    setting: dict[str, Any] | None = None,
) -> Run:
    """A run of writes: of each phase its PhaseResult, the host of each line, and how the processes met."""
    writer = RunWriter.create(path, sample.manifest(campaign={}))
    for trial, (result, hosts, met) in enumerate(phases):
        total = sum(line.get("tasks", 1) for line in result["tasks"])
        line = trial_line(
            trial=trial, setting={"kind": "stream", "op": "write", "tasks": total, **(setting or {})}, phase="write",
            repetition=trial, block=trial, started="2026-11-21T12:00:00Z", result=result, gathering=met,
        )  # fmt: skip
        writer.append_trial(line, task_lines(line, result, list(hosts)), event_lines(line, result))
    return Run.open(path)


def four_hosts(path: Path, repetitions: int = 3, slow: int = 17 * SECOND) -> Run:
    """Eight ranks on four hosts, the last host slow in every repetition."""
    hosts = [f"n{number // 2 + 1}" for number in range(8)]
    ends = [10 * SECOND + number * 10**7 for number in range(6)] + [slow - 10**8, slow]
    met = meeting(["n1", "n2", "n3", "n4"], 2)
    return write(path, [(result_of(ends), hosts, met) for _ in range(repetitions)])


def many_nodes(path: Path, nodes: int = 4608) -> Run:
    """One phase of a model, a line a node."""
    ends = [10 * SECOND + number * 10**5 for number in range(nodes)]
    return write(path, [(result_of(ends, tasks=16), [f"node{n + 1:04d}" for n in range(nodes)], None)])
