"""The example of checkpoints on Ceph, all its settings, on the model: its interval holds the planted second."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ceph-snapshots.toml"
PLANTED_NS = 10**9
REPETITIONS = 2
"""Of ten: the interval is wider for it, and the settings, phases and bytes of each trial are the same."""
SEED = 7
"""One of twenty misses by its nature: which one is settled here, how many in test_snapshots.py."""
SETTINGS = 6 * 3 * 3
LIMIT_S = 240
"""A quiet machine takes a tenth of it; others may run on this one."""


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S + 60)
def test_the_whole_example_tells_the_planted_second_within_its_interval(
    tmp_path: Path, calibration_report: Callable[[str], None]
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    example = tmp_path / EXAMPLE.name
    assert text.count("count = 10") == 1
    example.write_text(f"seed = {SEED}\n{text.replace('count = 10', f'count = {REPETITIONS}')}", encoding="utf-8")
    words = ["run", "--target", "sim:snapshot=1s,noise=30%", "--json", "--no-report", example.name]
    began_s = time.monotonic()
    argv = [sys.executable, "-m", "tonnage.cli", *words]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=LIMIT_S)
    took_s = time.monotonic() - began_s
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    (found,) = said["snapshots"]
    cost = found["cost"]
    calibration_report(
        f"the whole example, {REPETITIONS} repetitions: {cost['low_ns'] / 1e9:.3f} to {cost['high_ns'] / 1e9:.3f} s, "
        f"{took_s:.0f} s of this machine"
    )
    assert cost["verdict"] == "costs"
    assert cost["low_ns"] < PLANTED_NS < cost["high_ns"]
    # Narrow enough to tell it from half of it and from twice as much.
    assert cost["high_ns"] - cost["low_ns"] < PLANTED_NS / 5
    assert len(found["rounds"]) == SETTINGS
