"""A run of every kind of workload on simulated storages, as a campaign with several ``[[workload]]`` leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import report_sample as sample
from made_results import phase_result, task_result
from tonnage.records import Run, RunWriter, copy_lines, event_lines, task_lines, trial_line

MIB = 1 << 20
MODEL = {"kind": "sim", "knee": 4, "plateau_bytes_per_s": 800_000_000, "noise": 0.03, "seed": 5}
STALLING = {**MODEL, "stall_every_ns": 2 * 10**9, "stall_ns": 1500 * 10**6}
_LATENCY = ("count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")

Phase = tuple[dict[str, Any], dict[str, Any], str, dict[str, Any]]
"""Model, setting, phase, PhaseSpec without record, tasks and seed."""


def mixed() -> Phase:
    """Reads and writes of the same files."""
    geometry = {"transfer_size": MIB, "block_size": 64 * MIB, "layout": "file-per-task", "access": "random"}
    work = {"kind": "stream", "op": "write", "read_percent": 70, "geometry": geometry, "durability": "none"}
    setting = {"kind": "stream", "workload": "mix", "op": "mixed", "transfer_size": MIB, "read_percent": 70}
    return MODEL, setting, "mixed", {"work": {**work, "cache": "keep"}}


def tail(readers: int) -> Phase:
    """A writer and its readers, on a storage whose locks stall."""
    work = {"kind": "tail", "transfer_size": MIB, "file_bytes": 600 * MIB, "follow": "whole", "waiting": "poll"}
    setting = {"kind": "tail", "workload": "tail", "transfer_size": MIB, "follow": "whole", "readers": readers}
    return STALLING, setting, "tail", {"work": {**work, "poll_ns": 10**8, "durability": "none"}}


def command() -> Phase:
    """Copies of a program that reads for most of its time."""
    work = {"kind": "command", "argv": ["compress", "{copy}"], "copies": 24, "directory": "/"}
    return (
        MODEL,
        {"kind": "command", "workload": "compress", "copies": 24, "argv": work["argv"]},
        "command",
        {"work": work},
    )


def phases() -> Iterator[tuple[int, Phase]]:
    """Everything that the simulator does, with the number of tasks."""
    for tasks in (1, 2, 4, 8):
        yield tasks, mixed()
        yield tasks, command()
    for readers in (0, 1, 4):
        yield readers + 1, tail(readers)


def files_result(op: str, tasks: int, number: int) -> dict[str, Any]:
    """A PhaseResult of one second in which tasks did the phase's usual number of operations."""
    rate = {"create": 20_000, "write": 15_000, "stat": 90_000, "read": 30_000, "rename": 18_000, "remove": 25_000}[op]
    each = int(rate * min(tasks, 5) / tasks * (1 + 0.02 * (number % 3)))
    p50 = 10**9 // each
    latency = dict(zip(_LATENCY, (each, p50 // 2, p50, p50, 2 * p50, 6 * p50, 20 * p50, 400 * p50), strict=True))
    begin = number * 10**10
    done = {"bytes": 4096 * each if op in ("write", "read") else 0, "operations": each, "role": "work"}
    lines = (task_result(task, begin, begin + 10**9, latency, **done) for task in range(tasks))
    used = {"cpu_user_ns": 10**8, "cpu_system_ns": 4 * 10**8}
    return phase_result(lines, latency, stop_reason="size", direct=False, **used)


class Recorder:
    """Appends phases to a run as the campaign does."""

    def __init__(self, path: Path, published: str | None) -> None:
        names = ("mix", "names", "tail", "compress")
        campaign = {"workloads": [{"name": name} for name in names], "published": published}
        self.writer = RunWriter.create(path, sample.manifest(campaign=campaign, seed=5))
        self.number = 0

    def record(self, setting: dict[str, Any], tasks: int, phase: str, repetition: int, result: dict[str, Any]) -> None:
        """One phase that ended."""
        line = trial_line(
            trial=self.number, setting={**setting, "tasks": tasks}, phase=phase, repetition=repetition,
            block=repetition, started="2026-11-21T12:00:00Z", result=result,
        )  # fmt: skip
        tasks_of_it, events = task_lines(line, result, ["node-1"] * len(result["tasks"])), event_lines(line, result)
        self.writer.append_trial(line, tasks_of_it, events, copy_lines(line, result))


def write(path: Path, repetitions: int = 3, published: str | None = None) -> Run:
    """The whole run."""
    from tonnage import _native

    recorder = Recorder(path, published)
    for repetition in range(repetitions):
        for tasks, (model, setting, phase, spec) in phases():
            target = _native.Target(json.dumps({**model, "seed": 5 + repetition}), series_directory=str(path))
            record = f"{recorder.number:04d}-{phase}"
            if setting.get("op") == "mixed":
                fill = {**spec["work"], "op": "write", "read_percent": None}
                _run(target, {**spec, "work": {k: v for k, v in fill.items() if v is not None}}, "fill", tasks)
            recorder.record(setting, tasks, phase, repetition, _run(target, spec, record, tasks))
            recorder.number += 1
        for tasks in (1, 4):
            for op in ("create", "write", "stat", "read", "rename", "remove"):
                setting = {"kind": "files", "workload": "names", "file_bytes": 4096}
                recorder.record(setting, tasks, op, repetition, files_result(op, tasks, recorder.number))
            recorder.number += 1
    return Run.open(path)


def _run(target: Any, spec: dict[str, Any], record: str, tasks: int) -> dict[str, Any]:
    whole = {"record": record, "tasks": {"first": 0, "here": tasks, "total": tasks}, "seed": 1, **spec}
    running = target.start(json.dumps(whole))
    running.go()
    assert running.wait(60.0)
    result: dict[str, Any] = running.result()
    return result
