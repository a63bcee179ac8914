"""Each task's part of a trial. The sum cannot show one task that holds up the others; this does."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from tonnage import units
from tonnage.records import headline
from tonnage.report.figures import hover
from tonnage.report.figures.figure import ALERT, MUTED, Figure, Table, layout, line_colour, rate_scale_title, words
from tonnage.report.source import Row

_STANDS_OUT = 0.1
"""Share of the median by which the slowest task must differ to be coloured; it is named in any case."""
MOST_TASKS = 512
"""Tasks that are drawn; of more, every so many, and the slowest."""


def figure(op: str, record: str, tasks: list[Row], trial: Row) -> Figure | None:
    """End times where the phase ended by size (all moved the same), bytes where by time. None without tasks."""
    if not tasks:
        return None
    begin = min(row["start_ns"] for row in tasks)
    by_time = trial.get("stop_reason") == "time"
    shown: Callable[[int], str]
    if by_time and headline(trial)[1] == "B/s":
        values = [float(row["bytes"]) for row in tasks]
        scale, title = rate_scale_title(max(values), "Moved", "B")
        slowest, shown = min(values), units.volume
    elif by_time:
        values = [float(row["operations"]) for row in tasks]
        scale, title, slowest, shown = 1.0, "Operations", min(values), units.count
    else:
        values = [float(row["end_ns"] - begin) for row in tasks]
        scale, title, slowest, shown = 1e9, "End, after the first start (s)", max(values), units.duration
    middle = median(values)
    last = tasks[values.index(slowest)]
    story = _story(last, slowest, middle, by_time, shown) if len(tasks) > 1 else "One task: nothing to compare."
    step = -(-len(tasks) // MOST_TASKS)
    if step > 1:
        story += f" Of {len(tasks):,} lines one in {step} is drawn, and the slowest."
        kept = sorted({*range(0, len(tasks), step), tasks.index(last)})
        tasks, values = [tasks[number] for number in kept], [values[number] for number in kept]
    return Figure(
        title="Each task's part",
        caption=f"{record}. {story}",
        alt=f"{title} by task for {record}. {story}",
        traces=_traces(op, record, tasks, [value / scale for value in values], middle / scale, tasks.index(last)),
        layout=layout(
            {"title": "Task", "tickformat": "d", **_few_ticks(len(tasks))},
            {"title": title, "range": [0, 1.15 * max(values) / scale or 1]},
            showlegend=True,
        ),
        table=_table(tasks, begin),
    )


def _story(last: Row, slowest: float, middle: float, by_time: bool, shown: Callable[[int], str]) -> str:
    what = ("moved" if shown is units.volume else "did") if by_time else "ended after"
    host = f" on {last['host']}" if last.get("host") else ""
    ratio = f"{100 * slowest / middle:.0f} % of the median" if middle else "with a median of 0"
    return f"Slowest: task {last['task']}{host} {what} {shown(round(slowest))}, {ratio} ({shown(round(middle))})."


def _few_ticks(tasks: int) -> dict[str, Any]:
    return {"dtick": 1} if tasks <= 24 else {"nticks": 12}


def _traces(
    op: str, record: str, tasks: list[Row], values: list[float], middle: float, last: int
) -> list[dict[str, Any]]:
    numbers = [row["task"] for row in tasks]
    hosts = [words(row.get("host") or "") for row in tasks]
    stands_out = abs(values[last] - middle) > _STANDS_OUT * middle
    colours = [ALERT if stands_out and position == last else line_colour(op) for position in range(len(tasks))]
    stems_x = [x for number in numbers for x in (number, number, None)]
    stems_y = [y for value in values for y in (0, value, None)]
    return [
        {
            "x": stems_x,
            "y": stems_y,
            "mode": "lines",
            "line": {"color": MUTED, "width": 1},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            "x": numbers,
            "y": values,
            "mode": "markers",
            "marker": {"color": colours, "size": 9},
            "text": hosts,
            "hovertemplate": "task %{x} %{text}<br>%{y:.4g}" + hover.ending(record),
            "showlegend": False,
        },
        {
            "x": [numbers[0] - 0.5, numbers[-1] + 0.5],
            "y": [middle, middle],
            "mode": "lines",
            "name": "median of the tasks",
            "line": {"color": MUTED, "width": 1.5, "dash": "dash"},
            "hoverinfo": "skip",
        },
    ]


def _table(tasks: list[Row], begin: int) -> Table:
    steps = ("open_ns", "transfer_ns", "sync_ns", "close_ns")
    rows = tuple(
        (
            str(row["task"]),
            str(row.get("host") or ""),
            units.duration(row["start_ns"] - begin),
            units.duration(row["end_ns"] - begin),
            *(units.duration(row.get(step)) for step in steps),
            str(row["bytes"]),
            str(row["operations"]),
            str(row["errors"]),
            units.duration((row.get("latency") or {}).get("p99_ns")),
        )
        for row in tasks
    )
    columns = (
        "task",
        "host",
        "start",
        "end",
        "open",
        "transfer",
        "sync",
        "close",
        "bytes",
        "operations",
        "errors",
        "p99",
    )
    return Table(columns, rows)
