"""The load line over transfer sizes: one answer for every size between two, from trials at few of them.

The logarithm of throughput over (log2 tasks, log2 transfer size) is a Gaussian process: a constant for each size, a
slope in the tasks that changes slowly with the size, a smooth rest, and a rough one that lets neighbouring sizes
differ, as at the edge of a stripe. Its lengths and amplitudes and the noise are not fitted but averaged over a grid,
each weighted by the likelihood of the trials (Rasmussen and Williams 2006, chapter 5). The load line of a size is then
read off each of many surfaces drawn from it, as it is defined: the smallest number of tasks within 5 % of the largest
throughput. Its interval holds 95 % of them.

The next trial is the one that is expected to tell most: that takes most of the variance of the logarithm of the load
lines of all sizes, to first order (their covariance with the throughput there, squared, over its variance with noise).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tonnage.analysis.figure_texts import speed
from tonnage.analysis.load_line.estimate import WITHIN
from tonnage.analysis.load_line.trial_checks import TURNS, stopped_by
from tonnage.analysis.results import LoadLine, Point, Surface, SurfaceSize
from tonnage.records import Trials, loop_rates
from tonnage.units import plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CONFIDENCE = 0.95
_DRAWS, _DRAWS_TO_CHOOSE = 1000, 200
_NOISES = (0.02, 0.05, 0.1, 0.2)
"""Relative noise of a trial."""
_SIZE_LENGTHS, _TASK_LENGTHS = (3.0, 8.0), (1.5, 4.0)
"""In octaves."""
_SMOOTH, _ROUGH = (0.5, 1.5), (0.05, 0.2, 0.5)
"""Standard deviations of the logarithm."""
_LEVEL, _SLOPE = 2.0, 0.4
"""Of the constant of each size, and of the slope."""
_MEAN = 6.0
"""Of what is common to all: nothing is known of it."""
_BELOW = 0.005
"""Of the 5 % that an interval leaves out so much lies below it: a corner is rounded where trials scatter, which moves
the line up and never down. With equal ends all intervals that missed were above the truth."""
_NEAR_THE_END = 0.9
"""An interval that reaches so far into the largest number of tasks has no upper end that was seen."""
_KNOWN_OCTAVES = 2.0
"""An interval is wider than this, or than half of all octaves of tasks, where nothing is known yet."""
_AT_ONCE = 4
"""Trials that are decided on together."""
_PARTS = 4
"""Numbers of tasks that are looked at in each octave."""


@dataclass(frozen=True, slots=True)
class SurfaceTrial:
    """One trial, of one operation."""

    tasks: int
    transfer_size: int
    bytes_per_s: float


def sizes_between(smallest: int, largest: int) -> tuple[int, ...]:
    """Returns the transfer sizes of a surface: doublings of the smallest, and the largest."""
    doublings = range(max(math.ceil(math.log2(largest / smallest)), 0))
    return (*(smallest << step for step in doublings), largest)


def numbers_up_to(max_tasks: int) -> tuple[int, ...]:
    """The numbers of tasks that a surface is known at: a few in each octave."""
    between = {
        math.floor(2**octave * (1 + part / _PARTS))
        for octave in range(max_tasks.bit_length())
        for part in range(_PARTS)
    }
    return tuple(sorted({n for n in between if n < max_tasks} | {max_tasks}))


class SurfaceSearch:
    """The decisions of ``probe --surface`` for one operation. The same trials and seed give the same decisions."""

    def __init__(self, op: str, max_tasks: int, sizes: Sequence[int], seed: int) -> None:
        self._grid = _Grid(numbers_up_to(max_tasks), tuple(sizes))
        self._seed = [seed, *op.encode()]
        self._round: list[tuple[int, int]] = []

    def next(
        self, trials: Sequence[SurfaceTrial], trial_ns: int, silent: Collection[tuple[int, int]] = ()
    ) -> tuple[int, int]:
        """Tasks and transfer size of the next trial: first a few far apart, then what tells most for its time.
        ``trial_ns``: of a trial on a storage that is not slow. ``silent``: cells with trials that gave no rate; none
        is tried again while there are others."""
        import numpy as np

        tried = {(one.tasks, one.transfer_size) for one in trials} | set(silent)
        random = np.random.default_rng([*self._seed, len(trials) + len(silent)])
        first = self._grid.first()
        left = [cell for cell in first if cell not in tried] or ([] if trials else first)
        if left:
            return left[random.integers(len(left))]
        if not self._round:
            self._round = self._grid.most_telling(trials, trial_ns, random, silent)
        return self._round.pop()


def surfaces_of(search: Mapping[str, Any], points: Sequence[Point], trials: Trials) -> tuple[Surface, ...]:
    """Returns the surface of each operation of a search over a range of transfer sizes; none if it searched one size.
    ``search``: that table of the run's manifest."""
    if not search.get("surface"):
        return ()
    sizes = sizes_between(*search["surface"])
    found = []
    for op in dict.fromkeys(point.op for point in points):
        own = [
            SurfaceTrial(point.tasks, point.transfer_size, rate)
            for point in points
            if point.op == op and point.transfer_size
            for rate in loop_rates(trials.named(point.records), point.values)
            if rate > 0
        ]
        found.append(surface_of(op, own, search["max_tasks"], sizes))
    return tuple(filter(None, found))


