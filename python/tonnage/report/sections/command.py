"""Copies of a command: how many a second at each concurrency, when each ran, and what they used."""

from __future__ import annotations

from statistics import median

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.records.line_types import CopyLine
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.colours import ALERT, LINES
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, timeline
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.point_table import groups_of
from tonnage.report.sections.section_type import Section, Titled

MOST_TRIALS = 24
"""Trials whose copies a page offers."""


def points(analysis: Analysis) -> list[Titled]:
    """Returns a table for each setting."""
    return [
        (phrases.subject("command", group), _table(found)) for group, found in groups_of(analysis.points, "command")
    ]


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """When each copy of a trial ran; none where no copies are recorded."""
    points = [point for point in analysis.points if point.kind == "command"]
    variants: list[Variant] = []
    busiest, most = 0, 0
    for point in points[:MOST_TRIALS]:
        record = nearest(point)
        copies = source.copies_of(record)
        if copies:
            if point.tasks > most:
                busiest, most = len(variants), point.tasks
            label = f"{phrases.subject(point.op, point.group)}, {point.tasks} at once ({record})"
            variants.append(Variant(label, (_timeline(record, copies),)))
    introduction = "The repetition nearest the median of each setting: a row a task, a bar a copy."
    if not variants:
        return []
    # Shown first: the most at once, where copies get into each other's way.
    return [Exhibit("copies", "When each copy ran", introduction, "Trial", tuple(variants), busiest)]


def _table(points: list[Point]) -> Table:
    head = ("at once", "copies/s", "interval", "n", "whole trial", "copy p50", "copy max")
    return Table.of((*head, "CPU busy", "from devices", "to devices"), tuple(_row(point) for point in points))


def _row(point: Point) -> tuple[str, ...]:
    used = point.copies
    return (
        str(point.tasks),
        units.operations(point.median),
        phrases.bounds(point),
        str(point.repetitions),
        units.duration(point.elapsed_ns),
        *phrases.waits(point)[::2],
        units.share(used.cpu_share if used else None),
        units.volume(used.device_read_bytes if used else None),
        units.volume(used.device_write_bytes if used else None),
    )


def _timeline(record: str, copies: list[CopyLine]) -> Figure:
    """Bars from start to end, a row a task; copies that failed stand out."""
    begin = min(copy["start_ns"] for copy in copies)
    # Of an imported workflow the end is not known.
    failed = [copy for copy in copies if copy.get("error") or copy.get("signal") is not None or copy.get("exit_code")]
    traces = [
        _bars(name, colour, found, begin, record)
        for name, colour, found in (
            ("ended well", LINES["write"], [copy for copy in copies if copy not in failed]),
            ("failed", ALERT, failed),
        )
        if found
    ]
    lasted = [copy["end_ns"] - copy["start_ns"] for copy in copies]
    longest = copies[lasted.index(max(lasted))]
    story = (
        f"{units.count(len(copies))} {'copy' if len(copies) == 1 else 'copies'}"
        + (f", {len(failed)} failed" if failed else "")
        + f"; the median took {units.duration(median(lasted))}, the longest, copy {longest['copy']}, "
        f"{units.duration(max(lasted))}."
    )
    lanes = len({copy["task"] for copy in copies})
    return Figure(
        title="When each copy ran",
        caption=f"{record}. {story}",
        alt=f"Timeline of the copies of {record}. {story}",
        traces=traces,
        layout=layout(
            {"title": "Time since the first copy started (s)", "rangemode": "tozero"},
            {"title": "Task", "autorange": "reversed", "tickformat": "d", **({"dtick": 1} if lanes <= 24 else {})},
            height=min(900, 150 + 26 * max(4, lanes)),
            barmode="overlay",
            bargap=0.25,
            showlegend=bool(failed),
        ),
        table=_copies_table(copies, begin),
    )


def _bars(name: str, colour: str, copies: list[CopyLine], begin: int, record: str) -> Trace:
    bars = timeline(
        name,
        [copy["task"] for copy in copies],
        [(copy["start_ns"] - begin) / 1e9 for copy in copies],
        [(copy["end_ns"] - copy["start_ns"]) / 1e9 for copy in copies],
        [f"copy {copy['copy']}" for copy in copies],
    )
    return {
        **bars,
        # A thin edge in the colour of the page keeps neighbours apart.
        "marker": {"color": colour, "line": {"color": "@#ffffff|#14171b", "width": 1}},
        "hovertemplate": "%{text}, task %{y}<br>%{x:.3g} s" + hover.ending(record),
    }


def _copies_table(copies: list[CopyLine], begin: int) -> Table:
    columns = ("copy", "task", "start", "elapsed", "CPU", "result", "memory", "from devices", "to devices")
    rows = tuple(
        (
            str(copy["copy"]),
            str(copy["task"]),
            units.duration(copy["start_ns"] - begin),
            units.duration(copy["end_ns"] - copy["start_ns"]),
            units.duration(_cpu_ns(copy)),
            result_of(copy),
            units.volume(copy.get("max_resident_bytes")),
            units.volume(copy.get("device_read_bytes")),
            units.volume(copy.get("device_write_bytes")),
        )
        for copy in copies
    )
    return Table.of(columns, rows)


def _cpu_ns(copy: CopyLine) -> int | None:
    times = (copy.get("cpu_user_ns"), copy.get("cpu_system_ns"))
    return None if None in times else sum(time for time in times if time is not None)


def result_of(copy: CopyLine) -> str:
    """Describes how a copy ended: ``exit 0``, ``signal 9``, or why it never started."""
    if copy.get("error"):
        return escaped(copy["error"])
    if copy.get("signal") is not None:
        return f"signal {copy['signal']}"
    return "unknown" if copy.get("exit_code") is None else f"exit {copy['exit_code']}"


SECTION = Section("command", exhibits, points=points)
