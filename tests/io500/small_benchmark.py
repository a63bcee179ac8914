"""A small benchmark, whole or cut in its second phase."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.io500 import benchmark

Io500 = Callable[..., tuple[int, str, str]]
"""``tonnage io500`` with these words: its exit code, what it printed, and its messages."""
SMALL = """
[global]
datadir = data
resultdir = results
[debug]
stonewall-time = 1
[ior-easy]
transferSize = 64k
blockSize = 1m
[ior-hard]
segmentCount = 20
[mdtest-easy]
n = 40
[mdtest-hard]
n = 150
"""
FEW = f"""{SMALL}
[ior-hard]
run = FALSE
[mdtest-hard]
run = FALSE
[ior-easy]
uniqueDir = TRUE
[ior-rnd4K-easy-read]
run = FALSE
[find]
run = FALSE
"""


def everything_below(path: Path) -> list[Path]:
    return [Path(base, name) for base, directories, files in os.walk(path) for name in (*directories, *files)]


def interrupted(here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of a benchmark that was cut in its second phase."""
    measure = benchmark.measure

    def cut(step: Any, *rest: Any) -> Any:
        measured = measure(step, *rest)
        stop = step.name == "mdtest-easy-write"
        return type(measured)(measured.figure, measured.lines, is_interrupted=stop)

    with monkeypatch.context() as patch:
        patch.setattr(benchmark, "measure", cut)
        assert io500("few.ini", "--timestamp", "then")[0] == 130
    return here / "results" / "then"
