"""What to measure next to find the largest load that meets a latency objective: bisect, then repeat around it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tonnage.analysis.loadline.latency import Crossing, Latencies, crossing

Objectives = Mapping[str, int]
"""Percentile (``p99_ns``, ``p999_ns``) → nanoseconds."""

_TELLING = 2.0
"""A gap is halved while its ends are so many times the noise apart, or both were measured often."""
_REPEATED = 2
"""Trials of the loads next to the objective before gaps further off are looked into."""
_ENOUGH = 3
"""Trials of each end of the answer before it counts as known."""
_BESIDE = 2
"""Measured loads on each side of the objective that are repeated."""
_RATES = (0.02, 1.2)
"""Shares of the plateau between which rates are offered."""
_CLOSE_RATES = 0.08
"""Rates nearer to each other than this count as neighbours."""


class LatencySearch:
    """The decisions for one operation on tasks. The same trials and seed give the same decisions."""

    def __init__(self, op: str, max_tasks: int, objectives: Objectives, seed: int) -> None:
        self.max_tasks = max_tasks
        self.objectives = objectives
        self._doublings = {min(1 << i, max_tasks) for i in range(max_tasks.bit_length() + 1)}
        self._random = random.Random(f"latency-{seed}-{op}")

    def next(self, measured: Mapping[str, Latencies]) -> int | None:
        """Tasks of the next trial; None where every objective's answer is known, or the search for the load line has
        not measured every doubling yet. ``measured``: of each percentile, by tasks."""
        wanted = []
        for percentile, objective_ns in self.objectives.items():
            values = measured.get(percentile, {})
            if not self._doublings <= values.keys():
                return None
            found = crossing(values, objective_ns)
            if not self._is_known(values, found):
                wanted.append(self._of(values, found))
        return self._random.choice(wanted) if wanted else None

    def _is_known(self, values: Latencies, found: Crossing) -> bool:
        ends = found.shown_within or 0, found.shown_above or self.max_tasks + 1
        return ends[0] + 1 == ends[1] and all(len(values[n]) >= _ENOUGH for n in ends if n in values)

    def _of(self, values: Latencies, found: Crossing) -> int:
        low, high = found.meets or 0, found.exceeds or self.max_tasks + 1
        near = around(values, found, self._random)
        if high - low > 1 and (not low or found.gap > _TELLING * found.noise or len(values[near]) >= _ENOUGH):
            return (low + high) // 2
        hole = _hole(values, found)
        return near if hole is None or len(values[near]) < _REPEATED else hole


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
    return middle if math.log(ratio) > _TELLING * found.noise else None


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
