"""What to measure next. For a load line: double until it stops rising, bisect, repeat where it counts. For the largest
load that meets a latency objective: bisect, then repeat around it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from tonnage.analysis.load_line.estimate import Estimate, estimate
from tonnage.analysis.load_line.latency_line import Crossing, Latencies, crossing, sustained
from tonnage.records.line_types import StopReason

_PROMISING = 0.9
"""Share of the best throughput that a number between two doublings must be able to reach to be measured."""
_TURNS = 97
"""A number of tasks has its turn in the first look by its remainder: doublings and those between differ in it."""
_ENOUGH = 3
"""Repetitions of a point that matters before the search may end."""
_TELLING_NOISE = 0.1
"""Relative noise of a trial up to which two repetitions say which side of the load line a point is on."""
_TELLING = 4.0
"""A gap is halved while its ends are so many times the noise apart."""
_PLATEAU_WIDTH = 0.02
"""Relative half-width of the plateau at which it is known well enough."""


class MeasuredPoint(Protocol):
    """The part of a point that the search reads: ``tonnage.analysis.results.Point`` has it."""

    @property
    def tasks(self) -> int: ...
    @property
    def values(self) -> Sequence[float]: ...


class Search:
    """The decisions of ``probe`` for one operation. The same points and seed give the same decisions."""

    def __init__(self, op: str, max_tasks: int, seed: int) -> None:
        self.op = op
        self.max_tasks = max_tasks
        self._random = random.Random(f"{seed}-{op}")
        self._round: list[int] = []
        self._turn = self._random.sample(range(_TURNS), _TURNS)
        self._estimated: tuple[dict[int, Sequence[float]], Estimate] | None = None

    def next(self, points: Sequence[MeasuredPoint], trials_left: int) -> int | None:
        """Tasks of the next trial, or None when the load line is known well enough or no trial is left."""
        if trials_left <= 0:
            return None
        values = {point.tasks: point.values for point in points if point.values}
        step = self._first_measurement(values)
        if step is not None:
            return step
        if not self._round:
            self._round = self._plan(values, trials_left)
        return self._round.pop() if self._round else None

    def stopped(self, points: Sequence[MeasuredPoint], ended: StopReason) -> dict[int, StopReason]:
        """Of each number of tasks: why it is not measured again. ``ended``: what ends a search that would go on."""
        values = {point.tasks: point.values for point in points if point.values}
        if not values or self._first_measurement(values) is not None:
            return dict.fromkeys(values, ended)
        found = self._estimate(values)
        if self._plateau_is_known(values, found) and self._between(values, found) is None:
            ended = "known" if found.reached else "limit"
        near = self._matters(values, found)
        return {tasks: ended if tasks in near else "aside" for tasks in values}

    def on_plateau(self, points: Sequence[MeasuredPoint]) -> int | None:
        """The smallest measured number of tasks that is on the plateau beyond doubt; None where none was reached."""
        values = {point.tasks: point.values for point in points if point.values}
        found = self._estimate(values) if len(values) > 1 else None
        if found is None or not found.reached:
            return None
        return min(n for n in values if n >= min(found.knee_high, max(values)))

    def _estimate(self, values: dict[int, Sequence[float]]) -> Estimate:
        """Of the latest points it is asked several times."""
        if self._estimated is None or self._estimated[0] != values:
            self._estimated = values, estimate(values)
        return self._estimated[1]

    def highest(self, points: Sequence[MeasuredPoint]) -> list[int]:
        """The measured numbers of tasks on the plateau, those that do most first: what each trial gets at its start
        grows with the tasks, so the plateau is best separated from that where it is read. Empty where none was
        reached."""
        first = self.on_plateau(points)
        if first is None:
            return []
        shares = self._estimate({point.tasks: point.values for point in points if point.values}).shares
        return sorted((n for n in shares if n >= first), key=lambda n: (-shares[n][0], n))

    def _first_measurement(self, values: dict[int, Sequence[float]]) -> int | None:
        """Each number is measured once before any is repeated: the largest, the doublings in random order, and then
        those between two doublings where a stair could hide."""
        doublings = {min(1 << i, self.max_tasks) for i in range(self.max_tasks.bit_length() + 1)}
        missing = sorted(doublings - values.keys(), key=lambda n: (n != self.max_tasks, self._turn[n % _TURNS]))
        if missing:
            return missing[0]
        best = max(map(_mean, values.values()))
        between = [
            3 * n // 2
            for n in sorted(doublings)
            # Tasks share a storage: none of them does more where there are more of them.
            if 3 * n // 2 in range(n + 1, self.max_tasks) and 2 * _mean(values[n]) > _PROMISING * best
        ]
        return next((n for n in sorted(between, key=lambda n: self._turn[n % _TURNS]) if n not in values), None)

    def _plan(self, values: dict[int, Sequence[float]], trials_left: int) -> list[int]:
        """One round of trials, in random order, so that drift of the storage does not look like an effect of tasks."""
        found = self._estimate(values)
        wanted = self._matters(values, found)
        singles = [n for n in wanted if len(values[n]) < 2]
        between = self._between(values, found) if trials_left >= len(singles) + 2 else None
        again = [n for n in wanted if len(values[n]) >= 2]
        again += self._against(values, found) if len(values) > 2 else []
        if between is not None:
            singles += [between, between]
        elif self._plateau_is_known(values, found):
            return []
        # Where not all of them can be had, those that were measured least go first.
        self._random.shuffle(singles)
        self._random.shuffle(again)
        trials = [*singles, *again][:trials_left]
        self._random.shuffle(trials)
        return trials

    def _against(self, values: dict[int, Sequence[float]], found: Estimate) -> list[int]:
        """Points that may yet speak against the load line, to be measured more often: the largest number, for up to it
        the claim goes and no other tells what comes beyond the one before; and of those between, which are many, the
        one that may lie highest."""
        top = max(values)
        between = [n for n in values if found.knee_high < n < top]
        if not between:
            return [top]
        highest = max(between, key=lambda n: math.log(_mean(values[n])) + found.noise / len(values[n]) ** 0.5)
        return [top, highest, highest]

    def _matters(self, values: dict[int, Sequence[float]], found: Estimate) -> list[int]:
        """Points to repeat: around the knee and on the plateau; the rest until each has two."""
        tasks = sorted(values)
        below = [n for n in tasks if n < found.knee_low][-1:]
        inside = [n for n in tasks if found.knee_low <= n <= found.knee_high]
        beyond = [n for n in tasks if n > found.knee_high]
        singles = [n for n in tasks if len(values[n]) < 2]
        return sorted({*below, *inside, *beyond, *singles})

    def _between(self, values: dict[int, Sequence[float]], found: Estimate) -> int | None:
        """A number of tasks not yet measured that halves the widest gap around the knee, where noise lets it tell."""
        measured = [0, *sorted(values)]
        low, high = found.knee_low - 1, found.knee_high
        if found.declines:
            # The plateau is a peak then, and the true one may lie between the best point and either neighbour.
            best = measured.index(max(values, key=lambda n: _mean(values[n])))
            low, high = min(low, measured[best - 1]), max(high, measured[min(best + 1, len(measured) - 1)])
        edges = sorted({low, high, *(n for n in measured if low <= n <= high)})
        missing = [n for n in (high, low) if n > 0 and n not in values]
        gaps = [(b / max(a, 0.5), a, b) for a, b in pairwise(edges) if b - a > 1]
        ratio, a, b = max(gaps, default=(1.0, 0, 0))
        if gaps and (len(edges) == 2 or math.log(ratio) >= _TELLING * found.noise):
            return (a + b) // 2
        # Gaps so small that two repetitions cannot tell their ends apart are left; the ends themselves are measured.
        return missing[0] if missing and found.noise < _TELLING_NOISE else None

    def _plateau_is_known(self, values: dict[int, Sequence[float]], found: Estimate) -> bool:
        repeated = all(len(values[n]) >= _ENOUGH for n in self._matters(values, found))
        width = (found.plateau_high - found.plateau_low) / (2 * found.plateau)
        rising = not found.reached and found.knee_low > max(values) / 2
        narrow = rising or found.knee_low == found.knee_high
        return repeated and narrow and width <= _PLATEAU_WIDTH


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)


Objectives = Mapping[str, int]
"""Percentile (``p99_ns``, ``p999_ns``) → nanoseconds."""

_TELLING_WAIT = 2.0
"""A gap is halved while its ends are so many times the noise apart, or both were measured often."""
_REPEATED = 2
"""Trials of the loads next to the objective before gaps further off are looked into."""
_ENOUGH_WAITS = 3
"""Trials of each end of the answer before it counts as known."""
_BESIDE = 2
"""Measured loads on each side of the objective that are repeated."""
_RATES = (0.02, 1.2)
"""Shares of the plateau between which rates are offered."""
_CLOSE_RATES = 0.08
"""Rates nearer to each other than this count as neighbours."""


class LoadBisection:
    """The decisions on a number of tasks or accelerators, whose largest that keeps an objective is looked for, once
    numbers on both sides of it, or the largest, were measured. The same trials and seed give the same decisions."""

    def __init__(self, most: int, seed: str) -> None:
        self.most = most
        self._random = random.Random(seed)

    def next(self, values: Latencies, objective: float) -> int | None:
        """The number that the next trial has; None where the answer is known."""
        found = crossing(values, objective)
        return None if self._is_known(values, found) else self._of(values, found)

    def _is_known(self, values: Latencies, found: Crossing) -> bool:
        ends = found.shown_within or 0, found.shown_above or self.most + 1
        return ends[0] + 1 == ends[1] and all(len(values[n]) >= _ENOUGH_WAITS for n in ends if n in values)

    def _of(self, values: Latencies, found: Crossing) -> int:
        low, high = found.meets or 0, found.exceeds or self.most + 1
        near = around(values, found, self._random)
        if high - low > 1 and (
            not low or found.gap > _TELLING_WAIT * found.noise or len(values[near]) >= _ENOUGH_WAITS
        ):
            return (low + high) // 2
        hole = _hole(values, found)
        return near if hole is None or len(values[near]) < _REPEATED else hole


class LatencySearch:
    """The decisions for one operation on tasks. The same trials and seed give the same decisions."""

    def __init__(self, op: str, max_tasks: int, objectives: Objectives, seed: int) -> None:
        self.objectives = objectives
        self._doublings = {min(1 << i, max_tasks) for i in range(max_tasks.bit_length() + 1)}
        self._bisection = LoadBisection(max_tasks, f"latency-{seed}-{op}")
        self._random = random.Random(f"latency-{seed}-{op}-objective")

    def next(self, measured: Mapping[str, Latencies]) -> int | None:
        """Tasks of the next trial; None where every objective's answer is known, or the search for the load line has
        not measured every doubling yet. ``measured``: of each percentile, by tasks."""
        wanted = []
        for percentile, objective_ns in self.objectives.items():
            values = measured.get(percentile, {})
            if not self._doublings <= values.keys():
                return None
            tasks = self._bisection.next(values, objective_ns)
            if tasks is not None:
                wanted.append(tasks)
        return self._random.choice(wanted) if wanted else None


class RateSearch:
    """The decisions for one operation on offered rates, in bytes per second."""

    def __init__(self, op: str, objectives: Objectives, seed: int) -> None:
        self.objectives = objectives
        self._random = random.Random(f"rate-{seed}-{op}")

    def next(self, measured: Mapping[str, Latencies], plateau: float) -> int:
        """Rate of the next trial, of a storage whose rate without a limit is ``plateau``."""
        wanted = [
            self._of(values, objective_ns, plateau)
            for percentile, objective_ns in self.objectives.items()
            if (values := measured.get(percentile))
        ]
        return self._random.choice(wanted) if wanted else rounded(plateau / 2)

    def _of(self, values: Latencies, objective_ns: int, plateau: float) -> int:
        values = sustained(values, objective_ns, plateau)
        found = crossing(values, objective_ns, offered=True)
        least, most = (rounded(share * plateau) for share in _RATES)
        if found.meets is None:
            smallest = min(values)
            return rounded(smallest / 2) if smallest > least else smallest
        if found.exceeds is None:
            largest = max(values)
            return rounded((largest + most) / 2) if largest < (1 - _CLOSE_RATES) * most else largest
        if found.exceeds > (1 + _CLOSE_RATES) * found.meets:
            return rounded(math.sqrt(found.meets * found.exceeds))
        ends = []
        if found.shown_within is None or found.shown_within < found.meets:
            ends.append(self._end(values, objective_ns, [n for n in sorted(values, reverse=True) if n <= found.meets]))
        if found.shown_above is None or found.shown_above > found.exceeds:
            beyond = [n for n in sorted({*values, most}) if n >= found.exceeds]
            ends.append(self._end(values, objective_ns, beyond))
        if not ends:
            return rounded(math.sqrt(found.meets * found.exceeds))
        return min(ends, key=lambda rate: (len(values.get(rate, ())), self._random.random()))

    def _end(self, values: Latencies, objective_ns: int, outward: Sequence[int]) -> int:
        """The first rate on one side of the objective whose trials do not disagree about it."""
        for rate in outward:
            on = [value <= objective_ns for value in values.get(rate, ())]
            if len(set(on)) < 2:
                return rate
        return outward[-1]


def _hole(values: Latencies, found: Crossing) -> int | None:
    """A number of tasks in the middle of the widest gap between the objective and what is shown on either side of it,
    where the noise would let it narrow the interval."""
    loads = sorted(values)
    inside = [load for load in loads if (found.shown_within or 1) <= load <= (found.shown_above or loads[-1])]
    gaps = [(b / a, (a + b) // 2) for a, b in pairwise(inside) if b - a > 1]
    ratio, middle = max(gaps, default=(1.0, 0))
    return middle if math.log(ratio) > _TELLING_WAIT * found.noise else None


def around(values: Latencies, found: Crossing, chance: random.Random) -> int:
    """The measured load next to the objective that was tried least."""
    loads: Sequence[int] = sorted(values)
    low, high = found.meets or 0, found.exceeds or loads[-1] + 1
    least = min(found.shown_within or 0, low)
    most = max(found.shown_above or loads[-1], high)
    below = [load for load in loads if least <= load <= low][-_BESIDE:]
    beyond = [load for load in loads if high <= load <= most][:_BESIDE]
    fewest = min(len(values[load]) for load in below + beyond)
    return chance.choice([load for load in below + beyond if len(values[load]) == fewest])


def rounded(rate: float) -> int:
    """To three significant digits, so that a rate can be repeated and read."""
    digits = 3 - 1 - math.floor(math.log10(max(rate, 1.0)))
    return max(1, int(round(rate, digits)))
