"""Stalls as the time series shows them: those that overlap are one mark, for they have one cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tonnage import units
from tonnage.report import sentences
from tonnage.report.figures.figure import ALERT, ALERT_BAND, VEIL
from tonnage.report.source import Row

_MOST_NAMED = 6
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
        who = f"task {self.tasks[0]}" if len(self.tasks) == 1 else sentences.tasks(len(self.tasks))
        return f"{who}: {units.duration(self.end_ns - self.start_ns)}"


def span(stall: Row, begin_ns: int) -> tuple[int, int]:
    """Start and end of one stall, in nanoseconds of the phase: its event is at the last progress before it."""
    start = stall["time_ns"] - begin_ns
    return start, start + (stall.get("duration_ns") or 0)


def standstills(stalls: list[Row], begin_ns: int) -> list[Standstill]:
    """Overlapping stalls joined, in order of time."""
    joined: list[Standstill] = []
    for stall in sorted(stalls, key=lambda stall: stall["time_ns"]):
        start, end = span(stall, begin_ns)
        tasks = {stall["task"]}
        if joined and start <= joined[-1].end_ns:
            last = joined.pop()
            start, end, tasks = last.start_ns, max(end, last.end_ns), tasks | set(last.tasks)
        joined.append(Standstill(start, end, tuple(sorted(tasks))))
    return joined


def said(stalls: list[Row], found: list[Standstill]) -> str:
    """The sentence below the picture."""
    if not stalls:
        return "No task stood still for a second or more."
    worst = max(stalls, key=lambda stall: stall.get("duration_ns") or 0)
    many = "1 stall" if len(stalls) == 1 else f"{len(stalls)} stalls"
    times = "" if len(found) == len(stalls) else f" at {len(found)} {'time' if len(found) == 1 else 'times'}"
    return f"{many}{times}; the longest, of task {worst['task']}, lasted {units.duration(worst.get('duration_ns'))}."


def marks(found: list[Standstill]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shapes and names. Names step down, so that those close together stay readable."""
    shapes = [
        {
            "type": "rect",
            "yref": "paper",
            "x0": one.start_ns / 1e9,
            "x1": one.end_ns / 1e9,
            "y0": 0,
            "y1": 1,
            "fillcolor": ALERT_BAND,
            "line": {"color": ALERT, "width": 1},
            "layer": "below",
        }
        for one in found
    ]
    longest = sorted(found, key=lambda one: one.start_ns - one.end_ns)[:_MOST_NAMED]
    notes = [
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
