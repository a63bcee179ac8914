"""Traced calls: in which order they went, and how many bytes went when."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from tonnage.demand.job_use import Bounds
from tonnage.importers.darshan_log import Calls, _clock_s
from tonnage.importers.darshan_trace import bytes_over_time, clock_step_s, counted_order, order_of

SIZE = 4096


def calls(offsets: Sequence[int], *, ranks: Sequence[int] | None = None, length: int = SIZE) -> Calls:
    """Reads of one file."""
    count = len(offsets)
    at = np.arange(count, dtype=float)
    return Calls(
        np.ones(count, np.uint64), np.array(ranks or [0] * count), np.zeros(count, np.bool_), np.array(offsets),
        np.full(count, length), at, at + 0.5,
    )  # fmt: skip


def timed(*spans: tuple[float, float, int]) -> Calls:
    """Calls of these starts, ends and bytes."""
    starts, ends, lengths = (np.array(column) for column in zip(*spans, strict=True))
    count = len(spans)
    ids, ranks = np.ones(count, np.uint64), np.zeros(count, np.int64)
    return Calls(ids, ranks, np.ones(count, np.bool_), np.zeros(count, np.int64), lengths, starts, ends)


SHUFFLED = random.Random(7).sample(range(200), 200)


@pytest.mark.parametrize(
    ("offsets", "order"),
    [
        (range(0, 50 * SIZE, SIZE), "sequential"),
        (range(0, 50 * 16 * SIZE, 16 * SIZE), "strided"),
        ([SIZE * at * (at + 1) for at in range(50)], "forward"),
        (range(49 * SIZE, -1, -SIZE), "backward"),
        (range(98 * SIZE, -1, -2 * SIZE), "backward"),
        ([SIZE] * 50, "again"),
        ([at * SIZE for at in SHUFFLED], "random"),
        ([7 * SIZE], "sequential"),
    ],
)
def test_each_order_has_its_name(offsets: Sequence[int], order: str) -> None:
    assert order_of(calls(list(offsets)))[0] == order


def test_ranks_that_take_turns_in_one_file_each_have_their_own_order() -> None:
    """A trace has the calls of a rank together: the first of the next rank follows none."""
    two = [*range(0, 10 * SIZE, SIZE), *range(0, 10 * SIZE, SIZE)]
    order, behind, consecutive = order_of(calls(two, ranks=[0] * 10 + [1] * 10))
    assert order == "sequential" and behind == consecutive == Bounds(18 / 20, 1.0)


@pytest.mark.parametrize(
    ("behind", "consecutive", "order"),
    [
        ((0.9, 1.0), (0.9, 1.0), "sequential"),
        ((0.95, 1.0), (0.0, 0.0), "forward"),
        ((0.45, 0.55), (0.0, 0.05), "random"),
        ((0.0, 0.04), (0.0, 0.04), "backward or again"),
        ((0.0, 1.0), (0.0, 1.0), "not known"),
        ((0.4, 1.0), (0.4, 1.0), "not known"),
    ],
)
def test_counters_name_an_order_only_where_they_prove_it(
    behind: tuple[float, float], consecutive: tuple[float, float], order: str
) -> None:
    assert counted_order(Bounds(*behind), Bounds(*consecutive)) == order


def test_one_long_call_has_its_bytes_over_its_own_time() -> None:
    bins = bytes_over_time(timed((0.0, 1.0, 10**6), (1.000_001, 1.000_301, 100)))
    assert sum(one.bytes for one in bins) == 10**6 + 100
    assert max(one.bytes_per_s for one in bins) == pytest.approx(10**6, rel=0.01)


def test_calls_at_once_add_up_and_pauses_have_none() -> None:
    bins = bytes_over_time(timed((0.0, 1.0, 1000), (0.5, 1.0, 1000), (3.0, 4.000_013, 1000)))
    assert sum(one.bytes for one in bins) == 3000
    assert max(one.bytes_per_s for one in bins) == pytest.approx(3000, rel=0.1)
    assert all(one.bytes == 0 for one in bins if 1.1 < one.start_s < 2.9)


def test_no_bin_is_shorter_than_the_clock_can_tell() -> None:
    """A clock of milliseconds, and a call that it saw no time pass in: 1 MB in 1 µs would be 1 TB/s."""
    bins = bytes_over_time(timed((0.0, 0.001, 1000), (0.003, 0.003, 10**6), (0.007, 0.009, 1000)))
    assert min(one.length_s for one in bins) >= 0.01 * (1 - 1e-9)
    assert max(one.bytes_per_s for one in bins) <= 1.01 * 10**8


@pytest.mark.parametrize(("step_s", "found_s"), [(1e-3, 1e-3), (1e-6, 1e-6), (1e-9, 2.5e-7)])
def test_the_step_of_a_clock_is_seen(step_s: float, found_s: float) -> None:
    times = np.array(random.Random(3).sample(range(10**6), 300)) * step_s
    assert clock_step_s(times) == pytest.approx(found_s, rel=0.05)


def test_times_in_whole_seconds_are_one_second_less_or_more() -> None:
    assert _clock_s({"start_ns": 7 * 10**9, "end_ns": 9 * 10**9}) == 1.0
    assert _clock_s({"start_ns": 7 * 10**9 + 5, "end_ns": 9 * 10**9}) == 0.0
