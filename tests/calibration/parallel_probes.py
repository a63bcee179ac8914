"""Runs ``probes.py`` or ``simulate.py`` on every core, and counts what their rows say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

TIME_LIMIT_S = 4800
"""Of one process: some five minutes where nobody else computes, and more than 26 beside ten others."""
KEPT_BYTES = str(1 << 30)
"""Freed memory that a process keeps: half of the time went into handing the pages of a phase's histograms back
to the kernel and having them again for the next one's."""
Row = dict[str, Any]


def rows_of(cells: Sequence[dict[str, Any]], program: str = "simulate.py") -> list[Row]:
    """One row a seed, from as many processes as there are processors."""
    parts = os.cpu_count() or 1
    with ThreadPoolExecutor(parts) as pool:
        found = [row for part in pool.map(lambda part: _run(program, cells, part, parts), range(parts)) for row in part]
    assert len(found) == sum(cell["seeds"] for cell in cells)
    return found


def _run(program: str, cells: Sequence[dict[str, Any]], part: int, parts: int) -> list[Row]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program)), str(part), str(parts)],
        input=json.dumps(cells),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=TIME_LIMIT_S,
        env=environment(),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def environment() -> dict[str, str]:
    """Of a process that simulates: one thread, for there is one such process a processor, and memory that it keeps."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_TRIM_THRESHOLD_": KEPT_BYTES,
        "MALLOC_MMAP_THRESHOLD_": KEPT_BYTES,
    }


def covers_knee(row: Row) -> bool:
    """Its interval of the knee holds the knee."""
    return bool(row["low"] <= row["knee"] <= row["high"])


def covers_plateau(row: Row) -> bool:
    """Its interval of the plateau holds the plateau."""
    return bool(row["plateau"][0] <= row["true_plateau"] <= row["plateau"][2])


def share(rows: Iterable[Row], holds: Callable[[Row], bool]) -> float:
    """Of ``rows``, the share for which something holds."""
    return fmean(holds(row) for row in rows)
