"""Quantiles and tails of the distributions that intervals and tests need.

They are written here because a probe that imports scipy for them starts 0.3 to 0.6 s later, and much later from a
network file system. ``tests/analysis/test_distributions.py`` holds each against scipy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TINY = 1e-300
_EPSILON = 1e-16
_NORMAL_FROM = 1e12
"""Degrees of freedom from which Student's t is the normal distribution in double precision."""
_STIRLING_FROM = 200.0
"""From where three terms of Stirling's series are double precision."""
_MOST_SUMMED = 1000
"""Tosses whose numbers of outcomes are added up one by one."""
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
    for _ in range(200):
        whole = degrees + value * value
        beyond = 0.5 * _beta_tail(degrees / 2, 0.5, degrees / whole, value * value / whole)
        density = math.exp(log_norm - (degrees + 1) / 2 * math.log1p(value * value / degrees))
        step = math.log(beyond / tail) * beyond / (density * value)
        value *= math.exp(step)
        if abs(step) < 4e-16:
            break
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
        return math.log1p(-0.5 * math.erfc(value / math.sqrt(2)))
    if value > _ERFC_UNTIL:
        return math.log(0.5 * math.erfc(-value / math.sqrt(2)))
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
