"""Promise 12 of users served: of the whole command, on devices and users drawn at random, the interval holds the number
that another model of users has (``serving_model.py``)."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from statistics import fmean
from typing import Any

import pytest

from .chance import seeds
from .parallel_probes import Row, rows_of
from .serving_model import Conversations, p95_s

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
pytestmark = pytest.mark.timeout(5000)

CELLS: list[dict[str, Any]] = [
    {"name": name, "noise": noise, "more": more, "jitter": jitter, "budgets": budgets, "seeds": seeds(40)}
    for name, noise, more, jitter, budgets in (
        ("quiet", "1%", "", 0.1, 24),
        ("usual", "3%", "", 0.1, 24),
        ("noisy", "8%", "", 0.1, 24),
        ("heavy tails", "3%", ",tails=3", 0.1, 24),
        ("alike", "3%", ",correlation=0.5", 0.1, 24),
        ("uneven turns", "3%", "", 0.5, 24),
        ("long", "3%", "", 0.1, 60),
    )
]
GOAL = 0.93


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(CELLS, "serving_probes.py")


def holds(row: Row) -> bool:
    """An interval without an upper end claims only the lower one."""
    return bool(row["low"] <= row["truth"] and (row["high"] is None or row["truth"] <= row["high"]))


@pytest.mark.slow
def test_the_table_of_users(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(f"{'users':<14}{'noise':>6}{'probes':>8}{'trials':>8}{'shown':>8}{'held':>8}{'high/low':>10}")
    for number, cell in enumerate(CELLS):
        own = [row for row in rows if row["cell"] == number]
        ended = [log2(row["high"] / row["low"]) for row in own if row["high"] and row["low"]]
        calibration_report(
            f"{cell['name']:<14}{cell['noise']:>6}{len(own):>8}"
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
    quiet = [row for row in rows if CELLS[row["cell"]]["noise"] in ("1%", "3%")]
    assert fmean(row["shown"] for row in quiet) >= 0.7


def test_the_other_model_agrees_with_the_closed_form() -> None:
    """One user alone, four turns of 10 MB on a device of 1 GB/s: they take 10, 20, 30 and 40 ms."""
    talk = Conversations(turns=4, turn_bytes=1e7, think_s=0.3)
    assert p95_s(1, talk, lambda _: 1e9, 60, 0.0, 1) == pytest.approx(0.04)
