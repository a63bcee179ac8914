"""Promise 12: where ``tonnage probe`` claims a load line, the intervals that it prints hold the truth, also of curves
that the estimator does not know; a curve without a plateau is not given one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import fmean, median
from typing import Any

import pytest

from .chance import seeds
from .parallel_probes import Row, covers_knee, covers_plateau, rows_of, share
from .probes import LAWS, MAX_TASKS

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

# The probes are made once, in the time of the first test; on a shared machine they take a multiple of three minutes.
pytestmark = pytest.mark.timeout(5000)

KNOWN = ("hinge", "smooth")
OTHERS = tuple(shape for shape in LAWS if shape not in KNOWN)
NOISES = {
    "AR(1) 0.5": "correlation=0.5",
    "AR(1) 0.8": "correlation=0.8",
    "AR(1) 0.9": "correlation=0.9",
    "AR(1) 0.95": "correlation=0.95",
    "two speeds": "outliers=40%,outlier-speed=0.7",
    "a tenth at half speed": "outliers=10%,outlier-speed=0.5",
    "heavy tails": "tails=3",
    "by point": "noise-growth=0.3",
}
"""What else is not as the estimator would have it."""


def cell(shape: str, noise: float, many: int, model: str = "", options: str = "") -> dict[str, Any]:
    return {"shape": shape, "noise": noise, "model": model, "options": options, "seeds": seeds(many)}


CELLS = [
    *(cell(shape, noise, 208) for shape in KNOWN for noise in (0.002, 0.02, 0.05, 0.20)),
    *(cell(shape, noise, 104) for shape in OTHERS for noise in (0.02, 0.05)),
    *(cell("hinge", 0.02, 104, model) for model in NOISES.values()),
    *(cell("smooth", 0.02, 104, NOISES[name]) for name in ("AR(1) 0.8", "two speeds")),
    *(cell(shape, 0.05, 104, options="--budget 15s") for shape in KNOWN),
]
KINKED = ("late", "bump", "elbow")
"""Curves that do not run on as they began: near the largest number of tasks they gain 6 to 8 %."""
GOAL = 0.93
"""Of rows that claim a load line: tables of so few have a spread of about two in a hundred."""
Cells = list[tuple[dict[str, Any], list[Row]]]


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Each cell and its rows."""
    every = rows_of(CELLS, "probes.py")
    return [(cell, [row for row in every if row["cell"] == number]) for number, cell in enumerate(CELLS)]


def claimed(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["reached"]]


def clean(cell: dict[str, Any]) -> bool:
    """A law that the estimator knows, under the noise that it assumes."""
    return cell["shape"] in KNOWN and not cell["model"]


def exact(row: Row) -> bool:
    """The plateau's interval holds it before it is rounded for print."""
    return bool(row["line"]["plateau_low"] <= row["true_plateau"] <= row["line"]["plateau_high"])


@pytest.mark.slow
def test_the_table_of_coverage(cells: Cells, calibration_report: Callable[[str], None]) -> None:
    calibration_report(
        f"{'curve':<8}{'noise':>6} {'of a kind':<22}{'seeds':>6}{'trials':>8}{'claimed':>9}{'plateau':>9}{'in full':>9}"
        f"{'± width':>9}{'knee':>8}{'high/low':>10}  findings"
    )
    names = {model: name for name, model in NOISES.items()}
    for cell, rows in cells:
        mine = claimed(rows)
        found = Counter(code for row in rows for code in row["codes"] if code != "no-plateau")
        kind = names.get(cell["model"], "") + cell["options"]
        calibration_report(
            f"{cell['shape']:<8}{cell['noise']:>6.1%} {kind:<22}{len(rows):>6}"
            f"{fmean(row['trials'] for row in rows):>8.1f}{len(mine) / len(rows):>9.1%}{_covered(mine)}  "
            + ", ".join(f"{code} {count}" for code, count in found.items())
        )
    calibration_report("coverage is of the searches that claim a load line; knees of hinge and smooth are 1 to 12")


