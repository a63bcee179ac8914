"""Whether, and when, the level of a series of runs changed.

A level is that of one run: the logarithm of the median of its repetitions. Runs of one thing on different days differ
by more than their repetitions do, and runs of neighbouring days are alike: how far two levels may lie apart without any
change is learnt from the series itself. The model is a level that stands for a stretch of runs, and noise whose
neighbours are correlated (AR(1), correlation up to 0.7, fitted by maximum likelihood: Hildreth and Lu 1960). The test
is the largest gain in likelihood that a stretch with a level of its own brings (circular binary segmentation: Olshen et
al. 2004, so that a change and its taking back are found together). How large that gain is where nothing changed is
drawn for noise a little above the largest correlation, with and without a part that is not correlated, and the largest
counts: noise that is less correlated gains less. A change holds for two runs at least, or began with the newest one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tonnage.analysis.statistics.intervals import CONFIDENCE, student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

FEWEST = 6
"""Runs below which a series says too little about its own noise for any change to be shown."""
CORRELATION = 0.7
"""Between neighbouring runs, the largest up to which the stated rate of false changes holds."""
_CORRELATIONS = (0.0, 0.2, 0.4, 0.55, CORRELATION)
_DRAWN_AT = 0.75
"""The correlation of the noise that is drawn: a little more, for draws are not exact."""
_UNCORRELATED = (0.0, 0.3)
"""Shares of the variance that are drawn without any correlation, as repetitions add it."""
_HELD = 2
"""Runs that a change lasts at least, but for the newest."""
_DRAWS = 4000
_FEWER_DRAWS = 64, 1000
"""Runs from which on fewer are drawn, as each takes longer, and how many at least."""
_FOUR_OF_FIVE = 1.8
"""How many times what is exceeded by chance the expected gain must be, to exceed it four times of five."""


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


class Segments(NamedTuple):
    """A series taken apart."""

    stretches: tuple[Stretch, ...]
    steps: tuple[Step, ...]
    """Between the stretches."""
    runs_to_show: int | None
    """Without a step: about so many runs would show the likeliest one four times of five, if it goes on as it was;
    None where there is a step, or nothing to go by."""


def segments(samples: Sequence[Sequence[float]], rate: float = 1 - CONFIDENCE) -> Segments:
    """Stretches of equal level, and the steps between them, of ``samples``: the positive values of each run, in order
    of time. ``rate``: the share of series without a change that may be given one. Fewer than six runs have no steps.
    """
    import numpy as np

    level = np.log([statistics.median(values) for values in samples])
    counts = tuple(len(values) for values in samples)
    cuts = sorted(_cuts(level, counts, rate, newest=True))
    while True:
        edges = [0, *cuts, len(level)]
        steps = tuple(_step(level, counts, around, rate) for around in zip(edges, edges[1:], edges[2:], strict=False))
        # Both ends of a stretch are found together, and may be shown by one of them alone.
        doubtful = [step for step in steps if step.ratio_low <= 1 <= step.ratio_high]
        if not doubtful:
            break
        cuts.remove(min(doubtful, key=lambda step: abs(math.log(step.ratio))).at)
    return Segments(tuple(_stretches(level, edges)), steps, None if steps else _runs_to_show(level, counts, rate))


def _cuts(level: Floats, counts: tuple[int, ...], rate: float, *, newest: bool) -> list[int]:
    """Where stretches begin, found one after the other. The parts share out what the test may err."""
    n = len(level)
    if n < FEWEST or float(level.std()) == 0.0:
        return []
    gain, start, end = (found[0] for found in _gains(level[None, :], newest))
    if gain <= _critical(counts, rate, newest, once=False):
        return []
    once, cut, _ = (found[0] for found in _gains(level[None, :], newest, once=True))
    # A change that explains the series by itself is not split in two because two explain it a little better.
    inner = [int(cut)] if once > _critical(counts, rate, newest, once=True) else [int(start), int(end)]
    inner = [at for at in inner if at < n]
    found = list(inner)
    for a, b in pairwise([0, *inner, n]):
        deeper = _cuts(level[a:b], counts[a:b], rate * (b - a) / n, newest=newest and b == n)
        found += [a + at for at in deeper]
    return found


def _runs_to_show(level: Floats, counts: tuple[int, ...], rate: float) -> int | None:
    """The gain grows with the number of runs."""
    n = len(level)
    if n < FEWEST or float(level.std()) == 0.0:
        return None
    gain = float(_gains(level[None, :], True, once=True)[0][0])
    needed = _FOUR_OF_FIVE * _critical(counts, rate, True, once=False) / gain
    return max(n + 1, math.ceil(n * needed))


def _critical(counts: tuple[int, ...], rate: float, newest: bool, *, once: bool) -> float:
    """What the largest gain exceeds with the probability ``rate`` where nothing changed: the largest of the laws of
    noise, also of one that repetitions average out where runs have unequal numbers of them."""
    n, draws = len(counts), _draws(len(counts))
    mean = sum(counts) / n
    even = (1.0,) * n
    uneven = tuple(round(count / mean, 1) or 0.1 for count in counts)
    laws = {(_DRAWN_AT, share, even) for share in _UNCORRELATED}
    laws |= {(0.0, 1.0, uneven), (_DRAWN_AT, 0.5, uneven)} if uneven != even else set()
    place = max(0, math.floor(rate * (draws + 1)) - 1)
    return max(_null(*law, newest, once)[place] for law in laws)


def _draws(n: int) -> int:
    runs, least = _FEWER_DRAWS
    return max(least, round(_DRAWS * min(1.0, (runs / n) ** 2)))


@lru_cache(maxsize=256)
def _null(
    correlation: float, share: float, precision: tuple[float, ...], newest: bool, once: bool
) -> tuple[float, ...]:
    """The largest gains, the largest first, of series in which nothing changed: ``share`` of the variance is without
    correlation and of that precision, the rest correlated."""
    import numpy as np

    random, n = np.random.default_rng(0), len(precision)
    fresh = random.standard_normal((2, _draws(n), n))
    levels = fresh[0].copy()
    for number in range(1, n):
        levels[:, number] = correlation * levels[:, number - 1] + math.sqrt(1 - correlation**2) * fresh[0][:, number]
    levels = math.sqrt(1 - share) * levels + math.sqrt(share) * fresh[1] / np.sqrt(np.array(precision))
    return tuple(sorted(_gains(levels, newest, once=once)[0].tolist(), reverse=True))


def _gains(levels: Floats, newest: bool, *, once: bool = False) -> tuple[Floats, Places, Places]:
    """Of each row of ``levels`` twice the largest gain in log-likelihood by a stretch of its own level, each side of it
    with its likeliest correlation, and where that stretch begins and ends. ``once``: of those that last to the end."""
    import numpy as np

    rows, n = levels.shape
    plain, best = np.full(rows, -np.inf), np.full(rows, -np.inf)
    start, end = np.zeros(rows, int), np.full(rows, n)
    for correlation in _CORRELATIONS:
        squares, explained, at, until = _explained(levels, correlation, newest, once)
        # Levels that are all equal gain nothing, and have a logarithm.
        squares = np.maximum(squares, np.finfo(float).tiny)
        held = 0.5 * math.log(1 - correlation**2)
        plain = np.maximum(plain, held - n / 2 * np.log(squares))
        here = held - n / 2 * np.log(np.maximum(squares - explained, 1e-12 * squares))
        better = here > best
        best = np.where(better, here, best)
        start, end = np.where(better, at, start), np.where(better, until, end)
    return 2 * (best - plain), start, end


def _explained(levels: Floats, correlation: float, newest: bool, once: bool) -> tuple[Floats, Floats, Places, Places]:
    """Of each row the sum of squares about one level, the most that a stretch takes off it, and that stretch; both of
    what is left after the correlation is taken out (Prais and Winsten 1954)."""
    import numpy as np

    rows, n = levels.shape
    white, one = _whitened(levels, correlation), _whitened(np.ones((1, n)), correlation)[0]
    norm = float(one @ one)
    white = white - np.outer(white @ one, one) / norm
    sums = np.concatenate([np.zeros((rows, 1)), np.cumsum(white, axis=1)], axis=1)
    edge = np.concatenate([white, np.zeros((rows, 1))], axis=1)
    best, start, end = np.zeros(rows), np.full(rows, n - 1), np.full(rows, n)
    rest = 1 - correlation
    for length in range(1, n - _HELD + 1):
        at = _starts(n, length, newest)
        at = at[at + length == n] if once else at
        if not len(at):
            continue
        until = at + length
        inside = until < n
        # A stretch that is whitened: 1 where it begins, 1 − correlation further on, −correlation just behind it.
        along = rest * (1 + rest * (length - 1) - correlation * inside)
        own = 1 + rest**2 * (length - 1) + correlation**2 * inside - along**2 / norm
        product = edge[:, at] + rest * (sums[:, until] - sums[:, at + 1]) - correlation * edge[:, until]
        taken = product**2 / own
        here = taken.argmax(axis=1)
        value = taken[np.arange(rows), here]
        better = value > best
        best = np.where(better, value, best)
        start, end = np.where(better, at[here], start), np.where(better, until[here], end)
    return (white**2).sum(axis=1), best, start, end


def _whitened(levels: Floats, correlation: float) -> Floats:
    import numpy as np

    first = math.sqrt(1 - correlation**2) * levels[:, :1]
    return np.concatenate([first, levels[:, 1:] - correlation * levels[:, :-1]], axis=1)


def _starts(n: int, length: int, newest: bool) -> Places:
    """Where a stretch of this length may begin: what it leaves on either side, and itself, lasts long enough."""
    import numpy as np

    least_last = 1 if newest else _HELD
    at = np.arange(_HELD, n - length + 1)
    after = n - at - length
    last = after == 0
    return at[np.where(last, length >= least_last, (length >= _HELD) & (after >= least_last))]


class _Fit(NamedTuple):
    """Stretches of level fitted with one correlation."""

    levels: Floats
    squares: float
    inverse: Floats
    """Of the normal equations: covariances of the levels in units of the noise's variance."""
    likelihood: float
    """Its logarithm, but for a constant."""
    marginal: float
    """The same with the levels and the noise integrated out."""


