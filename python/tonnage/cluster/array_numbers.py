"""The numbers of a job array's copies, as ranges: ``1-4,7,10-20:2``. A trailing ``%3`` lets three copies run at
once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from tonnage.errors import RequestError

MOST_RANGES = 100
MOST = 2**31 - 1
"""The largest number, and the most copies that can be counted; a site's own limit is lower."""
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Range:
    """``first``, then each ``step`` further, ``last`` at most. All above 0."""

    first: int
    last: int
    step: int = 1

    @property
    def count(self) -> int:
        return (self.last - self.first) // self.step + 1

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first}-{self.last}" + (f":{self.step}" if self.step > 1 else "")


Numbers = tuple[Range, ...]
"""Ranges of numbers; no number is in two ranges. Empty: the job is no array."""


def upto(count: int) -> Numbers:
    """Makes the numbers from 1 to ``count``."""
    return (Range(1, count),)


def count_of(numbers: Sequence[Range]) -> int:
    """How many there are."""
    return sum(one.count for one in numbers)


def each(numbers: Sequence[Range]) -> Iterator[int]:
    """Yields each number, in the order of the ranges."""
    for one in numbers:
        yield from range(one.first, one.last + 1, one.step)


def spelled(numbers: Sequence[Range]) -> str:
    """Formats the numbers as Slurm and LSF read them."""
    return ",".join(map(str, numbers))


def parse_numbers(text: str) -> tuple[Numbers, int | None]:
    """The ranges, and how many run at once where ``%`` says so. RequestError for what is none."""
    ranges, percent, at_once = text.partition("%")
    parts = ranges.split(",")
    if len(parts) > MOST_RANGES:
        raise RequestError(f"{len(parts)} ranges are too many; hint: an array has at most {MOST_RANGES}")
    found = tuple(_range(part.strip(), text) for part in parts)
    for one, other in combinations(found, 2):
        if (common := _common(one, other)) is not None:
            raise RequestError(f"{common} is in {one} and in {other}; hint: name each number once")
    if count_of(found) > MOST:
        raise RequestError(f"{text[:40]!r} is too many copies; hint: at most {MOST} can be counted")
    if not percent:
        return found, None
    if not (re.fullmatch(r"\d{1,10}", at_once, re.ASCII) and 0 < int(at_once) <= MOST):
        raise RequestError(f"{text[:40]!r} does not say how many at once; hint: write it like 1-50%8")
    return found, int(at_once)


def _range(part: str, text: str) -> Range:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise RequestError(f"{text[:40]!r} is no list of numbers; hint: write it like 1-4,7,10-20:2")
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if not (1 <= first <= last <= MOST and step >= 1):
        raise RequestError(f"{part} is no range; hint: numbers are from 1 to {MOST}, the smaller first, steps above 0")
    return Range(first, last, step)


def _common(one: Range, other: Range) -> int | None:
    """The smallest number that both ranges contain."""
    shared = gcd(one.step, other.step)
    if (other.first - one.first) % shared:
        return None
    # The Chinese remainder theorem gives the first number that both sequences contain.
    period = other.step // shared
    steps = (other.first - one.first) // shared * pow(one.step // shared, -1, period) % period if period > 1 else 0
    found = one.first + one.step * steps
    low, apart = max(one.first, other.first), one.step * period
    if found < low:
        found += -(-(low - found) // apart) * apart
    return found if found <= min(one.last, other.last) else None
