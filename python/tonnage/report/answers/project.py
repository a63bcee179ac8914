"""What to expect of a run at a size it did not measure: the sentence, the table, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage import units
from tonnage.analysis.compare.normalise import Basis, Normalised, normalise
from tonnage.analysis.load_line import projection
from tonnage.analysis.load_line.projection import Projection, Refused
from tonnage.report import phrases
from tonnage.report.answer import Answer, Statement
from tonnage.report.figures import hover
from tonnage.report.figures.axes import speed_scale_title, tasks_axis
from tonnage.report.figures.colours import INK, KNEE, MUTED, band_colour, line_colour
from tonnage.report.figures.figure import (
    EDGE,
    Column,
    Exhibit,
    Figure,
    Table,
    Variant,
    edge_note,
    error_bars,
    layout,
    level,
    text_column,
)
from tonnage.report.figures.plotly import ErrorBars, Shape, Trace
from tonnage.units import BANDWIDTH

_NAMES = {"usl": "USL", "hinge": "hinge"}
_NOTES = (
    (
        "The interval is of the median throughput: noise of the repetitions, and how far laws part that explain the "
        "measured points alike. Beyond the last point they part further with each doubling."
    ),
    "What was never measured cannot be known: another bottleneck, or a decline that begins beyond the last points.",
    "USL and hinge are fitted to the medians alone; they are drawn to compare with.",
)


def answer(run: str, found: Sequence[Projection], refused: Sequence[Refused], bases: Sequence[Basis] = ()) -> Answer:
    """A sentence for each operation, also for those of which nothing can be said. ``bases``: what figures are also
    divided by; a link is that of each node."""
    statements = [_statement(one, bases) for one in found]
    statements += [
        Statement(phrases.subject(one.op, one.group), f"Nothing can be said: {one.why}.", (), False) for one in refused
    ]
    variants = tuple(Variant(phrases.subject(one.op, one.group), (_figure(one),)) for one in found)
    introduction = "What was measured, and what to expect between and beyond."
    exhibits = (Exhibit("projection", "Beyond what was measured", introduction, "Operation", variants),)
    facts = (("run", run),)
    tables = (("What to expect", _table(found)),)
    return Answer("Projection", facts, tuple(statements), exhibits if variants else (), tables, _NOTES)


def normalised(found: Projection, basis: Basis) -> Normalised:
    """The projection divided by ``basis``; RequestError for what cannot be. A link is that of each node."""
    if basis.bytes_per_s is not None:
        basis = replace(basis, bytes_per_s=basis.bytes_per_s * (found.nodes or 1))
    metric = "B/s" if found.metric == BANDWIDTH else "1/s"
    return normalise(found.median, metric, basis, found.low, found.high)


def _statement(found: Projection, bases: Sequence[Basis]) -> Statement:
    at = f"{phrases.tasks(found.tasks)}{_on(found.nodes)}"
    expected = f"{_speed(found, found.median)}, {units.share(found.confidence)} interval {_interval(found)}"
    why = [_far(found)]
    if found.ceiling and found.ceiling_per_s is not None:
        why.append(f"The interval ends at a ceiling: {found.ceiling}, {units.rate(found.ceiling_per_s)}.")
    why += [_divided(normalised(found, basis)) for basis in bases]
    undone = phrases.undone(found.undone_by)
    name, sure = phrases.subject(found.op, found.group), found.beyond <= 1 and not undone
    return Statement(name, f"Expect {expected} at {at}.", tuple(why), sure, undone)


def _on(nodes: int | None) -> str:
    if nodes is None:
        return " on as many nodes as were measured, which its records do not tell"
    return " on one node" if nodes == 1 else f" on {phrases.number(nodes)} nodes"


def _far(found: Projection) -> str:
    """How far from what was measured."""
    points = f"{len(found.points)} points up to {phrases.tasks(found.most_tasks)}"
    what = "numbers of nodes" if found.along == "nodes" else "numbers of tasks"
    if found.beyond <= 1:
        return f"Within what was measured: {points}, at several {what}."
    return f"An extrapolation: {units.significant(found.beyond, 2)} times the most of {points}, at several {what}."


def _divided(one: Normalised) -> str:
    if one.basis.bytes_per_s is not None:
        shares = f"{units.share(one.value)} of the nodes' links ({units.interval(one.low, one.high, units.share)})"
        return f"That is {shares}."
    metric, per = one.unit.split(" ", 1)
    text = units.rate if metric == "B/s" else units.operations
    return f"That is {text(one.value)} {per} ({units.interval(one.low, one.high, text)}), of {one.basis}."


def _speed(found: Projection, value: float) -> str:
    return units.speed(value, found.metric)


def _interval(found: Projection) -> str:
    return units.interval(found.low, found.high, lambda value: _speed(found, value))


def _table(found: Sequence[Projection]) -> Table:
    columns: tuple[str | Column, ...] = (
        text_column("what"),
        "nodes",
        "tasks",
        "expected",
        "interval",
        "beyond",
        *_NAMES.values(),
    )
    rows = []
    for one in found:
        fits = (_speed(one, projection.at(model, one.tasks)) for model in one.models)
        beyond = "" if one.beyond <= 1 else f"{units.significant(one.beyond, 2)} times"
        head = (
            phrases.subject(one.op, one.group),
            str(one.nodes or units.NOT_MEASURED),
            str(one.tasks),
            _speed(one, one.median),
        )
        rows.append((*head, _interval(one), beyond, *fits))
    return Table.of(columns, tuple(rows))


def _figure(found: Projection) -> Figure:
    ceiling = found.ceiling_per_s if found.ceiling else None
    highest = max(found.high, *(point.high for point in found.points), *(one.median for one in found.band))
    scale, title = speed_scale_title(highest, found.metric)
    colour = line_colour(found.op)
    tried = [*(point.tasks for point in found.points), found.tasks]
    edge: Shape = {"type": "line", "x0": found.most_tasks, "x1": found.most_tasks, "yref": "paper", "y0": 0, "y1": 1}
    shapes: list[Shape] = [edge | {"line": {"color": MUTED, "width": 1.2, "dash": "dot"}}] if found.beyond > 1 else []
    notes = []
    if ceiling is not None:
        shapes.append(level(ceiling / scale, INK, "dash"))
        notes.append(edge_note(ceiling / scale, str(found.ceiling), units.rate(ceiling), INK))
    story = f"Expected at {phrases.tasks(found.tasks)}: {_speed(found, found.median)} ({_interval(found)})."
    beyond = " Right of the dotted line nothing was measured." if found.beyond > 1 else ""
    return Figure(
        title=f"{phrases.subject(found.op, found.group)}: expected throughput",
        caption=f"{story}{beyond}",
        alt=f"Measured throughput against tasks, continued with a band. {story}",
        traces=[
            *_band(found, scale),
            *_fits(found, scale),
            _measured_points(found, colour, scale),
            _expected(found, scale),
        ],
        layout=layout(
            tasks_axis(tried),
            {"title": title, "range": [0, 1.12 * max(highest, ceiling or 0) / scale]},
            height=440,
            margin_right=EDGE if notes else 24,
            shapes=shapes,
            annotations=notes,
            showlegend=True,
        ),
        table=_data(found),
    )


def _band(found: Projection, scale: float) -> list[Trace]:
    x = [one.tasks for one in found.band]
    edge: Trace = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        {**edge, "y": [one.low / scale for one in found.band], "showlegend": False},
        {
            **edge,
            "y": [one.high / scale for one in found.band],
            "fill": "tonexty",
            "fillcolor": band_colour(found.op),
            "name": f"{units.share(found.confidence)} interval",
        },
        {
            "x": x,
            "y": [one.median / scale for one in found.band],
            "mode": "lines",
            "line": {"color": line_colour(found.op), "width": 2},
            "name": "expected",
            "hovertemplate": "%{x} tasks<br>expected %{y:.4g}<extra></extra>",
        },
    ]


def _fits(found: Projection, scale: float) -> list[Trace]:
    dashes = ("dash", "dot")
    return [
        {
            "x": [tasks for tasks, _ in model.curve if tasks >= found.points[0].tasks],
            "y": [rate / scale for tasks, rate in model.curve if tasks >= found.points[0].tasks],
            "mode": "lines",
            "line": {"color": MUTED, "width": 1.4, "dash": dash},
            "name": _NAMES[model.name],
            "hoverinfo": "skip",
        }
        for model, dash in zip(found.models, dashes, strict=True)
    ]


def _measured_points(found: Projection, colour: str, scale: float) -> Trace:
    return {
        "x": [point.tasks for point in found.points for _ in point.values],
        "y": [each / scale for point in found.points for each in point.values],
        "text": [
            hover.repetition(point, each, record)
            for point in found.points
            for each, record in zip(point.values, point.records, strict=True)
        ],
        "mode": "markers",
        "marker": {"color": colour, "size": 7, "opacity": 0.65},
        "name": "repetition",
        "hovertemplate": "%{text}<extra></extra>",
    }


def _expected(found: Projection, scale: float) -> Trace:
    error: ErrorBars = error_bars([(found.high - found.median) / scale], [(found.median - found.low) / scale], KNEE)
    return {
        "x": [found.tasks],
        "y": [found.median / scale],
        "mode": "markers",
        "marker": {"color": KNEE, "size": 12, "symbol": "diamond"},
        "error_y": error,
        "name": "asked for",
        "hovertemplate": "%{x} tasks<br>expected %{y:.4g}<extra></extra>",
    }


def _data(found: Projection) -> Table:
    rows = [
        (
            str(one.tasks),
            _speed(found, one.median),
            units.interval(one.low, one.high, lambda value: _speed(found, value)),
        )
        for one in found.band
    ]
    return Table.of(("tasks", "expected", "interval"), tuple(rows))
