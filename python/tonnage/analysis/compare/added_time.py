"""How many seconds longer a trial takes on one side. Where trials move equal amounts, the cost of an event in each of
them (a snapshot, a barrier) is a difference of times; a ratio of rates hides it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.analysis.compare.rate_ratio import LEAST_RUNS
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.fixed_cost import Pair, estimate


@dataclass(frozen=True, slots=True)
class AddedTime:
    """Of one trial on both sides, in nanoseconds."""

    base_ns: int
    """Mean of the base's trials; of several runs a side, of the medians of its runs."""
    other_ns: int
    added_ns: int
    """What the other side takes longer; below 0 where it takes less."""
    low_ns: int
    high_ns: int
    """Interval of that, of this setting alone; equal to it (``confidence`` 0) where there is none."""
    confidence: float


def added_time(base: Sequence[Point], other: Sequence[Point]) -> AddedTime | None:
    """One point a run and side; None where their trials did not all move the same, so that times do not compare."""
    points = (*base, *other)
    amounts = {point.amount for point in points}
    if len(amounts) != 1 or None in amounts or not all(point.elapsed_each_ns for point in points):
        return None
    alone = max(len(base), len(other)) == 1
    sides = [_times(side, alone=alone) for side in (base, other)]
    if min(map(min, sides)) <= 0:
        return None
    cost = estimate([Pair(base[0].tasks, amounts.pop() or 0, *sides)]).cost
    enough = min(map(len, sides)) >= (2 if alone else LEAST_RUNS)
    low, high = (cost.low_ns, cost.high_ns) if enough and cost.confidence else (cost.cost_ns, cost.cost_ns)
    means = [round(statistics.fmean(side)) for side in sides]
    return AddedTime(
        base_ns=means[0],
        other_ns=means[1],
        added_ns=round(cost.cost_ns),
        low_ns=round(low),
        high_ns=round(high),
        confidence=cost.confidence if enough else 0.0,
    )


def _times(side: Sequence[Point], *, alone: bool) -> tuple[float, ...]:
    if alone:
        return tuple(map(float, side[0].elapsed_each_ns))
    return tuple(float(statistics.median(point.elapsed_each_ns)) for point in side)
