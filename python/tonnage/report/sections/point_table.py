"""Points of a run: by what a section shows together, and the tables that have them all."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.report import phrases
from tonnage.report.figures.figure import Column, Table, text_column
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Titled


def groups_of(points: Sequence[Point], kind: str) -> list[tuple[str, list[Point]]]:
    """Returns ``(group, points)`` of one kind of workload, in the order of the analysis."""
    mine = [point for point in points if point.kind == kind]
    return [
        (group, [point for point in mine if point.group == group]) for group in dict.fromkeys(p.group for p in mine)
    ]


DRAWN_MOST = 250
"""Repetitions of a point that are drawn: more only cover each other, and would make a page too heavy to open."""


def drawn(point: Point) -> list[tuple[float, str]]:
    """``(value, record)`` of each repetition, in the order they ran; of very many the slowest, the fastest, and others
    at even steps between them, so that they lie as all do."""
    several = len(point.values)
    order: Sequence[int] = range(several)
    if several > DRAWN_MOST:
        import numpy as np

        by_value = np.argsort(point.values, kind="stable").tolist()
        order = [by_value[step * (several - 1) // (DRAWN_MOST - 1)] for step in range(DRAWN_MOST)]
    return [(point.values[number], point.records[number]) for number in order]


def left_out(points: Sequence[Point]) -> str:
    """A sentence on what ``drawn`` leaves out; empty where it leaves out nothing."""
    every = sum(point.repetitions for point in points)
    kept = sum(min(point.repetitions, DRAWN_MOST) for point in points)
    if kept == every:
        return ""
    return (
        f"{phrases.number(kept)} of {phrases.number(every)} repetitions are drawn, at even steps from the slowest of "
        "each number of tasks to the fastest; the run directory has all."
    )


def notable_points(points: Sequence[Point], source: Source) -> list[tuple[Point, str]]:
    """Returns the typical repetition of each point, and every one with a stall or with errors; these first."""
    event_records = {row.get("record") for row in source.events if row["kind"] in ("stall", "retry")}
    stalled = (
        [(point, record) for point in points for record in point.records if record in event_records]
        if event_records
        else []
    )
    return stalled + [pair for point in points if (pair := (point, nearest(point))) not in stalled]


def table(points: Sequence[Point]) -> Table:
    """Makes a row for each point of any kind, for a page."""
    groups = any(point.group for point in points)
    head = (text_column("operation"), *(("setting",) if groups else ()), "tasks", "median", "interval", "repetitions")
    columns: tuple[str | Column, ...] = (*head, "p50", "p99", "max", "CPU per GiB", "cache")
    return Table.of(columns, tuple(_point_row(point, groups) for point in points))


def _point_row(point: Point, groups: bool) -> tuple[str, ...]:
    return (
        point.op,
        *((point.group,) if groups else ()),
        str(point.tasks),
        units.speed(point.median, point.metric),
        phrases.bounds(point),
        str(point.repetitions),
        *phrases.waits(point),
        units.duration(point.cpu_ns_per_gib or None),
        phrases.cache(point) or units.NOT_MEASURED,
    )


def best(points: Sequence[Point]) -> Titled:
    """A row a setting, of the number of tasks with which it did most: shown in place of too many tables."""
    most: dict[tuple[str, str, str], Point] = {}
    for point in points:
        key = (point.kind, point.op, point.group)
        if key not in most or point.median > most[key].median:
            most[key] = point
    columns = (text_column("what"), "tasks", "median", "interval", "n", "p50", "p99", "max")
    rows = tuple(
        (
            phrases.subject(point.op, point.group),
            str(point.tasks),
            units.speed(point.median, point.metric),
            phrases.bounds(point),
            str(point.repetitions),
            *phrases.waits(point),
        )
        for point in most.values()
    )
    return "Each setting with the number of tasks that did most", Table.of(columns, rows)
