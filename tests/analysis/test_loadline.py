"""The load line of curves whose truth is known. How often intervals cover it is in tests/calibration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonnage.analysis.loadline import Estimate, estimate, largest_within
from tonnage.analysis.shapes import LAWS

TASKS = (1, 2, 4, 6, 7, 8, 9, 16, 32)


def noisy(rate: Callable[[int], float], noise: float = 0.02, tasks: tuple[int, ...] = TASKS, n: int = 5) -> Estimate:
    random = np.random.default_rng(1)
    return estimate({k: list(2e9 * rate(k) * np.exp(noise * random.standard_normal(n))) for k in tasks})


def test_a_corner_is_found_where_it_is() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 7.5))
    assert found.reached
    assert (found.knee, found.knee_low, found.knee_high) == (8, 8, 8)
    assert found.plateau_low < 2e9 < found.plateau_high
    assert found.plateau == pytest.approx(2e9, rel=0.02)


def test_more_noise_gives_a_wider_interval_that_still_holds_the_knee() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 7.5), noise=0.2)
    assert found.knee_low <= 8 <= found.knee_high
    assert found.knee_high - found.knee_low > 0


def test_numbers_that_were_not_measured_stay_in_the_interval() -> None:
    found = noisy(lambda n: min(1.0, n / 5), noise=0.001, tasks=(1, 2, 8, 16, 32))
    assert found.knee_low <= 5 <= found.knee_high <= 8


@pytest.mark.parametrize("power", [1.0, 0.7, 0.5])
def test_a_curve_that_still_rises_is_not_reached(power: float) -> None:
    found = noisy(lambda n: (n / 32) ** power)
    assert not found.reached
    assert found.knee is None
    assert "rise" in found.why


def test_two_points_beyond_the_knee_are_needed() -> None:
    assert not noisy(lambda n: min(1.0, n / 7.6), tasks=(1, 2, 4, 8, 16)).reached
    assert noisy(lambda n: min(1.0, n / 7.6), tasks=(1, 2, 4, 8, 16, 32)).reached


def test_points_just_beyond_the_knee_do_not_show_that_it_is_one() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 15.5), noise=0.01, tasks=(1, 2, 4, 8, 15, 16, 17, 18))
    assert not found.reached
    assert "too close" in found.why


def test_noise_that_could_hide_a_rise_is_not_a_plateau() -> None:
    curve = {1: [60, 140], 2: [60, 150], 3: [60, 140], 4: [60, 150]}
    found = estimate({n: [10**7 * value for value in values] for n, values in curve.items()})
    assert not found.reached
    assert "too noisy to tell" in found.why


def test_a_retrograde_curve_has_its_plateau_at_the_peak() -> None:
    found = noisy(lambda n: min(1.0, n / 6) * 0.9 ** max(0, n - 8))
    assert found.reached
    assert found.declines
    assert found.knee == 6
    assert found.plateau == pytest.approx(2e9, rel=0.03)


def test_a_flat_curve_is_reached_by_one_task() -> None:
    found = noisy(lambda _: 1.0)
    assert (found.knee, found.knee_low, found.knee_high) == (1, 1, 1)


def test_the_same_values_give_the_same_answer() -> None:
    assert noisy(lambda n: min(1.0, n / 5), noise=0.2) == noisy(lambda n: min(1.0, n / 5), noise=0.2)


def test_each_law_and_its_inverse_agree() -> None:
    x = np.geomspace(0.01, 0.99, 20)
    for law, inverse in LAWS:
        assert law(inverse(x)) == pytest.approx(x)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.integers(1, 500), st.lists(st.integers(1, 10**12), min_size=1, max_size=6), min_size=1, max_size=9
    )
)
def test_any_curve_gives_an_ordered_answer(values: dict[int, list[int]]) -> None:
    found = estimate(values)
    assert 1 <= found.knee_low <= found.knee_high <= max(values)
    assert 0 < found.plateau_low <= found.plateau <= found.plateau_high
    assert (found.knee is None) == bool(found.why) == (not found.reached)
    if found.knee is not None:
        assert found.knee in values
        assert found.knee_low <= found.knee <= found.knee_high


def test_a_latency_objective_is_met_up_to_the_first_point_that_misses_it() -> None:
    latency = {1: 10, 2: 20, 4: 50, 8: 30}
    assert largest_within(latency, 30) == 2
    assert largest_within(latency, 50) == 8
    assert largest_within(latency, 5) == 0
