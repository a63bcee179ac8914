"""Promise 12 of the latency line: the whole command, on models whose curves and noises the estimator does not know, has
the largest number of tasks (or offered rate) that meets an objective in its interval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from .chance import seeds
from .parallel_probes import environment

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

pytestmark = pytest.mark.timeout(5000)

TASKS = (
    "knee=8,noise=2%",
    "knee=8,noise=10%",
    "knee=20,noise=5%",
    "knee=4,shape=smooth,noise=5%",
    "queues=8,noise=2%",
    "queues=8,noise=10%",
    "contention=0.02,coherency=0.007,noise=5%",
    "power=0.1,noise=5%",
    "curve=4:50%/16:50%/20:100%,noise=3%",
    "knee=4,dip=20%,dip-from=8,dip-to=12,noise=3%",
    "knee=8,odd-loss=10%,noise=3%",
    "knee=8,noise=3%,jitter=50%",
    "knee=8,noise=5%,tails=3",
    "queues=8,noise=5%,correlation=0.6",
    "knee=8,noise=2%,outliers=40%,outlier-speed=70%",
)
"""A hinge, closed networks, a peak, a power law, a stair, a dip, odd numbers; long tails within a trial, and noises
from trial to trial that are heavy-tailed, correlated and of two kinds."""
CELLS: list[dict[str, Any]] = [
    *({"model": model, "percentile": "p99_ns", "open_loop": False, "seeds": seeds(40)} for model in TASKS),
    *({"model": model, "percentile": "p999_ns", "open_loop": False, "seeds": seeds(40)} for model in TASKS[:1]),
    *(
        {"model": model, "percentile": "p99_ns", "open_loop": True, "seeds": seeds(40)}
        for model in ("knee=8,noise=2%", "queues=8,noise=5%")
    ),
]
GOAL = 0.93
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    parts = os.cpu_count() or 1
    with ThreadPoolExecutor(parts) as pool:
        return [row for part in pool.map(lambda part: _probes(part, parts), range(parts)) for row in part]


def _probes(part: int, parts: int) -> list[Row]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.calibration.latency_probes", str(part), str(parts)],
        input=json.dumps(CELLS),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env=environment(),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_table_of_the_latency_line(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'latency line: model':<50}{'of':<7}{'probes':>7}{'covered':>9}{'shown':>7}{'width':>7}{'trials':>8}"
    )
    for cell in CELLS:
        keys = ("model", "percentile", "open_loop")
        mine = [row for row in rows if all(row[key] == cell[key] for key in keys)]
        assert len(mine) == cell["seeds"]
        of = "rate" if cell["open_loop"] else {"p99_ns": "p99", "p999_ns": "p99.9"}[cell["percentile"]]
        shown = [row for row in mine if row["shown"]]
        width = f"{median(row['width'] for row in shown):.2f}" if shown else "-"
        calibration_report(
            f"{cell['model']:<50}{of:<7}{len(mine):>7}{fmean(row['covers'] for row in mine):>9.1%}"
            f"{len(shown) / len(mine):>7.0%}{width:>7}{fmean(row['trials'] for row in mine):>8.1f}"
        )
    calibration_report("width is (high + 1) ÷ low of the answers that are shown, of rates high ÷ low")


@pytest.mark.slow
@pytest.mark.parametrize("open_loop", [False, True], ids=["tasks", "rates"])
def test_intervals_hold_the_largest_load_that_meets_the_objective(rows: list[Row], open_loop: bool) -> None:
    mine = [row for row in rows if row["open_loop"] == open_loop]
    assert fmean(row["covers"] for row in mine) >= GOAL


@pytest.mark.slow
def test_intervals_say_something_where_storage_is_quiet(rows: list[Row]) -> None:
    quiet = [row for row in rows if row["model"] == TASKS[0] and row["percentile"] == "p99_ns" and not row["open_loop"]]
    assert fmean(row["shown"] for row in quiet) >= 0.7
    assert median(row["width"] for row in quiet if row["shown"]) <= 1.5
