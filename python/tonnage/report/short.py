"""How much of a run's tables a terminal shows: what one looks at, not what one would have to read."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.report import sentences
from tonnage.report.figures.figure import Table

ROWS_MOST = 16
"""Rows of one table."""
PUBLISHED_MOST = 24
"""Rows of one that was printed before: who knows it looks for its own."""
LINES_MOST = 64
"""Lines of all tables of points together: about a screen."""
ASIDE_MOST = 24
"""Lines of the tables of another section."""
AROUND = 3
"""Lines that a table has besides its rows: title, columns, and the empty one after it."""
GAP = "…"

Titled = tuple[str, Table]


def clipped(table: Table, most: int = ROWS_MOST) -> Table:
    """Its first rows and its last, where it has more than ``most``: sweeps are told by their ends, and what holds of
    all stands last."""
    if len(table.rows) <= most:
        return table
    first = 2 * most // 3
    last = most - first - 1
    left_out = len(table.rows) - first - last
    gap = (f"{GAP} {sentences.number(left_out)} more", *[""] * (len(table.columns) - 1))
    return Table(table.columns, (*table.rows[:first], gap, *table.rows[-last:]))


def lines_of(tables: Sequence[Titled]) -> int:
    """So many lines they would take, each clipped."""
    return sum(min(len(content.rows), ROWS_MOST) + AROUND for _, content in tables)


def fitting(tables: Sequence[Titled], most: int) -> list[Titled]:
    """As many of the tables as fit, the first one in any case, each clipped."""
    number = 1
    while number < len(tables) and lines_of(tables[: number + 1]) <= most:
        number += 1
    return [(title, clipped(content)) for title, content in tables[:number]]


def best(points: Sequence[Point]) -> Titled:
    """A row a setting, of the number of tasks with which it did most: what stands for more tables than one looks at."""
    most: dict[tuple[str, str, str], Point] = {}
    for point in points:
        key = (point.kind, point.op, point.group)
        if key not in most or point.median > most[key].median:
            most[key] = point
    columns = ("what", "tasks", "median", "interval", "n", "p50", "p99", "max")
    rows = tuple(
        (
            sentences.subject(point.op, point.group),
            str(point.tasks),
            units.speed(point.median, point.metric),
            sentences.bounds(point),
            str(point.repetitions),
            *sentences.waits(point),
        )
        for point in most.values()
    )
    return "Each setting with the number of tasks that did most", Table(columns, rows)
