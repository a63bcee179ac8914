"""All settings of an operation in one picture, the fastest above: a dot with its interval for each."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import rate_axis, reached, speed_scale_title
from tonnage.report.figures.colours import INK, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, error_bars, escaped, layout, text_column
from tonnage.report.figures.plotly import Axis, Note, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.point_table import drawn
from tonnage.report.sections.section_type import Section

_MOST_ROWS = 40
"""Settings that are drawn; of more, the fastest and the slowest half of so many."""
_MOST_MARKS = 400
"""Repetitions that are drawn beside the medians, of all rows together."""
_WIDE = 12.0
"""Beyond this ratio of the fastest to the slowest the axis is logarithmic: else most dots would lie at its foot."""
_LINE = 42
"""Letters of a name on one line: as many as a small screen has room for."""
_HALF = 0.5
"""Where the slowest has more of the fastest than this, the axis begins near it: dots need no zero."""
_EDGE = 92
"""Right margin that holds the medians."""
_OTHERS = ("command", "network")
"""Kinds whose settings are compared in a section of their own."""


def compared(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Of each operation its settings, the fastest first, each with the number of tasks that did most."""
    found: dict[str, dict[str, Point]] = {}
    for point in points:
        if point.kind in _OTHERS or not point.median > 0:
            continue
        most = found.setdefault(point.op, {})
        if point.group not in most or point.median > most[point.group].median:
            most[point.group] = point
    return {
        op: sorted(most.values(), key=lambda point: -point.median)
        for op, most in found.items()
        if len(most) > 1 and len({point.metric for point in most.values()}) == 1
    }


def stands_for(points: Sequence[Point]) -> frozenset[str]:
    """Operations of which the picture holds every point: each of their settings has one number of tasks."""
    every = [(point.op, point.group) for point in points]
    return frozenset(op for op in compared(points) if all(every.count(one) == 1 for one in every if one[0] == op))


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """The section, or none where no operation was measured in several settings."""
    found = compared(analysis.points)
    if not found or analysis.surfaces:
        return []  # a surface has a map of its settings
    swept = {point.op for point in analysis.points} - stands_for(analysis.points)
    introduction = "A dot is the median of a setting, its whiskers are the confidence interval."
    if any(not point.confidence for rows in found.values() for point in rows):
        introduction += " One without whiskers had too few repetitions to tell an interval."
    if swept & set(found):
        introduction += " Of each setting the number of tasks that did most is shown."
    variants = tuple(Variant(op, (_figure(op, rows, with_tasks=op in swept),)) for op, rows in found.items())
    return [Exhibit("settings", "All settings", introduction, "Operation", variants)]


