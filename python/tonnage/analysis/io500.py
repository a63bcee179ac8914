"""IO500's figures and score, and what the benchmark's own output does not say, from the records of its phases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import median_interval
from tonnage.records import Run
from tonnage.records.line_types import TaskLine, TrialLine

GIBIBYTE = 1 << 30
COUNTED = (
    "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "find", "ior-easy-read",
    "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read",
    "mdtest-hard-delete",
)  # fmt: skip
"""The phases of which a score is made: without one of them there is none."""
_MEASURED = ("create", "stat", "read", "remove", "write", "find")


@dataclass(frozen=True, slots=True)
class PhaseFigure:
    """One phase of one repetition."""

    name: str
    group: str | None
    unit: str
    value: float
    """In ``unit``: GiB/s, or thousand operations per second. 0: not measured."""
    seconds: float
    """Of the whole phase, with what comes before and after its clock."""
    elapsed_s: float | None = None
    """That the rate is over: from the first start to the last end; None where nothing was measured."""
    problems: tuple[str, ...] = ()
    """Why the benchmark's rules do not accept it, or why it was not measured."""
    run: str | None = None
    """The run directory with its records."""
    at_stonewall: float | None = None
    """The rate, in ``unit``, until the time was up; None where no time limit was set."""
    after_stonewall_s: float | None = None
    """Seconds between the end of the time and the end of the last task."""
    straggling: float | None = None
    """Share of the time in which fewer than half of the tasks still worked; None with one task."""
    from_device: float | None = None
    """Share of the bytes read that came from a device; None where it is not known, or nothing was read."""
    found: int | None = None
    """Files that match, of a find."""
    examined: int | None = None
    """Files that it looked at."""
    findings: tuple[str, ...] = ()
    """Codes of the findings about its run."""

    @property
    def is_valid(self) -> bool:
        return not self.problems

    @property
    def is_bound_by_generator(self) -> bool:
        """Whether the figure is that of this host's processors, not of the storage."""
        return "client-limited" in self.findings


@dataclass(frozen=True, slots=True)
class Score:
    """Of one repetition: the means of the two groups and the score, of the phases that there are."""

    metadata: float
    """kIOPS."""
    bandwidth: float
    """GiB/s."""

    @property
    def total(self) -> float:
        """The geometric mean of the two."""
        return math.sqrt(self.metadata * self.bandwidth)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median over repetitions, with its interval; equal bounds where there is a single value."""

    median: float
    low: float
    high: float
    values: tuple[float, ...]

    @property
    def has_interval(self) -> bool:
        return len(self.values) > 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one value. With a value of 0, which no logarithm has, the bounds are the extremes."""
        if min(values) <= 0:
            return cls(statistics.median(values), min(values), max(values), tuple(values))
        median, low, high, _ = median_interval(values)
        return cls(median, low, high, tuple(values))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Everything that is said about a result directory."""

    name: str
    tasks: int
    mode: str
    stonewall_s: int
    repetitions: tuple[tuple[PhaseFigure, ...], ...]
    problems: tuple[str, ...] = field(default=())
    """Why the benchmark's rules do not accept any of it, whatever the phases are."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Of the repetitions that measured every phase that counts."""
        return tuple(score_of(counted(figures)) for figures in self.repetitions if not missing_of(figures))

    @property
    def missing(self) -> tuple[str, ...]:
        """Phases that count and that a repetition lacks."""
        lacking = {name for figures in self.repetitions for name in missing_of(figures)}
        return tuple(name for name in COUNTED if name in lacking)

    @property
    def is_valid(self) -> bool:
        figures = (figure for repetition in self.repetitions for figure in repetition)
        return not self.problems and all(figure.is_valid for figure in figures)

    @property
    def score(self) -> Spread | None:
        """Over the repetitions that have one; None where each lacks a phase."""
        return Spread.of([one.total for one in self.scores]) if self.scores else None

    def of(self, name: str) -> tuple[PhaseFigure, ...]:
        """Returns a phase in each repetition."""
        return tuple(figure for repetition in self.repetitions for figure in repetition if figure.name == name)

    def names(self) -> tuple[str, ...]:
        """Returns the names of the phases, in order."""
        return tuple(dict.fromkeys(figure.name for repetition in self.repetitions for figure in repetition))


def mean_of(figures: Sequence[PhaseFigure], group: str) -> float:
    """The geometric mean of a group's figures above 0; 0 where there is none."""
    values = [figure.value for figure in figures if figure.group == group and figure.value > 0]
    return math.prod(values) ** (1 / len(values)) if values else 0.0


def missing_of(figures: Sequence[PhaseFigure]) -> tuple[str, ...]:
    """The phases that count and were not measured."""
    measured = {figure.name for figure in figures if figure.value > 0}
    return tuple(name for name in COUNTED if name not in measured)


def counted(figures: Sequence[PhaseFigure]) -> list[PhaseFigure]:
    """Those of which the score is made; the extended mode has more."""
    return [figure for figure in figures if figure.name in COUNTED]


