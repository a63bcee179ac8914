"""Probes simulated storages whose truth is known, through the decisions and estimators of ``tonnage probe``, to the
long trial at its end.

A program of its own, so that the calibration can use every core: ``simulate.py PART PARTS < cells.json`` prints one
JSON line a seed. ``seconds`` of a trial are virtual; a trial costs some milliseconds.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tonnage import _native
from tonnage.analysis.loadline import WITHIN, Estimate, estimate, sustained
from tonnage.analysis.search import Search
from tonnage.analysis.statistics import median_interval, pooled_noise
from tonnage.records import headline, trial_line

PLATEAU = 2_000_000_000
MAX_TASKS = 64
TRIALS = 28
"""What ``probe`` has time for with its default budget, per operation."""
TRANSFER = 512 << 10
KNEES = range(1, 25)
SUSTAIN_LEAST, SUSTAIN_MOST = 5, 14
"""Trials that a long one takes the time of, as in ``probe`` with its default budget."""
UNKNOWN: dict[str, tuple[dict[str, Any], Callable[[int], float]]] = {
    "stair": ({"curve": [[2, 0.5], [8, 0.5], [16, 1.0]]}, lambda n: min(1.0, max(min(n, 2) / 4, n / 16))),
    "queues": ({"queues": 8}, lambda n: n / (n + 7)),
    "creep": ({"knee": 4, "creep": 0.04}, lambda n: min(1.0, WITHIN * n / 3.5) * 1.04 ** max(0.0, math.log2(n / 4))),
    "power": ({"power": 0.1}, lambda n: n**0.1),
    "peak": ({"contention": 0.02, "coherency": 1 / 144}, lambda n: usl(n, 0.02, 1 / 144)),
    "dip": (
        {"knee": 4, "dip": 0.2, "dip_from": 8, "dip_to": 12},
        lambda n: min(1.0, WITHIN * n / 3.5) * (1 - 0.2 * (8 <= n <= 12)),
    ),
    "odd": ({"knee": 8, "odd_loss": 0.1}, lambda n: min(1.0, WITHIN * n / 7.5) * (1 - 0.1 * (n % 2))),
}
"""Models that the estimator was not made for, and throughput over tasks in any unit."""


@dataclass(frozen=True)
class Measured:
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


def usl(n: int, contention: float, coherency: float) -> float:
    """Universal Scalability Law (Gunther 1993), one task doing 1."""
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def truth(shape: str, knee: int, tasks: int) -> float:
    """Noise-free share of the plateau by the laws of ``crates/simulator/src/law.rs``, written down a second time."""
    if shape == "hinge":
        return min(1.0, WITHIN * tasks / (knee - 0.5))
    if shape == "smooth":
        return -math.expm1(math.log(1 - WITHIN) * tasks / (knee - 0.5))
    return tasks / knee


PLATEAUS = {"stream": PLATEAU, "files": 20_000, "command": 2}
"""In the metric of each kind: bytes, creations or copies of 1 GB in a second."""


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
    return run_phase(target, spec if kind == "stream" else {**spec, "limit": LIMITS[kind]})


LIMITS: dict[str, dict[str, Any]] = {"files": {"time_ns": 250_000_000}, "command": {}}


def probe(kind: str, shape: str, noise: float, knee: int, seed: int, more: dict[str, Any]) -> dict[str, Any]:
    """One search and what its estimators say, against the truth. ``more``: further keys of the model."""
    known = {"shape": shape, "knee": knee} if shape not in UNKNOWN else UNKNOWN[shape][0]
    model = {**known, "plateau_bytes_per_s": PLATEAU, "noise": noise, "seed": seed, **more}
    # No jitter: in a trial this short the tail, in which some tasks have ended, takes up to 5 % of the throughput of
    # 64 tasks. That is a true rate (all bytes by the last end), but then the law is not the truth to compare with.
    target = _native.Target(json.dumps({"kind": "sim", "jitter": 0.0, **model}))
    search = Search("write", MAX_TASKS, seed)
    values: dict[int, list[float]] = {}
    order: dict[int, list[int]] = {}
    done = 0

    def rate(tasks: int, seconds: float = 0.25) -> float:
        result = trial(target, kind, f"{done:04d}-write", tasks, seconds)
        factors = {**setting(tasks), "kind": kind}
        line = trial_line(trial=done, setting=factors, phase="write", repetition=0, block=0, started="", result=result)
        return headline(line)[0] or 0

    while (tasks := search.next(points_of(values), TRIALS - done)) is not None:
        values.setdefault(tasks, []).append(rate(tasks))
        order.setdefault(tasks, []).append(done)
        done += 1
        if TRIALS - done <= SUSTAIN_LEAST and search.is_quiet(points_of(values)):
            break
    found = estimate(values, order=order)
    on_plateau = search.on_plateau(points_of(values))
    if TRIALS - done >= SUSTAIN_LEAST and on_plateau is not None and kind == "stream":
        longer = min(TRIALS - done - 1, SUSTAIN_MOST)
        found = sustained(found, rate(on_plateau, 0.25 * longer), longer, values[on_plateau])
    return {**facts(kind, shape, noise, knee, values, done), **said(found)}


def points_of(values: dict[int, list[float]]) -> list[Measured]:
    return [Measured(n, v) for n, v in sorted(values.items())]


def said(found: Estimate) -> dict[str, Any]:
    return {
        "reached": found.reached,
        "low": found.knee_low,
        "high": found.knee_high,
        "plateau": [found.plateau_low, found.plateau, found.plateau_high],
        "differs": found.differs,
    }


def facts(
    kind: str, shape: str, noise: float, knee: int, values: dict[int, list[float]], trials: int
) -> dict[str, Any]:
    """The truth of one search, and whether the intervals of its points hold it."""
    if shape in UNKNOWN:
        of = UNKNOWN[shape][1]
    else:

        def of(n: int) -> float:
            return truth(shape, knee, n)

    curve = [of(n) for n in range(1, MAX_TASKS + 1)]
    highest = max(curve)
    # Of a peak, a power and queues the unit is not that of the plateau that was planted.
    unit = PLATEAUS[kind] * (1 / highest if shape == "peak" else 1.0)
    noise_of_curve = pooled_noise(values.values())
    intervals = [
        (unit * of(n), *median_interval(v, curve=noise_of_curve)[1:3]) for n, v in values.items() if len(v) >= 2
    ]
    return {
        "kind": kind,
        "shape": shape,
        "noise": noise,
        "knee": next(n for n, share in enumerate(curve, 1) if share >= WITHIN * highest - 1e-9),
        "trials": trials,
        "true_plateau": unit * highest,
        "points": len(intervals),
        "points_covered": sum(low <= true <= high for true, low, high in intervals),
    }


def main() -> None:
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    for cell in json.load(sys.stdin):
        first = cell.get("first_seed", 0)
        for seed in range(first + part, first + cell["seeds"], parts):
            knee = KNEES[seed % len(KNEES)] if cell["shape"] != "linear" else 32
            kind, more = cell.get("kind", "stream"), cell.get("model", {})
            row = probe(kind, cell["shape"], cell["noise"], knee, seed, more)
            print(json.dumps({**row, "model": more}), flush=True)


if __name__ == "__main__":
    main()
