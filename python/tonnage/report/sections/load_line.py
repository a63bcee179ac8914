"""The load line figure, and beside it what each step towards it costs in latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10

from tonnage import units
from tonnage.analysis.findings.undoing import FAILED
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.transfer_sizes import Ceiling, ceilings_at
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.axes import OWN, Panels, speed_scale_title, tasks_axis
from tonnage.report.figures.colours import INK, KNEE, KNEE_BAND, MUTED, VEIL, band_colour, line_colour
from tonnage.report.figures.figure import (
    EDGE,
    Column,
    Exhibit,
    Figure,
    Table,
    Variant,
    edge_note,
    escaped,
    layout,
    level,
    text_column,
    upright,
    upright_band,
)
from tonnage.report.figures.plotly import Axis, Note, Shape, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections import settings
from tonnage.report.sections.curves import latency_by_tasks, latency_by_throughput, one_point, points_table
from tonnage.report.sections.point_table import drawn, left_out
from tonnage.report.sections.section_type import Section, Titled
from tonnage.units import BANDWIDTH

_MODEL_NAMES = {"usl": "USL", "hinge": "hinge"}
_OFF_SCALE = 1.6
"""A ceiling this many times above the highest point would squash the curve: words name it instead."""


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """One section for each operation of streams; settings besides tasks become choices. One for all phases of files
    that have a load line, and one for commands."""
    if analysis.surfaces:
        return []  # its own section draws them
    streams = [point for point in analysis.points if point.kind == "stream"]
    # Also for different operations: readers compare writes and reads.
    together = Panels(tuple(_curves(streams).values()))
    # Settings of one number of tasks each are dots, and stand in one picture already.
    dots = settings.stands_for(streams)
    found = [
        _exhibit(analysis, op, op, [point for point in streams if point.op == op], together)
        for op in dict.fromkeys(point.op for point in streams if point.op not in dots)
    ]
    known = {(line.op, line.group) for line in analysis.load_lines}
    for kind in ("files", "command"):
        points = [point for point in analysis.points if point.kind == kind and (point.op, point.group) in known]
        if points:
            found.append(_exhibit(analysis, kind, kind, points))
    return found


def _curves(points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    found: dict[tuple[str, str], list[Point]] = {}
    for point in sorted(points, key=lambda point: point.tasks):
        found.setdefault((point.op, point.group), []).append(point)
    return found


def _exhibit(analysis: Analysis, name: str, title: str, points: list[Point], together: Panels | None = None) -> Exhibit:
    """``together``: with what else it has its axes in common, if one axis serves all."""
    variants, lines, curves = [], 0, _curves(points)
    panels = together if together and together.is_shared else Panels(tuple(curves.values()))
    for op, group in dict.fromkeys((point.op, point.group) for point in points):
        curve = curves[op, group]
        line = next((line for line in analysis.load_lines if (line.op, line.group) == (op, group)), None)
        lines += line is not None
        # Another tool may have recorded no latencies.
        timed = all("p50_ns" in point.latency and "p99_ns" in point.latency for point in curve)
        if len(curve) == 1:
            figures: tuple[Figure, ...] = (one_point(curve[0]),)
        else:
            more = (latency_by_tasks(curve, line, panels), latency_by_throughput(curve, line, panels)) if timed else ()
            figures = (_throughput(analysis, curve, line, panels), *more)
        variants.append(Variant((group or op) if op == name else phrases.subject(op, group), figures))
    return Exhibit(
        identifier=f"load-line-{name}",
        title=f"{'Load line' if lines else 'Throughput'}: {title}",
        introduction="Each repetition is a point; the line joins medians, the band is the confidence interval of each.",
        choice="Setting",
        variants=tuple(variants),
    )


def _throughput(analysis: Analysis, curve: list[Point], line: LoadLine | None, panels: Panels) -> Figure:
    op, group = curve[0].op, curve[0].group
    highest = panels.height(curve)
    scale, title = speed_scale_title(highest, curve[0].metric, phrases.done(curve[0].kind))
    x = [point.tasks for point in curve]
    traces = _measured_traces(curve, scale) + _models(analysis, curve, scale)
    marks, levels = _plateau(line)
    above = _above(analysis, curve)
    ceilings, far = _ceilings(above, highest)
    levels += ceilings
    top = max([highest, *(level for level, *_ in levels)]) * (1.16 + 0.06 * len(far))
    shapes = [*_knee(line), *marks, *(level(y / scale, colour, dash) for y, _, colour, dash in levels)]
    for shape in marks:
        shape |= {"y0": shape["y0"] / scale, "y1": shape["y1"] / scale}
    notes = [*_knee_note(line, x), *_level_notes(levels, scale, top, curve[0].metric), *_far_note(far)]
    axis: Axis = {"title": title, "range": [0, top / scale]}
    return Figure(
        title="Throughput by number of tasks",
        caption=" ".join(_caption(analysis, curve, line, panels, _of_other_sizes(above, curve))),
        alt=f"Throughput of {phrases.subject(op, group)} against tasks. {phrases.sentence(line) if line else ''}",
        traces=traces,
        layout=layout(tasks_axis(panels.tasks), axis, height=420, margin_right=EDGE, shapes=shapes, annotations=notes),
        table=points_table(curve),
    )


def _measured_traces(curve: list[Point], scale: float) -> list[Trace]:
    """The band of intervals, the medians, and every repetition."""
    x = [point.tasks for point in curve]
    colour = line_colour(curve[0].op)
    marks = [(point, pair) for point in curve for pair in drawn(point)]
    return [
        {
            "x": x,
            "y": [point.low / scale for point in curve],
            "mode": "lines",
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            "x": x,
            "y": [point.high / scale for point in curve],
            "mode": "lines",
            "line": {"width": 0},
            "fill": "tonexty",
            "fillcolor": band_colour(curve[0].op),
            "hoverinfo": "skip",
            "name": _confidence(curve),
        },
        {
            "x": x,
            "y": [point.median / scale for point in curve],
            "mode": "lines",
            "line": {"color": colour, "width": 2.5},
            "name": "median",
            "text": [hover.of_point(point) for point in curve],
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [point.tasks for point, _ in marks],
            "y": [value / scale for _, (value, _) in marks],
            "text": [hover.repetition(point, value, record) for point, (value, record) in marks],
            "mode": "markers",
            "marker": {"color": colour, "size": 7, "opacity": 0.65, "line": {"width": 0}},
            "name": "repetition",
            "hovertemplate": "%{text}<extra></extra>",
        },
    ]


def _caption(
    analysis: Analysis, curve: list[Point], line: LoadLine | None, panels: Panels, of_other_sizes: Sequence[str]
) -> Iterator[str]:
    if line and line.reached:
        yield "Upright: the load line; level: the plateau; each in the band of its interval."
    if any((model.op, model.group) == (curve[0].op, curve[0].group) for model in analysis.models):
        yield "Dashed: models, drawn beside what was measured."
    if max(point.high for point in curve) > panels.height(curve):
        yield "An interval of few repetitions reaches beyond the axis; the table has it."
    if fewer := left_out(curve):
        yield fewer
    if not panels.is_shared:
        yield OWN
    yield from of_other_sizes


def _confidence(curve: list[Point]) -> str:
    levels = sorted({point.confidence for point in curve if point.confidence})
    return f"{units.share(levels[0])} interval" if levels else "interval (none: one repetition)"


def _models(analysis: Analysis, curve: list[Point], scale: float) -> list[Trace]:
    op, group, metric = curve[0].op, curve[0].group, curve[0].metric
    tried = [point.tasks for point in curve]
    dashes = ("dash", "dot", "dashdot")
    models = [model for model in analysis.models if (model.op, model.group) == (op, group)]
    return [
        {
            "x": [x for x, _ in model.curve if tried[0] <= x <= tried[-1]],
            "y": [y / scale for x, y in model.curve if tried[0] <= x <= tried[-1]],
            "mode": "lines",
            "line": {"color": MUTED, "width": 1.5, "dash": dashes[position % len(dashes)]},
            "name": f"{escaped(_MODEL_NAMES.get(model.name, model.name))} (model)",
            "text": [units.speed(y, metric) for x, y in model.curve if tried[0] <= x <= tried[-1]],
            "hovertemplate": "model, %{x:.3g} tasks<br>%{text}<extra></extra>",
        }
        for position, model in enumerate(models)
    ]


Level = tuple[float, str, str, str]
"""A horizontal line: rate, name, colour, dash."""


def _knee(line: LoadLine | None) -> list[Shape]:
    """The load line itself and the band of its interval."""
    if line is None or not line.reached or line.tasks is None:
        return []
    shapes = [upright(line.tasks, KNEE)]
    if phrases.interval(line) and line.tasks_low and line.tasks_high:
        # A little to either side, so that an interval of one number is still seen.
        shapes.append(upright_band(0.97 * line.tasks_low, 1.03 * line.tasks_high, KNEE_BAND))
    return shapes


def _knee_note(line: LoadLine | None, tried: list[int]) -> list[Note]:
    if line is None or not line.reached or line.tasks is None:
        return []
    right = log10(line.tasks / tried[0]) > 0.6 * log10(max(2, tried[-1] / tried[0]))
    return [
        {
            "x": log10(line.tasks),
            "y": 0.03,
            "yref": "paper",
            "xanchor": "right" if right else "left",
            "yanchor": "bottom",
            "xshift": -5 if right else 5,
            "showarrow": False,
            "font": {"color": KNEE, "size": 13},
            "bgcolor": VEIL,
            "text": f"load line {line.tasks}{phrases.interval(line)}",
        }
    ]


def _plateau(line: LoadLine | None) -> tuple[list[Shape], list[Level]]:
    """The band of the plateau's interval, in its metric, and its line."""
    if line is None or not line.reached or not line.plateau:
        return [], []
    levels = [(float(line.plateau), "plateau", KNEE, "solid")]
    if not line.plateau_low or not line.plateau_high:
        return [], levels
    band: Shape = {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": line.plateau_low,
        "y1": line.plateau_high,
        "fillcolor": KNEE_BAND,
        "line": {"width": 0},
        "layer": "below",
    }
    return [band], levels


