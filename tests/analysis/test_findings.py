"""Each finding fires on the trap it is for; a quiet run has none."""

from __future__ import annotations

import json
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


MEANWHILE = {
    "lasted_ns": 10**10, "clock_step_ns": 999, "memory_stall_ns": 10**8, "swapped_out_bytes": 0, "stolen_ns": 10**8,
}  # fmt: skip
"""Of a host on which nothing happened."""


def test_what_any_host_does_meanwhile_is_no_finding(make_run: Make, quiet_curve: Curve) -> None:
    for counted in (MEANWHILE, dict.fromkeys(MEANWHILE) | {"lasted_ns": 10**10}):
        run = make_run(quiet_curve(), alter=lambda line, counted=counted: line.update(meanwhile=counted))
        assert codes(run) == []


def test_swapping_is_memory_pressure(make_run: Make, quiet_curve: Curve) -> None:
    swapped = MEANWHILE | {"swapped_out_bytes": 4096}
    assert codes(make_run(quiet_curve(), alter=lambda line: line.update(meanwhile=swapped))) == ["memory-pressure"]


def test_a_slow_clock_is_told(make_run: Make, quiet_curve: Curve) -> None:
    assert codes(make_run(quiet_curve(), manifest={"host": {"clock": "hpet", "cpu_count": 2}})) == ["clock"]


def test_hosts_that_began_apart_are_told(make_run: Make, quiet_curve: Curve) -> None:
    ensemble = {"launcher": "mpi", "hosts": [], "skew_ns": 10**9}
    assert codes(make_run(quiet_curve(), alter=lambda line: line.update(ensemble=ensemble))) == ["clock"]


TRAPS: dict[str, dict[str, Any]] = {
    "cache-read": {
        "op": "read",
        "result": {"cache": {"cached_before_bytes": 9, "examined_bytes": 9, "device_bytes": 0}},
    },
    "cache-unknown": {
        "op": "read",
        "result": {
            "direct": False,
            "cache": {"cached_before_bytes": 9, "examined_bytes": 9, "device_bytes": None},
        },
    },
    "read-ahead": {
        "op": "read",
        "result": {"cache": {"cached_before_bytes": 0, "examined_bytes": 9, "device_bytes": 8 * 10**9}},
    },
    "above-ceiling": {"manifest": {"ceilings": [{"name": "memory-copy", "bytes_per_s": 10**9}]}},
    "client-limited": {"manifest": {"cost": {"ns_per_operation": 5_000_000}}},
    "memory-pressure": {"alter": lambda line: line.update(meanwhile=MEANWHILE | {"memory_stall_ns": 10**9})},
    "processor-stolen": {"alter": lambda line: line.update(meanwhile=MEANWHILE | {"stolen_ns": 2 * 10**10})},
    "clock": {"alter": lambda line: line.update(meanwhile=MEANWHILE | {"clock_step_ns": -(10**9)})},
    "load-present": {"manifest": {"load_before": {"load_1min": 7.5}}},
    "memory-backed": {"manifest": {"target": {"kind": "posix", "memory_backed": True, "file_system": "tmpfs"}}},
    "wrapped": {"alter": lambda line: line.update(wrapped=True)},
    "stall": {"result": {"events": [{"time_ns": 5, "kind": "stall", "task": 1, "duration_ns": 3 * 10**10}]}},
    "no-striping": {"manifest": {"target": {"kind": "posix", "stripe": {"problems": ["ext4 has no striping to set"]}}}},
    "same-device": {
        "manifest": {
            "target": {
                "kind": "posix",
                "directories": [{"path": "/a", "file_system": "ext4", "device": "d", "device_number": "8:1"}] * 2,
            }
        }
    },
    "holes": {"op": "read", "alter": lambda line: line["cache"].update(hole_bytes=5, examined_bytes=10)},
    "late": {"setting": {"rate_bytes_per_s": 3 * 10**9}},
    "away-from-interrupt": {
        "manifest": {
            "host": {"hostname": "node", "cpu_count": 8, "cpu_affinity": [0]},
            "target": {"kind": "posix", "interrupt_cpus": [1]},
        }
    },
    "no-direct": {"result": {"notes": [{"code": "no-direct", "message": "this file system refuses O_DIRECT"}]}},
    "io-uring-off": {"result": {"notes": [{"code": "io-uring-off", "message": "io_uring is off"}]}},
}


