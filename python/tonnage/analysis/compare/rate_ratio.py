"""Whether one thing takes longer than another: a ratio with its interval, and one of three verdicts only.

Elapsed times of equal trials are compared as ratios, for what disturbs them multiplies. With six repetitions or more on
both sides the interval is the rank test turned around (Hodges and Lehmann 1963): every way of dealing the times out to
the two sides is as likely as any other, and no law is assumed. With fewer it is Welch's t-interval of the logarithms,
exact where noise is log-normal; two or three take the noise of all settings together where that is known better, as
:mod:`tonnage.analysis.statistics.intervals` does for a median. A side of one repetition has no interval.

Repetitions of one run share its day, so they say nothing of how far two days lie apart. Where systems are compared, the
runs are what is repeated: each run gives one level, and :func:`ratio_of_runs` compares those, as repetitions of the
highest level that varies decide the error (Kalibera and Jones 2013).
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.results import Comparison, Point
from tonnage.analysis.statistics.intervals import CONFIDENCE, Noise, pooled_noise, spread, student_t
from tonnage.records.line_types import Json, TrialLine

FASTER, SLOWER, UNCHANGED = "faster", "slower", "no change shown"
"""The verdicts. Nothing else is ever judged: that two things are equal cannot be shown."""
UNDECIDED = "too few to tell"
"""Instead of a verdict: there are too few runs, or repetitions, for any, however far apart the figures are."""

_TOO_FEW, _FEW = 4, 6
_MOST_RANKS = 100
"""Repetitions above which counting all ways to deal the ranks out takes longer than it is worth."""
LEAST_RUNS = 3
"""Of each side, for a verdict about a system. Two runs give their deviation with one degree of freedom a side."""
DAYS_APART = 0.05
"""Deviation between runs that is assumed where a single run a side does not show it."""
_POWER_Z = 0.8416212335729143
"""Standard normal quantile of 0.8: so many repetitions decide with a chance of 80 %, if the ratio is as it was seen."""
_MOST_REPETITIONS = 1000


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two medians, with the interval of the true one; ``confidence`` 0 where there is none."""

    ratio: float
    low: float
    high: float
    confidence: float

    @property
    def verdict(self) -> str:
        """Of elapsed times: ``faster`` where the whole interval is below 1; ``too few to tell`` without an interval."""
        if not self.confidence:
            return UNDECIDED
        if self.low <= 1 <= self.high:
            return UNCHANGED
        return FASTER if self.high < 1 else SLOWER


def ratio(
    values: Sequence[float], base: Sequence[float], confidence: float = CONFIDENCE, curve: Noise | None = None
) -> Ratio:
    """How many times as long as ``base`` these took. All positive; ValueError where a side has none.

    ``curve``: the noise that all settings of the comparison have in common.
    """
    if not values or not base or min(*values, *base) <= 0:
        raise ValueError("a ratio needs positive values on both sides")
    found = statistics.median(values) / statistics.median(base)
    bounds = None
    if min(len(values), len(base)) < 2:
        return Ratio(found, found, found, 0.0)
    if min(len(values), len(base)) >= _FEW and max(len(values), len(base)) <= _MOST_RANKS:
        bounds = _of_ranks(values, base, confidence)
    bounds = bounds or _of_logarithms(values, base, confidence, curve)
    if bounds is None:
        return Ratio(found, found, found, 0.0)
    return Ratio(found, min(bounds[0], found), max(bounds[1], found), confidence)


