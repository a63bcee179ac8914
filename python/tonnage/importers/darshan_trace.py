"""What the traced calls (DXT) of a Darshan log tell that its counters do not: in which order each rank went through a
file, and how many bytes went when."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tonnage.demand.job_use import Bounds, Order, TimeBin
from tonnage.importers.darshan_log import Calls

_BINS = 200
"""At most."""
_TICKS = 10
"""Steps of the log's clock in a bin, at least: a call that seems to last one may have lasted two, or none."""
_FINEST_S = 2.5e-7
"""A double of seconds since 1970 steps so."""
_STEPS_S = (1.0, 0.1, 0.01, 0.004, 0.001, 1e-4, 1e-5, 1e-6)
"""Of clocks, the longest first."""
_MOST_TIMES = 10_000
"""Whose step is looked for: of fewer it can only be longer."""
_MOSTLY = 0.5
_NEARLY_ALL = 0.9
"""Of random places as many are behind the one before as ahead of it: half says nothing of a direction."""

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def counted_order(behind: Bounds, consecutive: Bounds) -> Order:
    """By Darshan's own counters: the shares, of the calls that came after another of their rank and file, that were
    behind its end, and exactly there."""
    if consecutive.low >= _MOSTLY:
        return "sequential"
    if consecutive.high < _MOSTLY:
        if behind.low >= _NEARLY_ALL:
            return "forward"
        if behind.high <= 1 - _NEARLY_ALL:
            return "backward or again"
        if behind.low > 1 - _NEARLY_ALL and behind.high < _NEARLY_ALL:
            return "random"
    return "not known"


def order_of(calls: Calls) -> tuple[Order, Bounds, Bounds]:
    """The order; the shares of the calls that were behind the one before, and exactly there: the first of each rank and
    file may count as either."""
    follows = _follows(calls)
    count, followed = len(follows), int(follows.sum())
    if not followed:
        return "sequential", Bounds(0.0, 1.0), Bounds(0.0, 1.0)
    starts, ends = calls.offsets, calls.offsets + calls.lengths
    at = np.flatnonzero(follows)
    gaps, steps = starts[at] - ends[at - 1], starts[at] - starts[at - 1]
    behind, consecutive = int((gaps >= 0).sum()), int((gaps == 0).sum())
    shares = [Bounds(some / count, (some + count - followed) / count) for some in (behind, consecutive)]
    return _named(gaps, steps), shares[0], shares[1]


def _named(gaps: npt.NDArray[np.int64], steps: npt.NDArray[np.int64]) -> Order:
    def share(some: Mask) -> float:
        return float(some.mean())

    if share(gaps == 0) >= _MOSTLY:
        return "sequential"
    if share(steps == 0) >= _MOSTLY:
        return "again"
    if share(gaps >= 0) >= _NEARLY_ALL:
        _, counts = np.unique(gaps, return_counts=True)
        return "strided" if counts.max() >= _MOSTLY * len(gaps) else "forward"
    return "backward" if share(steps < 0) >= _NEARLY_ALL else "random"


def _follows(calls: Calls) -> Mask:
    """Whether the call before it, in the log's order, is of the same rank and file."""
    found = np.zeros(len(calls.ids), np.bool_)
    found[1:] = (calls.ids[1:] == calls.ids[:-1]) & (calls.ranks[1:] == calls.ranks[:-1])
    return found


def bytes_over_time(calls: Calls) -> tuple[TimeBin, ...]:
    """Each call's bytes spread over its own time, in bins that are long enough for the log's clock."""
    tick_s = clock_step_s(np.concatenate([calls.start_s, calls.end_s]))
    # A call without a length lasted less than a step.
    starts, ends = calls.start_s, np.maximum(calls.end_s, calls.start_s + tick_s)
    first, span_s = float(starts.min()), float(ends.max() - starts.min())
    width_s = max(span_s / _BINS, _TICKS * tick_s)
    number = max(1, int(np.ceil(span_s / width_s * (1 - 1e-9))))
    edges = first + width_s * np.arange(1, number + 1)
    # The edges that are ahead of a call's start and of its end: where it has bytes.
    begins, lasts = np.searchsorted(edges, starts, "right"), np.searchsorted(edges, ends, "left")
    within = begins == lasts
    moved = np.bincount(np.minimum(begins[within], number - 1), calls.lengths[within], number).cumsum()
    starts, ends, lengths = starts[~within], ends[~within], calls.lengths[~within]
    for at, edge in enumerate(edges if len(starts) else ()):
        moved[at] += float((lengths * np.clip((edge - starts) / (ends - starts), 0.0, 1.0)).sum())
    moved[-1] = calls.lengths.sum()
    each = np.diff(np.rint(moved).astype(np.int64), prepend=0)
    limits = [first + at * width_s for at in range(number + 1)]
    return tuple(TimeBin(limits[at], limits[at + 1], some) for at, some in enumerate(each.tolist()))


def clock_step_s(times: Floats) -> float:
    """The longest step of a clock that can have given these instants: all are whole numbers of it."""
    known = np.unique(times)[:_MOST_TIMES]
    apart = known - known[0]
    for step in _STEPS_S if len(known) > 1 else ():
        if float(np.abs(apart - np.rint(apart / step) * step).max()) <= min(step / 4, _FINEST_S):
            return step
    return _FINEST_S


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
