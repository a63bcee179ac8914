"""Where a percentile of the latency passes an objective: the largest load whose percentile stays within it.

A load is a number of tasks, or an offered rate. Its latency is the median over trials of the trial's own percentile,
so that each trial is one value however many operations it did. Nothing is assumed of the curve between two measured
loads but that latency does not fall where the load grows. Then the mean over loads from one on upwards is at least the
latency there, and the mean over loads up to one at most it: trials of neighbours tell of a load, and no curve is
fitted. Where the measurements show that latency falls somewhere, each load is judged by its own trials.

A bound is claimed where Student's t of the logarithms says so and, as a median is meant, a sign test of the same trials
does as well (Dixon and Mood 1946), unless they are far from the objective. Loads are claimed one after the other, from
the smallest on upwards or from the largest on downwards, and the first that is not shown ends it: so many tests err no
more often than one (Maurer, Hothorn and Lehmacher 1995).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from tonnage.analysis.load_line.trial_checks import ENDED_BY_FAILURE, stopped_by, two_speeds
from tonnage.analysis.results import LatencyLine, LoadLine, Point
from tonnage.analysis.statistics.intervals import (
    CONFIDENCE,
    fair_binomial_cdf,
    median_interval,
    pooled_noise,
    student_t,
)
from tonnage.records import Trials
from tonnage.records.latency import least_operations
from tonnage.records.line_types import Json, TrialLine
from tonnage.units import BANDWIDTH, WIDE, plural, rate_text, share, time_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Latencies = Mapping[int, Sequence[float]]
"""Load → percentile of each of its trials, in any unit, or anything else that does not fall where the load grows."""
Waits = Mapping[int, Sequence[Mapping[str, int]]]
"""Load → latency summary of each of its trials."""
OBJECTIVES = ("p99_ns", "p999_ns")
OFFERED = "offered"
"""Purpose of a trial of an offered rate: it is no repetition of a point."""

_PRIOR_NOISE, _PRIOR_WEIGHT = 0.01, 1.0
"""The prior for the noise of a trial: 1 %, with the weight of one repetition."""
_SHARED_WEIGHT = 6.0
"""How many repetitions the noise of all loads is worth beside a load's own."""
_COMPARED = 0.97
"""Confidence of one comparison with the objective: as the best of several neighbourhoods is taken, the whole answer
has less."""
_SIGN = 0.12
"""Chance by which so many trials or more would lie on one side of their median; five of six, seven of nine."""
_SIGN_ALONE = 0.032
"""The same where nothing else is asked; five of five, eight of nine."""
_OWN, _SURELY = 3, 0.99
"""So many trials of one rate may show it by themselves, with this confidence."""
_FAR = 3.0
"""So many times the noise of a trial from the objective, no sign test is asked."""
_BEYOND_PLATEAU = 0.03
"""An offered rate so far above the plateau is more than the storage does, whatever the plateau's own error."""
_FALLS = 0.05
"""Chance that of all pairs of loads one is said to have less latency with the larger load, and none has."""


class Plateau(NamedTuple):
    """What a storage reaches without a limit, with its interval: bytes per second."""

    low: float
    rate: float
    high: float


