"""Intervals of a median cover it at their stated rate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.analysis.statistics.intervals import LARGEST, median_interval, spread


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 15, 20])
def test_the_interval_covers_the_median_of_log_normal_noise_at_its_rate(n: int) -> None:
    random = np.random.default_rng(n)
    covered = 0
    for values in np.exp(0.2 * random.standard_normal((3000, n))):
        _, low, high, confidence = median_interval(list(values))
        covered += low <= 1.0 <= high
        assert confidence == 0.95
    assert 0.93 <= covered / 3000 <= 0.97


def test_one_value_has_no_interval_and_no_confidence() -> None:
    assert median_interval([5]) == (5.0, 5.0, 5.0, 0.0)


def test_no_value_has_no_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


@given(st.lists(st.floats(1.0, 1e12), min_size=2, max_size=30))
def test_the_median_is_inside_its_interval_and_scale_does_not_matter(values: list[float]) -> None:
    median, low, high, _ = median_interval(values)
    assert low <= median <= high
    scaled = median_interval([8 * value for value in values])
    assert scaled[:3] == pytest.approx((8 * median, 8 * low, min(8 * high, LARGEST)), rel=1e-6)


def test_order_statistics_of_six_are_nearly_the_extremes() -> None:
    _, low, high, _ = median_interval([1, 2, 3, 4, 5, 100])
    assert 1 < low < 1.5
    assert 50 < high < 100


def test_spread_is_relative_noise() -> None:
    assert spread([7]) == 0.0
    assert spread([math.exp(-0.1), math.exp(0.1)]) == pytest.approx(0.1 * math.sqrt(2))
