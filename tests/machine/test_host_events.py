"""What happened to a host between two moments, from the kernel's own counters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.machine import host_events as meanwhile
from tonnage.machine.host_events import HostCounters

PRESSURE = "some avg10=0.00 avg60=1.20 avg300=0.31 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
STAT = "cpu  3649619 300082 1264778 3112499 304653 0 46504 {} 0 0\ncpu0 1 1 1 1 1 1 1 99999999 0 0\n"


def tree(root: Path, stalled_us: int, swapped: int, stolen: int) -> Path:
    (root / "pressure").mkdir(parents=True, exist_ok=True)
    (root / "pressure" / "memory").write_text(PRESSURE.format(stalled_us))
    (root / "vmstat").write_text(f"pgpgin 77\npswpin 5\npswpout {swapped}\n")
    (root / "stat").write_text(STAT.format(stolen))
    return root


def test_what_was_added_is_told_in_nanoseconds_and_bytes(tmp_path: Path) -> None:
    start = HostCounters.now(tree(tmp_path, 1000, 10, 500))
    told = HostCounters.now(tree(tmp_path, 4000, 12, 700)).since(start)
    assert (told["memory_stall_ns"], told["swapped_out_bytes"]) == (3_000_000, 2 * os.sysconf("SC_PAGE_SIZE"))
    assert told["stolen_ns"] == 200 * 10**9 // os.sysconf("SC_CLK_TCK")
    assert told["lasted_ns"] is not None and told["lasted_ns"] > 0
    assert abs(told["clock_step_ns"] or 0) < 10**9


def test_what_the_system_does_not_count_is_unknown(tmp_path: Path) -> None:
    told = HostCounters.now(tmp_path).since(HostCounters.now(tmp_path))
    assert {told[key] for key in ("memory_stall_ns", "swapped_out_bytes", "stolen_ns")} == {None}


def test_a_wall_clock_that_is_set_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    start = HostCounters.now()
    real = meanwhile.time.time_ns
    monkeypatch.setattr(meanwhile.time, "time_ns", lambda: real() - 3600 * 10**9)
    step = HostCounters.now().since(start)["clock_step_ns"]
    assert step is not None and abs(step + 3600 * 10**9) < 10**9


def test_this_host_counts() -> None:
    assert HostCounters.now().stolen_ns is not None