def plateau_of(line: LoadLine) -> Plateau | None:
    """Returns the plateau that offered rates are held against; None where none was shown."""
    if line.plateau_bytes_per_s is None or line.plateau_low is None or line.plateau_high is None:
        return None
    return Plateau(line.plateau_low, line.plateau_bytes_per_s, line.plateau_high)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Measured loads around the objective; None where there is none."""

    meets: int | None
    """The largest whose latency, and that of every smaller one, is estimated to be within the objective."""
    exceeds: int | None
    """The next larger one."""
    shown_within: int | None
    """The largest that is shown to be within it, with all smaller ones."""
    shown_above: int | None
    """The smallest that is shown to be above it, with all larger ones."""
    noise: float
    """Relative noise of one trial, pooled over all loads."""
    gap: float
    """Logarithm of the estimated latency of ``exceeds`` over that of ``meets``; 0 without both."""
    falls: tuple[int, int] | None
    """Two loads of which the larger one is shown to have the smaller latency."""


@dataclass(frozen=True, slots=True)
class _Levels:
    """Measured loads in order; logarithms of latency over objective."""

    loads: list[int]
    trials: list[Floats]
    level: Floats
    weight: Floats
    """Trials over their variance."""
    noise: float
    t: float
    degrees: float


def crossing(values: Latencies, objective: float, *, offered: bool = False) -> Crossing:
    """Where ``values`` pass ``objective`` (in their unit); at least one load, each with at least one trial, all
    positive. ``offered``: loads are rates. Near what a storage can do, latency then has another noise at each of them,
    so only signs are asked."""
    levels = _levels_of(values, objective)
    falls = None if offered else _falls(levels)
    show = _shown_by_signs if offered else _shown
    loads, count = levels.loads, len(levels.loads)
    fit = levels.level if falls else _rising(levels.level, levels.weight)
    met = len(list(takewhile(lambda level: level <= 0, fit)))
    within = list(takewhile(lambda i: show(levels, i, bool(falls), within=True), range(count)))
    above = list(takewhile(lambda i: show(levels, i, bool(falls), within=False), reversed(range(count))))
    return Crossing(
        meets=loads[met - 1] if met else None,
        exceeds=loads[met] if met < count else None,
        shown_within=loads[within[-1]] if within else None,
        shown_above=loads[above[-1]] if above else None,
        noise=levels.noise,
        gap=float(fit[met] - fit[met - 1]) if 0 < met < count else 0.0,
        falls=falls,
    )


def _levels_of(values: Latencies, objective: float) -> _Levels:
    import numpy as np

    loads = sorted(values)
    trials = [np.log(np.asarray(values[load], dtype=float) / objective) for load in loads]
    squares = np.array([float(((y - y.mean()) ** 2).sum()) for y in trials])
    own = np.array([len(y) - 1.0 for y in trials])
    degrees = _PRIOR_WEIGHT + float(own.sum())
    variance = (_PRIOR_WEIGHT * _PRIOR_NOISE**2 + float(squares.sum())) / degrees
    each = (_SHARED_WEIGHT * variance + squares) / (_SHARED_WEIGHT + own)
    return _Levels(
        loads=loads,
        trials=trials,
        level=np.array([float(y.mean()) for y in trials]),
        weight=(own + 1) / each,
        noise=math.sqrt(variance),
        t=student_t(_COMPARED, degrees),
        degrees=degrees,
    )


def _falls(levels: _Levels) -> tuple[int, int] | None:
    """The pair of loads that shows it best: by Student's t as the best of all pairs (Bonferroni); and, as a percentile
    may have any noise, only where each of the trials lies on its side of the other load's median."""
    import numpy as np

    error = 1 / levels.weight
    pairs = [
        (float(levels.level[i] - levels.level[j]) / math.sqrt(error[i] + error[j]), levels.loads[i], levels.loads[j])
        for j in range(len(levels.loads))
        for i in range(j)
        if levels.trials[j].max() < np.median(levels.trials[i]) and np.median(levels.trials[j]) < levels.trials[i].min()
    ]
    every = math.comb(len(levels.loads), 2)
    most, smaller, larger = max(pairs, default=(0.0, 0, 0))
    return (smaller, larger) if pairs and most > student_t(1 - 2 * _FALLS / every, levels.degrees) else None


