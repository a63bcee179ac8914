"""The load line: the smallest number of tasks whose median throughput is within 5 % of the plateau.

The plateau is the highest median of any number of tasks up to the largest measured. How the curve runs is not known, so
many shapes are weighed by how well they explain the measurements (:mod:`.curve_hypotheses`); draws from that posterior
give plateau and knee together, with the uncertainty of both. A knee is never placed more exactly than between two
measured numbers, and is claimed only where the largest measured number is at least twice as large: then
throughput rises by no more than 5 % with a doubling of tasks beyond it, for else it would not be the knee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING

from tonnage.analysis.figure_texts import speed
from tonnage.analysis.load_line.curve_hypotheses import Curve, hypotheses
from tonnage.analysis.load_line.trial_checks import ENDED_BY_FAILURE, stopped_by, two_speeds
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.statistics.intervals import (
    CONFIDENCE,
    PAIRED_MOST,
    median_interval,
    median_of_pair_means,
    student_t,
)
from tonnage.records.line_types import TrialLine
from tonnage.units import BANDWIDTH, plural, rate_text, share, time_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SUSTAIN = "sustain"
"""Purpose of a long trial on the plateau."""
WITHIN = 0.95
"""The load line reaches this share of the plateau."""
BEYOND = 2
"""The largest measured number of tasks is at least so many times the knee."""
_PRIOR_NOISE, _PRIOR_WEIGHT = 0.01, 1.0
"""The prior for the noise of a trial: 1 %, with the weight of one repetition."""
_SHARED_WEIGHT = 6.0
"""How many repetitions the noise of all points is worth beside a point's own."""
_DRAWS = 2000
_CORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97, 0.99)
_CORRELATION_MASS = (1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 6.0, 8.0, 8.0)
"""Correlations of a trial with the one before it, and what each weighs: few trials show too little of a high one."""
_MUCH_ALIKE = 0.75
"""Correlation from which on trials are said to be like the ones before them."""
_NOTHING = 1e-12
"""Squares of logarithms that are nothing: a model without noise."""
_DRIFTS = 0.20
"""Error of all levels together (half an interval, logarithm) from which on the trials tell too little of a median."""
_CONFIRMING = 2
"""Numbers of tasks beyond the knee that must have been measured."""
_LEAST_FREEDOM = 3
"""Repetitions beside the first ones that a plateau needs."""
_ENOUGH_FOR_ORDER = 8
"""Trials on the plateau from which on their order gives an interval."""
_LONGER = 1.5
"""A long trial lasts so many times as long as the others before its bytes after their end are reported."""
_ALIKE = 0.4
"""Correlation of a trial with the one before it from which on long trials in a row are not independent."""
_LONG_WEIGHT = 0.2
"""How many long trials the noise of the short ones is worth, beside what the long ones show of their own."""
_FASTER = 0.10
"""Long trials that are faster than the short ones by more (logarithm) contradict them: saved-up rate makes short trials
faster, never slower."""
_DIFFERS, _COUNTS_ALONE, _MAY_DIFFER = 0.99, 0.90, 0.80
"""Confidence at which long trials are said to be slower than the short ones, at which only they count, and at which the
interval holds both."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Load line of one curve. Rates in the metric of its points; ``knee`` None where they have no plateau."""

    reached: bool
    knee: int | None
    knee_low: int
    knee_high: int
    plateau: float
    plateau_low: float
    plateau_high: float
    noise: float
    """Relative noise of one trial, pooled over all points."""
    declines: bool
    """The largest number of tasks is slower than the plateau by more than 5 %."""
    slower: tuple[int, ...]
    """Other measured numbers of tasks beyond the knee of which the same is shown."""
    why: str
    """Why it was not reached; empty where it was."""
    degrees: float = 1.0
    """Degrees of freedom that the noise is known with."""
    correlation: float = 0.0
    """Of a trial with the one before it, as far as the order of the trials is known."""
    differs: bool = False
    """The plateau is that of the long trials, which the short ones do not show."""
    shares: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Of each measured number of tasks: its share of the plateau, and the relative error of that."""


def estimate(
    values: Mapping[int, Sequence[float]],
    confidence: float = CONFIDENCE,
    order: Mapping[int, Sequence[int]] | None = None,
    *,
    searched: bool = True,
) -> Estimate:
    """Estimates the load line of ``values``: tasks → throughput of each repetition (positive). At least one point.

    ``order``: when each repetition ran among all trials, of the same form; without it they count as independent.
    ``searched``: a search chose the trials, so its options are what may show more.
    """
    import numpy as np

    curve = curve_of(values)
    levels, plateaus = _draw(curve)
    correlation, shared = _dependence(curve, values, order, _DRAWS)
    tail = (1 - confidence) / 2
    # Where the highest level lies between two measured numbers, and none of them is near it, the best one counts.
    wanted = np.minimum(plateaus + math.log(WITHIN), levels.max(axis=1))
    first = (levels >= wanted[:, None]).argmax(axis=1)
    below = np.concatenate([[0], curve.tasks])
    low = int(np.quantile(below[first] + 1, tail, method="inverted_cdf"))
    high = int(np.quantile(curve.tasks[first], 1 - tail, method="inverted_cdf"))
    expected = np.median(levels - plateaus[:, None], axis=0)
    wide = plateaus + shared
    quantiles = np.quantile(wide, (tail, 0.5, 1 - tail))
    plateau_low, plateau, plateau_high = np.exp(_with_order(quantiles, curve, values, expected, confidence))
    inside = [n for n, level in zip(curve.tasks, expected, strict=True) if n >= low and level >= math.log(WITHIN)]
    knee = min(int(inside[0]) if inside else high, high)
    slower = np.quantile(levels - plateaus[:, None], 1 - tail, axis=0) < math.log(WITHIN)
    adrift = correlation > _MUCH_ALIKE and float(np.quantile(np.abs(shared), confidence)) > _DRIFTS
    why = _speeds(values) or _why_not(curve, values, (low, high), correlation if adrift else 0.0, searched)
    return Estimate(
        reached=not why,
        knee=None if why else knee,
        knee_low=min(low, knee),
        knee_high=high,
        plateau=float(plateau),
        plateau_low=float(plateau_low),
        plateau_high=float(plateau_high),
        noise=math.sqrt(curve.variance),
        declines=bool(slower[-1]),
        slower=tuple(int(n) for n in curve.tasks[:-1][slower[:-1]] if n > knee),
        why=why,
        degrees=curve.degrees,
        correlation=correlation,
        shares={
            int(n): (math.exp(level), float(spread))
            for n, level, spread in zip(curve.tasks, expected, np.std(levels - plateaus[:, None], axis=0), strict=True)
        },
    )


def curve_of(values: Mapping[int, Sequence[float]]) -> Curve:
    """Returns the levels of ``values``, each with a weight from its own noise as far as its repetitions tell it."""
    import numpy as np

    tasks = sorted(values)
    logs = [np.log(np.asarray(values[n], dtype=float)) for n in tasks]
    squares = np.array([float(((y - y.mean()) ** 2).sum()) for y in logs])
    own = np.array([len(y) - 1.0 for y in logs])
    degrees = _PRIOR_WEIGHT + own.sum()
    variance = (_PRIOR_WEIGHT * _PRIOR_NOISE**2 + squares.sum()) / degrees
    each = (_SHARED_WEIGHT * variance + squares) / (_SHARED_WEIGHT + own)
    repetitions = np.array([len(y) for y in logs], dtype=float)
    return Curve(
        tasks=np.array(tasks),
        count=repetitions * variance / each,
        level=np.array([_centre(y) for y in logs]),
        variance=variance,
        degrees=degrees,
    )


def _centre(logs: Floats) -> float:
    """Median of the means of all pairs (Hodges and Lehmann 1963): as good as a mean, and outliers do not move it."""
    import numpy as np

    if len(logs) > PAIRED_MOST:
        return median_of_pair_means(logs)
    i, j = _pairs(len(logs))
    means = np.sort((logs[i] + logs[j]) / 2)
    middle = len(means) // 2
    return float(means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2)


@lru_cache(maxsize=64)
def _pairs(number: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    import numpy as np

    return np.triu_indices(number)


def _draw(curve: Curve) -> tuple[Floats, Floats]:
    """Logarithm of each level (draws × points) and of the plateau, in draws from their posterior."""
    return _draws_of(_CurveKey(curve))


class _CurveKey:
    """A curve by its values: what a search estimated last is what the analysis of its run estimates first."""

    __slots__ = ("_values", "curve")

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        arrays = (curve.tasks, curve.count, curve.level)
        self._values = (*(array.tobytes() for array in arrays), float(curve.variance), float(curve.degrees))

    def __hash__(self) -> int:
        return hash(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CurveKey) and self._values == other._values


@lru_cache(maxsize=2)
def _draws_of(known: _CurveKey) -> tuple[Floats, Floats]:
    import numpy as np

    curve = known.curve
    random = np.random.default_rng(0)
    found = hypotheses(curve)
    chance = np.exp(found.chance - found.chance.max())
    drawn = random.choice(len(chance), size=_DRAWS, p=chance / chance.sum())
    freedom = curve.degrees + found.freedom[drawn]
    noise = np.sqrt((curve.variance * curve.degrees + found.misfit[drawn]) / random.chisquare(freedom))
    top = found.plateau[drawn] + noise * random.standard_normal(_DRAWS) / np.sqrt(found.weight[drawn])
    free, errors = found.free[drawn] > 0, random.standard_normal((_DRAWS, len(curve.tasks)))
    fitted = top[:, None] + found.shape[drawn]
    lever = found.lever[drawn]
    fitted += noise[:, None] * lever * random.standard_normal(_DRAWS)[:, None]
    # A formula may be highest between two measured numbers, a line is at one of its ends.
    sloped = lever.any(axis=1)
    plateau = np.where(sloped, np.where(free, -np.inf, fitted).max(axis=1), top)
    own = curve.level + noise[:, None] * errors / np.sqrt(curve.count)
    levels = np.where(free, np.minimum(own, plateau[:, None]), fitted)
    levels.flags.writeable = plateau.flags.writeable = False
    return levels, plateau


def _dependence(
    curve: Curve, values: Mapping[int, Sequence[float]], order: Mapping[int, Sequence[int]] | None, draws: int
) -> tuple[float, Floats]:
    """Mean correlation of a trial with the one before it, and draws of the error that all levels then have in common.

    By restricted likelihood (Patterson and Thompson 1971) with a level for each point: what is weighed is how much
    alike successive trials lie about the levels of their points.
    """
    import numpy as np

    none = 0.0, np.zeros(draws)
    if order is None:
        return none
    runs = sorted((at, n, rate) for n, rates in values.items() for at, rate in zip(order[n], rates, strict=True))
    at = np.searchsorted(curve.tasks, [n for _, n, _ in runs])
    scale = np.sqrt(np.bincount(at) / curve.count)
    design = (at[:, None] == np.arange(len(curve.tasks))) / scale[at][:, None]
    y = np.log([rate for *_, rate in runs]) / scale[at]
    size, freedom = len(runs), len(runs) - len(curve.tasks)
    if freedom < _LEAST_FREEDOM:
        return none
    chance, variance = [], []
    for rho, mass in zip(_CORRELATIONS, _CORRELATION_MASS, strict=True):
        x, z = _whitened(design, rho), _whitened(y[:, None], rho)[:, 0]
        normal = x.T @ x
        residual = z - x @ np.linalg.solve(normal, x.T @ z)
        squares = float(residual @ residual) + _NOTHING
        chance.append(
            -0.5 * (freedom + 1) * math.log(squares)
            - 0.5 * np.linalg.slogdet(normal)[1]
            - 0.5 * (size - 1) * math.log1p(-(rho**2))
            + math.log(mass)
        )
        lags = np.arange(1, size)
        joint = 1 + 2 * float(((1 - lags / size) * rho**lags).sum())
        variance.append(squares / (freedom + 1) * (joint - 1) / size)
    weight = np.exp(np.array(chance) - max(chance))
    weight /= weight.sum()
    random = np.random.default_rng(1)
    drawn = random.choice(len(weight), size=draws, p=weight)
    t = random.standard_t(freedom, draws)
    return float(weight @ np.array(_CORRELATIONS)), np.sqrt(np.array(variance)[drawn]) * t


def _whitened(rows: Floats, rho: float) -> Floats:
    """Successive rows, of a process whose correlation is ``rho`` from one to the next, made independent."""
    import numpy as np

    return np.concatenate([rows[:1], (rows[1:] - rho * rows[:-1]) / math.sqrt(1 - rho**2)])


def _with_order(
    quantiles: Floats, curve: Curve, values: Mapping[int, Sequence[float]], expected: Floats, confidence: float
) -> tuple[float, float, float]:
    """The plateau's interval, and that of the median of its trials by their order, which assumes no law of noise."""
    low, middle, high = (float(q) for q in quantiles)
    near = [(int(n), float(level)) for n, level in zip(curve.tasks, expected, strict=True) if level >= math.log(WITHIN)]
    rates = [rate / math.exp(level) for n, level in near for rate in values[n]]
    if len(rates) < _ENOUGH_FOR_ORDER:
        return low, middle, high
    _, least, most, _ = median_interval(rates, confidence)
    return min(low, math.log(least)), middle, max(high, math.log(most))


