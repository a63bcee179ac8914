"""Series of runs without a change are given one no more often than stated; planted ones are found, with their dates."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import median

import pytest
from tonnage.analysis.compare.level_change import segments

from .chance import seeds, within_chance
from .daily_runs import days

SERIES = seeds(400)
ALLOWED = 0.05 + 0.03
"""The stated rate, and what 400 series may be off by (2.7 standard errors)."""


def seldom(given: int) -> bool:
    """Whether no more series were given a change than is stated, or than chance gives of so few."""
    return given / SERIES <= ALLOWED or within_chance(given, SERIES)


def runs(
    draw: random.Random, repetitions: list[int], between: float, within: float, shift: Callable[[int], float]
) -> list[list[float]]:
    """Of each run the rates of its repetitions: a level that varies from run to run, and noise about it."""
    found = []
    for number, count in enumerate(repetitions):
        level = 2e9 * shift(number) * math.exp(draw.gauss(0, between))
        found.append([level * math.exp(draw.gauss(0, within)) for _ in range(count)])
    return found


@pytest.mark.parametrize(
    ("repetitions", "between", "within"),
    [
        ([3] * 4, 0.03, 0.1), ([5] * 8, 0.05, 0.05), ([1] * 24, 0.0, 0.1), ([1, 3, 8] * 4, 0.0, 0.2),
        ([1, 8] * 6, 0.1, 0.1),
    ],
)  # fmt: skip
def test_where_nothing_changed_at_most_one_series_in_twenty_is_given_a_change(
    repetitions: list[int], between: float, within: float, calibration_report: Callable[[str], None]
) -> None:
    draw = random.Random(len(repetitions))
    given = sum(len(segments(runs(draw, repetitions, between, within, lambda _: 1.0)).steps) > 0 for _ in range(SERIES))
    said = f"{len(repetitions)} runs, {between:.0%} between and {within:.0%} within"
    calibration_report(f"no change, {said}: {given / SERIES:.1%} given one")
    assert seldom(given)


@pytest.mark.parametrize(
    ("count", "at", "ratio", "least"), [(8, 4, 0.75, 0.85), (12, 11, 0.75, 0.8), (24, 12, 0.85, 0.8)]
)
def test_a_planted_change_is_found_and_its_date_and_ratio_are_within_their_intervals(
    count: int, at: int, ratio: float, least: float, calibration_report: Callable[[str], None]
) -> None:
    draw = random.Random(count * at)
    found = more = placed = covered = 0
    for _ in range(SERIES):
        steps = segments(runs(draw, [5] * count, 0.03, 0.05, lambda number: ratio if number >= at else 1.0)).steps
        if steps:
            nearest = min(steps, key=lambda step: abs(step.at - at))
            found, more = found + 1, more + (len(steps) > 1)
            placed += nearest.low <= at <= nearest.high
            covered += nearest.ratio_low <= ratio <= nearest.ratio_high
    told = (
        f"found {found / SERIES:.1%}, date {placed / found:.1%}, ratio {covered / found:.1%}, more {more / SERIES:.1%}"
    )
    calibration_report(f"{ratio} from run {at} of {count} on: {told}")
    assert found / SERIES >= least
    assert placed / found >= 0.93 and covered / found >= 0.93
    assert more / SERIES <= 0.1


def test_a_change_and_its_taking_back_are_both_found() -> None:
    draw = random.Random(2)
    samples = runs(draw, [5] * 20, 0.02, 0.05, lambda number: 0.7 if 8 <= number < 13 else 1.0)
    stretches, steps, _ = segments(samples)
    assert [step.at for step in steps] == [8, 13]
    assert steps[0].ratio < 0.9 < 1.1 < steps[1].ratio
    assert [(stretch.first, stretch.last) for stretch in stretches] == [(0, 7), (8, 12), (13, 19)]


def test_no_change_is_given_whose_interval_holds_no_change() -> None:
    """Both ends of a stretch are found together: of a late drop the other end was once an unplanted rise."""
    levels = [68.891, 76.112, 71.255, 72.967, 73.513, 73.228, 75.622, 71.215, 80.681, 76.826, 78.767, 72.383, 86.533]
    levels += [85.875, 86.448, 80.045, 89.485, 82.036, 84.422, 89.204, 81.503, 90.849, 82.053, 70.1]
    found = segments([[3e10 / level] for level in levels])
    assert all(step.ratio_high < 1 or step.ratio_low > 1 for step in found.steps)
    assert len(found.stretches) == len(found.steps) + 1
    draw = random.Random(7)
    for _ in range(SERIES):
        steps = segments(runs(draw, [3] * 24, 0.05, 0.03, lambda number: 0.9 if number >= 12 else 1.0)).steps
        assert all(step.ratio_high < 1 or step.ratio_low > 1 for step in steps)


def test_one_odd_run_in_the_middle_is_no_change_and_the_newest_run_may_be_one() -> None:
    draw = random.Random(3)
    odd = runs(draw, [5] * 12, 0.02, 0.03, lambda number: 0.5 if number == 6 else 1.0)
    assert segments(odd).steps == ()
    newest = runs(draw, [5] * 12, 0.02, 0.03, lambda number: 0.5 if number == 11 else 1.0)
    assert [step.at for step in segments(newest).steps] == [11]


def test_five_runs_and_equal_levels_show_nothing() -> None:
    assert segments([[1.0, 1.01], [1.0, 1.02], [1.01, 1.0], [9.0, 9.1], [9.1, 9.2]])[1:] == ((), None)
    assert segments([[2.0]] * 9)[1:] == ((), None)


@pytest.mark.parametrize("correlation", [0.4, 0.7])
@pytest.mark.parametrize("count", [6, 12, 30])
def test_neighbouring_runs_that_are_alike_are_no_change(
    count: int, correlation: float, calibration_report: Callable[[str], None]
) -> None:
    draw, given = random.Random(count), 0
    for _ in range(SERIES):
        levels = days(draw, count, 0.05, correlation)
        samples = [[math.exp(level + draw.gauss(0, 0.03)) for _ in range(3)] for level in levels]
        given += len(segments(samples).steps) > 0
    calibration_report(f"no change, {count} runs, correlation {correlation}: {given / SERIES:.1%} given one")
    assert seldom(given)


def test_the_runs_that_are_said_to_show_a_change_do_so_about_four_times_of_five() -> None:
    draw = random.Random(4)

    def series(count: int) -> list[list[float]]:
        return [[math.exp(draw.gauss(0, 0.04) - (0.16 if number >= count // 2 else 0))] for number in range(count)]

    told = [found.runs_to_show for _ in range(100) if not (found := segments(series(10))).steps]
    needed = median(number for number in told if number is not None)
    found = sum(len(segments(series(round(needed))).steps) > 0 for _ in range(100))
    assert 10 < needed <= 40 and found >= 70
