"""Two tiers compared: a fast one on every node, whose rate grows with the nodes, and a slow one that all nodes share.

From how many nodes on the fast tier wins follows from measured ceilings: N = S / F, where F is the rate of one node's
fast tier and S the rate of the shared tier on N nodes (:mod:`tonnage.analysis.tiers.crossover`). With nominal figures
of S the result is wrong. A run with a ``stage`` names its tiers and has one node. A run that sweeps over numbers of
nodes shows which tier is the fast one: the one whose rate is highest on the largest number of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tonnage.analysis.compare.rate_ratio import DAYS_APART
from tonnage.analysis.load_line.estimate import estimate
from tonnage.analysis.results import Hosts, Point
from tonnage.analysis.statistics.intervals import CONFIDENCE
from tonnage.records.line_types import TrialLine
from tonnage.records.trial_columns import by_record

FURTHEST = 4
"""Times the most nodes that were measured: further out no crossover is shown."""
_STEPS = 600
_HALVINGS = 40
_NORMAL_Z = 1.959963984540054
_DAYS = _NORMAL_Z * DAYS_APART * math.sqrt(2)
"""Half the interval of a quotient's logarithm by the days of its two parts alone."""


class Rated(Protocol):
    """The properties of a point that a curve over nodes needs: :class:`~tonnage.analysis.results.Point` has them."""

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


_RISE = 0.05
"""Of what so many times the nodes could have given: a smaller difference between tiers tells nothing."""
METRICS = {"write": "B/s", "read": "B/s", "open-write-close": "1/s"}
"""The operations that are compared between tiers, and the metric of each."""


@dataclass(frozen=True, slots=True)
class Crossover:
    """From how many nodes on a tier that grows with them passes one that they share."""

    op: str
    nodes: float
    low: float
    high: float
    confidence: float
    """0: no interval."""
    fast: MeasuredRate
    """Of one node, in B/s, or operations/s for ``open-write-close``."""
    slow: MeasuredRate
    """Of all nodes together."""
    behind: int | None = None
    """The most nodes at which the fast tier was measured behind…"""
    ahead: int | None = None
    """…and the fewest beyond them at which it was ahead; None where nodes were not swept, or it never was."""
    levelled: bool = True
    """Whether the crossover is shown; else the slow tier may grow so much further that the lines cross at more nodes,
    or never, and ``nodes`` is up to where it is ahead."""
    measure_at: int | None = None
    """Not shown: with so many nodes the slow tier is to be measured."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to have an application's bytes on the slow tier, at one number of tasks; of the median repetition."""

    by: str
    """``straight``, ``copy`` or ``mover``."""
    tasks: int
    application_ns: int
    """What the application takes to write."""
    drain_ns: int
    """From its end until all is safe on the slow tier."""
    point: Point
    """The rate from the first write until all is safe."""

    @property
    def total_ns(self) -> int:
        return self.application_ns + self.drain_ns


@dataclass(frozen=True, slots=True)
class Tiers:
    """A fast tier and a slow one compared."""

    ways: tuple[Way, ...]
    crossovers: tuple[Crossover, ...]


def crossover(op: str, fast: MeasuredRate, slow: MeasuredRate) -> Crossover:
    """Computes where the tiers cross; ``fast``: rate of one node, ``slow``: of all nodes together."""
    nodes = quotient(slow, fast)
    return Crossover(op, nodes.median, nodes.low, nodes.high, nodes.confidence, fast, slow)


def tiers_of(points: Sequence[Point], trials: Sequence[TrialLine], hosts: Sequence[Hosts] = ()) -> Tiers | None:
    """What a run with a ``stage``, or a sweep over nodes on two devices, says of its two tiers; None without either."""
    staged = [point for point in points if point.kind == "stage"]
    if not staged:
        return _swept(points, hosts)
    fast, slow = staged[0].setting["device"], staged[0].setting["to_device"]
    found = []
    for op in METRICS:
        one = _best([point for point in points if point.op == op and _on(point, fast)])
        all_of_them = _best([point for point in points if point.op == op and _on(point, slow)])
        if one and all_of_them:
            # One node's share of the slow tier is no ceiling of it: more nodes may get more.
            told = crossover(op, one, all_of_them)
            found.append(replace(told, levelled=told.high <= 1, measure_at=None if told.high <= 1 else 2))
    return Tiers(tuple(_paths_to_slow_tier(points, trials, slow)), tuple(found))


def _swept(points: Sequence[Point], hosts: Sequence[Hosts]) -> Tiers | None:
    """Two devices, each measured with the same numbers of nodes, several of them."""
    nodes = {(found.op, found.group, found.tasks): len(found.parts) for found in hosts}
    curves: dict[str, dict[int, dict[int, Point]]] = {}
    for point in points:
        device, number = point.setting.get("device"), nodes.get((point.op, point.group, point.tasks), 1)
        if point.op in METRICS and point.kind == "stream" and device is not None:
            curves.setdefault(point.op, {}).setdefault(device, {})[number] = point
    found = [
        _of_curves(op, *by_device.values())
        for op, by_device in curves.items()
        if len(by_device) == 2 and len(set.intersection(*map(set, by_device.values()))) > 1
    ]
    return Tiers((), tuple(found)) if found else None


