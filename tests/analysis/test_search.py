"""What is measured next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from tonnage.analysis.load_line.estimate import estimate
from tonnage.analysis.load_line.search import Search


@dataclass(frozen=True)
class MeasuredLoad:
    tasks: int
    values: list[int]


def hunt(
    rate: Callable[[int], float], trials: int = 60, noise: float = 0.0, max_tasks: int = 64, seed: int = 1
) -> list[int]:
    """The numbers of tasks in the order they were asked for."""
    random = np.random.default_rng(seed)
    search, asked = Search("write", max_tasks, seed), []
    values: dict[int, list[int]] = {}
    while (tasks := search.next([MeasuredLoad(n, v) for n, v in values.items()], trials - len(asked))) is not None:
        asked.append(tasks)
        values.setdefault(tasks, []).append(int(2e9 * rate(tasks) * np.exp(noise * random.standard_normal())))
    return asked


def test_each_doubling_is_measured_once_before_anything_is_repeated() -> None:
    assert sorted(hunt(lambda n: min(1.0, n / 4))[:7]) == [1, 2, 4, 8, 16, 32, 64]


def test_between_doublings_it_looks_where_a_stair_could_hide() -> None:
    asked = hunt(lambda n: min(1.0, n / 16))
    assert {12, 24, 48} <= set(asked)
    assert not {3, 6} & set(asked), "twice what 4 tasks do is half of what was seen"


def test_the_limit_itself_is_measured_first_and_never_exceeded() -> None:
    asked = hunt(lambda n: n / 24, max_tasks=24)
    assert asked[0] == max(asked) == 24
    assert sorted(asked[:6]) == [1, 2, 4, 8, 16, 24]


@pytest.mark.parametrize("max_tasks", [1, 2, 3, 31])
def test_any_limit_is_looked_at(max_tasks: int) -> None:
    assert hunt(lambda n: min(1.0, n / 2), max_tasks=max_tasks, noise=0.02)[0] == max_tasks


@pytest.mark.parametrize("knee", [1, 3, 5, 11, 13])
def test_it_ends_with_the_knee_and_its_neighbour_below_measured(knee: int) -> None:
    asked = hunt(lambda n: min(1.0, 0.95 * n / (knee - 0.5)), noise=0.005)
    assert {knee, max(1, knee - 1)} <= set(asked)
    assert len(asked) < 60, "it stops when it knows, not when the budget is spent"


@pytest.mark.parametrize("trials", [0, 1, 3, 12, 25])
def test_it_never_asks_for_more_than_is_left(trials: int) -> None:
    assert len(hunt(lambda n: min(1.0, n / 6), trials=trials, noise=0.2)) <= trials


def test_a_small_budget_still_gives_an_answer() -> None:
    asked = hunt(lambda n: min(1.0, n / 6), trials=25, noise=0.05)
    assert len(asked) == 25
    assert min(asked.count(n) for n in set(asked)) >= 2


def test_the_same_seed_asks_the_same_and_rounds_are_not_in_order() -> None:
    first = hunt(lambda n: min(1.0, n / 6), noise=0.1)
    assert first == hunt(lambda n: min(1.0, n / 6), noise=0.1)
    later = first[6:]
    assert later != sorted(later)


def test_beside_a_peak_it_looks_on_both_sides() -> None:
    asked = hunt(lambda n: min(1.0, n / 12) * 0.96 ** max(0, n - 12), noise=0.01)
    assert {n for n in asked if 8 < n < 16}


def test_what_it_found_is_the_load_line() -> None:
    random = np.random.default_rng(3)
    values: dict[int, list[int]] = {}
    for tasks in hunt(lambda n: min(1.0, 0.95 * n / 4.5), noise=0.02, seed=3):
        values.setdefault(tasks, []).append(
            int(2e9 * min(1.0, 0.95 * tasks / 4.5) * np.exp(0.02 * random.standard_normal()))
        )
    assert estimate(values).knee == 5
