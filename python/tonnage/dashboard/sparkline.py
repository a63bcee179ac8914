"""A small picture of a run in the list: its latest trials while it goes on, its throughput by tasks once it has ended.
From files that may hold anything: what is no number is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from tonnage import records, units
from tonnage.dashboard import run_text
from tonnage.records.line_types import TrialLine
from tonnage.units import BANDWIDTH, OPERATIONS

MOST = 60
"""Values of one picture."""


_LARGEST = 1e30


class Spark(TypedDict):
    """Heights between 0 and 1, and what they are, for who cannot see them."""

    heights: list[float]
    told: str


def of_trials(latest: Iterable[TrialLine]) -> Spark | None:
    """Returns the rates of the trials that ended last, in order of time, in the metric of the last one."""
    rates = [rate for line in list(latest)[-MOST:] if (rate := _rate(line)) is not None]
    unit = rates[-1][1] if rates else ""
    return _spark([value for value, of in rates if of == unit], unit, "the latest trials")


def of_summary(manifest: run_text.Keys) -> Spark | None:
    """Returns the medians by number of tasks of the first curve that the end of the run kept with more than one."""
    kept = run_text.table(manifest, "summary").get("points")
    curves: dict[tuple[str, str], list[tuple[int, float]]] = {}
    metrics: dict[tuple[str, str], str] = {}
    for point in kept if isinstance(kept, list) else ():
        median = _number(point.get("median")) if isinstance(point, dict) else None
        if median is None:
            continue
        name = run_text.text(point.get("op")), run_text.text(point.get("group"))
        curves.setdefault(name, []).append((run_text.count(point, "tasks"), median))
        metrics[name] = OPERATIONS if point.get("metric") == OPERATIONS else BANDWIDTH
    for (op, group), curve in curves.items():
        if len(curve) > 1:
            unit = "B/s" if metrics[op, group] == BANDWIDTH else "operations/s"
            most = max(tasks for tasks, _ in curve)
            return _spark([median for _, median in sorted(curve)[:MOST]], unit, f"{op} by up to {most:,} tasks")
    return None


def _rate(line: TrialLine) -> tuple[float, str] | None:
    try:
        value, unit = records.headline(line)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    rate = _number(value)
    return (rate, unit) if line.get("status") == "ok" and rate is not None else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _LARGEST else None


def _spark(values: Sequence[float], unit: str, what: str) -> Spark | None:
    """None where there is nothing to see: of one value, or of none above 0."""
    most = max(values, default=0.0)
    if len(values) < 2 or most <= 0:
        return None
    low, high = (units.headline(value, unit) for value in (min(values), most))
    return {"heights": [round(value / most, 3) for value in values], "told": f"{what}: {low} to {high}"}
