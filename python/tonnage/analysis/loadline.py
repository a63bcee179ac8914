"""The load line: the smallest number of tasks whose median throughput is within 5 % of the plateau.

Noise of rates is multiplicative, so everything is done on logarithms. How the curve runs is not known, so two families
of hypotheses are weighed by how well they explain the measurements: a plateau that begins at one of the points, with
every level before it free, and a few laws of saturation, for curves that bend gradually. Draws from that posterior give
plateau and knee together, with the uncertainty of both; the knee of a draw follows from the definition itself. The laws
only shape the interval: the knee that is reported is a number of tasks whose measured median meets the definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tonnage.analysis.results import BANDWIDTH, LoadLine, Point
from tonnage.analysis.statistics import CONFIDENCE, student_t
from tonnage.analysis.text import count, speed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Law = Callable[[Floats], Floats]

WITHIN = 0.95
"""The load line reaches this share of the plateau."""
_PRIOR_NOISE, _PRIOR_WEIGHT = 0.02, 1.0
"""What is believed about the noise of a trial before any repetition: 2 %, worth one of them."""
_PRIOR_LEVEL = 0.5
"""How far a level off the plateau lies from it, typically (logarithm)."""
_SEARCHED = 1.06
"""How much wider the plateau's interval is than its draws: the search stops where they look narrow and repeats what
looks high, which costs them a little coverage (found in calibration)."""
_DRAWS = 2000
_SCALES = (0.2, 3.0, 240)
"""Scales of a law that are tried: from this many tasks to this many times the largest tried, in so many steps."""
_SPAN = 1.25
"""The last point beyond the knee is at least this many times the knee."""
_RISING = 0.5
"""A curve whose slope beyond the knee could be this (1 is proportional to tasks) still rises."""
_DECLINE = 3.0
"""A level this many standard errors below the plateau before it is a decline, not noise."""
_BESIDE_PEAK = 1.0
"""The same for levels between the peak and a certain decline."""


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
    """More tasks than the plateau needs make it slower."""
    why: str
    """Why it was not reached; empty where it was."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Levels of a curve, ascending in tasks: all arrays are as long as there are measured numbers of tasks."""

    tasks: NDArray[np.int64]
    count: Floats
    level: Floats
    """Mean logarithm: of log-normal noise, the logarithm of the median."""
    median: Floats
    """Logarithm of the sample median."""
    variance: float
    degrees: float

    def error(self) -> Floats:
        """Standard error of each level."""
        return (self.variance / self.count) ** 0.5


def _gradual(sharpness: float) -> tuple[Law, Law]:
    """x·(1 + xᵖ)^(−1/p): a hyperbola for p = 1 (one queue), ever sharper with p; and its inverse."""
    return (
        lambda x: (1 + x**-sharpness) ** (-1 / sharpness),
        lambda y: (y**-sharpness - 1) ** (-1 / sharpness),
    )


def _exponential(x: Floats) -> Floats:
    import numpy as np

    return -np.expm1(-x)


def _exponential_inverse(y: Floats) -> Floats:
    import numpy as np

    return -np.log1p(-y)


def _hinge(x: Floats) -> Floats:
    import numpy as np

    return np.minimum(1.0, x)


LAWS: tuple[tuple[Law, Law], ...] = (
    (_hinge, lambda y: y),
    (_exponential, _exponential_inverse),
    *map(_gradual, (1.0, 2.0, 3.0, 6.0)),
)
"""Laws of saturation with plateau 1, and their inverses: from a corner to a hyperbola."""


def estimate(values: Mapping[int, Sequence[float]], confidence: float = CONFIDENCE) -> Estimate:
    """Load line of ``values``: tasks → throughput of each repetition (positive). At least one point.

    The interval of the knee covers every number of tasks between the measured neighbours, because the knee may be any.
    """
    import numpy as np

    curve = curve_of(values)
    end = _end_of_plateau(curve)
    lows, highs, plateaus = _draw(curve, end)
    tail = (1 - confidence) / 2
    low = int(np.quantile(lows, tail, method="inverted_cdf"))
    high = int(np.quantile(highs, 1 - tail, method="inverted_cdf"))
    quantiles = np.quantile(plateaus, (tail, 0.5, 1 - tail))
    plateau_low, plateau, plateau_high = np.exp(quantiles[1] + _SEARCHED * (quantiles - quantiles[1]))
    # The laws say where between two measured numbers the knee must be; what is reported was measured.
    reach = [
        int(n)
        for n, level in zip(curve.tasks[:end], curve.median[:end], strict=True)
        if n >= low and level >= math.log(plateau * WITHIN)
    ]
    knee = reach[0] if reach else int(curve.tasks[end - 1])
    high = max(high, knee)
    why = _why_not_reached(curve, knee)
    return Estimate(
        reached=not why,
        knee=None if why else knee,
        knee_low=low,
        knee_high=high,
        plateau=float(plateau),
        plateau_low=float(plateau_low),
        plateau_high=float(plateau_high),
        noise=math.sqrt(curve.variance),
        declines=end < len(curve.tasks),
        why=why,
    )


