"""Many runs over time: of each setting the series of its levels, when they changed, and what else changed then."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from tonnage.analysis import measured_points
from tonnage.analysis.compare.comparable import Comparable, Lost, Sort, Storages
from tonnage.analysis.compare.differences import Difference, differences
from tonnage.analysis.compare.divisors import divided
from tonnage.analysis.compare.level_change import CORRELATION, FEWEST, Step, Stretch, segments
from tonnage.analysis.compare.normalise import Basis, unit_of
from tonnage.analysis.compare.rate_ratio import FASTER, SLOWER, UNCHANGED, UNDECIDED
from tonnage.analysis.compare.runs import THRESHOLD, named
from tonnage.analysis.findings.undoing import Undone, undone_answers
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import CONFIDENCE
from tonnage.records import Run

_Key = tuple[Sort, str, str, int, str]
"""The sort, operation, group, tasks and metric: runs in which all of them are equal make one series."""


@dataclass(frozen=True, slots=True)
class Dated:
    """A run of the series."""

    run: str
    time: str | None
    """ISO 8601 UTC; None where its records do not say, as of some imported files."""
    differences: tuple[Difference, ...] = ()
    """The differences from the run before on the same storage; for the first on it, from the run before."""
    per: str | None = None
    """What its rates were divided by, ``60 disks``; None: by nothing."""
    storage: str = ""
    """The storage that it measured, named as in the first run on it: two storages are never in one series."""


@dataclass(frozen=True, slots=True)
class Level:
    """What one run said of a setting."""

    run: int
    """Its place among all runs."""
    median: float
    low: float
    high: float
    confidence: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the level, at the run ``at`` most likely."""

    verdict: str
    """``faster`` or ``slower``."""
    at: int
    """Place among all runs of the first run at the new level."""
    low: int
    high: int
    """The level changed after the run before ``low`` (``after``) and no later than with the run ``high``."""
    after: int
    alone: bool
    """Whether only the newest run shows it."""
    ratio: float
    ratio_low: float
    ratio_high: float
    """The intervals of a history hold together."""


@dataclass(frozen=True, slots=True)
class Series:
    """A setting over all runs that have it."""

    op: str
    group: str
    tasks: int
    metric: str
    levels: tuple[Level, ...]
    stretches: tuple[Stretch, ...]
    """``first`` and ``last`` are places among all runs."""
    changes: tuple[Change, ...]
    verdict: str
    """Of the newest change: ``faster``, ``slower``, ``no change shown``, or ``too few to tell``."""
    too_few: bool
    """Fewer runs than any change could be shown with."""
    runs_to_show: int | None
    """About so many runs in all would show the likeliest change four times of five, if it goes on; where there are too
    few, the fewest that can show any; None: a change is shown, or the levels are all equal."""
    unit: str
    """Of the levels: ``B/s``, ``1/s``; divided: ``B/s per disk``, ``of the link``."""
    storage: str = ""
    """That of all its runs."""
    kind: str = "stream"
    """Of its workload."""

    @property
    def name(self) -> str:
        """``write, direct no, 4 tasks``."""
        return named(self.op, self.group, self.tasks)


@dataclass(frozen=True, slots=True)
class History:
    """Runs in order of time, and the series of each setting."""

    runs: tuple[Dated, ...]
    series: tuple[Series, ...]
    confidence: float
    """Of histories without a change, at least this share is reported so."""
    correlation: float = CORRELATION
    """Between neighbouring runs, up to which that holds."""
    apart_by: tuple[str, ...] = ()
    """What keeps runs in series of their own: ``storage``, ``kind``, and factors that are constant in each run."""
    newest_judged: bool = True
    """Whether the newest run is in a series of enough runs for a verdict: else no verdict is of it."""
    undone_by: tuple[Undone, ...] = ()
    """What undoes levels of the series: findings of their runs, and runs that are not complete."""
    failed: tuple[str, ...] = ()
    """Settings without a figure in the newest run that has them, for their trials failed."""

    @property
    def undated(self) -> tuple[str, ...]:
        """Runs that do not say when they were measured."""
        return tuple(run.run for run in self.runs if run.time is None)


def history_of(runs: Sequence[Run], threshold: float = THRESHOLD, per: Sequence[Basis] | None = None) -> History:
    """The history of ``runs``, in any order; one without a time stands behind the one it was given after.

    ``threshold``: the least change that is called one, as a share; ``per``: what the rates of each run are divided by
    first. RecordError where a run cannot be read, RequestError where a rate has no part in what it is divided by.
    """
    own: dict[int, Basis] = {} if per is None else dict(zip(map(id, runs), per, strict=True))
    ordered = in_time(runs)
    bases = [own.get(id(run)) for run, _ in ordered]
    storages = Storages([run for run, _ in ordered])
    comparable = Comparable([[run for run, _ in ordered]], storages)
    points = [measured_points(run) for run, _ in ordered]
    cells = [
        _cells(run, comparable, own_points, basis)
        for (run, _), own_points, basis in zip(ordered, points, bases, strict=True)
    ]
    lost = [comparable.lost_of(run, own_points) for (run, _), own_points in zip(ordered, points, strict=True)]
    on = [storages.name_of(run) for run, _ in ordered]
    keys = list(dict.fromkeys(key for found in cells for key in found))
    # What a test may err is shared out among those that can be made.
    tested = sum(sum(key in found for found in cells) >= FEWEST for key in keys)
    rate = (1 - CONFIDENCE) / max(tested, 1)
    series = tuple(_series(key, cells, rate, threshold, bases[0]) for key in keys)
    return History(
        runs=tuple(
            Dated(
                run=str(run.path),
                time=when.isoformat(timespec="seconds") if when else None,
                differences=_changed(ordered, cells, bases, _before(on, number), number),
                per=_name(bases[number]),
                storage=on[number],
            )
            for number, (run, when) in enumerate(ordered)
        ),
        series=series,
        confidence=CONFIDENCE,
        correlation=CORRELATION,
        apart_by=(
            *(("storage",) if len(storages.names) > 1 else ()),
            *(("kind",) if len(comparable.kinds) > 1 else ()),
            *comparable.between,
        ),
        newest_judged=any(one.levels[-1].run == len(ordered) - 1 for one in series if not one.too_few),
        undone_by=tuple(
            undone
            for (run, _), own_points, found, missing in zip(ordered, points, cells, lost, strict=True)
            for undone in undone_answers(
                run,
                own_points,
                [(point.op, point.group) for point in found.values()],
                [one.op for one in missing],
            )
        ),
        failed=_failed(cells, lost),
    )