def _figure(op: str, rows: Sequence[Point], *, with_tasks: bool) -> Figure:
    shown = list(rows)
    if len(rows) > _MOST_ROWS:
        shown = [*rows[: _MOST_ROWS // 2], *rows[-_MOST_ROWS // 2 :]]
    names = [_name(point, with_tasks=with_tasks) for point in shown]
    axis, scale = _axis(shown)
    fewer = "" if shown == list(rows) else f" The fastest and the slowest {_MOST_ROWS // 2} of {len(rows)} are drawn."
    caption, places = _caption(rows, with_tasks=with_tasks), list(range(len(shown)))
    lines = max(name.count("<br>") + 1 for name in names)
    return Figure(
        title=f"{op}: settings, the fastest above",
        caption=f"{caption}{fewer}",
        alt=f"A dot with its interval for each of {len(shown)} settings of {op}, the fastest above. {caption}",
        traces=[_repetitions(shown, scale), _medians(op, shown, scale)],
        layout=layout(
            axis,
            {
                "title": "",
                "range": [len(shown) - 0.5, -0.5 - 0.35 * lines],
                "tickvals": places,
                "ticktext": [""] * len(shown),
            },
            height=130 + (26 + 15 * lines) * len(shown),
            margin={"l": 16, "r": _EDGE, "t": 12, "b": 56},
            annotations=[note for at, point in enumerate(shown) for note in _notes(at, names[at], point)],
        ),
        table=_table(rows),
    )


def _caption(rows: Sequence[Point], *, with_tasks: bool) -> str:
    """The fastest setting, and how many intervals reach its own."""
    first, last = rows[0], rows[-1]
    best = f"Most: {_plain(first, with_tasks=with_tasks)} with {units.speed(first.median, first.metric)}"
    least = f"least: {_plain(last, with_tasks=with_tasks)} with {units.speed(last.median, last.metric)}"
    near = sum(point.confidence > 0 and point.high >= first.low for point in rows[1:]) if first.confidence else 0
    overlap = (
        f" The interval of {phrases.number(near)} other{'s' * (near != 1)} reaches that of the first." if near else ""
    )
    return f"{best}; {least}.{overlap}"


def _plain(point: Point, *, with_tasks: bool) -> str:
    return ", ".join(filter(None, (point.group, phrases.tasks(point.tasks) if with_tasks else ""))) or point.op


def _name(point: Point, *, with_tasks: bool) -> str:
    """The setting in lines that leave room for the picture on a small screen; as long as they are, they differ."""
    lines = [""]
    for part in _plain(point, with_tasks=with_tasks).split(", "):
        if lines[-1] and len(lines[-1]) + len(part) > _LINE:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += f"{', ' if lines[-1] else ''}{part}"
    return "<br>".join(map(escaped, lines))


def _axis(shown: Sequence[Point]) -> tuple[Axis, float]:
    """The axis of rates, and what they are divided by on it."""
    lowest = min(min(point.values) for point in shown)
    highest = max(reached(point.high, max(point.values)) for point in shown)
    metric = shown[0].metric
    if lowest > 0 and max(point.median for point in shown) > _WIDE * min(point.median for point in shown):
        return rate_axis(0.8 * lowest, 1.2 * highest, metric), 1.0
    scale, title = speed_scale_title(highest, metric, phrases.done(shown[0].kind))
    lowest = min(lowest, *(point.low for point in shown))
    begin = lowest - 0.1 * (highest - lowest) if lowest > _HALF * highest else 0.0
    return {"title": title, "range": [begin / scale, (highest + 0.05 * (highest - begin)) / scale]}, scale


def _medians(op: str, shown: Sequence[Point], scale: float) -> Trace:
    colour = line_colour(op)
    return {
        "x": [point.median / scale for point in shown],
        "y": list(range(len(shown))),
        "mode": "markers",
        "marker": {"color": colour, "size": 10},
        "error_x": error_bars(
            [(point.high - point.median) / scale for point in shown],
            # A logarithmic axis has no place for an interval that reaches zero.
            [min(point.median - point.low, 0.99 * point.median) / scale for point in shown],
            INK,
            1.5,
            5,
        ),
        "text": [f"{escaped(phrases.subject(point.op, point.group))}<br>{hover.of_point(point)}" for point in shown],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _repetitions(shown: Sequence[Point], scale: float) -> Trace:
    """Drawn behind the medians, as many as are visible."""
    most = max(2, _MOST_MARKS // len(shown))
    marks = [
        (at, point, value, record)
        for at, point in enumerate(shown)
        for value, record in _some(drawn(point), most)
        if value > 0
    ]
    return {
        "x": [value / scale for _, _, value, _ in marks],
        "y": [at for at, *_ in marks],
        "mode": "markers",
        "marker": {"color": line_colour(shown[0].op), "size": 6, "opacity": 0.35, "line": {"width": 0}},
        "text": [hover.repetition(point, value, record) for _, point, value, record in marks],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _some(pairs: list[tuple[float, str]], most: int) -> list[tuple[float, str]]:
    """At even steps from the slowest to the fastest."""
    if len(pairs) <= most:
        return pairs
    ordered = sorted(pairs)
    return [ordered[step * (len(ordered) - 1) // (most - 1)] for step in range(most)]


def _notes(at: int, name: str, point: Point) -> list[Note]:
    """The name above its row, where it leaves the whole width to the picture; the median beside it."""
    own: Note = {"xref": "paper", "y": at, "showarrow": False, "align": "left", "xanchor": "left"}
    return [
        {
            **own,
            "x": 0,
            "yanchor": "bottom",
            "yshift": 6,
            "xshift": 4,
            "text": name,
            "font": {"color": INK, "size": 12},
        },
        {
            **own,
            "x": 1,
            "xshift": 6,
            "text": units.speed(point.median, point.metric),
            "font": {"color": line_colour(point.op), "size": 12},
        },
    ]


def _table(rows: Sequence[Point]) -> Table:
    columns = (
        text_column("setting"),
        "tasks",
        "median",
        "interval",
        "repetitions",
        "of the first",
        "p50",
        "p99",
        "max",
    )
    return Table.of(
        columns,
        tuple(
            (
                point.group or point.op,
                str(point.tasks),
                units.speed(point.median, point.metric),
                phrases.bounds(point),
                str(point.repetitions),
                units.share(point.median / rows[0].median),
                *phrases.waits(point),
            )
            for point in rows
        ),
    )


SECTION = Section("settings", exhibits)
