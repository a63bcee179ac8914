"""Whether, and when, the level of a series of runs changed.

A level is that of one run: the mean logarithm of its repetitions. Runs of one thing on different days differ by more
than their repetitions do, so how far two levels may lie apart without any change is learnt from the series itself, not
from the repetitions. The test is the maximum over all places of a stretch of runs of how much of the series' variance
its own level explains (circular binary segmentation: Olshen et al. 2004, so that a change and its taking back are found
together). What that maximum is where nothing changed does not depend on level or noise, and is drawn for log-normal
noise: of series without a change no more than the asked share is given one. A change holds for two runs at least, or
began with the newest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tonnage.analysis.statistics import CONFIDENCE, pooled_noise, student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 4
"""Runs below which a series says too little about its own noise for any change to be shown."""
_HELD = 2
"""Runs that a change lasts at least, but for the newest."""
_DRAWS = 4000
_HALF_NORMAL = 0.4549364
"""Median of the square of a standard normal variable."""


@dataclass(frozen=True, slots=True)
class Step:
    """From which run on the level is another."""

    at: int
    """Number of the first run at the new level, the most likely one."""
    low: int
    high: int
    """Interval of that number: the level changed after run ``low`` − 1 and no later than with run ``high``."""
    ratio: float
    """New level ÷ old level."""
    ratio_low: float
    ratio_high: float
    """Interval of the ratio, at one minus the ``rate`` that was asked for."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs ``first`` … ``last`` at one level, in the unit of the values, with its interval."""

    first: int
    last: int
    level: float
    low: float
    high: float


def segments(
    samples: Sequence[Sequence[float]], rate: float = 1 - CONFIDENCE
) -> tuple[tuple[Stretch, ...], tuple[Step, ...]]:
    """Stretches of equal level, and the steps between them, of ``samples``: the positive values of each run, in order
    of time. ``rate``: the share of series without a change that may be given one. Fewer than four runs have no steps.
    """
    import numpy as np

    level = np.array([float(np.mean(np.log(np.asarray(values, float)))) for values in samples])
    line = _Line(level, _weights(samples, level), np.array([float(len(values)) for values in samples]))
    cuts = sorted(_cuts(line, 0, rate, newest=True))
    edges = [0, *cuts, len(level)]
    spread, degrees = _residual(line, edges)
    steps = tuple(_step(line, around, rate, spread) for around in zip(edges, edges[1:], edges[2:], strict=False))
    return tuple(_stretch(line, pair, spread, degrees) for pair in pairwise(edges)), steps


@dataclass(frozen=True, slots=True)
class _Line:
    """Levels (logarithms), the weight that each is given, and how many repetitions it is the mean of."""

    level: Floats
    weight: Floats
    count: Floats

    def part(self, first: int, last: int) -> _Line:
        return _Line(self.level[first:last], self.weight[first:last], self.count[first:last])

    def mean(self, first: int, last: int) -> float:
        part = self.part(first, last)
        return float((part.level * part.weight).sum() / part.weight.sum())

    def squares(self, first: int, last: int) -> float:
        """About their mean."""
        part = self.part(first, last)
        return float((part.weight * (part.level - self.mean(first, last)) ** 2).sum())


def _weights(samples: Sequence[Sequence[float]], level: Floats) -> Floats:
    """How well each level is known: alike where all runs have as many repetitions. Otherwise by the noise of one trial
    and that between runs, which is taken from neighbours, so that a change does not add to it."""
    import numpy as np

    counts = [len(values) for values in samples]
    noise = pooled_noise(samples)
    if len(set(counts)) == 1 or not noise.variance:
        return np.ones(len(counts))
    own = np.array([noise.variance / count for count in counts])
    apart = np.square(np.diff(level)) - own[1:] - own[:-1]
    between = max(0.0, float(np.median(apart)) / (2 * _HALF_NORMAL))
    weight: Floats = 1 / (between + own)
    # Rounded, so that series alike share their null distribution.
    rounded: Floats = np.round(weight / weight.mean(), 1).clip(0.1)
    return rounded


def _cuts(line: _Line, first: int, rate: float, *, newest: bool) -> list[int]:
    """Where stretches begin, found one after the other; ``first``: the number of the first of these runs. The parts
    share out what the test may err."""
    n = len(line.level)
    if n < FEWEST or float(line.level.std()) == 0.0:
        return []
    share, start, end = (found[0] for found in _explained(line.level[None, :], line.weight, newest))
    if share <= _critical(line, rate, newest, once=False):
        return []
    once, cut, _ = (found[0] for found in _explained(line.level[None, :], line.weight, newest, once=True))
    # A change that explains the series by itself is not split in two because two explain it a little better.
    inner = [int(cut)] if once > _critical(line, rate, newest, once=True) else [int(start), int(end)]
    inner = [at for at in inner if at < n]
    deeper = [
        _cuts(line.part(a, b), first + a, rate * (b - a) / n, newest=newest and b == n)
        for a, b in pairwise([0, *inner, n])
    ]
    return [first + at for at in inner] + [at for part in deeper for at in part]