def _speeds(values: Mapping[int, Sequence[float]]) -> str:
    """Why no plateau is shown of trials that ran at two speeds; empty where they ran at one."""
    found = two_speeds(values)
    if found is None:
        return ""
    return (
        f"equal trials ran at two speeds ({found.slow} of {found.trials} at {share(found.speed)} of the others' rate), "
        "so that a median is that of the more frequent one; what slows them must be found first"
    )


def _why_not(
    curve: Curve, values: Mapping[int, Sequence[float]], knee: tuple[int, int], correlation: float, searched: bool
) -> str:
    """Empty where the plateau is shown; else what is missing, and what may show it."""
    top, longer = int(curve.tasks[-1]), "a longer --budget" if searched else "more repetitions"
    if top == 1:
        return "one task alone has no load line; more tasks may show it (--max-tasks)"
    if sum(map(len, values.values())) - len(values) < _LEAST_FREEDOM:
        return f"too few trials were repeated to know the noise; {longer} may show it"
    if correlation:
        return (
            f"each trial is much like the one before it (correlation {correlation:.2f}), so they say too little about "
            f"the median; {longer}, or another hour, may show it"
        )
    low, high = knee
    more = "a sweep with more numbers of tasks"
    if BEYOND * high > top:
        more = f"--max-tasks {BEYOND * high}" if searched else f"a sweep up to {BEYOND * high} tasks"
    if high * BEYOND > top and low * BEYOND <= top:
        return (
            f"throughput may still rise at {top} tasks: it is too noisy to tell whether 95 % of it needs "
            f"{plural(low, 'task')} or {high}; {longer}, or {more}, may show it"
        )
    if (curve.tasks > high).sum() < _CONFIRMING:
        return (
            f"throughput still rises at {top} tasks, or fewer than two points beyond the knee show that it does not; "
            f"{more} may show it"
        )
    if high * BEYOND > top:
        return (
            f"the points beyond {plural(high, 'task')} lie too close to it to show that throughput no longer rises; "
            f"{more} may show it"
        )
    return ""


