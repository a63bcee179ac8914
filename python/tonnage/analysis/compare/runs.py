"""Compares runs with runs: pairs equal cells, and lists what else differs between the sides.

A cell is an operation at one number of tasks with the factors that either side varied. What is constant on each side
and differs between them (the storage, say) is what is asked about: it is listed, and does not keep cells apart.

A side is one run or several. Repetitions share the day of their run, so a verdict about a system stands on runs, three
a side at least: each run gives one level, the median of its repetitions (Kalibera and Jones 2013: repeat at the highest
level that varies). What a run adds to all its settings alike does no harm: Bonferroni's bound holds for dependent
verdicts too. One run a side has a ratio with the interval within these two runs, and a verdict only of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tonnage.analysis import measured_points
from tonnage.analysis.compare.added_time import AddedTime, added_time
from tonnage.analysis.compare.comparable import Comparable, Lost, Storages
from tonnage.analysis.compare.differences import Difference, Pair, differences
from tonnage.analysis.compare.divisors import divided
from tonnage.analysis.compare.normalise import Basis, unit_of
from tonnage.analysis.compare.rate_ratio import (
    DAYS_APART,
    LEAST_RUNS,
    UNCHANGED,
    UNDECIDED,
    Ratio,
    ratio,
    ratio_of_runs,
    repetitions_to_decide,
)
from tonnage.analysis.compare.search_answers import SearchAnswer, search_answers
from tonnage.analysis.findings.undoing import Undone, undone_answers
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import CONFIDENCE, Noise, pooled_noise
from tonnage.errors import RequestError
from tonnage.records import Run
from tonnage.units import plural

THRESHOLD = 0.02
"""A change below this does not matter in practice, however certain it is."""
SYSTEM, RUNS = "system", "runs"
"""What a verdict, or an interval, is of: of what was measured, on whatever day, or of these two runs alone."""
_HOW_LONG = "workload.time_limit_ns"
"""How long to look may be why figures differ, and is no other workload."""


@dataclass(frozen=True, slots=True)
class Side:
    """Runs of one thing, one or several, in any order."""

    name: str
    runs: tuple[Run, ...]
    bases: tuple[Basis, ...] = ()
    """What the rates of each run are divided by first; empty: by nothing."""

    @staticmethod
    def of(*runs: Run) -> Side:
        """Makes a side of its runs; the first one names it."""
        return Side(str(runs[0].path), runs)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of both sides."""

    op: str
    tasks: int
    group: str
    """The factors that were varied, as one printable key."""
    metric: str
    base: float
    """Median rate in the metric; of several runs the geometric mean of their medians."""
    other: float
    base_runs: int
    """Runs of the base that have the cell."""
    runs: int
    base_repetitions: int
    """Of all its runs together."""
    repetitions: int
    ratio: float
    """Of the rates: above 1 the other side is faster."""
    low: float
    high: float
    confidence: float
    """Of the intervals of all cells together; 0: too few runs, or repetitions, for an interval."""
    holds_for: str
    """``system``: the interval counts how far runs lie apart. ``runs``: it holds within these two runs only."""
    verdict: str
    """``faster``, ``slower`` or ``no change shown``, of what ``Between.of`` says; ``too few to tell`` where nothing can
    be said of that."""
    runs_to_decide: int | None
    """So many runs a side would tell a ratio such as this one from 1, four times of five; None: decided, or unknown."""
    repetitions_to_decide: int | None
    """The same of repetitions in each run, where the verdict is of these runs."""
    unit: str
    """Of ``base`` and ``other``: ``B/s``, ``1/s``; divided: ``B/s per disk``, ``of the link``."""
    base_records: tuple[str, ...]
    """One for each repetition, in the order they ran; of several runs ``RUN/RECORD``."""
    records: tuple[str, ...]
    """The same of the other side."""
    time: AddedTime | None = None
    """How much longer a trial takes on the other side; None where trials did not all move the same."""


