"""Sizes, times, rates, counts and shares: read as people write them, and written as people read them.

``MB`` is 10⁶ and ``MiB`` 2²⁰; a bare letter (``4k``, ``1M``) means the power of two, as in IOR, fio and dd.

======================  ====================================================================================
``parse_…``             a text of the command line or a campaign into an integer
``format_…``            the shortest exact text that ``parse_…`` reads back
``…_text``              three digits at most, for a sentence: ``2 GB/s``, ``1.92 GB/s``
all others              three digits always, so that a column lines up: ``2.00 GB/s``; a dash for None
======================  ====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite, log10

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
UNITS_NOTE = "1 kB = 10³, 1 MB = 10⁶, 1 GB = 10⁹ bytes; 1 KiB = 2¹⁰, 1 MiB = 2²⁰, 1 GiB = 2³⁰ bytes"
"""Printed once on every page that shows a size or a rate."""

NOT_MEASURED = "–"
NOT_KNOWN = "not known"
WIDE = 100
"""An interval whose ends are further apart than so many times says nothing."""
BANDWIDTH = "bandwidth_bytes_per_s"
OPERATIONS = "operations_per_s"
"""The two metrics: what moves data is measured in bytes per second, names and commands in operations per second."""
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_PLAIN_FROM = 1e-4
"""Smaller numbers Python writes with an exponent."""
_EXACT = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
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


def read_time(given: str | float | timedelta) -> int:
    """Nanoseconds of a text, of seconds, or of a timedelta; RequestError if it is no time."""
    if isinstance(given, timedelta):
        return parse_time(f"{given / timedelta(microseconds=1):.0f}us")
    return parse_time(number_text(given))


def number_text(given: object) -> str:
    """Writes a number without an exponent, as a user would: ``0.00005``. Anything else as it is written."""
    return f"{Decimal(repr(float(given))):f}" if isinstance(given, float) and isfinite(given) else str(given)


def parse_rate(text: str) -> int:
    """Bytes per second of ``2GB/s`` or ``100MiB/s``; the ``/s`` may be left out."""
    return parse_size(text.strip().removesuffix("/s"))


def parse_share(text: str) -> float:
    """Parses a share of one: ``20%`` or ``0.2``; RequestError outside 0…1."""
    stripped = text.strip()
    match = _PERCENT.fullmatch(stripped) or re.fullmatch(_NUMBER, stripped)
    if match is None:
        raise RequestError(f"{text!r} is not a share; hint: write it like 20% or 0.2")
    share = float(Fraction(match["number"]) / (100 if stripped.endswith("%") else 1))
    if share > 1:
        raise RequestError(f"{text!r} is above 100 %; hint: write it like 20% or 0.2")
    return share


def is_factor(value: float) -> bool:
    """Whether amounts of work may be multiplied by it: above 0 and at most a million."""
    return 0 < value <= 1e6


def parse_factor(text: str) -> float:
    """What amounts of work are multiplied by, as ``0.01``."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not is_factor(value):
        raise RequestError(f"{text!r} is not a factor above 0; hint: write it like 0.01")
    return value


def parse_count(text: str) -> int:
    """Parses a whole number from 1 on, as ``8``."""
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


def time_text(ns: float) -> str:
    """Returns text such as ``1.5 s``, ``20 ms``, ``340 ns``."""
    return scaled(ns, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))) or f"{ns:.0f} ns"


