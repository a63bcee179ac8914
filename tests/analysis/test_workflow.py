"""Where a workflow's time went: every instant belongs to one part, and the parts add up to the elapsed time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonnage.analysis.workflow import PARTS, critical_path, spans


def task(submit: int | None, start: int | None, end: int | None, complete: int | None, **more: Any) -> dict[str, Any]:
    instants = {"submit_ns": submit, "start_ns": start, "end_ns": end, "complete_ns": complete}
    return {"status": "ok", "after": None, "run_ns": None, **instants, **more}


def parts(tasks: list[dict[str, Any]], begin: int, end: int) -> list[tuple[str, int, int]]:
    return [(span.part, span.begin_ns, span.end_ns) for span in spans(tasks, begin, end)]


def test_a_chain_shows_the_engine_between_its_tasks() -> None:
    chain = [task(10, 15, 40, 45), task(50, 52, 60, 65)]
    assert parts(chain, 0, 100) == [
        ("starting", 0, 10),
        ("queued", 10, 15),
        ("running", 15, 40),
        ("noticing", 40, 45),
        ("deciding", 45, 50),
        ("queued", 50, 52),
        ("running", 52, 60),
        ("noticing", 60, 65),
        ("ending", 65, 100),
    ]


def test_while_one_task_runs_nothing_else_counts() -> None:
    assert parts([task(0, 0, 50, 50), task(10, 30, 40, 45)], 0, 50) == [("running", 0, 50)]


def test_a_task_that_nobody_saw_end_ran_to_the_end_and_a_cached_one_not_at_all() -> None:
    assert parts([task(5, 10, None, None)], 0, 20) == [("starting", 0, 5), ("queued", 5, 10), ("running", 10, 20)]
    assert parts([task(5, 10, 15, 15, status="cached")], 0, 20) == [("starting", 0, 20)]
    assert parts([], 0, 20) == [("starting", 0, 20)]


INSTANT = st.none() | st.integers(-10, 120)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(INSTANT, INSTANT, INSTANT, INSTANT), max_size=8))
def test_the_parts_cover_the_whole_time_once_whatever_the_instants(instants: list[tuple[int, int, int, int]]) -> None:
    found = parts([task(*several) for several in instants], 0, 100)
    assert found[0][1] == 0 and found[-1][2] == 100
    assert all(before[2] == after[1] for before, after in pairwise(found))
    assert all(part in PARTS and begin < end for part, begin, end in found)


def test_the_critical_path_is_what_the_last_task_waited_for_longest() -> None:
    tasks = [
        task(0, 0, 10, 10, after=[]),
        task(0, 0, 30, 30, after=[]),
        task(31, 31, 40, 40, after=[0, 1]),
        task(11, 11, 20, 20, after=[0]),
    ]
    assert critical_path(tasks) == [tasks[1], tasks[2]]


@pytest.mark.parametrize("after", [None, [0], [1]])
def test_a_path_that_is_unknown_is_empty_and_one_in_a_circle_ends(after: list[int] | None) -> None:
    tasks = [task(0, 0, 10, 10, after=after), task(10, 10, 20, 20, after=after)]
    assert len(critical_path(tasks)) == (0 if after is None else 2 if after == [0] else 1)