def curve_of(values: Mapping[int, Sequence[float]]) -> Curve:
    import numpy as np

    tasks = sorted(values)
    logs = [np.log(np.asarray(values[n], dtype=float)) for n in tasks]
    squares = sum(float(((y - y.mean()) ** 2).sum()) for y in logs)
    degrees = _PRIOR_WEIGHT + sum(len(y) - 1 for y in logs)
    return Curve(
        tasks=np.array(tasks),
        count=np.array([len(y) for y in logs], dtype=float),
        level=np.array([y.mean() for y in logs]),
        median=np.array([np.median(y) for y in logs]),
        variance=(_PRIOR_WEIGHT * _PRIOR_NOISE**2 + squares) / degrees,
        degrees=degrees,
    )


def _end_of_plateau(curve: Curve) -> int:
    """Number of points up to the end of the plateau: what declines after it is not part of it."""
    import numpy as np

    end = len(curve.tasks)
    while end > 1:
        last, before = end - 1, int(np.argmax(curve.level[: end - 1]))
        fall = curve.level[before] - curve.level[last]
        error = math.hypot(curve.error()[before], curve.error()[last])
        # Once a decline is certain, the curve has a peak, and its near side is suspect as well.
        certain = max(-math.log(WITHIN), _DECLINE * error)
        if fall < (certain if end == len(curve.tasks) else _BESIDE_PEAK * error):
            break
        end -= 1
    return end


