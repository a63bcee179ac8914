"""One trial, closely: throughput and latency over time, and each task's share. A selector chooses the trial."""

from __future__ import annotations

from tonnage.analysis.results import Analysis, Point
from tonnage.report import heat, sentences, series, stragglers, units
from tonnage.report.figure import Exhibit, Figure, Variant
from tonnage.report.groups import worth_a_look
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
            variants.append((point, Variant(_label(point, record, source), figures)))
    if not variants:
        return []
    introduction = "The repetition nearest the median of each setting, and every one with a stall."
    if len(chosen) > len(kept):
        introduction += f" {len(kept)} of {len(chosen)} are shown; all are in the run directory."
    default = _most_telling([point for point, _ in variants], analysis)
    return [Exhibit("trial", "One trial, closely", introduction, "Trial", tuple(v for _, v in variants), default)]


def _chosen(analysis: Analysis, source: Source) -> list[tuple[Point, str]]:
    """Trials worth a look. Those of a tail and of commands have sections of their own."""
    return worth_a_look([point for point in analysis.points if point.kind in ("stream", "files")], source)


def _most_telling(points: list[Point], analysis: Analysis) -> int:
    """The one at the knee of the first load line, else the one with the highest median."""
    for line in analysis.load_lines:
        for position, point in enumerate(points):
            if line.reached and (point.op, point.group, point.tasks) == (line.op, line.group, line.tasks):
                return position
    return max(range(len(points)), key=lambda position: points[position].median)


def _label(point: Point, record: str, source: Source) -> str:
    stalls = len(source.stalls_of(record))
    marked = f", {stalls} {'stall' if stalls == 1 else 'stalls'}" if stalls else ""
    value = point.values[point.records.index(record)]
    what = sentences.subject(point.op, point.group)
    return f"{what}, {sentences.tasks(point.tasks)}, {units.speed(value, point.metric)} ({record}{marked})"


def _figures(point: Point, record: str, source: Source) -> tuple[Figure, ...]:
    trial = source.trial(record)
    stalls = source.stalls_of(record)
    drawn = (
        series.figure(point.op, record, source.series(record), trial, stalls, source.retries_of(record)),
        heat.figure(record, source.heat(record)),
        stragglers.figure(point.op, record, source.tasks_of(record), trial),
    )
    return tuple(figure for figure in drawn if figure is not None)
