"""Numbers as a file prints them: rounded, so each is an interval and not a single value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from tonnage.importers.trace import LARGEST

KIB, MIB, GIB = 2**10, 2**20, 2**30
UNITS = {
    "b": 1, "bytes": 1, "kib": KIB, "mib": MIB, "gib": GIB, "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9,
    "tb": 10**12,
}  # fmt: skip
"""As tools spell them that mean what they say; those that do not are corrected where they are read."""
_NANO_DIGITS = 9
_NUMBER = re.compile(r"([+-]?)([0-9]{1,25})(?:\.([0-9]{0,25}))?(?:[eE]([+-]?[0-9]{1,2}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rounded:
    """Somewhere from ``low`` to ``high``: a unit in the last printed place to either side, for some tools cut off
    and do not round."""

    low_parts: int
    high_parts: int
    parts: int
    """Both bounds are numbers of equal parts of 1, so that whole numbers are enough for what each line of a file needs:
    fractions take ten times as long."""

    @classmethod
    def between(cls, low: Fraction, high: Fraction) -> Rounded:
        """Returns the interval of these bounds."""
        parts = lcm(low.denominator, high.denominator)
        return cls(int(low * parts), int(high * parts), parts)

    @property
    def low(self) -> Fraction:
        return Fraction(self.low_parts, self.parts)

    @property
    def high(self) -> Fraction:
        return Fraction(self.high_parts, self.parts)

    @property
    def middle(self) -> Fraction:
        return Fraction(self.low_parts + self.high_parts, 2 * self.parts)

    def times(self, factor: int | Fraction) -> Rounded:
        above, below = factor.numerator, factor.denominator
        return Rounded(self.low_parts * above, self.high_parts * above, self.parts * below)


def rounded(text: object) -> Rounded | None:
    """``1790.29``, ``9918``, ``4.5e+08``; None for what is no number of 0 or more."""
    match = _NUMBER.match(str(text).strip())
    if match is None or match[1] == "-":
        return None
    decimals = match[3] or ""
    units, place = int(match[2] + decimals), 10 ** len(decimals)
    found = Rounded(max(units - 1, 0), units + 1, place)
    return found.times(Fraction(10) ** int(match[4])) if match[4] else found


def no_time(text: object) -> bool:
    """Whether this is a time of 0 or less, as printed: no rate can stand beside it."""
    match = _NUMBER.match(str(text).strip())
    return match is not None and (match[1] == "-" or not (match[2] + (match[3] or "")).strip("0"))


def whole(text: object) -> int | None:
    """A count as it stands; None for what is none, or is out of all bounds."""
    stripped = str(text).strip()
    if not (stripped.isascii() and stripped.isdigit() and len(stripped) < 20):
        return None
    value = int(stripped)
    return value if value < LARGEST else None


def exact(text: object, factor: int = 1) -> int | None:
    """``1024.00`` KiB as bytes: the printed value itself; None where it is no whole number of them."""
    match = _NUMBER.match(str(text).strip())
    if match is None or match[1] == "-" or match[4]:
        return None
    value, rest = divmod(int(match[2] + (match[3] or "")) * factor, 10 ** len(match[3] or ""))
    return value if not rest and value < LARGEST else None


def size(text: str) -> int | None:
    """Bytes of ``1 MiB``, ``262144 bytes``; None for what is none."""
    number, _, unit = text.strip().partition(" ")
    factor = UNITS.get(unit.strip().lower())
    return None if factor is None else exact(number, factor)


def size_printed(text: str) -> Rounded | None:
    """Bytes of ``3.12 GiB``, which was rounded where it has decimals; None for what is none."""
    number, _, unit = text.strip().partition(" ")
    factor, value = UNITS.get(unit.strip().lower()), rounded(number)
    if factor is None or value is None:
        return None
    if "." in number:
        return value.times(factor)
    known = exact(number, factor)
    return None if known is None else Rounded(known, known, 1)


def letters(text: object) -> int | None:
    """Bytes of ``4k``, ``1m``, ``65536`` as options are typed: letters are powers of two."""
    match = re.fullmatch(r"([0-9]{1,18})([kmgt]?)(i?b)?", str(text).strip().lower())
    if match is None:
        return None
    value = int(match[1]) * KIB ** " kmgt".index(match[2] or " ")
    return value if value < LARGEST else None


def nanoseconds(seconds: object) -> int | None:
    """Of a time printed in seconds; None where it is none."""
    match = _NUMBER.match(str(seconds).strip())
    if match and match[3] and len(match[3]) <= _NANO_DIGITS and not match[1] and not match[4] and int(match[3]):
        # As most times are printed: the same without fractions, which take ten times as long.
        value = int(match[2] + match[3]) * 10 ** (_NANO_DIGITS - len(match[3]))
        return value if value < LARGEST else None
    found = rounded(seconds)
    if found is None:
        return None
    value = round(found.middle * 10**9) if found.low else round((found.high / 2) * 10**9)
    return value if value < LARGEST else None


def elapsed_ns(count: int, seconds: Rounded | None, rate: Rounded | None) -> int | None:
    """How long ``count`` things took, as exactly as the file says it: of the printed time and the printed rate, both
    rounded, what agrees with both. Where they contradict each other the time counts. None: neither says."""
    # Each bound is a numerator and a denominator.
    low, high = ((seconds.low_parts, seconds.parts), (seconds.high_parts, seconds.parts)) if seconds else (None, None)
    if rate is not None and rate.low_parts > 0 and count > 0:
        least, most = (count * rate.parts, rate.high_parts), (count * rate.parts, rate.low_parts)
        if low is None or high is None:
            low, high = least, most
        else:
            later, earlier = least if _is_less(low, least) else low, most if _is_less(most, high) else high
            if not _is_less(earlier, later):
                low, high = later, earlier
    if low is None or high is None:
        return None
    above, below = (low[0] * high[1] + high[0] * low[1]) * 10**9, 2 * low[1] * high[1]
    if not 0 < above < LARGEST * below:
        return None
    found, rest = divmod(above, below)
    # As round() does it: of two that are as near, the even one.
    return max(1, found + (2 * rest > below or (2 * rest == below and found % 2 == 1)))


def _is_less(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] * other[1] < other[0] * one[1]


def iterations(count: int, most: Rounded, least: Rounded, mean: Rounded, spread: Rounded | None) -> list[Fraction]:
    """The values behind a summary of one to three, which follow from it; empty where they do not.

    Of two, the largest and the least are all there are; of three, the third is what is missing from the mean. Where the
    file states the deviation as well (of the sample or of the population), it must be theirs.
    """
    if count == 1:
        found = [mean.middle]
    elif count == 2:
        found = [most.middle, least.middle]
    elif count == 3:
        found = [most.middle, 3 * mean.middle - most.middle - least.middle, least.middle]
    else:
        return []
    slack = (most.high - most.low) + (mean.high - mean.low) * 3
    if not least.middle - slack <= found[len(found) // 2] <= most.middle + slack or min(found) <= 0:
        return []
    return found if count == 1 or spread is None or _spreads(found, spread, slack) else []


def _spreads(values: Sequence[Fraction], stated: Rounded, slack: Fraction) -> bool:
    mean = sum(values, Fraction(0)) / len(values)
    squares = float(sum((value - mean) ** 2 for value in values))
    ways = (squares / (len(values) - 1), squares / len(values))
    return any(abs(way**0.5 - float(stated.middle)) <= float(slack) for way in ways)
