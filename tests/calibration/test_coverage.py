"""Promise 12: intervals cover the known truth at their stated rate, a curve without a plateau is never given one."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import pytest

from .pool import Row, covers_knee, covers_plateau, rows_of, share

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

# The simulations are made once, in the time of the first test; on a shared machine they take a multiple of two minutes.
pytestmark = pytest.mark.timeout(850)

CELLS = [
    *({"shape": shape, "noise": noise, "seeds": 384} for shape in ("hinge", "smooth") for noise in (0.05, 0.20)),
    *({"shape": "linear", "noise": noise, "seeds": 96} for noise in (0.05, 0.20)),
]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(CELLS)


@pytest.fixture(scope="module")
def kneed(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["shape"] != "linear"]


@pytest.mark.slow
def test_the_table_of_coverage(rows: list[Row], calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'curve':<7}{'noise':>6}{'seeds':>7}{'trials':>8}{'reached':>9}{'throughput':>12}{'plateau':>9}{'± width':>9}"
        f"{'knee':>8}{'K ≤ 8':>8}{'K > 8':>8}{'high/low':>10}"
    )
    for cell in CELLS:
        mine = [row for row in rows if (row["shape"], row["noise"]) == (cell["shape"], cell["noise"])]
        points = sum(row["points_covered"] for row in mine) / max(1, sum(row["points"] for row in mine))
        head = (
            f"{cell['shape']:<7}{cell['noise']:>6.0%}{len(mine):>7}{fmean(row['trials'] for row in mine):>8.1f}"
            f"{share(mine, lambda row: row['reached']):>9.1%}{points:>12.1%}"
        )
        if cell["shape"] == "linear":
            calibration_report(head)
            continue
        width = fmean((row["plateau"][2] - row["plateau"][0]) / 2 / row["plateau"][1] for row in mine)
        few, many = ([row for row in mine if (row["knee"] <= 8) is small] for small in (True, False))
        calibration_report(
            f"{head}{share(mine, covers_plateau):>9.1%}{width:>9.1%}{share(mine, covers_knee):>8.1%}"
            f"{share(few, covers_knee):>8.1%}{share(many, covers_knee):>8.1%}"
            f"{fmean(row['high'] / row['low'] for row in mine):>10.2f}"
        )
    kneed = [row for row in rows if row["shape"] != "linear"]
    calibration_report(f"all curves with a plateau: its interval covers {share(kneed, covers_plateau):.1%}")
    calibration_report(
        "95 % intervals; knees 1 to 24, at most 64 tasks. The knee is covered more often because tasks are whole\n"
        "numbers, and because every number between two measured ones is inside. linear has no plateau to reach."
    )


@pytest.mark.slow
def test_intervals_of_throughput_cover_the_truth_at_their_rate(rows: list[Row]) -> None:
    points = sum(row["points"] for row in rows)
    assert points > 5000
    assert 0.93 <= sum(row["points_covered"] for row in rows) / points <= 0.97


@pytest.mark.slow
def test_intervals_of_the_plateau_cover_the_truth_at_their_rate(kneed: list[Row]) -> None:
    assert 0.93 <= share(kneed, covers_plateau) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["hinge", "smooth"])
def test_intervals_of_the_knee_cover_the_truth_at_least_at_their_rate(kneed: list[Row], shape: str) -> None:
    assert share([row for row in kneed if row["shape"] == shape], covers_knee) >= 0.95


@pytest.mark.slow
def test_intervals_of_the_knee_say_something(kneed: list[Row]) -> None:
    """An interval from 1 to the most tasks tried covers everything; these are much narrower."""
    precise = [row for row in kneed if row["noise"] == 0.05]
    assert fmean(row["high"] / row["low"] for row in precise) < 1.6


@pytest.mark.slow
def test_a_curve_without_a_plateau_is_never_given_one(rows: list[Row]) -> None:
    linear = [row for row in rows if row["shape"] == "linear"]
    assert share(linear, lambda row: row["reached"]) <= 0.01


@pytest.mark.slow
def test_a_curve_with_a_plateau_nearly_always_has_it_found(kneed: list[Row]) -> None:
    assert share([row for row in kneed if row["noise"] == 0.05], lambda row: row["reached"]) >= 0.98
    assert share([row for row in kneed if row["noise"] == 0.20], lambda row: row["reached"]) >= 0.80
