"""Many small files, made or searched: how many names a second each phase does, together and a task, and what one name
takes."""

from __future__ import annotations

from math import ceil, floor, log10

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis
from tonnage.report.figures.colours import INK, MUTED, step_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, error_bars, escaped, layout, text_column
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.point_table import groups_of
from tonnage.report.sections.section_type import Section, Titled

_KINDS = ("files", "find")
_QUANTILES = (("p50_ns", "p50", "circle"), ("p99_ns", "p99", "diamond"), ("max_ns", "max", "line-ns-open"))
_TIMED = {key for key, _, _ in _QUANTILES}
"""What another tool, whose results were imported, need not have recorded."""


def points(analysis: Analysis) -> list[Titled]:
    """Returns a table for each setting: the phases in the order they ran."""
    return [
        (phrases.subject(kind, group), _table(found))
        for kind in _KINDS
        for group, found in groups_of(analysis.points, kind)
    ]


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """Makes one section, with a choice for each setting."""
    variants = [
        Variant(group or kind, (_rates(found), *_latencies(found)))
        for kind in _KINDS
        for group, found in groups_of(analysis.points, kind)
    ]
    introduction = "Operations of each phase in a second, all tasks together, and the time that one operation takes."
    return [Exhibit("files", "Files", introduction, "Setting", tuple(variants))] if variants else []


def _table(points: list[Point]) -> Table:
    columns = (text_column("phase"), "tasks", "together", "interval", "n", "each task", "data", "p50", "p99", "max")
    rows = tuple(
        (
            point.op,
            str(point.tasks),
            units.operations(point.median),
            phrases.bounds(point),
            str(point.repetitions),
            units.operations(point.median / point.tasks),
            units.rate(point.bandwidth_bytes_per_s) if point.bandwidth_bytes_per_s else units.NOT_MEASURED,
            *phrases.waits(point),
        )
        for point in points
    )
    return Table.of(columns, rows)


def _phases(points: list[Point]) -> list[str]:
    return list(dict.fromkeys(point.op for point in points))


def _rates(points: list[Point]) -> Figure:
    """A row a phase, a mark a number of tasks, with its interval."""
    tried = sorted({point.tasks for point in points})
    rows, between = _phases(points), min(0.2, 0.7 / len(tried))
    traces: list[Trace] = []
    for position, tasks in enumerate(tried):
        here = [point for point in points if point.tasks == tasks]
        colour = step_colour(position, len(tried)) if len(tried) > 1 else INK
        traces.append(
            {
                "x": [point.median for point in here],
                "y": [rows.index(point.op) + (position - (len(tried) - 1) / 2) * between for point in here],
                "mode": "markers",
                "marker": {"color": colour, "size": 9},
                "error_x": error_bars(
                    [point.high - point.median for point in here],
                    [point.median - point.low for point in here],
                    colour,
                    1.5,
                    4,
                ),
                "name": phrases.tasks(tasks),
                "text": [f"{escaped(point.op)}<br>{hover.of_point(point)}" for point in here],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    low, high = min(point.low for point in points), max(point.high for point in points)
    fastest = max(points, key=lambda point: point.median)
    return Figure(
        title="Rate of each phase",
        caption="All tasks together; the bar through a mark is the confidence interval of the median.",
        alt=f"Operations a second by phase; the fastest is {fastest.op} at {units.operations(fastest.median)}.",
        traces=traces,
        layout=layout(_rate_axis(low, high), _phase_axis(points), height=_height(points), showlegend=len(tried) > 1),
        table=_table(points),
    )


def _latencies(points: list[Point]) -> tuple[Figure, ...]:
    """A row a phase: median, tail and worst of one operation, at the most tasks; none where no phase has them."""
    tasks = max(point.tasks for point in points)
    here = [point for point in points if point.tasks == tasks and point.latency.keys() >= _TIMED]
    if not here:
        return ()
    phases = _phases(points)
    rows = [phases.index(point.op) for point in here]
    ends = [(max(1, point.latency["p50_ns"]), max(1, point.latency["max_ns"])) for point in here]
    traces: list[Trace] = [
        {
            "x": [x for low, high in ends for x in (low, high, None)],
            "y": [y for row in rows for y in (row, row, None)],
            "mode": "lines",
            "line": {"color": MUTED, "width": 1.5},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for key, name, symbol in _QUANTILES:
        traces.append(
            {
                "x": [max(1, point.latency[key]) for point in here],
                "y": rows,
                "mode": "markers",
                "marker": {"color": INK, "size": 10, "symbol": symbol, "line": {"color": INK, "width": 2}},
                "name": name,
                "text": [
                    f"{escaped(point.op)}: {name} {units.duration(point.latency[key])}<br>"
                    f"{hover.records(point.records)}"
                    for point in here
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    values = [x for trace in traces for x in trace["x"] if x is not None]
    figure = Figure(
        title="Time of one operation",
        caption=f"At {phrases.tasks(tasks)}, over all repetitions: from the median to the slowest.",
        alt=f"Median, 99th percentile and slowest operation of each phase at {phrases.tasks(tasks)}.",
        traces=traces,
        layout=layout(latency_axis(min(values), max(values)), _phase_axis(points), height=_height(points)),
        table=_table(here),
    )
    return (figure,)


def _phase_axis(points: list[Point]) -> Axis:
    order = [escaped(phase) for phase in _phases(points)]
    # From top to bottom, in the order they ran, with room above the first and below the last.
    return {
        "title": "Phase",
        "tickvals": list(range(len(order))),
        "ticktext": order,
        "range": [len(order) - 0.5, -0.5],
    }


def _height(points: list[Point]) -> int:
    return 160 + 36 * max(3, len(_phases(points)))


def _rate_axis(low: float, high: float) -> Axis:
    """A logarithmic axis of operations a second, from a whole 1, 2 or 5 to another."""
    start, end = log10(max(low, 1e-6)) - 0.1, log10(max(high, 1e-6)) + 0.1
    steps: tuple[int, ...] = (1,) if end - start > 3 else (1, 2, 5)
    ticks = [step * 10.0**decade for decade in range(floor(start), ceil(end) + 1) for step in steps]
    shown = [tick for tick in ticks if start <= log10(tick) <= end]
    return {
        "title": "Operations in a second, all tasks together",
        "type": "log",
        "range": [start, end],
        "tickvals": shown,
        "ticktext": [units.operations(tick).replace(".00", "").replace(".0", "") for tick in shown],
    }


SECTION = Section("files", exhibits, points=points)
