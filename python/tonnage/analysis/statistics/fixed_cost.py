"""What an event such as a snapshot adds to each round, in seconds, from rounds with it and without: time against bytes.

A round takes a + bytes ÷ rate, and with a snapshot ``cost`` more: two lines, one above the other. A percentage mixes
the cost with how much was written, and hides it where that was much; seconds do not. Each pair of settings that differ
in the snapshot alone gives one difference; those are put together weighted by what is known of each, so that short
rounds, whose noise is fewer seconds, say most. No line is fitted for it: a rate that changes with the size would bend
the cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tonnage.analysis.statistics.intervals import CONFIDENCE, student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


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


DRAWS = 2000
SEED = 20_140_901
"""Of the draws: the same records give the same interval on every machine."""
_OWN = 4
"""From so many repetitions on, a side's noise is that of its own; below, that of all sides like it together."""
_NORMAL_Z = 1.959963984540054
_TURNS = 4
"""Weights follow from the difference in common, and that from the weights: after so many turns neither moves."""
_LEAST = 0.01
"""Of the first side: what a second side is at least taken to be, where the differences make it smaller."""


class Interval(NamedTuple):
    """A weighted sum of differences; ``confidence`` 0 where nothing tells its noise."""

    value: float
    low: float
    high: float
    confidence: float
    spread: float
    """Standard error."""
    degrees: float


class _Noise(NamedTuple):
    residuals: Numbers
    """Relative to the mean, made as wide as their degrees of freedom say."""
    degrees: int
    whose: object


class Sides:
    """Two sides, each a list of samples (the repetitions) of positive numbers; samples of equal place are a pair.

    The noise of a storage multiplies: it is drawn from residuals relative to the mean of a sample. The mean is the
    arithmetic one: of times, all time over all rounds.
    """

    def __init__(self, first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> None:
        import numpy as np

        samples = [[np.asarray(sample, dtype=float) for sample in side] for side in (first, second)]
        self.means: Numbers = np.asarray([[sample.mean() for sample in side] for side in samples])
        """Two rows, a column a pair."""
        self._counts = np.asarray([[len(sample) for sample in side] for side in samples])
        self._residuals = [[_residuals(sample) for sample in side] for side in samples]
        self.scattered = int(self._counts.max()) == 1 and len(first) > 2
        """Whether nothing was repeated, so that only the pairs' scatter tells the noise."""

    @property
    def repetitions(self) -> float:
        """Of a side of a pair, in the mean."""
        return float(self._counts.mean())

    def weights(self) -> Numbers:
        """Of the pairs, adding up to 1: the inverse variance of each difference, if all differ by the same.

        Both sides of a pair tell what its first one is. From that one alone, a pair whose first side came out small by
        chance would have a larger difference and weigh more, and there would be one where there is none.
        """
        import numpy as np

        pools = [self._pool(side, 2).residuals for side in range(2)]
        relative = [float(np.mean(pool**2)) if len(pool) else 0.0 for pool in pools]
        relative = relative if all(relative) else [1.0, 1.0]
        first, second = self.means
        base, common = first, 0.0
        for _ in range(_TURNS):
            other = np.maximum(base + common, _LEAST * base)
            spreads = relative[0] * base**2, relative[1] * other**2
            weights = self._counts.min(axis=0) / sum(spreads)
            common = float(np.average(second - first, weights=weights))
            base = (first * spreads[1] + np.maximum(second - common, _LEAST * second) * spreads[0]) / sum(spreads)
        found: Numbers = weights / weights.sum()
        return found

    def intervals(self, sums: Numbers) -> list[Interval]:
        """Of weighted sums of the differences (a row each): percentiles of draws, as much wider as few repetitions
        make them (Student's t for the normal quantile, degrees of freedom by Welch and Satterthwaite)."""
        drawn = self._scatter(sums[0]) if self.scattered else self._draws()
        found = []
        for row in sums:
            value = float(row @ (self.means[1] - self.means[0]))
            # Where nothing was repeated, a pair alone has nothing to lie apart from.
            if drawn is None or (self.scattered and int((row != 0).sum()) == 1):
                found.append(Interval(value, value, value, 0.0, 0.0, 0.0))
            else:
                degrees = float(len(row) - 1) if self.scattered else self._degrees(row)
                found.append(_interval(value, drawn @ row, degrees))
        return found

    def _pool(self, side: int, least: int, most: int | None = None) -> _Noise:
        """All residuals of a side's samples of so many repetitions."""
        import numpy as np

        fitting = [r for r in self._residuals[side] if least <= len(r) and (most is None or len(r) <= most)]
        joined = np.concatenate(fitting) if fitting else np.zeros(0)
        return _Noise(joined, len(joined) - len(fitting), side)

    def _noise(self, side: int, number: int) -> _Noise:
        own = self._residuals[side][number]
        if len(own) >= _OWN:
            return _Noise(own, len(own) - 1, (side, number))
        few = self._pool(side, 2, _OWN - 1)
        return few if few.degrees else self._pool(side, 2)

    def _noises(self) -> Iterator[tuple[int, int, _Noise]]:
        for side in range(2):
            for number in range(self.means.shape[1]):
                yield side, number, self._noise(side, number)

    def _draws(self) -> Numbers | None:
        """Deviations of the differences, a row a draw; None where nothing tells their noise."""
        import numpy as np

        random = np.random.default_rng(SEED)
        found = np.zeros((DRAWS, self.means.shape[1]))
        for side, number, noise in self._noises():
            if not noise.degrees:
                return None
            picks = random.integers(0, len(noise.residuals), size=(DRAWS, int(self._counts[side, number])))
            deviation = self.means[side, number] * noise.residuals[picks].mean(axis=1)
            found[:, number] += deviation if side else -deviation
        return found

    def _degrees(self, row: Numbers) -> float:
        shares: dict[object, tuple[float, int]] = {}
        for side, number, noise in self._noises():
            spread = float(noise.residuals @ noise.residuals) / len(noise.residuals) / self._counts[side, number]
            part = float(row[number] * self.means[side, number]) ** 2 * float(spread)
            shares[noise.whose] = shares.get(noise.whose, (0.0, 0))[0] + part, noise.degrees
        below = sum(part**2 / degrees for part, degrees in shares.values())
        return float(sum(part for part, _ in shares.values()) ** 2 / below) if below else 1.0

    def _scatter(self, common: Numbers) -> Numbers:
        """Deviations drawn from how far the pairs lie from what they have in ``common``."""
        import numpy as np

        first, second = self.means
        differences = second - first
        value = float(common @ differences)
        scale = np.hypot(first, np.maximum(first + value, _LEAST * first))
        relative = (differences - value) / scale * math.sqrt(len(differences) / (len(differences) - 1))
        random = np.random.default_rng(SEED)
        drawn: Numbers = relative[random.integers(0, len(relative), size=(DRAWS, len(relative)))] * scale
        return drawn


def _residuals(sample: Numbers) -> Numbers:
    found: Numbers = (sample / sample.mean() - 1) * math.sqrt(len(sample) / max(len(sample) - 1, 1))
    return found


def _interval(value: float, moved: Numbers, degrees: float) -> Interval:
    import numpy as np

    wider = student_t(CONFIDENCE, degrees) / _NORMAL_Z
    low, high = np.quantile(moved, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    bounds = value + wider * min(float(low), 0.0), value + wider * max(float(high), 0.0)
    return Interval(value, *bounds, CONFIDENCE, float(moved.std()), degrees)