def ratio_of_runs(levels: Sequence[float], base: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """How many times as long as ``base`` these took: one level a run, all positive, with the interval between runs.

    The ratio is that of the geometric means. Welch's t-interval of the logarithms or Student's, whichever is wider:
    Welch's alone is too narrow where one side has few runs and the other many. No interval with fewer than three a
    side. ValueError where a side has none.
    """
    if not levels or not base or min(*levels, *base) <= 0:
        raise ValueError("a ratio needs positive levels on both sides")
    found = math.exp(statistics.fmean(map(math.log, levels)) - statistics.fmean(map(math.log, base)))
    if min(len(levels), len(base)) < LEAST_RUNS:
        return Ratio(found, found, found, 0.0)
    half = max(
        student_t(confidence, degrees) * error for error, degrees in (_welch(levels, base), _student(levels, base))
    )
    return Ratio(found, found * math.exp(-half), found * math.exp(half), confidence)


def _of_ranks(values: Sequence[float], base: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """The interval of all ratios that a rank test would not refuse; None where so few cannot be that sure."""
    n, m = len(values), len(base)
    ways = _rank_sum_counts(n, m)
    tail, most, out = 0, (1 - confidence) / 2 * math.comb(n + m, n), 0
    while tail + ways[out] <= most:
        tail += ways[out]
        out += 1
    if out == 0:
        return None
    ratios = sorted(value / other for value in values for other in base)
    return ratios[out - 1], ratios[n * m - out]


def _rank_sum_counts(n: int, m: int) -> list[int]:
    """In how many orders of n + m values the first n beat the others u times, for each u (Mann and Whitney 1947): the
    coefficients of the Gaussian binomial."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return counts


def _of_logarithms(
    values: Sequence[float], base: Sequence[float], confidence: float, curve: Noise | None
) -> tuple[float, float] | None:
    if min(len(values), len(base)) < _TOO_FEW:
        error, degrees = _student(values, base, curve)
    else:
        error, degrees = _welch(values, base)
    if degrees < 1:
        return None
    middle = statistics.fmean(map(math.log, values)) - statistics.fmean(map(math.log, base))
    half = student_t(confidence, degrees) * error
    return math.exp(middle - half), math.exp(middle + half)


def _welch(values: Sequence[float], base: Sequence[float]) -> tuple[float, float]:
    """Standard error of the difference of mean logarithms, each side by its own noise, and its degrees of freedom
    (Welch 1947, Satterthwaite 1946)."""
    own = [Noise(spread(side) ** 2, len(side) - 1) for side in (values, base)]
    shares = [noise.variance / len(side) for noise, side in zip(own, (values, base), strict=True)]
    below = sum(share**2 / noise.degrees for share, noise in zip(shares, own, strict=True))
    return math.sqrt(sum(shares)), sum(shares) ** 2 / below if below else own[0].degrees + own[1].degrees


def _student(values: Sequence[float], base: Sequence[float], curve: Noise | None = None) -> tuple[float, float]:
    """The same by the noise of both sides together, or that of the whole ``curve`` where it is known better."""
    together = pooled_noise((values, base))
    if curve is not None and curve.degrees > together.degrees:
        together = curve
    return math.sqrt(together.variance * (1 / len(values) + 1 / len(base))), together.degrees


def repetitions_to_decide(found: Ratio, noise: Noise, confidence: float = CONFIDENCE, least: int = 2) -> int | None:
    """Repetitions (or runs) on each side that would tell a ratio such as the one seen from 1, four times of five:
    ``least`` of them at least; None where more than 1000 would not, or the noise is unknown."""
    shift = abs(math.log(found.ratio))
    if not noise.degrees or not noise.variance or not shift:
        return None

    def tells(count: int) -> bool:
        error = math.sqrt(2 * noise.variance / count)
        return (student_t(confidence, 2 * count - 2) + _POWER_Z) * error <= shift

    # The more repetitions, the smaller both factors; and a quantile takes milliseconds.
    counts = range(least, _MOST_REPETITIONS + 1)
    found_at = bisect_left(counts, True, key=tells)
    return counts[found_at] if found_at < len(counts) else None


def compare_points(points: Sequence[Point], lines: Sequence[TrialLine], campaign: Json) -> tuple[Comparison, ...]:
    """Commands that were run in several settings: each setting against the first one of the campaign file, with the
    same number at once. The confidence is that of all verdicts of a workload together (Bonferroni)."""
    sides: dict[tuple[str, int], list[Point]] = {}
    for point in points:
        if point.kind == "command":
            sides.setdefault((point.workload, point.tasks), []).append(point)
    commands = lines if sides else ()
    elapsed = {line["record"]: float(elapsed_ns) for line in commands if (elapsed_ns := line.get("elapsed_ns"))}
    found = []
    for (workload, _), several in sides.items():
        ordered = sorted(several, key=lambda point: _position_in_campaign(point, campaign))
        found += _against_first(workload, ordered, elapsed)
    return tuple(found)


def _against_first(workload: str, points: Sequence[Point], elapsed: Mapping[str, float]) -> list[Comparison]:
    samples = [[elapsed[record] for record in point.records] for point in points]
    noise = pooled_noise(samples)
    confidence = 1 - (1 - CONFIDENCE) / max(len(points) - 1, 1)
    found = []
    for point, values in zip(points[1:], samples[1:], strict=True):
        seen = ratio(values, samples[0], confidence, noise)
        undecided = seen.verdict in (UNCHANGED, UNDECIDED)
        fewest = min(len(values), len(samples[0]))
        found.append(
            Comparison(
                workload=workload,
                tasks=point.tasks,
                group=point.group,
                base=points[0].group,
                elapsed_ns=round(statistics.median(values)),
                base_elapsed_ns=round(statistics.median(samples[0])),
                repetitions=len(values),
                base_repetitions=len(samples[0]),
                ratio=seen.ratio,
                low=seen.low,
                high=seen.high,
                confidence=CONFIDENCE if seen.confidence else 0.0,
                verdict=seen.verdict,
                # As many as there are did not.
                repetitions_to_decide=repetitions_to_decide(seen, noise, confidence, max(2, fewest + 1))
                if undecided
                else None,
            )
        )
    return found


def _position_in_campaign(point: Point, campaign: Json) -> tuple[int, ...]:
    """Where a setting stands in its campaign file: the place of each factor's value in its list."""
    tables = campaign.get("workloads") or ()
    table: Json = next((t for t in tables if str(t.get("name") or "") == point.workload), {})
    found = []
    for key, choices in table.items():
        if isinstance(choices, list | tuple) and len(choices) > 1 and key in point.setting:
            value = point.setting[key]
            alike = [list(value) if isinstance(value, tuple) else value, value]
            found.append(next((i for i, choice in enumerate(choices) if choice in alike), len(choices)))
    return tuple(found)