def _above(analysis: Analysis, curve: Sequence[Point]) -> list[Ceiling]:
    """What bounds transfers of the curve's size."""
    return ceilings_at(analysis.ceilings, curve[0].transfer_size) if curve[0].metric == BANDWIDTH else []


def _ceilings(found: Sequence[Ceiling], highest: float) -> tuple[list[Level], list[str]]:
    """Ceilings near the curve as lines; the names of those far above it, which would squash it."""
    near = [one for one in found if one.bytes_per_s <= _OFF_SCALE * highest]
    levels = [(one.bytes_per_s, phrases.ceiling_name(one.name), INK, "dash") for one in near]
    far = [f"{phrases.ceiling_name(one.name)} {units.rate(one.bytes_per_s)}" for one in found if one not in near]
    return levels, list(map(escaped, far))


def _of_other_sizes(found: Sequence[Ceiling], curve: Sequence[Point]) -> list[str]:
    """Which of them were measured with other transfers than these."""
    names: dict[int, list[str]] = {}
    for one in found:
        if one.other_transfer_size is not None:
            names.setdefault(one.other_transfer_size, []).append(phrases.ceiling_name(one.name))
    own = units.size(curve[0].transfer_size)
    return [
        f"The ceiling of {' and of '.join(several)} was measured with transfers of {units.size(size)}, not of {own}."
        for size, several in names.items()
    ]