def score_of(figures: Sequence[PhaseFigure]) -> Score:
    """Of the phases that there are; it is a benchmark's score where ``missing_of`` them is nothing."""
    return Score(mean_of(figures, "MD"), mean_of(figures, "BW"))


def carried(figures: Sequence[PhaseFigure], figure: PhaseFigure) -> float | None:
    """What the score would be without this phase, as a ratio of the score to it: above 1 where the phase raises it.
    None where there is no score, or the phase is not part of it, or the only one of its group."""
    if missing_of(figures) or figure.name not in COUNTED:
        return None
    others = [one for one in counted(figures) if one is not figure]
    if figure.group is None or figure.value <= 0 or not mean_of(others, figure.group):
        return None
    without = score_of(others).total
    return score_of(counted(figures)).total / without if without else None


@dataclass(frozen=True, slots=True)
class Imported:
    """What results that were imported say of one number of tasks."""

    scores: tuple[Score, ...]
    """Of each result; one of the medians where some results lack phases that others have; none where a phase is missing
    in all."""
    missing: tuple[str, ...]
    """Phases that count and that no result has."""


def scores_of(points: Sequence[Point]) -> dict[int, Imported]:
    """Of results that were imported, by tasks: each phase is a workload of its name."""
    found: dict[int, list[Point]] = {}
    for point in points:
        if _group_of(point.workload) and "stonewall_s" in point.setting:
            found.setdefault(point.tasks, []).append(point)
    scores = {}
    for tasks, phases in found.items():
        alike = len({point.repetitions for point in phases}) == 1
        each = zip(*(point.values for point in phases), strict=True) if alike else [[p.median for p in phases]]
        missing = missing_of([_of_point(point, point.median) for point in phases])
        whole = () if missing else tuple(score_of(list(map(_of_point, phases, values))) for values in each)
        scores[tasks] = Imported(whole, missing)
    return scores


def _group_of(name: str) -> str | None:
    if name.startswith("ior-") and "rnd4K" not in name:
        return "BW"
    return "MD" if name.startswith("mdtest-") or name == "find" else None


def _of_point(point: Point, value: float) -> PhaseFigure:
    group = _group_of(point.workload)
    unit, scale = ("GiB/s", GIBIBYTE) if group == "BW" else ("kIOPS", 1000)
    return PhaseFigure(point.workload, group, unit, value / scale, point.elapsed_ns / 1e9)


def figure_of(
    run: Run, name: str, group: str | None, unit: str, seconds: float, findings: Sequence[str] = ()
) -> PhaseFigure | None:
    """From the records of a phase; None where they have no trial that was measured to its end."""
    lines = [line for line in run.trials() if line["purpose"] == "measure" and line["phase"] in _MEASURED]
    if not lines or any(line["status"] != "ok" for line in lines) or not lines[-1]["elapsed_ns"]:
        return None
    line = lines[-1]
    tasks = [task for task in run.tasks() if task["record"] == line["record"]]
    scale = GIBIBYTE if unit == "GiB/s" else 1000
    amount = line["bytes"] if unit == "GiB/s" else line["operations"]
    elapsed_s = (line["elapsed_ns"] or 0) / 1e9
    limit_ns = line["setting"].get("time_limit_ns")
    return PhaseFigure(
        name=name,
        group=group,
        unit=unit,
        value=amount / elapsed_s / scale,
        seconds=seconds,
        elapsed_s=elapsed_s,
        run=str(run.path),
        at_stonewall=_at_stonewall(line, tasks, unit, limit_ns) if limit_ns else None,
        after_stonewall_s=max(elapsed_s - limit_ns / 1e9, 0.0) if limit_ns else None,
        straggling=_straggling(line, tasks),
        from_device=line["cache"]["device_share"] if line["cache"] and line["phase"] == "read" else None,
        examined=line["operations"] if line["phase"] == "find" else None,
        found=line.get("found"),
        findings=tuple(findings),
    )


def _at_stonewall(line: TrialLine, tasks: Sequence[TaskLine], unit: str, limit_ns: int) -> float:
    """Of what all tasks had done when the time was up; where all was done before, the rate of the phase."""
    if unit == "GiB/s":
        scale, whole, done = GIBIBYTE, line["bytes"], [task.get("stonewall_bytes") for task in tasks]
    else:
        scale, whole, done = 1000, line["operations"], [task.get("stonewall_operations") for task in tasks]
    known = [amount for amount in done if amount is not None]
    seconds = min(limit_ns, line["elapsed_ns"] or limit_ns) / 1e9
    return (sum(known) if len(known) == len(tasks) else whole) / seconds / scale


def _straggling(line: TrialLine, tasks: Sequence[TaskLine]) -> float | None:
    if len(tasks) < 2 or not line["elapsed_ns"]:
        return None
    ends = [task["end_ns"] for task in tasks]
    return (max(ends) - statistics.median(ends)) / line["elapsed_ns"]