@dataclass(frozen=True, slots=True)
class Between:
    """Another side against the base."""

    base: str
    other: str
    of: str
    """``system`` or ``runs``: what the verdicts are of."""
    base_runs: tuple[str, ...]
    other_runs: tuple[str, ...]
    cells: tuple[Cell, ...]
    only_base: tuple[str, ...]
    """Cells that the other side has not."""
    only_other: tuple[str, ...]
    differences: tuple[Difference, ...]
    per: tuple[str, str] | None = None
    """What the rates of each were divided by, ``60 disks``; None: by nothing."""
    base_storages: tuple[str, ...] = ()
    """What the base's runs were measured on, each storage once; …"""
    other_storages: tuple[str, ...] = ()
    """… and the other side's."""
    mixed: tuple[str, ...] = ()
    """Factors that the runs of one side do not have alike, so that they keep its cells apart."""
    base_kinds: tuple[str, ...] = ()
    """Kinds of workload that the base measured; …"""
    other_kinds: tuple[str, ...] = ()
    """… and the other side, sorted."""
    undone_by: tuple[Undone, ...] = ()
    """What undoes the answer: findings of the runs that the cells rest on, and runs that are not complete."""
    failed_base: tuple[str, ...] = ()
    """Cells without a figure in some run of the base, or in all, for their trials failed; …"""
    failed_other: tuple[str, ...] = ()
    """… and in runs of the other side."""
    imported: tuple[str, ...] = ()
    """Which of ``base`` and ``other`` is of imported runs alone, whose files leave much unsaid."""
    answers: tuple[SearchAnswer, ...] = ()
    """Of searches that both sides made: load lines by transfer size, users, accelerators."""

    def unknown(self, side: str) -> tuple[Difference, ...]:
        """What the files of the imported ``side`` do not say, and the other side does."""
        if side not in self.imported:
            return ()
        return tuple(one for one in self.differences if (one.base if side == "base" else one.other) is None)

    @property
    def common_keys(self) -> tuple[Difference, ...]:
        """The differences of keys that both sides have."""
        unknown = (*self.unknown("base"), *self.unknown("other"))
        return tuple(one for one in self.differences if one not in unknown)

    @property
    def unjudged_failures(self) -> tuple[str, ...]:
        """Of the cells that failed on the other side those of which nothing can be said."""
        judged = {named(cell.op, cell.group, cell.tasks) for cell in self.judged}
        return tuple(name for name in self.failed_other if name not in judged)

    @property
    def unlike(self) -> tuple[Difference, ...]:
        """Of the differences those of the workload: cells are equal but for these."""
        return tuple(one for one in self.differences if one.key.startswith("workload.") and one.key != _HOW_LONG)

    def count(self, verdict: str) -> int:
        """How many cells have this verdict, of those that could have another."""
        return sum(cell.verdict == verdict for cell in self.judged)

    @property
    def judged(self) -> tuple[Cell, ...]:
        """The cells that have what a verdict stands on."""
        return tuple(cell for cell in self.cells if cell.confidence and cell.holds_for == self.of)