def _far_note(far: list[str]) -> list[Note]:
    text = "<br>".join(f"↑ {name} (off the scale)" for name in far)
    return (
        [
            {
                "xref": "paper",
                "yref": "paper",
                "x": 0.01,
                "y": 1,
                "xanchor": "left",
                "yanchor": "top",
                "align": "left",
                "showarrow": False,
                "text": text,
                "font": {"color": MUTED, "size": 12},
                "bgcolor": VEIL,
            }
        ]
        if far
        else []
    )


def _level_notes(levels: list[Level], scale: float, top: float, metric: str) -> list[Note]:
    """Names of horizontal lines, lowest first, each at least two lines of text above the one before."""
    notes, free = [], 0.0
    for y, name, colour, _ in sorted(levels):
        place = max(y, free)
        free = place + 0.12 * top
        notes.append(edge_note(place / scale, name, units.speed(y, metric), colour))
    return notes


def points(analysis: Analysis) -> list[Titled]:
    """Returns a table for each curve of a stream."""
    streams = [point for point in analysis.points if point.kind == "stream"]
    return [
        curve([point for point in streams if (point.op, point.group) == name])
        for name in dict.fromkeys((point.op, point.group) for point in streams)
    ]


def curve(points: list[Point]) -> Titled:
    """One curve. Cache is a column only for reads, why a point was not repeated only where that is not as asked."""
    reads = any(point.cache_state is not None for point in points)
    has_reasons = any(point.stopped not in (None, "repetitions") for point in points)
    title, size = phrases.subject(points[0].op, points[0].group), points[0].transfer_size
    columns: tuple[str | Column, ...] = (
        "tasks",
        "median",
        "interval",
        "n",
        "p50",
        "p99",
        "max",
        "CPU/GiB",
        *([text_column("from device")] if reads else []),
        *([text_column("stopped")] if has_reasons else []),
    )
    rows = tuple(
        (
            str(point.tasks),
            units.speed(point.median, point.metric),
            interval(point),
            str(point.repetitions),
            *phrases.waits(point),
            units.duration(point.cpu_ns_per_gib or None),
            *([phrases.cache(point)] if reads else []),
            *([phrases.stopped(point.stopped)] if has_reasons else []),
        )
        for point in points
    )
    return f"{title}, {units.size(size)} transfers" if size else title, Table.of(columns, rows)


