"""Intervals beyond what was measured have the simulator's known truth as often as they claim, over laws and knees."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from tonnage.analysis.load_line.extrapolate import extrapolate
from tonnage.analysis.load_line.projection import usl

from .simulate import PLATEAU, truth

TASKS = (1, 2, 4, 8, 16, 32)
KNEES = (4, 6, 8, 12, 16, 24)
SEEDS = 12
"""Of each knee."""
NOISE = 0.08


def law(shape: str, knee: int, tasks: int) -> float:
    """Share of the plateau; besides the simulator's three shapes one that declines, by what each task costs."""
    if shape == "usl":
        return usl(tasks, 1 / knee, 0.4 / knee, 0.002 / knee)
    if shape == "decline":
        return truth("hinge", knee, tasks) * 0.99 ** max(0, tasks - knee)
    return truth(shape, knee, tasks)


@pytest.mark.parametrize("shape", ["hinge", "smooth", "linear", "usl", "decline"])
@pytest.mark.parametrize("times", [2, 4])
def test_the_interval_beyond_the_points_has_the_truth(
    shape: str, times: int, calibration_report: Callable[[str], None]
) -> None:
    draw, asked = random.Random(times), times * TASKS[-1]
    hits = widths = 0.0
    # A decline that begins where measuring ended was not seen by any point.
    knees = [knee for knee in KNEES if shape != "decline" or knee <= 12]
    for knee in knees:
        for _ in range(SEEDS):
            values = {
                n: [PLATEAU * law(shape, knee, n) * math.exp(draw.gauss(0, NOISE)) for _ in range(4)] for n in TASKS
            }
            (found,) = extrapolate(values, [asked])
            hits += found.low <= PLATEAU * law(shape, knee, asked) <= found.high
            widths += math.log(found.high / found.low)
    trials = len(knees) * SEEDS
    said = f"{shape}, {times} times the tasks: {hits / trials:.1%} have it, ends {math.exp(widths / trials):.2f} apart"
    calibration_report(f"projection, {said}")
    assert hits / trials >= 0.9


def test_inside_what_was_measured_it_is_narrow_and_has_the_truth(calibration_report: Callable[[str], None]) -> None:
    draw = random.Random(1)
    hits = trials = 0
    for shape in ("hinge", "smooth"):
        for knee in KNEES:
            for _ in range(SEEDS):
                values = {
                    n: [PLATEAU * truth(shape, knee, n) * math.exp(draw.gauss(0, NOISE)) for _ in range(4)]
                    for n in TASKS
                }
                (found,) = extrapolate(values, [12])
                hits += found.low <= PLATEAU * truth(shape, knee, 12) <= found.high
                trials += 1
                assert found.high / found.low < 1.4
    calibration_report(f"projection, between the points: {hits / trials:.1%} have it")
    assert hits / trials >= 0.88


def test_a_ceiling_bounds_every_draw() -> None:
    values = {n: [1e8 * n] * 3 for n in TASKS}
    (free,), (bound,) = extrapolate(values, [128]), extrapolate(values, [128], 5e9)
    assert free.high > 1e10 and bound.high == 5e9
