"""Latency by percentile, drawn as HdrHistogram's plots are: the tail gets as much room as the body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log10

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis
from tonnage.report.figures.colours import step_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.report.page_data import Histogram, Source
from tonnage.report.sections.section_type import Section

_QUANTILES = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999))
_NAMED = (
    (1, "0 %"),
    (10, "90 %"),
    (100, "99 %"),
    (1e3, "99.9 %"),
    (1e4, "99.99 %"),
    (1e5, "99.999 %"),
    (1e6, "99.9999 %"),
)
_MOST_STEPS = 240
"""Steps drawn of one line: more are not visible at the width of a page."""

Curve = list[tuple[float, int]]
"""(1/(1-q), latency in ns), ascending."""
Drawn = tuple[Point, Curve]


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """Makes one section with a choice for each operation and setting."""
    found: dict[tuple[str, str], list[Drawn]] = {}
    for op, group in dict.fromkeys((point.op, point.group) for point in analysis.points):
        curve = [point for point in analysis.points if (point.op, point.group) == (op, group)]
        curve.sort(key=lambda point: point.tasks)
        drawn = [(point, line) for point in curve if (line := _curve(point, source))]
        if drawn:
            found[op, group] = drawn
    if not found:
        return []
    # The same axes in all panels.
    steps = [step for drawn in found.values() for _, line in drawn for step in line]
    variants = [
        Variant(phrases.subject(op, group), (_figure(op, group, drawn, steps),)) for (op, group), drawn in found.items()
    ]
    introduction = (
        "A line has every operation of every repetition at one number of tasks. The table has the median of the "
        "repetitions' own percentiles, with its interval."
    )
    return [Exhibit("percentiles", "Latency by percentile", introduction, "Operation", tuple(variants))]


def _curve(point: Point, source: Source) -> Curve:
    histogram: Counter[int] = Counter()
    for record in source.timed_of(point.records):
        for value, count in source.histogram(record):
            histogram[value] += count
    if histogram:
        return _thinned(_from_histogram(sorted(histogram.items())))
    known = [(1 / (1 - q), point.latency[key]) for key, q in _QUANTILES if key in point.latency]
    count = point.latency.get("count", 0)
    worst = point.latency.get("max_ns")
    return [*known, (float(count), worst)] if count > 1000 and worst is not None else known


def _from_histogram(histogram: Histogram) -> Curve:
    total = sum(count for _, count in histogram)
    below, curve = 0, []
    for value, count in histogram:
        # The last value stands at the share that all but one operation make up: 1 - 1/total.
        below += count
        curve.append((total / max(1, total - below), value))
    return curve


def _thinned(curve: Curve) -> Curve:
    """Steps that differ on a logarithmic axis; the first and the last always stay."""
    if len(curve) <= _MOST_STEPS:
        return curve
    ratio = (curve[-1][0] / curve[0][0]) ** (1 / _MOST_STEPS)
    kept = [curve[0]]
    for step in curve[1:-1]:
        if step[0] >= kept[-1][0] * ratio:
            kept.append(step)
    return [*kept, curve[-1]]


def _figure(op: str, group: str, drawn: Sequence[Drawn], steps: Curve) -> Figure:
    traces: list[Trace] = [
        {
            "x": [x for x, _ in line],
            "y": [y for _, y in line],
            "mode": "lines",
            "line": {"color": step_colour(position, len(drawn)), "width": 2, "shape": "vh"},
            "name": phrases.tasks(point.tasks),
            "customdata": [[f"{100 * (1 - 1 / x):.6g} %", units.duration(y)] for x, y in line],
            "hovertemplate": "%{customdata[0]} within %{customdata[1]}<br>" + hover.of_point(point) + "<extra></extra>",
        }
        for position, (point, line) in enumerate(drawn)
    ]
    longest = max(x for x, _ in steps)
    named = [(x, text) for x, text in _NAMED if x <= 1.3 * longest]
    latencies = [y for _, y in steps]
    x_axis: Axis = {
        "title": "Percentile of operations",
        "type": "log",
        "range": [0, 1.02 * log10(max(longest, 10.0))],
        "tickvals": [x for x, _ in named],
        "ticktext": [text for _, text in named],
    }
    return Figure(
        title=f"Latency by percentile: {phrases.subject(op, group)}",
        caption="To the right are the slowest operations: 99.9 % means that one in a thousand took longer.",
        alt=f"Latency of {phrases.subject(op, group)} by percentile, for {len(drawn)} numbers of tasks.",
        traces=traces,
        layout=layout(x_axis, latency_axis(min(latencies), max(latencies)), height=400),
        table=_table(drawn),
    )


def _table(drawn: Sequence[Drawn]) -> Table:
    columns = ("tasks", "50 %", "90 %", "99 %", "99.9 %", "max")
    keys = (*(key for key, _ in _QUANTILES), "max_ns")
    return Table.of(
        columns,
        tuple(
            (str(point.tasks), *(phrases.wait(point.latency, point.latency_intervals, key) for key in keys))
            for point, _ in drawn
        ),
    )


SECTION = Section("percentiles", exhibits, is_closer_look=True)
