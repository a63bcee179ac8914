"""Latency over time as a heat map: what a percentile hides, such as two bands or a slow minute, is seen here."""

from __future__ import annotations

from bisect import bisect_right
from math import log10

from tonnage import units
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis
from tonnage.report.figures.figure import Figure, colour_bar, layout
from tonnage.report.figures.plotly import Axis, ColourBar, Trace
from tonnage.report.figures.table import Column, Table, text_column
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
