"""The load line figure, and beside it what each step towards it costs in latency."""

from __future__ import annotations

from math import log10
from typing import Any

from tonnage.analysis.results import Analysis, LoadLine, Point
from tonnage.report import sentences, units
from tonnage.report.figure import (
    ALERT,
    INK,
    KNEE,
    KNEE_BAND,
    MUTED,
    Exhibit,
    Figure,
    Table,
    Variant,
    band_colour,
    latency_axis,
    layout,
    line_colour,
    rate_scale_title,
    tasks_axis,
    words,
)

_MODEL_NAMES = {"usl": "Universal Scalability Law", "hinge": "two-segment hinge"}
_OFF_SCALE = 1.6
"""A ceiling this many times above the highest point would squash the curve: it is named in words instead."""


def exhibits(analysis: Analysis) -> list[Exhibit]:
    """One section for each operation; settings besides tasks become choices."""
    return [_exhibit(analysis, op) for op in dict.fromkeys(point.op for point in analysis.points)]


def _exhibit(analysis: Analysis, op: str) -> Exhibit:
    points = [point for point in analysis.points if point.op == op]
    variants = []
    for group in dict.fromkeys(point.group for point in points):
        curve = sorted((point for point in points if point.group == group), key=lambda point: point.tasks)
        line = next((line for line in analysis.load_lines if (line.op, line.group) == (op, group)), None)
        figures = (_throughput(analysis, curve, line), _latency(curve, line))
        variants.append(Variant(group or op, figures))
    return Exhibit(
        identifier=f"load-line-{op}",
        title=f"Load line: {op}",
        introduction="Every repetition is a point; the line joins medians, the band is the confidence interval of each.",
        choice="setting",
        variants=tuple(variants),
    )


def _throughput(analysis: Analysis, curve: list[Point], line: LoadLine | None) -> Figure:
    op, group = curve[0].op, curve[0].group
    highest = max(max((*point.values, point.high)) for point in curve)
    scale, title = rate_scale_title(highest)
    x = [point.tasks for point in curve]
    colour = line_colour(op)
    traces: list[dict[str, Any]] = [
        {"x": x, "y": [point.low / scale for point in curve], "mode": "lines", "line": {"width": 0},
         "hoverinfo": "skip", "showlegend": False},
        {"x": x, "y": [point.high / scale for point in curve], "mode": "lines", "line": {"width": 0}, "fill": "tonexty",
         "fillcolor": band_colour(op), "hoverinfo": "skip", "name": _confidence(curve)},
        {"x": x, "y": [point.median / scale for point in curve], "mode": "lines",
         "line": {"color": colour, "width": 2.5}, "name": "median", "hovertemplate": "%{x} tasks<br>median %{y:.4g}<extra></extra>"},
        {"x": [point.tasks for point in curve for _ in point.values], "y": [v / scale for point in curve for v in point.values],
         "text": [words(record) for point in curve for record in point.records], "mode": "markers",
         "marker": {"color": colour, "size": 7, "opacity": 0.65, "line": {"width": 0}}, "name": "repetition",
         "hovertemplate": "%{x} tasks<br>%{y:.4g}<br>record %{text}<extra></extra>"},
    ]  # fmt: skip
    traces += _models(analysis, op, group, scale, x)
    shapes, notes = _line_marks(line, scale)
    ceiling_shapes, ceiling_notes, top = _ceilings(analysis, highest, scale)
    axis = {"title": title, "range": [0, top / scale], "fixedrange": False}
    return Figure(
        title="Throughput by number of tasks",
        caption=sentences.sentence(line) if line else "",
        alt=f"Throughput of {sentences.subject(op, group)} against tasks. {sentences.sentence(line) if line else ''}",
        traces=traces,
        layout=layout(tasks_axis(x), axis, height=420, shapes=shapes + ceiling_shapes, annotations=notes + ceiling_notes),
        table=_table(curve),
    )


def _confidence(curve: list[Point]) -> str:
    levels = sorted({point.confidence for point in curve if point.confidence})
    return f"{units.share(levels[0])} interval of the median" if levels else "interval (one repetition: none)"


def _models(analysis: Analysis, op: str, group: str, scale: float, tried: list[int]) -> list[dict[str, Any]]:
    dashes = ("dash", "dot", "dashdot")
    models = [model for model in analysis.models if (model.op, model.group) == (op, group)]
    return [
        {
            "x": [x for x, _ in model.curve if tried[0] <= x <= tried[-1]],
            "y": [y / scale for x, y in model.curve if tried[0] <= x <= tried[-1]],
            "mode": "lines",
            "line": {"color": MUTED, "width": 1.5, "dash": dashes[position % len(dashes)]},
            "name": f"model: {words(_MODEL_NAMES.get(model.name, model.name))}",
            "hovertemplate": "%{x:.3g} tasks<br>%{y:.4g}<extra></extra>",
        }
        for position, model in enumerate(models)
    ]


