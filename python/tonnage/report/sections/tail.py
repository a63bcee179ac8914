"""A writer and the readers that follow it: what they cost the writer, and how far behind they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage import units
from tonnage.analysis.results import Analysis, Point
from tonnage.report import sentences
from tonnage.report.figures import hover
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    band_colour,
    latency_axis,
    layout,
    line_colour,
    rate_scale_title,
    words,
)
from tonnage.report.sections import follow
from tonnage.report.sections.points import groups_of, worth_a_look
from tonnage.report.source import Source

MOST_TRIALS = 24
"""Trials whose lag a page offers."""


def readers(point: Point) -> int:
    """Tasks but the writer."""
    return point.tasks - 1


def tables(points: list[Point]) -> list[tuple[str, Table]]:
    """A table for each setting."""
    return [(sentences.subject("tail", group), _table(found)) for group, found in groups_of(points, "tail")]


def story(points: Sequence[Point]) -> list[str]:
    """What the most readers of each setting cost the writer, where it was also measured alone."""
    mine = [point for point in points if point.kind == "tail"]
    alone = {(point.workload, point.transfer_size): point for point in mine if not readers(point)}
    found = []
    for group, followed in groups_of(mine, "tail"):
        busiest = max(followed, key=readers)
        base = alone.get((busiest.workload, busiest.transfer_size))
        if base and readers(busiest):
            found.append(f"{sentences.subject('tail', group)}: {_against(busiest, base)}.")
    return found


def _against(busiest: Point, alone: Point) -> str:
    rates = f"{units.rate(busiest.median)} with {_many(readers(busiest))}, {units.rate(alone.median)} alone"
    waits = [sentences.waits(point)[1] for point in (busiest, alone)]
    return f"{_changed(busiest, alone)} ({rates}); one write of a hundred takes {waits[0]} or more, alone {waits[1]}"


def _changed(busiest: Point, alone: Point) -> str:
    """A change is shown where the intervals leave each other out."""
    if not (busiest.confidence and alone.confidence):
        return "repeat it to know whether the writer is slower"
    if busiest.high < alone.low:
        return f"readers leave the writer {units.share(busiest.median / alone.median)} of its rate"
    return "the writer is faster with readers" if busiest.low > alone.high else "no change shown of the writer's rate"


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """The writer against the number of readers, and one trial closely."""
    variants = [
        Variant(group or "tail", (_rates(found), _latencies(found)))
        for group, found in groups_of(analysis.points, "tail")
    ]
    if not variants:
        return []
    introduction = "One writer, and readers that follow the growing file: what they cost the writer."
    found = [Exhibit("tail", "Write while others read", introduction, "Setting", tuple(variants))]
    points = [point for point in analysis.points if point.kind == "tail"]
    close: list[Variant] = []
    busiest, most = 0, -1
    for point, record in worth_a_look(points, source)[:MOST_TRIALS]:
        figures = follow.figures(record, source)
        label = f"{sentences.subject('tail', point.group)}, {_many(readers(point))} ({record})"
        if figures:
            if readers(point) > most:
                busiest, most = len(close), readers(point)
            close.append(Variant(label, figures))
    if close:
        words_of = "The repetition nearest the median of each setting, and every one with a stall."
        found.append(Exhibit("lag", "How far readers are behind", words_of, "Trial", tuple(close), busiest))
    return found


def _many(number: int) -> str:
    return f"{number} {'reader' if number == 1 else 'readers'}"


def _table(points: list[Point]) -> Table:
    head = ("readers", "write rate", "interval", "n", "write p50", "p99", "max", "read rate, all")
    rows = []
    for point in points:
        behind = point.follow
        lag, intervals = (behind.lag, behind.lag_intervals) if behind else ({}, {})
        rows.append(
            (
                str(readers(point)),
                units.rate(point.median),
                sentences.bounds(point),
                str(point.repetitions),
                *sentences.waits(point),
                units.rate(behind.bandwidth_bytes_per_s if behind else None),
                *(sentences.wait(lag, intervals, key) for key in ("p50_ns", "p99_ns", "max_ns")),
                units.volume(behind.max_lag_bytes if behind else None),
            )
        )
    return Table((*head, "lag p50", "lag p99", "lag max", "furthest"), tuple(rows))


def _rates(points: list[Point]) -> Figure:
    points = sorted(points, key=readers)
    fastest = max(value for point in points for value in point.values)
    highest = min(max(point.high for point in points), 1.3 * fastest) or 1.0
    scale, title = rate_scale_title(highest, "Write rate")
    x, colour = [readers(point) for point in points], line_colour("write")
    edge = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    traces: list[dict[str, Any]] = [
        {**edge, "y": [point.low / scale for point in points]},
        {**edge, "y": [point.high / scale for point in points], "fill": "tonexty", "fillcolor": band_colour("write")},
        {
            "x": x,
            "y": [point.median / scale for point in points],
            "mode": "lines",
            "line": {"color": colour, "width": 2.5},
            "name": "median",
            "text": [hover.of_point(point, _many(readers(point))) for point in points],
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [readers(point) for point in points for _ in point.values],
            "y": [value / scale for point in points for value in point.values],
            "text": [words(record) for point in points for record in point.records],
            "mode": "markers",
            "marker": {"color": colour, "size": 7, "opacity": 0.65, "line": {"width": 0}},
            "name": "repetition",
            "hovertemplate": "%{x} readers<br>%{y:.4g}<br>record %{text}<extra></extra>",
        },
    ]
    return Figure(
        title="Write rate by number of readers",
        caption="The writer alone: bytes that readers read are in no figure of it.",
        alt="Rate of the writer against the number of readers that follow it.",
        traces=traces,
        layout=layout(_readers_axis(x), {"title": title, "range": [0, 1.12 * highest / scale]}),
        table=_table(points),
    )


def _latencies(points: list[Point]) -> Figure:
    points = sorted((point for point in points if point.latency), key=readers)
    x, colour = [readers(point) for point in points], line_colour("write")
    traces: list[dict[str, Any]] = [
        {
            "x": x,
            "y": [max(1, point.latency[f"{name}_ns"]) for point in points],
            "mode": "lines+markers",
            "name": name,
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "size": 8, "symbol": symbol},
            "text": [units.duration(point.latency[f"{name}_ns"]) for point in points],
            "customdata": [hover.of_point(point, _many(readers(point))) for point in points],
            "hovertemplate": f"{name} %{{text}}<br>%{{customdata}}<extra></extra>",
        }
        for name, dash, symbol in (("p50", "solid", "circle"), ("p99", "dot", "diamond"), ("max", "dash", "square"))
    ]
    values = [y for trace in traces for y in trace["y"]] or [1]
    return Figure(
        title="Write latency by number of readers",
        caption="One write of the writer, over all repetitions.",
        alt="Median, 99th percentile and slowest write against the number of readers.",
        traces=traces,
        layout=layout(_readers_axis(x), latency_axis(min(values), max(values))),
        table=_table(points),
    )


def _readers_axis(tried: list[int]) -> dict[str, Any]:
    pad = 0.04 * max(1, max(tried, default=1))
    return {"title": "Readers", "tickvals": sorted(set(tried)), "range": [-pad, max([*tried, 1]) + pad]}
