"""Tasks over time: which task lagged, which stood still, which was done; whoever sampled them, and however many."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tonnage.report.figures.figure import Figure
from tonnage.report.sections import trials

SECOND = 10**9
TRIAL = {"setting": {"kind": "stream"}, "phase": "write", "bandwidth_bytes_per_s": 1}
Columns = dict[str, list[int]]


def _tasks(ends_s: list[int], **more: Any) -> list[dict[str, Any]]:
    """A byte a nanosecond each."""
    return [
        {"task": n, "host": "a", "start_ns": 0, "end_ns": end * SECOND, "bytes": end * SECOND, "operations": 1, **more}
        for n, end in enumerate(ends_s)
    ]


def _series(ends_s: list[int], late_ns: int = 0) -> Columns:
    """In intervals of a second; those of odd tasks begin ``late_ns`` later."""
    columns: Columns = {name: [] for name in ("start_ns", "end_ns", "task", "bytes", "operations")}
    for task, end_s in enumerate(ends_s):
        shift = late_ns * (task % 2)
        edges = [0, *(second * SECOND + shift for second in range(1, end_s)), end_s * SECOND]
        for start, end in pairwise(edges):
            for name, cell in zip(columns, (start, end, task, end - start, 1), strict=True):
                columns[name].append(cell)
    return columns


def _drawn(ends_s: list[int], columns: Columns, **more: Any) -> Figure:
    found = trials.tasks_over_time("0007-write", columns, _tasks(ends_s, **more), TRIAL)
    assert found is not None
    return found


def test_a_task_that_is_done_leaves_a_gap_and_one_that_stands_still_does_not() -> None:
    columns = _series([4, 8])
    still = columns["task"].index(1) + 2
    columns["bytes"][still] = 0
    (trace,) = _drawn([4, 8], columns).traces
    assert trace["z"] == [[1, 1, 1, 1, None, None, None, None], [1, 1, 0, 1, 1, 1, 1, 1]]
    assert trace["y"] == ["task 0 on a", "task 1 on a"]
    assert (trace["zmin"], trace["zmax"]) == (0, 1), "noise alone is not spread over all colours"
    assert trace["hovertemplate"].endswith("record 0007-write<extra></extra>")


def test_processes_that_are_sampled_at_other_instants_are_not_drawn_faster_or_slower() -> None:
    (trace,) = _drawn([6, 6], _series([6, 6], late_ns=SECOND // 3)).traces
    assert {rate for line in trace["z"] for rate in line} == {1.0}


def test_of_very_many_tasks_the_slowest_has_a_row_of_its_own_above_the_others() -> None:
    ends = [10] * 300
    tasks, columns = _tasks(ends), _series(ends)
    tasks[137]["bytes"] //= 2
    columns["bytes"] = [
        moved // 2 if task == 137 else moved for task, moved in zip(columns["task"], columns["bytes"], strict=True)
    ]
    found = trials.tasks_over_time("0007-write", columns, tasks, TRIAL)
    assert found is not None and "The 8 slowest tasks stand above" in found.caption
    (trace,) = found.traces
    assert len(trace["y"]) <= trials.MOST_ROWS
    assert trace["y"][0] == "task 137 on a" and trace["z"][0] == [0.5] * 10
    assert all(line == pytest.approx([1.0] * 10) for line in trace["z"][1:])
    assert found.table.rows[0][:3] == ("task 137 on a", "500 MB/s", "500 MB/s")


def test_a_line_of_several_modelled_tasks_is_told_so_and_divided() -> None:
    columns = _series([2, 2])
    (trace,) = _drawn([2, 2], columns, tasks=4).traces
    assert trace["y"] == ["tasks 0 to 3", "tasks 1 to 4"] and trace["z"][0] == [250, 250]


def test_one_task_and_a_phase_without_a_series_have_no_such_picture() -> None:
    assert trials.tasks_over_time("0007-write", _series([3]), _tasks([3]), TRIAL) is None
    assert trials.tasks_over_time("0007-write", {}, _tasks([3, 3]), TRIAL) is None
