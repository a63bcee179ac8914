"""Medians of a few repetitions with an interval that covers the true one, and the distributions that this needs."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]


_TINY = 1e-300
_EPSILON = 1e-16
_NORMAL_FROM = 1e12
"""Degrees of freedom from which Student's t is the normal distribution in double precision."""
_STIRLING_FROM = 200.0
"""From where three terms of Stirling's series are double precision."""
_MOST_STEPS = 200
"""To a quantile; a few are enough where rounding lets them come to an end."""
_MOST_SUMMED = 1000
"""Tosses whose numbers of outcomes are added up one by one."""
_ROOT_2 = math.sqrt(2)
_ERFC_UNTIL = -30.0
"""Below it the error function underflows, and the asymptotic series has double precision."""


@lru_cache(maxsize=4096)
def student_t_quantile(probability: float, degrees: float) -> float:
    """The value that Student's t with so many degrees of freedom exceeds with 1 − ``probability``; NaN where there are
    no degrees."""
    if math.isnan(degrees) or degrees <= 0 or not 0 < probability < 1:
        return math.nan
    if probability < 0.5:
        return -student_t_quantile(1 - probability, degrees)
    tail = 1 - probability
    value = NormalDist().inv_cdf(probability)
    if tail == 0.5 or degrees >= _NORMAL_FROM:
        return value
    # Newton's steps for the logarithm of the tail over the logarithm of the value, which is concave: after the first
    # step they come from one side.
    log_norm = _log_gamma_step(degrees / 2, 0.5) - 0.5 * math.log(degrees * math.pi)
    seen: list[float] = []
    while len(seen) < _MOST_STEPS:
        seen.append(value)
        whole = degrees + value * value
        beyond = 0.5 * _beta_tail(degrees / 2, 0.5, degrees / whole, value * value / whole)
        density = math.exp(log_norm - (degrees + 1) / 2 * math.log1p(value * value / degrees))
        step = math.log(beyond / tail) * beyond / (density * value)
        value *= math.exp(step)
        if abs(step) < 4e-16:
            break
        if value in seen:
            # Rounding leads around in a circle: this is where all steps would end.
            circle = seen[seen.index(value) :]
            return circle[(_MOST_STEPS - len(seen)) % len(circle)]
    return value


def f_tail(value: float, numerator: float, denominator: float) -> float:
    """Probability that an F with so many degrees of freedom exceeds ``value``."""
    if value <= 0:
        return 1.0
    whole = denominator + numerator * value
    return _beta_tail(denominator / 2, numerator / 2, denominator / whole, numerator * value / whole)


def fair_binomial_cdf(most: int, tosses: int) -> float:
    """Probability of at most so many heads in so many tosses of a fair coin."""
    if most < 0 or most >= tosses:
        return float(most >= tosses)
    if tosses > _MOST_SUMMED:
        # Sums of whole numbers of a thousand digits take seconds; this is the same (DLMF 8.17.5).
        return _beta_tail(tosses - most, most + 1, 0.5, 0.5)
    return float(sum(math.comb(tosses, heads) for heads in range(most + 1)) / (1 << tosses))


def log_normal_cdf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the logarithm of the standard normal distribution function, element by element."""
    import numpy as np

    each = np.fromiter(map(_log_normal_cdf, values.ravel().tolist()), dtype=float, count=values.size)
    return each.reshape(values.shape)


def _log_normal_cdf(value: float) -> float:
    if value > 0:
        return math.log1p(-0.5 * math.erfc(value / _ROOT_2))
    if value > _ERFC_UNTIL:
        return math.log(0.5 * math.erfc(-value / _ROOT_2))
    square = 1 / (value * value)
    series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))
    return -0.5 * value * value - math.log(-value) - 0.5 * math.log(2 * math.pi) + math.log(series)


def _beta_tail(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function at x, where y = 1 − x, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or y <= 0:
        return float(y <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_tail(b, a, y, x)
    log_x, log_y = (math.log(z) if z < 0.5 else math.log1p(-rest) for z, rest in ((x, y), (y, x)))
    small, large = sorted((a, b))
    log_front = a * log_x + b * log_y - math.log(a) + _log_gamma_step(large, small) - math.lgamma(small)
    return math.exp(log_front) * _fraction(a, b, x)


def _log_gamma_step(a: float, b: float) -> float:
    """log Γ(a + b) − log Γ(a); of large a by Stirling's series, for the two hardly differ."""
    if a < _STIRLING_FROM:
        return math.lgamma(a + b) - math.lgamma(a)
    terms = [(1 / 12 - (1 / 360 - 1 / 1260 / x**2) / x**2) / x for x in (a + b, a)]
    return (a + b - 0.5) * math.log1p(b / a) + b * (math.log(a) - 1) + terms[0] - terms[1]


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of it; its terms needed grow as the square root of the larger parameter."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 200_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return found


