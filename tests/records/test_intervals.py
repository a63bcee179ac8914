"""A series summed over tasks, of one process and of several."""

from __future__ import annotations

import itertools
import random

from tonnage.records.intervals import sums


def series(rows: list[tuple[int, int, int, int]]) -> dict[str, list[int]]:
    names = ("start_ns", "end_ns", "task", "bytes")
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def test_tasks_that_are_sampled_at_once_are_added_interval_by_interval() -> None:
    rows = [(0, 10, 0, 5), (0, 10, 1, 6), (10, 19, 0, 7), (10, 19, 1, 8)]
    assert sums(series(rows), ("bytes",)) == [(0, 10, 11), (10, 19, 15)]
    assert sums({}, ("bytes",)) == []


def test_the_end_of_a_phase_is_told_whoever_went_on_longest() -> None:
    rows = [(0, 10, 0, 4), (0, 16, 1, 16), (16, 40, 1, 24)]
    assert sums(series(rows), ("bytes",)) == [(0, 10, 14), (10, 40, 30)]


def test_several_processes_at_a_constant_rate_make_a_constant_rate() -> None:
    rng = random.Random(4)
    rows = []
    for task in range(5):
        edges = [0, *sorted(k * 100 + rng.randrange(-20, 20) for k in range(1, 50)), 5000]
        rows += [(start, end, task, 1000 * (end - start)) for start, end in itertools.pairwise(edges)]
    found = sums(series(rows), ("bytes",))
    assert len(found) == 50
    assert all(abs(moved / (end - start) - 5000) < 1 for start, end, moved in found)


def test_no_byte_is_lost_or_counted_twice() -> None:
    rng = random.Random(5)
    for _ in range(50):
        rows = []
        for task in range(4):
            at = 0
            for _ in range(rng.randrange(1, 9)):
                end = at + rng.randrange(1, 50)
                rows.append((at, end, task, rng.randrange(1000)))
                at = end
        found = sums(series(rows), ("bytes",))
        assert sum(row[2] for row in found) == sum(row[3] for row in rows)
        assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
