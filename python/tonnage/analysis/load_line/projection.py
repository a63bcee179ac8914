"""Projects a run to numbers of tasks and nodes that it did not measure, or says why it cannot.

A curve leads there: points with as many tasks on each node as were asked for, whatever the number of nodes; or points
on as many nodes, whatever the number of tasks. Without such a curve of three points with repetitions nothing is said:
the share of a storage that one node gets tells nothing of many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from tonnage.analysis.findings.undoing import Undone, undone_answers
from tonnage.analysis.hosts import hosts_of
from tonnage.analysis.links import ceilings_of, links_of
from tonnage.analysis.load_line.curve_hypotheses import UNLIKELY, Curve, nearest_law
from tonnage.analysis.load_line.estimate import curve_of
from tonnage.analysis.load_line.extrapolate import Expected, extrapolate
from tonnage.analysis.points import points_of
from tonnage.analysis.results import Model, Point
from tonnage.analysis.statistics.intervals import CONFIDENCE
from tonnage.analysis.transfer_sizes import Ceiling, ceilings_at
from tonnage.errors import RequestError
from tonnage.records import Run
from tonnage.records.line_types import CeilingEntry
from tonnage.units import BANDWIDTH, size_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_LAW_OFF = 0.10
"""A point further from every law than this, beyond its noise, says that other numbers cannot be known from it."""
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


_FEWEST = 3
"""Numbers of tasks that a curve has at least."""
_WORTH = 10.0
"""An interval whose ends are so many times apart says nothing."""
_APART = 1e6
"""A factor from which on its digits say nothing."""
_KINDS = ("stream", "files", "command")
_CURVE = 40
_ABOVE = 1.05
"""A measurement this many times a ceiling contradicts it."""
_OF_HOSTS = ("memory-copy", "null-storage")
"""Ceilings of each host: of twice the hosts they are twice as high."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What to expect of one operation."""

    op: str
    group: str
    metric: str
    tasks: int
    nodes: int | None
    """None: those of an imported run, whose records do not tell how many."""
    median: float
    low: float
    high: float
    confidence: float
    most_tasks: int
    """The most tasks on the curve that leads there."""
    beyond: float
    """How many times that many were asked for; 1 or less: inside what was measured."""
    along: str
    """What the curve's points differ in: ``tasks`` on as many nodes, or ``nodes`` with as many tasks each."""
    ceiling: str | None
    """Name of the ceiling that bounds the interval; None where none does."""
    ceiling_per_s: float | None
    points: tuple[Point, ...]
    band: tuple[Expected, ...]
    """The same over the whole curve, for the picture."""
    models: tuple[Model, ...]
    """USL and hinge, fitted to the medians alone."""
    undone_by: tuple[Undone, ...] = ()
    """What undoes it: findings on its curve, and that the run is not complete."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A curve of which nothing can be said at what was asked, and why."""

    op: str
    group: str
    why: str


def project(
    run: Run,
    *,
    tasks: int | None = None,
    nodes: int | None = None,
    ops: Sequence[str] = (),
    link: float | None = None,
) -> tuple[list[Projection], list[Refused]]:
    """What to expect of each operation at ``tasks`` tasks in all, on ``nodes`` nodes.

    One of them may be left out: the nodes where all points were on as many, the tasks where each node had as many.
    ``link``: bytes per second that a node's link carries, a ceiling of what is moved. RequestError where the question
    is none that the run's points could answer.
    """
    trials, lines = run.each_trial(), run.each_task()
    measured = points_of(run, trials)
    points = [point for point in measured if point.kind in _KINDS and (not ops or point.op in ops)]
    if not points:
        asked = " and ".join(ops) or "operation whose throughput could be projected"
        raise RequestError(f"{run.path} has no {asked}; hint: see tonnage report {run.path}")
    unknown = bool(run.manifest.get("imported")) and all(
        task.get("host") is None for point in points for task in lines.get(point.records[0], ())
    )
    if unknown and (nodes is not None or link is not None):
        why = "is imported and does not say on how many nodes it was measured"
        raise RequestError(f"{run.path} {why}; hint: leave out --nodes and --link")
    hosts = {(found.op, found.group, found.tasks): len(found.parts) for found in hosts_of(points, trials, lines)}
    placed = [(point, hosts.get((point.op, point.group, point.tasks), 1)) for point in points]
    tasks, nodes = _asked(placed, tasks, nodes)
    ceilings = [*(run.manifest.get("ceilings") or ()), *ceilings_of(links_of(measured, trials))]
    curves = [
        [(point, count) for point, count in placed if (point.op, point.group) == key]
        for key in dict.fromkeys((point.op, point.group) for point in points)
    ]
    found = [_curve(curve, tasks, nodes, ceilings, link) for curve in curves]
    expected = [
        replace(one, undone_by=undone_answers(run, measured, [(one.op, one.group)]))
        for one in found
        if isinstance(one, Projection)
    ]
    return (
        [replace(one, nodes=None) if unknown else one for one in expected],
        [one for one in found if isinstance(one, Refused)],
    )