def _apart(value: float) -> float:
    """From 0."""
    return value if abs(value) > _TINY else _TINY


CONFIDENCE = 0.95
TOO_FEW = 4
"""Fewer values than this say too little about their own noise: of two, an interval 13 standard deviations wide."""
_FEW = 6
"""From this many values on, the smallest and the largest bracket the median with more than 95 % (1 − 2·2⁻⁶)."""
LARGEST = float(1 << 62)
"""No rate and no time in nanoseconds is larger: what a record holds ends there. An interval ends there too."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Variance of the logarithm of one trial, and the degrees of freedom it was estimated with."""

    variance: float
    degrees: int


def pooled_noise(samples: Iterable[Sequence[float]]) -> Noise:
    """The noise that all ``samples`` (the repetitions of each point of a curve) have in common."""
    squares, degrees = 0.0, 0
    for values in samples:
        if len(values) > 1 and min(values) > 0:
            squares += (len(values) - 1) * spread(values) ** 2
            degrees += len(values) - 1
    return Noise(squares / degrees if degrees else 0.0, degrees)


def median_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, curve: Noise | None = None
) -> tuple[float, float, float, float]:
    """Median, low, high, and the confidence that was reached: 0 for a single value, which has no interval.

    ``values`` are positive rates of equal trials. Fewer than six: a t-interval of the logarithms, exact where noise is
    log-normal (its median is the exponential of the mean logarithm); fewer than four take the noise of the whole
    ``curve`` they are a point of, where that is known better. Six or more: interpolated order statistics
    (Hettmansperger and Sheather 1986), which assume no law at all.
    """
    if not values:
        raise ValueError("no values: there is no median of nothing")
    ordered = sorted(values)
    median = float(statistics.median(ordered))
    if len(values) == 1:
        return median, median, median, 0.0
    if len(values) < _FEW and min(values) > 0:
        own = Noise(spread(values) ** 2, len(values) - 1)
        better = curve is not None and len(values) < TOO_FEW and curve.degrees > own.degrees
        low, high = _of_logarithms(values, confidence, curve if curve is not None and better else own)
    else:
        low, high = _of_order(ordered, confidence)
    return median, min(low, median), max(high, median), confidence


def student_t(confidence: float, degrees: float) -> float:
    """Computes the two-sided quantile of Student's t."""
    return student_t_quantile((1 + confidence) / 2, degrees)


def spread(values: Sequence[float]) -> float:
    """Computes the standard deviation of the logarithms: the relative noise of one trial. 0 for fewer than two
    values."""
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) < 2:
        return 0.0
    middle = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((log - middle) ** 2 for log in logs) / (len(logs) - 1))


def _of_logarithms(values: Sequence[float], confidence: float, noise: Noise) -> tuple[float, float]:
    middle = statistics.fmean(math.log(value) for value in values)
    half = student_t(confidence, noise.degrees) * math.sqrt(noise.variance / len(values))
    # Two repetitions that lie far apart give bounds that no record can hold: 2 µs and 2 ms give 2 × 10²³ ns.
    return math.exp(middle - half), min(math.exp(middle + half), LARGEST)


