"""Ways in which a curve of throughput over tasks may run, each weighed by how well it explains the measured levels.

The shape of a curve is unknown beforehand. So there are shapes with a formula (laws of saturation, alone and with a
slope that goes on, and the Universal Scalability Law, which has a peak) and shapes without one: some of the points
share a level, the plateau, and each other point has a level of its own. The second kind takes stairs, dips, peaks and
losses at odd numbers; the first gives narrower intervals where it fits. Everything is on logarithms, for noise of rates
multiplies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tonnage.analysis.load_line.formulas import (
    CORNERED,
    LAWS,
    PRIOR_SLOPE,
    SHARP,
    Family,
    axes_of,
    creeping,
    dense,
    falling,
    first_grid,
    narrowed,
    saturating,
    usl_family,
)
from tonnage.analysis.statistics.intervals import f_tail, log_normal_cdf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Box = tuple[tuple[float, float], ...]

_PRIOR_LEVEL = 0.5
"""How far a level off the plateau lies from it, typically (logarithm)."""
_PRIOR_STEP = 0.1
"""How far a step lifts the numbers of tasks that it holds, or lowers them, typically (logarithm)."""
_MASS = {"law": 0.01, "creep": 0.31, "kink": 0.22, "fall": 0.07, "usl": 0.08, "levels": 0.01, "line": 0.3}
"""What each family weighs before anything is measured. An exactly level plateau weighs little: it has fewer parameters
than a creep, and would be preferred where noise hides which of them it is."""
_LEVELS_MASS = {"suffix": 0.5, "interval": 0.2, "dip": 0.2, "even": 0.1}
_GRID = {1: (81,), 2: (41, 15)}
"""Values of each parameter that are tried at once, by the number of parameters."""
_KINK_GRID = {1: (61,), 2: (25, 15)}
"""The same for formulas with kinks, each of which is tried with all kinks."""
_LOOKS = 4
"""So often a grid is laid anew around what explains the levels, so that its step is finer than the noise."""
_FAR = 12.0
"""What explains the levels e¹² times worse than the best does not count."""
_LEAST_DEGREES, _LEAST_POINTS = 6.0, 5
"""Degrees of freedom of the noise, and numbers of tasks, below which no law can be refused."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Levels of a curve, ascending in tasks: all arrays are as long as there are measured numbers of tasks."""

    tasks: NDArray[np.int64]
    count: Floats
    """Repetitions; where noise differs by point, of trials with the common noise."""
    level: Floats
    variance: float
    """Of the logarithm of one trial."""
    degrees: float

    def error(self) -> Floats:
        """Returns the standard error of each level."""
        return (self.variance / self.count) ** 0.5


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """Ways the curve may run, one a row."""

    chance: Floats
    """Logarithm of prior times evidence, up to a constant that all families share."""
    misfit: Floats
    plateau: Floats
    weight: Floats
    """Trials that the plateau is estimated from."""
    freedom: Floats
    """Degrees of freedom of the misfit: a level that is left free explains itself and tells nothing of the noise."""
    shape: Floats
    """Each level minus the plateau, of rows × points."""
    free: Floats
    """1 where a level is its own, of rows × points."""
    lever: Floats
    """How far an error of the slope moves each level, in errors of one trial, of rows × points; 0 without a slope."""


def log_evidence(curve: Curve, end: int, misfit: Floats, weight: Floats) -> Floats:
    """Returns the logarithm of the marginal likelihood, with noise and plateau integrated out (a Student law)."""
    import numpy as np

    within = curve.variance * curve.degrees
    return -0.5 * (curve.degrees + end - 1) * np.log1p(misfit / within) - 0.5 * np.log(weight)


def hypotheses(curve: Curve) -> Hypotheses:
    """All shapes that are weighed for a curve."""
    found = [*_formulas(curve), _levels(curve)]
    if len(curve.tasks) > 2:
        found += _kinked(curve)
        found.append(_lines(curve))
    return _joined(found)


def _joined(found: Sequence[Hypotheses]) -> Hypotheses:
    import numpy as np

    return Hypotheses(*(np.concatenate([getattr(one, name) for one in found]) for name in Hypotheses.__slots__))


