"""Promise 12 of accelerators fed: of the whole command, on devices and loaders drawn at random, the interval holds the
number that another model of accelerators has (``feeding_model.py``)."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from statistics import fmean
from typing import Any

import pytest

from .chance import seeds
from .feeding_model import Loader, utilisation
from .parallel_probes import Row, rows_of

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
pytestmark = pytest.mark.timeout(5000)

CELLS: list[dict[str, Any]] = [
    {
        "name": name,
        "noise": noise,
        "more": more,
        "spread": spread,
        "budget": budget,
        "jitter": jitter,
        "seeds": seeds(40),
    }
    for name, noise, more, spread, budget, jitter in (
        ("quiet", "2%", "", 0.0, "5m", 0.1),
        ("usual", "5%", "", 0.3, "5m", 0.1),
        ("noisy", "10%", "", 0.3, "5m", 0.1),
        ("heavy tails", "5%", ",tails=3", 0.45, "5m", 0.1),
        ("alike", "5%", ",correlation=0.5", 0.1, "5m", 0.1),
        ("uneven reads", "5%", "", 0.3, "5m", 0.5),
        ("short", "5%", "", 0.3, "2m", 0.1),
    )
]
GOAL = 0.93


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(CELLS, "feeding_probes.py")


def holds(row: Row) -> bool:
    """An interval without an upper end claims only the lower one."""
    return bool(row["low"] <= row["truth"] and (row["high"] is None or row["truth"] <= row["high"]))


@pytest.mark.slow
def test_the_table_of_accelerators(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'loader':<14}{'noise':>6}{'budget':>8}{'probes':>8}{'trials':>8}{'shown':>8}{'held':>8}{'high/low':>10}"
    )
    for number, cell in enumerate(CELLS):
        own = [row for row in rows if row["cell"] == number]
        ended = [log2(row["high"] / row["low"]) for row in own if row["high"] and row["low"]]
        calibration_report(
            f"{cell['name']:<14}{cell['noise']:>6}{cell['budget']:>8}{len(own):>8}"
            f"{fmean(row['trials'] for row in own):>8.0f}{fmean(row['shown'] for row in own):>8.0%}"
            f"{fmean(map(holds, own)):>8.1%}{2 ** fmean(ended or [0]):>10.2f}"
        )
    missed = [
        f"{CELLS[row['cell']]['name']} {row['seed']}: {row['truth']} not in [{row['low']}, {row['high']}]"
        for row in rows
        if not holds(row)
    ]
    assert fmean(map(holds, rows)) >= GOAL, "\n".join(missed)


@pytest.mark.slow
def test_most_answers_are_shown(rows: list[Row]) -> None:
    """Who claims nothing is never wrong."""
    quiet = [row for row in rows if CELLS[row["cell"]]["noise"] in ("2%", "5%")]
    assert fmean(row["shown"] for row in quiet) >= 0.8


@pytest.mark.parametrize(("readers", "computes_s", "expected"), [(1, 0.05, 0.05 / 0.08), (4, 0.1, 1.0), (2, 0.5, 1.0)])
def test_the_other_model_agrees_with_the_closed_form(readers: int, computes_s: float, expected: float) -> None:
    """Two accelerators, batches of 4 of 1 MB, a device of 100 MB/s: a step of both takes 80 ms to read."""
    loader = Loader(readers, batch=4, prefetch=2, compute_s=computes_s, sample_bytes=1e6, spread_bytes=0.0)
    assert utilisation(loader, 2, lambda _: 1e8, jitter=0.0) == pytest.approx(expected, rel=0.02)
