"""Promise 12: where a load line is claimed its intervals hold the truth, also of curves that the estimator does not
know; a curve without a plateau is not given one."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median
from typing import Any

import pytest

from .pool import Row, covers_knee, covers_plateau, rows_of, share
from .simulate import MAX_TASKS, UNKNOWN

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

# The simulations are made once, in the time of the first test; on a shared machine they take a multiple of two minutes.
pytestmark = pytest.mark.timeout(850)

LAWS = ("hinge", "smooth")
NOISES: dict[str, dict[str, Any]] = {
    "": {},
    "AR(1) 0.8": {"correlation": 0.8},
    "heavy tails": {"tails": 3},
    "by point": {"noise_growth": 0.3},
}
"""What else is not as the estimator would have it."""
CELLS: list[dict[str, Any]] = [
    *({"shape": shape, "noise": noise, "seeds": 96} for shape in LAWS for noise in (0.002, 0.02, 0.05, 0.20)),
    *({"shape": shape, "noise": 0.02, "seeds": 48} for shape in ("linear", *UNKNOWN)),
    *({"shape": "hinge", "noise": 0.02, "seeds": 48, "model": more} for name, more in NOISES.items() if name),
]
GOAL = 0.93
"""Of rows that claim a load line: tables of so few have a spread of about two in a hundred."""


@pytest.fixture(scope="module")
def cells() -> list[tuple[str, dict[str, Any], list[Row]]]:
    """Each cell with what its noise is called, and its rows."""
    names = {str(more): name for name, more in NOISES.items()}
    every = rows_of(CELLS)
    return [
        (
            names[str(more := cell.get("model", {}))],
            cell,
            [
                row
                for row in every
                if (row["shape"], row["noise"], row["model"]) == (cell["shape"], cell["noise"], more)
            ],
        )
        for cell in CELLS
    ]


Cells = list[tuple[str, dict[str, Any], list[Row]]]


def claimed(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["reached"]]


@pytest.mark.slow
def test_the_table_of_coverage(cells: Cells, calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'curve':<8}{'noise':>6} {'of a kind':<12}{'seeds':>6}{'trials':>8}{'claimed':>9}{'plateau':>9}{'± width':>9}"
        f"{'knee':>8}{'high/low':>10}{'burst':>7}"
    )
    for name, cell, rows in cells:
        mine = claimed(rows)
        head = (
            f"{cell['shape']:<8}{cell['noise']:>6.1%} {name:<12}{len(rows):>6}"
            f"{fmean(row['trials'] for row in rows):>8.1f}{len(mine) / len(rows):>9.1%}"
        )
        if not mine:
            calibration_report(head)
            continue
        width = median((row["plateau"][2] - row["plateau"][0]) / 2 / row["plateau"][1] for row in mine)
        calibration_report(
            f"{head}{share(mine, covers_plateau):>9.1%}{width:>9.1%}{share(mine, covers_knee):>8.1%}"
            f"{median(row['high'] / row['low'] for row in mine):>10.2f}{share(mine, lambda row: row['differs']):>7.1%}"
        )
    calibration_report("coverage is of the searches that claim a load line; knees of hinge and smooth are 1 to 24")


@pytest.mark.slow
@pytest.mark.parametrize("covers", [covers_plateau, covers_knee])
@pytest.mark.parametrize("known", [True, False], ids=["laws", "others"])
def test_intervals_cover_the_truth_where_they_are_claimed(
    cells: Cells, known: bool, covers: Callable[[Row], bool]
) -> None:
    rows = [row for name, cell, some in cells if (cell["shape"] in LAWS and not name) == known for row in claimed(some)]
    assert len(rows) > 200
    assert share(rows, covers) >= GOAL


@pytest.mark.slow
def test_a_curve_that_still_rises_is_not_given_a_plateau(cells: Cells) -> None:
    rising = [row for _, _, rows in cells for row in rows if 2 * row["knee"] > MAX_TASKS]
    assert {row["shape"] for row in rising} == {"linear", "power", "queues"}
    assert share(rising, lambda row: row["reached"]) <= 0.05


@pytest.mark.slow
def test_a_curve_with_a_plateau_nearly_always_has_it_found(cells: Cells) -> None:
    for shape, noise, least in (
        ("hinge", 0.02, 0.9),
        ("smooth", 0.02, 0.9),
        ("hinge", 0.05, 0.9),
        ("smooth", 0.05, 0.75),
    ):
        (rows,) = (r for name, cell, r in cells if not name and (cell["shape"], cell["noise"]) == (shape, noise))
        assert len(claimed(rows)) / len(rows) >= least, (shape, noise)


@pytest.mark.slow
def test_intervals_of_the_knee_say_something(cells: Cells) -> None:
    """An interval from 1 to the most tasks tried covers everything; these are much narrower."""
    rows = [row for name, cell, some in cells if cell["noise"] <= 0.02 and not name for row in claimed(some)]
    assert median(row["high"] / row["low"] for row in rows) <= 1.5


@pytest.mark.slow
def test_intervals_of_throughput_cover_the_truth_at_their_rate(cells: Cells) -> None:
    rows = [row for name, cell, some in cells if cell["shape"] in LAWS and not name for row in some]
    points = sum(row["points"] for row in rows)
    assert points > 5000
    assert 0.92 <= sum(row["points_covered"] for row in rows) / points <= 0.97
