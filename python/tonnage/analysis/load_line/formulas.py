"""Formulas of throughput over tasks, and the grids on which their parameters are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Law = Callable[[Floats], Floats]
    Box = tuple[tuple[float, float], ...]

PRIOR_SLOPE = 0.06
"""How much throughput goes on rising or falling with each doubling, typically (logarithm)."""
_DENSE = 256
"""Numbers of tasks at which a formula is searched for its highest value."""
_KEPT = 128
"""First grids that are kept: those of all formulas, for the latest few sets of numbers of tasks."""


@dataclass(frozen=True, slots=True)
class Family:
    """A formula with one or two parameters. Each has a table of its own, of values × tasks, so that what is costly is
    done once for each value of a parameter, not once for each pair of them."""

    tables: tuple[Callable[[Floats, Floats], Floats], ...]
    """Of tasks and the values of the parameter."""
    join: Callable[[Floats, tuple[Floats, ...]], Floats]
    """The logarithm of throughput from tasks and tables whose shapes go together."""

    def on_grid(self, tasks: Floats, axes: tuple[Floats, ...]) -> Floats:
        """At all points of the grid of these values, of points × tasks; the last parameter changes fastest."""
        tables = self._tables(tasks, axes)
        if len(tables) == 1:
            return self.join(tasks, tables)
        first, second = tables
        return self.join(tasks, (first[:, None, :], second[None, :, :])).reshape(-1, len(tasks))

    def at_points(self, tasks: Floats, axes: tuple[Floats, ...], points: NDArray[np.int64]) -> Floats:
        """Returns the curves at some points of that grid, by their number."""
        tables = self._tables(tasks, axes)
        if len(tables) == 1:
            return self.join(tasks, (tables[0][points],))
        first, second = tables
        return self.join(tasks, (first[points // len(second)], second[points % len(second)]))

    def _tables(self, tasks: Floats, axes: tuple[Floats, ...]) -> tuple[Floats, ...]:
        return tuple(table(tasks, axis) for table, axis in zip(self.tables, axes, strict=True))


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
SHARP = (LAWS[0], LAWS[1], LAWS[4])
"""Those that may fall beyond their knee."""
CORNERED = (LAWS[0], LAWS[1])
"""Those that may have a kink."""


def _of_law(law: Law) -> Callable[[Floats, Floats], Floats]:
    """A law of saturation by the logarithm of the number of tasks at which it bends."""
    import numpy as np

    return lambda tasks, scale: np.log(law(tasks / np.exp(scale)[:, None]))


@lru_cache
def saturating(law: Law) -> Family:
    return Family((_of_law(law),), lambda _, tables: tables[0])


@lru_cache
def creeping(law: Law) -> Family:
    """A law of saturation times a power of the tasks; the slope in its typical ones."""
    import numpy as np

    return Family(
        (_of_law(law), lambda tasks, slope: PRIOR_SLOPE * slope[:, None] * np.log2(tasks)),
        lambda _, tables: tables[0] + tables[1],
    )


@lru_cache
def falling(law: Law) -> Family:
    """A law of saturation of which each task costs a share, by the logarithm of that share."""
    import numpy as np

    return Family(
        (_of_law(law), lambda tasks, share: np.exp(share)[:, None] * tasks), lambda _, tables: tables[0] - tables[1]
    )


@lru_cache
def usl_family() -> Family:
    """Returns the Universal Scalability Law (Gunther 1993) by the logarithms of contention and coherency."""
    import numpy as np

    return Family(
        (
            lambda tasks, contention: np.exp(contention)[:, None] * (tasks - 1),
            lambda tasks, coherency: np.exp(coherency)[:, None] * tasks * (tasks - 1),
        ),
        lambda tasks, tables: np.log(tasks) - np.log1p(tables[0] + tables[1]),
    )


@lru_cache(maxsize=_KEPT)
def first_grid(family: Family, tasks: tuple[int, ...], box: Box, counts: tuple[int, ...]) -> Floats:
    """Of a formula in its whole box: the same for every curve that was measured at these numbers of tasks."""
    import numpy as np

    found = family.on_grid(np.array(tasks, dtype=float), axes_of(box, counts))
    found.flags.writeable = False
    return found


@lru_cache(maxsize=16)
def dense(top: int) -> Floats:
    """Returns numbers of tasks up to the largest, of a geometric series."""
    import numpy as np

    found = np.unique(np.rint(np.geomspace(1, float(top), _DENSE)))
    found.flags.writeable = False
    return found


def axes_of(box: Box, counts: tuple[int, ...]) -> tuple[Floats, ...]:
    """Returns the values of each parameter in a grid on a box."""
    return tuple(_spread(low, high, n) for (low, high), n in zip(box, counts, strict=True))


def _spread(low: float, high: float, number: int) -> Floats:
    """What ``np.linspace`` gives; half of its time goes into looking at its arguments."""
    found = _counted(number) * ((high - low) / (number - 1)) + low
    found[-1] = high
    return found


@lru_cache(maxsize=16)
def _counted(number: int) -> Floats:
    import numpy as np

    return np.arange(number, dtype=float)


def narrowed(box: Box, axes: tuple[Floats, ...], points: NDArray[np.int64]) -> Box:
    """Returns the box around some points of its grid, with a step of it on each side."""
    numbers = (points,) if len(axes) == 1 else (points // len(axes[1]), points % len(axes[1]))
    found = []
    for (low, high), axis, mine in zip(box, axes, numbers, strict=True):
        step = axis[1] - low
        found.append((max(low, float(axis[mine.min()]) - step), min(high, float(axis[mine.max()]) + step)))
    return tuple(found)
