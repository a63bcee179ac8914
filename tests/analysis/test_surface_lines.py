"""Two surfaces compared: the load line at each transfer size, an interval on each side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis.compare.surface_lines import _compared, _line
from tonnage.analysis.results import SurfaceSize
from tonnage.cli import main


def probed(out: Path, knee: int, seed: int) -> str:
    words = ["--surface", "--op", "read", "--budget", "60s", "--max-tasks", "32", "--no-report", "--no-keep"]
    target = f"sim:knee={knee},plateau=2GB/s,noise=2%"
    assert main(["probe", *words, "--seed", str(seed), "--out", str(out), target]) == 0
    return str(out)


def compared(capsys: pytest.CaptureFixture[str], *runs: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["compare", "--json", *runs]) == 0
    said = json.loads(capsys.readouterr().out)
    return dict(said["comparisons"][0])


def test_the_lines_of_two_storages_differ_at_each_size_and_those_of_one_storage_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, again, many = (probed(tmp_path / str(n), knee, n) for n, knee in enumerate((3, 3, 14)))
    same, other = compared(capsys, few, again)["lines"], compared(capsys, few, many)["lines"]
    assert len(same) == len(other) == 13
    assert {one["verdict"] for one in same} <= {"no change shown", "too few to tell"}
    told = [one for one in other if one["verdict"] == "more tasks"]
    assert len(told) >= 10, other
    assert all(one["base_high"] < one["low"] <= one["tasks"] <= one["high"] for one in told)
    assert main(["compare", few, many]) == 0
    assert "read, 4 KiB" in capsys.readouterr().out


def size(tasks: int, low: int, high: int | None, *, reached: bool = True) -> SurfaceSize:
    return SurfaceSize(4096, reached, tasks, low, high, 1, 1, 1, 3)


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        ([size(4, 3, 5)], [size(8, 6, 9)], "more tasks"),
        ([size(4, 3, 6)], [size(8, 6, 9)], "no change shown"),
        ([size(8, 6, 9)], [size(4, 3, 5)], "fewer tasks"),
        ([size(8, 6, None, reached=False)], [size(4, 3, 5)], "too few to tell"),
        ([size(4, 3, 5), size(5, 4, 7)], [size(8, 6, 9)], "no change shown"),
    ],
)
def test_a_line_differs_where_the_intervals_have_no_number_in_common(
    base: Sequence[SurfaceSize], other: Sequence[SurfaceSize], verdict: str
) -> None:
    assert _compared("read", 4096, _line(base), _line(other)).verdict == verdict