def _failed(cells: Sequence[Mapping[_Key, Point]], lost: Sequence[Sequence[Lost]]) -> tuple[str, ...]:
    """Names of the settings of which the newest run that has any figure, or failure, has a failure."""
    newest: dict[Lost, bool] = {}
    for found, missing in zip(cells, lost, strict=True):
        newest |= dict.fromkeys((Lost(*key[:4]) for key in found), False)
        newest |= dict.fromkeys(missing, True)
    return tuple(dict.fromkeys(named(one.op, one.group, one.tasks) for one, failed in newest.items() if failed))


def _before(on: Sequence[str], number: int) -> int | None:
    """The run before on the same storage; without one the run before, and None of the first."""
    same = (earlier for earlier in range(number - 1, -1, -1) if on[earlier] == on[number])
    return next(same, number - 1 if number else None)


def _name(basis: Basis | None) -> str | None:
    return None if basis is None else str(basis)


def in_time(runs: Sequence[Run]) -> list[tuple[Run, datetime | None]]:
    """Runs by the time at which they began, with that time."""
    placed: list[tuple[tuple[datetime, int], Run, datetime | None]] = []
    last = datetime.min.replace(tzinfo=timezone.utc)
    for number, run in enumerate(runs):
        when = time_of(run)
        last = when or last
        placed.append(((last, number), run, when))
    return [(run, when) for _, run, when in sorted(placed, key=lambda entry: entry[0])]


def time_of(run: Run) -> datetime | None:
    """When it began: as the manifest says, or its first trial; a time without a zone counts as UTC."""
    trials = (line.get("started") for line in run.trials())
    for text in (run.manifest.get("created"), *trials):
        try:
            when = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
            return when.astimezone(timezone.utc) if when.tzinfo else when.replace(tzinfo=timezone.utc)
        except (ValueError, OverflowError):
            continue
    return None


def _cells(run: Run, comparable: Comparable, measured: Sequence[Point], basis: Basis | None) -> dict[_Key, Point]:
    points = [point for point in measured if min(point.values) > 0]
    if basis is not None:
        points = [divided(point, basis) for point in points]
    return {
        (comparable.sort_of(run, point), point.op, comparable.group_of(run, point), point.tasks, point.metric): point
        for point in points
    }


def _changed(
    ordered: Sequence[tuple[Run, datetime | None]],
    cells: Sequence[Mapping[_Key, Point]],
    bases: Sequence[Basis | None],
    earlier: int | None,
    number: int,
) -> tuple[Difference, ...]:
    if earlier is None:
        return ()
    before, after = cells[earlier], cells[number]
    pairs = [([before[key]], [after[key]]) for key in before if key in after]
    parts = [_name(bases[one]) for one in (earlier, number)]
    # Of rates that are divided, another divisor is as good a cause as any.
    divisor = [Difference("divided by", *parts)] if parts[0] != parts[1] else []
    return (*differences([ordered[earlier][0].manifest], [ordered[number][0].manifest], pairs), *divisor)


def _series(
    key: _Key, cells: Sequence[Mapping[_Key, Point]], rate: float, threshold: float, basis: Basis | None
) -> Series:
    sort, op, group, tasks, metric = key
    having = [number for number, found in enumerate(cells) if key in found]
    points = [cells[number][key] for number in having]
    stretches, steps, runs_to_show = segments([point.values for point in points], rate)
    newest = len(having) - 1
    changes = tuple(
        _change(step, having, alone=step.at == newest) for step in steps if abs(step.ratio - 1) >= threshold
    )
    return Series(
        op=op,
        group=group,
        tasks=tasks,
        metric=metric,
        levels=tuple(
            Level(number, statistics.median(point.values), point.low, point.high, point.confidence, point.repetitions)
            for number, point in zip(having, points, strict=True)
        ),
        stretches=tuple(
            replace(stretch, first=having[stretch.first], last=having[stretch.last]) for stretch in stretches
        ),
        changes=changes,
        verdict=changes[-1].verdict if changes else UNDECIDED if len(having) < FEWEST else UNCHANGED,
        too_few=len(having) < FEWEST,
        runs_to_show=FEWEST if len(having) < FEWEST else runs_to_show,
        unit=unit_of(metric, basis),
        storage=sort.storage,
        kind=sort.kind,
    )


def _change(step: Step, having: Sequence[int], *, alone: bool) -> Change:
    return Change(
        verdict=FASTER if step.ratio > 1 else SLOWER,
        at=having[step.at],
        low=having[step.low],
        high=having[step.high],
        after=having[step.low - 1],
        alone=alone,
        ratio=step.ratio,
        ratio_low=step.ratio_low,
        ratio_high=step.ratio_high,
    )
