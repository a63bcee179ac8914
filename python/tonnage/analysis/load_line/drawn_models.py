"""Curves drawn dashed beside the points. They describe; the load line does not come from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from tonnage.analysis.results import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CURVE_POINTS = 64
_BREAKS = 400


def fit(op: str, group: str, tasks: Sequence[int], rates: Sequence[float], top: int = 1) -> list[Model]:
    """Fits both models through the medians ``rates`` (of any unit) at ``tasks``, drawn up to the larger of these and
    ``top``; returns none for fewer than three points."""
    if len(tasks) < 3 or min(rates) <= 0:
        return []
    found: list[tuple[str, dict[str, float], Callable[..., float]]] = [
        ("usl", fit_usl(tasks, rates), usl),
        ("hinge", fit_hinge(tasks, rates), hinge),
    ]
    grid = _grid(max(*tasks, top))
    return [
        Model(op, group, name, parameters, tuple((n, law(n, **parameters)) for n in grid))
        for name, parameters, law in found
    ]


def at(model: Model, tasks: float) -> float:
    """What a fitted model says at a number of tasks."""
    laws: dict[str, Callable[..., float]] = {"usl": usl, "hinge": hinge}
    return laws[model.name](tasks, **model.parameters)


def usl(tasks: float, one: float, contention: float, coherency: float) -> float:
    """Computes the Universal Scalability Law (Gunther 1993): X = λN / (1 + σ(N − 1) + κN(N − 1)); λ in the unit of the
    rates."""
    return one * tasks / (1 + contention * (tasks - 1) + coherency * tasks * (tasks - 1))


def hinge(tasks: float, plateau: float, knee: float) -> float:
    """Computes a throughput that is proportional up to ``knee`` tasks and flat after it: X = P·min(1, N/b)."""
    return plateau * min(1.0, tasks / knee)


def fit_usl(tasks: Sequence[int], rates: Sequence[float]) -> dict[str, float]:
    """Least squares of relative errors. N/X is linear in coefficients that are not negative: no start is guessed."""
    import numpy as np

    n, x = np.asarray(tasks, float), np.asarray(rates, float)
    inverse = n / x
    columns = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) / inverse[:, None]
    # Bytes per second make the coefficients tiny; scaled to about 1 they are solved exactly as well as they can be.
    scale = float(inverse[0])
    base, contention, coherency = _not_negative(columns * scale)
    base = max(base, 1e-12)
    return {
        "one": float(1 / (base * scale)),
        "contention": float(contention / base),
        "coherency": float(coherency / base),
    }


def _not_negative(columns: Floats) -> Floats:
    """Coefficients of the columns (n × few), none below 0, whose sum is nearest to 1 in each row. The best of all
    choices of columns is it: the others have the coefficient 0."""
    import numpy as np

    rows, many = columns.shape
    best, least = np.zeros(many), float(rows)
    for chosen in (some for size in range(1, many + 1) for some in combinations(range(many), size)):
        some = columns[:, chosen]
        found = np.linalg.lstsq(some, np.ones(rows), rcond=None)[0]
        misfit = float(((some @ found - 1) ** 2).sum())
        if misfit < least and (found >= 0).all():
            best, least = np.zeros(many), misfit
            best[list(chosen)] = found
    return best


def fit_hinge(tasks: Sequence[int], rates: Sequence[float]) -> dict[str, float]:
    """Least squares of logarithms over a fine grid of knees; the plateau that fits each is a mean."""
    import numpy as np

    n, y = np.asarray(tasks, float), np.log(np.asarray(rates, float))
    breaks = np.geomspace(float(n.min()), float(n.max()), _BREAKS)
    shape = np.minimum(0.0, np.log(n[None, :] / breaks[:, None]))
    level = (y - shape).mean(axis=1)
    best = int(((y - shape - level[:, None]) ** 2).sum(axis=1).argmin())
    return {"plateau": float(np.exp(level[best])), "knee": float(breaks[best])}


def _grid(top: int) -> list[float]:
    return [math.exp(math.log(top) * i / (_CURVE_POINTS - 1)) for i in range(_CURVE_POINTS)] if top > 1 else [1.0]
