"""Two speeds are found where trials have them, and seldom elsewhere; so are curves that no law describes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tonnage.analysis.load_line.curve_hypotheses import nearest_law
from tonnage.analysis.load_line.estimate import curve_of, estimate
from tonnage.analysis.load_line.trial_checks import two_speeds

TASKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
SEEDS = 200
Law = Callable[[int], float]
Noise = Callable[[np.random.Generator], float]


def trials(seed: int, noise: Noise, law: Law, repetitions: int = 3) -> dict[int, list[float]]:
    random = np.random.default_rng(seed)
    return {n: [2e9 * law(n) * math.exp(noise(random)) for _ in range(repetitions)] for n in TASKS}


def corner(n: int) -> float:
    return min(1.0, n / 4)


def normal(deviation: float) -> Noise:
    return lambda random: float(deviation * random.standard_normal())


def mixed(share: float, speed: float) -> Noise:
    return lambda random: float(0.02 * random.standard_normal() + math.log(speed) * (random.random() < share))


@pytest.mark.parametrize("noise", [normal(0.002), normal(0.05), normal(0.3)], ids=["0.2 %", "5 %", "30 %"])
def test_one_speed_is_seldom_taken_for_two(noise: Noise) -> None:
    assert sum(two_speeds(trials(seed, noise, corner)) is not None for seed in range(SEEDS)) <= 0.02 * SEEDS


def test_heavy_tails_are_seldom_taken_for_two_speeds() -> None:
    def tails(random: np.random.Generator) -> float:
        return float(0.02 * random.standard_t(3))

    assert sum(two_speeds(trials(seed, tails, corner)) is not None for seed in range(SEEDS)) <= 0.05 * SEEDS


@pytest.mark.parametrize(("share", "speed"), [(0.4, 0.7), (0.6, 0.7), (0.3, 0.5)])
def test_two_speeds_are_found_and_told(share: float, speed: float) -> None:
    found = [two_speeds(trials(seed, mixed(share, speed), corner)) for seed in range(50)]
    assert sum(one is not None for one in found) >= 45
    assert all(one is None or abs(one.speed - speed) < 0.05 for one in found)


def test_no_plateau_is_claimed_of_trials_at_two_speeds() -> None:
    said = estimate(trials(1, mixed(0.4, 0.7), corner))
    assert not said.reached and "two speeds" in said.why


def test_a_few_outliers_are_no_second_speed() -> None:
    found = [two_speeds(trials(seed, mixed(0.05, 0.5), corner)) for seed in range(50)]
    assert sum(one is not None for one in found) <= 3


def test_too_few_repetitions_tell_nothing() -> None:
    assert two_speeds({1: [1.0, 2.0], 2: [1.0]}) is None
    assert two_speeds({n: [1e9, 1e9] for n in TASKS}) is None, "a model without noise"


@pytest.mark.parametrize("noise", [0.002, 0.02, 0.1])
@pytest.mark.parametrize("law", [corner, lambda n: n / (n + 3), lambda n: -math.expm1(-n / 3), lambda n: n**0.1])
def test_a_law_is_seldom_refused(law: Law, noise: float) -> None:
    found = [nearest_law(curve_of(trials(seed, normal(noise), law))) for seed in range(25)]
    assert sum(one is not None and one.chance < 0.001 for one in found) <= 1


@pytest.mark.parametrize(
    ("law", "at"),
    [
        (lambda n: corner(n) * (0.8 if n == 12 else 1.0), {12}),
        (lambda n: min(1.0, max(min(n, 2) / 4, n / 16)), {2, 3, 4, 6, 8, 12, 16}),
    ],
    ids=["dip", "stair"],
)
def test_a_curve_that_no_law_describes_is_found(law: Law, at: set[int]) -> None:
    for seed in range(10):
        found = nearest_law(curve_of(trials(seed, normal(0.02), law)))
        assert found is not None and found.chance < 0.001 and found.tasks in at
