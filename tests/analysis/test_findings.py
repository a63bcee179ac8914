"""Each finding fires on the trap it is for; a quiet run has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.analysis import analyse
from tonnage.analysis.findings import REGISTRY
from tonnage.records import Run

Make = Callable[..., Run]
Curve = Callable[..., dict[int, list[float]]]


def codes(run: Run) -> list[str]:
    return [finding.code for finding in analyse(run).findings]


@pytest.mark.parametrize("op", ["write", "read"])
def test_a_quiet_run_has_no_finding(make_run: Make, quiet_curve: Curve, op: str) -> None:
    assert codes(make_run(quiet_curve(), op=op)) == []


TRAPS: dict[str, dict[str, Any]] = {
    "cache-read": {
        "op": "read",
        "result": {"cache": {"cached_before_bytes": 9, "examined_bytes": 9, "device_bytes": 0}},
    },
    "above-ceiling": {"manifest": {"ceilings": [{"name": "memory-copy", "bytes_per_s": 10**9}]}},
    "client-limited": {"manifest": {"cost": {"ns_per_operation": 5_000_000}}},
    "load-present": {"manifest": {"load_before": {"load_1min": 7.5}}},
    "memory-backed": {"manifest": {"target": {"kind": "posix", "memory_backed": True, "file_system": "tmpfs"}}},
    "wrapped": {"alter": lambda line: line.update(wrapped=True)},
    "stall": {"result": {"events": [{"time_ns": 5, "kind": "stall", "task": 1, "duration_ns": 3 * 10**10}]}},
    "no-direct": {"result": {"notes": [{"code": "no-direct", "message": "this file system refuses O_DIRECT"}]}},
    "io-uring-off": {"result": {"notes": [{"code": "io-uring-off", "message": "io_uring is off"}]}},
}


@pytest.mark.parametrize("code", TRAPS)
def test_a_trap_is_named_and_nothing_else_is(make_run: Make, quiet_curve: Curve, code: str) -> None:
    assert codes(make_run(quiet_curve(), **TRAPS[code])) == [code]


def test_busy_processors_limit_the_client(make_run: Make, quiet_curve: Curve) -> None:
    assert codes(make_run(quiet_curve(), result={"cpu_user_ns": 75 * 10**8})) == ["client-limited"]


def test_reads_out_of_memory_on_a_memory_file_system_are_said_once(make_run: Make, quiet_curve: Curve) -> None:
    assert codes(make_run(quiet_curve(), **{**TRAPS["cache-read"], **TRAPS["memory-backed"]})) == ["memory-backed"]


def test_a_rising_curve_has_no_plateau(make_run: Make, quiet_curve: Curve) -> None:
    assert codes(make_run(quiet_curve(knee=64))) == ["no-plateau"]


def test_one_repetition_is_named_with_its_tasks(make_run: Make, quiet_curve: Curve) -> None:
    curve = quiet_curve()
    curve[2] = curve[2][:1]
    (finding,) = analyse(make_run(curve)).findings
    assert (finding.code, finding.evidence) == (
        "single-repetition",
        "measured once only, so without an interval: 2 tasks",
    )


def test_repetitions_that_do_not_agree_are_unsteady(make_run: Make, quiet_curve: Curve) -> None:
    assert "unsteady" in codes(make_run(quiet_curve(wobble=0.25)))


def test_a_drift_is_unsteady_even_where_the_spread_is_small(make_run: Make, quiet_curve: Curve) -> None:
    curve = {n: [v * (1 + 0.05 * r) for r, v in enumerate([values[0]] * 4)] for n, values in quiet_curve().items()}
    (finding,) = analyse(make_run(curve)).findings
    assert finding.code == "unsteady"
    assert "drifted by +" in finding.evidence


def test_a_failed_trial_is_named_with_its_reason(make_run: Make, quiet_curve: Curve) -> None:
    make_run({8: [2e9]}, alter=lambda line: line.update(status="failed", reason="1 operation failed: EIO"))
    (finding,) = analyse(make_run(quiet_curve())).findings
    assert (finding.code, finding.subject) == ("trial-failed", "write")
    assert "0000-write" in finding.evidence
    assert "EIO" in finding.evidence


def test_damaged_data_is_named_with_its_place(make_run: Make, quiet_curve: Curve) -> None:
    damage = [{"task": 0, "file": 3, "offset": 4096, "what": "zeros: a hole, or never written"}]
    verify = {"checked_bytes": 1, "damaged_operations": 2, "first_damage": damage}
    make_run({8: [2e9]}, op="read", result={"verify": verify})
    found = {finding.code: finding for finding in analyse(make_run(quiet_curve(), op="read")).findings}
    assert found.keys() == {"damaged-data", "trial-failed"}
    assert "offset 4096 of file 3: zeros" in found["damaged-data"].evidence


def test_every_code_has_a_test_here_or_in_the_calibration() -> None:
    here = {*TRAPS, "no-plateau", "single-repetition", "unsteady", "trial-failed", "damaged-data", "notes", "burst"}
    assert set(REGISTRY) - here == {"warm-up", "straggler-task"}, "those two need series and tasks: tests/calibration"


def test_a_long_trial_that_sustains_less_corrects_the_plateau(make_run: Make, quiet_curve: Curve) -> None:
    before = analyse(make_run(quiet_curve())).load_lines[0]
    run = make_run({8: [1.8e9]}, purpose="sustain")
    after = analyse(run).load_lines[0]
    assert codes(run) == ["burst"]
    assert after.plateau_bytes_per_s == pytest.approx(1.8e9, rel=0.001)
    assert after.plateau_low is not None and after.plateau_high is not None
    assert after.plateau_low < 1.8e9 < after.plateau_high
    assert (after.tasks, after.tasks_low, after.tasks_high) == (before.tasks, before.tasks_low, before.tasks_high)


def test_a_long_trial_that_agrees_changes_nothing(make_run: Make, quiet_curve: Curve) -> None:
    before = analyse(make_run(quiet_curve())).load_lines
    run = make_run({8: [2.0e9]}, purpose="sustain")
    assert analyse(run).load_lines == before
    assert codes(run) == []
