"""Hover texts of marks: the value, its interval, and its records."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.report import phrases
from tonnage.report.figures.figure import escaped

_MOST_NAMED = 5
"""Records that a mark names."""


def of_point(point: Point, what: str = "") -> str:
    """A point; ``what`` replaces its number of tasks where more distinguishes it from others."""
    return "<br>".join(
        [
            what or phrases.tasks(point.tasks),
            f"median {units.speed(point.median, point.metric)}",
            f"interval {phrases.bounds(point)}" if point.confidence else "too few repetitions to tell an interval",
            f"{point.repetitions} {'repetition' if point.repetitions == 1 else 'repetitions'}",
            records(point.records),
        ]
    )


def repetition(point: Point, value: float, record: str) -> str:
    """Returns one of its repetitions."""
    return f"{phrases.tasks(point.tasks)}<br>{units.speed(value, point.metric)}<br>{records((record,))}"


def records(names: Sequence[str]) -> str:
    """``record 0007-write``; the first of many; empty where there is none."""
    if not any(names):
        return ""
    shown = ", ".join(escaped(name) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"record {shown}{f' and {phrases.number(more)} more' if more > 0 else ''}"


def ending(record: str) -> str:
    """The end of a template whose marks are all of one record."""
    named = records((record,))
    return f"<br>{named}<extra></extra>" if named else "<extra></extra>"