def _fits(level: Floats, edges: Sequence[int]) -> Iterator[_Fit]:
    """With each correlation."""
    import numpy as np

    n, k = len(level), len(edges) - 1
    inside = np.array([[float(a <= run < b) for run in range(n)] for a, b in pairwise(edges)])
    for correlation in _CORRELATIONS:
        design, white = _whitened(inside, correlation), _whitened(level[None, :], correlation)[0]
        normal = design @ design.T
        inverse = np.linalg.inv(normal)
        levels = inverse @ (design @ white)
        squares = float(((white - levels @ design) ** 2).sum()) + 1e-18
        held = 0.5 * math.log(1 - correlation**2)
        marginal = held - (n - k) / 2 * math.log(squares) - 0.5 * math.log(float(np.linalg.det(normal)))
        yield _Fit(levels, squares, inverse, held - n / 2 * math.log(squares), marginal)


def _stretches(level: Floats, edges: Sequence[int]) -> Iterator[Stretch]:
    fit = max(_fits(level, edges), key=lambda each: each.likelihood)
    degrees = len(level) - (len(edges) - 1)
    half = student_t(CONFIDENCE, degrees) * math.sqrt(fit.squares / degrees) if degrees else 0.0
    for number, (a, b) in enumerate(pairwise(edges)):
        mean, error = float(fit.levels[number]), math.sqrt(float(fit.inverse[number, number]))
        yield Stretch(a, b - 1, math.exp(mean), math.exp(mean - half * error), math.exp(mean + half * error))


