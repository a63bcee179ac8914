"""How many tasks of a load line a rate stands for."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from tonnage.placement.task_caps import Demand, Plateau

rates = some.integers(1, 10**11)


def test_a_part_of_the_plateau_is_that_part_of_the_line_where_one_tasks_rate_is_not_known() -> None:
    plateau = Plateau(tasks=8, bytes_per_s=2 * 10**9)
    assert [plateau.tasks_of(rate) for rate in (0, 25 * 10**7, 10**9, 2 * 10**9)] == [0, 1, 4, 8]


def test_one_stream_is_one_task_however_much_of_the_plateau_it_gives() -> None:
    plateau = Plateau(tasks=2, bytes_per_s=286, single_bytes_per_s=250)
    assert plateau.tasks_of(250) == plateau.tasks_of(260) == 1
    assert plateau.tasks_of(125) == 0.5
    assert plateau.tasks_of(286) == 2


def test_between_one_task_and_the_plateau_tasks_grow_with_the_rate() -> None:
    plateau = Plateau(tasks=5, bytes_per_s=1000, single_bytes_per_s=400)
    assert plateau.tasks_of(700) == pytest.approx(3)
    assert plateau.tasks_of(1000) == 5
    assert plateau.tasks_of(1500) == pytest.approx(7.5), "beyond it evenly with the rate"


def test_a_line_that_rises_evenly_gives_the_same_with_and_without_one_tasks_rate() -> None:
    even = Plateau(tasks=8, bytes_per_s=800, single_bytes_per_s=100)
    for rate in (50, 100, 200, 400, 799):
        assert even.tasks_of(rate) == pytest.approx(Plateau(tasks=8, bytes_per_s=800).tasks_of(rate))


@given(some.integers(1, 1000), rates, some.just(0) | rates, some.floats(0, 1e12), some.floats(1, 2))
def test_more_bytes_are_never_fewer_tasks_and_a_copy_asks_never_more_than_the_line(
    tasks: int, rate: int, single: int, less: float, times: float
) -> None:
    plateau = Plateau(tasks=tasks, bytes_per_s=rate, single_bytes_per_s=single)
    assert 0 <= plateau.tasks_of(less) <= plateau.tasks_of(less * times) + 1e-9
    asked = Demand(bytes=1, operations=1, io_share=0.0, bytes_per_s=int(less * times), measured=True).against(plateau)
    assert asked.tasks <= tasks
    assert plateau.tasks_of(less) <= less / rate * tasks * (1 + 1e-9)


@given(some.integers(2, 64), rates, some.floats(0.2, 1.0), some.floats(0.3, 1.0))
def test_tasks_of_a_curve_that_bends_are_not_told_as_fewer_than_they_are(
    tasks: int, rate: int, bend: float, at: float
) -> None:
    # throughput(n) = plateau × (n ÷ line)^bend, a family that the rule does not contain.
    number = max(1.0, tasks * at)
    single = int(rate * (1 / tasks) ** bend)
    assume(single > 0)
    given_rate = rate * (number / tasks) ** bend
    assume(given_rate > 1.1 * single)
    plateau = Plateau(tasks=tasks, bytes_per_s=rate, single_bytes_per_s=single)
    assert plateau.tasks_of(given_rate) >= number * 0.99 - tasks / rate
