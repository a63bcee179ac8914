"""Operations that failed and were tried again, as the time series shows them: a bar along its foot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage import units
from tonnage.report import sentences
from tonnage.report.figures.figure import ALERT
from tonnage.report.figures.stalls import span, standstills
from tonnage.report.source import Row

_HEIGHT = 0.035
"""Of the plot."""


def said(retries: Sequence[Row]) -> str:
    """The sentence below the picture; empty where nothing was tried again."""
    if not retries:
        return ""
    attempts = sum(retry.get("attempts") or 0 for retry in retries)
    tasks = len({retry["task"] for retry in retries})
    longest = max(retries, key=lambda retry: retry.get("duration_ns") or 0)
    first = min(retries, key=lambda retry: retry["time_ns"])
    many = f"{sentences.number(attempts)} attempt{'s' if attempts != 1 else ''} of {sentences.tasks(tasks)} failed"
    how_long = f"the longest time of trouble, of task {longest['task']}, lasted"
    why = f" ({first['message']})" if first.get("message") else ""
    return f" {many} and were tried again{why}; {how_long} {units.duration(longest.get('duration_ns'))}."


def marks(retries: Sequence[Row], begin_ns: int) -> list[dict[str, Any]]:
    """A bar for each time in which some task was in trouble; those that overlap are one."""
    return [
        {
            "type": "rect",
            "yref": "paper",
            "x0": one.start_ns / 1e9,
            "x1": one.end_ns / 1e9,
            "y0": 0,
            "y1": _HEIGHT,
            "fillcolor": ALERT,
            "line": {"color": ALERT, "width": 1},
        }
        for one in standstills(list(retries), begin_ns)
    ]


def tasks_in(retries: Sequence[Row], begin_ns: int, start_ns: int, end_ns: int) -> str:
    """Tasks that were in trouble in an interval."""
    times = [(span(retry, begin_ns), retry["task"]) for retry in retries]
    found = {task for (since, until), task in times if since < end_ns and until > start_ns}
    return ", ".join(map(str, sorted(found)))
