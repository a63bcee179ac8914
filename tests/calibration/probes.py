"""Runs ``tonnage probe sim:…``, the whole command, on storages whose truth is known, and reads what it prints.

A program of its own, so that the calibration can use every core: ``probes.py PART PARTS < cells.json`` prints one JSON
line a seed. Time is virtual: a probe takes a third of a second.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from probe_programs import printed
from tonnage.analysis.load_line.estimate import WITHIN
from tonnage.units import parse_rate

PLATEAU = 2_000_000_000
MAX_TASKS = 32
"""The default of ``probe``."""
KNEES = range(1, 13)
"""Of laws: up to three eighths of the largest number, beyond which a knee cannot be claimed."""
Law = Callable[[int, int], float]


def _hinge(n: int, knee: int) -> float:
    return min(1.0, WITHIN * n / (knee - 0.5))


def _usl(n: int, contention: float, coherency: float) -> float:
    """Universal Scalability Law (Gunther 1993), one task doing 1."""
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def _through(*points: tuple[int, int]) -> tuple[str, Law]:
    """A curve of straight lines through these points, of tasks and percent, proportional before the first, level after
    the last."""

    def law(n: int, _: int) -> float:
        (before, low), (after, high) = (0, 0), points[0]
        for (before, low), (after, high) in zip(((0, 0), *points), points, strict=False):
            if n <= after:
                return (low + (high - low) * (n - before) / (after - before)) / 100
        return high / 100

    return "curve=" + "/".join(f"{tasks}:{percent}%" for tasks, percent in points), law


LAWS: dict[str, tuple[str, Law]] = {
    "hinge": ("", _hinge),
    "smooth": ("shape=smooth", lambda n, knee: -math.expm1(math.log(1 - WITHIN) * n / (knee - 0.5))),
    "linear": ("shape=linear,knee=32", lambda n, _: n / 32),
    "stair": ("curve=2:50%/8:50%/16:100%", lambda n, _: min(1.0, max(min(n, 2) / 4, n / 16))),
    "queues": ("queues=8", lambda n, _: n / (n + 7)),
    "creep": ("knee=4,creep=4%", lambda n, _: _hinge(n, 4) * 1.04 ** max(0.0, math.log2(n / 4))),
    "power": ("power=0.1", lambda n, _: n**0.1),
    "peak": ("contention=2%,coherency=0.006944444", lambda n, _: _usl(n, 0.02, 1 / 144) / _usl(12, 0.02, 1 / 144)),
    "dip": ("knee=4,dip=20%,dip-from=8,dip-to=12", lambda n, _: _hinge(n, 4) * (1 - 0.2 * (8 <= n <= 12))),
    "late": _through((8, 94), (24, 94), (32, 100)),
    "bump": _through((6, 93), (16, 93), (20, 100), (28, 100), (32, 93)),
    "elbow": _through((4, 86), (8, 90), (16, 93), (32, 100)),
    "odd": ("knee=8,odd-loss=10%", lambda n, _: _hinge(n, 8) * (1 - 0.1 * (n % 2))),
}
"""Storages of the simulator, and their throughput over tasks by the laws of ``crates/simulator/src/law.rs``, written
down a second time. The knee of hinge and smooth is the seed's."""


def probe(cell: dict[str, Any], seed: int, out: Path) -> dict[str, Any]:
    """One command, what it printed, and whether that holds the truth."""
    keys, law = LAWS[cell["shape"]]
    knee = KNEES[seed % len(KNEES)]
    known = [f"plateau={PLATEAU}", f"noise={cell['noise']}", keys, cell.get("model", "")]
    if cell["shape"] in ("hinge", "smooth"):
        known.append(f"knee={knee}")
    uri = "sim:" + ",".join(filter(None, known))
    asked = ["probe", uri, "--op", "write", "--seed", str(seed), "--no-report", "--no-keep", "--out", str(out)]
    text = printed(asked + shlex.split(cell.get("options", "")))
    summary = json.loads((out / "manifest.json").read_text())["summary"]
    curve = [law(n, knee) for n in range(1, MAX_TASKS + 1)]
    true = PLATEAU * max(curve)
    (line,) = summary["load_lines"]
    return {
        "shape": cell["shape"],
        "noise": cell["noise"],
        "model": cell.get("model", ""),
        "options": cell.get("options", ""),
        "seed": seed,
        "knee": next(n for n, share in enumerate(curve, 1) if share >= WITHIN * max(curve) - 1e-9),
        "true_plateau": true,
        "trials": sum(point["repetitions"] for point in summary["points"]),
        "reached": line["reached"],
        "why": line["why"],
        "codes": sorted(finding["code"] for finding in summary["findings"]),
        **figures_of(line["why"], text),
        "line": {key: line[key] for key in ("tasks", "tasks_low", "tasks_high", "plateau_low", "plateau_high")},
        **throughput(summary["points"], lambda n: PLATEAU * law(n, knee)),
    }


_LINE = re.compile(
    r"write: (\d+) tasks? \[(\d+), (\d+)\] reach(?:es)? 95 % of the (\S+ \S+) plateau; more, measured up"
)
_BOUNDS = re.compile(r"  the plateau lies between (\S+ \S+/s) and (\S+ \S+/s)")


def figures_of(why: str, text: str) -> dict[str, Any]:
    """The load line as a user reads it: knee and plateau with their intervals, rounded as they are printed."""
    if f"write: {why}\n" not in text:
        raise ValueError(f"{why!r} is in the summary, and printed was: {text}")
    found, bounds = _LINE.search(text), _BOUNDS.search(text)
    if found is None or bounds is None:
        return {"low": None, "high": None, "plateau": None}
    low, high = map(parse_whole, bounds.groups())
    return {"low": int(found[2]), "high": int(found[3]), "plateau": [low, parse_whole(found[4]), high]}


def parse_whole(text: str) -> int:
    """Bytes per second of ``1.92 GB/s``."""
    return parse_rate(text.replace(" ", ""))


def throughput(points: list[dict[str, Any]], law: Callable[[int], float]) -> dict[str, Any]:
    """How many points have an interval, and how many of these hold their throughput."""
    several = [point for point in points if point["repetitions"] > 1]
    return {
        "points": len(several),
        "points_covered": sum(point["low"] <= law(point["tasks"]) <= point["high"] for point in several),
    }


def main() -> None:
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    # In memory: each record is synced, and nothing of it is kept.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as place:
        for number, cell in enumerate(json.load(sys.stdin)):
            first = cell.get("first_seed", 0)
            for seed in range(first + part, first + cell["seeds"], parts):
                with tempfile.TemporaryDirectory(dir=place) as out:
                    print(json.dumps({**probe(cell, seed, Path(out) / "run"), "cell": number}), flush=True)


if __name__ == "__main__":
    main()