@pytest.mark.parametrize("code", TRAPS)
def test_a_trap_is_named_and_nothing_else_is(make_run: Make, quiet_curve: Curve, code: str) -> None:
    assert codes(make_run(quiet_curve(), **TRAPS[code])) == [code]


NOTES = (
    "direct-unaligned", "depth-one", "no-notify", "no-preallocation", "no-fixed-buffers", "no-file-mark", "not-placed",
    "nfs-delayed", "nfs-reconnected", "nfs-restarted", "s3-troubles",
)  # fmt: skip


@pytest.mark.parametrize("code", NOTES)
def test_a_note_is_told_once_under_its_own_code_with_its_own_words(
    make_run: Make, quiet_curve: Curve, code: str
) -> None:
    notes = [{"code": code, "message": f"words of {code}"}] * 2
    (found,) = analyse(make_run(quiet_curve(), result={"notes": notes})).findings
    assert (found.code, found.subject, found.evidence) == (code, "20 trials", f"words of {code}")


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
    found = {finding.code: finding.evidence for finding in analyse(make_run(curve)).findings}
    assert "drifted by +" in found["unsteady"]


def test_a_drift_that_spreads_equal_trials_is_told_as_a_drift(make_run: Make, quiet_curve: Curve) -> None:
    curve = {n: [v * (1 - 0.15 * r) for r, v in enumerate([values[0]] * 4)] for n, values in quiet_curve().items()}
    (found,) = [one for one in analyse(make_run(curve)).findings if one.code == "unsteady"]
    assert found.evidence.startswith("throughput drifted by -") and "of equal trials span" in found.evidence
    assert found.advice.startswith("The storage changed while it was measured")


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


def test_an_open_loop_that_was_kept_is_not_late(make_run: Make, quiet_curve: Curve) -> None:
    curve = {n: [1e9] * 4 for n in quiet_curve()}
    asked = {"rate_bytes_per_s": 10**9, "operations_rate": None}
    assert "late" not in codes(make_run(curve, setting=asked))


def test_an_open_loop_kept_on_the_whole_but_with_a_line_before_it_is_late(make_run: Make) -> None:
    def wait(line: dict[str, Any]) -> None:
        line["latency"]["p99_ns"] = 3 * 10**9

    run = make_run({4: [1e9]}, setting={"operations_rate": 900}, alter=wait)
    (found,) = [finding for finding in analyse(run).findings if finding.code == "late"]
    assert "one operation in a hundred took 3 s or more from when it was due" in found.evidence


def test_readers_a_second_behind_do_not_follow(make_run: Make) -> None:
    quantiles = ("count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    follow = {
        "readers": 3, "bytes": 1, "lag": dict.fromkeys(quantiles, 2 * 10**9), "max_lag_bytes": 7_000_000, "waits": 0,
    }  # fmt: skip
    tail = {"op": "tail", "result": {"follow": follow}}
    (found,) = analyse(make_run({4: [1e9, 1e9]}, setting={"kind": "tail"}, **tail)).findings
    assert (found.code, found.subject) == ("lag", "tail")
    assert "with 3 readers" in found.evidence
    assert "up to 7 MB behind" in found.evidence
    slow = {"kind": "tail", "poll_ns": 10**9, "workload": "slow"}
    found_again = analyse(make_run({4: [1e9, 1e9]}, setting=slow, **tail)).findings
    assert [finding.code for finding in found_again] == ["lag"], "who looks once a second is allowed to be behind"


def test_copies_that_failed_are_named_with_how_they_ended(make_run: Make) -> None:
    run = make_run({2: [1e9, 1e9]}, op="command", setting={"kind": "command"})
    ends = [{"exit_code": 0}, {"exit_code": 3}, {"exit_code": None, "signal": 9}]
    copies = [
        {
            "record": "0000-command", "copy": number, "task": 0, "start_ns": 0, "end_ns": 1, "signal": None,
            "error": None, "cpu_user_ns": 0, "cpu_system_ns": 0, **end,
        }
        for number, end in enumerate(ends)
    ]  # fmt: skip
    (run.path / "copies.jsonl").write_text("".join(json.dumps(copy) + "\n" for copy in copies))
    (found,) = [finding for finding in analyse(run).findings if finding.code == "copy-failed"]
    assert found.evidence == "2 failed (copy 1 of 0000-command, copy 2 of 0000-command): exit status 3, signal 9"


