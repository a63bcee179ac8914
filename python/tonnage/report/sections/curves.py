"""Figures and the table of one curve: of the latencies of its points, or of its only point."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from tonnage import units
from tonnage.analysis.load_line.latency_line import name_of
from tonnage.analysis.results import LoadLine, Point
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import Panels, latency_axis, speed_scale_title, tasks_axis
from tonnage.report.figures.colours import ALERT, KNEE, MUTED, band_colour, line_colour
from tonnage.report.figures.figure import (
    EDGE,
    Figure,
    Table,
    edge_note,
    error_bars,
    interval_band,
    layout,
    level,
    text_column,
    upright,
)
from tonnage.report.figures.plotly import Axis, Note, Shape, Trace
from tonnage.report.sections.point_table import drawn

_LISTED_MOST = 50
"""Repetitions whose values a table lists."""

_SERIES = (("p50", "solid", "circle"), ("p99", "dot", "diamond"))
"""Percentiles that are drawn, each with its dash and mark."""


def one_point(point: Point) -> Figure:
    """Draws the only number of tasks: its median with its interval, and each repetition."""
    scale, title = speed_scale_title(point.high, point.metric, phrases.done(point.kind))
    colour, name = line_colour(point.op), units.plural(point.tasks, "task")
    marks = drawn(point)
    traces: list[Trace] = [
        {
            "x": [value / scale for value, _ in marks],
            "y": [name] * len(marks),
            "text": [hover.repetition(point, value, record) for value, record in marks],
            "mode": "markers",
            "marker": {"color": colour, "size": 7, "opacity": 0.45, "line": {"width": 0}},
            "name": "repetition",
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [point.median / scale],
            "y": [name],
            "error_x": error_bars([(point.high - point.median) / scale], [(point.median - point.low) / scale], colour),
            "mode": "markers",
            "marker": {"color": colour, "size": 12},
            "name": "median, interval",
            "text": [hover.of_point(point)],
            "hovertemplate": "%{text}<extra></extra>",
        },
    ]
    return Figure(
        title="Throughput of the one number of tasks",
        caption="One number of tasks was measured: no curve, and no load line, can be drawn.",
        alt=f"Throughput of {phrases.subject(point.op, point.group)} with {name}: "
        f"{units.speed(point.median, point.metric)}, {phrases.bounds(point)}.",
        traces=traces,
        layout=layout(
            {"title": title, "range": [0, 1.12 * (max(point.high, *point.values) / scale or 1.0)]},
            {"title": ""},
            height=190,
        ),
        table=points_table([point]),
    )


def latency_by_tasks(curve: list[Point], line: LoadLine | None, panels: Panels) -> Figure:
    """Draws p50 and p99 against the number of tasks, with their intervals, on the axis of the throughput."""
    x = [point.tasks for point in curve]
    traces: list[Trace] = []
    for name, dash, symbol in _SERIES:
        key = f"{name}_ns"
        ends = [bounds for point in curve if (bounds := point.latency_intervals.get(key)) is not None]
        if len(ends) == len(curve):
            low, high = [end.low_ns for end in ends], [end.high_ns for end in ends]
            traces += interval_band(x, low, high, band_colour(curve[0].op))
        traces.append(_latency(curve, x, name, dash, symbol))
    shapes, notes = _objectives(line)
    caption = "Half of the operations, and 99 of 100, wait no longer with so many tasks."
    if line is not None and line.reached and line.tasks is not None:
        shapes.append(upright(line.tasks, KNEE))
        caption = "Beyond the load line throughput stays and each operation waits longer."
    return Figure(
        title="Latency by number of tasks",
        caption=caption,
        alt="Median and 99th percentile latency against the number of tasks.",
        traces=traces,
        layout=layout(
            tasks_axis(panels.tasks),
            _latency_axis(line, panels),
            height=420,
            margin_right=EDGE if notes else 24,
            shapes=shapes,
            annotations=notes,
        ),
        table=points_table(curve),
    )


def latency_by_throughput(curve: list[Point], line: LoadLine | None, panels: Panels) -> Figure:
    """p50 and p99 of one curve, joined in order of the number of tasks; each point has both."""
    fastest = max(point.median for point in panels.beside(curve))
    scale, title = speed_scale_title(fastest, curve[0].metric, phrases.done(curve[0].kind))
    x = [point.median / scale for point in curve]
    traces = [_latency(curve, x, *series) for series in _SERIES]
    # Of two curves of the same points, one is named.
    traces[-1] |= {
        "mode": "lines+markers+text",
        "text": _spread_labels(curve),
        "textposition": [_label_side(curve, at) for at in range(len(curve))],
        "textfont": {"color": MUTED, "size": 12},
        "cliponaxis": False,
    }
    shapes, notes = _objectives(line)
    return Figure(
        title="Latency against throughput",
        caption="The same points: what each step up in throughput costs one operation. Numbers are tasks.",
        alt="Median and 99th percentile latency against throughput, joined in order of the number of tasks.",
        traces=traces,
        layout=layout(
            {"title": title, "range": [0, 1.12 * (fastest / scale or 1.0)]},
            _latency_axis(line, panels),
            height=420,
            margin_right=EDGE if notes else 24,
            shapes=shapes,
            annotations=notes,
        ),
        table=points_table(curve),
    )


def _latency(curve: list[Point], x: Sequence[float], name: str, dash: str, symbol: str) -> Trace:
    """One percentile of the points, against something of theirs."""
    y, colour = [point.latency[f"{name}_ns"] for point in curve], line_colour(curve[0].op)
    return {
        "x": x,
        "y": y,
        "mode": "lines+markers",
        "name": name,
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "customdata": [[hover.of_point(point), units.duration(value)] for point, value in zip(curve, y, strict=True)],
        "hovertemplate": name + " %{customdata[1]}<br>%{customdata[0]}<extra></extra>",
    }


def _objectives(line: LoadLine | None) -> tuple[list[Shape], list[Note]]:
    """A level for each latency objective, and its name."""
    shapes, notes = [], []
    for found in line.latency_lines if line is not None else ():
        shapes.append(level(found.objective_ns, ALERT, "dash"))
        name = f"{name_of(found.percentile)} objective"
        notes.append(edge_note(log10(found.objective_ns), name, units.duration(found.objective_ns), ALERT))
    return shapes, notes


def _latency_axis(line: LoadLine | None, panels: Panels) -> Axis:
    """Of all panels, and of the objectives."""
    objectives = [found.objective_ns for found in line.latency_lines] if line is not None else []
    values = [*panels.latencies_ns, *objectives]
    return latency_axis(min(values), max(values))


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
    """Makes the points of a curve; the same for both of its figures."""
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
        text_column("stopped"),
    )
    rows = tuple(
        (
            str(point.tasks),
            str(point.repetitions),
            units.speed(point.median, point.metric),
            phrases.bounds(point),
            _values(point),
            *phrases.waits(point),
            units.count(point.operations_per_s),
            phrases.stopped(point.stopped),
        )
        for point in curve
    )
    return Table.of(columns, rows)


def _values(point: Point) -> str:
    """Of each repetition; the first of very many."""
    listed = ", ".join(units.speed(value, point.metric) for value in point.values[:_LISTED_MOST])
    more = point.repetitions - _LISTED_MOST
    return f"{listed} and {phrases.number(more)} more" if more > 0 else listed
