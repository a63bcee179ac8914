"""Axes name what was tried, as far as the names fit."""

from __future__ import annotations

from itertools import pairwise
from math import log10

import pytest
from tonnage.report.figures.axes import ratio_axis, tasks_axis

TELEPHONE = 220
"""Pixels of an axis on a screen of 400."""
DIGIT = 6.5
"""Pixels of a digit of a tick."""


@pytest.mark.parametrize(
    "tried",
    [
        [1],
        [1, 2, 3, 4],
        [1, 2, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32],
        [2**power for power in range(11)],
        [10, 30, 100, 300, 1000, 3000, 100_000],
    ],
)
def test_the_numbers_of_tasks_on_an_axis_do_not_touch_each_other_on_a_telephone(tried: list[int]) -> None:
    axis = tasks_axis(tried)
    least, most = axis["range"]
    places = [(log10(tasks) - least) / (most - least) * TELEPHONE for tasks in axis["tickvals"]]
    named = list(zip(places, axis["tickvals"], strict=True))
    for (place, tasks), (after, more) in pairwise(named):
        assert after - place > DIGIT * (len(str(tasks)) + len(str(more))) / 2, (tasks, more)
    assert tried[0] in axis["tickvals"]


@pytest.mark.parametrize(("lowest", "highest"), [(0.7, 1), (0.05, 120), (0.9, 1.1), (0.01, 100), (1, 3)])
def test_the_ratios_on_an_axis_do_not_touch_each_other_and_have_1_among_them(lowest: float, highest: float) -> None:
    axis = ratio_axis("ratio", lowest, highest)
    least, most = axis["range"]
    places = [(log10(ratio) - least) / (most - least) * TELEPHONE for ratio in axis["tickvals"]]
    assert all(after - place > 2.5 * DIGIT for place, after in pairwise(places)) and 1 in axis["tickvals"]
    assert len(places) > 2
