"""The intervals of a series, summed over tasks."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

Interval = tuple[int, ...]
"""``start_ns``, ``end_ns``, and a sum for each column that was asked for."""


def sums(columns: Mapping[str, Sequence[int]], names: Sequence[str]) -> list[Interval]:
    """What all tasks did in each interval, in order of time; ``names`` are columns such as ``bytes``.

    The tasks of one process are sampled at once, so they have the same intervals. Those of several processes do not:
    then the intervals are those of the first task, and what others did in one of theirs is shared out over these by
    time. No byte is lost or counted twice.
    """
    total: dict[tuple[int, int], list[int]] = {}
    moved = [columns.get(name, ()) for name in names]
    for (start, end), first, behind in _runs(columns.get("start_ns", ()), columns.get("end_ns", ())):
        sums_here = total.setdefault((start, end), [0] * len(names))
        for index, column in enumerate(moved):
            sums_here[index] += sum(column[first:behind])
    rows = [(start, end, *sums_here) for (start, end), sums_here in sorted(total.items()) if end > start]
    if all(one[1] <= other[0] for one, other in itertools.pairwise(rows)):
        return rows
    return _shared_out(rows, _edges(columns, max(row[1] for row in rows)))


def _runs(starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Bounds, first row and the row behind the last, of rows with the same bounds that stand together: tasks of one
    process are written so, and of thousands of them each row is a step too many."""
    first, bounds = 0, None
    for row, here in enumerate(zip(starts, ends, strict=True)):
        if here != bounds:
            if bounds is not None:
                yield bounds, first, row
            first, bounds = row, here
    if bounds is not None:
        yield bounds, first, len(starts)


def _edges(columns: Mapping[str, Sequence[int]], last: int) -> list[int]:
    """Bounds of the first task's intervals, and of one more where others went on."""
    first = min(columns["task"])
    bounds = zip(columns["task"], columns["start_ns"], columns["end_ns"], strict=True)
    edges = sorted({edge for task, start, end in bounds if task == first for edge in (start, end)})
    return [*edges, last] if last > edges[-1] else edges


def _shared_out(rows: Sequence[Interval], edges: Sequence[int]) -> list[Interval]:
    cells = [[0] * (len(rows[0]) - 2) for _ in edges[1:]]
    for start, end, *moved in rows:
        cell = max(0, bisect_right(edges, start) - 1)
        given = [0] * len(moved)
        while cell < len(cells):
            # Up to here, not from edge to edge: so the roundings add up to nothing.
            until = min(end, edges[cell + 1])
            for index, value in enumerate(moved):
                part = value * (until - start) // (end - start)
                cells[cell][index] += part - given[index]
                given[index] = part
            if until == end:
                break
            cell += 1
    return [(start, end, *cell) for start, end, cell in zip(edges, edges[1:], cells, strict=False)]
