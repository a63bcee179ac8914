"""Trials of a search that were too short to tell a rate: of what a storage does after that, they say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from tonnage.analysis.text import count
from tonnage.records import Trials
from tonnage.records.shapes import TrialLine
from tonnage.units import time_text

TURNS = 3
"""Operations that a task does at least, for each that it keeps in flight: the first of them begin on an idle storage,
and the last ones end after the time was up."""
_LEAST_NS = 100_000_000
"""A trial that its files end: storage that saves up rate, as the kernel's throttle does for a tenth of a second, is not
told from one that is so fast."""


def too_short(curve: Mapping[int, Trials]) -> str:
    """Why trials of a load line, by their number of tasks, tell no rate; empty where all do."""
    for tasks, lines in sorted(curve.items(), reverse=True):
        slow = [line for line in lines if _hardly_began(line)]
        if slow:
            waits = [_wait_ns(line) for line in slow]
            return (
                f"an operation with {count(tasks, 'task')} takes {time_text(median(waits))}, and a trial "
                f"{time_text(slow[0]['setting']['time_limit_ns'])}: too short to tell a rate; a longer --budget, a "
                "smaller --transfer, or fewer tasks (--max-tasks) may show it"
            )
    for tasks, lines in sorted(curve.items()):
        over = [line["elapsed_ns"] or 0 for line in lines if line["stop_reason"] == "size"]
        if over and median(over) < _LEAST_NS:
            return (
                f"a trial with {count(tasks, 'task')} was over in {time_text(median(over))}, with all that its files "
                "hold: too short to tell a rate; more room (--space), a longer --budget, or --direct yes may show it"
            )
    return ""


def _wait_ns(line: TrialLine) -> int:
    """What an operation took: all of the trial, where none ended."""
    latency = line["latency"]
    return (latency.get("p50_ns") if latency else None) or line["elapsed_ns"] or 0


def _hardly_began(line: TrialLine) -> bool:
    """Whether the time was up before the tasks had done more than their start-up and what they then had in hand."""
    setting = line["setting"]
    in_flight = setting["tasks"] * (setting.get("queue_depth") or 1)
    known = line.get("loop_bytes_per_s") is not None or "loop_bytes_per_s" not in line
    return line["stop_reason"] == "time" and not known and line["operations"] < TURNS * in_flight
