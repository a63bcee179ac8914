"""What was measured once has no interval: no command and no data frame gives it ends that a program takes for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tonnage
from tonnage.cli import main

from .json_output import answered

CAMPAIGN = """\
target = "sim:plateau={plateau}GB/s,noise=3%,name={name}"
seed = {seed}
[repeat]
count = 1
[[workload]]
op = "write"
tasks = 4
tasks_per_node = 4
block_size = "16MiB"
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one repetition."""
    directory = tmp_path_factory.mktemp("once")
    runs = []
    for seed, (name, plateau) in enumerate((("own", 1), ("shared", 3))):
        (directory / "c.toml").write_text(CAMPAIGN.format(name=name, plateau=plateau, seed=seed))
        runs.append(directory / name)
        assert main(["run", str(directory / "c.toml"), "--out", str(runs[-1]), "--no-report"]) == 0
    return runs


def intervals(found: Any) -> list[tuple[Any, Any]]:
    """Both ends of every interval in an object of ``--json``, but of those that say nothing of their confidence."""
    if isinstance(found, dict):
        keys = [(low, low.replace("low", "high")) for low in ("low", "low_ns") if low in found]
        own = [(found[low], found[high]) for low, high in keys if "confidence" in found]
        return own + [pair for value in found.values() for pair in intervals(value)]
    return [pair for value in found for pair in intervals(value)] if isinstance(found, list) else []


def test_a_comparison_of_two_runs(once: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "compare", *once)
    assert set(intervals(found)) == {(None, None)} and found["comparisons"][0]["cells"][0]["ratio"] > 1


def test_a_history(once: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "history", *once)["history"]["series"]
    assert intervals(found) == [(None, None)] * 2


def test_a_crossover(once: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    own, shared = once
    found = answered(capsys, "crossover", "--shared", shared, "--per-node", "1GB/s", "--ceiling", "3GB/s", own, shared)
    assert set(intervals(found)) == {(None, None)}


def test_the_data_frames_of_a_notebook(once: list[Path]) -> None:
    points = tonnage.read(once[0]).points
    assert points["low"].isna().all() and points["high"].isna().all() and points["median"].notna().all()
    compared = tonnage.compare(*once)
    assert compared["low"].isna().all() and compared["ratio"].notna().all()