def interval(point: Point) -> str:
    """Formats an interval as ``[1.88, 1.96]``, in the unit of the median beside it."""
    if not point.confidence:
        return units.NOT_MEASURED
    divisor, _ = units.scale(point.median)
    found = units.interval(point.low, point.high, lambda value: units.significant(value / divisor), ", ")
    return found if found == units.NOT_KNOWN else f"[{found}]"


def sentences(analysis: Analysis) -> list[Statement]:
    """One a curve, with the interval of its plateau, its latency objective where there is one, and why it ended."""
    return [
        Statement(
            phrases.subject(line.op, line.group),
            line.why,
            tuple(filter(None, (phrases.plateau(line), *phrases.objectives(line), phrases.ended(line)))),
            line.reached,
            curve=(line.op, line.group),
        )
        for line in analysis.load_lines
        if not analysis.surfaces
    ] + _unmeasured(analysis)


def _unmeasured(analysis: Analysis) -> list[Statement]:
    """Of operations whose every trial failed: what was asked for is no blank."""
    measured = {point.op for point in analysis.points}
    # A subject with a purpose is a part of another operation.
    failed = [doubt.finding for doubt in analysis.doubts if doubt.finding.code == FAILED]
    return [
        Statement(one.subject, f"not measured: {one.evidence}", sure=False, curve=(one.subject, ""))
        for one in failed
        if one.subject not in measured and "(" not in one.subject
    ]


SECTION = Section("load line", exhibits, points=points, sentences=sentences, live=exhibits)