def _shown(levels: _Levels, i: int, alone: bool, *, within: bool) -> bool:
    """Whether load number ``i`` is shown to be within the objective, or above it: by its own trials, or by them and
    those of any number of neighbours that can have no less (no more) of it."""
    import numpy as np

    side = -1.0 if within else 1.0
    last = i if alone else (len(levels.loads) - 1 if within else 0)
    total = weights = 0.0
    count = beyond = 0
    for j in range(i, last + 1) if within else range(i, last - 1, -1):
        total += float(levels.weight[j] * levels.level[j])
        weights += float(levels.weight[j])
        count += len(levels.trials[j])
        # What equals the objective is within it.
        beyond += int(np.sum(levels.trials[j] <= 0 if within else levels.trials[j] > 0))
        distance = side * total / weights
        signs = _chance(count, beyond) <= _SIGN or distance > _FAR * levels.noise
        if signs and distance >= levels.t / math.sqrt(weights):
            return True
    return False


def _shown_by_signs(levels: _Levels, i: int, alone: bool, *, within: bool) -> bool:
    """The same by the sign test alone, or by what a load's own trials are far from."""
    side, own = -1.0 if within else 1.0, levels.trials[i]
    error = math.sqrt((_PRIOR_NOISE**2 + float(((own - own.mean()) ** 2).sum())) / len(own) / len(own))
    if len(own) >= _OWN and side * levels.level[i] >= student_t(_SURELY, len(own)) * error:
        return True
    trials = levels.trials[i : i + 1] if alone else levels.trials[i:] if within else levels.trials[i::-1]
    count = beyond = 0
    for values in trials:
        count += len(values)
        beyond += sum(bool(value <= 0) == within for value in values)
        if _chance(count, beyond) <= _SIGN_ALONE:
            return True
    return False


@lru_cache(maxsize=4096)
def _chance(count: int, beyond: int) -> float:
    """Of ``beyond`` or more of ``count`` trials on one side of their median."""
    # As many heads at least as tails at most.
    return fair_binomial_cdf(count - beyond, count)


def _rising(level: Floats, weight: Floats) -> Floats:
    """The rising levels that are nearest (Ayer and others 1955: neighbours that fall are pooled)."""
    import numpy as np

    pools: list[tuple[float, float, int]] = []
    for new in zip(level.tolist(), weight.tolist(), [1] * len(level), strict=True):
        pools.append(new)
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (y, w, n), (x, v, m) = pools.pop(), pools.pop()
            pools.append(((v * x + w * y) / (v + w), v + w, n + m))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])


def latency_line(
    percentile: str,
    objective_ns: int,
    waits: Waits,
    *,
    rates_with: int | None = None,
    plateau: Plateau | None = None,
    failed: bool = False,
) -> LatencyLine:
    """The answer for one objective. ``waits``: of each load at least one trial; ``rates_with``: loads are rates that
    were offered to so many tasks, of a storage with this ``plateau`` (both in bytes per second); ``failed``: no more
    was measured, for a trial failed."""
    values: Latencies = latencies(waits, percentile)
    if rates_with is not None and plateau:
        values = sustained(values, objective_ns, plateau.rate)
    found = crossing(values, objective_ns, offered=rates_with is not None)
    words = _AnswerText(percentile, objective_ns, values, found, rates_with, plateau, failed)
    # Of whole numbers the one before the first that exceeds it is the last that may not.
    least_above = found.shown_above if rates_with or found.shown_above is None else found.shown_above - 1
    first, last = min(values), max(values)
    # Of tasks, fewer than the fewest measured may still keep it.
    none = found.shown_above == first and (rates_with is not None or first == 1)
    low, high = found.shown_within or 0, 0 if none else least_above
    most = last if high is None else high
    if rates_with is not None and plateau and not none:
        # Above the plateau a queue grows for as long as the rate is offered, however little of that a trial saw.
        low, most = min(low, int(plateau.low)), min(most, round(plateau.rate))
        above = math.ceil(plateau.high)
        high = above if high is None else min(above, high)
    largest = max(low, min(found.meets or 0, most))
    floor_ns = min((wait.get("min_ns", 0) for wait in waits[first]), default=0)
    few = _too_few(percentile, waits, found) if floor_ns <= objective_ns or first > 1 else ""
    if not few and rates_with is None:
        few = _two_kinds(values, objective_ns, found)
    if floor_ns > objective_ns and not few and (rates_with is not None or first == 1):
        none, low, high, largest = True, 0, 0, 0
    return LatencyLine(
        percentile=percentile,
        objective_ns=objective_ns,
        load=BANDWIDTH if rates_with else "tasks",
        shown=not few and (none or bool(low and (high is not None or low == last))),
        largest=largest,
        low=0 if few else low,
        high=None if few else high,
        exceeds=found.exceeds,
        confidence=CONFIDENCE,
        trials=sum(map(len, values.values())),
        why=words.not_shown(few) if few else words.answer(largest, low, high),
        tasks=rates_with,
        plateau_share=largest / plateau.rate if rates_with and plateau else None,
    )