def _covered(rows: list[Row]) -> str:
    if not rows:
        return ""
    width = median((row["plateau"][2] - row["plateau"][0]) / 2 / row["plateau"][1] for row in rows)
    return (
        f"{share(rows, covers_plateau):>9.1%}{share(rows, exact):>9.1%}{width:>9.1%}{share(rows, covers_knee):>8.1%}"
        f"{median(row['high'] / row['low'] for row in rows):>10.2f}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("covers", [covers_plateau, exact, covers_knee])
@pytest.mark.parametrize("known", [True, False], ids=["laws", "others"])
def test_intervals_cover_the_truth_where_they_are_claimed(
    cells: Cells, known: bool, covers: Callable[[Row], bool]
) -> None:
    rows = [row for cell, some in cells if clean(cell) == known for row in claimed(some)]
    assert len(rows) > 200
    assert share(rows, covers) >= GOAL


@pytest.mark.slow
def test_a_curve_that_still_rises_is_not_given_a_plateau(cells: Cells) -> None:
    rising = [row for _, rows in cells for row in rows if 2 * row["knee"] > MAX_TASKS]
    assert {row["shape"] for row in rising} == {"linear", "power", "queues", *KINKED}
    # A step of 6 to 8 % in 5 % of noise is beyond what so few trials tell: docs/method.md says how often it is missed.
    told = [row for row in rising if row["shape"] not in KINKED or row["noise"] <= 0.02]
    assert share(told, lambda row: row["reached"]) <= 0.05


@pytest.mark.slow
def test_a_creep_is_seldom_given_a_knee_that_it_has_not(cells: Cells) -> None:
    rows = [row for cell, some in cells if cell["shape"] == "creep" for row in some]
    assert share(rows, lambda row: row["reached"] and not covers_knee(row)) <= 0.05


@pytest.mark.slow
def test_a_curve_with_a_plateau_nearly_always_has_it_found(cells: Cells) -> None:
    for shape, noise, least in (
        ("hinge", 0.02, 0.9),
        ("smooth", 0.02, 0.9),
        ("hinge", 0.05, 0.9),
        ("smooth", 0.05, 0.9),
    ):
        rows = [row for cell, some in cells if clean(cell) for row in some]
        mine = [row for row in rows if (row["shape"], row["noise"]) == (shape, noise)]
        assert share(mine, lambda row: row["reached"]) >= least, (shape, noise)


@pytest.mark.slow
def test_intervals_of_the_knee_say_something(cells: Cells) -> None:
    """An interval from 1 to the most tasks tried covers everything; these are much narrower."""
    rows = [row for cell, some in cells if cell["noise"] <= 0.05 and clean(cell) for row in claimed(some)]
    assert median(row["high"] / row["low"] for row in rows) <= 1.5


@pytest.mark.slow
def test_what_is_printed_is_what_the_summary_has(cells: Cells) -> None:
    """The sentence itself is compared where it is read (``probes.figures_of``)."""
    for row in (row for _, rows in cells for row in rows):
        line = row["line"]
        assert [row["low"], row["high"]] == [line["tasks_low"], line["tasks_high"]]
        assert (row["plateau"] is None) == (not row["reached"])
        if row["reached"]:
            low, _, high = row["plateau"]
            assert 0.99 * line["plateau_low"] <= low <= line["plateau_low"]
            assert line["plateau_high"] <= high <= 1.01 * line["plateau_high"]


@pytest.mark.slow
def test_intervals_of_throughput_cover_the_truth_at_their_rate(cells: Cells) -> None:
    rows = [row for cell, some in cells if clean(cell) and cell["noise"] >= 0.02 for row in some]
    points = sum(row["points"] for row in rows)
    assert points > 3000
    assert 0.92 <= sum(row["points_covered"] for row in rows) / points <= 0.97
