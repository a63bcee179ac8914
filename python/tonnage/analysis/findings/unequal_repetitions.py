"""Findings about repetitions that do not agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.load_line.trial_checks import two_speeds
from tonnage.analysis.results import Finding, Point
from tonnage.analysis.statistics.intervals import student_t
from tonnage.records import loop_rates
from tonnage.units import share

SPREAD = 0.20
"""Width of the middle two thirds of repetitions (two standard deviations), relative to their median."""
DRIFT = 0.10
"""Change over the run that is worth a sentence, once it is certain at 99.9 %."""
_LEAST_DEGREES = 5
_ADVICE = "Something else uses this storage, or it is not settled: repeat later, and trust only the intervals."
_ADVICE_ON_DRIFT = (
    "The storage changed while it was measured, or is not settled: the report has the trials in the order of time; "
    "repeat later, and trust only the intervals."
)


@finding("unsteady")
def unsteady(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        # A drift makes equal trials scatter too, and says more: since when, and which way.
        drift, spread = _drift(evidence, points), _spread(points)
        if drift or spread:
            yield Finding(
                "unsteady",
                subject(op, group),
                "; ".join(filter(None, (drift, spread))),
                _ADVICE_ON_DRIFT if drift else _ADVICE,
            )


@finding("two-speeds")
def two_speeds_seen(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        # By the rates that the load line is made of: it is not claimed where they are of two speeds.
        found = two_speeds(
            {point.tasks: loop_rates(evidence.trials.named(point.records), point.values) for point in points}
        )
        if found is not None:
            yield Finding(
                "two-speeds",
                subject(op, group),
                f"{found.slow} of {found.trials} trials ran at {share(found.speed)} of the rate of the others with as "
                "many tasks, and few between",
                "Find what tells them apart before any median is used: other work, a server or path that some trials "
                "meet, a throttle, where their files lie. The time of each trial is in trials.jsonl.",
            )


def _spread(points: Sequence[Point]) -> str | None:
    """Pooled over all points: a single one has too few repetitions to tell 5 % from 20 %."""
    import numpy as np

    squares, degrees = 0.0, 0
    for point in points:
        logs = np.log(np.array(point.values))
        squares += float(((logs - logs.mean()) ** 2).sum())
        degrees += len(logs) - 1
    if degrees < _LEAST_DEGREES:
        return None
    width = 2 * math.sqrt(squares / degrees)
    if width <= SPREAD:
        return None
    return f"the middle two thirds of equal trials span {share(width)} of their median (from {degrees} repetitions)"


def _drift(evidence: Evidence, points: Sequence[Point]) -> str | None:
    """Whether what is left after each point's mean follows the order of the trials."""
    import numpy as np

    x, y, trials = [], [], []
    for point in points:
        logs = np.log(np.asarray(point.values, dtype=float))
        order = evidence.trials.named(point.records).floats("trial")
        trials += [order.min(), order.max()]
        x.append(order - order.mean())
        y.append(logs - logs.mean())
    order, rest = np.concatenate(x), np.concatenate(y)
    degrees = len(order) - len(points) - 1
    squares = float((order**2).sum())
    if degrees < _LEAST_DEGREES or squares == 0:
        return None
    slope = float((order * rest).sum()) / squares
    error = math.sqrt(float(((rest - slope * order) ** 2).sum()) / degrees / squares)
    change = math.expm1(slope * (max(trials) - min(trials)))
    if abs(change) < DRIFT or abs(slope) < student_t(0.999, degrees) * error:
        return None
    return f"throughput drifted by {100 * change:+.0f} % from the first trial to the last"
