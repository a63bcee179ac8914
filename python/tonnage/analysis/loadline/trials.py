"""Where a trial becomes steady, by a named rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tonnage.records.intervals import sums

RULE = "MSER-5 (White 1997)"
_BATCH = 5
_LEAST_BATCHES = 10
"""Below this many batches of five, single intervals are used (MSER-1): a trial of a second has ten."""
_LEAST_INTERVALS = 5
_APART, _APART_NOISES = 0.15, 5.0
"""Halves of a trial are two rates where they differ by so much, and by so many times the noise between trials."""


@dataclass(frozen=True, slots=True)
class Steady:
    """A steady window of a trial, in nanoseconds from its first start."""

    start_ns: int
    end_ns: int
    inside_per_s: int
    """Rate inside the window."""
    whole_per_s: int
    """Rate over the whole series."""


def of_tasks(series: Mapping[str, Sequence[int]], chosen: Collection[int]) -> dict[str, list[int]]:
    """The rows of ``chosen`` tasks only."""
    kept = [row for row, task in enumerate(series["task"]) if task in chosen]
    return {name: [column[row] for row in kept] for name, column in series.items()}


def intervals(series: Mapping[str, Sequence[int]], column: str = "bytes") -> list[tuple[int, int, int]]:
    """``(start_ns, end_ns, bytes)`` of all tasks, or another ``column``. A last one cut short joins the one before."""
    rows = [(start, end, moved) for start, end, moved in sums(series, (column,))]
    if len(rows) > 1 and 2 * (rows[-1][1] - rows[-1][0]) < rows[0][1] - rows[0][0]:
        start, _, moved = rows[-2]
        rows[-2:] = [(start, rows[-1][1], moved + rows[-1][2])]
    return rows


def halves_apart(series: Mapping[str, Sequence[int]], noise: float, turns: float) -> tuple[float, float] | None:
    """Rates of the first and the second half of a trial, in bytes per second, where they are further apart than its
    parts of the usual ``noise`` are: a trial of two rates, not of one. The last interval, in which tasks end, is left
    out. ``turns``: operations for each that is in flight; as tasks that began together end together, one half may hold
    one more of them than the other."""
    body = intervals(series)[:-1] if series else []
    if len(body) < 2 * _LEAST_INTERVALS:
        return None
    before, after = (_rate(half) for half in (body[: len(body) // 2], body[len(body) // 2 :]))
    least = max(_APART, _APART_NOISES * noise, 4 / max(turns, 1))
    apart = abs(before - after) > least * max(before, after)
    return (before, after) if apart else None


def steady_window(series: Mapping[str, Sequence[int]], column: str = "bytes") -> Steady | None:
    """The window that the rule leaves; None for fewer than five intervals, or where half would have to go.

    The last interval is never inside: tasks end in it, one after the other, and no new operation starts.
    """
    rows = intervals(series, column)
    body = rows[:-1]
    if len(body) < _LEAST_INTERVALS:
        return None
    batch = _BATCH if len(body) >= _BATCH * _LEAST_BATCHES else 1
    rates = [moved * 1e9 / (end - start) for start, end, moved in body]
    first = truncation([sum(rates[i : i + batch]) / batch for i in range(0, len(rates) - batch + 1, batch)])
    if first is None:
        return None
    inside = body[first * batch :]
    return Steady(inside[0][0], inside[-1][1], _rate(inside), _rate(rows))


def truncation(values: Sequence[float]) -> int | None:
    """MSER: how many first values to leave out so that the squared standard error of the mean of the rest is smallest.

    At most half may go. None where the best cut is that half: it would rather go further, so nothing settled.
    """
    limit = len(values) // 2
    best, best_error = limit, float("inf")
    mean, squares = 0.0, 0.0
    # From the end, so that the variance of each tail is the one before it and one value more (Welford 1962).
    for count, start in enumerate(range(len(values) - 1, -1, -1), 1):
        delta = values[start] - mean
        mean += delta / count
        squares += delta * (values[start] - mean)
        if start <= limit and squares / count**2 <= best_error:
            best, best_error = start, squares / count**2
    return best if best < limit else None


def _rate(rows: Sequence[tuple[int, int, int]]) -> int:
    elapsed = rows[-1][1] - rows[0][0]
    return sum(moved for _, _, moved in rows) * 10**9 // elapsed