def compare_sides(base: Side, other: Side, threshold: float = THRESHOLD, of: str = SYSTEM) -> Between:
    """Each cell of ``other`` against the same one of ``base``. ``threshold``: the least change of a rate, as a share,
    that is called one; ``of``: what the verdicts are of. RecordError where a run cannot be read, RequestError where
    verdicts ``of`` runs are asked of several runs a side."""
    if of == RUNS and max(len(base.runs), len(other.runs)) > 1:
        raise RequestError("verdicts of these runs are of one run a side; hint: several runs a side tell of the system")
    storages = Storages([*base.runs, *other.runs])
    comparable = Comparable([base.runs, other.runs])
    points = {id(run): measured_points(run) for side in (base, other) for run in side.runs}
    sides = [_cells(side, comparable, points) for side in (base, other)]
    names = [key for key in sides[0] if key in sides[1] and sides[0][key][0][1].metric == sides[1][key][0][1].metric]
    pairs: list[Pair] = [
        ([point for _, point in sides[0][key]], [point for _, point in sides[1][key]]) for key in names
    ]
    rule = _rule(pairs, threshold, of)
    lost = [[comparable.lost_of(run, points[id(run)]) for run in side.runs] for side in (base, other)]
    failed = [{_key(one): None for found in side for one in found} for side in lost]
    return Between(
        base=base.name,
        other=other.name,
        of=of,
        base_runs=tuple(str(run.path) for run in base.runs),
        other_runs=tuple(str(run.path) for run in other.runs),
        cells=tuple(
            _cell(key[2], pair, rule, base.bases[0] if base.bases else None)
            for key, pair in zip(names, pairs, strict=True)
        ),
        only_base=tuple(named(*key[1:]) for key in sides[0] if key not in names and key not in failed[1]),
        only_other=tuple(named(*key[1:]) for key in sides[1] if key not in names and key not in failed[0]),
        differences=tuple(
            differences([run.manifest for run in base.runs], [run.manifest for run in other.runs], pairs)
        ),
        per=(_divisor(base.bases), _divisor(other.bases)) if base.bases else None,
        base_storages=_on(base, storages),
        other_storages=_on(other, storages),
        mixed=comparable.between,
        base_kinds=_kinds(base, points, failed[0]),
        other_kinds=_kinds(other, points, failed[1]),
        undone_by=tuple(
            undone
            for side, found, missing in zip((base, other), sides, lost, strict=True)
            for number, run in enumerate(side.runs)
            for undone in undone_answers(
                run, points[id(run)], _rests_on(number, found, names), [one.op for one in missing[number]]
            )
        ),
        failed_base=tuple(named(*key[1:]) for key in failed[0]),
        failed_other=tuple(named(*key[1:]) for key in failed[1]),
        imported=tuple(
            name
            for name, side in (("base", base), ("other", other))
            if all(run.manifest.get("imported") for run in side.runs)
        ),
        answers=tuple(search_answers(base.runs, other.runs, points)),
    )


def _kinds(side: Side, points: Mapping[int, Sequence[Point]], failed: Iterable[_Key]) -> tuple[str, ...]:
    """Also of what failed: a side that lost all of its settings did not measure something else."""
    measured = {point.kind for run in side.runs for point in points[id(run)]}
    return tuple(sorted(measured | {kind for kind, *_ in failed}))


def _key(one: Lost) -> _Key:
    return one.sort.kind, one.op, one.group, one.tasks


def _rests_on(number: int, cells: _Cells, names: Collection[_Key]) -> list[tuple[str, str]]:
    """The curves of the run ``number`` of a side that these cells are of."""
    return [(point.op, point.group) for key in names for of, point in cells[key] if of == number]


def _on(side: Side, storages: Storages) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(storages.name_of, side.runs)))


_Key = tuple[str, str, str, int]
"""Kind of workload, operation, group and tasks."""
_Cells = dict[_Key, list[tuple[int, Point]]]
"""The points of each cell, with the number of the run in its side."""


def _cells(side: Side, comparable: Comparable, measured: Mapping[int, Sequence[Point]]) -> _Cells:
    """``measured``: all points of each run, by its identity."""
    found: _Cells = {}
    for number, run in enumerate(side.runs):
        points = measured[id(run)]
        if side.bases:
            points = [divided(point, side.bases[number]) for point in points]
        own = {
            (point.kind, point.op, comparable.group_of(run, point), point.tasks): point
            for point in points
            if min(point.values) > 0
        }
        for key, point in own.items():
            several = found.setdefault(key, [])
            if not several or several[0][1].metric == point.metric:
                records = tuple(f"{run.path.name}/{record}" for record in point.records)
                several.append((number, point if len(side.runs) == 1 else replace(point, records=records)))
    return found


def _divisor(bases: Sequence[Basis]) -> str:
    return ", ".join(dict.fromkeys(map(str, bases)))


def named(op: str, group: str, tasks: int) -> str:
    """Returns text such as ``write, direct no, 4 tasks``."""
    return ", ".join(filter(None, (op, group, plural(tasks, "task"))))