def _line_marks(line: LoadLine | None, scale: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The knee with its interval, and the plateau with its own."""
    if line is None or not line.reached or line.tasks is None:
        return [], []
    shapes, notes = [], []
    if line.tasks_low and line.tasks_high:
        # Half a step to either side, so that an interval of one number is still seen.
        edges = (line.tasks_low * 0.97, line.tasks_high * 1.03)
        shapes.append({"type": "rect", "yref": "paper", "x0": edges[0], "x1": edges[1], "y0": 0, "y1": 1,
                       "fillcolor": KNEE_BAND, "line": {"width": 0}, "layer": "below"})  # fmt: skip
    shapes.append({"type": "line", "yref": "paper", "x0": line.tasks, "x1": line.tasks, "y0": 0, "y1": 1,
                   "line": {"color": KNEE, "width": 1.5}, "layer": "below"})  # fmt: skip
    notes.append({"x": log10(line.tasks), "xref": "x", "y": 0.03, "yref": "paper", "xanchor": "left", "yanchor": "bottom",
                  "xshift": 5, "showarrow": False, "font": {"color": KNEE, "size": 13},
                  "text": f"load line {line.tasks}{sentences.interval(line)}"})  # fmt: skip
    if line.plateau_bytes_per_s:
        if line.plateau_low and line.plateau_high:
            shapes.append({"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": line.plateau_low / scale,
                           "y1": line.plateau_high / scale, "fillcolor": KNEE_BAND, "line": {"width": 0}, "layer": "below"})  # fmt: skip
        shapes.append(_level(line.plateau_bytes_per_s / scale, KNEE, "solid"))
        notes.append(_left_note(line.plateau_bytes_per_s / scale, f"plateau {units.rate(line.plateau_bytes_per_s)}", KNEE))
    return shapes, notes


def _level(y: float, colour: str, dash: str) -> dict[str, Any]:
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
            "line": {"color": colour, "width": 1.2, "dash": dash}, "layer": "below"}  # fmt: skip


def _left_note(y: float, text: str, colour: str) -> dict[str, Any]:
    """A name above a horizontal line, at the left, where a rising curve leaves room."""
    return {"xref": "paper", "x": 0.01, "xanchor": "left", "y": y, "yanchor": "bottom", "showarrow": False,
            "text": text, "font": {"color": colour, "size": 12}}  # fmt: skip


def _ceilings(analysis: Analysis, highest: float, scale: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Ceilings near the curve as lines; those far above it as words at the top edge. Also the top of the axis."""
    named = [entry for entry in analysis.ceilings if entry.get("bytes_per_s")]
    near = [entry for entry in named if entry["bytes_per_s"] <= _OFF_SCALE * highest]
    far = [entry for entry in named if entry not in near]
    top = 1.16 * max([highest, *(entry["bytes_per_s"] for entry in near)])
    shapes, notes = [], []
    for entry in near:
        shapes.append(_level(entry["bytes_per_s"] / scale, INK, "dash"))
        notes.append(_left_note(entry["bytes_per_s"] / scale, words(sentences.ceiling(entry)), INK))
    if far:
        text = "<br>".join(f"↑ {words(sentences.ceiling(entry))} (off the scale)" for entry in far)
        notes.append({"xref": "paper", "yref": "paper", "x": 0.01, "y": 1, "xanchor": "left", "yanchor": "top",
                      "align": "left", "showarrow": False, "text": text, "font": {"color": MUTED, "size": 12}})  # fmt: skip
        top += 0.06 * len(far) * top
    return shapes, notes, top


def _latency(curve: list[Point], line: LoadLine | None) -> Figure:
    scale, title = rate_scale_title(max(point.median for point in curve))
    colour = line_colour(curve[0].op)
    x = [point.median / scale for point in curve]
    labels = _spread_labels(curve)
    traces: list[dict[str, Any]] = []
    for name, dash, symbol in (("p50", "solid", "circle"), ("p99", "dot", "diamond")):
        y = [point.latency[f"{name}_ns"] for point in curve]
        traces.append({
            "x": x, "y": y, "mode": "lines+markers+text", "name": name, "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "size": 8, "symbol": symbol}, "text": labels if name == "p99" else [""] * len(curve),
            "textposition": "top center", "textfont": {"color": MUTED, "size": 12}, "cliponaxis": False,
            "customdata": [[point.tasks, units.duration(value)] for point, value in zip(curve, y, strict=True)],
            "hovertemplate": "%{customdata[0]} tasks<br>%{x:.4g}<br>" + name + " %{customdata[1]}<extra></extra>",
        })  # fmt: skip
    values = [value for trace in traces for value in trace["y"]]
    shapes, notes = [], []
    if line is not None and line.p99_ns:
        values.append(line.p99_ns)
        shapes.append(_level(line.p99_ns, ALERT, "dash"))
        note = _left_note(log10(line.p99_ns), f"objective: p99 ≤ {units.duration(line.p99_ns)}", ALERT)
        notes.append(note)
    largest = max(x) or 1.0
    return Figure(
        title="Latency against throughput",
        caption="The same points: what each step up in throughput costs one operation. Numbers are tasks.",
        alt="Median and 99th percentile latency against throughput, joined in order of the number of tasks.",
        traces=traces,
        layout=layout({"title": title, "range": [0, 1.12 * largest]}, latency_axis(min(values), max(values)), height=420,
                      shapes=shapes, annotations=notes),
        table=_table(curve),
    )  # fmt: skip


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


def _table(curve: list[Point]) -> Table:
    columns = ("tasks", "repetitions", "median", "interval", "each repetition", "p50", "p99", "max", "operations/s")
    rows = tuple(
        (
            str(point.tasks), str(point.repetitions), units.rate(point.median),
            f"{units.rate(point.low)} – {units.rate(point.high)}" if point.confidence else units.NOT_MEASURED,
            ", ".join(units.rate(value) for value in point.values),
            *(units.duration(point.latency[key]) for key in ("p50_ns", "p99_ns", "max_ns")),
            units.count(point.operations_per_s),
        )
        for point in curve
    )  # fmt: skip
    return Table(columns, rows)
