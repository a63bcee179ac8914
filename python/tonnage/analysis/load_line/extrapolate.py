"""What a curve of throughput over tasks would be at a number of tasks that was not measured.

No single law is known to hold beyond the last point. So three families of laws are weighed by how well they explain
the measurements: the laws of saturation of :mod:`.curve_hypotheses` (a corner to a hyperbola),
the Universal Scalability Law, and a corner with a loss by each task after it; none is preferred before anything was
measured. Draws from that posterior carry the noise of the repetitions and the disagreement of the laws: inside what was
measured they agree, and beyond it they part, the sooner the less the measured points showed of a plateau. What none of
them knows (another bottleneck) widens the interval further with each doubling beyond the last point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tonnage.analysis.load_line.curve_hypotheses import Curve, log_evidence
from tonnage.analysis.load_line.estimate import curve_of
from tonnage.analysis.load_line.formulas import LAWS
from tonnage.analysis.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DRAWS = 4000
_SCALES = 160
"""Scales of a law that are tried, from a fifth of the fewest tasks to ten times the most."""
_CONTENTION, _COHERENCY = 20, 24
"""Values of each parameter of the Universal Scalability Law that are tried, besides 0."""
_CORNERS, _COSTS = 40, 12
"""Corners, and shares that each task beyond one costs, that are tried."""
_UNKNOWN = 0.05
"""Standard deviation (of the logarithm) that each doubling beyond the last point adds for what no law knows."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The median throughput at a number of tasks, in the metric of the curve."""

    tasks: int
    median: float
    low: float
    high: float


def extrapolate(
    values: Mapping[int, Sequence[float]], tasks: Sequence[int], ceiling: float | None = None
) -> list[Expected]:
    """What to expect at each of ``tasks``, of ``values``: tasks → throughput of each repetition (positive), three
    numbers of tasks at least. ``ceiling``: what no draw exceeds."""
    import numpy as np

    curve = curve_of(values)
    # Between few repetitions, weights by their own noise say too much of the points that happen to agree.
    curve = replace(curve, count=np.array([float(len(values[int(n)])) for n in curve.tasks]))
    asked = np.asarray(tasks, float)
    top = max(float(curve.tasks[-1]), float(asked.max()))
    families = (_saturating, _scalability, _declining)
    laws = _joined([_weighed(curve, family(curve, asked, top)) for family in families])
    found = np.exp(_draws(curve, laws, asked))
    if ceiling is not None:
        found = np.minimum(found, ceiling)
    tail = (1 - CONFIDENCE) / 2
    low, median, high = np.quantile(found, (tail, 0.5, 1 - tail), axis=0)
    return [Expected(n, float(m), float(a), float(b)) for n, m, a, b in zip(tasks, median, low, high, strict=True)]


@dataclass(frozen=True, slots=True)
class _Laws:
    """Ways the curve may run, one a row: how well each explains the levels, and what it says of what was asked."""

    chance: Floats
    """Logarithm; each family adds up to 1 before anything was measured."""
    level: Floats
    misfit: Floats
    asked: Floats
    """Logarithm of the law at what was asked, above its level."""


def _saturating(curve: Curve, asked: Floats, top: float) -> tuple[Floats, Floats]:
    """Logarithms of the laws of saturation at the measured tasks and at those asked, a row each."""
    import numpy as np

    tasks = curve.tasks.astype(float)
    scale = np.geomspace(0.2 * tasks[0], 10 * top, _SCALES)[:, None]
    at, beyond = (np.concatenate([np.log(law(n / scale)) for law, _ in LAWS]) for n in (tasks, asked))
    return at, beyond


def _scalability(curve: Curve, asked: Floats, top: float) -> tuple[Floats, Floats]:
    """The same of the Universal Scalability Law (Gunther 1993), with contention and coherency over what could matter
    up to what was asked."""
    import numpy as np

    sigma = np.concatenate([[0.0], np.geomspace(0.01 / top, 1.0, _CONTENTION)])
    kappa = np.concatenate([[0.0], np.geomspace(0.01 / top**2, 1.0, _COHERENCY)])
    both = np.array([(one, other) for one in sigma for other in kappa])
    at, beyond = (
        np.log(n) - np.log1p(both[:, :1] * (n - 1) + both[:, 1:] * n * (n - 1))
        for n in (curve.tasks.astype(float), asked)
    )
    return at, beyond


def _declining(curve: Curve, asked: Floats, top: float) -> tuple[Floats, Floats]:
    """The same of a corner beyond which each task costs a share of the throughput. It lies no further than the last
    but one of the measured points: a collapse of which nothing was seen would make all that is beyond unknown."""
    import numpy as np

    corners = np.geomspace(float(curve.tasks[0]), float(curve.tasks[-2]), _CORNERS)
    cost = np.geomspace(0.1 / top, 0.1, _COSTS)
    both = np.array([(corner, share) for corner in corners for share in cost])
    at, beyond = (
        np.log(np.minimum(1.0, n / both[:, :1])) + np.log1p(-both[:, 1:]) * np.maximum(0.0, n - both[:, :1])
        for n in (curve.tasks.astype(float), asked)
    )
    return at, beyond


def _weighed(curve: Curve, shapes: tuple[Floats, Floats]) -> _Laws:
    import numpy as np

    shape, asked = shapes
    total = float(curve.count.sum())
    level = ((curve.level - shape) * curve.count).sum(axis=1) / total
    misfit = (curve.count * (curve.level - shape - level[:, None]) ** 2).sum(axis=1)
    chance = log_evidence(curve, len(curve.tasks), misfit, np.full(len(misfit), total)) - math.log(len(misfit))
    return _Laws(chance, level, misfit, asked)


def _joined(parts: Sequence[_Laws]) -> _Laws:
    import numpy as np

    def both(name: str) -> Floats:
        found: Floats = np.concatenate([getattr(part, name) for part in parts])
        return found

    return _Laws(both("chance"), both("level"), both("misfit"), both("asked"))


def _draws(curve: Curve, laws: _Laws, asked: Floats) -> Floats:
    """Logarithms of the throughput at what was asked, a row each draw from the posterior."""
    import numpy as np

    random = np.random.default_rng(0)
    chance = np.exp(laws.chance - laws.chance.max())
    drawn = random.choice(len(chance), size=_DRAWS, p=chance / chance.sum())
    freedom = curve.degrees + max(len(curve.tasks) - 2.0, 0.0)  # level and scale are fitted
    noise = np.sqrt((curve.variance * curve.degrees + laws.misfit[drawn]) / random.chisquare(freedom, _DRAWS))
    level = laws.level[drawn] + noise * random.standard_normal(_DRAWS) / math.sqrt(float(curve.count.sum()))
    doublings = np.log2(np.maximum(1.0, asked / float(curve.tasks[-1])))
    unknown = _UNKNOWN * doublings * random.standard_normal(_DRAWS)[:, None]
    found: Floats = level[:, None] + laws.asked[drawn] + unknown
    return found
