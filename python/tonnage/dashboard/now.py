"""The phase that runs now, as a run tells of it: throughput and latency so far. What is told may hold anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tonnage.dashboard import run_text as words
from tonnage.report.figures import series

HEAT = ("start_ns", "end_ns", "low_ns", "high_ns", "count")
"""Columns of ``heat/*.parquet``."""
_MOST_INTERVALS = 80
_MOST_CELLS = 10_000
_LARGEST = 1 << 62

Interval = tuple[int, int, int, int]


def step(told: words.Keys | None, lines: Sequence[Mapping[str, Any]]) -> words.Keys:
    """Which phase it is; empty where none runs, or its record is among ``lines`` already."""
    found = words.table(told or {}, "step")
    names = ("trial", "phase")
    ended = (line for line in lines if line["status"] == "ok")
    return {} if any(all(line[name] == found.get(name) for name in names) for line in ended) else found


def intervals(told: words.Keys | None) -> list[Interval]:
    """Start, end, bytes and operations from one sample to the next."""
    samples = (told or {}).get("samples")
    found: list[Interval] = []
    before = (0, 0, 0)
    for sample in samples if isinstance(samples, list) else ():
        if not isinstance(sample, list) or len(sample) < 3 or any(type(value) is not int for value in sample[:3]):
            return []
        elapsed, moved, operations = sample[:3]
        if elapsed > before[0]:
            found.append((before[0], elapsed, max(moved - before[1], 0), max(operations - before[2], 0)))
            before = (elapsed, moved, operations)
    return series.thinned(found, _MOST_INTERVALS) if found else []


def heat(told: words.Keys | None) -> dict[str, list[int]]:
    """Operations by interval and latency; empty where that is not told, or is no such table."""
    columns = words.table(told or {}, "heat")
    found: dict[str, list[int]] = {}
    for name in HEAT:
        column = columns.get(name)
        if not isinstance(column, list) or len(column) > _MOST_CELLS:
            return {}
        if any(type(value) is not int or not 0 <= value < _LARGEST for value in column):
            return {}
        found[name] = column
    if len({len(column) for column in found.values()}) > 1:
        return {}
    rows = zip(*found.values(), strict=True)
    is_table = all(start < end and low < high and count for start, end, low, high, count in rows)
    return found if is_table else {}
