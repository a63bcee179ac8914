"""Searches load lines of names and of commands, which no command of its own does, on simulated storages whose truth is
known: through the decisions and estimators of ``tonnage probe``. That itself is run whole (``probes.py``).

A program of its own, so that the calibration can use every core: ``simulate.py PART PARTS < cells.json`` prints one
JSON line a seed. ``seconds`` of a trial are virtual; a trial costs some milliseconds.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import Any

from tonnage import _native
from tonnage.analysis.load_line.estimate import WITHIN, Estimate, estimate
from tonnage.analysis.load_line.search import Search
from tonnage.analysis.statistics.intervals import median_interval, pooled_noise
from tonnage.records import headline, trial_line

PLATEAU = 2_000_000_000
MAX_TASKS = 64
TRIALS = 44
"""What ``probe`` has time for with its default budget, per operation."""
TRANSFER = 512 << 10
KNEES = range(1, 25)


@dataclass(frozen=True)
class SimulatedRun:
    tasks: int
    values: list[float]


def phase(
    record: str, tasks: int, op: str = "write", seconds: float = 0.25, block: int = 1 << 30, **more: Any
) -> dict[str, Any]:
    """A PhaseSpec of independent files, limited in time."""
    geometry = {"transfer_size": TRANSFER, "block_size": block, "layout": "file-per-task", "access": "sequential"}
    return {
        "record": record,
        "tasks": {"first": 0, "here": tasks, "total": tasks},
        "limit": {"time_ns": int(seconds * 1e9), "wrap": True},
        "seed": 1,
        "work": {"kind": "stream", "op": op, "geometry": geometry, "durability": "none", "cache": "keep", **more},
    }


def run_phase(target: Any, spec: dict[str, Any]) -> dict[str, Any]:
    """The PhaseResult of one phase."""
    running = target.start(json.dumps(spec))
    running.go()
    if not running.wait(60.0):
        raise TimeoutError("a simulated phase ends when it is told to go")
    result: dict[str, Any] = running.result()
    return result


def setting(tasks: int, op: str = "write", **more: Any) -> dict[str, Any]:
    return {"op": op, "tasks": tasks, "transfer_size": TRANSFER, "sync": "none", **more}


def truth(shape: str, knee: int, tasks: int) -> float:
    """Noise-free share of the plateau by the laws of ``crates/simulator/src/law.rs``, written down a second time."""
    if shape == "hinge":
        return min(1.0, WITHIN * tasks / (knee - 0.5))
    if shape == "smooth":
        return -math.expm1(math.log(1 - WITHIN) * tasks / (knee - 0.5))
    return tasks / knee


PLATEAUS = {"files": 20_000, "command": 2}
"""In the metric of each kind: creations, or copies of 1 GB, in a second."""


def trial(target: Any, kind: str, record: str, tasks: int, seconds: float = 0.25) -> dict[str, Any]:
    """The PhaseResult of one trial of a kind, on fresh files."""
    spec = phase(record, tasks, seconds=seconds)
    if kind == "files":
        tree = {"depth": 0, "branch": 0, "items_per_directory": 1 << 20, "leaves_only": False, "shared": False}
        work = {"kind": "files", "tree": tree, "cache": "keep"}
        target.clear()
        run_phase(target, {**spec, "limit": {}, "work": {**work, "op": "make-tree"}})
        spec["work"] = {**work, "op": "create"}
    elif kind == "command":
        spec["work"] = {"kind": "command", "argv": ["gzip"], "copies": 2 * tasks, "directory": "/"}
    return run_phase(target, {**spec, "limit": LIMITS[kind]})


LIMITS: dict[str, dict[str, Any]] = {"files": {"time_ns": 250_000_000}, "command": {}}


def search(kind: str, shape: str, noise: float, knee: int, seed: int) -> dict[str, Any]:
    """One search and what its estimators say, against the truth."""
    model = {"shape": shape, "knee": knee, "plateau_bytes_per_s": PLATEAU, "noise": noise, "seed": seed}
    # No jitter: in a trial this short the tail, in which some tasks have ended, takes up to 5 % of the throughput of
    # 64 tasks. That is a true rate (all bytes by the last end), but then the law is not the truth to compare with.
    target = _native.Target(json.dumps({"kind": "sim", "jitter": 0.0, **model}))
    search = Search("write", MAX_TASKS, seed)
    values: dict[int, list[float]] = {}
    order: dict[int, list[int]] = {}
    done = 0
    while (tasks := search.next(points_of(values), TRIALS - done)) is not None:
        result = trial(target, kind, f"{done:04d}-write", tasks)
        factors = {**setting(tasks), "kind": kind}
        line = trial_line(trial=done, setting=factors, phase="write", repetition=0, block=0, started="", result=result)
        values.setdefault(tasks, []).append(headline(line)[0] or 0)
        order.setdefault(tasks, []).append(done)
        done += 1
    return {**facts(kind, shape, noise, knee, values, done), **said(estimate(values, order=order))}


def points_of(values: dict[int, list[float]]) -> list[SimulatedRun]:
    return [SimulatedRun(n, v) for n, v in sorted(values.items())]


def said(found: Estimate) -> dict[str, Any]:
    return {
        "reached": found.reached,
        "low": found.knee_low,
        "high": found.knee_high,
        "plateau": [found.plateau_low, found.plateau, found.plateau_high],
    }


def facts(
    kind: str, shape: str, noise: float, knee: int, values: dict[int, list[float]], trials: int
) -> dict[str, Any]:
    """The truth of one search, and whether the intervals of its points hold it."""
    unit = PLATEAUS[kind]
    curve = [truth(shape, knee, n) for n in range(1, MAX_TASKS + 1)]
    noise_of_curve = pooled_noise(values.values())
    intervals = [
        (unit * truth(shape, knee, n), *median_interval(v, curve=noise_of_curve)[1:3])
        for n, v in values.items()
        if len(v) >= 2
    ]
    return {
        "kind": kind,
        "shape": shape,
        "noise": noise,
        "knee": next(n for n, share in enumerate(curve, 1) if share >= WITHIN * max(curve) - 1e-9),
        "trials": trials,
        "true_plateau": unit * max(curve),
        "points": len(intervals),
        "points_covered": sum(low <= true <= high for true, low, high in intervals),
    }


def main() -> None:
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    for cell in json.load(sys.stdin):
        first = cell.get("first_seed", 0)
        for seed in range(first + part, first + cell["seeds"], parts):
            knee = KNEES[seed % len(KNEES)] if cell["shape"] != "linear" else 32
            row = search(cell["kind"], cell["shape"], cell["noise"], knee, seed)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