def clock_text(time_ns: int) -> str:
    """Returns text such as ``0:08``, ``12:05``, ``3:12:05``: a time left or gone."""
    minutes, seconds = divmod(max(time_ns, 0) // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def utc_text(timespec: str = "milliseconds") -> str:
    """The time now, as records have it: ``2026-11-21T10:15:00.123Z``."""
    return datetime.now(timezone.utc).isoformat(timespec=timespec).replace("+00:00", "Z")


def bits_text(bytes_per_s: float) -> str:
    """A rate as links are sold: ``0.941 Gbit/s``, ``98.2 Mbit/s``, of 10⁹ and 10⁶ bits."""
    bits_per_s = 8 * bytes_per_s
    factor, unit = (1e9, "Gbit/s") if bits_per_s >= 5e8 else (1e6, "Mbit/s")
    return f"{three_digits(bits_per_s / factor)} {unit}"


def three_digits(value: float) -> str:
    """Returns text such as ``1.92``, ``19.2``, ``1920``."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def scaled(value: float, units: Iterable[tuple[float, str]]) -> str | None:
    """``1.92 MB``, in the largest of ``units`` of which it is at least one as it is printed (999.6 kB is ``1 MB``).

    None where it is less than one of the smallest.
    """
    for factor, unit in units:
        digits = three_digits(value / factor)
        if float(digits) >= 1:
            return f"{digits} {unit}"
    return None


def ratio(value: float) -> str:
    """Returns text such as ``0.0021``, ``0.98``, ``1.14``, ``12``."""
    return f"{value:.2f}" if 0.1 <= value < 10 else significant(value, 2)


def interval(low: float, high: float, text: Callable[[float], str], to: str = " – ") -> str:
    """``1.88 GB/s – 1.96 GB/s``: an interval of something positive, in words where it is too wide to say anything."""
    return f"{text(low)}{to}{text(high)}" if high <= WIDE * low else NOT_KNOWN


def outward(low: float, high: float) -> tuple[float, float]:
    """The ends of an interval of something positive at three digits, ``low`` rounded down and ``high`` up."""

    def unit(value: float) -> float:
        return 10.0 ** (floor(log10(value)) - 2) if value > 0 else 1.0

    return floor(low / unit(low)) * unit(low), ceil(high / unit(high)) * unit(high)


def significant(value: float, digits: int = 3) -> str:
    """Formats ``value`` with so many significant digits and no exponent: 1.92, 19.2, 192, 1920."""
    if value == 0 or not isfinite(value):
        return "0" if value == 0 else str(value)
    if _PLAIN_FROM <= abs(value) < 10**digits - 1:
        # The same text in half the time: figures have a hundred thousand of these.
        return f"{value:#.{digits}g}".rstrip(".")
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:.{decimals}f}"
    # Rounding may carry into a new digit (9.996 -> 10.00): one decimal fewer then.
    if decimals and len(text.lstrip("-").replace(".", "").lstrip("0")) > digits:
        text = f"{value:.{decimals - 1}f}"
    return text


def scale(largest: float, unit: str = "B/s") -> tuple[float, str]:
    """Divisor and unit in which values up to ``largest`` bytes (per second) are best drawn."""
    for divisor, prefix in _PREFIXES:
        if largest >= divisor:
            return divisor, prefix + unit
    return 1.0, unit


def rate(bytes_per_s: float | None) -> str:
    """Formats bytes per second with three significant digits: ``1.92 GB/s``."""
    return NOT_MEASURED if bytes_per_s is None else _scaled(bytes_per_s, "B/s")


def _scaled(value: float, unit: str) -> str:
    divisor, prefixed = scale(abs(value), unit)
    digits = significant(value / divisor)
    # 999.6 MB/s would print as 1000 MB/s.
    if abs(float(digits)) >= 1000 and divisor < 1e15:
        divisor, prefixed = scale(divisor * 1000, unit)
        digits = significant(value / divisor)
    return f"{digits} {prefixed}"


def bit_scale(bytes_per_s: float) -> tuple[float, str]:
    """Divisor of bits per second, and unit, in which a link of that rate is printed."""
    return (1e9, "Gbit/s") if 8 * bytes_per_s >= 5e8 else (1e6, "Mbit/s")


def link(bytes_per_s: float | None) -> str:
    """A rate as links are sold, with the storages' unit beside: ``0.941 Gbit/s (118 MB/s)``."""
    if bytes_per_s is None:
        return NOT_MEASURED
    return f"{bits_text(bytes_per_s)} ({rate(bytes_per_s)})"


def operations(per_s: float | None) -> str:
    """Formats operations per second with three significant digits: ``12.3 k/s``."""
    return NOT_MEASURED if per_s is None else _scaled(per_s, "/s")


def headline(value: float | None, unit: str) -> str:
    """What :func:`tonnage.records.headline` says of a trial line."""
    return rate(value) if unit == "B/s" else operations(value)


def speed(value: float | None, metric: str) -> str:
    """Formats a rate in the metric of a point or a load line: ``1.92 GB/s`` or ``12.3 k/s``."""
    return rate(value) if metric == BANDWIDTH else operations(value)


def rated(value: float, metric: str, unit: str) -> str:
    """A rate in ``unit``, as :func:`tonnage.analysis.compare.normalise.unit_of` has it: ``1.2 GB/s``,
    ``20 MB/s per disk``, ``94 % of the link``."""
    if unit.startswith("of "):
        return f"{share(value)} {unit}"
    return speed(value, metric) + unit.removeprefix("B/s").removeprefix("1/s")


def duration(ns: float | None) -> str:
    """Formats nanoseconds with three significant digits: ``850 ns``, ``12.3 µs``, ``4.56 ms``, ``1.23 s``."""
    if ns is None:
        return NOT_MEASURED
    divisor, unit = time_scale(ns)
    return f"{significant(ns / divisor)} {unit}"


def time_scale(ns: float) -> tuple[float, str]:
    """Divisor and unit in which ``ns`` nanoseconds are printed."""
    for position, (divisor, unit) in enumerate(_TIMES):
        if abs(ns) >= divisor:
            is_carried = float(significant(abs(ns) / divisor)) >= 1000 and position
            return _TIMES[position - 1] if is_carried else (divisor, unit)
    return 1.0, "ns"


def size(size_bytes: int | None) -> str:
    """A byte count: exact in powers of two where it is one (``1 MiB``), else in powers of ten (``3.2 GB``)."""
    if size_bytes is None:
        return NOT_MEASURED
    for divisor, unit in _EXACT:
        if size_bytes >= divisor and size_bytes % divisor == 0:
            return f"{size_bytes // divisor} {unit}"
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return volume(size_bytes)


def volume(moved_bytes: int | None) -> str:
    """Bytes that were moved, in the powers of ten of the rates: ``88.6 MB``."""
    return NOT_MEASURED if moved_bytes is None else rate(moved_bytes).removesuffix("/s")


def plural(number: int, noun: str) -> str:
    """Returns text such as ``1 task``, ``8 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def count(number: float | None) -> str:
    """Formats a count: exact with separators below a million (``12,345``), then ``1.23 M``."""
    if number is None:
        return NOT_MEASURED
    if abs(number) < 1e6:
        return f"{round(number):,}"
    for divisor, prefix in _PREFIXES:
        if abs(number) >= divisor:
            return f"{significant(number / divisor)} {prefix}"
    return str(number)


def share(part: float | None) -> str:
    """A share of one, in per cent; never rounded up to a whole that it is not."""
    if part is None:
        return NOT_MEASURED
    percent = 100 * part
    if 99.5 <= percent < 100:
        return f"{floor(percent * 10) / 10:.1f} %"
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


def _whole(text: str, value: Fraction, unit: str) -> int:
    if value.denominator != 1:
        raise RequestError(f"{text!r} is not a whole number of {unit}; hint: use a smaller unit")
    if value > _LARGEST:
        raise RequestError(f"{text!r} is more than 2^63 {unit}; hint: use a smaller value")
    return int(value)