def lines_of(surface: Surface, points: Sequence[Point]) -> Iterator[LoadLine]:
    """The load line of each size that has trials of its own."""
    for one in surface.sizes:
        curve = [point for point in points if point.op == surface.op and point.transfer_size == one.transfer_size]
        if curve:
            yield _line_of(surface, one, curve)


def _line_of(surface: Surface, one: SurfaceSize, curve: Sequence[Point]) -> LoadLine:
    return LoadLine(
        op=surface.op,
        group=curve[0].group,
        reached=one.reached,
        tasks=one.tasks if one.reached else None,
        tasks_low=one.tasks_low if one.reached else None,
        tasks_high=one.tasks_high if one.reached else None,
        confidence=surface.confidence,
        plateau_bytes_per_s=one.plateau_bytes_per_s if one.reached else None,
        plateau_low=one.plateau_low if one.reached else None,
        plateau_high=one.plateau_high if one.reached else None,
        max_tasks_tried=surface.max_tasks,
        why=_sentence(surface, one, curve[0]),
        stopped=stopped_by(curve),
    )


def _sentence(surface: Surface, one: SurfaceSize, of: Point) -> str:
    if one.reached:
        verb = "reaches" if one.tasks == 1 else "reach"
        tasks = f"{plural(one.tasks, 'task')} [{one.tasks_low}, {one.tasks_high}]"
        beyond = "lose throughput" if one.declines else "only wait"
        return f"{tasks} {verb} 95 % of the {speed(one.plateau_bytes_per_s, of)} plateau; more {beyond}"
    if one.tasks_high is None and 2 * one.tasks_low > surface.max_tasks:
        return f"not reached within {plural(surface.max_tasks, 'task')}: it takes at least {one.tasks_low}"
    ends = f"between {one.tasks_low} and {one.tasks_high}" if one.tasks_high else f"at least {one.tasks_low}"
    return f"not shown: {ends} tasks; a longer --budget may show it"


def surface_of(op: str, trials: Sequence[SurfaceTrial], max_tasks: int, sizes: Sequence[int]) -> Surface | None:
    """The load lines of all ``sizes``; None where too few cells were measured to say anything."""
    import numpy as np

    grid = _Grid(numbers_up_to(max_tasks), tuple(sizes))
    if len({(one.tasks, one.transfer_size) for one in trials}) < len(grid.first()):
        return None
    logs, noise = grid.drawn(trials, np.random.default_rng(len(trials)), _DRAWS)
    lines = grid.load_lines(logs)
    low, middle, high = np.quantile(lines, [_BELOW, 0.5, CONFIDENCE + _BELOW], axis=0)
    # Where the estimate is highest: the highest of each draw is as high as chance takes it.
    plateaus = np.take_along_axis(logs, np.median(logs, axis=0).argmax(axis=0)[None, None], axis=1)[:, 0]
    each = tuple(
        _size(
            size,
            [2 ** float(value[k]) for value in (low, middle, high)],
            plateaus[:, k],
            logs[:, -1, k],
            trials,
            max_tasks,
        )
        for k, size in enumerate(sizes)
    )
    return Surface(
        op=op,
        max_tasks=max_tasks,
        confidence=CONFIDENCE,
        sizes=each,
        trials=len(trials),
        noise=round(math.sqrt(noise), 4),
        tasks=grid.tasks,
        rates_bytes_per_s=tuple(tuple(_rate(float(value)) for value in row) for row in np.median(logs, axis=0)),
    )


