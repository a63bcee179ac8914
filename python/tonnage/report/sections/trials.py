"""One trial, closely: throughput, latency and tasks over time, and each task's share. A selector chooses the trial."""

from __future__ import annotations

from tonnage import units
from tonnage.analysis.results import Analysis, Point
from tonnage.report import sentences
from tonnage.report.figures import heat, series
from tonnage.report.figures.figure import Exhibit, Figure, Variant
from tonnage.report.sections import stragglers, task_times
from tonnage.report.sections.points import worth_a_look
from tonnage.report.source import Source

MOST_TRIALS = 48
"""Trials a page offers; a campaign of thousands would make it too heavy to open."""


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """The section, or none where no trial left a record."""
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
    """Trials worth a look. Those of a tail and of commands have sections of their own, and removing snapshots moves
    nothing."""
    kinds = ("stream", "files", "checkpoint")
    return worth_a_look([point for point in analysis.points if point.kind in kinds and point.op != "drop"], source)


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
    what = sentences.subject(point.op, point.group)
    return f"{what}, {sentences.tasks(point.tasks)}, {units.speed(value, point.metric)} ({record}{marked})"


def _figures(point: Point, record: str, source: Source) -> tuple[Figure, ...]:
    trial, columns, tasks = source.trial(record), source.series(record), source.tasks_of(record)
    stalls = source.stalls_of(record)
    drawn = (
        series.figure(point.op, record, columns, trial, stalls, source.retries_of(record)),
        heat.figure(record, source.heat(record)),
        task_times.figure(record, columns, tasks, trial),
        stragglers.figure(point.op, record, tasks, trial),
    )
    return tuple(figure for figure in drawn if figure is not None)
