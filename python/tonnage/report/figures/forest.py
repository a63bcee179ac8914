"""A forest plot: ratios with their intervals, a row each, beside a line at 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tonnage import units
from tonnage.analysis.compare.rate_ratio import FASTER, SLOWER
from tonnage.report.figures.axes import ratio_axis
from tonnage.report.figures.colours import KNEE, LINES, MUTED
from tonnage.report.figures.figure import Figure, Table, error_bars, escaped, layout
from tonnage.report.figures.plotly import Note, Trace

_COLOURS = {FASTER: KNEE, SLOWER: LINES["read"]}
_SYMBOLS = {FASTER: "triangle-up", SLOWER: "triangle-down"}
"""Symbols distinguish verdicts without colour."""
_EDGE = 160
"""Right margin that holds the verdicts."""


class Row(NamedTuple):
    """A ratio, its interval (equal to it where there is none) and what is concluded."""

    name: str
    ratio: float
    low: float
    high: float
    verdict: str
    hover: str
    """Hover text: the values of both sides, with their records."""


def forest(
    rows: Sequence[Row], *, title: str, axis: str, unit: str, caption: str, table: Table, beside: Sequence[Row] = ()
) -> Figure:
    """``unit`` follows a ratio in the hover text, such as ``times as long``; ``caption``: what is seen; ``beside``:
    rows of other panels that have the same axis."""
    trace: Trace = {
        "x": [row.ratio for row in rows],
        "y": [escaped(row.name) for row in rows],
        "mode": "markers",
        "marker": {
            "size": 11,
            "color": [_COLOURS.get(row.verdict, MUTED) for row in rows],
            "symbol": [_SYMBOLS.get(row.verdict, "circle") for row in rows],
        },
        "error_x": error_bars([row.high - row.ratio for row in rows], [row.ratio - row.low for row in rows], MUTED),
        "text": [f"{_ratio(row, unit)}: {row.verdict}<br>{row.hover}" for row in rows],
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
        "showlegend": False,
    }
    line = {"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    return Figure(
        title=title,
        caption=caption,
        alt=f"A point with its interval for each setting, beside a line at 1. {caption}",
        traces=[trace],
        layout=layout(
            ratio_axis(axis, *_ends([*rows, *beside])),
            {"title": "", "autorange": "reversed", "automargin": True},
            height=150 + 34 * max(3, len(rows)),
            shapes=[line | {"line": {"color": MUTED, "width": 1.5, "dash": "dash"}}],
            margin_right=_EDGE,
            annotations=[_verdict(row) for row in rows],
        ),
        table=table,
    )


def _verdict(row: Row) -> Note:
    """Beside its row, where no mark can lie behind it."""
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 6,
        "y": escaped(row.name),
        "showarrow": False,
        "text": f"{units.ratio(row.ratio)} {row.verdict}",
        "font": {"color": _COLOURS.get(row.verdict, MUTED), "size": 12},
    }


def _ratio(row: Row, unit: str) -> str:
    interval = f", interval {units.interval(row.low, row.high, units.ratio)}" if row.low < row.high else ""
    return f"{units.ratio(row.ratio)} {unit}{interval}"


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    return min(row.low for row in rows), max(row.high for row in rows)
