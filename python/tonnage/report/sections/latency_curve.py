"""What each step up in throughput costs one operation: latency against throughput, and the table of a curve."""

from __future__ import annotations

from math import log10
from typing import Any

from tonnage import units
from tonnage.analysis.latency_line import name_of
from tonnage.analysis.results import LoadLine, Point
from tonnage.report import sentences
from tonnage.report.figures import hover
from tonnage.report.figures.figure import (
    ALERT,
    EDGE,
    MUTED,
    Figure,
    Table,
    edge_note,
    latency_axis,
    layout,
    level,
    line_colour,
    speed_scale_title,
)
from tonnage.report.figures.panels import Panels

_LISTED_MOST = 50
"""Repetitions whose values a table lists."""


def figure(curve: list[Point], line: LoadLine | None, panels: Panels) -> Figure:
    """p50 and p99 of one curve, joined in order of the number of tasks; each point has both."""
    fastest = max(point.median for point in panels.beside(curve))
    scale, title = speed_scale_title(fastest, curve[0].metric, sentences.done(curve[0].kind))
    colour = line_colour(curve[0].op)
    x = [point.median / scale for point in curve]
    labels = _spread_labels(curve)
    traces: list[dict[str, Any]] = []
    for name, dash, symbol in (("p50", "solid", "circle"), ("p99", "dot", "diamond")):
        y = [point.latency[f"{name}_ns"] for point in curve]
        traces.append(
            {
                "x": x,
                "y": y,
                "mode": "lines+markers+text",
                "name": name,
                "line": {"color": colour, "width": 2, "dash": dash},
                "marker": {"color": colour, "size": 8, "symbol": symbol},
                "text": labels if name == "p99" else [""] * len(curve),
                "textposition": [_label_side(curve, at) for at in range(len(curve))],
                "textfont": {"color": MUTED, "size": 12},
                "cliponaxis": False,
                "customdata": [
                    [hover.of_point(point), units.duration(value)] for point, value in zip(curve, y, strict=True)
                ],
                "hovertemplate": name + " %{customdata[1]}<br>%{customdata[0]}<extra></extra>",
            }
        )
    values: list[float] = [*panels.latencies_ns]
    shapes, notes = [], []
    objectives = line.latency_lines if line is not None else ()
    for found in objectives:
        values.append(found.objective_ns)
        shapes.append(level(found.objective_ns, ALERT, "dash"))
        name = f"{name_of(found.percentile)} objective"
        notes.append(edge_note(log10(found.objective_ns), name, units.duration(found.objective_ns), ALERT))
    return Figure(
        title="Latency against throughput",
        caption="The same points: what each step up in throughput costs one operation. Numbers are tasks.",
        alt="Median and 99th percentile latency against throughput, joined in order of the number of tasks.",
        traces=traces,
        layout=layout(
            {"title": title, "range": [0, 1.12 * (fastest / scale or 1.0)]},
            latency_axis(min(values), max(values)),
            height=420,
            margin_right=EDGE if objectives else 24,
            shapes=shapes,
            annotations=notes,
        ),
        table=points_table(curve),
    )


def _spread_labels(curve: list[Point]) -> list[str]:
    """Task numbers for those points that lie far enough from the last one named."""
    widest = max(point.median for point in curve) or 1.0
    heights = [log10(max(1, point.latency["p99_ns"])) for point in curve]
    tall = max(max(heights) - min(heights), 0.5)
    kept: list[tuple[float, float]] = []
    labels = []
    for point, height in zip(curve, heights, strict=True):
        place = (point.median / widest, height / tall)
        free = all(abs(place[0] - x) > 0.06 or abs(place[1] - y) > 0.09 for x, y in kept)
        labels.append(str(point.tasks) if free else "")
        if free:
            kept.append(place)
    return labels


def _label_side(curve: list[Point], at: int) -> str:
    """Above a point while throughput rises, below it at the bend, and beside it where the curve climbs straight up."""
    rises = at == 0 or curve[at].median > 1.06 * curve[at - 1].median
    bends = at + 1 < len(curve) and curve[at + 1].median <= 1.06 * curve[at].median
    if rises:
        return "bottom center" if bends else "top center"
    return "middle right"


def points_table(curve: list[Point]) -> Table:
    """The points of a curve; the same for both of its figures."""
    columns = (
        "tasks",
        "repetitions",
        "median",
        "interval",
        "each repetition",
        "p50",
        "p99",
        "max",
        "operations/s",
        "stopped",
    )
    rows = tuple(
        (
            str(point.tasks),
            str(point.repetitions),
            units.speed(point.median, point.metric),
            sentences.bounds(point),
            _values(point),
            *sentences.waits(point),
            units.count(point.operations_per_s),
            sentences.stopped(point.stopped),
        )
        for point in curve
    )
    return Table(columns, rows)


def _values(point: Point) -> str:
    """Of each repetition; the first of very many."""
    listed = ", ".join(units.speed(value, point.metric) for value in point.values[:_LISTED_MOST])
    more = point.repetitions - _LISTED_MOST
    return f"{listed} and {sentences.number(more)} more" if more > 0 else listed