def _step(level: Floats, counts: tuple[int, ...], edges: tuple[int, int, int], rate: float) -> Step:
    """The interval of the ratio is the test turned around: all ratios that, taken back, leave no gain that is more than
    chance, with whichever correlation. It holds for whichever place looks most like a step."""
    before, at, after = edges
    part, n = level[before:after], after - before
    fits = list(_fits(part, [0, at - before, n]))
    best = max(fits, key=lambda each: each.likelihood)
    middle = float(best.levels[1] - best.levels[0])
    worst = best.likelihood - _critical(counts[before:after], rate, True, once=False) / 2
    low = high = middle
    for fit in fits:
        # The likelihood that is left bounds the squares, and these the distance from what fits best.
        room = fit.squares * (math.exp(2 * (fit.likelihood - worst) / n) - 1)
        if room > 0:
            found = float(fit.levels[1] - fit.levels[0])
            half = math.sqrt(room * float(fit.inverse[0, 0] + fit.inverse[1, 1] - 2 * fit.inverse[0, 1]))
            low, high = min(low, found - half), max(high, found + half)
    first, last = _step_interval(part, at - before)
    return Step(at, before + first, before + last, math.exp(middle), math.exp(low), math.exp(high))


def _step_interval(level: Floats, at: int) -> tuple[int, int]:
    """Interval of where a series of two levels goes over from one to the other: the places that together hold 95 % of
    the probability, with levels and noise integrated out; ``at`` is one of them."""
    import numpy as np

    n = len(level)
    logs = np.array([np.logaddexp.reduce([f.marginal for f in _fits(level, [0, cut, n])]) for cut in range(1, n)])
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    order = np.argsort(-chance)
    kept = order[: int(np.searchsorted(np.cumsum(chance[order]), CONFIDENCE)) + 1] + 1
    return min(int(kept.min()), at), max(int(kept.max()), at)
