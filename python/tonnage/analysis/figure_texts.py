"""Figures as a sentence needs them: three digits and the unit spelled."""

from __future__ import annotations

from tonnage.analysis.results import LoadLine, Point
from tonnage.units import BANDWIDTH, rate_text, scaled, three_digits


def speed(value: float, of: Point | LoadLine) -> str:
    """Formats a value of a point or load line in its metric: ``1.92 GB/s``, ``12.3 k operations/s``, ``0.45
    copies/s``."""
    if of.metric == BANDWIDTH:
        return rate_text(value)
    noun = "copies" if of.kind == "command" else "operations"
    found = scaled(value, ((1e9, f"G {noun}/s"), (1e6, f"M {noun}/s"), (1e3, f"k {noun}/s")))
    return found or f"{three_digits(value)} {noun}/s"


def some(items: list[str], limit: int = 5) -> str:
    """Returns the first few of a list, and how many more."""
    rest = len(items) - limit
    return ", ".join(items[:limit]) + (f" and {rest} more" if rest > 0 else "")
