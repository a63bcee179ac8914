"""Differences between the means of paired samples, and what repetitions say of weighted sums of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tonnage.analysis.statistics.intervals import CONFIDENCE, student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

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