@dataclass(frozen=True, slots=True)
class Nearest:
    """The law that explains the levels best, and how far it is from them."""

    chance: float
    """That noise alone takes the levels as far from it."""
    tasks: int
    """Where it is furthest off, in errors of a level."""
    off: float
    """By how much the level lies above it there, relative."""
    noise: float
    """Relative, of one trial."""


UNLIKELY = 0.001
"""Chance that noise alone takes the levels so far from the law that fits best."""


def nearest_law(curve: Curve) -> Nearest | None:
    """The best of the formulas, by the F-test of what it leaves against the scatter of repetitions;
    None where there are too few points or repetitions for one."""
    import numpy as np

    if curve.degrees < _LEAST_DEGREES or len(curve.tasks) < _LEAST_POINTS:
        return None
    found = _joined(list(_formulas(curve)))
    # Of laws with as many degrees of freedom, that with the least misfit has the greatest chance.
    laws = [
        np.flatnonzero(same)[found.misfit[same].argmin()]
        for same in (found.freedom == freedom for freedom in np.unique(found.freedom) if freedom > 0)
    ]
    misfit, freedom = found.misfit[laws], found.freedom[laws]
    ratios = misfit / freedom / curve.variance
    chances = np.array([f_tail(*each, curve.degrees) for each in zip(ratios.tolist(), freedom.tolist(), strict=True)])
    # Where the chance of all is nothing, the least misfit is the nearest.
    best = laws[np.lexsort((misfit, -chances))[0]]
    off = curve.level - found.plateau[best] - found.shape[best]
    worst = int(np.abs(off / curve.error()).argmax())
    return Nearest(
        float(chances.max()), int(curve.tasks[worst]), math.expm1(float(off[worst])), math.sqrt(curve.variance)
    )


def _formulas(curve: Curve) -> Iterator[Hypotheses]:
    top = math.log(curve.tasks[-1])
    scales = (math.log(0.2), top + math.log(3.0))
    for law, _ in LAWS:
        yield _zoomed(curve, _MASS["law"] / len(LAWS), saturating(law), (scales,))
        yield _zoomed(curve, _MASS["creep"] / len(LAWS), creeping(law), (scales, (-3.0, 3.0)), normal=True)
    if top > 0:
        for law, _ in SHARP:
            yield _zoomed(curve, _MASS["fall"] / len(SHARP), falling(law), (scales, (math.log(0.02) - top, -1.0)))
        yield _zoomed(curve, _MASS["usl"], usl_family(), ((math.log(1e-4), 0.0), (-2 * top - 3, 0.0)))


def _zoomed(curve: Curve, mass: float, family: Family, box: Box, *, normal: bool = False) -> Hypotheses:
    """The parameters of a formula on a grid that is laid ever finer around those that explain the levels."""
    import numpy as np

    tasks, counts, count = curve.tasks.astype(float), _GRID[len(box)], curve.count.sum()
    whole = math.prod(high - low for low, high in box)
    for look in range(_LOOKS):
        axes = axes_of(box, counts)
        shape = family.on_grid(tasks, axes) if look else first_grid(family, tuple(curve.tasks.tolist()), box, counts)
        plateau, misfit = _fitted(curve, shape)
        chance = log_evidence(curve, len(tasks), misfit, np.array(count))
        if normal:
            chance = (chance.reshape(counts) - 0.5 * axes[1] ** 2).ravel()
        near = np.flatnonzero(chance > chance.max() - _FAR)
        if len(near) / len(chance) > 0.2 or look == _LOOKS - 1:
            break
        box = narrowed(box, axes, near)
    volume = math.prod(high - low for low, high in box) / whole
    highest = family.at_points(dense(int(curve.tasks[-1])), axes, near).max(axis=1)
    shape, n = shape[near], len(near)
    return Hypotheses(
        chance=chance[near] + math.log(mass * volume / len(chance)),
        misfit=misfit[near],
        plateau=plateau[near] + highest,
        weight=np.full(n, float(count)),
        freedom=np.full(n, max(len(tasks) - 1.0 - len(box), 0.0)),
        shape=shape - highest[:, None],
        free=np.zeros_like(shape),
        lever=np.zeros_like(shape),
    )


def _kinked(curve: Curve) -> Iterator[Hypotheses]:
    """Curves of saturation, alone and with a slope that goes on, that do not run on as they began."""
    scales = (math.log(0.2), math.log(curve.tasks[-1]) + math.log(3.0))
    mass = _MASS["kink"] / 2 / len(CORNERED)
    for law, _ in CORNERED:
        yield _with_kink(curve, mass, saturating(law), (scales,))
        yield _with_kink(curve, mass, creeping(law), (scales, (-3.0, 3.0)))


