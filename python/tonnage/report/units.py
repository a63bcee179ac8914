"""Numbers as a person reads them. MB and GB are powers of ten, MiB and GiB powers of two, always spelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, isfinite, log10
from typing import Any

from tonnage import records, units
from tonnage.analysis.results import BANDWIDTH
from tonnage.analysis.text import WIDE

UNITS_NOTE = "1 kB = 10³, 1 MB = 10⁶, 1 GB = 10⁹ bytes; 1 KiB = 2¹⁰, 1 MiB = 2²⁰, 1 GiB = 2³⁰ bytes"
"""Printed once on every page that shows a size or a rate."""

NOT_MEASURED = "–"
NOT_KNOWN = "not known"
_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def ratio(value: float) -> str:
    """``0.0021``, ``0.98``, ``1.14``, ``12``."""
    return f"{value:.2f}" if 0.1 <= value < 10 else significant(value, 2)


def interval(low: float, high: float, text: Callable[[float], str], to: str = " – ") -> str:
    """``1.88 GB/s – 1.96 GB/s``: an interval of something positive, in words where it is too wide to say anything."""
    return f"{text(low)}{to}{text(high)}" if high <= WIDE * low else NOT_KNOWN


def outward(low: float, high: float, digits: int = 3) -> tuple[float, float]:
    """The ends of an interval of something positive at so many digits, ``low`` rounded down and ``high`` up."""

    def unit(value: float) -> float:
        return 10.0 ** (floor(log10(value)) - digits + 1) if value > 0 else 1.0

    return floor(low / unit(low)) * unit(low), ceil(high / unit(high)) * unit(high)


def significant(value: float, digits: int = 3) -> str:
    """``value`` with so many significant digits and no exponent: 1.92, 19.2, 192, 1920."""
    if value == 0 or not isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:.{decimals}f}"
    # Rounding may carry into a new digit (9.996 -> 10.00): one decimal fewer then.
    if decimals and len(text.lstrip("-").replace(".", "").lstrip("0")) > digits:
        text = f"{value:.{decimals - 1}f}"
    return text


def scale(largest: float, unit: str = "B/s") -> tuple[float, str]:
    """Divisor and unit in which values up to ``largest`` bytes (per second) are best drawn."""
    for divisor, prefix in _DECIMAL:
        if largest >= divisor:
            return divisor, prefix + unit
    return 1.0, unit


def rate(bytes_per_s: float | None) -> str:
    """Bytes per second with three significant digits: ``1.92 GB/s``."""
    return NOT_MEASURED if bytes_per_s is None else _scaled(bytes_per_s, "B/s")


def _scaled(value: float, unit: str) -> str:
    divisor, prefixed = scale(abs(value), unit)
    told = significant(value / divisor)
    # 999.6 MB/s would print as 1000 MB/s.
    if abs(float(told)) >= 1000 and divisor < 1e15:
        divisor, prefixed = scale(divisor * 1000, unit)
        told = significant(value / divisor)
    return f"{told} {prefixed}"


def bit_scale(bytes_per_s: float) -> tuple[float, str]:
    """Divisor of bits per second, and unit, in which a link of that rate is told."""
    return (1e9, "Gbit/s") if 8 * bytes_per_s >= 5e8 else (1e6, "Mbit/s")


def link(bytes_per_s: float | None) -> str:
    """A rate as links are sold, with the storages' unit beside: ``0.941 Gbit/s (118 MB/s)``."""
    if bytes_per_s is None:
        return NOT_MEASURED
    return f"{units.bits_text(bytes_per_s)} ({rate(bytes_per_s)})"


def operations(per_s: float | None) -> str:
    """Operations per second with three significant digits: ``12.3 k/s``."""
    return NOT_MEASURED if per_s is None else _scaled(per_s, "/s")


def speed(value: float | None, metric: str) -> str:
    """A rate in the metric of a point or a load line: ``1.92 GB/s`` or ``12.3 k/s``."""
    return rate(value) if metric == BANDWIDTH else operations(value)


def rated(value: float, metric: str, unit: str) -> str:
    """A rate in ``unit``, as :func:`tonnage.analysis.normalise.unit_of` has it: ``1.2 GB/s``, ``20 MB/s per disk``,
    ``94 % of the link``."""
    if unit.startswith("of "):
        return f"{share(value)} {unit}"
    return speed(value, metric) + unit.removeprefix("B/s").removeprefix("1/s")


def headline(line: Mapping[str, Any]) -> str:
    """The rate that a trial line is about, in its unit."""
    value, unit = records.headline(line)
    return rate(value) if unit == "B/s" else operations(value)


def duration(ns: float | None) -> str:
    """Nanoseconds with three significant digits: ``850 ns``, ``12.3 µs``, ``4.56 ms``, ``1.23 s``."""
    if ns is None:
        return NOT_MEASURED
    divisor, unit = time_scale(ns)
    return f"{significant(ns / divisor)} {unit}"


def time_scale(ns: float) -> tuple[float, str]:
    """Divisor and unit in which ``ns`` nanoseconds are told."""
    for position, (divisor, unit) in enumerate(_TIMES):
        if abs(ns) >= divisor:
            is_carried = float(significant(abs(ns) / divisor)) >= 1000 and position
            return _TIMES[position - 1] if is_carried else (divisor, unit)
    return 1.0, "ns"


def size(size_bytes: int | None) -> str:
    """A byte count: exact in powers of two where it is one (``1 MiB``), else in powers of ten (``3.2 GB``)."""
    if size_bytes is None:
        return NOT_MEASURED
    for divisor, unit in _BINARY:
        if size_bytes >= divisor and size_bytes % divisor == 0:
            return f"{size_bytes // divisor} {unit}"
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return volume(size_bytes)


def volume(moved_bytes: int | None) -> str:
    """Bytes that were moved, in the powers of ten of the rates: ``88.6 MB``."""
    return NOT_MEASURED if moved_bytes is None else rate(moved_bytes).removesuffix("/s")


def count(number: float | None) -> str:
    """A count: exact with separators below a million (``12,345``), then ``1.23 M``."""
    if number is None:
        return NOT_MEASURED
    if abs(number) < 1e6:
        return f"{round(number):,}"
    for divisor, prefix in _DECIMAL:
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
