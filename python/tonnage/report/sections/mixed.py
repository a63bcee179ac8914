"""Reads and writes at once: what each of the two did, and what the other cost it."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.results import MixPart, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis, rate_scale_title, tasks_axis
from tonnage.report.figures.colours import line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout, text_column
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

Pair = tuple[Point, MixPart]


def points(analysis: Analysis) -> list[Titled]:
    """Returns a table for each setting of a mix: a row for each number of tasks and kind of operation."""
    return [
        (f"{phrases.subject('mixed', group)}, by operation", _table(pairs)) for group, pairs in _groups(analysis.points)
    ]


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """Makes one section, with a choice for each setting."""
    variants = [Variant(group or "mixed", _figures(pairs)) for group, pairs in _groups(analysis.points)]
    introduction = "Reads and writes of the same tasks at the same time, each by itself."
    return [Exhibit("mixed", "The parts of the mix", introduction, "Setting", tuple(variants))] if variants else []


def _groups(points: Sequence[Point]) -> list[tuple[str, list[Pair]]]:
    pairs = [(point, part) for point in points for part in point.parts]
    groups = dict.fromkeys(point.group for point, _ in pairs)
    return [(group, [pair for pair in pairs if pair[0].group == group]) for group in groups]


def _table(pairs: list[Pair]) -> Table:
    columns = ("tasks", text_column("operation"), "rate", "operations/s", "p50", "p99", "max")
    rows = tuple(
        (
            str(point.tasks),
            part.op,
            units.rate(part.bandwidth_bytes_per_s),
            units.operations(part.operations_per_s),
            *(phrases.wait(part.latency, part.latency_intervals, key) for key in ("p50_ns", "p99_ns", "max_ns")),
        )
        for point, part in pairs
    )
    return Table.of(columns, rows)


def _figures(pairs: list[Pair]) -> tuple[Figure, Figure]:
    tried = [point.tasks for point, _ in pairs]
    parts = {op: [pair for pair in pairs if pair[1].op == op] for op in dict.fromkeys(part.op for _, part in pairs)}
    scale, title = rate_scale_title(max(part.bandwidth_bytes_per_s for _, part in pairs))
    rates = [_line(op, found, [part.bandwidth_bytes_per_s / scale for _, part in found]) for op, found in parts.items()]
    largest = max(y for trace in rates for y in trace["y"]) or 1.0
    latencies = [
        _line(f"{op} {name}", found, [max(1, part.latency[f"{name}_ns"]) for _, part in found], op, dash)
        for op, found in parts.items()
        for name, dash in (("p50", "solid"), ("p99", "dot"))
    ]
    values = [y for trace in latencies for y in trace["y"]]
    return (
        Figure(
            title="Rate of each part",
            caption="Bytes of each kind of operation over the whole time of the phase.",
            alt="Rate of the writes and of the reads of the mix against tasks.",
            traces=rates,
            layout=layout(tasks_axis(tried), {"title": title, "range": [0, 1.12 * largest]}),
            table=_table(pairs),
        ),
        Figure(
            title="Latency of each part",
            caption="Median and 99th percentile of one operation; of several repetitions the median.",
            alt="Latency of the writes and of the reads of the mix against tasks.",
            traces=latencies,
            layout=layout(tasks_axis(tried), latency_axis(min(values), max(values))),
            table=_table(pairs),
        ),
    )


def _line(name: str, pairs: list[Pair], y: list[float], op: str | None = None, dash: str = "solid") -> Trace:
    colour = line_colour(op or name)
    return {
        "x": [point.tasks for point, _ in pairs],
        "y": y,
        "mode": "lines+markers",
        "name": name,
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "size": 8},
        "text": [_hover_text(*pair) for pair in pairs],
        "hovertemplate": f"{name}<br>%{{text}}<extra></extra>",
    }


def _hover_text(point: Point, part: MixPart) -> str:
    return "<br>".join(
        [
            phrases.tasks(point.tasks),
            units.rate(part.bandwidth_bytes_per_s),
            *(
                f"{name} {phrases.wait(part.latency, part.latency_intervals, f'{name}_ns')}"
                for name in ("p50", "p99", "max")
            ),
            hover.records(point.records),
        ]
    )


SECTION = Section("mixed", exhibits, points=points)
