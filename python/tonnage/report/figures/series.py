"""Throughput over time, with stalls marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage import units
from tonnage.records import headline
from tonnage.records.intervals import sums
from tonnage.report.figures import hover, retries
from tonnage.report.figures.figure import Figure, Table, layout, line_colour, speed_scale_title
from tonnage.report.figures.stalls import marks, said, span, standstills
from tonnage.report.source import Columns, Row
from tonnage.units import BANDWIDTH, OPERATIONS

_MOST_INTERVALS = 600

Interval = tuple[int, int, int, int]
"""start_ns, end_ns, bytes, operations; summed over tasks."""


def intervals(columns: Columns) -> list[Interval]:
    """Intervals of all tasks together, in order of time."""
    return [(start, end, moved, operations) for start, end, moved, operations in sums(columns, ("bytes", "operations"))]


def thinned(found: list[Interval], most: int = _MOST_INTERVALS) -> list[Interval]:
    """Neighbours joined until at most ``most`` are left: nothing is dropped, only drawn coarser."""
    step = -(-len(found) // most)
    joined = [found[at : at + step] for at in range(0, len(found), step)] if step > 1 else [[one] for one in found]
    return [(many[0][0], many[-1][1], sum(one[2] for one in many), sum(one[3] for one in many)) for many in joined]


def figure(
    op: str, record: str, columns: Columns, trial: Row, stalls: list[Row], again: Sequence[Row] = ()
) -> Figure | None:
    """In the unit that the trial is about; None where it left no series. ``again``: its events of kind ``retry``."""
    found = thinned(intervals(columns))
    if not found:
        return None
    average, unit = headline(trial)
    metric = BANDWIDTH if unit == "B/s" else OPERATIONS
    counted = 2 if metric == BANDWIDTH else 3
    rates = [one[counted] * 1e9 / (one[1] - one[0]) for one in found]
    scale, title = speed_scale_title(max(rates), metric)
    drawn_in = units.scale(max(rates), "B/s" if metric == BANDWIDTH else " operations/s")[1].strip()
    edges = [start / 1e9 for start, *_ in found] + [found[-1][1] / 1e9]
    colour = line_colour(op)
    traces: list[dict[str, Any]] = [
        {
            "x": edges,
            "y": [rate / scale for rate in (*rates, rates[-1])],
            "mode": "lines",
            "name": "all tasks",
            "line": {"color": colour, "width": 1.8, "shape": "hv"},
            "hovertemplate": f"%{{x:.3f}} s<br>%{{y:.4g}} {drawn_in}" + hover.ending(record),
            "showlegend": False,
        },
    ]
    if average:
        traces.append(
            {
                "x": [edges[0], edges[-1]],
                "y": [average / scale] * 2,
                "mode": "lines",
                "hoverinfo": "skip",
                "line": {"color": colour, "width": 1.2, "dash": "dash"},
                "name": f"whole phase, {units.speed(average, metric)}",
            }
        )
    begin = trial.get("first_start_ns") or 0
    found_stalls = standstills(stalls, begin)
    shapes, notes = marks(found_stalls)
    shapes += retries.marks(again, begin)
    story = said(stalls, found_stalls) + retries.said(again)
    return Figure(
        title="Throughput over time",
        caption=f"{record}, all tasks together, by interval. {story}",
        alt=f"Throughput of {record} over time. {story}",
        traces=traces,
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1]]},
            {"title": title, "range": [0, 1.15 * max(*rates, average or 0) / scale or 1]},
            shapes=shapes,
            annotations=notes,
            showlegend=bool(average),
        ),
        table=_table(found, stalls, again, begin),
    )


def _table(found: list[Interval], stalls: list[Row], again: Sequence[Row], begin: int) -> Table:
    spans = [(span(stall, begin), stall.get("task")) for stall in stalls]
    rows = []
    for start, end, moved, operations in found:
        idle = [str(task) for (since, until), task in spans if since < end and until > start]
        rows.append(
            (
                f"{start / 1e9:.3f}",
                f"{end / 1e9:.3f}",
                units.rate(moved * 1e9 / (end - start)),
                str(moved),
                str(operations),
                ", ".join(idle),
                *((retries.tasks_in(again, begin, start, end),) if again else ()),
            )
        )
    columns = ("from (s)", "to (s)", "throughput", "bytes", "operations", "stalled tasks")
    return Table((*columns, *(("tasks that try again",) if again else ())), tuple(rows))
