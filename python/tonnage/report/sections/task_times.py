"""Tasks over time: a picture in which a task that lags or stands still, or a wave through all, is seen at once."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tonnage import units
from tonnage.records import headline
from tonnage.report.figures.figure import Figure, Table, layout, speed_scale_title, words
from tonnage.report.sections.host_times import EXTREMES, bundled, edges_of, extremes, map_of, sums_of
from tonnage.report.source import Columns, Row
from tonnage.units import BANDWIDTH, OPERATIONS

MOST_TASKS = 32
"""Rows of the picture: of more tasks, neighbours share one."""
SLOWEST = 8
"""Tasks that then keep a row each, above the others: in a mean over many, one that lags would not be seen."""
Bundle = tuple[Row, ...]
"""Tasks that share a row."""


def figure(record: str, columns: Columns, tasks: Sequence[Row], trial: Row) -> Figure | None:
    """Throughput of each task, in intervals; None for one task, or where the phase left no series of them."""
    if len(tasks) < 2 or not columns:
        return None
    metric = BANDWIDTH if headline(trial)[1] == "B/s" else OPERATIONS
    counted = "bytes" if metric == BANDWIDTH else "operations"
    rows = list(zip(*(columns.get(k, []) for k in ("start_ns", "end_ns", "task", counted)), strict=True))
    if not rows:
        return None
    edges, begin = edges_of(rows), min(task["start_ns"] for task in tasks)
    bundles = rows_of(tasks, counted)
    place = {task["task"]: row for row, bundle in enumerate(bundles) for task in bundle}
    rates = [
        [_rate(moved, begin + edges[x], edges[x + 1] - edges[x], bundle) for x, moved in enumerate(line)]
        for bundle, line in zip(bundles, sums_of(rows, edges, place, len(bundles)), strict=True)
    ]
    scale, title = speed_scale_title(max((rate for line in rates for rate in line if rate), default=1.0), metric)
    shared = _shared(bundles)
    return Figure(
        title="Tasks over time",
        caption=f"{record}: throughput of each task in each interval, until it was done.{shared}",
        alt=f"Heat map of the throughput of {len(tasks)} tasks over the time of {record}.{shared}",
        traces=[map_of(edges, [words(name_of(bundle)) for bundle in bundles], rates, scale, title, record)],
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1] / 1e9], "showgrid": False},
            {"title": "Task", "showgrid": False, "autorange": "reversed", "type": "category"},
            height=max(320, 160 + 14 * len(bundles)),
        ),
        table=_table(bundles, edges, rates, metric),
    )


def rows_of(tasks: Sequence[Row], counted: str) -> list[Bundle]:
    """The tasks of each row: one, or of very many the slowest with a row each and then neighbours together."""
    return bundled(tasks, lambda task: _speed(task, counted), MOST_TASKS, SLOWEST)


def _speed(task: Row, counted: str) -> float:
    return float(task[counted] / max(task["end_ns"] - task["start_ns"], 1) / task.get("tasks", 1))


def name_of(bundle: Bundle) -> str:
    """``task 3 on node1``, or ``tasks 8 to 23``."""
    first, last = bundle[0]["task"], bundle[-1]["task"] + bundle[-1].get("tasks", 1) - 1
    if last > first:
        return f"tasks {first} to {last}"
    return f"task {bundle[0]['task']}" + (f" on {bundle[0]['host']}" if bundle[0].get("host") else "")


def _rate(moved: float, start_ns: int, lasted_ns: int, bundle: Bundle) -> float | None:
    """Of a task of the row, a second; None where all of the row were done: a gap, told from standing still."""
    if not moved and start_ns >= max(task["end_ns"] for task in bundle):
        return None
    many: int = sum(task.get("tasks", 1) for task in bundle)
    return moved * 1e9 / lasted_ns / many


def _shared(bundles: Sequence[Bundle]) -> str:
    most = max(map(len, bundles))
    if most == 1:
        return ""
    return f" The {SLOWEST} slowest tasks stand above; each row below them is the mean of {most} neighbours."


def _table(bundles: Sequence[Bundle], edges: list[int], rates: Sequence[Sequence[float | None]], metric: str) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        known = [rate for rate in line if rate is not None]
        middle = units.speed(median(known), metric) if known else units.NOT_MEASURED
        rows.append((name_of(bundle), middle, *extremes(line, edges, metric)))
    return Table(("task", "median interval", *EXTREMES), tuple(rows))
