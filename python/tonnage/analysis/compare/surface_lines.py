"""Compares the load lines of two sides at each transfer size of a surface, which no trial of one cell tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.compare.rate_ratio import UNCHANGED, UNDECIDED
from tonnage.analysis.load_line.surface import surfaces_of
from tonnage.analysis.results import Point, SurfaceSize
from tonnage.records import Run

MORE, FEWER = "more tasks", "fewer tasks"


@dataclass(frozen=True, slots=True)
class SizeLine:
    """The load line of one operation at one transfer size, on both sides; of several runs the interval spans theirs."""

    op: str
    transfer_size: int
    base_tasks: int | None
    """None, and so its interval, where a run did not reach it."""
    base_low: int | None
    base_high: int | None
    tasks: int | None
    low: int | None
    high: int | None
    verdict: str
    """``more tasks`` or ``fewer tasks`` where the intervals have no number in common, else ``no change shown``; ``too
    few to tell`` where a line was not reached."""


_Line = tuple[int, int, int]
"""Tasks and the ends of their interval."""


def surface_lines(base: Sequence[Run], other: Sequence[Run], points: Mapping[int, Sequence[Point]]) -> list[SizeLine]:
    """Of each operation and transfer size that both sides have a surface of. ``points``: of each run, by its ``id``."""
    sides = [_lines(runs, points) for runs in (base, other)]
    return [_compared(*key, sides[0][key], sides[1][key]) for key in sides[0] if key in sides[1]]


def _lines(runs: Sequence[Run], points: Mapping[int, Sequence[Point]]) -> dict[tuple[str, int], _Line | None]:
    """What all of these runs have; None where one did not reach it."""
    found: dict[tuple[str, int], list[SurfaceSize]] = {}
    for run in runs:
        for surface in surfaces_of(run.manifest.get("search") or {}, points[id(run)], run.each_trial()):
            for size in surface.sizes:
                found.setdefault((surface.op, size.transfer_size), []).append(size)
    return {key: _line(sizes) for key, sizes in found.items() if len(sizes) == len(runs)}


def _line(sizes: Sequence[SurfaceSize]) -> _Line | None:
    highs = [size.tasks_high for size in sizes if size.reached and size.tasks_high is not None]
    if len(highs) < len(sizes):
        return None
    tasks = sorted(size.tasks for size in sizes)
    return tasks[(len(tasks) - 1) // 2], min(size.tasks_low for size in sizes), max(highs)


def _compared(op: str, transfer_size: int, base: _Line | None, other: _Line | None) -> SizeLine:
    verdict = UNDECIDED
    if base is not None and other is not None:
        verdict = MORE if other[1] > base[2] else FEWER if other[2] < base[1] else UNCHANGED
    nothing = (None, None, None)
    base_tasks, base_low, base_high = base or nothing
    tasks, low, high = other or nothing
    return SizeLine(op, transfer_size, base_tasks, base_low, base_high, tasks, low, high, verdict)
