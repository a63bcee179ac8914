"""The median of the means of all pairs, of more values than there is memory for pairs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tonnage.analysis.load_line.estimate import curve_of
from tonnage.analysis.statistics.intervals import PAIRED_MOST, median_of_pair_means


def sorted_out(values: np.ndarray) -> float:
    i, j = np.triu_indices(len(values))
    means = np.sort((values[i] + values[j]) / 2)
    middle = len(means) // 2
    return float(means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 8, 50, 257, 402, 403])
def test_it_is_what_sorting_all_of_them_finds_to_the_last_bit(number: int) -> None:
    draw = np.random.default_rng(number)
    many = [
        np.log(1e9 * np.exp(0.02 * draw.standard_normal(number))),
        np.round(draw.standard_normal(number), 1),
        np.repeat(3.7, number),
        np.sort(draw.standard_cauchy(number)),
        np.where(draw.random(number) < 0.5, 20.0, 20.0 + 2.0**-48),
        draw.standard_normal(number) * 10.0 ** draw.integers(-12, 3, number),
    ]
    for values in many:
        assert median_of_pair_means(values) == sorted_out(values)


def test_the_level_of_very_many_repetitions_takes_no_memory_for_their_pairs() -> None:
    draw = np.random.default_rng(1)
    values = np.exp(20 + 0.03 * draw.standard_normal(200 * PAIRED_MOST))
    tracemalloc.start()
    try:
        curve = curve_of({1: values, 2: values * 2})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert abs(curve.level[0] - 20) < 0.001
    # All pairs are thousands of times as many.
    assert most < 100 * values.nbytes
