"""Numbers as IOR prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence

MEBIBYTE, MEGABYTE = 1 << 20, 10**6
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"))


def human(size: int) -> str:
    """Formats a size in bytes: ``1 MiB``, ``8.97 MiB``, ``262144 bytes``; ``-`` below 0."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.2f} {name}" if size % unit else f"{size // unit} {name}"
    return f"{size} bytes" if size >= 0 else "-"


def cell(number: float, after: str = " ") -> str:
    """Formats a number of the results table: to the left in 10 columns, with decimals by its size."""
    if number < 0:
        return f"   -      {after}"
    decimals = 6 if number < 1 else 2 if number < 3600 else 0
    return f"{number:<10.{decimals}f}{after}"


def mean(values: Sequence[float]) -> float:
    """As IOR adds: in order, then one division."""
    return sum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Computes IOR's StdDev, that of the population."""
    middle = mean(values)
    return math.sqrt(sum((middle - value) ** 2 for value in values) / len(values))
