"""Figures as a sentence needs them: three digits and the unit spelled."""

from __future__ import annotations

from tonnage.analysis.results import BANDWIDTH, LoadLine, Point
from tonnage.units import rate_text, scaled, three_digits

WIDE = 100
"""An interval whose ends are further apart than so many times says nothing."""


def speed(value: float, of: Point | LoadLine) -> str:
    """A value of a point or load line in its metric: ``1.92 GB/s``, ``12.3 k operations/s``, ``0.45 copies/s``."""
    if of.metric == BANDWIDTH:
        return rate_text(value)
    noun = "copies" if of.kind == "command" else "operations"
    found = scaled(value, ((1e9, f"G {noun}/s"), (1e6, f"M {noun}/s"), (1e3, f"k {noun}/s")))
    return found or f"{three_digits(value)} {noun}/s"


def duration(ns: float) -> str:
    """``1.5 s``, ``20 ms``, ``340 ns``."""
    return scaled(ns, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))) or f"{ns:.0f} ns"


def share(fraction: float) -> str:
    """``7 %``; below 1 % one digit more."""
    return f"{100 * fraction:.0f} %" if fraction >= 0.01 or fraction == 0 else f"{100 * fraction:.1g} %"


def count(number: int, noun: str) -> str:
    """``1 task``, ``8 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(items: list[str], limit: int = 5) -> str:
    """The first few of a list, and how many more."""
    rest = len(items) - limit
    return ", ".join(items[:limit]) + (f" and {rest} more" if rest > 0 else "")