@dataclass(frozen=True, slots=True)
class _Rule:
    """What all cells of a table are judged by."""

    of: str
    threshold: float
    between: float
    """Confidence of each interval between runs, …"""
    within: float
    """… and of each within two runs, so that all cells together hold (Bonferroni)."""
    noise: Noise
    """Of one repetition, of all cells together."""


def _rule(pairs: Sequence[Pair], threshold: float, of: str) -> _Rule:
    enough = sum(_fewest(pair) >= LEAST_RUNS for pair in pairs)
    noise = pooled_noise([_times(point) for pair in pairs for side in pair for point in side])
    between, within = (1 - (1 - CONFIDENCE) / max(count, 1) for count in (enough, len(pairs)))
    return _Rule(of, threshold, between, within, noise)


def _fewest(pair: Pair) -> int:
    return min(map(len, pair))


def _times(point: Point) -> list[float]:
    """Of one byte or operation in each repetition: what disturbs a phase makes it longer."""
    return [1 / value for value in point.values]


def _levels(points: Sequence[Point]) -> list[float]:
    """Of each run the time of one byte or operation in its median repetition."""
    return [1 / statistics.median(point.values) for point in points]


def _rate(points: Sequence[Point]) -> float:
    medians = [statistics.median(point.values) for point in points]
    return statistics.geometric_mean(medians) if len(medians) > 1 else medians[0]


def _cell(group: str, pair: Pair, rule: _Rule, per: Basis | None) -> Cell:
    base, other = pair
    alone = max(map(len, pair)) == 1
    holds_for = RUNS if alone else SYSTEM
    if alone:
        seen = ratio(_times(other[0]), _times(base[0]), rule.within, rule.noise)
    else:
        seen = ratio_of_runs(_levels(other), _levels(base), rule.between)
    small = abs(1 / seen.ratio - 1) < rule.threshold
    verdict = UNDECIDED if not seen.confidence or holds_for != rule.of else UNCHANGED if small else seen.verdict
    open_ = verdict in (UNCHANGED, UNDECIDED) and not small
    return Cell(
        op=base[0].op,
        tasks=base[0].tasks,
        group=group,
        metric=base[0].metric,
        base=_rate(base),
        other=_rate(other),
        base_runs=len(base),
        runs=len(other),
        base_repetitions=sum(point.repetitions for point in base),
        repetitions=sum(point.repetitions for point in other),
        ratio=1 / seen.ratio,
        low=1 / seen.high,
        high=1 / seen.low,
        confidence=CONFIDENCE if seen.confidence else 0.0,
        holds_for=holds_for,
        verdict=verdict,
        runs_to_decide=_runs_to_decide(seen, pair, rule) if open_ and rule.of == SYSTEM else None,
        repetitions_to_decide=repetitions_to_decide(
            seen, rule.noise, rule.within, _more_than([point.repetitions for side in pair for point in side], 2)
        )
        if open_ and rule.of == RUNS
        else None,
        unit=unit_of(base[0].metric, per),
        base_records=tuple(record for point in base for record in point.records),
        records=tuple(record for point in other for record in point.records),
        time=added_time(base, other),
    )


def _runs_to_decide(seen: Ratio, pair: Pair, rule: _Rule) -> int | None:
    """By how far the runs of each side lie apart; where fewer than three tell it, by 5 % between runs and what the
    repetitions add."""
    apart = pooled_noise([_levels(side) for side in pair])
    if _fewest(pair) < LEAST_RUNS:
        counts = [point.repetitions for side in pair for point in side]
        apart = Noise(max(apart.variance, DAYS_APART**2 + rule.noise.variance / min(counts)), 1)
    return repetitions_to_decide(seen, apart, rule.between, _more_than(map(len, pair), LEAST_RUNS))


def _more_than(counts: Iterable[int], least: int) -> int:
    """As many as there are on the side of fewest did not decide, whatever they would have done four times of five."""
    return max(least, min(counts) + 1)