def latencies(waits: Waits, percentile: str) -> dict[int, list[int]]:
    """One percentile of each trial, where it was recorded."""
    found = {load: [wait[percentile] for wait in trials if wait.get(percentile)] for load, trials in waits.items()}
    return {load: values for load, values in found.items() if values}


def sustained(values: Latencies, objective_ns: int, plateau: float) -> dict[int, list[float]]:
    """Latencies of offered rates; where a storage that reaches ``plateau`` cannot keep up with one, its queue grows for
    as long as the rate is offered, and a trial that ends before it is long does not keep the objective either."""
    most = (1 + _BEYOND_PLATEAU) * plateau
    return {
        rate: [max(value, 2.0 * objective_ns) for value in trials] if rate > most else list(trials)
        for rate, trials in values.items()
    }


def _too_few(percentile: str, waits: Waits, found: Crossing) -> str:
    """Why the trials that decide cannot tell the percentile; empty where they can."""
    least = least_operations(percentile)
    counts = [statistics.median(wait["count"] for wait in waits[load]) for load in _deciding(found)]
    if min(counts) >= least:
        return ""
    return (
        f"a trial has {min(counts):.0f} operations, and {name_of(percentile)} needs {least}; "
        "more of them are in longer trials (--budget, up to 5 s each) or with a smaller --transfer"
    )


def _deciding(found: Crossing) -> set[int]:
    """Loads whose trials the answer rests on."""
    return {found.meets, found.exceeds, found.shown_within, found.shown_above} - {None}  # type: ignore[return-value]


def _two_kinds(values: Latencies, objective_ns: int, found: Crossing) -> str:
    """Why trials that ran at two speeds cannot tell, where the objective lies between some of one load; else empty."""
    between = any(min(values[load]) <= objective_ns < max(values[load]) for load in _deciding(found))
    kinds = two_speeds({load: [1 / wait for wait in waits] for load, waits in values.items()}) if between else None
    if kinds is None:
        return ""
    return (
        f"equal trials ran at two speeds ({kinds.slow} of {kinds.trials} waited {share(1 / kinds.speed)} as long as "
        "the others), so that a median is that of the more frequent one; what slows them must be found first"
    )


def name_of(percentile: str) -> str:
    """Returns the name of a percentile, such as ``p99`` or ``p99.9``."""
    return {"p999_ns": "p99.9"}.get(percentile, percentile.removesuffix("_ns"))


