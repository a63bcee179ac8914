"""Checks of trials: when one becomes steady, by a named rule; whether it was too short to show a rate; and whether
equal trials ran at two speeds, some at about one rate, the others at a lower one, and few between.

The median of trials of two speeds is that of the more frequent one, or lies anywhere between where both are as
frequent: it is a fact about chance, not about the storage.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from tonnage.analysis.results import Point
from tonnage.records import Trials
from tonnage.records.intervals import sums
from tonnage.records.line_types import StopReason, TrialLine
from tonnage.units import plural, time_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RULE = "MSER-5 (White 1997)"
_BATCH = 5
_LEAST_BATCHES = 10
"""Below this many batches of five, single intervals are used (MSER-1): a trial of a second has ten."""
_LEAST_INTERVALS = 5
_APART, _APART_NOISES = 0.15, 5.0
"""Halves of a trial are two rates where they differ by so much, and by so many times the noise between trials."""


ENDED_BY_FAILURE = "measuring ended because a trial failed"
"""Why an answer is not shown: more time would not show it."""


@dataclass(frozen=True, slots=True)
class Steady:
    """A steady window of a trial, in nanoseconds from its first start."""

    start_ns: int
    end_ns: int
    inside_per_s: int
    """Rate inside the window."""
    whole_per_s: int
    """Rate over the whole series."""


def stopped_by(points: Sequence[Point]) -> StopReason | None:
    """Why no more of a curve was measured, where its points have one reason."""
    reasons = {point.stopped for point in points} - {"aside"}
    return reasons.pop() if len(reasons) == 1 else None


def of_tasks(series: Mapping[str, Sequence[int]], chosen: Collection[int]) -> dict[str, list[int]]:
    """Returns the rows of ``chosen`` tasks only."""
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
    for length, start in enumerate(range(len(values) - 1, -1, -1), 1):
        delta = values[start] - mean
        mean += delta / length
        squares += delta * (values[start] - mean)
        if start <= limit and squares / length**2 <= best_error:
            best, best_error = start, squares / length**2
    return best if best < limit else None


def _rate(rows: Sequence[tuple[int, int, int]]) -> int:
    elapsed = rows[-1][1] - rows[0][0]
    return sum(moved for _, _, moved in rows) * 10**9 // elapsed


TURNS = 3
"""Operations that a task does at least, for each that it keeps in flight: the first of them begin on an idle storage,
and the last ones end after the time was up."""
_LEAST_NS = 100_000_000
"""A trial that its files end: storage that saves up rate, as the kernel's throttle does for a tenth of a second, is not
told from one that is so fast."""


_ALWAYS_CACHED = ("mmap", "mpiio")
"""Storages that take no ``--direct yes``."""


def too_short(curve: Mapping[int, Trials]) -> str:
    """Why trials of a load line, by their number of tasks, tell no rate; empty where all do."""
    for tasks, lines in sorted(curve.items(), reverse=True):
        slow = [line for line in lines if _hardly_began(line)]
        if slow:
            waits = [_wait_ns(line) for line in slow]
            return (
                f"an operation with {plural(tasks, 'task')} takes {time_text(median(waits))}, and a trial "
                f"{time_text(slow[0]['setting']['time_limit_ns'])}: too short to tell a rate; a longer --budget, a "
                "smaller --transfer, or fewer tasks (--max-tasks) may show it"
            )
    for tasks, lines in sorted(curve.items()):
        over = [line["elapsed_ns"] or 0 for line in lines if line["stop_reason"] == "size"]
        if over and median(over) < _LEAST_NS:
            past_cache = lines[0]["setting"].get("storage") not in _ALWAYS_CACHED
            ways = "more room (--space), a longer --budget, or --direct yes"
            return (
                f"a trial with {plural(tasks, 'task')} was over in {time_text(median(over))}, with all that its files "
                f"hold: too short to tell a rate; {ways if past_cache else 'more room (--space) or a longer --budget'} "
                "may show it"
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


FALSE_ALARM = 0.0025
"""Probability of this finding for trials of one speed under log-normal noise."""
FEWEST = 3
"""Trials of either speed."""
LEAST_SHARE = 0.15
"""Of the rarer speed: what is rarer is an outlier, which the median does not mind."""
APART = 5.0
"""Distance of the two speeds in standard deviations of trials of one."""
_LEAST_FREEDOM = 6
_DRAWS = 400
_STEPS = 40
_NEAREST, _FURTHEST = 0.07, 2.0
"""Distances (logarithm) that are tried."""
_NOTHING = 1e-12
_MOST_SPLITS = 1000
"""Of the trials of a point into slow and fast that are tried; of more trials, evenly spaced ones."""
_MOST_DRAWN = 1 << 20
"""Normal values that are held at a time."""


@dataclass(frozen=True, slots=True)
class TwoSpeeds:
    """What the trials of a curve fall into."""

    slow: int
    """Trials at the lower speed, of those with a faster one of as many tasks beside them."""
    trials: int
    """Those at either speed, of numbers of tasks at which both were seen."""
    speed: float
    """The lower as a share of the higher."""


def two_speeds(values: Mapping[int, Sequence[float]]) -> TwoSpeeds | None:
    """Of ``values``, tasks → throughput of each repetition; None where one speed explains them.

    For each distance of the two speeds, each number of tasks deals its trials out to both so that the least scatter
    is left. The distance that leaves least is judged by how much less that is than the scatter of one speed, against
    the same of normal draws with as many repetitions each (parametric bootstrap), whatever their noise.
    """
    import numpy as np

    logs = [np.sort(np.log(np.asarray(rates, dtype=float))) for rates in values.values() if len(rates) > 1]
    freedom = sum(map(len, logs)) - len(logs)
    if freedom < _LEAST_FREEDOM:
        return None
    steps = np.geomspace(_NEAREST, _FURTHEST, _STEPS)
    left, slow = _scatter([y[None, :] for y in logs], steps)
    best = int(left[0].argmin())
    one = sum(float(((y - y.mean()) ** 2).sum()) for y in logs)
    deviation = math.sqrt(max(float(left[0, best]), _NOTHING) / max(freedom - 1, 1))
    counts = [(int(k[0, best]), len(y)) for k, y in zip(slow, logs, strict=True) if 0 < k[0, best] < len(y)]
    lower, both = sum(k for k, _ in counts), sum(n for _, n in counts)
    fewer = min(lower, both - lower)
    if fewer < FEWEST or fewer < LEAST_SHARE * sum(map(len, logs)) or steps[best] < APART * deviation:
        return None
    if _chance([len(y) for y in logs], one / max(float(left[0, best]), _NOTHING), deviation, steps) > FALSE_ALARM:
        return None
    return TwoSpeeds(lower, both, math.exp(-float(steps[best])))


def _scatter(logs: Sequence[Floats], steps: Floats) -> tuple[Floats, list[Floats]]:
    """The squares that are left at each distance (draws × steps), and how many trials of each point are slow then.

    ``logs``: of each point, sorted, draws × repetitions. Moving the k lowest of n up by d adds
    2·d·Σ(y − mean) + d²·k·(n − k)/n to the squares.
    """
    import numpy as np

    total = np.zeros((len(logs[0]), len(steps)))
    slow = []
    for y in logs:
        n = y.shape[1]
        rest = y - y.mean(axis=1, keepdims=True)
        lowest = np.concatenate([np.zeros((len(y), 1)), rest.cumsum(axis=1)[:, :-1]], axis=1)
        k = np.arange(n) if n <= _MOST_SPLITS else np.linspace(0, n - 1, _MOST_SPLITS).round().astype(int)
        squares = (rest**2).sum(axis=1)[:, None, None] + 2 * steps[:, None] * lowest[:, None, k]
        squares = squares + steps[:, None] ** 2 * (k * (n - k) / n)
        total += squares.min(axis=2)
        slow.append(k[squares.argmin(axis=2)])
    return total, slow


def _chance(repetitions: Sequence[int], gain: float, deviation: float, steps: Floats) -> float:
    """How often normal trials of one speed gain as much by being dealt out to two."""
    import numpy as np

    random = np.random.default_rng(2)
    # Their scatter is what is to be explained, so that the distances tried are as far as in the trials.
    scale = deviation * math.sqrt(gain)
    gains = []
    at_once = max(1, min(_DRAWS, _MOST_DRAWN // sum(repetitions)))
    for first in range(0, _DRAWS, at_once):
        draws = min(at_once, _DRAWS - first)
        drawn = [np.sort(scale * random.standard_normal((draws, n)), axis=1) for n in repetitions]
        left, _ = _scatter(drawn, steps)
        one = np.sum([((y - y.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for y in drawn], axis=0)
        gains.append(one / np.maximum(left.min(axis=1), _NOTHING))
    return float((np.concatenate(gains) >= gain).mean())
