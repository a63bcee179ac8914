"""The score: seconds that add up, and never a reward for load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tonnage.placement.choice import Candidate, access_s, fill, load_share, wait_s, weight
from tonnage.placement.task_caps import Demand

counts = some.floats(0, 1000)
candidates = some.builds(
    Candidate,
    host=some.just("h"),
    server=some.just("s"),
    near=some.booleans(),
    bandwidth_bytes_per_s=some.floats(1e3, 1e11),
    latency_s=some.floats(0, 1),
    slots=some.none() | some.integers(1, 64),
    busy=some.integers(0, 64),
    waiting=some.integers(0, 1000),
    slot_s=some.none() | some.floats(0, 1e5),
    line=some.none() | some.floats(1, 256),
    on_server=counts,
    placed=counts,
    pressure=some.none() | some.floats(0, 1),
)
demands = some.builds(
    Demand, bytes=some.integers(0, 10**13), operations=some.integers(0, 10**7), io_share=some.floats(0, 1)
)


def whole_s(demand: Demand, one: Candidate) -> float:
    access = access_s(demand, one)
    return access + access * load_share(demand, one) + wait_s(one, slots=1, unknown_slot_s=60)


@given(demands, candidates, some.sampled_from(["on_server", "placed"]), counts)
def test_more_tasks_on_a_server_never_lower_a_score(demand: Demand, one: Candidate, name: str, more: float) -> None:
    worse = replace(one, **{name: getattr(one, name) + more})
    assert whole_s(demand, worse) >= whole_s(demand, one)
    assert fill(demand, worse) >= fill(demand, one)


@given(demands, candidates, some.sampled_from(["busy", "waiting"]), some.integers(0, 100))
def test_a_longer_queue_never_lowers_a_score(demand: Demand, one: Candidate, name: str, more: int) -> None:
    assert whole_s(demand, replace(one, **{name: getattr(one, name) + more})) >= whole_s(demand, one)


@given(demands, candidates, some.floats(0, 1))
def test_an_index_never_lowers_a_score(demand: Demand, one: Candidate, pressure: float) -> None:
    calm = replace(one, pressure=None if one.pressure is None else min(pressure, one.pressure))
    assert whole_s(demand, calm) <= whole_s(demand, one)


@given(demands, candidates, some.floats(1, 100), some.floats(0, 1))
def test_a_faster_way_to_the_data_is_never_worse(demand: Demand, one: Candidate, faster: float, less: float) -> None:
    closer = replace(
        one, bandwidth_bytes_per_s=one.bandwidth_bytes_per_s * faster, latency_s=one.latency_s * less, near=True
    )
    assert whole_s(demand, closer) <= whole_s(demand, one) * (1 + 1e-12)


def test_access_is_bytes_over_bandwidth_and_operations_times_latency(candidate: Callable[..., Candidate]) -> None:
    one = candidate(bandwidth_bytes_per_s=5e8, latency_s=0.001)
    assert access_s(Demand(bytes=10**9, operations=500), one) == pytest.approx(2 + 0.5)


def test_load_costs_nothing_up_to_the_line_and_its_share_beyond(
    candidate: Callable[..., Candidate], demand: Demand
) -> None:
    assert load_share(demand, candidate(line=8, on_server=7)) == 0
    assert load_share(demand, candidate(line=8, on_server=15)) == pytest.approx(1.0)
    half = replace(demand, io_share=0.5)
    assert load_share(half, candidate(line=8, on_server=7.5)) == 0


def test_indices_count_where_they_tell_more_than_the_scheduler(
    candidate: Callable[..., Candidate], demand: Demand
) -> None:
    busy = candidate(line=8, on_server=2, pressure=1.0, placed=3)
    assert fill(demand, busy) == pytest.approx((8 + 3 + 1) / 8)
    assert fill(demand, replace(busy, pressure=0.1)) == pytest.approx((2 + 3 + 1) / 8)


def test_the_wait_is_the_turns_before_it(candidate: Callable[..., Candidate]) -> None:
    full = candidate(busy=8, waiting=3, slot_s=20)
    assert wait_s(full, slots=1, unknown_slot_s=60) == pytest.approx(4 * 20 / 8)
    assert wait_s(replace(full, slot_s=None), slots=1, unknown_slot_s=60) == pytest.approx(4 * 60 / 8)
    assert wait_s(full, slots=4, unknown_slot_s=60) == pytest.approx(4 * 20 / 2)
    assert wait_s(replace(full, busy=7), slots=1, unknown_slot_s=60) == 0
    assert wait_s(replace(full, busy=7), slots=2, unknown_slot_s=60) > 0
    assert wait_s(replace(full, slots=None), slots=1, unknown_slot_s=60) == 0


def test_a_placement_fades() -> None:
    assert weight(0, 60) == weight(-5, 60) == 1
    assert weight(60, 60) == pytest.approx(exp(-1))
    assert weight(1, 0) == 0