@lru_cache(maxsize=16)
def _kinks(tasks: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """What may be added to the levels, of kinks × points, how much of it, typically, and what each weighs beforehand: a
    stair that comes late, a slope that begins somewhere, or a step that neighbouring points share (a bump, a dip)."""
    import numpy as np

    k, x = len(tasks), np.log2(np.array(tasks))
    stairs = [[float(i <= j) for j in range(k)] for i in range(1, k)]
    ramps = [np.maximum(x - x[i], 0.0) for i in range(1, k - 1)]
    bumps = [[float(i <= j <= last) for j in range(k)] for i in range(1, k) for last in range(i, k - 1)]
    kinds = [(stairs, _PRIOR_STEP), (ramps, PRIOR_SLOPE), (bumps, _PRIOR_STEP)]
    return (
        np.array([*stairs, *ramps, *bumps]),
        np.concatenate([np.full(len(kind), typical) for kind, typical in kinds]),
        np.concatenate([np.full(len(kind), 1 / max(len(kind), 1) / len(kinds)) for kind, _ in kinds]),
    )


def _with_kink(curve: Curve, mass: float, family: Family, box: Box) -> Hypotheses:
    """A formula with each of the kinks. Its parameters are on a grid, as in :func:`_zoomed`; kink and plateau are
    solved for."""
    import numpy as np

    k, whole, count, tasks = len(curve.tasks), curve.count.sum(), curve.count, curve.tasks.astype(float)
    counts, numbers = _KINK_GRID[len(box)], tuple(curve.tasks.tolist())
    kinks, typical, prior = _kinks(numbers)
    centred = kinks - (kinks @ count / whole)[:, None]
    believed = curve.variance / typical**2
    ridge = (centred**2) @ count + believed
    costs = 0.5 * np.log(ridge / believed)
    volume = math.prod(high - low for low, high in box)
    for look in range(_LOOKS):
        axes = axes_of(box, counts)
        shape = family.on_grid(tasks, axes) if look else first_grid(family, numbers, box, counts)
        plateau, misfit = _fitted(curve, shape)
        moved = ((curve.level - shape - plateau[:, None]) * count) @ centred.T / ridge
        left = moved * moved
        left *= ridge
        np.subtract(misfit[:, None], left, out=left)
        np.maximum(left, 0.0, out=left)
        before = np.tile(-0.5 * axes[1] ** 2, counts[0]) if len(box) > 1 else np.zeros(len(shape))
        # At best, a row has its best kink at no cost: few rows are worth the logarithms of all.
        best = log_evidence(curve, k, left.min(axis=1), np.array(whole)) + before
        worth = np.flatnonzero(best > best.max() - costs.max() - _FAR)
        chance = log_evidence(curve, k, left[worth], np.array(whole)) - costs + before[worth, None]
        near = chance > chance.max() - _FAR
        rows = worth[near.any(axis=1)]
        if len(rows) > 0.2 * len(shape) or look == _LOOKS - 1:
            break
        box = narrowed(box, axes, rows)
    share = mass * math.prod(high - low for low, high in box) / volume / len(shape)
    row, which = np.nonzero(near)
    row = worth[row]
    return Hypotheses(
        chance=chance[near] + np.log(share * prior[which]),
        misfit=left[row, which],
        plateau=plateau[row],
        weight=np.full(len(row), whole),
        freedom=np.full(len(row), max(k - 2.0 - len(box), 0.0)),
        shape=shape[row] + moved[row, which][:, None] * centred[which],
        free=np.zeros((len(row), k)),
        lever=centred[which] * ridge[which][:, None] ** -0.5,
    )


def _fitted(curve: Curve, shape: Floats) -> tuple[Floats, Floats]:
    """The constant that fits each shape to the levels, and the misfit that is left."""
    off = curve.level - shape
    plateau = (off * curve.count).sum(axis=1) / curve.count.sum()
    off -= plateau[:, None]
    off *= off
    off *= curve.count
    return plateau, off.sum(axis=1)


def _levels(curve: Curve) -> Hypotheses:
    """Some points share a level, the highest; each other one has its own."""
    import numpy as np

    shared, prior = _shared(tuple(curve.tasks.tolist()))
    weighed = shared * curve.count
    weight = weighed.sum(axis=1)
    pooled = (weighed * curve.level).sum(axis=1) / weight
    misfit = (weighed * (curve.level - pooled[:, None]) ** 2).sum(axis=1)
    own = 0.5 * np.log1p(curve.count * _PRIOR_LEVEL**2 / curve.variance)
    shape = np.where(shared > 0, 0.0, curve.level - pooled[:, None])
    chance = prior + log_evidence(curve, len(curve.tasks), misfit, weight) - (1 - shared) @ own
    chance += _below(curve, shape, shared, weight)
    return Hypotheses(chance, misfit, pooled, weight, shared.sum(axis=1) - 1, shape, 1 - shared, np.zeros_like(shape))


def _below(curve: Curve, above: Floats, shared: Floats, weight: Floats) -> Floats:
    """Logarithm of the chance that the levels that are their own lie below the plateau. ``above``: how far above."""
    import numpy as np

    error = (curve.variance * (1 / curve.count + 1 / weight[:, None])) ** 0.5
    own, found = shared == 0, np.zeros_like(above)
    found[own] = log_normal_cdf((-above / error)[own])
    return np.asarray(found.sum(axis=1))


@lru_cache(maxsize=16)
def _shared(tasks: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Which points may have the plateau in common, 1 in rows × points, and the logarithm of what each row weighs."""
    import numpy as np

    rows, prior = [], []
    for name, some in _sharing(tasks):
        rows += some
        prior += [_MASS["levels"] * _LEVELS_MASS[name] / len(some)] * len(some)
    return np.array(rows, dtype=float), np.log(prior)


def _sharing(tasks: tuple[int, ...]) -> Iterator[tuple[str, list[list[bool]]]]:
    """All from one on, those between two, all but some in the middle, even numbers."""
    k = len(tasks)
    yield "suffix", [[j >= i for j in range(k)] for i in range(k)]
    intervals = [[i <= j <= last for j in range(k)] for i in range(k) for last in range(i, k - 1)]
    if intervals:
        yield "interval", intervals
    dips = [
        [j >= i and not first <= j <= last for j in range(k)]
        for i in range(k)
        for first in range(i + 1, k - 1)
        for last in range(first, k - 1)
    ]
    if dips:
        yield "dip", dips
    even = [[j >= i and tasks[j] % 2 == 0 for j in range(k)] for i in range(k) if tasks[i] % 2 == 0]
    if even:
        yield "even", even


def _lines(curve: Curve) -> Hypotheses:
    """From a point on, each but the last, throughput goes on rising, or falls, by the same share with each doubling."""
    import numpy as np

    k = len(curve.tasks)
    on = np.arange(k) >= np.arange(k - 1)[:, None]
    count = curve.count * on
    weight = count.sum(axis=1)
    x = np.log2(curve.tasks)
    at = on * (x - ((count * x).sum(axis=1) / weight)[:, None])
    mean = (count * curve.level).sum(axis=1) / weight
    believed = curve.variance / PRIOR_SLOPE**2
    ridge = (count * at * at).sum(axis=1) + believed
    slope = (count * at * curve.level).sum(axis=1) / ridge
    fitted = slope[:, None] * at
    misfit = (count * (curve.level - mean[:, None] - fitted) ** 2).sum(axis=1)
    misfit += [one**2 * believed for one in slope.tolist()]
    shape = np.where(on, fitted, curve.level - mean[:, None])
    own = 0.5 * np.log1p(curve.count * _PRIOR_LEVEL**2 / curve.variance)
    each = math.log(_MASS["line"] / (k - 1))
    prior = [each - 0.5 * math.log(one / believed) - float(own[:n].sum()) for n, one in enumerate(ridge.tolist())]
    above = shape - np.where(on, shape, -np.inf).max(axis=1)[:, None]
    shared = on.astype(float)
    return Hypotheses(
        chance=prior + log_evidence(curve, k, misfit, weight) + _below(curve, above, shared, weight),
        misfit=misfit,
        plateau=mean,
        weight=weight,
        freedom=np.maximum(k - np.arange(k - 1) - 2.0, 0.0),
        shape=shape,
        free=1 - shared,
        lever=at * ridge[:, None] ** -0.5,
    )