def test_a_process_beside_its_interrupt_is_at_home(make_run: Make, quiet_curve: Curve) -> None:
    facts = {"host": {"cpu_affinity": [0, 1]}, "target": {"interrupt_cpus": [1]}}
    assert codes(make_run(quiet_curve(), manifest=facts)) == []


def test_a_check_that_found_damage_says_where(make_run: Make, quiet_curve: Curve) -> None:
    damage = [{"task": 0, "file": 3, "offset": at, "what": "other bytes"} for at in (4096, 8192)]
    verify = {"checked_bytes": 1, "damaged_operations": 128, "first_damage": damage}
    make_run({8: [2e9]}, op="check", purpose="check", result={"verify": verify})
    found = {finding.code: finding for finding in analyse(make_run(quiet_curve())).findings}
    assert found["damaged-data"].evidence.startswith("128 operations read back other bytes")
    assert found["damaged-data"].evidence.endswith("then at 8192")
    assert found["trial-failed"].subject == "check"


def test_every_code_has_a_test_here_or_in_the_calibration() -> None:
    here = {*TRAPS, "no-plateau", "single-repetition", "unsteady", "trial-failed", "damaged-data", "notes", "burst"}
    here |= {"odd-curve", "two-speeds"}  # tests/analysis/test_speeds.py, and the calibration
    here |= {"lag", "copy-failed"}  # tests/analysis/test_kinds.py
    here |= {"name-calls"}  # tests/importers/test_darshan.py
    here |= {"coordinated-omission"}  # tests/analysis/test_omission.py
    here |= {"straggler-device"}  # tests/analysis/test_devices.py
    here |= {"uneven-osds"}  # tests/analysis/test_balance.py
    here |= {"fixed-cost"}  # tests/analysis/test_snapshots.py
    here |= {"collective-costs"}  # tests/analysis/test_collective.py
    here |= {"engine-time"}  # tests/report/test_workflow.py
    here |= {"link-limited", "rates-not-additive", "iperf3-versions"}  # tests/analysis/test_links.py
    here |= {"straggler-host", "unequal-ranks"}  # tests/report/test_hosts.py, which has runs of several hosts
    here |= {"unit-mismatch", "damaged-file"}  # tests/importers/test_import_ior.py
    here |= {"company-below-rate", "company-not-measured"}  # tests/campaign/test_company.py
    assert set(REGISTRY) - here == {"warm-up", "straggler-task"}, "those two need series and tasks: tests/calibration"


def test_a_long_trial_that_sustains_less_corrects_the_plateau(make_run: Make, quiet_curve: Curve) -> None:
    before = analyse(make_run(quiet_curve())).load_lines[0]
    run = make_run({8: [1.8e9]}, purpose="sustain")
    after = analyse(run).load_lines[0]
    assert codes(run) == ["burst"]
    assert after.plateau_bytes_per_s == pytest.approx(1.8e9, rel=0.003)
    assert after.plateau_low is not None and after.plateau_high is not None
    assert after.plateau_low < 1.8e9 < after.plateau_high
    assert (after.tasks, after.tasks_low, after.tasks_high) == (before.tasks, before.tasks_low, before.tasks_high)


def test_a_long_trial_that_agrees_changes_next_to_nothing(make_run: Make, quiet_curve: Curve) -> None:
    before = analyse(make_run(quiet_curve())).load_lines[0]
    run = make_run({8: [2.0e9]}, purpose="sustain")
    after = analyse(run).load_lines[0]
    assert after.plateau == pytest.approx(before.plateau, rel=0.002)
    assert (after.tasks, after.tasks_low, after.tasks_high) == (before.tasks, before.tasks_low, before.tasks_high)
    assert codes(run) == []


@pytest.mark.parametrize(("op", "told"), [("write", ["straggler-task"]), ("drop", [])])
def test_what_one_task_removes_for_all_makes_no_stragglers(make_run: Make, op: str, told: list[str]) -> None:
    run = make_run({4: [3e9, 3e9, 3e9]}, op=op)
    kept = run.path / "tasks.jsonl"
    tasks = [json.loads(line) for line in kept.read_text().splitlines()]
    lazy = [task | {"bytes": 10**6, "operations": 0} if task["task"] == 0 else task for task in tasks]
    kept.write_text("".join(f"{json.dumps(task)}\n" for task in lazy))
    assert [code for code in codes(Run.open(run.path)) if code == "straggler-task"] == told
