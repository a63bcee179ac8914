"""Trials that were too short to tell a rate give no load line, and say so."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.analysis.load_line.trial_checks import too_short
from tonnage.records import Trials

SHORT_NS = 750_000_000


def lines(tasks: int, operations: int, loop: int | None, *, ended: str = "time", elapsed_ns: int = SHORT_NS) -> Trials:
    line: dict[str, Any] = {
        "trial": 0, "record": "0000-write", "setting": {"tasks": tasks, "queue_depth": 1, "time_limit_ns": SHORT_NS},
        "stop_reason": ended, "operations": operations, "loop_bytes_per_s": loop, "elapsed_ns": elapsed_ns,
        "latency": {"p50_ns": 1_600_000_000},
    }  # fmt: skip
    return Trials.of([line, line])


@pytest.mark.parametrize(("operations", "loop", "told"), [(37, None, True), (37, 10**7, False), (96, None, False)])
def test_tasks_that_hardly_did_more_than_their_first_operation(operations: int, loop: int | None, told: bool) -> None:
    why = too_short({1: lines(1, 90, 10**7), 32: lines(32, operations, loop)})
    assert why.startswith("an operation with 32 tasks takes 1.6 s, and a trial 750 ms: too short") == told
    assert bool(why) == told


@pytest.mark.parametrize(("elapsed_ns", "told"), [(800_000, True), (100_000_000, False)])
def test_trials_that_their_files_end_at_once(elapsed_ns: int, told: bool) -> None:
    curve = {1: lines(1, 2, None, ended="size", elapsed_ns=elapsed_ns), 32: lines(32, 900, 10**7)}
    assert ("a trial with 1 task was over in 800 µs" in too_short(curve)) == told


def test_records_of_elder_versions_tell_nothing_of_start_ups() -> None:
    line = {key: value for key, value in lines(32, 37, None)[0].items() if key != "loop_bytes_per_s"}
    assert not too_short({32: Trials.of([line])})
