"""A forest plot: ratios with their intervals, a row each, beside a line at 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tonnage.analysis.compare import FASTER, SLOWER
from tonnage.report.figure import KNEE, LINES, MUTED, Figure, Table, layout, words

_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
_COLOURS = {FASTER: KNEE, SLOWER: LINES["read"]}


class Row(NamedTuple):
    """A ratio, its interval (equal to it where there is none) and what is concluded."""

    name: str
    ratio: float
    low: float
    high: float
    verdict: str


def forest(rows: Sequence[Row], *, title: str, axis: str, unit: str, told: str, table: Table) -> Figure:
    """``unit`` follows a ratio where the pointer is, such as ``times as long``; ``told`` says it all in words."""
    trace: dict[str, Any] = {
        "x": [row.ratio for row in rows],
        "y": [words(row.name) for row in rows],
        "mode": "markers",
        "marker": {"size": 10, "color": [_COLOURS.get(row.verdict, MUTED) for row in rows]},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [row.high - row.ratio for row in rows],
            "arrayminus": [row.ratio - row.low for row in rows],
            "color": MUTED,
        },
        "text": [row.verdict for row in rows],
        "hovertemplate": f"%{{y}}<br>%{{x:.3g}} {unit}: %{{text}}<extra></extra>",
        "showlegend": False,
    }
    line = {"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    return Figure(
        title=title,
        caption=told,
        alt=f"A point with its interval for each setting, beside a line at 1. {told}",
        traces=[trace],
        layout=layout(
            {"title": axis, "type": "log", **_ticks(rows)},
            {"title": "", "autorange": "reversed", "automargin": True},
            height=150 + 34 * max(3, len(rows)),
            shapes=[line | {"line": {"color": MUTED, "width": 1.5, "dash": "dash"}}],
        ),
        table=table,
    )


def _ticks(rows: Sequence[Row]) -> dict[str, Any]:
    """Round ratios; the kit's own digits where the intervals are narrower than those."""
    low, high = min(1.0, *(row.low for row in rows)), max(1.0, *(row.high for row in rows))
    ticks = [tick for tick in _TICKS if low / 1.1 <= tick <= high * 1.1]
    return {"tickvals": ticks[:: 1 + len(ticks) // 9], "tickformat": ".3~g"} if len(ticks) > 2 else {}
