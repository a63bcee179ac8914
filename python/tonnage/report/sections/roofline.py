"""The I/O roofline: throughput against transfer size, below what the run measured that bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.sizes import Roof, Sweep, ridge_bytes, roofs_of, size_of
from tonnage.report import sentences
from tonnage.report.figures import hover
from tonnage.report.figures.figure import INK, KNEE, Figure, Table, layout, line_colour, rate_axis, sizes_axis, words

_ABOVE = 20.0
"""The axis ends at most this many times above the fastest point: words name a roof that is higher everywhere."""
_ROOM = 1.6
"""Between the outermost marks and the ends of the axis."""
_DASHES = ("dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("triangle-down-open", "square-open", "diamond-open", "star-open")


def figure(sweep: Sweep, ceilings: Sequence[Mapping[str, Any]]) -> Figure:
    """Every point, the best of each size with its interval, and the roofs."""
    roofs = roofs_of(sweep, ceilings)
    own = [roof for roof in roofs if roof.point is not None]
    fastest = max(point.median for point in sweep.points)
    others = [roof for roof in roofs if roof.point is None]
    near = [roof for roof in others if roof.at(0) < _ABOVE * fastest and _within(roof, sweep.sizes)]
    far = [roof for roof in others if roof not in near]
    lowest = min(point.median for point in sweep.points)
    top = _ROOM * max([fastest, *(roof.at(0) for roof in near)])
    traces = [_everything(sweep), _own(own, sweep.sizes), *_others(near, sweep.sizes), _best(sweep)]
    story = _story(own, sweep.sizes)
    return Figure(
        title="I/O roofline",
        caption=" ".join([story, *_about(near, far, cut=any(point.high > top for point in sweep.best))]),
        alt=f"Throughput of {sentences.subject(sweep.op, sweep.group)} by transfer size, below its roofs. {story}",
        traces=traces,
        layout=layout(
            sizes_axis(sweep.sizes),
            rate_axis(lowest / _ROOM, top),
            height=420,
            showlegend=True,
        ),
        table=_table(sweep, own),
    )


def _everything(sweep: Sweep) -> dict[str, Any]:
    """A mark for each number of tasks."""
    points = sweep.points
    return {
        "x": [point.transfer_size for point in points],
        "y": [point.median for point in points],
        "mode": "markers",
        "name": "each number of tasks",
        "marker": {"color": line_colour(sweep.op), "size": 6, "opacity": 0.4, "line": {"width": 0}},
        "text": [told(point) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _best(sweep: Sweep) -> dict[str, Any]:
    colour, best = line_colour(sweep.op), sweep.best
    return {
        "x": [point.transfer_size for point in best],
        "y": [point.median for point in best],
        "mode": "lines+markers",
        "name": "best of each size, with its interval",
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 8},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.median for point in best],
            # A logarithmic axis has no place for an interval that reaches zero.
            "arrayminus": [min(point.median - point.low, 0.99 * point.median) for point in best],
            "color": colour,
            "thickness": 1.5,
            "width": 5,
        },
        "text": [told(point) for point in best],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _own(roofs: Sequence[Roof], sizes: Sequence[int]) -> dict[str, Any]:
    """What the sweep itself reached: one line, with a bend where the roofs meet."""
    ends = [float(sizes[0]), float(sizes[-1])]
    ridge = ridge_bytes(roofs)
    bends = sorted({*ends, *([ridge] if ends[0] < ridge < ends[1] else [])})
    return {
        "x": bends,
        "y": [min(roof.at(size) for roof in roofs) for size in bends],
        "mode": "lines",
        "name": ", ".join(_valued(roof) for roof in roofs),
        # Wide enough to be seen below the points that touch it.
        "line": {"color": KNEE, "width": 4.5},
        "hoverinfo": "skip",
    }


def _within(roof: Roof, sizes: Sequence[int]) -> bool:
    return roof.size_bytes is None or sizes[0] <= roof.size_bytes <= sizes[-1]


def _others(roofs: Sequence[Roof], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Ceilings of hosts and links: a mark at each size where they were measured, or a line."""
    found = []
    for position, (name, same) in enumerate(_named(roofs).items()):
        marks = [(roof.size_bytes, roof) for roof in same if roof.size_bytes is not None]
        ends = [(size, roof) for roof in same if roof.size_bytes is None for size in (sizes[0], sizes[-1])]
        across = marks or ends
        found.append(
            {
                "x": [size for size, _ in across],
                "y": [roof.bytes_per_s for _, roof in across],
                "mode": "markers" if len(marks) == 1 else "lines+markers" if marks else "lines",
                "name": words(_valued(same[0]) if len(same) == 1 else name),
                "line": {"color": INK, "width": 1.2, "dash": _DASHES[position % len(_DASHES)]},
                "marker": {"color": INK, "size": 11, "symbol": _SYMBOLS[position % len(_SYMBOLS)]},
                "text": [f"{words(_valued(roof))}<br>{words(roof.source)}" for _, roof in across],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    return found


def _named(roofs: Sequence[Roof]) -> dict[str, list[Roof]]:
    """By name, each in the order of sizes."""
    found: dict[str, list[Roof]] = {}
    for roof in sorted(roofs, key=lambda roof: roof.size_bytes or 0):
        found.setdefault(roof.name, []).append(roof)
    return found


def _valued(roof: Roof) -> str:
    value = units.rate(roof.bytes_per_s) if roof.bytes_per_s else units.operations(roof.operations_per_s)
    return f"{roof.name} {value}{f' at {units.size(roof.size_bytes)}' if roof.size_bytes is not None else ''}"


def told(point: Point) -> str:
    """A point in the words of a mark: where, how much, how sure, and which records say so."""
    return hover.of_point(point, f"{units.size(size_of(point))}, {sentences.tasks(point.tasks)}")


def _story(own: Sequence[Roof], sizes: Sequence[int]) -> str:
    """What holds which sizes."""
    flat = next(roof for roof in own if roof.bytes_per_s)
    slope = next(roof for roof in own if roof.operations_per_s)
    found = f"Most bytes: {_where(flat)}. Most operations: {_where(slope)}."
    ridge = ridge_bytes(own)
    if ridge <= sizes[0]:
        return f"{found} Bytes are the nearer roof at every size."
    if ridge >= sizes[-1]:
        return f"{found} Operations are the nearer roof at every size."
    return f"{found} They meet at {units.volume(round(ridge))}: operations bound smaller transfers, bytes larger ones."


def _where(roof: Roof) -> str:
    point = roof.point
    assert point is not None
    value = units.rate(roof.bytes_per_s) if roof.bytes_per_s else units.operations(roof.operations_per_s)
    return f"{value} ({units.size(size_of(point))}, {sentences.tasks(point.tasks)})"


def _about(near: Sequence[Roof], far: Sequence[Roof], *, cut: bool) -> list[str]:
    """Ceilings that stand for sizes, and what is off the scale."""
    off = ", ".join(
        _valued(same[0]) if len(same) == 1 else f"{name} at {len(same)} sizes" for name, same in _named(far).items()
    )
    return [
        *(["A ceiling is a mark at each size it was measured with."] if any(roof.size_bytes for roof in near) else []),
        *([f"Off the scale: {off}."] if off else []),
        *(["An interval of few repetitions reaches beyond the axis; the table has it."] if cut else []),
    ]


def _table(sweep: Sweep, own: Sequence[Roof]) -> Table:
    columns = (
        "transfer size",
        "tasks",
        "best median",
        "interval",
        "repetitions",
        "operations/s",
        "roof",
        "of the roof",
    )
    rows = []
    for point in sweep.best:
        size = size_of(point)
        roof = min(own, key=lambda roof: roof.at(size))
        rows.append(
            (
                units.size(size),
                str(point.tasks),
                units.rate(point.median),
                sentences.bounds(point),
                str(point.repetitions),
                units.operations(point.median / size),
                f"{units.rate(roof.at(size))}, {roof.name}",
                units.share(point.median / roof.at(size)),
            )
        )
    return Table(columns, tuple(rows))