def _draw(curve: Curve, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Lower and upper end of the knee, and logarithm of the plateau, in each of many draws from their posterior."""
    import numpy as np

    random = np.random.default_rng(0)
    free, laws = _free_rise(curve, end), _laws(curve, end)
    evidence = np.concatenate(
        [free.evidence - math.log(len(free.evidence)), laws.evidence - math.log(len(laws.evidence))]
    )
    chance = np.exp(evidence - evidence.max())
    drawn = random.choice(len(evidence), size=_DRAWS, p=chance / chance.sum())
    misfit = np.concatenate([free.misfit, laws.misfit])[drawn]
    freedom = curve.degrees + np.concatenate([free.freedom, laws.freedom])[drawn]
    noise = np.sqrt((curve.variance * curve.degrees + misfit) / random.chisquare(freedom))
    weight = np.concatenate([free.weight, laws.weight])[drawn]
    plateau = np.concatenate([free.plateau, laws.plateau])[drawn] + noise * random.standard_normal(_DRAWS) / np.sqrt(
        weight
    )

    levels = curve.level[:end] + noise[:, None] * random.standard_normal((_DRAWS, end)) / np.sqrt(curve.count[:end])
    at_least = (levels >= plateau[:, None] + math.log(WITHIN)) | (np.arange(end) >= drawn[:, None])
    first = at_least.argmax(axis=1)
    below = np.concatenate([[0], curve.tasks])
    of_law = drawn >= end
    knee = laws.knee[np.where(of_law, drawn - end, 0)]
    return np.where(of_law, knee, below[first] + 1), np.where(of_law, knee, curve.tasks[first]), plateau


@dataclass(frozen=True, slots=True)
class _Hypotheses:
    """Ways the curve may run, one an entry: how well each explains the levels, and the plateau it then has."""

    evidence: Floats
    misfit: Floats
    plateau: Floats
    weight: Floats
    """Trials that the plateau is estimated from."""
    freedom: Floats
    """Degrees of freedom of the misfit: a level that is left free explains itself and tells nothing of the noise."""
    knee: NDArray[np.int64]


def log_evidence(curve: Curve, end: int, misfit: Floats, weight: Floats) -> Floats:
    """Logarithm of the marginal likelihood, with noise and plateau integrated out (a Student law)."""
    import numpy as np

    within = curve.variance * curve.degrees
    return -0.5 * (curve.degrees + end - 1) * np.log1p(misfit / within) - 0.5 * np.log(weight)


def _free_rise(curve: Curve, end: int) -> _Hypotheses:
    """The plateau begins at point i; every level before it is free."""
    import numpy as np

    count, level = curve.count[:end], curve.level[:end]
    weight = np.cumsum(count[::-1])[::-1]
    pooled = np.cumsum((count * level)[::-1])[::-1] / weight
    misfit = np.array([float((count[i:] * (level[i:] - pooled[i]) ** 2).sum()) for i in range(end)])
    free = 0.5 * np.log1p(count * _PRIOR_LEVEL**2 / curve.variance)
    evidence = log_evidence(curve, end, misfit, weight) - (np.cumsum(free) - free)
    freedom = np.arange(end - 1, -1, -1, dtype=float)
    return _Hypotheses(evidence, misfit, pooled, weight, freedom, curve.tasks[:end])


def _laws(curve: Curve, end: int) -> _Hypotheses:
    """The curve follows a law of saturation; plateau and knee are those within the tasks that were tried."""
    import numpy as np

    tasks, count, level = curve.tasks[:end].astype(float), curve.count[:end], curve.level[:end]
    scale = np.geomspace(_SCALES[0], _SCALES[1] * tasks[-1], _SCALES[2])
    shapes, knees = [], []
    for law, inverse in LAWS:
        x = tasks / scale[:, None]
        top = law(x[:, -1])
        shapes.append(np.log(law(x) / top[:, None]))
        knees.append(np.ceil(scale * inverse(WITHIN * top) - 1e-9))
    shape = np.concatenate(shapes)
    total = float(count.sum())
    plateau = ((level - shape) * count).sum(axis=1) / total
    misfit = (count * (level - shape - plateau[:, None]) ** 2).sum(axis=1)
    weight = np.full(len(misfit), total)
    knee = np.clip(np.concatenate(knees), 1, tasks[-1]).astype(np.int64)
    freedom = np.full(len(misfit), max(end - 2.0, 0.0))  # plateau and scale are fitted
    return _Hypotheses(log_evidence(curve, end, misfit, weight), misfit, plateau, weight, freedom, knee)


def _why_not_reached(curve: Curve, knee: int) -> str:
    """Empty where at least two points beyond the knee show that the curve does not rise any more."""
    beyond = curve.tasks[curve.tasks > knee]
    top = int(curve.tasks[-1])
    if len(beyond) < 2:
        return f"throughput still rises at {top} tasks, or fewer than two points beyond the knee show that it does not"
    if top < _SPAN * knee:
        return f"the points beyond {knee} tasks lie too close to it to show that throughput no longer rises"
    if _steepest_slope(curve, knee) >= _RISING:
        return f"throughput may still rise at {top} tasks: it is too noisy to tell"
    return ""


def _steepest_slope(curve: Curve, knee: int) -> float:
    """Upper bound (97.5 %) of d log throughput / d log tasks over the points from the knee on."""
    import numpy as np

    chosen = curve.tasks >= knee
    x, y, w = np.log(curve.tasks[chosen]), curve.level[chosen], curve.count[chosen]
    x = x - np.average(x, weights=w)
    squares = float((w * x * x).sum())
    slope = float((w * x * y).sum()) / squares
    return slope + student_t(0.95, curve.degrees) * math.sqrt(curve.variance / squares)


def sustained(found: Estimate, rate: float) -> Estimate:
    """``found`` with the plateau that one long trial sustained at ``rate``, where it is not what short trials show.

    The knee stays: it is a ratio, and what a storage saves up while it idles lifts short trials of all numbers of tasks
    alike. The interval keeps its relative width.
    """
    if not found.reached or found.plateau_low <= rate <= found.plateau_high:
        return found
    scale = rate / found.plateau
    return replace(found, plateau=rate, plateau_low=found.plateau_low * scale, plateau_high=found.plateau_high * scale)


def largest_within(latency_ns: Mapping[int, int], objective_ns: int) -> int:
    """The largest number of tasks that still meets a latency objective; 0 where not even the smallest does.

    Counted from below: a point that meets it again after one that does not is luck.
    """
    best = 0
    for tasks in sorted(latency_ns):
        if latency_ns[tasks] > objective_ns:
            break
        best = tasks
    return best


def load_line(op: str, group: str, points: Sequence[Point], found: Estimate, p99_ns: int | None = None) -> LoadLine:
    """The load line of one curve as a result. ``p99_ns``: a latency objective, read from the points' own p99."""
    top = max(point.tasks for point in points)
    reached = found.reached
    moves = points[0].metric == BANDWIDTH
    whole: Callable[[float], float] = round if moves else float  # a rate of bytes is an integer, as in the records
    latency = {point.tasks: point.latency["p99_ns"] for point in points if point.latency.get("p99_ns") is not None}
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
        why=_sentence(found, points[0]) if reached else f"not reached within {count(top, 'task')}: {found.why}",
        kind=points[0].kind,
        metric=points[0].metric,
        p99_ns=p99_ns,
        p99_tasks=largest_within(latency, p99_ns) if p99_ns is not None and latency else None,
    )


def _sentence(found: Estimate, of: Point) -> str:
    verb = "reaches" if found.knee == 1 else "reach"
    tasks = f"{count(found.knee or 0, 'task')} [{found.knee_low}, {found.knee_high}]"
    beyond = "lose throughput" if found.declines else "only add latency"
    return f"{tasks} {verb} 95 % of the {speed(found.plateau, of)} plateau; more {beyond}"
