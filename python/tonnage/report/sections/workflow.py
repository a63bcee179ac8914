"""Workflows that a command ran: where their time went, and when each of their tasks waited and ran."""

from __future__ import annotations

from typing import Literal

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point, Share, Workflow
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.workflow import ALL_ENGINE, ENGINE, critical_path, spans
from tonnage.records.line_types import CopyLine, WorkflowLine
from tonnage.report import phrases
from tonnage.report.figures.colours import ALERT, LINES, MUTED
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, text_column, timeline
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

MOST_RUNS = 12
"""Workflow runs whose timelines a page offers."""
MOST_TASKS = 300
"""Tasks of a timeline: more are thinner than a line, and make the page heavy."""
_NAMED = 40
Instant = Literal["submit_ns", "start_ns", "end_ns", "complete_ns"]
_ENGINE_ROW = "the engine's own"


def tables(analysis: Analysis) -> list[Titled]:
    """Makes tables of where the time went, with a row for each setting."""
    found = [(point, point.workflow) for point in analysis.points if point.workflow]
    return [("Where the workflows' time went", _table(found))] if found else []


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """Timelines; none where no trace was read."""
    points = [point for point in analysis.points if point.workflow]
    variants = []
    for point in points[:MOST_RUNS]:
        record = nearest(point)
        copies = {copy["copy"]: copy for copy in source.copies_of(record)}
        tasks = source.workflow_of(record)
        first = min((task["copy"] for task in tasks if task["copy"] in copies), default=None)
        if first is not None:
            mine = [task for task in tasks if task["copy"] == first]
            label = f"{phrases.subject(point.op, point.group)} ({record})"
            variants.append(Variant(label, (_timeline(record, mine, copies[first], _summary(points)),)))
    if not variants:
        return []
    introduction = (
        "The run nearest the median of each setting: a row a task, and above them the engine's own time, in which no "
        "task ran and none waited in the queue, although the workflow was not over."
    )
    return [Exhibit("workflow", "When each task waited and ran", introduction, "Run", tuple(variants))]


def _summary(points: list[Point]) -> Table:
    return _table([(point, point.workflow) for point in points if point.workflow])


def _table(found: list[tuple[Point, Workflow]]) -> Table:
    head = (text_column("what"), "elapsed", "n", "running", "queued", "engine's own", *ENGINE)
    columns = (*head, "tasks", "failed", "they ran", "they waited", "path ran")
    return Table.of(columns, tuple(_row(point, workflow) for point, workflow in found))


def _row(point: Point, workflow: Workflow) -> tuple[str, ...]:
    return (
        phrases.subject(point.op, point.group),
        units.duration(point.elapsed_ns),
        str(point.repetitions),
        *(_share_text(workflow.parts[part]) for part in ("running", "queued", ALL_ENGINE)),
        *(units.duration(workflow.parts[part].median_ns) for part in ENGINE),
        str(workflow.tasks),
        str(workflow.failed),
        units.duration(workflow.run_ns),
        units.duration(workflow.wait_ns),
        units.duration(workflow.path_run_ns),
    )


def _share_text(part: Share) -> str:
    """``2.82 s, 29 % [25 %, 33 %]``."""
    interval = f" [{units.share(part.low)}, {units.share(part.high)}]" if part.confidence else ""
    return f"{units.duration(part.median_ns)}, {units.share(part.share)}{interval}"


