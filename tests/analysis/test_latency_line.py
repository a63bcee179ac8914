"""Where a percentile of the latency passes an objective, and what is claimed of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.analysis.load_line.latency_line import Plateau, crossing, latency_line

MS = 10**6


def trials(level: float, noise: float = 0.004) -> list[float]:
    """Four trials around a level."""
    return [level * (1 + noise * k) for k in (-1.0, 1.0, 0.5, -0.5)]


def answer(levels: Mapping[int, Sequence[float]], objective: float = 10.0, operations: int = 5000, **more: Any):  # type: ignore[no-untyped-def]
    """Of latencies in milliseconds."""
    waits = {
        load: [{"count": operations, "p99_ns": round(value * MS)} for value in values]
        for load, values in levels.items()
    }
    return latency_line("p99_ns", round(objective * MS), waits, **more)


def test_the_answer_is_between_what_is_shown_to_meet_it_and_what_is_shown_not_to() -> None:
    found = answer({n: trials(float(n)) for n in (1, 2, 4, 8, 9, 11, 12, 16)})
    assert (found.shown, found.low, found.largest, found.high, found.exceeds) == (True, 9, 9, 10, 11)
    assert found.why == "up to 9 tasks [9, 10] keep p99 within 10 ms, of the numbers measured"


def test_where_all_smaller_numbers_were_measured_the_sentence_needs_no_bound() -> None:
    assert answer({n: trials(float(n)) for n in range(1, 13)}).why == "up to 10 tasks [9, 10] keep p99 within 10 ms"


def test_where_one_task_does_not_meet_it_the_floor_is_told() -> None:
    found = answer({n: trials(20.0 + n) for n in (1, 2, 4)})
    assert (found.shown, found.low, found.largest, found.high) == (True, 0, 0, 0)
    assert found.why.startswith("not even 1 task keeps p99 within 10 ms: 21 ms [20.9 ms, 21.1 ms] was measured")


def test_where_the_largest_number_meets_it_no_upper_end_is_claimed() -> None:
    found = answer({n: trials(1.0 + n) for n in (1, 2, 4)})
    assert (found.shown, found.low, found.largest, found.high) == (True, 4, 4, None)
    assert found.why == "at least 4 tasks, the largest measured, keep p99 within 10 ms"


def test_a_rate_that_is_more_than_the_storage_does_keeps_no_objective() -> None:
    """Its queue grows; that a short trial ends before it is long says nothing of the storage."""
    rates = {50_000_000: trials(2.0) * 3, 56_000_000: trials(6.0) * 3}
    found = answer(rates, rates_with=1, plateau=Plateau(50e6, 50e6, 51e6))
    assert (found.shown, found.low, found.largest, found.high) == (True, 50_000_000, 50_000_000, 51_000_000)
    found = answer(rates, rates_with=1, plateau=Plateau(53e6, 55e6, 57e6))
    assert (found.shown, found.low, found.largest, found.high) == (True, 53_000_000, 55_000_000, 57_000_000)


def test_a_single_trial_near_the_objective_shows_nothing() -> None:
    found = answer({1: [9.0], 2: [9.5], 4: [10.4]})
    assert not found.shown
    assert found.why.startswith("not shown how many tasks keep p99 within 10 ms: ")


def test_trials_of_too_few_operations_tell_nothing_of_a_percentile() -> None:
    found = answer({n: trials(float(n)) for n in (1, 2, 4, 8, 16)}, operations=149)
    assert (found.shown, found.low, found.high) == (False, 0, None)
    assert "a trial has 149 operations, and p99 needs 150" in found.why


def test_an_objective_below_every_operation_is_met_by_none_however_few_they_are() -> None:
    waits = {n: [{"count": 5, "min_ns": 2 * MS, "p99_ns": 3 * MS}] for n in (1, 2, 4)}
    found = latency_line("p99_ns", MS, waits)
    assert (found.shown, found.low, found.high) == (True, 0, 0)
    assert found.why == "not even 1 task keeps p99 within 1 ms: 3 ms was measured"


def test_a_latency_that_falls_is_told_and_no_load_is_judged_by_larger_ones() -> None:
    stair = {4: trials(4.0), 8: trials(8.0), 12: trials(12.0), 16: trials(16.0), 20: trials(9.0), 32: trials(20.0)}
    found = answer(stair)
    assert (found.low, found.largest, found.high) == (8, 8, 31)
    assert "latency falls from 16 ms" in found.why


def test_what_most_trials_do_counts_and_not_their_mean() -> None:
    """Two of five trials are far slower: the median is within the objective, the mean is not."""
    two_kinds = [9.0, 9.0, 9.0, 30.0, 30.0]
    assert crossing({1: [1.0, 1.0, 1.0], 8: two_kinds, 16: two_kinds}, 10.0).shown_above is None


def test_trials_at_two_speeds_on_both_sides_of_the_objective_show_nothing_and_on_one_side_they_do_not_matter() -> None:
    noise = random.Random(1)

    def two_speeds(middle: float) -> list[float]:
        return [middle * noise.uniform(0.99, 1.01) * (1.5 if number % 2 else 1.0) for number in range(6)]

    near = {1: two_speeds(2.0), 4: two_speeds(4.0), 8: two_speeds(8.0), 16: two_speeds(16.0)}
    found = answer(near)
    assert (found.shown, found.low, found.high) == (False, 0, None)
    assert "equal trials ran at two speeds" in found.why and "12 of 24 waited" in found.why, found.why
    far = {n: values for n, values in near.items() if n != 8}
    assert answer(far).shown, answer(far).why


def test_offered_rates_are_answered_in_bytes_per_second_and_as_a_share() -> None:
    rates = {10**9: trials(5.0), 15 * 10**8: trials(6.0), 19 * 10**8: trials(30.0, 0.2), 21 * 10**8: trials(90.0, 0.2)}
    found = answer(rates, rates_with=8, plateau=Plateau(1.95e9, 2e9, 2.05e9))
    assert (found.load, found.tasks, found.plateau_share) == ("bandwidth_bytes_per_s", 8, 0.75)
    assert (found.shown, found.low, found.high) == (True, 15 * 10**8, 19 * 10**8)
    assert (
        "up to 1.5 GB/s offered to 8 tasks [1.5 GB/s, 1.9 GB/s] keeps p99 within 10 ms (75 % of the plateau)"
        in found.why
    )


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_a_level_that_just_exceeds_it_everywhere_is_seldom_shown_to_meet_it(noise: float) -> None:
    chance = random.Random(4)
    wrong = 0
    for _ in range(300):
        flat = {n: [10.001 * chance.lognormvariate(0, noise) for _ in range(3)] for n in (1, 2, 4, 8, 16, 32)}
        wrong += crossing(flat, 10.0).shown_within is not None
    assert wrong <= 0.05 * 300


@given(
    st.dictionaries(st.integers(1, 64), st.lists(st.floats(1, 1e9), min_size=1, max_size=5), min_size=1, max_size=8),
    st.floats(1, 1e9),
)
def test_any_latencies_give_an_ordered_answer(values: dict[int, list[float]], objective: float) -> None:
    found = crossing(values, objective)
    assert found.meets is None or found.exceeds is None or found.meets < found.exceeds
    assert {found.meets, found.exceeds, found.shown_within, found.shown_above} <= {None, *values}