def _of_curves(op: str, one: Mapping[int, Rated], other: Mapping[int, Rated]) -> Crossover:
    """The crossover of two curves over nodes."""
    fast, slow = (one, other) if grows_more(one, other) else (other, one)
    return seen_on_both_sides(crossover_of_curve(op, of_a_node(fast), slow), fast, slow)


def crossover_of_curve(op: str, each: MeasuredRate, slow: Mapping[int, Rated]) -> Crossover:
    """Where ``each`` node's rate passes what the shared tier was measured to give to so many together."""
    found = meeting(each, slow)
    nodes = found.nodes
    place = (nodes.median, nodes.low, nodes.high, nodes.confidence)
    return Crossover(op, *place, each, found.rate, levelled=found.shown, measure_at=found.measure_at)


def seen_on_both_sides(found: Crossover, fast: Mapping[int, Rated], slow: Mapping[int, Rated]) -> Crossover:
    """With the most nodes at which the fast tier was measured behind, and the fewest beyond at which it was ahead."""
    common = sorted(fast.keys() & slow.keys())
    behind = [number for number in common if fast[number].median < slow[number].median]
    ahead = [number for number in common if number > max(behind, default=0)]
    return replace(found, behind=max(behind, default=None), ahead=min(ahead, default=None))


def grows_more(one: Mapping[int, Rated], other: Mapping[int, Rated]) -> bool:
    """Whether ``one`` is the tier that grows with the nodes: it loses least of what so many times the nodes could have
    given; where neither loses, it is the one that most nodes get most of. Both were measured with some numbers of nodes
    alike."""
    common = sorted(one.keys() & other.keys())
    few, most = common[0], common[-1]
    kept = [min(1.0, curve[most].median / curve[few].median / (most / few)) for curve in (one, other)]
    if abs(kept[0] - kept[1]) > _RISE:
        return kept[0] > kept[1]
    return one[most].median >= other[most].median


def of_a_node(curve: Mapping[int, Rated]) -> MeasuredRate:
    """What a node of the fast tier does, where most did it at once: that is what it can count on; few nodes may each be
    faster, out of caches."""
    most = max(curve)
    point = curve[most]
    return MeasuredRate(point.median / most, point.low / most, point.high / most, point.confidence)


def _on(point: Point, device: int) -> bool:
    """Whether it was measured on that directory of the target, and beside nothing that slows it."""
    # While the mover works, an application's rate is not what the fast tier can do.
    alone = point.kind != "stage" or point.setting.get("by") == "copy"
    return point.setting.get("device") == device and alone


def _best(points: Sequence[Point]) -> MeasuredRate | None:
    """The plateau of the settings that have the highest one."""
    return max((plateau_of(points) for points in by_group(points)), key=lambda rate: rate.median, default=None)


def by_group(points: Sequence[Point]) -> list[list[Point]]:
    """The curves over tasks; points at which nothing was moved say nothing."""
    found: dict[str, list[Point]] = {}
    for point in points:
        if min(point.values) > 0:
            found.setdefault(point.group, []).append(point)
    return list(found.values())


def plateau_of(points: Sequence[Point]) -> MeasuredRate:
    """Of one curve over tasks, with its interval. The largest of several medians would be too high: it is the one that
    chance favoured most."""
    if len(points) == 1:
        (one,) = points
        return MeasuredRate(one.median, one.low, one.high, one.confidence)
    found = estimate({point.tasks: point.values for point in points})
    if not any(point.repetitions > 1 for point in points):
        return MeasuredRate(found.plateau, found.plateau, found.plateau, 0.0)
    return MeasuredRate(found.plateau, found.plateau_low, found.plateau_high, CONFIDENCE)


def _paths_to_slow_tier(points: Sequence[Point], trials: Sequence[TrialLine], slow: int) -> list[Way]:
    """Each way to have the bytes on the slow tier: straight there, or over the fast tier, by number of tasks."""
    lines = by_record(trials)
    found = []
    for point in points:
        straight = point.kind == "stream" and point.op == "write" and point.setting.get("device") == slow
        if straight:
            found.append(
                Way("straight", point.tasks, *_median([(lines[r]["elapsed_ns"] or 0, 0) for r in point.records]), point)
            )
        elif point.kind == "stage" and point.op == "stage":
            stages = [stage for record in point.records if (stage := lines[record]["stage"])]
            pairs = [(stage["application_ns"], stage["drain_ns"]) for stage in stages]
            found.append(Way(point.setting["by"], point.tasks, *_median(pairs), point))
    return sorted(found, key=lambda way: way.tasks)


def _median(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The pair of the median total: one repetition's two parts belong together."""
    return sorted(pairs, key=sum)[len(pairs) // 2]