def _timeline(record: str, tasks: list[WorkflowLine], copy: CopyLine, summary: Table) -> Figure:
    begin, end = copy["start_ns"], copy["end_ns"]
    ran = [task for task in tasks if task["submit_ns"] is not None or task["start_ns"] is not None]
    path = {task["task"] for task in critical_path(tasks)}
    shown = sorted(ran, key=lambda task: (task["task"] not in path, -_lasted(task)))[:MOST_TASKS]
    shown.sort(key=lambda task: (_first(task), task["task"]))
    rows = {task["task"]: number for number, task in enumerate(shown, 1)}
    traces = [
        _bars("waits in the queue", MUTED, shown, rows, begin, "submit_ns", "start_ns"),
        _bars("runs", LINES["write"], [t for t in shown if _well(t)], rows, begin, "start_ns", "end_ns"),
        _bars("ran and failed", ALERT, [t for t in shown if not _well(t)], rows, begin, "start_ns", "end_ns"),
        _bars("over, not noticed", LINES["read"], shown, rows, begin, "end_ns", "complete_ns"),
        _engine(tasks, begin, end),
    ]
    story = _story(tasks, ran, shown, path, begin, end)
    named = len(shown) <= _NAMED
    axis: Axis = {"title": "" if named else "Task", "autorange": "reversed", "automargin": True}
    if named:
        axis |= {"tickvals": [0, *rows.values()], "ticktext": [_ENGINE_ROW, *(escaped(task["name"]) for task in shown)]}
    return Figure(
        title="When each task waited and ran",
        caption=f"{record}. {story}",
        alt=f"Timeline of the tasks of {record}. {story}",
        traces=[trace for trace in traces if trace["y"]],
        layout=layout(
            {"title": "Time since the engine was started (s)", "rangemode": "tozero"},
            axis,
            height=min(1100, 170 + (20 if named else 4) * max(6, len(shown) + 1)),
            barmode="overlay",
            bargap=0.2,
            showlegend=True,
        ),
        table=summary,
    )


def _well(task: WorkflowLine) -> bool:
    """Also where nothing says how it ended."""
    return task["status"] in ("ok", "cached", "ended")


def _first(task: WorkflowLine) -> int:
    submitted = task["submit_ns"]
    return submitted if submitted is not None else task["start_ns"] or 0


def _lasted(task: WorkflowLine) -> int:
    ends = (task["complete_ns"], task["end_ns"], task["start_ns"])
    return next((end for end in ends if end is not None), _first(task)) - _first(task)


def _bars(
    name: str, colour: str, tasks: list[WorkflowLine], rows: dict[int, int], begin: int, since: Instant, until: Instant
) -> Trace:
    known = [
        (task, first, last)
        for task in tasks
        if (first := task[since]) is not None and (last := task[until]) is not None and last > first
    ]
    bars = timeline(
        name,
        [rows[task["task"]] for task, _, _ in known],
        [round((first - begin) / 1e9, 3) for _, first, _ in known],
        [round((last - first) / 1e9, 3) for _, first, last in known],
        [escaped(task["name"] + (f" on {task['host']}" if task["host"] else "")) for task, _, _ in known],
    )
    template = "%{text}<br>" + name + " %{x:.3g} s<extra></extra>"
    return {**bars, "marker": {"color": colour}, "hovertemplate": template}


def _engine(tasks: list[WorkflowLine], begin: int, end: int) -> Trace:
    own = [span for span in spans(tasks, begin, end) if span.part in ENGINE]
    bars = timeline(
        _ENGINE_ROW,
        [0] * len(own),
        [round((span.begin_ns - begin) / 1e9, 3) for span in own],
        [round((span.end_ns - span.begin_ns) / 1e9, 3) for span in own],
        [span.part for span in own],
    )
    return {
        **bars,
        # Striped as well: distinguishable without colour.
        "marker": {"color": LINES["mixed"], "pattern": {"shape": "/", "solidity": 0.5}},
        "hovertemplate": "%{text} %{x:.3g} s<extra></extra>",
    }


def _story(
    tasks: list[WorkflowLine], ran: list[WorkflowLine], shown: list[WorkflowLine], path: set[int], begin: int, end: int
) -> str:
    own = sum(span.end_ns - span.begin_ns for span in spans(tasks, begin, end) if span.part in ENGINE)
    found = [f"{units.duration(own)} of {units.duration(end - begin)} were the engine's own"]
    if path:
        times = sum(max((task["end_ns"] or 0) - (task["start_ns"] or 0), 0) for task in tasks if task["task"] in path)
        found.append(f"the critical path has {phrases.tasks(len(path))}, which ran {units.duration(times)}")
    if cached := len(tasks) - len(ran):
        found.append(f"{phrases.tasks(cached)} did not run")
    if len(shown) < len(ran):
        found.append(f"{len(shown)} of {len(ran)} tasks are drawn, the longest; all are in workflow.jsonl")
    if any(task["times_from"] == "engine" for task in shown):
        found.append("some times are when the engine looked")
    return "; ".join(found) + "."


SECTION = Section("workflow", exhibits, tables=tables)
