"""Lines of ``workflow.jsonl``: what follows from a task's instants, and what a run that was killed keeps of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tonnage.records import RunWriter, workflow_lines
from tonnage.records.workflow_jsonl import workflow_contradictions

LINE = {"trial": 0, "record": "0000-command"}


def task(number: int, *instants: int | None, after: list[int] | None = None, copy: int = 0) -> dict[str, Any]:
    times = dict(zip(("submit_ns", "start_ns", "end_ns", "complete_ns"), instants, strict=True))
    return {"copy": copy, "task": number, "name": "a", "process": "a", "status": "ok", "after": after, **times}


def test_a_gap_counts_from_the_last_task_that_one_waits_for() -> None:
    lines = workflow_lines(LINE, [task(0, 0, 0, 5, 6), task(1, 0, 1, 9, 10), task(2, 13, 14, 20, 22, after=[0, 1])])
    assert [(line["wait_ns"], line["notice_ns"], line["gap_ns"]) for line in lines] == [
        (0, 1, None),
        (1, 1, None),
        (1, 2, 3),
    ]
    assert lines[0]["record"] == "0000-command" and list(workflow_contradictions(lines)) == []


def test_what_nobody_saw_gives_no_figure_and_two_clocks_none_below_zero() -> None:
    told = [task(0, None, 3, None, 4), task(1, 5, 4, 9, 8, after=[0]), task(2, 3, 4, 5, 6, after=[0])]
    lines = workflow_lines(LINE, told)
    assert [(line["wait_ns"], line["notice_ns"], line["gap_ns"]) for line in lines] == [
        (None, None, None),
        (0, 0, 1),
        (1, 1, 0),
    ]


def test_each_copy_waits_for_tasks_of_its_own() -> None:
    first = [task(0, 0, 0, 1, 1), task(1, 4, 4, 5, 5, after=[0])]
    second = [task(0, 0, 0, 2, 2, copy=1), task(1, 4, 4, 5, 5, after=[0], copy=1)]
    lines = workflow_lines(LINE, [*first, *second])
    assert [line["gap_ns"] for line in lines] == [None, 3, None, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gap_ns": 1}, "gap_ns of task 1 of copy 0 is 1, and 2 from its instants"),
        ({"task": 5}, "the tasks of copy 0 are not numbered from 0"),
        ({"after": [9]}, "task 1 of copy 0 reads from a task that is not there"),
    ],
)
def test_a_line_that_contradicts_itself_is_told(change: dict[str, Any], said: str) -> None:
    lines = workflow_lines(LINE, [task(0, 0, 0, 1, 1), task(1, 3, 4, 5, 6, after=[0])])
    (found,) = workflow_contradictions([lines[0], {**lines[1], **change}])
    assert found.endswith(said)


def test_tasks_of_a_trial_without_a_line_and_a_torn_line_go_when_a_run_is_taken_up(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", {"state": "running"})
    file = tmp_path / "run" / "workflow.jsonl"
    (line,) = workflow_lines(LINE, [task(0, 0, 0, 1, 1)])
    file.write_text(json.dumps(line) + "\n" + json.dumps(line)[:30])
    RunWriter.reopen(tmp_path / "run")
    assert file.read_text() == ""
