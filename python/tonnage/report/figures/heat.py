"""Latency over time as a heat map: what a percentile hides, such as two bands or a slow minute, is seen here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import log10
from typing import TypeVar

from tonnage import units
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis
from tonnage.report.figures.figure import Column, Figure, Table, colour_bar, columns_of, layout, text_column
from tonnage.report.figures.plotly import Axis, ColourBar, Trace
from tonnage.report.page_data import Columns

_MOST_COLUMNS = 200
COLOURS = [[0.0, "@#dbe7f3|#16273a"], [0.35, "@#7fb0d8|#2b5f92"], [0.7, "@#2b78b5|#5aa7dc"], [1.0, "@#08306b|#eaf4fd"]]

Cells = dict[tuple[int, int], int]
"""(column, row) → operations."""


def figure(record: str, columns: Columns, *, tabled: bool = True) -> Figure | None:
    """None where the trial left no heat record. ``tabled``: with a table, which takes as long as the rest."""
    names = ("start_ns", "end_ns", "low_ns", "high_ns", "count")
    rows = [row for row in zip(*(columns.get(name, []) for name in names), strict=True) if row[1] > row[0]]
    if not rows:
        return None
    times = _time_edges(rows)
    latencies = sorted({max(1, edge) for row in rows for edge in row[2:4]})
    cells = _cells(rows, times, latencies)
    most = max(cells.values())
    # Bands of the scale without any operation stay empty, as do intervals without any.
    across, up = range(len(times) - 1), range(len(latencies) - 1)
    z = [[log10(cells[x, y]) if (x, y) in cells else None for x in across] for y in up]
    counted = [[str(cells.get((x, y), 0)) for x in across] for y in up]
    trace: Trace = {
        "type": "heatmap",
        "x": [time / 1e9 for time in times],
        "y": latencies,
        "z": z,
        "text": counted,
        "colorscale": COLOURS,
        "zmin": 0,
        "zmax": max(1.0, log10(most)),
        "hoverongaps": False,
        "hovertemplate": "%{x:.3f} s, about %{y:,.0f} ns<br>%{text} operations" + hover.ending(record),
        "colorbar": _colour_bar(most),
    }
    x_axis: Axis = {"title": "Time since the first task started (s)", "range": [0, times[-1] / 1e9]}
    return Figure(
        title="Latency over time",
        caption=f"{record}: operations that ended in each interval, by latency; the scale is logarithmic.",
        alt=f"Heat map of the latency of {record} over time, {units.count(sum(cells.values()))} operations.",
        traces=[trace],
        layout=layout(x_axis, latency_axis(latencies[0], latencies[-1])),
        table=_table(cells if tabled else {}, times, latencies),
    )


def _time_edges(rows: list[tuple[int, ...]]) -> list[int]:
    """Starts and ends of intervals: where one ends and none starts, nothing ended, and the map stays empty."""
    edges = sorted({edge for row in rows for edge in row[:2]})
    step = -(-(len(edges) - 1) // _MOST_COLUMNS)
    return [*edges[:-1:step], edges[-1]]


def _cells(rows: list[tuple[int, ...]], times: list[int], latencies: list[int]) -> Cells:
    cells: Cells = {}
    for start, _, low, _, count in rows:
        place = (bisect_right(times, start) - 1, bisect_right(latencies, max(1, low)) - 1)
        cells[place] = cells.get(place, 0) + count
    return cells


def _colour_bar(most: int) -> ColourBar:
    powers = range(int(log10(most)) + 1)
    return colour_bar("operations", list(powers), [units.count(10**power) for power in powers])


def _table(cells: Cells, times: list[int], latencies: list[int]) -> Table:
    rows = tuple(
        (
            f"{times[x] / 1e9:.3f}",
            f"{times[x + 1] / 1e9:.3f}",
            units.duration(latencies[y]),
            units.duration(latencies[y + 1]),
            str(count),
        )
        for (x, y), count in sorted(cells.items())
    )
    return Table.of((Column("from", "s"), Column("to", "s"), "latency from", text_column("to"), "operations"), rows)


T = TypeVar("T")
MOST_COLUMNS = 96
_SCALE = [[0.0, "@#eef3f8|#12202e"], [0.5, "@#5b9bd0|#2f6da3"], [1.0, "@#08306b|#eaf4fd"]]
EXTREMES = columns_of("slowest interval", Column("from", "s"), "fastest interval", Column("from", "s"))


def map_of(
    edges: Sequence[int],
    names: list[str],
    rates: Sequence[Sequence[float | None]],
    scale: float,
    title: str,
    record: str,
) -> Trace:
    """A row for each of the names, which are safe as markup, and a column for each interval."""
    return {
        "type": "heatmap",
        "x": [edge / 1e9 for edge in edges],
        "y": names,
        "z": [[None if rate is None else float(f"{rate / scale:.3g}") for rate in line] for line in rates],
        "colorscale": _SCALE,
        "zmin": 0,
        # Without this the kit would spread its colours over what noise there is.
        "zmax": max((rate for line in rates for rate in line if rate), default=scale) / scale,
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x:.3f}} s<br>%{{z:.3g}} {title}" + hover.ending(record),
        "colorbar": colour_bar(title),
    }


def edges_of(rows: Sequence[tuple[int, ...]]) -> list[int]:
    """Returns the bounds of the columns, in nanoseconds."""
    edges = sorted({edge for row in rows for edge in row[:2]})
    step = -(-(len(edges) - 1) // MOST_COLUMNS)
    return [*edges[:-1:step], edges[-1]]


def bundled(parts: Sequence[T], speed: Callable[[T], float], most: int, apart: int) -> list[tuple[T, ...]]:
    """Returns at most so many rows: one a part, or one for each of the slowest ``apart`` and then neighbours
    together."""
    if len(parts) <= most:
        return [(part,) for part in parts]
    slowest = sorted(range(len(parts)), key=lambda number: speed(parts[number]))[:apart]
    others = [part for number, part in enumerate(parts) if number not in slowest]
    step = -(-len(others) // (most - apart))
    return [(parts[number],) for number in slowest] + [
        tuple(others[at : at + step]) for at in range(0, len(others), step)
    ]


def sums_of(
    rows: Sequence[tuple[int, ...]], edges: list[int], place: Mapping[int, int], height: int
) -> list[list[float]]:
    """What was moved in each row and column; ``place``: task → row.

    Processes are not sampled at the same instants: what an interval has is shared out, by time, over its columns.
    """
    sums = [[0.0] * (len(edges) - 1) for _ in range(height)]
    for since, end, task, counted in rows:
        if task not in place:
            continue
        line, column = sums[place[task]], min(bisect_right(edges, since) - 1, len(edges) - 2)
        start, moved = since, float(counted)
        while end > edges[column + 1]:
            part = moved * (edges[column + 1] - start) / (end - start)
            line[column] += part
            start, moved, column = edges[column + 1], moved - part, column + 1
        line[column] += moved
    return sums


def extremes(line: Sequence[float | None], edges: Sequence[int], metric: str) -> tuple[str, ...]:
    """Returns the cells under ``EXTREMES`` for the rates of one row of the picture."""
    known = [(rate, edge) for rate, edge in zip(line, edges, strict=False) if rate is not None]
    (slow, since), (fast, at) = min(known, default=(0.0, 0)), max(known, default=(0.0, 0))
    return units.speed(slow, metric), f"{since / 1e9:.3f}", units.speed(fast, metric), f"{at / 1e9:.3f}"
