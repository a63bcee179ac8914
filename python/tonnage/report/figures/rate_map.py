"""A heat map of rates, a row for each host or task: one that lags or stands still, or a wave through all, is seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tonnage import units
from tonnage.report.figures import hover
from tonnage.report.figures.figure import colour_bar
from tonnage.report.figures.plotly import Trace
from tonnage.report.figures.table import Column, columns_of

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