def _of_order(ordered: Sequence[float], confidence: float) -> tuple[float, float]:
    n = len(ordered)
    # The larger k, the less is inside.
    k = bisect_right(range(1, n // 2 + 1), -confidence, key=lambda k: -_inside(n, k)) or 1
    if k + 1 > n // 2:
        return ordered[k - 1], ordered[n - k]
    inside = _inside(n, k)
    share = max(0.0, inside - confidence) / (inside - _inside(n, k + 1))
    weight = (n - k) * share / (k + (n - 2 * k) * share)
    low = (1 - weight) * ordered[k - 1] + weight * ordered[k]
    high = (1 - weight) * ordered[n - k] + weight * ordered[n - k - 1]
    return low, high


def _inside(n: int, k: int) -> float:
    """Probability that the k-th smallest and the k-th largest of n values bracket the median."""
    return 1 - 2 * fair_binomial_cdf(k - 1, n)


PAIRED_MOST = 256
"""Values of which sorting the means of all pairs is quicker."""
_LISTED_MOST = 4
"""Candidates a value that are listed and looked through."""


def median_of_pair_means(values: Floats) -> float:
    """What sorting the means of all pairs, each value with itself too, finds: the same bits."""
    import numpy as np

    ordered = np.sort(values)
    pairs = len(ordered) * (len(ordered) + 1) // 2
    upper = _pair_mean(ordered, pairs // 2)
    return upper if pairs % 2 else (_pair_mean(ordered, pairs // 2 - 1) + upper) / 2


def _pair_mean(ordered: Floats, rank: int) -> float:
    """The mean that ``rank`` others stand before when all are sorted (Johnson and Mizoguchi 1978).

    The means of one value with those from its own place on are sorted already. Of each such row, a range can still hold
    the one that is looked for; a mean in the middle of all ranges halves about half of them.
    """
    import numpy as np

    rows = np.arange(len(ordered))
    low, high = rows.copy(), np.full(len(ordered), len(ordered))
    distinct, starts = np.unique(ordered, return_index=True)
    starts = np.append(starts, len(ordered))
    while (left := int((high - low).sum())) > _LISTED_MOST * len(ordered):
        pivot = _middle(ordered, low, high, left)
        below = np.maximum(_first_above(ordered, distinct, starts, pivot, np.greater_equal), rows)
        until = np.maximum(_first_above(ordered, distinct, starts, pivot, np.greater), rows)
        if rank < (below - rows).sum():
            high = np.minimum(high, below)
        elif rank >= (until - rows).sum():
            low = np.maximum(low, until)
        else:
            return pivot
        high = np.maximum(low, high)
    sizes = high - low
    columns = np.arange(left) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(low, sizes)
    means = (np.repeat(ordered, sizes) + ordered[columns]) / 2
    at = rank - int((low - rows).sum())
    return float(np.partition(means, at)[at])


def _middle(ordered: Floats, low: Places, high: Places, left: int) -> float:
    """Of the middles of all ranges the one with half of what is ``left`` in ranges of smaller ones."""
    import numpy as np

    open_ = np.flatnonzero(low < high)
    middles = (ordered[open_] + ordered[(low[open_] + high[open_]) // 2]) / 2
    order = np.argsort(middles)
    counted = np.cumsum((high - low)[open_][order])
    return float(middles[order[np.searchsorted(counted, left / 2)]])


def _first_above(ordered: Floats, distinct: Floats, starts: Places, pivot: float, is_above: np.ufunc) -> Places:
    """Of each value the first place whose value has a mean with it that is above ``pivot``; their number where none is.
    A difference is rounded as no mean is, so what it finds is set right by the means themselves."""
    import numpy as np

    at = np.searchsorted(distinct, 2 * pivot - ordered)
    last = len(distinct) - 1
    while (back := (at > 0) & is_above((ordered + distinct[np.maximum(at - 1, 0)]) / 2, pivot)).any():
        at -= back
    while (on := (at <= last) & ~is_above((ordered + distinct[np.minimum(at, last)]) / 2, pivot)).any():
        at += on
    return starts[at]