def _critical(line: _Line, rate: float, newest: bool, *, once: bool) -> float:
    """What the largest share exceeds with the probability ``rate`` where nothing changed: the larger one of noise that
    is between runs, and of noise that repetitions average out."""
    weight, count = tuple(line.weight.tolist()), line.count / line.count.mean()
    laws = {tuple([1.0] * len(weight)), tuple(count.tolist())}
    place = max(0, math.floor(rate * (_DRAWS + 1)) - 1)
    return max(_null(weight, law, newest, once)[place] for law in laws)


def _explained(
    levels: Floats, weight: Floats, newest: bool, *, once: bool = False
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Of each row of ``levels`` the largest share of the variance that a stretch of its own level explains, and where
    that stretch begins and ends. ``once``: of those stretches that last to the end."""
    import numpy as np

    rows, n = levels.shape
    total = float(weight.sum())
    centred = (levels - (levels * weight).sum(axis=1, keepdims=True) / total) * weight
    sums = np.concatenate([np.zeros((rows, 1)), np.cumsum(centred, axis=1)], axis=1)
    weights = np.concatenate([[0.0], np.cumsum(weight)])
    squares = (centred**2 / weight).sum(axis=1)
    best, start, end = np.zeros(rows), np.zeros(rows, int), np.full(rows, n)
    for length in range(1, n - _HELD + 1):
        at = _starts(n, length, newest)
        at = at[at + length == n] if once else at
        if not len(at):
            continue
        inside = weights[at + length] - weights[at]
        share = (sums[:, at + length] - sums[:, at]) ** 2 / (inside * (1 - inside / total))
        here = share.argmax(axis=1)
        value = share[np.arange(rows), here]
        better = value > best
        best = np.where(better, value, best)
        start, end = np.where(better, at[here], start), np.where(better, at[here] + length, end)
    return best / np.where(squares > 0, squares, 1.0), start, end


def _starts(n: int, length: int, newest: bool) -> NDArray[np.int64]:
    """Where a stretch of this length may begin: what it leaves on either side, and itself, lasts long enough."""
    import numpy as np

    least_last = 1 if newest else _HELD
    at = np.arange(_HELD, n - length + 1)
    after = n - at - length
    last = after == 0
    return at[np.where(last, length >= least_last, (length >= _HELD) & (after >= least_last))]


@lru_cache(maxsize=256)
def _null(weight: tuple[float, ...], precision: tuple[float, ...], newest: bool, once: bool) -> tuple[float, ...]:
    """The largest shares, the largest first, of series in which nothing changed, with noise of that precision."""
    import numpy as np

    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(weight))) / np.sqrt(np.array(precision))
    return tuple(sorted(_explained(draws, np.array(weight), newest, once=once)[0].tolist(), reverse=True))


def _residual(line: _Line, edges: Sequence[int]) -> tuple[float, int]:
    """Standard deviation of a level of weight 1 about that of its stretch, and its degrees of freedom."""
    degrees = len(line.level) - (len(edges) - 1)
    squares = sum(line.squares(a, b) for a, b in pairwise(edges))
    return (math.sqrt(squares / degrees) if degrees else 0.0), degrees


def _stretch(line: _Line, edges: tuple[int, int], spread: float, degrees: int) -> Stretch:
    a, b = edges
    mean = line.mean(a, b)
    error = spread / math.sqrt(float(line.weight[a:b].sum()))
    half = student_t(CONFIDENCE, degrees) * error if degrees else 0.0
    return Stretch(a, b - 1, math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _step(line: _Line, edges: tuple[int, int, int], rate: float, spread: float) -> Step:
    """The interval of the ratio is the test turned around: it holds for whichever place looks most like a step."""
    before, at, after = edges
    n = after - before
    middle = line.mean(at, after) - line.mean(before, at)
    error = spread * math.sqrt(1 / float(line.weight[before:at].sum()) + 1 / float(line.weight[at:after].sum()))
    share = _critical(line.part(before, after), rate, True, once=False)
    half = math.sqrt((n - 2) * share / max(1 - share, 1e-9)) * error
    low, high = _place(line.part(before, after), at - before)
    return Step(
        at=at,
        low=before + low,
        high=before + high,
        ratio=math.exp(middle),
        ratio_low=math.exp(middle - half),
        ratio_high=math.exp(middle + half),
    )


def _place(line: _Line, at: int) -> tuple[int, int]:
    """Interval of where a series of two levels goes over from one to the other: the places that together hold 95 % of
    the probability, with levels and noise integrated out; ``at`` is one of them."""
    import numpy as np

    n = len(line.level)
    logs = np.array(
        [
            -0.5 * (n - 2) * math.log(line.squares(0, cut) + line.squares(cut, n) + 1e-12)
            - 0.5 * math.log(float(line.weight[:cut].sum() * line.weight[cut:].sum()))
            for cut in range(1, n)
        ]
    )
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    order = np.argsort(-chance)
    kept = order[: int(np.searchsorted(np.cumsum(chance[order]), CONFIDENCE)) + 1] + 1
    return min(int(kept.min()), at), max(int(kept.max()), at)
