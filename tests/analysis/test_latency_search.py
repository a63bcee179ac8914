"""What is measured next for a latency objective."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tonnage.analysis.load_line.search import LatencySearch, RateSearch, rounded

DOUBLINGS = (1, 2, 4, 8, 16, 32)


def searched(latency: Callable[[int], float], objective: int, noise: float, trials: int = 20) -> dict[int, list[float]]:
    """What a search measured of a curve after the doublings."""
    chance = random.Random(1)
    search = LatencySearch("write", 32, {"p99_ns": objective}, 7)
    found = {n: [latency(n) * chance.lognormvariate(0, noise)] for n in DOUBLINGS}
    for _ in range(trials):
        tasks = search.next({"p99_ns": found})
        if tasks is None:
            break
        found.setdefault(tasks, []).append(latency(tasks) * chance.lognormvariate(0, noise))
    return found


def test_nothing_is_asked_for_before_the_doublings_are_measured() -> None:
    assert LatencySearch("write", 32, {"p99_ns": 5}, 7).next({"p99_ns": {1: [1.0], 32: [9.0]}}) is None


@pytest.mark.parametrize("truth", [5, 11, 27])
def test_a_quiet_curve_is_bisected_to_neighbours_which_are_repeated(truth: int) -> None:
    found = searched(lambda n: 100.0 * n, 100 * truth + 50, 0.0)
    assert len(found[truth]) >= 3 and len(found[truth + 1]) >= 3
    assert sum(map(len, found.values())) < 26, "it ends by itself"


def test_a_noisy_curve_is_repeated_around_the_objective() -> None:
    found = searched(lambda n: 100.0 * n, 1150, 0.2)
    near = sum(len(values) for n, values in found.items() if 6 <= n <= 20)
    assert near >= 16, "eighteen of twenty trials were free to go there"


@pytest.mark.parametrize(("objective", "end"), [(10, 1), (10_000, 32)])
def test_an_objective_off_the_curve_has_its_end_repeated(objective: int, end: int) -> None:
    assert len(searched(lambda n: 100.0 * n, objective, 0.02)[end]) >= 3


def test_rates_are_bracketed_between_measured_ones() -> None:
    search, found = RateSearch("write", {"p99_ns": 100}, 7), dict[int, list[float]]()
    for _ in range(12):
        rate = search.next({"p99_ns": found} if found else {}, 2e9)
        assert rate == rounded(rate) and rate <= 2.4e9
        found.setdefault(rate, []).append(50.0 if rate < 1.7e9 else 500.0)
    below, beyond = max(n for n in found if n < 1.7e9), min(n for n in found if n >= 1.7e9)
    assert beyond / below < 1.1 and min(len(found[below]), len(found[beyond])) >= 2