def _asked(placed: Sequence[tuple[Point, int]], tasks: int | None, nodes: int | None) -> tuple[int, int]:
    """Tasks in all and nodes, with what follows from the run filled in."""
    if tasks is None and nodes is None:
        raise RequestError("nothing is asked for; hint: say --tasks, --nodes or both")
    if nodes is None:
        counts = {count for _, count in placed}
        if len(counts) > 1:
            raise RequestError("the run has points on several numbers of nodes; hint: say --nodes as well")
        nodes = counts.pop()
    if tasks is None:
        each = {point.tasks / count for point, count in placed if count > 1} or {p.tasks / n for p, n in placed}
        if len(each) > 1:
            raise RequestError("nodes had several numbers of tasks; hint: say --tasks as well, of all nodes together")
        tasks = round(each.pop() * nodes)
    if tasks % nodes:
        raise RequestError(f"{tasks} tasks are no whole number on each of {nodes} nodes; hint: give a multiple")
    return tasks, nodes


def _curve(
    curve: Sequence[tuple[Point, int]],
    tasks: int,
    nodes: int,
    ceilings: Sequence[CeilingEntry],
    link: float | None,
) -> Projection | Refused:
    """What one operation's points say, along the curve of most points that leads there."""
    op, group, metric = curve[0][0].op, curve[0][0].group, curve[0][0].metric
    each = tasks // nodes
    ways = {
        "nodes": [point for point, count in curve if point.tasks == each * count],
        "tasks": [point for point, count in curve if count == nodes],
    }
    along = max(ways, key=lambda way: (_worth(ways[way]), len(ways[way])))
    points = sorted(ways[along], key=lambda point: point.tasks)
    if not _worth(points):
        return Refused(op, group, _why(points, each, nodes))
    if link is not None and (above := [point for point, count in curve if point.median > _ABOVE * link * count]):
        return Refused(op, group, f"{above[0].tasks} tasks already moved more than the links that are stated carry")
    most = points[-1].tasks
    hosts = max(count for _, count in curve)
    at_size = ceilings_at(ceilings, curve[0][0].transfer_size)
    name, bound = _ceiling(at_size, nodes, hosts, link) if metric == BANDWIDTH else (None, None)
    if bound is not None and nodes >= hosts and max(point.median for point in points) > _ABOVE * bound:
        name, bound = None, None  # a cache was measured, which this ceiling does not bound
    values = {point.tasks: point.values for point in points}
    if no_law := _why_no_law(curve_of(values)):
        return Refused(op, group, no_law)
    fewest, last = points[0].tasks, max(most, tasks)
    grid = sorted({round(fewest * (last / fewest) ** (step / _CURVE)) for step in range(_CURVE + 1)})
    band = extrapolate(values, [*grid, tasks])
    free = band[-1]
    if free.high / free.low > _WORTH:
        factor = free.high / free.low
        spans = f"anything within a factor of {factor:.0f}" if factor < _APART else "anything"
        return Refused(op, group, f"at {tasks} tasks it may be {spans}: points beyond {most} tasks would tell")
    expected = free if bound is None else extrapolate(values, [tasks], bound)[0]
    return Projection(
        op=op,
        group=group,
        metric=metric,
        tasks=tasks,
        nodes=nodes,
        median=expected.median,
        low=expected.low,
        high=expected.high,
        confidence=CONFIDENCE,
        most_tasks=most,
        beyond=tasks / most,
        along=along,
        ceiling=name if bound is not None and free.high > bound else None,
        ceiling_per_s=bound,
        points=tuple(points),
        band=tuple(sorted({one.tasks: one for one in band}.values(), key=lambda one: one.tasks)),
        models=tuple(fit(op, group, [p.tasks for p in points], [p.median for p in points], tasks)),
    )


def _why_no_law(curve: Curve) -> str:
    """Why numbers that were measured say nothing of others; empty where a law runs near all of them."""
    nearest = nearest_law(curve)
    if nearest is None or nearest.chance >= UNLIKELY or abs(nearest.off) <= _LAW_OFF:
        return ""
    off = f"{100 * nearest.off:+.0f} % at {nearest.tasks} tasks"
    return f"no law of throughput over tasks fits: the nearest is off by {off}; measure the number that is asked for"


def _worth(points: Sequence[Point]) -> bool:
    """Whether a curve can be continued: enough numbers of tasks, and repetitions that tell its noise."""
    return len({point.tasks for point in points}) >= _FEWEST and any(point.repetitions > 1 for point in points)


def _why(points: Sequence[Point], each: int, nodes: int) -> str:
    if len({point.tasks for point in points}) >= _FEWEST:
        return "every point was measured once, so that nothing tells how far to trust it: repeat them"
    where = "one node" if nodes == 1 else f"{nodes} nodes"
    task = "1 task" if each == 1 else f"{each} tasks"
    ways = f"{_FEWEST} numbers of nodes with {task} each, or of tasks on {where}"
    return f"too few points lead there: measure {ways}"


def _ceiling(
    ceilings: Sequence[Ceiling], nodes: int, hosts: int, link: float | None
) -> tuple[str | None, float | None]:
    """The lowest ceiling at so many nodes; those of hosts grow with them, a link between hosts does not."""
    found = [("the nodes' links, as stated", link * nodes)] if link is not None else []
    for one in ceilings:
        times = nodes / hosts if one.name in _OF_HOSTS else 1.0
        elsewhere = (
            ""
            if one.other_transfer_size is None
            else f", measured with transfers of {size_text(one.other_transfer_size)}"
        )
        found.append((one.name.replace("-", " ") + elsewhere, one.bytes_per_s * times))
    return min(found, key=lambda pair: pair[1], default=(None, None))
