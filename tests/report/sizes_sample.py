"""A sweep over transfer sizes and tasks on a model whose two roofs are known: so many bytes and operations a second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import report_sample as sample
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.page_data import Source

KIB = 1 << 10
BYTES_PER_S = 1_000_000_000
OPERATIONS_PER_S = 10_000
SIZES = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
TASKS = (1, 2, 4, 8)
KNEE = 4
LINK = {"name": "link", "bytes_per_s": 1_250_000_000, "operations_per_s": None, "tasks": None, "source": "stated"}
MEMORY = {
    "name": "memory-copy",
    "bytes_per_s": 4096 * 10**6,
    "operations_per_s": 10**6,
    "tasks": 2,
    "source": "measured",
}
FAR = {"name": "null-storage", "bytes_per_s": 2**20 * 10**6, "operations_per_s": 10**6, "source": "measured"}


def rate(size: int, tasks: int) -> float:
    """The truth."""
    return min(BYTES_PER_S, OPERATIONS_PER_S * size) * min(1.0, tasks / KNEE)


def point(size: int, tasks: int, op: str = "write", **setting: Any) -> Point:
    """Three repetitions of a setting."""
    median = rate(size, tasks)
    group = ", ".join(f"{name} {value}" for name, value in sorted({**setting, "transfer_size": size}.items()))
    return Point(
        op, tasks, size, group, (0.97 * median, median, 1.02 * median),
        tuple(f"{100 * tasks + size // KIB:04d}{part}-{op}" for part in range(3)), median, 0.97 * median, 1.02 * median,
        0.95, {}, median / size, None, None, None, setting={"transfer_size": size, **setting},
    )  # fmt: skip


def points(sizes: Sequence[int] = SIZES, tasks: Sequence[int] = TASKS, **setting: Any) -> list[Point]:
    """All settings of a sweep."""
    return [point(size, number, **setting) for size in sizes for number in tasks]


def lines() -> tuple[LoadLine, ...]:
    """Of each size but the smallest, where none was reached."""
    told = {"plateau_low": None, "plateau_high": None, "max_tasks_tried": 8, "tasks": KNEE, "tasks_low": 3}
    return tuple(sample.line("write", f"transfer_size {size}", reached=size > SIZES[0], **told) for size in SIZES)


def whole(found: Sequence[Point] | None = None, ceilings: Sequence[dict[str, Any]] = ()) -> tuple[Analysis, Source]:
    """What a page of the sweep is made from."""
    builder = sample.Builder()
    builder.points = list(points() if found is None else found)
    analysis = sample.analysis(builder, lines(), models=(), ceilings=tuple(ceilings))
    return analysis, builder.source(Path("/scratch/run"), sample.manifest())