@dataclass(frozen=True, slots=True)
class _AnswerText:
    """The sentences of one answer."""

    percentile: str
    objective_ns: int
    values: Latencies
    found: Crossing
    rates_with: int | None
    plateau: Plateau | None
    failed: bool

    @property
    def objective(self) -> str:
        return f"{name_of(self.percentile)} within {time_text(self.objective_ns)}"

    def load(self, load: int) -> str:
        """``8 tasks``, ``1.2 GB/s offered to 8 tasks``."""
        if not self.rates_with:
            return plural(load, "task")
        return f"{rate_text(load)} offered to {plural(self.rates_with, 'task')}"

    def interval(self, low: int, high: int) -> str:
        return f"[{rate_text(low)}, {rate_text(high)}]" if self.rates_with else f"[{low}, {high}]"

    def wait(self, load: int) -> str:
        """``8.34 ms [8.31, 8.37]``: measured with a load."""
        noise = pooled_noise(list(self.values.values()))
        middle, low, high, confidence = median_interval(sorted(self.values[load]), curve=noise)
        is_narrow = confidence and high <= WIDE * low
        return f"{time_text(middle)} [{time_text(low)}, {time_text(high)}]" if is_narrow else time_text(middle)

    def answer(self, largest: int, low: int, high: int | None) -> str:
        first, last = min(self.values), max(self.values)
        falls = self.falls()
        if high == 0:
            return f"not even {self.load(first)} keeps {self.objective}: {self.wait(first)} was measured{falls}"
        if low and high is not None:
            keeps = "keeps" if largest == 1 or self.rates_with else "keep"
            of = f" ({share(largest / self.plateau.rate)} of the plateau)" if self.rates_with and self.plateau else ""
            # Nothing is known of numbers between: latency falls where throughput has a stair.
            of += "" if self.rates_with or self.values.keys() >= {*range(1, largest)} else ", of the numbers measured"
            return f"up to {self.load(largest)} {self.interval(low, high)} {keeps} {self.objective}{of}{falls}"
        if low == last:
            return f"at least {self.load(last)}, the largest measured, keep {self.objective}{falls}"
        if low:
            more = f"a longer --budget{'' if self.rates_with else ', or more tasks (--max-tasks),'} may show it"
            return self.not_shown(
                f"{self.load(low)} keep it, and {self.load(last)} may, with {self.wait(last)}; "
                f"{ENDED_BY_FAILURE if self.failed else more}{falls}"
            )
        more = ENDED_BY_FAILURE if self.failed else "a longer --budget may show it"
        return self.not_shown(f"{self.load(first)} may keep it, with {self.wait(first)}; {more}{falls}")

    def not_shown(self, why: str) -> str:
        what = "which offered rate keeps" if self.rates_with else "how many tasks keep"
        return f"not shown {what} {self.objective}: {why}"

    def falls(self) -> str:
        """What contradicts that latency does not fall; empty where nothing does."""
        if self.found.falls is None:
            return ""
        smaller, larger = self.found.falls
        return (
            f"; latency falls from {self.wait(smaller)} with {self.load(smaller)} to {self.wait(larger)} with {larger}"
        )


def _recorded(line: TrialLine) -> Json:
    return line["latency"] or {}


def latency_lines(
    search: Json,
    points: Sequence[Point],
    trials: Trials,
    plateau: Plateau | None,
    wait_of: Callable[[TrialLine], Json] = _recorded,
) -> tuple[LatencyLine, ...]:
    """One for each objective of ``search`` (of a manifest), from the trials of one curve, or of the rates that were
    offered to it. ``wait_of``: the latency summary of a trial."""
    objectives = {key: search[key] for key in OBJECTIVES if search.get(key)}
    if not objectives:
        return ()
    with_tasks = None
    waits: dict[int, list[Mapping[str, int]]] = {}
    if search.get("open_loop"):
        for line in trials.where("purpose", OFFERED).where("phase", points[0].op).where("status", "ok"):
            waits.setdefault(line["setting"]["rate_bytes_per_s"], []).append(wait_of(line))
            with_tasks = line["setting"]["tasks"]
    else:
        waits = {point.tasks: [wait_of(line) for line in trials.named(point.records)] for point in points}
    failed = stopped_by(points) == "failed"
    return tuple(
        latency_line(key, objective_ns, waits, rates_with=with_tasks, plateau=plateau, failed=failed)
        for key, objective_ns in objectives.items()
        if latencies(waits, key)
    )
