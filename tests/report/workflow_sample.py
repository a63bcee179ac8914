"""A run of a workflow over partitions, as its records would be: the engine polls, one partition is slower."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import report_sample as sample
from made_results import equal_latencies, phase_result, task_result
from tonnage.records import Run, RunWriter, copy_lines, task_lines, trial_line, workflow_lines

SECOND = 10**9
NOTHING = dict.fromkeys(
    (
        "run_ns", "cpu_ns", "max_resident_bytes", "read_call_bytes", "write_call_bytes", "device_read_bytes",
        "device_write_bytes", "host",
    )
)  # fmt: skip


def workflow(began: int, pace: float, fan: int, name: str) -> list[dict[str, Any]]:
    """``fan`` tasks of a second each, and one that waits for all; the engine looks late."""
    tasks = []
    for number in range(fan + 1):
        submit = began + int((2 + (0.1 * number if number < fan else 0.1 * fan + 2 * pace)) * SECOND)
        start, end = submit + SECOND // 5, submit + SECOND // 5 + int(pace * SECOND)
        tasks.append(
            {
                "copy": 0, "engine": "nextflow", "task": number, "name": name if number else "<b>first</b>",
                "process": "align", "status": "failed" if number == 1 else "ok", "attempt": 1, "exit_code": 0,
                "submit_ns": submit, "start_ns": start, "end_ns": end, "complete_ns": end + SECOND // 4,
                "times_from": "task", "after": list(range(fan)) if number == fan else [], **NOTHING,
            }
        )  # fmt: skip
    return tasks


def result(began: int, ended: int) -> dict[str, Any]:
    """A PhaseResult of one copy."""
    latency = equal_latencies(1, ended - began)
    task = task_result(0, began, ended, latency, operations=1, role="work")
    copy = {
        "copy": 0, "task": 0, "start_ns": began, "end_ns": ended, "exit_code": 0, "signal": None, "error": None,
        "cpu_user_ns": 0, "cpu_system_ns": 0, "max_resident_bytes": None, "read_call_bytes": 0,
        "write_call_bytes": 0, "device_read_bytes": None, "device_write_bytes": None,
    }  # fmt: skip
    return phase_result([task], latency, stop_reason="size", direct=False, copies=[copy])


def write(
    path: Path, paces: dict[str, Sequence[float]], *, fan: int = 4, name: str = "align", published: str | None = None
) -> Run:
    """A run whose tasks took ``paces`` seconds: a repetition a number, for each partition."""
    campaign = {
        "workloads": [{"name": "cancer-analysis", "kind": "command", "partition": list(paces)}],
        "published": published,
    }
    writer = RunWriter.create(path, sample.manifest(campaign=campaign))
    trial = 0
    for partition, several in paces.items():
        for repetition, pace in enumerate(several):
            began = 100 * trial * SECOND
            tasks = workflow(began, pace, fan, name)
            done = result(began, max(task["complete_ns"] for task in tasks) + SECOND // 2)
            setting = {"kind": "command", "workload": "cancer-analysis", "tasks": 1, "partition": partition}
            line = trial_line(
                trial=trial, setting=setting, phase="command", repetition=repetition, block=repetition,
                started="2026-11-21T12:00:00Z", result=done,
            )  # fmt: skip
            writer.append_trial(
                line, task_lines(line, done, ["node"]), [], copy_lines(line, done), workflow_lines(line, tasks)
            )
            trial += 1
    return Run.open(path)
