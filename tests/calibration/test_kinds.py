"""Load lines in operations per second, of names and of commands, cover the known truth as those in bytes do."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median

import pytest

from .parallel_probes import Row, covers_knee, covers_plateau, rows_of, share

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

# The simulations are made once, in the time of the first test; on a shared machine they take a multiple of two minutes.
pytestmark = pytest.mark.timeout(5000)

CELLS = [
    {"kind": kind, "shape": shape, "noise": 0.05, "seeds": 12 if shape == "linear" else 48, "first_seed": first}
    for kind, first in (("files", 480), ("command", 960))
    for shape in ("hinge", "smooth", "linear")
]
"""Other seeds for each kind: with the same ones, the noise of both would be the same."""


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(CELLS)


@pytest.fixture(scope="module")
def kneed(rows: list[Row]) -> list[Row]:
    """Those of a curve with a plateau that claim it."""
    return [row for row in rows if row["shape"] != "linear" and row["reached"]]


@pytest.mark.slow
def test_the_table_of_coverage_by_kind(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'kind':<9}{'curve':<8}{'noise':>6}{'seeds':>7}{'reached':>9}{'rate':>8}{'plateau':>9}{'knee':>8}{'high/low':>10}"
    )
    for cell in CELLS:
        mine = [row for row in rows if (row["kind"], row["shape"]) == (cell["kind"], cell["shape"])]
        points = sum(row["points_covered"] for row in mine) / sum(row["points"] for row in mine)
        line = (
            f"{cell['kind']:<9}{cell['shape']:<8}{cell['noise']:>6.0%}{len(mine):>7}"
            f"{share(mine, lambda row: row['reached']):>9.1%}{points:>8.1%}"
        )
        if cell["shape"] != "linear":
            line += (
                f"{share(mine, covers_plateau):>9.1%}{share(mine, covers_knee):>8.1%}"
                f"{fmean(row['high'] / row['low'] for row in mine):>10.2f}"
            )
        calibration_report(line)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "command"])
def test_intervals_of_rates_and_plateaus_cover_the_truth_of_each_kind(rows: list[Row], kind: str) -> None:
    mine = [row for row in rows if row["kind"] == kind]
    assert 0.92 <= sum(row["points_covered"] for row in mine) / sum(row["points"] for row in mine) <= 0.98
    # 96 seeds: the standard error of a share of 95 % is 2.2 %.
    assert share([row for row in mine if row["shape"] != "linear" and row["reached"]], covers_plateau) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "command"])
def test_intervals_of_the_knee_cover_it_for_each_kind(kneed: list[Row], kind: str) -> None:
    mine = [row for row in kneed if row["kind"] == kind]
    assert share(mine, covers_knee) >= 0.93
    assert median(row["high"] / row["low"] for row in mine) < 2.0


@pytest.mark.slow
def test_no_kind_is_given_a_plateau_that_it_has_not(rows: list[Row]) -> None:
    assert share([row for row in rows if row["shape"] == "linear"], lambda row: row["reached"]) <= 0.02
    assert share([row for row in rows if row["shape"] != "linear"], lambda row: row["reached"]) >= 0.7
