"""Latency quantiles from histogram counts, by the rules of HdrHistogram, so that both sides agree to the nanosecond."""

from __future__ import annotations

import math
from collections.abc import Sequence

QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}
_BEYOND = 1.5
"""The operations that a trial must have beyond a percentile for the trial to tell it."""
_SUB_BUCKET_BITS = 11
"""Three significant digits: 2048 steps an octave pair, so a value of b bits is known to 2^(b − 11)."""


def least_operations(percentile: str) -> int:
    """How many operations a trial needs to tell a percentile: with fewer it is the longest of them, or near it."""
    return math.ceil(_BEYOND / (1 - QUANTILES[percentile]))


def summarise(pairs: Sequence[tuple[int, int]]) -> dict[str, int]:
    """``count``, ``min_ns``, ``mean_ns``, quantiles and ``max_ns`` of (highest equivalent value, count), ascending.

    All 0 where nothing was counted.
    """
    count = sum(number for _, number in pairs)
    if not count:
        return dict.fromkeys(("count", "min_ns", "mean_ns", *QUANTILES, "max_ns"), 0)
    total = sum(number * _middle(value) for value, number in pairs)
    return {
        "count": count,
        "min_ns": _lowest(pairs[0][0]),
        "mean_ns": total // count,
        **{name: quantile(pairs, count, q) for name, q in QUANTILES.items()},
        "max_ns": pairs[-1][0],
    }


def quantile(pairs: Sequence[tuple[int, int]], count: int, q: float) -> int:
    """The value that at least a share ``q`` of ``count`` operations did not exceed."""
    wanted = max(1, math.ceil(q * count))
    seen = 0
    for value, number in pairs:
        seen += number
        if seen >= wanted:
            return value
    return pairs[-1][0]


def _width(highest: int) -> int:
    return 1 << max(0, highest.bit_length() - _SUB_BUCKET_BITS)


def _lowest(highest: int) -> int:
    return highest - _width(highest) + 1


def _middle(highest: int) -> int:
    return _lowest(highest) + _width(highest) // 2
