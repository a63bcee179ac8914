"""Whether equal trials ran at two speeds: some at about one rate, the others at a lower one, and few between.

The median of such trials is that of the more frequent speed, or lies anywhere between where both are as frequent: it is
a fact about chance, not about the storage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FALSE_ALARM = 0.0025
"""Chance that trials of one speed, under log-normal noise, look so."""
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
        k = np.arange(n)
        squares = (rest**2).sum(axis=1)[:, None, None] + 2 * steps[:, None] * lowest[:, None, :]
        squares = squares + steps[:, None] ** 2 * (k * (n - k) / n)
        total += squares.min(axis=2)
        slow.append(squares.argmin(axis=2))
    return total, slow


def _chance(repetitions: Sequence[int], gain: float, deviation: float, steps: Floats) -> float:
    """How often normal trials of one speed gain as much by being dealt out to two."""
    import numpy as np

    random = np.random.default_rng(2)
    # Their scatter is what is to be explained, so that the distances tried are as far as in the trials.
    scale = deviation * math.sqrt(gain)
    drawn = [np.sort(scale * random.standard_normal((_DRAWS, n)), axis=1) for n in repetitions]
    left, _ = _scatter(drawn, steps)
    one = np.sum([((y - y.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for y in drawn], axis=0)
    return float((one / np.maximum(left.min(axis=1), _NOTHING) >= gain).mean())
