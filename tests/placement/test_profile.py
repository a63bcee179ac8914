"""What a run says of a program: how much it moves, how often it calls, and how much of its time it waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import RequestError
from tonnage.placement.io_demand import demand_of_run
from tonnage.placement.site import Policy
from tonnage.records import RunWriter

POLICY = Policy(reference_bytes=7, reference_operations=11)
COPY = {
    "task": 0, "exit_code": 0, "start_ns": 0, "end_ns": 10**9, "cpu_user_ns": 2 * 10**8, "cpu_system_ns": 10**8,
    "read_calls": 30, "write_calls": 10, "read_call_bytes": 3000, "write_call_bytes": 1000,
    "device_read_bytes": 0, "device_write_bytes": 512,
}  # fmt: skip


def run_of(
    path: Path,
    *copies: dict[str, Any],
    tasks: int = 1,
    status: str = "ok",
    manifest: dict[str, Any] | None = None,
    **setting: Any,
) -> Path:
    """A run of one command trial, with its copies changed as told."""
    writer = RunWriter.create(path, manifest or {})
    line = {
        "trial": 0, "record": "0000-command", "setting": {"kind": "command", "tasks": tasks, **setting},
        "repetition": 0, "phase": "command", "purpose": "measure", "status": status, "bytes": 0, "operations": 0,
        "errors": 0,
    }  # fmt: skip
    lines = [{**COPY, "record": "0000-command", "copy": n, **copy} for n, copy in enumerate(copies)]
    writer.append_trial(line, [], [], lines)
    return path


def test_a_copy_waits_while_it_has_no_processor(tmp_path: Path) -> None:
    found = demand_of_run(run_of(tmp_path / "run", {}), POLICY)
    assert found.io_share == pytest.approx(0.7)
    assert (found.bytes, found.operations) == (4000, 40)
    assert found.source == f"measured in {tmp_path / 'run'}, 1 copy alone"


def test_waiting_for_a_processor_is_not_waiting_for_storage(tmp_path: Path) -> None:
    found = demand_of_run(run_of(tmp_path / "run", {"run_delay_ns": 6 * 10**8}), POLICY)
    assert found.io_share == pytest.approx(0.1)


def test_medians_are_over_copies_that_ran_well(tmp_path: Path) -> None:
    waits = [{"cpu_user_ns": share * 10**8} for share in (0, 4, 9)]
    found = demand_of_run(run_of(tmp_path / "run", *waits, {"exit_code": 1, "cpu_user_ns": 0}), POLICY)
    assert found.io_share == pytest.approx(0.5)
    assert "3 copies" in found.source


def test_several_threads_never_wait_for_less_than_nothing(tmp_path: Path) -> None:
    assert demand_of_run(run_of(tmp_path / "run", {"cpu_user_ns": 3 * 10**9}), POLICY).io_share == 0.0


def test_what_was_mapped_counts_at_the_device(tmp_path: Path) -> None:
    assert demand_of_run(run_of(tmp_path / "run", {"device_read_bytes": 10**6}), POLICY).bytes == 10**6 + 512


def test_the_rate_is_all_bytes_over_all_time_of_the_copies(tmp_path: Path) -> None:
    quick, slow = {"read_call_bytes": 10**6}, {"read_call_bytes": 2 * 10**6, "end_ns": 3 * 10**9}
    found = demand_of_run(run_of(tmp_path / "run", quick, slow), POLICY)
    assert found.measured and found.bytes_per_s == (3 * 10**6 + 2000) // 4


@pytest.mark.parametrize(("kind", "rate"), [("ext4", 512), ("nfs4", 4000), (None, 4000)])
def test_what_the_page_cache_gave_is_no_use_of_storage_where_the_kernel_counts_devices(
    tmp_path: Path, kind: str | None, rate: int
) -> None:
    run = run_of(tmp_path / "run", {}, manifest={"target": {"file_system": kind}})
    assert demand_of_run(run, POLICY).bytes_per_s == rate


def test_what_the_kernel_or_an_earlier_version_did_not_count_is_taken_from_the_policy(tmp_path: Path) -> None:
    unknown = {"read_call_bytes": None, "device_read_bytes": None, "read_calls": None}
    found = demand_of_run(run_of(tmp_path / "run", unknown), POLICY)
    assert (found.bytes, found.operations, found.bytes_per_s) == (7, 11, None)
    assert "bytes and operations by the policy" in found.source


@pytest.mark.parametrize(("tasks", "status", "copy"), [(2, "ok", {}), (1, "failed", {}), (1, "ok", {"exit_code": 3})])
def test_a_run_in_which_nothing_ran_alone_and_well_says_how_to_make_one(
    tmp_path: Path, tasks: int, status: str, copy: dict[str, Any]
) -> None:
    run = run_of(tmp_path / "run", copy, tasks=tasks, status=status)
    with pytest.raises(RequestError, match=r"no copy of a command that ran alone and well; hint: .*tasks = 1"):
        demand_of_run(run, POLICY)


def test_a_directory_that_is_no_run_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"is not a run directory: .*hint: give a run directory"):
        demand_of_run(tmp_path, POLICY)


def test_a_real_program_is_known_by_what_the_kernel_accounted(tmp_path: Path) -> None:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    program = "import time; open('out', 'wb').write(bytes(5_000_000)); time.sleep(0.5)"
    (tmp_path / "c.toml").write_text(
        f'target = "{tmp_path}"\n[workload]\nkind = "command"\ncopies = 2\ntasks = 1\n'
        f'argv = ["{sys.executable}", "-I", "-S", "-c", "{program}"]\n[repeat]\ncount = 1\n',
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "tonnage.cli",
        "run",
        "--no-report",
        "--out",
        tmp_path / "run",
        tmp_path / "c.toml",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = demand_of_run(tmp_path / "run", POLICY)
    assert 5_000_000 <= found.bytes < 8_000_000
    assert 0.3 < found.io_share < 1
