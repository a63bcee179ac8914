"""The median of a few repetitions, with an interval that covers the true one at its stated rate."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tonnage.analysis.statistics.distributions import fair_binomial_cdf, student_t_quantile

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
