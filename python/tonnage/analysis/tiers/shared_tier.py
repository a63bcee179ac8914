"""What a tier that all nodes share gives to any number of them, and where a tier of every node passes it.

Nothing is fitted through the whole curve. Between two measured numbers of nodes the shared tier gives what lies between
their intervals. With fewer nodes than the fewest, a node gets no less than there. With more than the most, the whole
rises by no more a doubling than the last measured step allows: a tier that saturates gains less with each doubling, so
that step bounds all later ones. Where the last step allows so much that the lines need not cross within four times the
nodes that were measured, the crossover is not shown, and so many nodes would show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tonnage.analysis.compare.rate_ratio import DAYS_APART
from tonnage.analysis.statistics.intervals import CONFIDENCE

FURTHEST = 4
"""Times the most nodes that were measured: further out no crossover is shown."""
_STEPS = 600
_HALVINGS = 40
_NORMAL_Z = 1.959963984540054
_DAYS = _NORMAL_Z * DAYS_APART * math.sqrt(2)
"""Half the interval of a quotient's logarithm by the days of its two parts alone."""


class Rated(Protocol):
    """What is asked of a point of a curve over nodes: :class:`~tonnage.analysis.results.Point` has it."""

    @property
    def values(self) -> tuple[float, ...]: ...
    @property
    def median(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def confidence(self) -> float: ...


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A rate with the interval of its median, which is equal to it where there is none (``confidence`` 0)."""

    median: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where the lines cross."""

    nodes: MeasuredRate
    """Not shown: the number of nodes up to which the shared tier is ahead, without an interval."""
    rate: MeasuredRate
    """Of the shared tier there, of all nodes."""
    shown: bool
    measure_at: int | None
    """Not shown: with so many nodes the shared tier is to be measured."""


def quotient(top: MeasuredRate, bottom: MeasuredRate) -> MeasuredRate:
    """``top`` ÷ ``bottom``.

    The interval of a ratio from the intervals of its parts, by recovered variances on the logarithms (Zou and Donner
    2008); none where one of the parts has none.
    """
    ratio = top.median / bottom.median
    if not (top.confidence and bottom.confidence and top.low > 0 and bottom.low > 0):
        return exact(ratio)
    down = math.hypot(math.log(top.median / top.low), math.log(bottom.high / bottom.median))
    up = math.hypot(math.log(top.high / top.median), math.log(bottom.median / bottom.low))
    return MeasuredRate(ratio, ratio * math.exp(-down), ratio * math.exp(up), min(top.confidence, bottom.confidence))


def exact(rate: float) -> MeasuredRate:
    """A rate without an interval, as published figures are."""
    return MeasuredRate(rate, rate, rate, 0.0)


def shared_rate(curve: Mapping[int, Rated], nodes: float) -> MeasuredRate:
    """What all of so many nodes get together out of a tier that was measured with the numbers of nodes of ``curve``."""
    known = sorted(curve)
    sure = CONFIDENCE if all(point.confidence for point in curve.values()) else 0.0
    few, most = known[0], known[-1]
    if nodes <= few:
        point, part = curve[few], nodes / few
        return MeasuredRate(point.median * part, point.low * part, point.high if sure else point.median * part, sure)
    if nodes >= most:
        return _beyond(curve, nodes, sure)
    left = max(count for count in known if count <= nodes)
    right = min(count for count in known if count >= nodes)
    one, two = curve[left], curve[right]
    along = math.log(nodes / left) / math.log(right / left) if right > left else 0.0
    middle = one.median * (two.median / one.median) ** along
    if not sure:
        return exact(middle)
    return MeasuredRate(middle, min(one.low, two.low), max(one.high, two.high), sure)


def _beyond(curve: Mapping[int, Rated], nodes: float, sure: float) -> MeasuredRate:
    most = max(curve)
    last, further = curve[most], nodes / most
    rise, most_rise = _rises(curve)
    middle = last.median * further**rise
    if not sure:
        return exact(middle)
    # It cannot be known that it falls no more than it did; that it goes on falling is not reckoned with.
    return MeasuredRate(max(middle, last.low), last.low, last.high * further**most_rise, sure)


def _rises(curve: Mapping[int, Rated]) -> tuple[float, float]:
    """The exponent of nodes with which the rate rose at the last step, halved as it lessens further out; and the most
    that the intervals allow. 1 is what a tier gives that shares nothing."""
    known = sorted(curve)
    if len(known) < 2:
        return 0.0, 1.0
    before, most = known[-2:]
    step = quotient(_measured_rate(curve[most]), _measured_rate(curve[before]))
    doublings = math.log(most / before)
    rise = min(1.0, max(0.0, math.log(step.median) / doublings))
    return rise / 2, min(1.0, max(0.0, math.log(step.high) / doublings))


def _measured_rate(point: Rated) -> MeasuredRate:
    return MeasuredRate(point.median, point.low, point.high, point.confidence)


def meeting(each: MeasuredRate, curve: Mapping[int, Rated]) -> Meeting:
    """From how many nodes on ``each`` of them has more on a tier of its own than all get out of the shared one.

    The interval reckons with 5 % between the days of both tiers' runs. It ends at one node, below which there is none.
    """
    furthest = float(FURTHEST * max(curve))
    sure = bool(each.confidence and shared_rate(curve, 1).confidence)

    def crossed(own: float, side: Callable[[MeasuredRate], float], factor: float) -> float:
        return _last_behind(lambda nodes: own * nodes < side(shared_rate(curve, nodes)) * factor, furthest)

    middle = crossed(each.median, lambda rate: rate.median, 1.0)
    days = math.exp(_DAYS)
    low = crossed(each.high, lambda rate: rate.low, 1 / days) if sure else middle
    high = crossed(each.low, lambda rate: rate.high, days) if sure else middle
    shown = high < furthest and (len(curve) > 1 or high <= 1)
    if shown:
        nodes = MeasuredRate(min(max(middle, low), high), low, high, CONFIDENCE if sure else 0.0)
        return Meeting(nodes, shared_rate(curve, nodes.median), True, None)
    most = max(curve)
    wanted = max(2 * most, math.ceil(min(middle, furthest) * 1.2))
    return Meeting(exact(low), shared_rate(curve, most), False, min(wanted, 2 * FURTHEST * most))


def _last_behind(is_behind: Callable[[float], bool], furthest: float) -> float:
    """The largest number of nodes, between one and the furthest, that is behind; 1 where none is."""
    grid: list[float] = [furthest ** (step / _STEPS) for step in range(_STEPS + 1)]
    last = next((step for step in range(_STEPS, -1, -1) if is_behind(grid[step])), None)
    if last is None:
        return 1.0
    if last == _STEPS:
        return furthest
    low, high = grid[last], grid[last + 1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_behind(middle) else (low, middle)
    return high
