"""Sweeps over transfer sizes: the I/O roofline says what bounds each size, a map which sizes go with how many tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

from tonnage import units
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.transfer_sizes import Roof, Sweep, line_of, ridge_bytes, roofs_of, size_of, sweeps_of
from tonnage.records.line_types import CeilingEntry
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import log_ticks, rate_axis, sizes_axis, speed_scale_title, tick_texts
from tonnage.report.figures.colours import INK, KNEE, line_colour
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    colour_bar,
    error_bars,
    escaped,
    layout,
    legend_text,
)
from tonnage.report.figures.heat import COLOURS
from tonnage.report.figures.plotly import ColourBar, Shape, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section

_INTRODUCTION = (
    "A rate of operations bounds small transfers, a rate of bytes large ones. The solid roofs are the best that this "
    "run itself reached: the storage may do more."
)


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """One section with a choice for each operation and setting; none where a run has one transfer size."""
    variants = []
    for sweep in sweeps_of(analysis.points):
        drawn = (
            roofline(sweep, analysis.ceilings),
            None if analysis.surfaces else size_map(sweep, analysis.load_lines),
        )
        figures = tuple(figure for figure in drawn if figure is not None)
        variants.append(Variant(phrases.subject(sweep.op, sweep.group), figures))
    if not variants:
        return []
    return [Exhibit("transfer-sizes", "Transfer sizes", _INTRODUCTION, "Operation", tuple(variants))]


_ABOVE = 20.0
"""The axis ends at most this many times above the fastest point: words name a roof that is higher everywhere."""
_ROOM = 1.6
"""Between the outermost marks and the ends of the axis."""
_DASHES = ("dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("triangle-down-open", "square-open", "diamond-open", "star-open")


def roofline(sweep: Sweep, ceilings: Sequence[CeilingEntry]) -> Figure:
    """Draws every point, the best of each size with its interval, and the roofs."""
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
        alt=f"Throughput of {phrases.subject(sweep.op, sweep.group)} by transfer size, below its roofs. {story}",
        traces=traces,
        layout=layout(
            sizes_axis(sweep.sizes),
            rate_axis(lowest / _ROOM, top),
            height=420,
            showlegend=True,
        ),
        table=_roofline_table(sweep, own),
    )


def _everything(sweep: Sweep) -> Trace:
    """A mark for each number of tasks."""
    points = sweep.points
    return {
        "x": [point.transfer_size for point in points],
        "y": [point.median for point in points],
        "mode": "markers",
        "name": "each number of tasks",
        "marker": {"color": line_colour(sweep.op), "size": 6, "opacity": 0.4, "line": {"width": 0}},
        "text": [hover_text(point) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _best(sweep: Sweep) -> Trace:
    colour, best = line_colour(sweep.op), sweep.best
    return {
        "x": [point.transfer_size for point in best],
        "y": [point.median for point in best],
        "mode": "lines+markers",
        "name": "best of each size, with its interval",
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 8},
        "error_y": error_bars(
            [point.high - point.median for point in best],
            # A logarithmic axis has no place for an interval that reaches zero.
            [min(point.median - point.low, 0.99 * point.median) for point in best],
            colour,
            1.5,
            5,
        ),
        "text": [hover_text(point) for point in best],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _own(roofs: Sequence[Roof], sizes: Sequence[int]) -> Trace:
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


def _others(roofs: Sequence[Roof], sizes: Sequence[int]) -> list[Trace]:
    """Ceilings of hosts and links: a mark at each size where they were measured, or a line."""
    found: list[Trace] = []
    for position, (name, same) in enumerate(_named(roofs).items()):
        marks = [(roof.size_bytes, roof) for roof in same if roof.size_bytes is not None]
        ends = [(size, roof) for roof in same if roof.size_bytes is None for size in (sizes[0], sizes[-1])]
        across = marks or ends
        found.append(
            {
                "x": [size for size, _ in across],
                "y": [roof.bytes_per_s for _, roof in across],
                "mode": "markers" if len(marks) == 1 else "lines+markers" if marks else "lines",
                "name": legend_text(_valued(same[0]) if len(same) == 1 else name),
                "line": {"color": INK, "width": 1.2, "dash": _DASHES[position % len(_DASHES)]},
                "marker": {"color": INK, "size": 11, "symbol": _SYMBOLS[position % len(_SYMBOLS)]},
                "text": [f"{escaped(_valued(roof))}<br>{escaped(roof.source)}" for _, roof in across],
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


def hover_text(point: Point) -> str:
    """The hover text of a point: its size and tasks, its rate with interval, and its records."""
    return hover.of_point(point, f"{units.size(size_of(point))}, {phrases.tasks(point.tasks)}")


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
    return f"{value} ({units.size(size_of(point))}, {phrases.tasks(point.tasks)})"


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


def _roofline_table(sweep: Sweep, own: Sequence[Roof]) -> Table:
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
                phrases.bounds(point),
                str(point.repetitions),
                units.operations(point.median / size),
                f"{units.rate(roof.at(size))}, {roof.name}",
                units.share(point.median / roof.at(size)),
            )
        )
    return Table.of(columns, tuple(rows))


_WIDE = 10.0
"""Beyond this ratio of the fastest cell to the slowest colours are logarithmic: else most cells would look alike."""
_MOST_NAMED = 10
"""Columns whose cells say their rate: in narrower ones the numbers would touch."""

Cells = Mapping[tuple[int, int], Point]
"""(transfer size, tasks) → point."""
Lines = Mapping[int, LoadLine | None]
"""Transfer size → load line."""


def size_map(sweep: Sweep, lines: Sequence[LoadLine]) -> Figure | None:
    """None where there is one number of tasks."""
    sizes, tasks = sweep.sizes, sweep.tasks
    if len(tasks) < 2:
        return None
    cells = {(size_of(point), point.tasks): point for point in sweep.points}
    found = {size: line_of(size, sweep, lines) for size in sizes}
    frames = [_frame(row, tasks.index(reached)) for row, reached in _reached(found, tasks)]
    story = f"Median of each cell, M for MB/s and so on{'; a frame is the load line of its size' if frames else ''}."
    empty = len(sizes) * len(tasks) - len(cells)
    if empty:
        story += f" {empty} {'cell was' if empty == 1 else 'cells were'} not measured."
    return Figure(
        title="Transfer size and tasks",
        caption=story,
        alt=f"Map of the throughput of {phrases.subject(sweep.op, sweep.group)} by transfer size and tasks. {story}",
        traces=[_trace(cells, sizes, tasks)],
        layout=layout(
            {"title": "Tasks", "type": "category", "showgrid": False},
            {"title": "Transfer size", "type": "category", "showgrid": False},
            height=max(420, 150 + 28 * len(sizes)),
            shapes=frames,
        ),
        table=_map_table(cells, found),
    )


def _reached(lines: Lines, tasks: Sequence[int]) -> list[tuple[int, int]]:
    """(row, tasks) of each load line that is a cell."""
    rows = enumerate(line.tasks if line is not None and line.reached else None for line in lines.values())
    return [(row, number) for row, number in rows if number is not None and number in tasks]


def _trace(cells: Cells, sizes: Sequence[int], tasks: Sequence[int]) -> Trace:
    slowest, fastest = min(point.median for point in cells.values()), max(point.median for point in cells.values())
    wide = fastest > _WIDE * slowest
    scale, title = speed_scale_title(fastest, next(iter(cells.values())).metric)
    rows = [[cells.get((size, number)) for number in tasks] for size in sizes]
    named = len(tasks) <= _MOST_NAMED

    def height(point: Point) -> float:
        return log10(point.median) if wide else point.median / scale

    trace: Trace = {
        "type": "heatmap",
        "x": [str(number) for number in tasks],
        "y": [units.size(size) for size in sizes],
        "z": [[None if point is None else height(point) for point in row] for row in rows],
        "text": [["" if point is None else _two_digits(point) for point in row] for row in rows],
        "hovertext": [["" if point is None else hover_text(point) for point in row] for row in rows],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hoverongaps": False,
    }
    if named:
        trace["texttemplate"] = "%{text}"
    trace["colorscale"] = COLOURS
    if not wide:
        trace["zmin"] = 0
    bar = _colour_bar(log10(slowest), log10(fastest), "Throughput" if wide else title, wide=wide)
    return {**trace, "xgap": 4, "ygap": 4, "colorbar": bar}


def _two_digits(point: Point) -> str:
    """Two digits are what a cell has room for: the table has three."""
    divisor, unit = units.scale(point.median)
    return f"{units.significant(point.median / divisor, 2)} {unit.removesuffix('B/s')}".strip()


def _colour_bar(low: float, high: float, title: str, *, wide: bool) -> ColourBar:
    """``low`` and ``high`` are powers of ten."""
    ticks = log_ticks(low, high) if wide else []
    return colour_bar(title, [log10(tick) for tick in ticks], tick_texts(ticks, units.rate))


def _frame(row: int, column: int) -> Shape:
    """Around a cell, in the gaps between it and its neighbours."""
    return {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": KNEE, "width": 3.5},
        "layer": "above",
    }


def _map_table(cells: Cells, lines: Lines) -> Table:
    columns = ("transfer size", "tasks", "median", "interval", "repetitions", "load line of the size")
    rows = tuple(
        (
            units.size(size),
            str(tasks),
            units.speed(point.median, point.metric),
            phrases.bounds(point),
            str(point.repetitions),
            _line_text(lines[size]),
        )
        for (size, tasks), point in sorted(cells.items())
    )
    return Table.of(columns, rows)


def _line_text(line: LoadLine | None) -> str:
    if line is None:
        return units.NOT_MEASURED
    return f"{line.tasks}{phrases.interval(line)}" if line.reached else f"not reached within {line.max_tasks_tried}"


SECTION = Section("sizes", exhibits)
