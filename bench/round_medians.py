"""Medians of a handful of rounds, with what can be said about them without assuming a distribution."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and a confidence interval for it; ``confidence`` is the interval's exact coverage."""

    median: float
    low: float
    high: float
    confidence: float


def spread(values: Sequence[float]) -> Spread:
    """Median with the narrowest symmetric order-statistic interval of at least 95 %, or the range where there is none.

    The number of values below the true median is binomial(n, 1/2), so [x(k), x(n+1-k)] covers it with probability
    1 - 2 P(B < k) (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2). It takes six values to give 95 %.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = 1
    for k in range(1, (n + 1) // 2 + 1):
        if coverage(n, k) >= 0.95:
            best = k
    return Spread(statistics.median(ordered), ordered[best - 1], ordered[n - best], max(0.0, coverage(n, best)))


def coverage(n: int, k: int) -> float:
    """Returns the probability that the k-th smallest and the k-th largest of n values enclose the median."""
    return 1.0 - sum(math.comb(n, i) for i in range(k)) / 2.0 ** (n - 1)
