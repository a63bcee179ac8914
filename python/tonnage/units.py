"""Sizes, times, rates and shares as people write them, read once into integers.

``MB`` is 10⁶ and ``MiB`` 2²⁰; a bare letter (``4k``, ``1M``) means the power of two, as in IOR, fio and dd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from tonnage.errors import RequestError

_BINARY = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_TIME_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_NUMBER = r"(?P<number>[0-9]{1,19}(?:\.[0-9]{1,18})?)"
_SIZE = re.compile(rf"{_NUMBER}\s*(?P<prefix>[kmgtp]?)(?P<suffix>i?b)?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(rf"{_NUMBER}\s*(?P<unit>ns|us|µs|ms|s|min|m|h)?")
_PERCENT = re.compile(rf"{_NUMBER}\s*%")
_LARGEST = 2**63 - 1
"""Everything ends as a signed 64-bit integer in the records."""


def parse_size(text: str) -> int:
    """Bytes of ``1MiB``, ``4k``, ``2GB``, ``1.5GiB`` or ``4096``; RequestError if it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise RequestError(f"{text!r} is not a size; hint: write it like 4k, 1MiB or 2GB")
    prefix, suffix = match["prefix"].lower(), (match["suffix"] or "").lower()
    if match["suffix"] == "b" and match["prefix"].isupper():
        raise RequestError(f"{text!r} may be bits; hint: write it like {match['number']}{match['prefix']}B, in bytes")
    if suffix == "ib" and not prefix:
        raise RequestError(f"{text!r} is not a size; hint: write it like 4k, 1MiB or 2GB")
    table = _DECIMAL if suffix == "b" else _BINARY
    return _whole(text, Fraction(match["number"]) * (table[prefix] if prefix else 1), "bytes")


def parse_time(text: str) -> int:
    """Nanoseconds of ``60s``, ``2m``, ``500ms``, ``1.5h``; a bare number is seconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise RequestError(f"{text!r} is not a time; hint: write it like 500ms, 60s or 2m")
    return _whole(text, Fraction(match["number"]) * _TIME_NS[match["unit"] or "s"], "nanoseconds")


def parse_rate(text: str) -> int:
    """Bytes per second of ``2GB/s`` or ``100MiB/s``; the ``/s`` may be left out."""
    return parse_size(text.strip().removesuffix("/s"))


def parse_share(text: str) -> float:
    """A share of one: ``20%`` or ``0.2``; RequestError outside 0…1."""
    stripped = text.strip()
    match = _PERCENT.fullmatch(stripped) or re.fullmatch(_NUMBER, stripped)
    if match is None:
        raise RequestError(f"{text!r} is not a share; hint: write it like 20% or 0.2")
    share = float(Fraction(match["number"]) / (100 if stripped.endswith("%") else 1))
    if share > 1:
        raise RequestError(f"{text!r} is above 100 %; hint: write it like 20% or 0.2")
    return share


def parse_count(text: str) -> int:
    """A whole number from 1 on, as ``8``."""
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    if not digits:
        raise RequestError(f"{text!r} is not a whole number above 0; hint: write it like 8")
    # Python refuses to read numbers of thousands of digits.
    if len(digits) > 10 or int(digits) >= 2**31:
        raise RequestError(
            f"{text[:20]}{'…' * (len(text) > 20)} is too large; hint: at most {2**31 - 1} can be counted"
        )
    return int(digits)


def format_size(size: int) -> str:
    """The shortest exact way to write a size that ``parse_size`` reads back: ``1MiB``, ``2GB``, ``4097B``."""
    if size == 0:
        return "0B"
    for table, suffix in ((_BINARY, "iB"), (_DECIMAL, "B")):
        for prefix, factor in sorted(table.items(), key=lambda item: -item[1]):
            if size % factor == 0:
                letter = prefix if suffix == "B" and prefix == "k" else prefix.upper()
                return f"{size // factor}{letter}{suffix}"
    return f"{size}B"


def format_time(time_ns: int) -> str:
    """The shortest exact way to write a time that ``parse_time`` reads back: ``2m``, ``500ms``, ``0s``."""
    if time_ns == 0:
        return "0s"
    for unit in ("h", "m", "s", "ms", "us"):
        if time_ns % _TIME_NS[unit] == 0:
            return f"{time_ns // _TIME_NS[unit]}{unit}"
    return f"{time_ns}ns"


def rate_text(bytes_per_s: float) -> str:
    """Three digits as a sentence needs them: ``1.92 GB/s``, powers of ten."""
    found = scaled(bytes_per_s, ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")))
    return found or f"{bytes_per_s:.0f} B/s"


def size_text(size: int) -> str:
    """Three digits as a sentence needs them: ``23.5 GiB``, powers of two."""
    factors = sorted(((factor, f"{prefix.upper()}iB") for prefix, factor in _BINARY.items()), reverse=True)
    return scaled(size, factors) or f"{size} B"


def bits_text(bytes_per_s: float) -> str:
    """A rate as links are sold: ``0.941 Gbit/s``, ``98.2 Mbit/s``, of 10⁹ and 10⁶ bits."""
    bits_per_s = 8 * bytes_per_s
    factor, unit = (1e9, "Gbit/s") if bits_per_s >= 5e8 else (1e6, "Mbit/s")
    return f"{three_digits(bits_per_s / factor)} {unit}"


def three_digits(value: float) -> str:
    """``1.92``, ``19.2``, ``1920``."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def scaled(value: float, units: Iterable[tuple[float, str]]) -> str | None:
    """``1.92 MB``, in the largest of ``units`` of which it is at least one as it is printed (999.6 kB is ``1 MB``).

    None where it is less than one of the smallest.
    """
    for factor, unit in units:
        told = three_digits(value / factor)
        if float(told) >= 1:
            return f"{told} {unit}"
    return None


def _whole(text: str, value: Fraction, unit: str) -> int:
    if value.denominator != 1:
        raise RequestError(f"{text!r} is not a whole number of {unit}; hint: use a smaller unit")
    if value > _LARGEST:
        raise RequestError(f"{text!r} is more than 2^63 {unit}; hint: use a smaller value")
    return int(value)
