"""Intervals of time that overlap: how many at most, and how long there is at least one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def union(start_s: Floats, end_s: Floats) -> tuple[Floats, Floats]:
    """The same time in intervals that do not touch, in their order."""
    if not len(start_s):
        return start_s, end_s
    order = np.argsort(start_s, kind="stable")
    starts, ends = start_s[order], np.maximum.accumulate(end_s[order])
    begins = np.concatenate([[True], starts[1:] > ends[:-1]])
    lasts = np.concatenate([begins[1:], [True]])
    return starts[begins], ends[lasts]


def total_s(start_s: Floats, end_s: Floats) -> float:
    """Seconds of intervals that do not touch."""
    return float((end_s - start_s).sum())


def most_at_once(start_s: Floats, end_s: Floats) -> int:
    """Intervals that have a moment in common, at most. One that ends where another begins does not meet it."""
    long = end_s > start_s
    starts, ends = start_s[long], end_s[long]
    if not len(starts):
        return min(1, len(start_s))
    times = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(len(starts), np.int64), -np.ones(len(ends), np.int64)])
    # At one instant ends come first.
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max())