def sustained(found: Estimate, rates: Sequence[float], longer: float, tasks: int) -> Estimate:
    """``found`` beside long trials on the plateau, with ``tasks``, of ``longer`` times the length of the others,
    at ``rates``.

    A storage that saves up rate while it idles gives each trial the same amount more, however long it is: what a long
    one did beyond the length of a short one is without it. The knee stays, for it is a ratio. Both kinds have an error
    of their own. Where the long ones seem slower (90 %), the plateau is theirs; else it is what both tell, each weighed
    by its error, and where they may differ (80 %), the interval holds what the long ones say alone.
    """
    if not found.reached or not rates or min(rates) <= 0 or tasks not in found.shares:
        return found
    share, spread = found.shares[tasks]
    short, logs = found.plateau * share, [math.log(rate) for rate in rates]
    long, k = fmean(logs), len(logs)
    # Of the short trials' length, so much is taken out; nothing where the long ones are hardly longer.
    out = 1 / (longer - 1) if longer >= _LONGER and math.exp(long) * longer > short else 0.0
    beyond = (1 + out) * math.exp(long) - out * short
    # One alone has the noise of any trial.
    believed, freedom = (_LONG_WEIGHT, k - 1 + _LONG_WEIGHT) if k > 1 else (found.degrees, found.degrees)
    squares = sum((log - long) ** 2 for log in logs) + believed * found.noise**2
    # Neighbours that are much alike err together.
    together = found.correlation * found.noise**2 if found.correlation > _ALIKE else 0.0
    of_long = math.sqrt(squares / freedom / k + together) + _NOTHING
    of_short = math.log(found.plateau_high / found.plateau_low) / 2 / student_t(CONFIDENCE, found.degrees) + _NOTHING
    error = math.hypot((1 + out) * of_long, out * of_short)
    degrees = error**4 / (((1 + out) * of_long) ** 4 / freedom + (out * of_short) ** 4 / found.degrees)
    apart = math.log(beyond / short)
    far = abs(apart) / ((1 + out) * math.hypot(of_long, of_short))
    slower = apart < 0
    if apart > _FASTER and far > student_t(_DIFFERS, found.degrees):
        return _contradicted(found, short, math.exp(long), tasks)
    alone = slower and far > student_t(_COUNTS_ALONE, found.degrees)
    # Where both may be of one rate, each tells as much of it as it is exact.
    weight = 1.0 if alone else error**-2 / (error**-2 + of_short**-2)
    own = short * math.exp(weight * apart) / share

    def reach(one: float, freedom: float) -> float:
        return student_t(CONFIDENCE, max(freedom, 1.0)) * math.hypot(one, spread)

    half = reach(error, degrees)
    if not alone:
        # Weights that are themselves estimated cost some of what the mean of both gains (Meier 1953).
        rest = 1 - weight
        guessed = 1 + 4 * weight * rest * (1 / degrees + 1 / found.degrees)
        half = reach(
            math.sqrt(guessed / (error**-2 + of_short**-2)), 1 / (weight**2 / degrees + rest**2 / found.degrees)
        )
    low, high = own * math.exp(-half), own * math.exp(half)
    if not alone and far > student_t(_MAY_DIFFER, found.degrees):
        # If only one of them is right, it is the longer: what a trial gets at its start is no rate that lasts.
        longest = beyond / share
        most = math.exp(reach(error, degrees))
        low, high = min(low, longest / most), max(high, longest * most)
    differs = slower and far > student_t(_DIFFERS, found.degrees)
    return replace(found, plateau=own, plateau_low=low, plateau_high=high, differs=differs)


