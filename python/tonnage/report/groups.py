"""Points by what a section shows together."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.analysis.results import Point
from tonnage.report.source import Source


def groups_of(points: Sequence[Point], kind: str) -> list[tuple[str, list[Point]]]:
    """``(group, points)`` of one kind of workload, in the order of the analysis."""
    mine = [point for point in points if point.kind == kind]
    return [
        (group, [point for point in mine if point.group == group]) for group in dict.fromkeys(p.group for p in mine)
    ]


def typical(point: Point) -> str:
    """The record of the repetition nearest the median."""
    distances = [abs(value - point.median) for value in point.values]
    return point.records[distances.index(min(distances))]


def worth_a_look(points: Sequence[Point], source: Source) -> list[tuple[Point, str]]:
    """The typical repetition of each point, and every one with a stall or with trouble; these first."""
    told = {row.get("record") for row in source.events if row["kind"] in ("stall", "retry")}
    stalled = [(point, record) for point in points for record in point.records if record in told]
    return stalled + [pair for point in points if (pair := (point, typical(point))) not in stalled]
