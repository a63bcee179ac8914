"""Throughput over time, with stalls marked, and along its foot the times in which operations failed and were tried
again. Stalls that overlap are one mark, for they have one cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage import units
from tonnage.records import headline
from tonnage.records.intervals import sums
from tonnage.records.line_types import TrialLine
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import speed_scale_title
from tonnage.report.figures.colours import ALERT, ALERT_BAND, VEIL, line_colour
from tonnage.report.figures.figure import Column, Figure, Table, layout, upright_band
from tonnage.report.figures.plotly import Note, Shape, Trace
from tonnage.report.page_data import Columns, TaskEvent
from tonnage.units import BANDWIDTH, OPERATIONS

_MOST_INTERVALS = 600

Interval = tuple[int, int, int, int]
"""start_ns, end_ns, bytes, operations; summed over tasks."""


def intervals(columns: Columns) -> list[Interval]:
    """Returns the intervals of all tasks together, in order of time."""
    return [(start, end, moved, operations) for start, end, moved, operations in sums(columns, ("bytes", "operations"))]


def thinned(found: list[Interval], most: int = _MOST_INTERVALS) -> list[Interval]:
    """Neighbours joined until at most ``most`` are left: nothing is dropped, only drawn coarser."""
    step = -(-len(found) // most)
    joined = [found[at : at + step] for at in range(0, len(found), step)] if step > 1 else [[one] for one in found]
    return [(many[0][0], many[-1][1], sum(one[2] for one in many), sum(one[3] for one in many)) for many in joined]


def figure(
    op: str, record: str, columns: Columns, trial: TrialLine, stalls: list[TaskEvent], again: Sequence[TaskEvent] = ()
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
    traces: list[Trace] = [
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
    shapes, notes = stall_marks(found_stalls)
    shapes += retry_marks(again, begin)
    story = stalls_sentence(stalls, found_stalls) + retries_sentence(again)
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


def _table(found: list[Interval], stalls: list[TaskEvent], again: Sequence[TaskEvent], begin: int) -> Table:
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
                *((retrying_tasks(again, begin, start, end),) if again else ()),
            )
        )
    columns = (Column("from", "s"), Column("to", "s"), "throughput", "bytes", "operations", "stalled tasks")
    return Table.of((*columns, *(("tasks that try again",) if again else ())), tuple(rows))


_MOST_NAMED_STALLS = 6
"""Marks that get a name in the picture; the table below it has every stall."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """A stretch of time in which at least one task stood still. Nanoseconds since the phase began."""

    start_ns: int
    end_ns: int
    tasks: tuple[int, ...]

    @property
    def name(self) -> str:
        """``task 3: 1.40 s``, ``32 tasks: 1.52 s``."""
        who = f"task {self.tasks[0]}" if len(self.tasks) == 1 else phrases.tasks(len(self.tasks))
        return f"{who}: {units.duration(self.end_ns - self.start_ns)}"


def span(stall: TaskEvent, begin_ns: int) -> tuple[int, int]:
    """Start and end of one stall, in nanoseconds of the phase: its event is at the last progress before it."""
    start = stall["time_ns"] - begin_ns
    return start, start + (stall.get("duration_ns") or 0)


def standstills(stalls: list[TaskEvent], begin_ns: int) -> list[Standstill]:
    """Joins overlapping stalls, in order of time."""
    joined: list[Standstill] = []
    for stall in sorted(stalls, key=lambda stall: stall["time_ns"]):
        start, end = span(stall, begin_ns)
        tasks = {stall["task"]}
        if joined and start <= joined[-1].end_ns:
            last = joined.pop()
            start, end, tasks = last.start_ns, max(end, last.end_ns), tasks | set(last.tasks)
        joined.append(Standstill(start, end, tuple(sorted(tasks))))
    return joined


def stalls_sentence(stalls: list[TaskEvent], found: list[Standstill]) -> str:
    """Returns the sentence below the picture."""
    if not stalls:
        return "No task stood still for a second or more."
    worst = max(stalls, key=lambda stall: stall.get("duration_ns") or 0)
    many = "1 stall" if len(stalls) == 1 else f"{len(stalls)} stalls"
    times = "" if len(found) == len(stalls) else f" at {len(found)} {'time' if len(found) == 1 else 'times'}"
    return f"{many}{times}; the longest, of task {worst['task']}, lasted {units.duration(worst.get('duration_ns'))}."


def stall_marks(found: list[Standstill]) -> tuple[list[Shape], list[Note]]:
    """Shapes and names. Names step down, so that those close together stay readable."""
    shapes = [upright_band(one.start_ns / 1e9, one.end_ns / 1e9, ALERT_BAND, ALERT) for one in found]
    longest = sorted(found, key=lambda one: one.start_ns - one.end_ns)[:_MOST_NAMED_STALLS]
    notes: list[Note] = [
        {
            "x": one.start_ns / 1e9,
            "y": 0.99,
            "yref": "paper",
            "yshift": -18 * row,
            "xanchor": "left",
            "yanchor": "top",
            "showarrow": False,
            "font": {"color": ALERT, "size": 12},
            "bgcolor": VEIL,
            "text": one.name,
        }
        for row, one in enumerate(sorted(longest, key=lambda one: one.start_ns))
    ]
    return shapes, notes


_RETRY_HEIGHT = 0.035
"""Of the plot."""


def retries_sentence(retries: Sequence[TaskEvent]) -> str:
    """The sentence below the picture; empty where nothing was tried again."""
    if not retries:
        return ""
    attempts = sum(retry.get("attempts") or 0 for retry in retries)
    tasks = len({retry["task"] for retry in retries})
    longest = max(retries, key=lambda retry: retry.get("duration_ns") or 0)
    first = min(retries, key=lambda retry: retry["time_ns"])
    many = f"{phrases.number(attempts)} attempt{'s' if attempts != 1 else ''} of {phrases.tasks(tasks)} failed"
    how_long = f"the longest time of trouble, of task {longest['task']}, lasted"
    why = f" ({first['message']})" if first.get("message") else ""
    return f" {many} and were tried again{why}; {how_long} {units.duration(longest.get('duration_ns'))}."


def retry_marks(retries: Sequence[TaskEvent], begin_ns: int) -> list[Shape]:
    """A bar for each time in which some task was in trouble; those that overlap are one."""
    return [
        {
            "type": "rect",
            "yref": "paper",
            "x0": one.start_ns / 1e9,
            "x1": one.end_ns / 1e9,
            "y0": 0,
            "y1": _RETRY_HEIGHT,
            "fillcolor": ALERT,
            "line": {"color": ALERT, "width": 1},
        }
        for one in standstills(list(retries), begin_ns)
    ]


def retrying_tasks(retries: Sequence[TaskEvent], begin_ns: int, start_ns: int, end_ns: int) -> str:
    """Tasks that were in trouble in an interval."""
    times = [(span(retry, begin_ns), retry["task"]) for retry in retries]
    found = {task for (since, until), task in times if since < end_ns and until > start_ns}
    return ", ".join(map(str, sorted(found)))