def _size(
    size: int, found: Sequence[float], plateau: Floats, last: Floats, trials: Sequence[SurfaceTrial], max_tasks: int
) -> SurfaceSize:
    """``found``: ends of the interval around the median, in tasks. ``plateau``, ``last``: draws of the logarithm of
    throughput there, and with ``max_tasks``."""
    import numpy as np

    low, middle, high = math.floor(found[0] + 1e-9), round(found[1]), math.ceil(found[2] - 1e-9)
    ended, own = high < _NEAR_THE_END * max_tasks, sum(1 for one in trials if one.transfer_size == size)
    tail = (1 - CONFIDENCE) / 2
    rates = [_rate(float(value)) for value in np.quantile(plateau, [tail, 0.5, 1 - tail])]
    return SurfaceSize(
        transfer_size=size,
        reached=own > 0 and ended and high <= low * min(2**_KNOWN_OCTAVES, max_tasks**0.5),
        tasks=min(max(middle, low), high),
        tasks_low=low,
        tasks_high=high if ended else None,
        plateau_bytes_per_s=rates[1],
        plateau_low=rates[0],
        plateau_high=rates[2],
        declines=bool(np.quantile(last - plateau, 1 - tail) < math.log(WITHIN)),
        trials=own,
    )


def _rate(log: float) -> int:
    """To four digits, which are the same on every machine that computes it again."""
    rate = math.exp(log)
    return int(round(rate, 3 - math.floor(math.log10(max(rate, 1.0)))))


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where a surface is known: each of some numbers of tasks with each of some transfer sizes."""

    tasks: tuple[int, ...]
    sizes: tuple[int, ...]

    def first(self) -> list[tuple[int, int]]:
        """Cells far apart: one task, some, all, at sizes two octaves apart or so, the largest included; and some tasks
        at each other size, of which nothing is claimed without a trial."""
        some = min(self.tasks, key=lambda n: abs(n * n - self.tasks[-1]))
        step = max(len(self.sizes) // 4, 1)
        sizes = [*self.sizes[:-1:step], self.sizes[-1]]
        apart = [(n, size) for n in dict.fromkeys((1, some, self.tasks[-1])) for size in sizes]
        return apart + [(some, size) for size in self.sizes if size not in sizes]

    def most_telling(
        self,
        trials: Sequence[SurfaceTrial],
        trial_ns: int,
        random: np.random.Generator,
        silent: Collection[tuple[int, int]],
    ) -> list[tuple[int, int]]:
        """The few next trials, the best last, none of ``silent``. In a round of several, so that one that is slow by
        chance does not send the search astray, and that it takes little time."""
        import numpy as np

        logs, noise = self.drawn(trials, random, _DRAWS_TO_CHOOSE)
        cells, lines = logs.reshape(len(logs), -1), self.load_lines(logs)
        cells, lines = cells - cells.mean(axis=0), lines - lines.mean(axis=0)
        told = ((cells.T @ lines / len(logs)) ** 2).sum(axis=1) / (cells.var(axis=0) + noise)
        # Where the storage is slow a trial lasts until each task has had its turns.
        turns_ns = TURNS * np.outer(self.tasks, self.sizes).ravel() * 1e9 / np.exp(np.median(logs, axis=0).ravel())
        best = np.argsort(told / np.maximum(turns_ns / trial_ns, 1)).tolist()
        several = [(self.tasks[cell // len(self.sizes)], self.sizes[cell % len(self.sizes)]) for cell in best]
        return [cell for cell in several if cell not in silent][-_AT_ONCE:]

    def drawn(
        self, trials: Sequence[SurfaceTrial], random: np.random.Generator, draws: int
    ) -> tuple[NDArray[np.float64], float]:
        """Surfaces as the trials leave them (draws × tasks × sizes, logarithms), and the squared noise of a trial."""
        import numpy as np

        places = {(n, size): i for i, (n, size) in enumerate((n, size) for n in self.tasks for size in self.sizes)}
        known = [(places[one.tasks, one.transfer_size], math.log(one.bytes_per_s)) for one in trials]
        where, back = np.unique([place for place, _ in known], return_inverse=True)
        values = np.array([value for _, value in known])
        counts = np.bincount(back)
        means = np.bincount(back, values) / counts
        scatter, freedom = float(((values - means[back]) ** 2).sum()), len(values) - len(where)
        centre = float(means.mean())
        rest = means - centre
        laws: list[tuple[float, Floats, float, Floats, Floats]] = []
        for covariance in _covariances(self.tasks, self.sizes):
            own = covariance[np.ix_(where, where)]
            for noise in _NOISES:
                root: Floats = np.asarray(np.linalg.cholesky(own + np.diag(noise**2 / counts)), dtype=np.float64)
                white: Floats = np.asarray(np.linalg.solve(root, rest), dtype=np.float64)
                likelihood = -0.5 * white @ white - np.log(np.diag(root)).sum()
                likelihood -= freedom * math.log(noise) + scatter / (2 * noise**2)
                laws.append((float(likelihood), covariance, noise, root, white))
        weights = np.exp(np.array([law[0] for law in laws]) - max(law[0] for law in laws))
        shares = random.multinomial(draws, weights / weights.sum())
        found = [
            _draws(covariance, where, root, white, int(share), random)
            for share, (_, covariance, _, root, white) in zip(shares, laws, strict=True)
            if share
        ]
        noise = sum(int(share) * law[2] ** 2 for share, law in zip(shares, laws, strict=True)) / draws
        return (centre + np.concatenate(found)).reshape(draws, len(self.tasks), len(self.sizes)), noise

    def load_lines(self, logs: Floats) -> Floats:
        """log2 of the load line of each size on each surface (draws × sizes), between two numbers of tasks on the
        straight line."""
        import numpy as np

        # The plateau of each surface where the estimate is highest: the highest of each is as high as chance takes it.
        best = np.median(logs, axis=0).argmax(axis=0)
        goal = np.take_along_axis(logs, best[None, None], axis=1)[:, 0] + math.log(WITHIN)
        after = (logs >= goal[:, None, :]).argmax(axis=1)
        before = np.maximum(after - 1, 0)
        draw, size = np.ogrid[: len(logs), : len(self.sizes)]
        low, high = logs[draw, before, size], logs[draw, after, size]
        part = np.clip((goal - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        octaves = np.log2(self.tasks)
        return np.asarray(octaves[before] + part * (octaves[after] - octaves[before]))


def _draws(
    covariance: Floats, where: NDArray[np.intp], root: Floats, white: Floats, draws: int, random: np.random.Generator
) -> Floats:
    """Surfaces of one law, less their common mean."""
    import numpy as np

    seen = np.linalg.solve(root, covariance[where])
    mean, left = seen.T @ white, covariance - seen.T @ seen
    spread = np.linalg.cholesky(left + 1e-6 * np.eye(len(left)))
    return np.asarray(mean + random.standard_normal((draws, len(left))) @ spread.T)


@lru_cache(maxsize=4)
def _covariances(tasks: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[Floats, ...]:
    return tuple(_each_covariance(tasks, sizes))


def _each_covariance(tasks: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[Floats]:
    import numpy as np

    x = np.repeat(np.log2(tasks), len(sizes))
    y = np.tile(np.log2(sizes), len(tasks))
    between_tasks, between_sizes = np.abs(x[:, None] - x), np.abs(y[:, None] - y)

    def smooth(distance: Floats) -> Floats:
        """Matérn 3/2."""
        scaled = math.sqrt(3) * distance
        return np.asarray((1 + scaled) * np.exp(-scaled))

    level = _MEAN**2 + _LEVEL**2 * np.exp(-between_sizes / 6)
    for length in _SIZE_LENGTHS:
        alike = smooth(between_sizes / length)
        slope = _SLOPE**2 * np.outer(x, x) * alike
        for reach in _TASK_LENGTHS:
            for amplitude in _SMOOTH:
                rest = amplitude**2 * smooth(between_tasks / reach) * alike
                for rough in _ROUGH:
                    yield level + slope + rest + rough**2 * np.exp(-between_tasks / reach - between_sizes)
