"""One trial, closely: throughput, latency and tasks over time, and each task's share. The sum cannot show one task that
holds up the others; the pictures of its tasks do. A selector chooses the trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.records import headline
from tonnage.records.line_types import TaskLine, TrialLine
from tonnage.report import phrases
from tonnage.report.figures import heat, hover, series
from tonnage.report.figures.axes import rate_scale_title, speed_scale_title
from tonnage.report.figures.colours import ALERT, MUTED, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, text_column
from tonnage.report.figures.heat import EXTREMES, bundled, edges_of, extremes, map_of, sums_of
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.report.page_data import Columns, Source
from tonnage.report.sections.point_table import notable_points
from tonnage.report.sections.section_type import Section
from tonnage.units import BANDWIDTH, OPERATIONS

MOST_TRIALS = 48
"""Trials a page offers; a campaign of thousands would make it too heavy to open."""


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """Makes the section, or none where no trial left a record."""
    chosen = _chosen(analysis, source)
    kept = chosen[:MOST_TRIALS]
    # Shown in the order of the table above them, whatever made them worth showing.
    order = {id(point): position for position, point in enumerate(analysis.points)}
    kept.sort(key=lambda pair: order[id(pair[0])])
    variants = []
    for point, record in kept:
        figures = _figures(point, record, source)
        if figures:
            variants.append((point, record, Variant(_label(point, record, source), figures)))
    if not variants:
        return []
    introduction = "The repetition nearest the median of each setting, and every one with a stall or with trouble."
    if len(chosen) > len(kept):
        introduction += f" {len(kept)} of {len(chosen)} are shown; all are in the run directory."
    default = _most_telling([(point, record) for point, record, _ in variants], analysis, source)
    return [Exhibit("trial", "One trial, closely", introduction, "Trial", tuple(v for *_, v in variants), default)]


def _chosen(analysis: Analysis, source: Source) -> list[tuple[Point, str]]:
    """The most informative trials. Those of a tail and of commands have sections of their own, and removing snapshots
    and calls on names move nothing."""
    kinds = ("stream", "files", "checkpoint", "application")
    return notable_points(
        [point for point in analysis.points if point.kind in kinds and point.op not in ("drop", "metadata")], source
    )


def _most_telling(shown: list[tuple[Point, str]], analysis: Analysis, source: Source) -> int:
    """The one at the knee of the first load line; without one the longest time in which operations failed and were
    tried again, else the one with the highest median."""
    for line in analysis.load_lines:
        for position, (point, _) in enumerate(shown):
            if line.reached and (point.op, point.group, point.tasks) == (line.op, line.group, line.tasks):
                return position

    def telling(position: int) -> tuple[int, float]:
        point, record = shown[position]
        return max((retry.get("duration_ns") or 0 for retry in source.retries_of(record)), default=0), point.median

    return max(range(len(shown)), key=telling)


def _label(point: Point, record: str, source: Source) -> str:
    stalls = len(source.stalls_of(record))
    marked = f", {stalls} {'stall' if stalls == 1 else 'stalls'}" if stalls else ""
    value = point.values[point.records.index(record)]
    what = phrases.subject(point.op, point.group)
    return f"{what}, {phrases.tasks(point.tasks)}, {units.speed(value, point.metric)} ({record}{marked})"


def _figures(point: Point, record: str, source: Source) -> tuple[Figure, ...]:
    trial, columns, tasks = source.trial(record), source.series(record), source.tasks_of(record)
    stalls = source.stalls_of(record)
    drawn = (
        series.figure(point.op, record, columns, trial, stalls, source.retries_of(record)),
        heat.figure(record, source.heat(record)),
        tasks_over_time(record, columns, tasks, trial),
        each_task(point.op, record, tasks, trial),
    )
    return tuple(figure for figure in drawn if figure is not None)


MOST_ROWS = 32
"""Rows of the picture: of more tasks, neighbours share one."""
SLOWEST = 8
"""Tasks that then keep a row each, above the others: in a mean over many, one that lags would not be seen."""
Counted = Literal["bytes", "operations"]
Bundle = tuple[TaskLine, ...]
"""Tasks that share a row."""


def tasks_over_time(record: str, columns: Columns, tasks: Sequence[TaskLine], trial: TrialLine) -> Figure | None:
    """Draws the throughput of each task, in intervals; None for one task, or where the phase left no series of
    tasks."""
    if len(tasks) < 2 or not columns:
        return None
    metric = BANDWIDTH if headline(trial)[1] == "B/s" else OPERATIONS
    counted: Counted = "bytes" if metric == BANDWIDTH else "operations"
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
        traces=[map_of(edges, [escaped(name_of(bundle)) for bundle in bundles], rates, scale, title, record)],
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1] / 1e9], "showgrid": False},
            {"title": "Task", "showgrid": False, "autorange": "reversed", "type": "category"},
            height=max(320, 160 + 14 * len(bundles)),
        ),
        table=_intervals_table(bundles, edges, rates, metric),
    )


def rows_of(tasks: Sequence[TaskLine], counted: Counted) -> list[Bundle]:
    """Returns the tasks of each row: one, or of very many the slowest with a row each and then neighbours together."""
    return bundled(tasks, lambda task: _speed(task, counted), MOST_ROWS, SLOWEST)


def _speed(task: TaskLine, counted: Counted) -> float:
    return float(task[counted] / max(task["end_ns"] - task["start_ns"], 1) / task.get("tasks", 1))


def name_of(bundle: Bundle) -> str:
    """Returns text such as ``task 3 on node1``, or ``tasks 8 to 23``."""
    first, last = bundle[0]["task"], bundle[-1]["task"] + bundle[-1].get("tasks", 1) - 1
    if last > first:
        return f"tasks {first} to {last}"
    return f"task {bundle[0]['task']}" + (f" on {bundle[0]['host']}" if bundle[0].get("host") else "")


def _rate(moved: float, start_ns: int, lasted_ns: int, bundle: Bundle) -> float | None:
    """Of a task of the row, a second; None where all of the row were done: a gap, unlike a rate of 0."""
    if not moved and start_ns >= max(task["end_ns"] for task in bundle):
        return None
    many: int = sum(task.get("tasks", 1) for task in bundle)
    return moved * 1e9 / lasted_ns / many


def _shared(bundles: Sequence[Bundle]) -> str:
    most = max(map(len, bundles))
    if most == 1:
        return ""
    return f" The {SLOWEST} slowest tasks stand above; each row below them is the mean of {most} neighbours."


def _intervals_table(
    bundles: Sequence[Bundle], edges: list[int], rates: Sequence[Sequence[float | None]], metric: str
) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        known = [rate for rate in line if rate is not None]
        middle = units.speed(median(known), metric) if known else units.NOT_MEASURED
        rows.append((name_of(bundle), middle, *extremes(line, edges, metric)))
    return Table.of(("task", "median interval", *EXTREMES), tuple(rows))


_STANDS_OUT = 0.1
"""Share of the median by which the slowest task must differ to be coloured; it is named in any case."""
MOST_TASKS = 512
"""Tasks that are drawn; of more, every so many, and the slowest."""


def each_task(op: str, record: str, tasks: list[TaskLine], trial: TrialLine) -> Figure | None:
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
        table=_tasks_table(tasks, begin),
    )


def _story(last: TaskLine, slowest: float, middle: float, by_time: bool, shown: Callable[[int], str]) -> str:
    what = ("moved" if shown is units.volume else "did") if by_time else "ended after"
    host = f" on {last['host']}" if last.get("host") else ""
    ratio = f"{100 * slowest / middle:.0f} % of the median" if middle else "with a median of 0"
    return f"Slowest: task {last['task']}{host} {what} {shown(round(slowest))}, {ratio} ({shown(round(middle))})."


def _few_ticks(tasks: int) -> Axis:
    return {"dtick": 1} if tasks <= 24 else {"nticks": 12}


def _traces(op: str, record: str, tasks: list[TaskLine], values: list[float], middle: float, last: int) -> list[Trace]:
    numbers = [row["task"] for row in tasks]
    hosts = [escaped(row.get("host") or "") for row in tasks]
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


def _tasks_table(tasks: list[TaskLine], begin: int) -> Table:
    rows = tuple(
        (
            str(row["task"]),
            str(row.get("host") or ""),
            units.duration(row["start_ns"] - begin),
            units.duration(row["end_ns"] - begin),
            *map(units.duration, (row.get("open_ns"), row.get("transfer_ns"), row.get("sync_ns"), row.get("close_ns"))),
            str(row["bytes"]),
            str(row["operations"]),
            str(row["errors"]),
            units.duration(_p99_ns(row)),
        )
        for row in tasks
    )
    columns = (
        "task",
        text_column("host"),
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
    return Table.of(columns, rows)


def _p99_ns(task: TaskLine) -> int | None:
    latency = task.get("latency")
    return latency.get("p99_ns") if latency else None


SECTION = Section("trials", exhibits, is_closer_look=True)
