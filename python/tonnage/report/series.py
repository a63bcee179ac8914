"""Throughput over time, with stalls marked."""

from __future__ import annotations

from typing import Any

from tonnage.report import units
from tonnage.report.figure import ALERT, ALERT_BAND, Figure, Table, layout, line_colour, rate_scale_title
from tonnage.report.source import Columns, Row

_MOST_INTERVALS = 600
_MOST_NAMED = 6
"""Stalls that get a name in the picture; the table below it has them all."""

Interval = tuple[int, int, int, int]
"""start_ns, end_ns, bytes, operations; summed over tasks."""


def intervals(columns: Columns) -> list[Interval]:
    """Intervals of all tasks together, in order of time. Tasks are sampled at once, so their intervals are the same."""
    total: dict[tuple[int, int], list[int]] = {}
    rows = zip(*(columns.get(name, []) for name in ("start_ns", "end_ns", "bytes", "operations")), strict=True)
    for start, end, moved, operations in rows:
        sums = total.setdefault((start, end), [0, 0])
        sums[0] += moved
        sums[1] += operations
    return [(start, end, *sums) for (start, end), sums in sorted(total.items()) if end > start]  # type: ignore[misc]


def thinned(found: list[Interval], most: int = _MOST_INTERVALS) -> list[Interval]:
    """Neighbours joined until at most ``most`` are left: nothing is dropped, only drawn coarser."""
    step = -(-len(found) // most)
    joined = [found[at : at + step] for at in range(0, len(found), step)] if step > 1 else [[one] for one in found]
    return [(many[0][0], many[-1][1], sum(one[2] for one in many), sum(one[3] for one in many)) for many in joined]


def figure(op: str, record: str, columns: Columns, trial: Row, stalls: list[Row]) -> Figure | None:
    """None where the trial left no series."""
    found = thinned(intervals(columns))
    if not found:
        return None
    rates = [moved * 1e9 / (end - start) for start, end, moved, _ in found]
    scale, title = rate_scale_title(max(rates))
    edges = [start / 1e9 for start, *_ in found] + [found[-1][1] / 1e9]
    colour = line_colour(op)
    traces: list[dict[str, Any]] = [
        {
            "x": edges,
            "y": [rate / scale for rate in (*rates, rates[-1])],
            "mode": "lines",
            "name": "all tasks",
            "line": {"color": colour, "width": 1.8, "shape": "hv"},
            "hovertemplate": "%{x:.3f} s<br>%{y:.4g}<extra></extra>",
            "showlegend": False,
        },
    ]
    average = trial.get("bandwidth_bytes_per_s")
    if average:
        traces.append(
            {
                "x": [edges[0], edges[-1]],
                "y": [average / scale] * 2,
                "mode": "lines",
                "hoverinfo": "skip",
                "line": {"color": colour, "width": 1.2, "dash": "dash"},
                "name": f"whole phase, {units.rate(average)}",
            }
        )
    begin = trial.get("first_start_ns") or 0
    shapes, notes = _marks(stalls, begin)
    return Figure(
        title="Throughput over time",
        caption=f"{record}, all tasks together, by interval. {_stalled(stalls)}",
        alt=f"Throughput of {record} over time. {_stalled(stalls)}",
        traces=traces,
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1]]},
            {"title": title, "range": [0, 1.15 * max(*rates, average or 0) / scale or 1]},
            shapes=shapes,
            annotations=notes,
            showlegend=bool(average),
        ),
        table=_table(found, stalls, begin),
    )


def _stalled(stalls: list[Row]) -> str:
    if not stalls:
        return "No task stood still for a second or more."
    worst = max(stalls, key=lambda stall: stall.get("duration_ns") or 0)
    many = "1 stall is" if len(stalls) == 1 else f"{len(stalls)} stalls are"
    lasted = units.duration(worst.get("duration_ns"))
    return f"{many} marked; the longest, of task {worst.get('task')}, lasted {lasted}."


def _span(stall: Row, begin: int) -> tuple[float, float]:
    """Start and end of a stall in seconds of the phase."""
    start = (stall["time_ns"] - begin) / 1e9
    return start, start + (stall.get("duration_ns") or 0) / 1e9


def _marks(stalls: list[Row], begin: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    shapes, notes = [], []
    named = sorted(stalls, key=lambda stall: -(stall.get("duration_ns") or 0))[:_MOST_NAMED]
    for stall in stalls:
        start, end = _span(stall, begin)
        shapes.append(
            {
                "type": "rect",
                "yref": "paper",
                "x0": start,
                "x1": end,
                "y0": 0,
                "y1": 1,
                "fillcolor": ALERT_BAND,
                "line": {"color": ALERT, "width": 1},
                "layer": "below",
            }
        )
    for row, stall in enumerate(sorted(named, key=lambda stall: stall["time_ns"])):
        # One line of text each, stepping down, so that stalls at the same time keep readable names.
        notes.append(
            {
                "x": _span(stall, begin)[0],
                "y": 0.99,
                "yref": "paper",
                "yshift": -18 * row,
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "font": {"color": ALERT, "size": 12},
                "text": f"task {stall.get('task')}: {units.duration(stall.get('duration_ns'))}",
            }
        )
    return shapes, notes


def _table(found: list[Interval], stalls: list[Row], begin: int) -> Table:
    spans = [(_span(stall, begin), stall.get("task")) for stall in stalls]
    rows = []
    for start, end, moved, operations in found:
        idle = [str(task) for (since, until), task in spans if since < end / 1e9 and until > start / 1e9]
        rows.append(
            (
                f"{start / 1e9:.3f}",
                f"{end / 1e9:.3f}",
                units.rate(moved * 1e9 / (end - start)),
                str(moved),
                str(operations),
                ", ".join(idle),
            )
        )
    return Table(("from (s)", "to (s)", "throughput", "bytes", "operations", "stalled tasks"), tuple(rows))
