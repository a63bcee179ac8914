"""Transfer size against tasks as a map: which of the two a rate asks for is seen at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

from tonnage import units
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.sizes import Sweep, line_of, size_of
from tonnage.report import sentences
from tonnage.report.figures.figure import KNEE, MUTED, Figure, Table, layout, log_ticks, speed_scale_title, tick_texts
from tonnage.report.figures.heat import COLOURS
from tonnage.report.sections.roofline import told

_WIDE = 10.0
"""Beyond this ratio of the fastest cell to the slowest colours are logarithmic: else most cells would look alike."""
_MOST_NAMED = 10
"""Columns whose cells say their rate: in narrower ones the numbers would touch."""

Cells = Mapping[tuple[int, int], Point]
"""(transfer size, tasks) → point."""
Lines = Mapping[int, LoadLine | None]
"""Transfer size → load line."""


def figure(sweep: Sweep, lines: Sequence[LoadLine]) -> Figure | None:
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
        alt=f"Map of the throughput of {sentences.subject(sweep.op, sweep.group)} by transfer size and tasks. {story}",
        traces=[_trace(cells, sizes, tasks)],
        layout=layout(
            {"title": "Tasks", "type": "category", "showgrid": False},
            {"title": "Transfer size", "type": "category", "showgrid": False},
            height=max(420, 150 + 28 * len(sizes)),
            shapes=frames,
        ),
        table=_table(cells, found),
    )


def _reached(lines: Lines, tasks: Sequence[int]) -> list[tuple[int, int]]:
    """(row, tasks) of each load line that is a cell."""
    rows = enumerate(line.tasks if line is not None and line.reached else None for line in lines.values())
    return [(row, number) for row, number in rows if number is not None and number in tasks]


def _trace(cells: Cells, sizes: Sequence[int], tasks: Sequence[int]) -> dict[str, Any]:
    slowest, fastest = min(point.median for point in cells.values()), max(point.median for point in cells.values())
    wide = fastest > _WIDE * slowest
    scale, title = speed_scale_title(fastest, next(iter(cells.values())).metric)
    rows = [[cells.get((size, number)) for number in tasks] for size in sizes]
    named = len(tasks) <= _MOST_NAMED

    def height(point: Point) -> float:
        return log10(point.median) if wide else point.median / scale

    return {
        "type": "heatmap",
        "x": [str(number) for number in tasks],
        "y": [units.size(size) for size in sizes],
        "z": [[None if point is None else height(point) for point in row] for row in rows],
        "text": [["" if point is None else _short(point) for point in row] for row in rows],
        "hovertext": [["" if point is None else told(point) for point in row] for row in rows],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hoverongaps": False,
        **({"texttemplate": "%{text}"} if named else {}),
        "colorscale": COLOURS,
        **({} if wide else {"zmin": 0}),
        "xgap": 4,
        "ygap": 4,
        "colorbar": _colour_bar(log10(slowest), log10(fastest), "Throughput" if wide else title, wide=wide),
    }


def _short(point: Point) -> str:
    """Two digits are what a cell has room for: the table has three."""
    divisor, unit = units.scale(point.median)
    return f"{units.significant(point.median / divisor, 2)} {unit.removesuffix('B/s')}".strip()


def _colour_bar(low: float, high: float, title: str, *, wide: bool) -> dict[str, Any]:
    """``low`` and ``high`` are powers of ten."""
    ticks = log_ticks(low, high)
    named = {"tickvals": [log10(tick) for tick in ticks], "ticktext": tick_texts(ticks, units.rate)}
    return {
        "title": {"text": title, "side": "right", "font": {"size": 12}},
        "thickness": 12,
        "outlinewidth": 0,
        **(named if wide else {}),
        "tickfont": {"color": MUTED},
    }


def _frame(row: int, column: int) -> dict[str, Any]:
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


def _table(cells: Cells, lines: Lines) -> Table:
    columns = ("transfer size", "tasks", "median", "interval", "repetitions", "load line of the size")
    rows = tuple(
        (
            units.size(size),
            str(tasks),
            units.speed(point.median, point.metric),
            sentences.bounds(point),
            str(point.repetitions),
            _said(lines[size]),
        )
        for (size, tasks), point in sorted(cells.items())
    )
    return Table(columns, rows)


def _said(line: LoadLine | None) -> str:
    if line is None:
        return units.NOT_MEASURED
    return f"{line.tasks}{sentences.interval(line)}" if line.reached else f"not reached within {line.max_tasks_tried}"