def _contradicted(found: Estimate, short: float, long: float, tasks: int) -> Estimate:
    """``found`` where trials that only lasted longer went faster: what the short ones say is of another state."""
    why = (
        f"{plural(tasks, 'task')} went at {rate_text(short)} in short trials and at {rate_text(long)} in long ones: "
        "the storage changed meanwhile, or is that slow to come up to speed; "
        "a longer --budget, or another hour, may tell"
    )
    return replace(found, reached=False, knee=None, why=why)


def without_plateau(found: Estimate, before: float, after: float, tasks: int, elapsed_ns: float) -> Estimate:
    """``found`` where the long trial had no one rate: its first half went at ``before``, its second at ``after``."""
    if not found.reached:
        return found
    why = (
        f"within {time_text(elapsed_ns)} on end {plural(tasks, 'task')} came from {rate_text(before)} to "
        f"{rate_text(after)}: a buffer was full, or the storage changed meanwhile; a longer --budget may show what it "
        "keeps up"
    )
    return replace(found, reached=False, knee=None, why=why)


def load_line(
    op: str,
    group: str,
    points: Sequence[Point],
    found: Estimate,
    long: Sequence[TrialLine] = (),
) -> LoadLine:
    """Returns the load line of one curve as a result. ``long``: the lines of the long trials on the plateau."""
    top = max(point.tasks for point in points)
    reached = found.reached
    moves = points[0].metric == BANDWIDTH
    whole: Callable[[float], float] = round if moves else float  # a rate of bytes is an integer, as in the records
    on = [point.elapsed_ns for point in points if found.knee is not None and point.tasks >= found.knee]
    held_ns = max([*on, *(line["elapsed_ns"] or 0 for line in long), 0])
    return LoadLine(
        op=op,
        group=group,
        reached=reached,
        tasks=found.knee,
        tasks_low=found.knee_low if reached else None,
        tasks_high=found.knee_high if reached else None,
        confidence=CONFIDENCE if any(point.repetitions > 1 for point in points) else 0.0,
        plateau_bytes_per_s=round(found.plateau) if reached and moves else None,
        plateau_operations_per_s=found.plateau if reached and not moves else None,
        plateau_low=whole(found.plateau_low) if reached else None,
        plateau_high=whole(found.plateau_high) if reached else None,
        max_tasks_tried=top,
        why=_sentence(found, points[0], top) if reached else _not_reached(found, points, top),
        kind=points[0].kind,
        metric=points[0].metric,
        sustained_ns=held_ns if reached else None,
        sustained_bytes=round(found.plateau * held_ns / 10**9) if reached and moves else None,
        stopped=stopped_by(points),
    )


def _not_reached(found: Estimate, points: Sequence[Point], top: int) -> str:
    if stopped_by(points) == "failed":
        return f"not shown: {ENDED_BY_FAILURE}, up to {plural(top, 'task')} measured"
    return f"not reached within {plural(top, 'task')}: {found.why}"


def _sentence(found: Estimate, of: Point, top: int) -> str:
    verb = "reaches" if found.knee == 1 else "reach"
    tasks = f"{plural(found.knee or 0, 'task')} [{found.knee_low}, {found.knee_high}]"
    if found.declines:
        beyond = "lose throughput"
    elif found.shares[top][0] < WITHIN:
        beyond = "may lose throughput" + (f", and {_listed(found.slower)} do" if found.slower else "")
    else:
        beyond = "only add latency" + (f", but {_listed(found.slower)} lose throughput" if found.slower else "")
    return f"{tasks} {verb} 95 % of the {speed(found.plateau, of)} plateau; more, measured up to {top}, {beyond}"


def _listed(tasks: Sequence[int]) -> str:
    """``12, 16 and 20 tasks``."""
    *most, last = map(str, tasks)
    return f"{', '.join(most)} and {last} tasks" if most else f"{last} tasks"
