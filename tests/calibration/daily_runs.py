"""Runs of one system on many days: what a day adds is in the target's plateau, drawn here, unknown to the analysis."""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from made_results import equal_latencies, phase_result, task_result
from tonnage.analysis.summary import schema
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.cli import main
from tonnage.records import RunWriter, event_lines, task_lines, trial_line

PLATEAU = 2e9
TEXT = """target = "sim:knee=4,plateau={write}B/s,read-plateau={read}B/s,noise=3%"
[repeat]
count = {count}
[[workload]]
op = ["write", "read"]
tasks = [2, 8]
transfer_size = "8MiB"
block_size = "16MiB"
"""


def measure(out: Path, day: float, own: float, seed: int, count: int = 3) -> Path:
    """A run on a day of which all rates are ``exp(day)`` times what they are, and reads ``exp(own)`` times that."""
    write = PLATEAU * math.exp(day)
    text = TEXT.format(write=round(write), read=round(write * math.exp(own)), count=count)
    campaign = parse_campaign(text, "days").model_copy(update={"seed": seed})
    done = run_campaign(campaign, text=None, command_line=["test"], out=str(out), observer=Observer())
    assert done.exit_code == 0
    return out


def days(draw: random.Random, many: int, deviation: float, correlation: float = 0.0) -> list[float]:
    """Logarithms of what each day adds: AR(1) with that standard deviation, from its stationary law on."""
    found = [draw.gauss(0, deviation)]
    while len(found) < many:
        found.append(correlation * found[-1] + draw.gauss(0, deviation * math.sqrt(1 - correlation**2)))
    return found


def verdicts(command: str, *words: object) -> dict[str, Any]:
    """What ``tonnage COMMAND WORDS --json`` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([command, *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(out.getvalue())
    jsonschema.validate(found, schema(command))
    return found


def side(directory: Path, runs: Sequence[Path]) -> Path:
    """A directory of those runs."""
    directory.mkdir(parents=True)
    for number, run in enumerate(runs):
        (directory / str(number)).symlink_to(run)
    return directory


def swept(out: Path, law: Callable[[int], float], nodes: Sequence[int], draw: random.Random, system: str) -> Path:
    """A run with one task on each of so many nodes, four repetitions at 4 % noise and 5 % between days. The simulator
    has no law of several nodes that saturates, so its records are written by hand."""
    day = draw.gauss(0, 0.05)
    manifest = {
        "tonnage_version": "0", "state": "running", "command_line": [], "campaign": {}, "seed": 1, "created": None,
        "target": {"kind": "posix", "name": str(out), "file_system": system}, "host": {"cpu_count": 1},
    }  # fmt: skip
    writer = RunWriter.create(out, manifest)
    trials = [(repetition, count) for repetition in range(4) for count in nodes]
    for trial, (repetition, count) in enumerate(trials):
        rate = law(count) * math.exp(day + draw.gauss(0, 0.04))
        done = {"bytes": round(rate / count), "operations": 100}
        tasks = (task_result(task, 0, 10**9, equal_latencies(100), **done) for task in range(count))
        result = phase_result(tasks, equal_latencies(100 * count), cpu_user_ns=1, cpu_system_ns=1)
        setting = {"op": "write", "tasks": count, "transfer_size": 1 << 20, "sync": "fsync"}
        line = trial_line(
            trial=trial, setting=setting, phase="write", repetition=repetition, block=repetition, started="now",
            result=result, purpose="measure",
        )  # fmt: skip
        hosts = [f"n{task}" for task in range(count)]
        writer.append_trial(line, task_lines(line, result, hosts), event_lines(line, result))
    return out
