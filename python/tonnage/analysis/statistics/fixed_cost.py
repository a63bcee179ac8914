"""What an event such as a snapshot adds to each round, in seconds, from rounds with it and without: time against bytes.

A round takes a + bytes ÷ rate, and with a snapshot ``cost`` more: two lines, one above the other. A percentage mixes
the cost with how much was written, and hides it where that was much; seconds do not. Each pair of settings that differ
in the snapshot alone gives one difference; those are put together weighted by what is known of each, so that short
rounds, whose noise is fewer seconds, say most. No line is fitted for it: a rate that changes with the size would bend
the cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tonnage.analysis.statistics.intervals import CONFIDENCE, student_t

if TYPE_CHECKING:
    from tonnage.analysis.statistics.paired_samples import Numbers

_POWER_Z = 0.8416212335729143
"""Standard normal quantile of 0.8."""
_MOST_REPETITIONS = 1000
COSTS, SAVES, NOT_SHOWN = "costs", "saves", "not shown"
GROWS, FALLS, UNCHANGED = "grows", "falls", "no change shown"


@dataclass(frozen=True, slots=True)
class Pair:
    """The time of a round of equal settings, without the event and with it: one positive number a repetition."""

    tasks: int
    bytes: int
    """Of a round, of all tasks."""
    without_ns: tuple[float, ...]
    with_ns: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Time that an event adds to a round."""

    cost_ns: float
    low_ns: float
    high_ns: float
    confidence: float
    """0: there is no interval, because there was nothing to tell the noise from."""
    spread_ns: float
    """Standard error."""
    degrees: float
    repetitions: float
    """Of a side of a pair, in the mean."""

    @property
    def verdict(self) -> str:
        """``costs`` or ``saves`` where the whole interval lies on one side of 0, else ``not shown``."""
        if not self.confidence or self.low_ns <= 0 <= self.high_ns:
            return NOT_SHOWN
        return COSTS if self.low_ns > 0 else SAVES

    @property
    def repetitions_to_show(self) -> int | None:
        """Repetitions that would show a cost such as the one seen, four times of five; None where it is shown, is no
        cost, or more than 1000 would not do."""
        if self.verdict != NOT_SHOWN or self.cost_ns <= 0 or not self.spread_ns:
            return None
        each = self.degrees / self.repetitions
        for count in range(max(math.ceil(self.repetitions), 2), _MOST_REPETITIONS + 1):
            error = self.spread_ns * math.sqrt(self.repetitions / count)
            if (student_t(CONFIDENCE, max(each * count, 1)) + _POWER_Z) * error <= self.cost_ns:
                return count
        return None

    @property
    def shown_from_ns(self) -> float | None:
        """The smallest cost that so many repetitions would show four times of five; None without an interval."""
        if not self.confidence:
            return None
        return (student_t(CONFIDENCE, max(self.degrees, 1)) + _POWER_Z) * self.spread_ns


@dataclass(frozen=True, slots=True)
class Change:
    """By how much the cost changes with something, and whether that is shown."""

    per_unit_ns: float
    low_ns: float
    high_ns: float
    confidence: float

    @property
    def verdict(self) -> str:
        """``grows``, ``falls``, or ``no change shown``: that it is constant cannot be shown."""
        if not self.confidence or self.low_ns <= 0 <= self.high_ns:
            return UNCHANGED
        return GROWS if self.low_ns > 0 else FALLS


@dataclass(frozen=True, slots=True)
class Estimate:
    """What pairs say together."""

    cost: Cost
    each: tuple[Cost, ...]
    """Of each pair alone, in their order."""
    with_tasks: Change | None
    """For each doubling of the tasks, the size being equal; None where they were not varied."""
    with_bytes: Change | None
    """For each GiB more in a round, the tasks being equal; None where sizes were not varied."""
    groups: tuple[Cost, ...]
    """Of each group of pairs that was asked for."""
    from_scatter: bool
    """Whether the interval is from how far the pairs lie apart, because nothing was repeated."""


def estimate(pairs: Sequence[Pair], groups: Sequence[Sequence[int]] = ()) -> Estimate:
    """The cost that all pairs have in common, that of each and of ``groups`` (their numbers), and whether it changes.

    ValueError without any pair, or where a time is not positive."""
    if not pairs or any(min(*pair.without_ns, *pair.with_ns) <= 0 for pair in pairs):
        raise ValueError("a cost needs pairs of positive times")
    import numpy as np

    from tonnage.analysis.statistics.paired_samples import Sides

    sides = Sides([pair.without_ns for pair in pairs], [pair.with_ns for pair in pairs])
    weights = sides.weights()
    slopes = _slopes(pairs, weights)
    each = np.eye(len(pairs))
    parts = [weights * each[list(group)].sum(axis=0) / weights[list(group)].sum() for group in groups]
    sums = [weights, *each, *parts, *(slope for slope in slopes if slope is not None)]
    found = [Cost(*one, repetitions=sides.repetitions) for one in sides.intervals(np.asarray(sums))]
    last = len(pairs) + 1 + len(parts)
    changes = iter(found[last:])
    tasks, sizes = (None if slope is None else _change(next(changes)) for slope in slopes)
    alone, grouped = tuple(found[1 : len(pairs) + 1]), tuple(found[len(pairs) + 1 : last])
    return Estimate(found[0], alone, tasks, sizes, grouped, sides.scattered)


def _change(cost: Cost) -> Change:
    return Change(cost.cost_ns, cost.low_ns, cost.high_ns, cost.confidence)


def _slopes(pairs: Sequence[Pair], weights: Numbers) -> tuple[Numbers | None, Numbers | None]:
    """Weights of the pairs' differences whose sum is the slope over the doublings of the tasks, and over GiB, by
    weighted least squares; None for what does not vary, or cannot be told from the other."""
    import numpy as np

    doublings = np.log2([pair.tasks for pair in pairs])
    sizes = np.asarray([pair.bytes for pair in pairs]) / 2**30
    found: list[Numbers | None] = [None, None]
    columns = [(number, column) for number, column in enumerate((doublings, sizes)) if np.ptp(column) > 0]
    if len(pairs) < len(columns) + 2:
        # As many unknowns as differences: every slope would fit.
        return None, None
    design = np.column_stack([np.ones(len(pairs)), *(column / np.ptp(column) for _, column in columns)])
    root = np.sqrt(weights)[:, None]
    if np.linalg.matrix_rank(design * root, tol=1e-6) < design.shape[1]:
        return None, None
    solved = np.linalg.pinv(design * root) * root.T
    for row, (number, column) in enumerate(columns, 1):
        found[number] = solved[row] / np.ptp(column)
    return found[0], found[1]
