"""Promise 12 of the surface: of the whole command, on models of other make than the estimator, the interval of each
transfer size holds the load line there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log2
from statistics import fmean
from typing import Any

import pytest

from .chance import seeds
from .parallel_probes import Row, rows_of

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
pytestmark = pytest.mark.timeout(5000)

CELLS = [
    {"kind": kind, "noise": noise, "more": more, "budget": budget, "seeds": seeds(24)}
    for kind, noise, more, budget in (
        ("corner", "3%", "", "5m"),
        ("corner", "10%", "", "5m"),
        ("smooth", "3%", "", "5m"),
        ("smooth", "10%", ",tails=3", "5m"),
        ("stripe", "5%", "", "5m"),
        ("stripe", "5%", ",correlation=0.5", "1m"),
    )
]
GOAL = 0.93
"""Of the sizes of all probes, of which those of one probe hold or miss together more often than not."""


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(CELLS, "surface_probes.py")


def sizes(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [size for row in rows for size in row["sizes"]]


def holds(size: dict[str, Any]) -> bool:
    """An interval without an upper end claims only the lower one."""
    return bool(size["low"] <= size["truth"] and (size["high"] is None or size["truth"] <= size["high"]))


@pytest.mark.slow
def test_the_table_of_surfaces(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'surface':<8}{'noise':>6} {'of a kind':<17}{'budget':>6}{'probes':>8}{'trials':>8}{'claimed':>9}{'held':>8}"
        f"{'high/low':>10}"
    )
    for number, cell in enumerate(CELLS):
        own = [row for row in rows if row["cell"] == number]
        every = sizes(own)
        claimed = [size for size in every if size["reached"]]
        wide = fmean(log2(size["high"] / size["low"]) for size in claimed)
        calibration_report(
            f"{cell['kind']:<8}{cell['noise']:>6} {cell['more'].lstrip(','):<17}{cell['budget']:>6}{len(own):>8}"
            f"{fmean(row['trials'] for row in own):>8.0f}{len(claimed) / len(every):>9.0%}"
            f"{fmean(map(holds, every)):>8.1%}{2**wide:>10.2f}"
        )
    assert fmean(map(holds, sizes(rows))) >= GOAL


@pytest.mark.slow
def test_most_sizes_are_claimed(rows: list[Row]) -> None:
    """Of those whose load line is below half of the tasks, under little noise: who claims nothing is never wrong."""
    quiet = [row for row in rows if CELLS[row["cell"]]["noise"] == "3%"]
    assert fmean(size["reached"] for size in sizes(quiet) if size["truth"] <= 16) >= 0.8
