"""How a PhaseResult becomes a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.records import event_lines, loop_rate, setting_key, task_lines, trial_line

Result = Callable[..., dict[str, Any]]
COMMON: dict[str, Any] = {"trial": 7, "repetition": 1, "block": 0, "started": "now"}


def line_of(result: dict[str, Any] | None, phase: str = "write", **more: Any) -> dict[str, Any]:
    setting = {"op": phase, "tasks": 2, "transfer_size": 100, "sync": "fsync"}
    return trial_line(setting=setting, phase=phase, result=result, **COMMON, **more)


def test_the_rate_is_all_bytes_from_the_first_start_to_the_last_end_rounded_down(phase_result: Result) -> None:
    line = line_of(phase_result(tasks=3))
    assert (line["record"], line["first_start_ns"], line["last_start_ns"]) == ("0007-write", 0, 20)
    assert (line["first_done_ns"], line["last_done_ns"], line["elapsed_ns"]) == (10**9, 10**9 + 2, 10**9 + 2)
    assert line["bandwidth_bytes_per_s"] == 3000 * 10**9 // (10**9 + 2) == 2999
    assert (line["status"], line["reason"], line["durability"], line["cache"]) == ("ok", None, "fsync", None)


def test_the_loop_rate_counts_from_the_end_of_each_start_up(phase_result: Result) -> None:
    """Two tasks take turns at a storage that completes 100 bytes each 10 ns from the moment it is asked, in pairs."""
    result = phase_result(tasks=2, latency=None)
    whole = line_of(result)
    assert "loop_bytes_per_s" not in whole and loop_rate(whole) == whole["bandwidth_bytes_per_s"]
    for task in result["tasks"]:
        task |= {"start_ns": 0, "open_ns": 5, "open_wait_ns": 5, "transfer_ns": 180, "sync_ns": 60, "close_ns": 0}
        task |= {"startup_ns": 10, "startup_bytes": 100, "end_ns": 250, "bytes": 100 * 10}
    line = line_of(result)
    assert line["bandwidth_bytes_per_s"] == 2000 * 10**9 // 250
    assert (line["loop_bytes_per_s"], loop_rate(line)) == (10**10, 10**10)
    result["tasks"][1] |= {"startup_ns": None, "startup_bytes": None}
    line = line_of(result)
    assert line["loop_bytes_per_s"] is None and loop_rate(line) == line["bandwidth_bytes_per_s"]


@pytest.mark.parametrize(
    ("device_bytes", "state", "share"),
    [(1900, "cold", 0.95), (1899, "warm", 0.9495), (0, "warm", 0.0), (9999, "cold", 1.0), (None, "unknown", None)],
)
def test_a_read_is_cold_from_95_percent_of_its_bytes_on(
    phase_result: Result, device_bytes: int | None, state: str, share: float | None
) -> None:
    cache = {"cached_before_bytes": 0, "examined_bytes": 2000, "device_bytes": device_bytes}
    line = line_of(phase_result(cache=cache), phase="read")
    assert (line["cache"]["state"], line["cache"]["device_share"]) == (state, share)
    assert line["durability"] == "none"


def test_an_error_fails_the_trial_and_says_where(phase_result: Result) -> None:
    first = {"task": 1, "file": 1, "offset": 4096, "errno": 5, "message": "Input/output error"}
    line = line_of(phase_result(errors=1, first_error=first))
    assert line["status"] == "failed"
    assert line["reason"] == "2 operations failed: task 1, offset 4096: Input/output error"
    assert event_lines(line, None)[-1]["kind"] == "trial-failed"


def test_damaged_data_fails_the_trial(phase_result: Result) -> None:
    verify = {"checked_bytes": 2000, "damaged_operations": 1, "first_damage": []}
    assert line_of(phase_result(verify=verify), phase="read")["status"] == "failed"


def test_an_interrupted_phase_is_not_a_failed_one(phase_result: Result) -> None:
    assert line_of(phase_result(stop_reason="interrupted"))["status"] == "interrupted"


def test_a_phase_that_never_started_has_a_line_with_nothing_measured() -> None:
    line = line_of(None, reason="no space")
    assert (line["status"], line["reason"], line["elapsed_ns"], line["bandwidth_bytes_per_s"]) == (
        "failed", "no space", None, None,
    )  # fmt: skip
    assert task_lines(line, None, []) == []


def test_equal_settings_have_equal_keys_in_any_order() -> None:
    assert setting_key({"a": 1, "b": 2}) == setting_key({"b": 2, "a": 1}) != setting_key({"a": 1, "b": 3})
